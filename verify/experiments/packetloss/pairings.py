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
from commbounds.collectives.packetloss.drift_trials import GOLDEN, _chain, _lost, _mix, _trial_key
from commbounds.collectives.packetloss.links import broadcast, lossy_broadcast_on_rank
from commbounds.collectives.packetloss.loss_processes import threshold
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.moshpit.pairings import spread_stacks
from commbounds.verify.experiments.packetloss.definitions import DEFINITIONS, GRADIENTS
from commbounds.verify.pairing import Pairing, RankCase, RankResult, on_definition, on_rows
from commbounds.verify.space import LeftOut

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


def _reduce(case: RankCase) -> tuple[list[RankResult], Traffic]:
    reduced, traffic = collectives.lossy_reduce_scatter(case.stack, _mask(case, 0), **_estimate_options(case))
    return _shards_of(reduced, len(case.stack)), traffic


def _reduce_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    own = case.stack[comm.rank]
    return vars(collectives.lossy_reduce_scatter.on_rank(comm, own, _mask(case, 0), **_estimate_options(case)))


def _broadcast(case: RankCase) -> tuple[list[RankResult], Traffic]:
    """An owner's new values are twice its old ones."""
    P, n = case.stack.shape
    owned = 2 * case.stack[collectives.layout(n, P).owner, np.arange(n)]
    packet = case.settings["packet"]
    result, traffic = collectives.lossy_broadcast(case.stack, owned, _mask(case, 0), packet=packet)
    return [{"result": own} for own in result], traffic


def _broadcast_on_rank(comm: Communicator, case: RankCase) -> RankResult:
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


def _started_on_rank(case: RankCase, rank: int) -> training.Replica:
    own = case.stack[rank]
    return training.Replica(own, np.full(own.shape, rank), step=3)


def _step(case: RankCase) -> tuple[list[RankResult], Traffic]:
    state = _started(case.stack)
    masks = _mask(case, 0), _mask(case, 1)
    slopes = _slope(state.step, state.parameters)
    after, update, traffic = collectives.lossy_step(state, slopes, 0.3, *masks, **_estimate_options(case))
    return _of_ranks(after, [update], len(case.stack)), traffic


def _of_ranks(state: Replicas, updates: list[Array], P: int) -> list[RankResult]:
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


def _of_rank(state: training.Replica, updates: list[Array]) -> RankResult:
    return {
        "parameters": state.parameters,
        "missed": state.missed,
        "step": state.step,
        "bad links": _links(state.reduce_state, state.broadcast_state),
        "updates": tuple(updates),
    }


def _step_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    state = _started_on_rank(case, comm.rank)
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


def _loss(given: Settings) -> Bernoulli | GilbertElliott:
    p, shared = given["p"], given["shared"]
    return Bernoulli(p, shared) if given["loss"] == "independent" else GilbertElliott(p, 0.5, shared)


def _run_options(given: Settings) -> dict[str, Any]:
    return {**{name: given[name] for name in ("estimator", "packet", "broadcast_only")}, "seed": 45, "trial": 6}


def _training(case: RankCase) -> tuple[list[RankResult], Traffic]:
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


def _training_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    """In two parts, the second of which goes on where the first stopped."""
    given = case.settings
    updates: list[Array] = []
    state = _started_on_rank(case, comm.rank)
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


# --- many trials ------------------------------------------------------------------------------------------------------


def _trials(P: int) -> Iterator[RankCase]:
    """An owner and its receivers: there are at least two workers. The stack says how many they are."""
    for turn, chosen in enumerate(_LOSSES):
        given = {"loss": chosen["loss"], "p": chosen["p"], "shared": chosen.get("shared", False)}
        if P > 1:
            yield RankCase({**given, "steps": 6, "seed": 46, "rho": (0.0, 0.5, 1.0, -1.0)[turn % 4]}, np.zeros((P, 1)))


def _unshared(P: int) -> Iterator[RankCase]:
    """Losses that `staleness_trials` knows."""
    return (case for case in _trials(P) if case.settings["loss"] == "independent" and not case.settings["shared"])


