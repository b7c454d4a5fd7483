"""Distributed training under packet loss: the claims bound to their implementations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from commbounds.collectives import Bernoulli, GilbertElliott
from commbounds.verify.experiments.packetloss.curves import LOSSES, over_losses
from commbounds.verify.experiments.packetloss.descent import DESCENTS
from commbounds.verify.experiments.packetloss.draws import (
    broadcast_streams,
    drift_streams,
    recorded_streams,
    staleness_streams,
    trial_curves,
)
from commbounds.verify.experiments.packetloss.estimate_studies import ESTIMATES
from commbounds.verify.experiments.packetloss.laws import grid, trials
from commbounds.verify.experiments.packetloss.training import TRAINING
from commbounds.verify.study import Case, Curve, Study, over, studies

Settings = Iterator[dict[str, Any]]
_SOME = tuple(Fraction(*pair) for pair in ((1, 20), (1, 5), (1, 2), (9, 10)))
_ONE = (Fraction(1, 2),)
_CHAINS = tuple(
    (Fraction(*rate), Fraction(*recovery))
    for rate, recovery in itertools.product(((2, 3), (1, 10), (1, 4), (1, 2)), ((1, 10), (1, 3), (1, 1)))
)
_PAIRS = "every pattern of losses of a shard over up to 4 (6) steps"
_STEADY = {"receivers": 2, "t": 4, "last": False}


def _stale(receivers: int, steps: int) -> Settings:
    return ({"stale": stale, "receiver": i} for stale in range(steps) for i in range(receivers))


def _never(receivers: int, steps: int) -> Settings:
    return ({"stale": steps, "receiver": i} for i in range(receivers))


def _version_gaps(_receivers: int, steps: int) -> Settings:
    return ({"apart": m} for m in range(1, steps + 1))


def _ages(_receivers: int, steps: int) -> Settings:
    return ({"age": a, "older": b} for b in range(steps) for a in range(b + 1))


def _seeds(_receivers: int, _steps: int) -> Settings:
    return ({"seed": seed} for seed in range(3))


def _correlations(_receivers: int, _steps: int) -> Settings:
    return ({"rho": Fraction(i, 4)} for i in range(-4, 5))


def _windows(_receivers: int, _steps: int) -> Settings:
    return ({"window": w} for w in (1, 2, 3))


def _signs(_receivers: int, steps: int) -> Settings:
    any_signs = itertools.product((1, -1, 0), repeat=steps)
    return ({"signs": signs} for signs in ("with the gap", "against the gap", *any_signs))


def _bounded_updates(level: int) -> Iterator[Case]:
    yield from grid(((2, 3, 4, 5),), _SOME, _signs)(level)
    yield Case({**_STEADY, "p": _SOME[-1], "signs": (1, 1, 1, 1)})


def _chains(_receivers: int, _steps: int) -> Settings:
    return ({"lossrate": rate, "recovery": b} for rate, b in _CHAINS)


def _cuts(_receivers: int, _steps: int) -> Settings:
    return ({"packets": q} for q in range(1, 5))


_SEVERAL = ((1, 4, 5, 6), (2, 3, 4, 4), (3, 2, 2, 3), (4, 2, 2, 2), (7, 1, 1, 1))
_GRIDS: dict[str, Callable[[int], Iterator[Case]]] = {
    "staleness.law": grid(varied=_stale),
    "staleness.never_updated": grid(varied=_never),
    "versions.gap": grid(varied=_version_gaps),
    "drift.two_updates": grid(varied=_ages, losses=_SOME),
    "drift.given_updates": grid(varied=_seeds),
    "drift.one_step": grid(varied=_seeds),
    "drift.whole_vector": grid(_SEVERAL),
    "drift.whole_vector_limit": grid(_SEVERAL),
    "drift.consensus": grid(_SEVERAL),
    "drift.consensus_limit": grid(_SEVERAL),
    "drift.any_losses": grid(varied=_seeds, losses=_ONE),
    "drift.autoregressive": grid(varied=_correlations, losses=_SOME),
    "drift.autocovariance": grid(varied=_windows),
    "drift.sure_norm": _bounded_updates,
    "drift.mean_norm": _bounded_updates,
    "drift.owner_sure_norm": _bounded_updates,
    "workers.range": grid(((1, 4, 5, 6), (2, 3, 4, 5), (3, 3, 3, 4), (4, 2, 2, 3), (7, 1, 1, 1))),
    "bursts.pair": grid(losses=_ONE, varied=_chains),
    "bursts.owner": grid(losses=_ONE, varied=_chains),
    "bursts.pair_limit": grid(losses=_ONE, varied=_chains),
    "bursts.as_if_independent": grid(losses=_ONE, varied=_chains),
    "corners.no_loss": grid(losses=(Fraction(0),)),
    "corners.pair_at_certain_loss": grid(losses=(Fraction(1),)),
    "corners.owner_at_certain_loss": grid(losses=(Fraction(1),)),
    "packets.drift": grid(((2, 2, 3, 3),), _SOME),
    "packets.all_lost": grid(((1, 1, 1, 1), (2, 1, 1, 1)), varied=_cuts),
}
_RARE = {**_STEADY, "p": Fraction(1, 20)}
_EXTREMAL: dict[str, dict[str, Any]] = {
    "versions.as_reviewed": {},
    "versions.mean_gap": {},
    "versions.mean_square_gap": {},
    "drift.pair_limit": {},
    "drift.as_reviewed": {"p": Fraction(1, 5), "t": 5},
    "drift.as_reviewed_with_correlated_updates": {},
    "drift.autoregressive": {"rho": Fraction(1, 2)},
    "drift.autocovariance": {"window": 2},
    "drift.sure_norm": {"signs": (1, 1, 1, 1)},
    "drift.mean_norm": {"signs": (1, 1, 1, 1)},
    "drift.owner_sure_norm": {"signs": (1, 1, 1, 1)},
    "drift.owner_limit": {},
    "drift.consensus_limit": {},
    "drift.whole_vector_limit": {},
    "bursts.pair_limit": {"lossrate": Fraction(1, 10), "recovery": Fraction(1)},
    "bursts.as_if_independent": {"lossrate": Fraction(1, 10), "recovery": Fraction(1, 10)},
}
"""Settings beside few losses and four steps, after which next to nothing is missing of the limit."""
_INDEPENDENT = (Bernoulli(0.1), Bernoulli(0.4))
_BURSTY = (GilbertElliott(1 / 90, 0.1), GilbertElliott(0.25, 0.5))
_STREAMS = {
    "versions.differ": broadcast_streams("packetloss.versions.differ", "differ", _INDEPENDENT),
    "drift.pair": broadcast_streams("packetloss.drift.pair", "pair", _INDEPENDENT),
    "drift.given_updates": recorded_streams,
    "drift.owner": broadcast_streams("packetloss.drift.owner", "owner", _INDEPENDENT),
    "bursts.pair": broadcast_streams("packetloss.bursts.pair", "pair", _BURSTY),
    "bursts.owner": broadcast_streams("packetloss.bursts.owner", "owner", _BURSTY),
    "shared.owner": broadcast_streams("packetloss.shared.owner", "owner", (Bernoulli(0.4, shared=True),)),
}


def _curves(name: str) -> list[Curve]:
    """Over the loss probability, everything else at its extremal or its last value."""
    last = {}
    for case in _GRIDS.get(name, grid())(0):
        last = case.settings
    held = {**last, **({**_RARE, **_EXTREMAL[name]} if name in _EXTREMAL else {})}
    if "recovery" in held:
        return [over("recovery", "", (Case({**held, "recovery": Fraction(b, 10)}) for b in range(1, 10)))]
    shown = ", ".join(f"{key} = {value}" for key, value in held.items() if key not in ("p", "last"))
    return over_losses(shown, held, [p for p in LOSSES if p or name not in _SOME_ONLY])


_SOME_ONLY = ("drift.as_reviewed", "drift.relaxation")
_FLAT = ("shared.pair", "drift.any_losses", "drift.given_updates", "drift.one_step", "drift.two_updates")
"""Nothing to see over p: zero everywhere, or a bound that depends on the case."""


def _enumerated(name: str) -> Study:
    extremal = _EXTREMAL.get(name)
    return Study(
        f"packetloss.{name}",
        "lossy_broadcast",
        trials[name],
        _GRIDS.get(name, grid()),
        enumerated=_PAIRS,
        extremal=None if extremal is None else lambda _budget: iter([Case({**_RARE, **extremal})]),
        streams=_STREAMS.get(name),
        curves=() if name in _FLAT or name.startswith("corners") else _curves(name),
    )


def _averaged(name: str, field: str, losses: Any, chain: bool = False) -> Study:
    claim = f"packetloss.{name}"
    return Study(
        claim,
        "drift_trials",
        streams=drift_streams(claim, field, losses),
        curves=trial_curves(claim, field, chain),
    )


EXPERIMENTS = studies(
    *ESTIMATES,
    *(_enumerated(name) for name in trials),
    _averaged("average.pair", "pair", _INDEPENDENT),
    _averaged("average.owner", "owner", _INDEPENDENT),
    _averaged("average.differ", "differ", _INDEPENDENT),
    _averaged("bursts.average", "pair", _BURSTY, chain=True),
    Study(
        "packetloss.workers.log_upper",
        "staleness_trials",
        streams=staleness_streams("packetloss.workers.log_upper", True),
    ),
    Study(
        "packetloss.workers.log_lower",
        "staleness_trials",
        streams=staleness_streams("packetloss.workers.log_lower", False),
    ),
    *TRAINING,
    *DESCENTS,
)
