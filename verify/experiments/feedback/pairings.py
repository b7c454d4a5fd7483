"""Descents with error feedback beside their rank-by-rank twins, over several steps."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds import collectives, compressors
from commbounds.array_types import Array
from commbounds.collectives import ArcRows, FeedbackSGD, FeedbackSGDState, GatheredTopK, OkTopK
from commbounds.collectives.feedback.on_rank import feedback_sgd_start, feedback_sgd_step
from commbounds.collectives.oktopk.state import OkTopkRankState
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.pairing import Pairing, RankCase, RankResult

_COMPRESSORS: Mapping[str, compressors.Compressor] = MappingProxyType(
    {
        "topk": compressors.TopK(2),
        "identity": compressors.Identity(),
        "scaled signs": compressors.ScaledSign(),
        "threshold": compressors.HardThreshold(0.6),  # messages of different lengths
        "group": compressors.GroupQuantizer(3, 2, "float16", spikes=True),
        "randk": compressors.RandK(2),
        "qsgd": compressors.QSGD(4),
        "stochastic group": compressors.StochasticGroupQuantizer(2, 3),
        "powersgd": compressors.PowerSGD(1),
    }
)
_AGGREGATORS: Mapping[str, Any] = MappingProxyType(
    {
        "arc": ArcRows(1, 2),
        "arc, bfloat16": ArcRows(
            2, 1, {"sketch_format": "bfloat16", "allreduce": collectives.recursive_doubling_allreduce}
        ),
        "gathered": GatheredTopK(2),
        "oktopk": OkTopK(2, {"tau": 2, "tau_prime": 2, "allgather": "ring"}),
    }
)
_CHOICES: tuple[Mapping[str, Any], ...] = (
    {"mechanism": "Plain", "compressor": "topk"},
    {"mechanism": "EF14", "compressor": "topk", "allgather": "ring"},
    {"mechanism": "EF21", "compressor": "topk"},
    {"mechanism": "EF21", "compressor": "threshold", "dense": False, "allgather": "recursive-doubling"},
    {"mechanism": "EF21M", "compressor": "group", "eta": 0.3},
    {"mechanism": "EControl", "compressor": "topk", "eta": 0.3},
    {"mechanism": "EF14", "compressor": "scaled signs"},
    {"mechanism": "EControl", "compressor": "group", "eta": 0.1, "dense": False, "allgather": "ring"},
    {"mechanism": "Plain", "compressor": "identity", "allgather": "ring"},
    {"mechanism": "EF14", "compressor": "randk", "seed": 1},
    {"mechanism": "EF14", "compressor": "randk", "seed": 2, "shared": True},
    {"mechanism": "Plain", "compressor": "qsgd", "seed": 3, "allgather": "recursive-doubling"},
    {"mechanism": "EF21M", "compressor": "stochastic group", "seed": 4, "dense": False},
    {"mechanism": "EF14", "aggregator": "arc", "seed": 5},
    {"mechanism": "EF21", "aggregator": "arc, bfloat16", "seed": 6},
    {"mechanism": "EF14", "aggregator": "gathered"},
    {"mechanism": "EF21M", "aggregator": "gathered", "eta": 0.5},
    {"mechanism": "EF14", "aggregator": "oktopk"},
    {"mechanism": "EF21", "aggregator": "oktopk", "dense": False},
)
_OF_MATRICES: tuple[Mapping[str, Any], ...] = (
    {"mechanism": "EF14", "compressor": "powersgd", "seed": 7, "shared": True},
    {"mechanism": "EF21", "compressor": "powersgd", "seed": 8},
    {"mechanism": "EF14", "aggregator": "arc", "seed": 9},
)
_UNLIKE: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = (
    (_CHOICES[0], {"mechanism": "EF21"}),
    (_CHOICES[0], {"allgather": "ring"}),
    (_CHOICES[0], {"step_size": 0.5}),
    (_CHOICES[0], {"weight": 2.0}),
    (_CHOICES[0], {"later weight": 2.0}),
    (_CHOICES[0], {"later step": 5}),
    (_CHOICES[10], {"seed": 3}),
    (_CHOICES[10], {"shared": False}),
    (_CHOICES[13], {"aggregator": "gathered"}),
)
"""What one rank is given in place of what the others are."""


def _stacks(P: int) -> Iterator[tuple[str, Array]]:
    """(P, steps, ...) gradients by name; draws are the same at every call."""
    rng = np.random.default_rng([P, 4])
    spread = rng.standard_normal((P, 3, 7)) * 10.0 ** rng.integers(-3, 4, (P, 3, 7))
    yield "spread", spread.astype(np.float32)
    yield "spread", spread
    yield "ties", rng.integers(-1, 2, (P, 3, 6)).astype(np.float64)
    yield "zeros", np.zeros((P, 2, 5), np.float32)
    yield "fewer entries than ranks", rng.standard_normal((P, 3, max(2, P - 1))).astype(np.float32)
    yield "matrices", rng.standard_normal((P, 3, 4, 3)).astype(np.float32)


def _cases(P: int) -> Iterator[RankCase]:
    """The spread gradients of one dtype or the other with every choice, the others with a few in turn."""
    stacks = list(_stacks(P))
    cases = [(stacks[turn % 2], choice) for turn, choice in enumerate(_CHOICES)]
    cases += [(stacks[2 + turn % 3], choice) for turn, choice in enumerate(_CHOICES[::2])]
    cases += [(stacks[-1], choice) for choice in _OF_MATRICES]
    for (name, stack), choice in cases:
        yield RankCase({"input": name, "dtype": stack.dtype.name, **choice}, stack)
    name, stack = stacks[0]
    for choice, unlike in _UNLIKE if P > 1 else ():
        yield RankCase({"input": name, "dtype": stack.dtype.name, **choice}, stack, unlike)
        if not {"later weight", "later step", "seed"} & set(unlike):  # before any step, too
            yield RankCase({"input": "no step", "dtype": stack.dtype.name, **choice}, stack[:, :0], unlike)


def _descent(settings: Mapping[str, Any]) -> FeedbackSGD:
    options = {name: settings[name] for name in ("eta", "dense") if name in settings}
    compressor, aggregator = settings.get("compressor"), settings.get("aggregator")
    return FeedbackSGD(
        getattr(compressors, settings["mechanism"])(_COMPRESSORS[compressor] if compressor else None, **options),
        settings.get("step_size", 0.3),
        _AGGREGATORS[aggregator] if aggregator else None,
        settings.get("shared", False),
        settings.get("allgather", "bruck"),
    )


def _generator(settings: Mapping[str, Any]) -> np.random.Generator | None:
    return np.random.default_rng(settings["seed"]) if "seed" in settings else None


def _first_weights(case: RankCase) -> Array:
    return np.full(case.stack.shape[2:], case.settings.get("weight", 1.0), case.stack.dtype)


def _seen(t: int, weights: Array, estimate: Array, worker: Any, aggregator: OkTopkRankState | None) -> RankResult:
    """What a rank has after a step."""
    own = {"t": t, "weights": weights, "estimate": estimate, "memory": worker.memory}
    own |= {} if worker.momentum is None else {"momentum": worker.momentum}
    own |= {} if worker.error is None else {"error": worker.error}
    return own if aggregator is None else {**own, **vars(aggregator)}


def _of_rank(state: FeedbackSGDState, rank: int) -> RankResult:
    remembered = None if state.aggregator is None else OkTopkRankState.of(state.aggregator, rank)
    return _seen(state.t, state.weights, state.estimate, state.workers[rank], remembered)


def _drawn_next(rng: np.random.Generator | None) -> int:
    """What the stream draws after all: it must have been used up alike."""
    return 0 if rng is None else int(rng.integers(2**63))


def _in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    P, steps = case.stack.shape[:2]
    sgd, rng = _descent(case.settings), _generator(case.settings)
    state = sgd.start(_first_weights(case), P)
    outcomes: list[list[RankResult]] = []
    traffics = {}
    for t in range(steps):
        state, traffics[f"step {t}"] = sgd.step(case.stack[:, t], state, rng)
        outcomes.append([_of_rank(state, rank) for rank in range(P)])
    following = _drawn_next(rng)
    by_rank: list[RankResult] = [{"steps": own, "drawn next": following} for own in zip(*outcomes, strict=True)]
    return by_rank, Traffic.of_phases(traffics)


def _on_rank(comm: Communicator, case: RankCase) -> RankResult:
    sgd, rng = _descent(case.settings), _generator(case.settings)
    state = feedback_sgd_start(comm, sgd, _first_weights(case))
    given = case.settings
    state = replace(state, t=given.get("later step", state.t))
    if "later weight" in given:
        state = replace(state, weights=given["later weight"] * state.weights)
    outcomes = []
    for t, gradient in enumerate(case.stack[comm.rank]):
        with comm.within(f"step {t}"):
            state = feedback_sgd_step(comm, sgd, gradient, state, rng)
        outcomes.append(_seen(state.t, state.weights, state.estimate, state.worker, state.aggregator))
    return {"steps": tuple(outcomes), "drawn next": _drawn_next(rng)}


PAIRINGS: tuple[Pairing, ...] = (Pairing("FeedbackSGD", _cases, _in_one_process, _on_rank),)
