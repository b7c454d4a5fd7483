"""Averaging and training over links that lose packets beside their rank-by-rank twins."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from commbounds import collectives
from commbounds.array_types import Array, Mask
from commbounds.collectives import Bernoulli, Replicas
from commbounds.collectives.packetloss import training_on_rank as training
from commbounds.collectives.packetloss.drift_trials import GOLDEN, _chain, _lost, _mix, _trial_key
from commbounds.collectives.packetloss.links import broadcast, lossy_broadcast_on_rank
from commbounds.collectives.packetloss.loss_processes import threshold
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.packetloss.definitions import DEFINITIONS, GRADIENTS, LOSSES
from commbounds.verify.pairing import RankCase, RankResult, on_definition, on_rows
from commbounds.verify.space import RANKS, SEED, LeftOut, Space


def _shards(values: Array, P: int) -> list[Array]:
    owner = collectives.layout(len(values), P).owner
    return [values[owner == rank] for rank in range(P)]


def _shards_of(reduced: Any, P: int) -> list[RankResult]:
    shards = zip(_shards(reduced.estimate, P), _shards(reduced.arrivals, P), strict=True)
    return [{"estimate": estimate, "arrivals": arrivals} for estimate, arrivals in shards]


def _heard(given: Given) -> tuple[list[RankResult], Traffic]:
    result, traffic = collectives.lossy_broadcast(**given.inputs, **given.parameters, **given.randomness)
    return [{"result": own} for own in result], traffic


def _heard_on_rank(comm: Communicator, given: Given) -> RankResult:
    own, owned = given.inputs["replicas"][comm.rank], _shards(given.inputs["owned"], comm.size)[comm.rank]
    return {"result": lossy_broadcast_on_rank(comm, own, owned, **given.randomness, **given.parameters)}


# --- training ---------------------------------------------------------------------------------------------------------


def _parts(state: training.Replica) -> RankResult:
    links = (state.reduce_state, state.broadcast_state)
    return {
        "parameters": state.parameters,
        "missed": state.missed,
        "step": state.step,
        "bad links": tuple(np.empty(0, np.bool_) if bad is None else bad for bad in links),
    }


def _of_rank(state: training.Replica, seen: Sequence[tuple[training.Replica, Array]]) -> RankResult:
    """What a rank ends with, and what it has and adds to its shard after every step."""
    return {**_parts(state), "seen": tuple({**_parts(held), "update": update} for held, update in seen)}


def _of_ranks(state: Replicas, seen: Sequence[tuple[Replicas, Array]], P: int) -> list[RankResult]:
    cut = [(held, _shards(update, P)) for held, update in seen]
    own = ([(_replica(held, rank), shards[rank]) for held, shards in cut] for rank in range(P))
    return [_of_rank(_replica(state, rank), of_rank) for rank, of_rank in enumerate(own)]


def _replica(state: Replicas, rank: int) -> training.Replica:
    new = training.Replica(
        state.parameters[rank],
        state.missed[rank],
        reduce_state=state.reduce_state,
        broadcast_state=state.broadcast_state,
    )
    return replace(new, step=state.step) if state.step else new


def _stepped(given: Given) -> tuple[list[RankResult], Traffic]:
    after, update, traffic = collectives.lossy_step(**given.inputs, **given.parameters, **given.randomness)
    return _of_ranks(after, [(after, update)], len(after.parameters)), traffic


def _stepped_on_rank(comm: Communicator, given: Given) -> RankResult:
    own, slope = _replica(given.inputs["state"], comm.rank), given.inputs["gradients"][comm.rank]
    after, update = training.lossy_step(comm, own, slope, **given.parameters, **given.randomness)
    return _of_rank(after, [(after, update)])


def _trained(given: Given) -> tuple[list[RankResult], Traffic]:
    options, seen = {**given.parameters, **given.randomness}, list[tuple[Replicas, Array]]()
    options.pop("watched", None)
    gradient = GRADIENTS[options.pop("gradient")]
    state, traffic = collectives.lossy_training(
        **given.inputs, gradient=gradient, observe=lambda *step: seen.append(step), **options
    )
    return _of_ranks(state, seen, len(state.parameters)), traffic


def _trained_on_rank(comm: Communicator, given: Given) -> RankResult:
    """In two parts, the second of which goes on where the first stopped.

    The gradient is the one that all have at their replicas, of a stack that has this rank's replica in every row.
    """
    options, seen = {**given.parameters, **given.randomness}, list[tuple[training.Replica, Array]]()
    options.pop("watched", None)
    of_all, steps = GRADIENTS[options.pop("gradient")], options.pop("steps")

    def gradient(step: int, replica: Array) -> Array:
        return np.asarray(of_all(step, np.tile(replica, (comm.size, 1)))[comm.rank])

    state = _replica(given.inputs["state"], comm.rank)
    for part in (steps // 2, steps - steps // 2):
        state = training.lossy_training(
            comm, replace(state), gradient, steps=part, observe=lambda *step: seen.append(step), **options
        )
    return _of_rank(state, seen)


# --- many trials ------------------------------------------------------------------------------------------------------


def _trial(P: int, loss: str, rho: float, steps: int, seed: int) -> Given:
    """An owner and its receivers: the stack says how many they are."""
    return Given({"stack": np.zeros((P, 1))}, {"loss": LOSSES[loss], "rho": rho, "steps": steps}, {"seed": 46 + seed})


_TRIALS = Space(
    _trial, {"P": RANKS[1:], "loss": tuple(LOSSES), "rho": (0.0, 0.5, 1.0, -1.0), "steps": (6, 1, 9)}, options=("loss",)
)
_UNSHARED = _TRIALS.replaced(loss=("independent", "all", "none"), rho=(0.0,))
"""Losses that `staleness_trials` knows."""


def _arrivals(given: Given) -> Mask:
    """(steps, P, P, 1): what the first trial loses of what rank 0, which owns the only coordinate, sends."""
    loss, steps, P = given.parameters["loss"], given.parameters["steps"], len(given.inputs["stack"])
    chain = _chain(loss, 0.5)
    arrived = np.ones((steps, P, P, 1), np.bool_)
    with np.errstate(over="ignore"):  # without the JIT, numpy warns where the generator means to wrap around
        losses = _stream(given.randomness["seed"], 2)
        bad = np.uint64(0)
        for step in range(steps):
            bad = np.uint64(_lost(losses, np.uint64(step), chain, bad, step == 0))
            bits = [int(bad) >> (0 if loss.shared else receiver) & 1 for receiver in range(P - 1)]
            bad = np.uint64(2**64 - 1 if bits[0] else 0) if loss.shared else bad
            arrived[step, 0, 1:, 0] = np.logical_not(bits)
    return arrived


def _stream(seed: int, number: int) -> np.uint64:
    key = np.uint64(_trial_key(np.uint64(seed), np.uint64(0)))
    return np.uint64(_mix(key + np.uint64(number) * GOLDEN))


def _owned(given: Given) -> Array:
    """The owner's value after every step of the first trial."""
    flip, updates = (1.0 - given.parameters["rho"]) / 2.0, np.empty(given.parameters["steps"])
    with np.errstate(over="ignore"):
        stream = _stream(given.randomness["seed"], 1)
        updates[0] = 1.0 if int(_mix(stream)) & 1 else -1.0
        for step in range(1, len(updates)):
            drawn = int(_mix(stream + np.uint64(step) * GOLDEN))
            updates[step] = updates[step - 1] * (-1.0 if flip == 1.0 or drawn < int(threshold(flip)) else 1.0)
    return np.cumsum(updates)