def _arrivals(case: RankCase) -> NDArray[np.bool_]:
    """(steps, P, P, 1): what the first trial loses of what rank 0, which owns the only coordinate, sends."""
    given, P = case.settings, len(case.stack)
    chain = _chain(_loss(given), 0.5)
    arrived = np.ones((given["steps"], P, P, 1), np.bool_)
    with np.errstate(over="ignore"):  # without the JIT, numpy warns where the generator means to wrap around
        losses = _stream(given["seed"], 2)
        bad = np.uint64(0)
        for step in range(given["steps"]):
            bad = np.uint64(_lost(losses, np.uint64(step), chain, bad, step == 0))
            bits = [int(bad) >> (0 if given["shared"] else receiver) & 1 for receiver in range(P - 1)]
            bad = np.uint64(2**64 - 1 if bits[0] else 0) if given["shared"] else bad
            arrived[step, 0, 1:, 0] = np.logical_not(bits)
    return arrived


def _stream(seed: int, number: int) -> np.uint64:
    key = np.uint64(_trial_key(np.uint64(seed), np.uint64(0)))
    return np.uint64(_mix(key + np.uint64(number) * GOLDEN))


def _owned(case: RankCase) -> Array:
    """The owner's value after every step of the first trial."""
    given = case.settings
    flip, updates = (1.0 - given["rho"]) / 2.0, np.empty(given["steps"])
    with np.errstate(over="ignore"):
        stream = _stream(given["seed"], 1)
        updates[0] = 1.0 if int(_mix(stream)) & 1 else -1.0
        for step in range(1, given["steps"]):
            drawn = int(_mix(stream + np.uint64(step) * GOLDEN))
            updates[step] = updates[step - 1] * (-1.0 if flip == 1.0 or drawn < int(threshold(flip)) else 1.0)
    return np.cumsum(updates)


def _broadcasts(case: RankCase) -> Traffic:
    """What the trial would have moved: trials count nothing."""
    steps, replicas = {}, case.stack
    for t, arrived in enumerate(_arrivals(case)):
        replicas, steps[f"step {t}"] = collectives.lossy_broadcast(replicas, np.zeros(1), arrived)
    return Traffic.of_phases(steps)


def _drift(case: RankCase) -> tuple[list[RankResult], Traffic]:
    given, P = case.settings, len(case.stack)
    found = collectives.drift_trials(P, given["steps"], _loss(given), 1, given["seed"], rho=given["rho"])
    outcome = {name: float(values[0]) for name, values in vars(found).items()}
    return [outcome] * P, _broadcasts(case)


def _broadcast_in_turn(comm: Communicator, case: RankCase) -> Iterator[tuple[Array, Array]]:
    """All ranks' copies after every step, and the steps in which they were made."""
    own, fresh = case.stack[comm.rank], np.zeros(1, np.int64)
    for t, (value, arrived) in enumerate(zip(_owned(case), _arrivals(case), strict=True)):
        with comm.within(f"step {t}"):
            own, new = broadcast(comm, own, np.full(int(comm.rank == 0), value), arrived, None)
        fresh = np.where(new, t + 1, fresh)
        yield np.concatenate(comm.allgather_object(own)), np.concatenate(comm.allgather_object(fresh))


