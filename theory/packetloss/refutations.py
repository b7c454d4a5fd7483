"""Where refuted claims about packet loss are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.packetloss.terms import N, lossrate, p, recovery, sigma

_u, _v, _w = sp.symbols("u v w", integer=True, nonnegative=True)
_p = _u / _v
_TWO_STEPS = 2 * (_p * (1 - _p) + _p**2 * (1 - _p**2))
_SIGMA = sp.Rational(3, 2)

_TWICE = _p * (1 - _w / _v)

REFUTATIONS = by_claim(
    Refutation(
        claim="packetloss.bursts.as_if_independent",
        words="Two steps. Packets are lost at the rate u/v, and a link recovers with probability w/v: an update is "
        "missing after one step with probability u/v, after two with (u/v)(1 - w/v), at each of two receivers.",
        whole={_u: 1, _v: 1, _w: 1},
        measured=2 * _SIGMA**2 * (_p * (1 - _p) + _TWICE * (1 - _TWICE)),
        values={lossrate: _p, recovery: _w / _v, sigma: _SIGMA},
        met={"equal_start": "The copies are equal.", "white_updates": "They are uncorrelated."},
    ),
    Refutation(
        claim="packetloss.drift.as_reviewed",
        words="Two steps, p = u/v. An update of age j is missing at one of two receivers and not at the other with "
        "probability 2 p^j (1 - p^j), and then adds sigma^2, here 9/4.",
        whole={_u: 0, _v: 1},
        measured=_TWO_STEPS * _SIGMA**2,
        values={p: _p, sigma: _SIGMA},
        met={
            "independent_losses": "They are.",
            "equal_start": "The copies are equal.",
            "white_updates": "They are uncorrelated.",
        },
    ),
    Refutation(
        claim="packetloss.owner.unbiased_for_given_gradients",
        words="Two workers. The owner has the mean if the other's packet arrives, else its own gradient, with "
        "probability p = u/v.",
        whole={_u: 0, _v: 1},
        measured=_p,
        values={N: 2, p: _p},
        met={
            "independent_losses": "They are.",
            "fixed_gradients": "They are given.",
            "owner_off_mean": "The two gradients differ.",
        },
    ),
)