def _broadcasts(given: Given) -> Traffic:
    """What the trial would have moved: trials count nothing."""
    steps, replicas = {}, given.inputs["stack"]
    for t, arrived in enumerate(_arrivals(given)):
        replicas, steps[f"step {t}"] = collectives.lossy_broadcast(replicas, np.zeros(1), arrived)
    return Traffic.of_phases(steps)


def _drift(given: Given) -> tuple[list[RankResult], Traffic]:
    P = len(given.inputs["stack"])
    found = collectives.drift_trials(P, trials=1, **given.parameters, **given.randomness)
    return [{name: float(values[0]) for name, values in vars(found).items()}] * P, _broadcasts(given)


def _broadcast_in_turn(comm: Communicator, given: Given) -> Iterator[tuple[Array, Array]]:
    """All ranks' copies after every step, and the steps in which they were made."""
    own, fresh = given.inputs["stack"][comm.rank], np.zeros(1, np.int64)
    for t, (value, arrived) in enumerate(zip(_owned(given), _arrivals(given), strict=True)):
        with comm.within(f"step {t}"):
            own, new = broadcast(comm, own, np.full(int(comm.rank == 0), value), arrived, None)
        fresh = np.where(new, t + 1, fresh)
        yield np.concatenate(comm.allgather_object(own)), np.concatenate(comm.allgather_object(fresh))


def _drift_on_rank(comm: Communicator, given: Given) -> RankResult:
    """Gaps are integers, and so are the sums of their squares: whatever the order, the same bits."""
    receivers, steps = comm.size - 1, given.parameters["steps"]
    squares, crossed, differing = 0.0, 0.0, 0
    for copies, versions in _broadcast_in_turn(comm, given):
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


def _staleness(given: Given) -> tuple[list[RankResult], Traffic]:
    P, loss, steps = len(given.inputs["stack"]), Bernoulli(given.parameters["loss"].p), given.parameters["steps"]
    largest, smallest = collectives.staleness_trials(P - 1, steps, loss, 1, given.randomness["seed"])
    return [{"largest": int(largest[0]), "smallest": int(smallest[0])}] * P, _broadcasts(given)


def _staleness_on_rank(comm: Communicator, given: Given) -> RankResult:
    *_, (_, versions) = _broadcast_in_turn(comm, given)
    stale = given.parameters["steps"] - versions[1:]
    return {"largest": int(stale.max()), "smallest": int(stale.min())}


_TRAINING = on_rows("lossy_training", DEFINITIONS["lossy_training"].space, _trained, _trained_on_rank)


def _training_rows(P: int) -> Iterator[RankCase]:
    """The rows of its space; and one rank's losses are drawn from another place, or it makes more steps."""
    yield from _TRAINING.rows(P) if _TRAINING.rows else ()
    first = next(iter(_TRAINING.cases(P)))
    settings = {**first.settings, "loss": "independent", "trial": 0}
    for unlike in ({SEED: settings[SEED] + 1}, {"trial": 1}, {"rounds": settings["rounds"] + 2}) if P > 1 else ():
        yield replace(first, settings=settings, unlike=unlike)


PAIRINGS = (
    on_definition("lossy_reduce_scatter", DEFINITIONS["lossy_reduce_scatter"], of_all=_shards_of),
    on_rows("lossy_broadcast", DEFINITIONS["lossy_broadcast"].space, _heard, _heard_on_rank),
    on_rows(
        "lossy_step",
        DEFINITIONS["lossy_step"].space,
        _stepped,
        _stepped_on_rank,
        LeftOut("parameters that overflow are refused", lambda rate: rate == 1e308),
    ),
    replace(_TRAINING, rows=_training_rows),
    on_rows("drift_trials", _TRIALS, _drift, _drift_on_rank),
    on_rows("staleness_trials", _UNSHARED, _staleness, _staleness_on_rank),
)
