"""Distributed training under packet loss: the claims bound to their implementations."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from commbounds.collectives import Bernoulli, GilbertElliott
from commbounds.verify.experiments.packetloss import laws
from commbounds.verify.experiments.packetloss.curves import LOSSES
from commbounds.verify.experiments.packetloss.descent import DESCENTS
from commbounds.verify.experiments.packetloss.draws import (
    broadcast_streams,
    drift_streams,
    recorded_streams,
    staleness_streams,
    trial_curves,
)
from commbounds.verify.experiments.packetloss.estimates import ESTIMATES
from commbounds.verify.experiments.packetloss.gaps import SIGMA, Histories, histories
from commbounds.verify.experiments.packetloss.training import TRAINING
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import Of, Space, nothing, rationals
from commbounds.verify.study import Curve, Study, over, studies

Axis = Sequence[Any] | Callable[..., Iterable[Any]]
_BELOW_ONE = rationals(0, "1/20", "1/10", "1/5", "2/5", "1/2", "2/3", "9/10")
_LOSSY = ("drift.as_reviewed", "drift.relaxation")
"""There is nothing to see of them without losses."""
_SOME, _HALF = rationals("1/20", "1/5", "1/2", "9/10"), rationals("1/2")
_PAIR = {2: (4, 5, 5)}
"""Most steps of each level, by the number of receivers."""
_SEVERAL = {1: (4, 5, 6), 2: (3, 4, 4), 3: (2, 2, 3), 4: (2, 2, 2), 7: (1, 1, 1)}


def _facts(receivers: int, t: int) -> dict[str, Any]:
    return {"elapsed": t, "sigma": SIGMA, "N": receivers + 1}


def _run(implementation: Any, receivers: int, t: int, last: bool) -> Histories:
    return histories(implementation, receivers, t, 1, last)


def _enumerated(
    measure: laws.Measure,
    *names: str,
    sizes: Mapping[int, tuple[int, int, int]] = _PAIR,
    p: Sequence[Fraction] = _BELOW_ONE,
    rare: Mapping[str, Any] | None = None,
    also: Mapping[str, Any] | None = None,
    flat: bool = False,
    streams: Any = None,
    **axes: Axis,
) -> tuple[FamilyStudy, ...]:
    """Studies on every pattern of losses, and of one case by hand.

    `rare` settings beside few losses and four steps are extremal: next to nothing is missing of the limit. Curves run
    over the loss probability, or the chance to recover, everything else at its extremal or its last value; there are
    none where they would be `flat`: zero everywhere, or a bound that depends on the case.
    """
    every: dict[str, Axis] = {
        "receivers": tuple(sizes),
        "t": lambda receivers, level: range(1, sizes[receivers][level] + 1),
        **axes,
        "p": p,
        "last": (False, True),
    }
    space = Space(nothing, dict.fromkeys(("receivers", "t", "p", "last", *axes), (None,)))
    family = Family("packetloss", "lossy_broadcast", space, _facts, _run, searched=False)
    steady = {"receivers": 2, "t": 4, "last": False}
    rarest = {**steady, "p": _SOME[0], **(rare or {})}
    extremes = [] if rare is None else [space.at(**rarest)]
    more = family.of([] if also is None else [space.at(**{**steady, **also})])
    grid = family.every(**every)
    curves: list[Curve] = []
    if not flat:
        held = rarest if extremes else space.every(**every)[-1]
        names_shown = [name for name in every if name not in ("p", "last") and not isinstance(held[name], Of)]
        shown = ", ".join(f"{name} = {held[name]}" for name in names_shown)
        if "recovery" in axes:
            rows = (space.at(**{**held, "recovery": Fraction(b, 10)}) for b in range(1, 10))
            curves = [over("recovery", "", map(family.case, rows))]
        else:
            losses = [v for v in LOSSES if v or names[0] not in _LOSSY]
            curves = [family.over("p", losses, shown, **held)]
    options: dict[str, Any] = {"extremal": family.of(extremes)} if extremes else {}
    return family.studies(
        measure,
        *names,
        grid=lambda level: itertools.chain(grid(level), more(level)),
        corpus=None,
        enumerated="every pattern of losses of a shard over up to 4 (6) steps",
        streams=streams,
        curves=curves,
        **options,
    )


_DRAWS: Any = {"draw": range(3)}
_CHAINS: Any = {"p": _HALF, "lossrate": rationals("2/3", "1/10", "1/4", "1/2"), "recovery": rationals("1/10", "1/3", 1)}
_BOUNDED: Any = {
    "sizes": {2: (3, 4, 5)},
    "p": _SOME,
    "signs": lambda t: ("with the gap", "against the gap", *itertools.product((1, -1, 0), repeat=t)),
    "also": {"p": _SOME[-1], "signs": (1, 1, 1, 1)},
    "rare": {"signs": (1, 1, 1, 1)},
}
_INDEPENDENT = (Bernoulli(0.1), Bernoulli(0.4))
_BURSTY = (GilbertElliott(1 / 90, 0.1), GilbertElliott(0.25, 0.5))


def _streams(name: str, what: str, losses: Any = _INDEPENDENT) -> Any:
    return broadcast_streams(f"packetloss.{name}", what, losses)


_PAIR_DRIFT, _OWNER_DRIFT = laws.white(laws.pair_gap), laws.white(laws.owner_gap)
_PAIR_BURSTS, _OWNER_BURSTS = laws.in_bursts(laws.pair_gap), laws.in_bursts(laws.owner_gap)
_CERTAIN = rationals(1)
_CORRELATION = [Of("-1/(2 - p)", lambda p: -1 / (2 - p))]
"""That of the reported constant."""

HISTORIES = (
    *_enumerated(
        laws.staleness, "staleness.law", stale=lambda t: range(t), receiver=lambda receivers: range(receivers)
    ),
    *_enumerated(
        laws.staleness, "staleness.never_updated", stale=lambda t: [t], receiver=lambda receivers: range(receivers)
    ),
    *_enumerated(laws.differ, "versions.differ", streams=_streams("versions.differ", "differ")),
    *_enumerated(laws.differ, "versions.as_reviewed", rare={}),
    *_enumerated(laws.version_gap, "versions.gap", apart=lambda t: range(1, t + 1)),
    *_enumerated(laws.version_moment(1), "versions.mean_gap", rare={}),
    *_enumerated(laws.version_moment(2), "versions.mean_square_gap", rare={}),
    *_enumerated(_PAIR_DRIFT, "drift.pair", streams=_streams("drift.pair", "pair")),
    *_enumerated(_PAIR_DRIFT, "drift.pair_limit", rare={}),
    *_enumerated(_PAIR_DRIFT, "drift.as_reviewed", rare={"p": Fraction(1, 5), "t": 5}),
    *_enumerated(_OWNER_DRIFT, "drift.owner", streams=_streams("drift.owner", "owner")),
    *_enumerated(_OWNER_DRIFT, "drift.owner_limit", rare={}),
    *_enumerated(
        laws.two_updates,
        "drift.two_updates",
        p=_SOME,
        flat=True,
        older=lambda t: range(t),
        age=lambda older: range(older + 1),
    ),
    *_enumerated(laws.given_updates, "drift.given_updates", flat=True, streams=recorded_streams, **_DRAWS),
    *_enumerated(laws.one_step, "drift.one_step", flat=True, **_DRAWS),
    *_enumerated(laws.relaxation, "drift.relaxation"),
    *_enumerated(laws.whole_vector, "drift.whole_vector", sizes=_SEVERAL),
    *_enumerated(laws.whole_vector, "drift.whole_vector_limit", sizes=_SEVERAL, rare={}),
    *_enumerated(laws.consensus, "drift.consensus", sizes=_SEVERAL),
    *_enumerated(laws.consensus, "drift.consensus_limit", sizes=_SEVERAL, rare={}),
    *_enumerated(laws.any_losses, "drift.any_losses", p=_HALF, flat=True, **_DRAWS),
    *_enumerated(
        laws.correlated, "drift.as_reviewed_with_correlated_updates", rare={"rho": _CORRELATION[0]}, rho=_CORRELATION
    ),
    *_enumerated(
        laws.correlated,
        "drift.autoregressive",
        p=_SOME,
        rare={"rho": Fraction(1, 2)},
        rho=[Fraction(i, 4) for i in range(-4, 5)],
    ),
    *_enumerated(laws.autocovariance, "drift.autocovariance", rare={"window": 2}, window=(1, 2, 3)),
    *_enumerated(laws.bounded(laws.pair_gap, 2), "drift.sure_norm", **_BOUNDED),
    *_enumerated(laws.bounded(laws.pair_gap, 1), "drift.mean_norm", **_BOUNDED),
    *_enumerated(laws.bounded(laws.owner_gap, 2), "drift.owner_sure_norm", **_BOUNDED),
    *_enumerated(
        laws.staleness_range,
        "workers.range",
        sizes={1: (4, 5, 6), 2: (3, 4, 5), 3: (3, 3, 4), 4: (2, 2, 3), 7: (1, 1, 1)},
    ),
    *_enumerated(_PAIR_BURSTS, "bursts.pair", streams=_streams("bursts.pair", "pair", _BURSTY), **_CHAINS),
    *_enumerated(_OWNER_BURSTS, "bursts.owner", streams=_streams("bursts.owner", "owner", _BURSTY), **_CHAINS),
    *_enumerated(
        _PAIR_BURSTS, "bursts.pair_limit", rare={"lossrate": Fraction(1, 10), "recovery": Fraction(1)}, **_CHAINS
    ),
    *_enumerated(
        _PAIR_BURSTS,
        "bursts.as_if_independent",
        rare={"lossrate": Fraction(1, 10), "recovery": Fraction(1, 10)},
        **_CHAINS,
    ),
    *_enumerated(laws.shared_pair, "shared.pair", flat=True),
    *_enumerated(
        laws.shared_owner, "shared.owner", streams=_streams("shared.owner", "owner", (Bernoulli(0.4, shared=True),))
    ),
    *_enumerated(_PAIR_DRIFT, "corners.no_loss", p=rationals(0), flat=True),
    *_enumerated(_PAIR_DRIFT, "corners.pair_at_certain_loss", p=_CERTAIN, flat=True),
    *_enumerated(_OWNER_DRIFT, "corners.owner_at_certain_loss", p=_CERTAIN, flat=True),
    *_enumerated(laws.packets_drift, "packets.drift", sizes={2: (2, 3, 3)}, p=_SOME),
    *_enumerated(laws.packets_all_lost, "packets.all_lost", sizes={1: (1, 1, 1), 2: (1, 1, 1)}, packets=range(1, 5)),
)


def _averaged(name: str, field: str, losses: Any, chain: bool = False) -> Study:
    claim = f"packetloss.{name}"
    streams, curves = drift_streams(claim, field, losses), trial_curves(claim, field, chain)
    return Study(claim, "drift_trials", streams=streams, curves=curves)


def _stalest(name: str, upper: bool) -> Study:
    return Study(name, "staleness_trials", streams=staleness_streams(name, upper))


EXPERIMENTS = studies(
    *ESTIMATES,
    *HISTORIES,
    _averaged("average.pair", "pair", _INDEPENDENT),
    _averaged("average.owner", "owner", _INDEPENDENT),
    _averaged("average.differ", "differ", _INDEPENDENT),
    _averaged("bursts.average", "pair", _BURSTY, chain=True),
    _stalest("packetloss.workers.log_upper", True),
    _stalest("packetloss.workers.log_lower", False),
    *TRAINING,
    *DESCENTS,
)
