"""Averaging and training over links that lose packets beside their rank-by-rank twins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds import collectives
from commbounds.collectives import Bernoulli, GilbertElliott, Replicas
from commbounds.collectives.packetloss import training_on_rank as training
from commbounds.collectives.packetloss.links import lossy_broadcast_on_rank
from commbounds.collectives.packetloss.loss_processes import Loss
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.experiments.moshpit.pairings import spread_stacks
from commbounds.verify.pairing import Outcome, Pairing, RankCase

__all__ = ["PAIRINGS"]

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Settings = Mapping[str, Any]
_RATES = (0.0, 0.4, 1.0)
_ESTIMATORS = (("arrivals", None), ("owner", None), ("expected", 0.4))


def _mask(case: RankCase, stream: int) -> Mask:
    """Which packets arrive: drawn at the loss rate that the settings name."""
    P, n = case.stack.shape
    packets = collectives.layout(n, P, case.settings["packet"]).packets
    return np.asarray(np.random.default_rng([41, stream]).random((P, P, packets)) >= case.settings["lost"])


def _shards(values: Array, P: int) -> list[Array]:
    owner = collectives.layout(len(values), P).owner
    return [values[owner == rank] for rank in range(P)]


def _cases(seed: int, estimators: tuple[tuple[str, float | None], ...]) -> Any:
    def cases(P: int) -> Iterator[RankCase]:
        stacks = list(spread_stacks(P, seed))
        for turn, lost in enumerate(_RATES):
            for i, (estimator, p) in enumerate(estimators):
                given, stack = stacks[(turn + i) % len(stacks)]
                for packet in (None, 2) if i == 0 else (1,):
                    yield RankCase({**given, "lost": lost, "packet": packet, "estimator": estimator, "p": p}, stack)

    return cases


def _estimate_options(case: RankCase) -> dict[str, Any]:
    return {name: case.settings[name] for name in ("estimator", "p", "packet")}


def _reduce(case: RankCase) -> tuple[list[Outcome], Traffic]:
    reduced, traffic = collectives.lossy_reduce_scatter(case.stack, _mask(case, 0), **_estimate_options(case))
    P = len(case.stack)
    shards = zip(_shards(reduced.estimate, P), _shards(reduced.arrivals, P), strict=True)
    return [{"estimate": estimate, "arrivals": arrivals} for estimate, arrivals in shards], traffic


def _reduce_apart(comm: Communicator, case: RankCase) -> Outcome:
    own = case.stack[comm.rank]
    return vars(collectives.lossy_reduce_scatter.on_rank(comm, own, _mask(case, 0), **_estimate_options(case)))


def _broadcast(case: RankCase) -> tuple[list[Outcome], Traffic]:
    """An owner's new values are twice its old ones."""
    P, n = case.stack.shape
    owned = 2 * case.stack[collectives.layout(n, P).owner, np.arange(n)]
    packet = case.settings["packet"]
    result, traffic = collectives.lossy_broadcast(case.stack, owned, _mask(case, 0), packet=packet)
    return [{"result": own} for own in result], traffic


def _broadcast_apart(comm: Communicator, case: RankCase) -> Outcome:
    own = case.stack[comm.rank]
    owned = 2 * own[collectives.layout(own.size, comm.size).owner == comm.rank]
    return {"result": lossy_broadcast_on_rank(comm, own, owned, _mask(case, 0), packet=case.settings["packet"])}


# --- training ---------------------------------------------------------------------------------------------------------


def _slope(step: int, points: Array) -> Array:
    """An elementwise gradient: of one replica, or of all in a stack."""
    return np.asarray(points * points.dtype.type(0.75) - points.dtype.type(0.125 * step))


def _started(stack: Array) -> Replicas:
    """Replicas that differ already, and are stale by their ranks."""
    return Replicas(stack, np.repeat(np.arange(len(stack))[:, None], stack.shape[1], axis=1), step=3)


def _started_apart(case: RankCase, rank: int) -> training.Replica:
    own = case.stack[rank]
    return training.Replica(own, np.full(own.shape, rank), step=3)