def _drift_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    """Gaps are integers, and so are the sums of their squares: whatever the order, the same bits."""
    receivers, steps = comm.size - 1, case.settings["steps"]
    squares, crossed, differing = 0.0, 0.0, 0
    for copies, versions in _broadcast_in_turn(comm, case):
        gaps = copies[0] - copies[1:]
        squares += float(np.square(gaps).sum())
        crossed += float(np.square(gaps[:, None] - gaps).sum()) / 2
        pairs = versions[1 : 1 + receivers // 2 * 2].reshape(-1, 2)
        differing += int((pairs[:, 0] != pairs[:, 1]).sum())
    return {
        "owner": squares / (steps * receivers),
        "pair": 2.0 * crossed / (steps * receivers * (receivers - 1.0)) if receivers > 1 else 0.0,
        "differ": differing / (steps * (receivers // 2)) if receivers > 1 else 0.0,
    }


def _staleness(case: RankCase) -> tuple[list[RankResult], Traffic]:
    given, P = case.settings, len(case.stack)
    loss = Bernoulli(given["p"])
    largest, smallest = collectives.staleness_trials(P - 1, given["steps"], loss, 1, given["seed"])
    return [{"largest": int(largest[0]), "smallest": int(smallest[0])}] * P, _broadcasts(case)


def _staleness_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    *_, (_, versions) = _broadcast_in_turn(comm, case)
    stale = case.settings["steps"] - versions[1:]
    return {"largest": int(stale.max()), "smallest": int(stale.min())}


# --- on the rows of the definitions -----------------------------------------------------------------------------------


def _shards_of(reduced: Any, P: int) -> list[RankResult]:
    shards = zip(_shards(reduced.estimate, P), _shards(reduced.arrivals, P), strict=True)
    return [{"estimate": estimate, "arrivals": arrivals} for estimate, arrivals in shards]


def _heard(given: Given) -> tuple[list[RankResult], Traffic]:
    result, traffic = collectives.lossy_broadcast(**given.inputs, **given.parameters, **given.randomness)
    return [{"result": own} for own in result], traffic


def _heard_on_rank(comm: Communicator, given: Given) -> RankResult:
    own, owned = given.inputs["replicas"][comm.rank], _shards(given.inputs["owned"], comm.size)[comm.rank]
    return {"result": lossy_broadcast_on_rank(comm, own, owned, **given.randomness, **given.parameters)}


def _replica(state: Replicas, rank: int) -> training.Replica:
    links = state.reduce_state, state.broadcast_state
    return training.Replica(state.parameters[rank], state.missed[rank], state.step, *links)


def _stepped(given: Given) -> tuple[list[RankResult], Traffic]:
    after, update, traffic = collectives.lossy_step(**given.inputs, **given.parameters, **given.randomness)
    return _of_ranks(after, [update], len(after.parameters)), traffic


def _stepped_on_rank(comm: Communicator, given: Given) -> RankResult:
    own, slope = _replica(given.inputs["state"], comm.rank), given.inputs["gradients"][comm.rank]
    after, update = training.lossy_step(comm, own, slope, **given.parameters, **given.randomness)
    return _of_rank(after, [update])


def _trained(given: Given) -> tuple[list[RankResult], Traffic]:
    options, updates = {**given.parameters, **given.randomness}, list[Array]()
    options.pop("watched", None)
    gradient = GRADIENTS[options.pop("gradient")]
    state, traffic = collectives.lossy_training(
        **given.inputs, gradient=gradient, observe=lambda _, update: updates.append(update), **options
    )
    return _of_ranks(state, updates, len(state.parameters)), traffic


def _trained_on_rank(comm: Communicator, given: Given) -> RankResult:
    """The gradient that all have at their replicas, of a stack that has this rank's replica in every row."""
    options, updates = {**given.parameters, **given.randomness}, list[Array]()
    options.pop("watched", None)
    of_all = GRADIENTS[options.pop("gradient")]

    def gradient(step: int, replica: Array) -> Array:
        return np.asarray(of_all(step, np.tile(replica, (comm.size, 1)))[comm.rank])

    own = _replica(given.inputs["state"], comm.rank)
    state = training.lossy_training(
        comm, own, gradient, observe=lambda _, update: updates.append(update), **options
    )  # fmt: skip
    return _of_rank(state, updates)


PAIRINGS: tuple[Pairing, ...] = (
    on_definition(
        Pairing("lossy_reduce_scatter", _cases(41, _ESTIMATORS), _reduce, _reduce_on_rank),
        DEFINITIONS["lossy_reduce_scatter"],
        _shards_of,
        vars,
    ),
    on_rows(
        Pairing("lossy_broadcast", _cases(42, _ESTIMATORS[:1]), _broadcast, _broadcast_on_rank),
        DEFINITIONS["lossy_broadcast"].space,
        _heard,
        _heard_on_rank,
    ),
    on_rows(
        Pairing("lossy_step", _cases(43, _ESTIMATORS), _step, _step_on_rank),
        DEFINITIONS["lossy_step"].space,
        _stepped,
        _stepped_on_rank,
        LeftOut("parameters that overflow are refused", lambda rate: rate == 1e308),
    ),
    on_rows(
        Pairing("lossy_training", _runs, _training, _training_on_rank),
        DEFINITIONS["lossy_training"].space,
        _trained,
        _trained_on_rank,
    ),
    Pairing("drift_trials", _trials, _drift, _drift_on_rank),
    Pairing("staleness_trials", _unshared, _staleness, _staleness_on_rank),
)
