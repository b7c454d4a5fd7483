"""Where refuted claims about compression with memory are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, n
from commbounds.theory.variance_reduced import lamb_terms as lt
from commbounds.theory.variance_reduced import terms as t
from commbounds.theory.variance_reduced import zeroone_terms as z

_b, _a, _e, _g, _s, _u, _v, _T = sp.symbols("b a e g s u v T", integer=True, nonnegative=True)
_p, _q = sp.symbols("p q", integer=True, nonnegative=True)
_spike, _flat, _mean = 2 * (_q**2 - 2 * _p**2), 4 * _p * _q - 2 * _p**2 - _q**2, 2 * _p**2 - 2 * _p * _q + _q**2
_FLAT = {"no_gradients": "There are none.", "one_magnitude": "They have."}
_DECAYING = {"decaying": "The step runs this way.", **_FLAT}
_beta, _H = _u / _v, z.local_steps

REFUTATIONS = by_claim(
    Refutation(
        claim="variance_reduced.onebit.contracts",
        words="A unit vector of n entries, all of which become the root of 1/n or its negative: the square of what "
        "that lacks to one, and n - 1 times 1/n.",
        whole={n: 1},
        measured=2 - 2 / sp.sqrt(n),
        values={n: n},
        met={"signs_by_norm": "They are.", "something_offered": "One entry is 1."},
    ),
    Refutation(
        claim="variance_reduced.onebit.silent_momentum",
        words="Two workers, the mean magnitude as scale, beta = 1/2, and the last of n entries is silent. The first "
        "has no gradient, and the second 8 n^2 in all others: the servers' scale is 2 n (n - 1), and half of it comes "
        "back. Then the first makes up for that but in the last entry, which it offers alone: n (n - 1), of which a "
        "scale of n - 1 is sent.",
        whole={n: 1},
        measured=(n - 1) ** 2,
        values={t.largest_scale: n - 1},
        met={"silent_entries": "The last is silent, and the run begins with zeros."},
    ),
    Refutation(
        claim="variance_reduced.onebit.thirty_two",
        words="In either half a rank sends P - 1 blocks of b bytes of signs, with a scale of four bytes each.",
        whole={P: 1, _b: 1},
        measured=2 * (P - 1) * (4 + _b),
        values={P: P, n: 8 * P * _b},
        met={"single_precision": "The vectors are float32."},
    ),
    Refutation(
        claim="variance_reduced.zeroone.kept_power",
        words="beta = u/v: what was moved is the mean of the momenta beta^t u of H steps.",
        whole={_H: 1, _u: 1, _v: 1},
        measured=sp.Piecewise((_beta, sp.Eq(_H, 1)), ((_beta + _beta**2) / 2, True)),
        values={z.momentum_factor: _beta, _H: _H, z.averages: 1},
        given={"H <= 2": 2 - _H},
        positive={"u < v": _v - _u},
        met={"no_decay": "There is none.", **_FLAT},
    ),
    Refutation(
        claim="variance_reduced.zeroone.decoupled",
        words="One step, which moves the weights by the decay alone: that becomes the momentum, all of it.",
        whole={},
        measured=sp.Integer(1),
        values={_H: 1, z.averages: 1},
        met=_DECAYING,
    ),
    Refutation(
        claim="variance_reduced.zeroone.decay_once",
        words="beta = 1/v and gamma lambda = 1/g: the second average takes the decay of what is left, 1 - 1/g, and "
        "beta times that of the first, which became the momentum.",
        whole={z.averages: 1, _v: 2, _g: 1},
        measured=sp.Piecewise((1, sp.Eq(z.averages, 1)), (2 + 1 / _v - 1 / _g, True)),
        values={z.averages: z.averages, _H: 1},
        given={"S <= 2": 2 - z.averages},
        met=_DECAYING,
    ),
    Refutation(
        claim="variance_reduced.zeroone.bounded_move",
        words="The gradient (a, 0), a step size of one, beta = 1/v and epsilon = 1/e: the momentum (1 - beta) a of the "
        "first entry makes the scale, over the root of two, which is divided by epsilon for the second.",
        whole={_a: 1, _e: 1, _v: 2},
        measured=(1 - 1 / _v) * _a * _e / sp.sqrt(2),
        values={stepsize: 1, _H: 1, n: 2},
        met={"ranks_alike": "There is one rank.", "signs_by_norm": "They are."},
    ),
    Refutation(
        claim="variance_reduced.zeroone.printed_gap",
        words="The interval doubles after kappa refreshes, and is one before.",
        whole={z.refresh: 1, z.kappa: 1},
        measured=2 ** sp.floor(z.refresh / z.kappa),
        values={z.refresh: z.refresh, z.kappa: z.kappa},
    ),
    Refutation(
        claim="variance_reduced.lamb.fused_share",
        words="Layers of one entry each, a and b: the first becomes the root mean square of both.",
        whole={_a: 1, _b: 1},
        measured=(sp.sqrt(sp.Rational(1, 2) * (_a**2 + _b**2)) / _a - 1) ** 2,
        x=((_a, _b),),
        met={"signs_by_norm": "They are."},
    ),
    Refutation(
        claim="variance_reduced.lamb.frozen_average",
        words="b = u/v: after T steps with one coefficient, 1 - b^T of it.",
        whole={_T: 1, _u: 0, _v: 1},
        measured=1 - (_u / _v) ** _T,
        values={lt.trust_factor: _u / _v, lt.lamb_steps: _T},
        positive={"b below 1": _v - _u},
        met={"lamb_one_coefficient": "It is cut to four.", "lamb_never_one": "It is four."},
    ),
    Refutation(
        claim="variance_reduced.lamb.frozen_any",
        words="b = u/v, and a coefficient of one, which is left out of the average: that stays zero.",
        whole={_T: 1, _u: 0, _v: 1},
        measured=sp.Integer(0),
        values={lt.trust_factor: _u / _v, lt.lamb_steps: _T},
        positive={"b below 1": _v - _u},
        met={"lamb_one_coefficient": "It is cut to one."},
    ),
    Refutation(
        claim="variance_reduced.lamb.reduces",
        words="A layer of a = 2 (q^2 - 2 p^2) and three zeros, and one of four v = 4 p q - 2 p^2 - q^2, whose root "
        "mean square together is s = 2 p^2 - 2 p q + q^2. At one scale nothing is left out of the second, and 4 "
        "(a/2)^2 of the first.",
        whole={_p: 1, _q: 1},
        measured=_spike**2,
        values={
            lt.plain_error: 16 * _mean**2 - 2 * _mean * (_spike + 4 * _flat),
            n: sp.Integer(8),
            lt.fused_length: sp.Integer(8),
        },
        x=((_spike, 0, 0, 0, _flat, _flat, _flat, _flat),),
        positive={"a": _spike, "v": _flat},
        zero={"root mean square": 8 * _mean**2 - _spike**2 - 4 * _flat**2},
        met={"signs_by_norm": "They are.", "lamb_at_freeze": "One rank offers it at the freeze."},
    ),
    Refutation(
        claim="variance_reduced.lamb.moving_factor",
        words="One rank, a layer of eight entries, no momentum, variances of one, beta_2 = 1/2; theta = u/v. The "
        "gradient (2, 2, 0, ..., 0) has the root mean square 1, and becomes ones: every entry is off by 1, and the "
        "factor stays. (7, 7, 9, ..., 9) and what was left out are 8: nothing is left out then, but the fresh variance "
        "is 65/2, and the factor falls by theta: so much of what the first step was off by is lost. After one step "
        "nothing is.",
        whole={_T: 1, _u: 0, _v: 1},
        measured=sp.Piecewise((0, sp.Eq(_T, 1)), (_u / _v, True)),
        values={lt.lamb_threshold: _u / _v, lt.lamb_steps: _T},
        given={"T <= 2": 2 - _T, "theta <= 1/2": _v - 2 * _u},
        met={
            "lamb_undecayed": "There is none.",
            "lamb_unmasked": "Nothing is.",
            "lamb_scales_stay": "One layer has the coefficient 1.",
        },
    ),
    Refutation(
        claim="variance_reduced.lamb.bounded_step",
        words="One rank, a layer of eight ones, as are its momentum and variances, so that LAMB's coefficient is 1; "
        "beta = 0, beta_2 = 3/4, the step size 1/4 and the threshold 1/10. The gradient a in every entry becomes the "
        "momentum. For a = 1 the factor stays; for more it would fall to 2/sqrt(3 + a^2), 0.76 or less, and falls to "
        "9/10.",
        whole={_a: 1},
        measured=sp.sqrt(8) / 4 * sp.Piecewise((1, sp.Eq(_a, 1)), (sp.Rational(9, 10) * _a, True)),
        values={stepsize: sp.Rational(1, 4), lt.layer_norm: sp.sqrt(8)},
        met={"lamb_undecayed": "There is none.", "lamb_trusted": "It is 1."},
    ),
    Refutation(
        claim="variance_reduced.lamb.ceiling",
        words="theta = u/v, and a bound of a/s. A reconstructed gradient that is large lowers the factor from one, and "
        "by theta.",
        whole={_a: 1, _s: 1, _u: 1, _v: 1},
        measured=1 - _u / _v,
        values={lt.lamb_threshold: _u / _v, lt.factor_most: _a / _s, lt.lamb_steps: 1},
        positive={"theta below 1": _v - _u},
        met={"lamb_from_one": "It is one, and the variances are the same."},
    ),
)