def _step(case: RankCase) -> tuple[list[Outcome], Traffic]:
    state = _started(case.stack)
    masks = _mask(case, 0), _mask(case, 1)
    slopes = _slope(state.step, state.parameters)
    after, update, traffic = collectives.lossy_step(state, slopes, 0.3, *masks, **_estimate_options(case))
    return _of_ranks(after, [update], len(case.stack)), traffic


def _of_ranks(state: Replicas, updates: list[Array], P: int) -> list[Outcome]:
    shards = [_shards(update, P) for update in updates]
    return [
        {
            "parameters": state.parameters[rank],
            "missed": state.missed[rank],
            "step": state.step,
            "bad links": _links(state.reduce_state, state.broadcast_state),
            "updates": tuple(shard[rank] for shard in shards),
        }
        for rank in range(P)
    ]


def _links(*states: Mask | None) -> tuple[Mask, ...]:
    return tuple(np.empty(0, np.bool_) if state is None else state for state in states)


def _of_rank(state: training.Replica, updates: list[Array]) -> Outcome:
    return {
        "parameters": state.parameters,
        "missed": state.missed,
        "step": state.step,
        "bad links": _links(state.reduce_state, state.broadcast_state),
        "updates": tuple(updates),
    }


def _step_apart(comm: Communicator, case: RankCase) -> Outcome:
    state = _started_apart(case, comm.rank)
    masks = _mask(case, 0), _mask(case, 1)
    slope = _slope(state.step, state.parameters)
    after, update = training.lossy_step(comm, state, slope, 0.3, *masks, **_estimate_options(case))
    return _of_rank(after, [update])


_LOSSES: tuple[Settings, ...] = (
    {"loss": "independent", "p": 0.0, "estimator": "expected"},
    {"loss": "independent", "p": 1.0, "estimator": "arrivals"},
    {"loss": "independent", "p": 0.3, "estimator": "owner", "broadcast_only": True},
    {"loss": "independent", "p": 0.3, "estimator": "expected", "shared": True},
    {"loss": "bursts", "p": 0.25, "estimator": "arrivals"},
    {"loss": "bursts", "p": 0.5, "estimator": "owner", "shared": True, "steps": 0},
)


def _runs(P: int) -> Iterator[RankCase]:
    stacks = list(spread_stacks(P, 44))
    for turn, chosen in enumerate(_LOSSES):
        given, stack = stacks[turn % len(stacks)]
        usual = {"steps": 5, "shared": False, "broadcast_only": False, "packet": 2 if turn % 2 else None}
        yield RankCase({**given, **usual, **chosen}, stack)


def _loss(given: Settings) -> Loss:
    p, shared = given["p"], given["shared"]
    return Bernoulli(p, shared) if given["loss"] == "independent" else GilbertElliott(p, 0.5, shared)


def _run_options(given: Settings) -> dict[str, Any]:
    return {**{name: given[name] for name in ("estimator", "packet", "broadcast_only")}, "seed": 45, "trial": 6}


def _training(case: RankCase) -> tuple[list[Outcome], Traffic]:
    given = case.settings
    updates: list[Array] = []
    state, traffic = collectives.lossy_training(
        _started(case.stack),
        _slope,
        _loss(given),
        given["steps"],
        0.2,
        observe=lambda _, update: updates.append(update),
        **_run_options(given),
    )
    return _of_ranks(state, updates, len(case.stack)), traffic


def _training_apart(comm: Communicator, case: RankCase) -> Outcome:
    """In two parts, the second of which goes on where the first stopped."""
    given = case.settings
    updates: list[Array] = []
    state = _started_apart(case, comm.rank)
    for steps in (given["steps"] // 2, given["steps"] - given["steps"] // 2):
        state = training.lossy_training(
            comm,
            replace(state),
            _slope,
            _loss(given),
            steps,
            0.2,
            observe=lambda _, update: updates.append(update),
            **_run_options(given),
        )
    return _of_rank(state, updates)


PAIRINGS: tuple[Pairing, ...] = (
    Pairing("lossy_reduce_scatter", _cases(41, _ESTIMATORS), _reduce, _reduce_apart),
    Pairing("lossy_broadcast", _cases(42, _ESTIMATORS[:1]), _broadcast, _broadcast_apart),
    Pairing("lossy_step", _cases(43, _ESTIMATORS), _step, _step_apart),
    Pairing("lossy_training", _runs, _training, _training_apart),
)
