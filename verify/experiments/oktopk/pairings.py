"""Ok-Topk and its descent beside their rank-by-rank twins, over iterations that reuse thresholds and regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives import OkTopkSGD, OkTopkSGDState, oktopk_allreduce, oktopk_boundaries
from commbounds.collectives.oktopk.sgd_on_rank import OkTopkSGDRankState, oktopk_sgd_start, oktopk_sgd_step
from commbounds.collectives.oktopk.state import CONTROLLERS, OkTopkRankState, OkTopkResult, OkTopkState
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic, summed
from commbounds.verify.definition import Given
from commbounds.verify.experiments.oktopk.definitions import DEFINITIONS
from commbounds.verify.experiments.sparse.pairings import telling_stacks
from commbounds.verify.pairing import Pairing, RankCase, RankResult, on_definition, on_rows

_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"boundaries": "global-count", "balance": "4x-mean", "allgather": "ring", "bucket": 2},
    {"boundaries": "even", "balance": "never", "allgather": "recursive-doubling", "threshold": "strict"},
    {"rotation": False, "controller": "vgg"},
    {"rotation": False, "bucket": 3, "controller": "bert", "allgather": "ring"},
    {"boundaries": "global-count", "threshold": "strict", "controller": "lstm", "bucket": 4},
    {"boundaries": "even", "balance": "4x-mean", "controller": "bert"},
)
_PERIODS = ({"tau": 2, "tau_prime": 3}, {"tau": 1, "tau_prime": 4}, {"tau": 3, "tau_prime": 1})
_ITERATIONS = 4


def _options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the all-reduce, in which a controller goes by its name."""
    given = {
        name: v for name, v in settings.items() if name not in ("input", "dtype", "n", "k", "step_size", "accumulate")
    }
    if given.get("controller") is not None:
        given["controller"] = CONTROLLERS[given["controller"]]
    return given


def _over_time(stack: NDArray[Any], iterations: int) -> NDArray[Any]:
    """(P, iterations, n): the vectors pass on from rank to rank and shift, so that thresholds and regions age."""
    turns = [np.roll(np.roll(stack, t, axis=0), 3 * t, axis=1) for t in range(iterations)]
    return np.stack(turns, axis=1)


def _lopsided(P: int) -> NDArray[Any]:
    """What all select lies in one even region: it is the case for the rule 4x-mean, and for balancing."""
    stack = np.full((P, 8 * P), 0.25)
    stack[:, :8] = np.random.default_rng([P, 2]).standard_normal((P, 8)) + 4
    return stack


def _cases(P: int) -> Iterator[RankCase]:
    inputs = [*telling_stacks(P), ("lopsided", _lopsided(P), 8), ("lopsided", _lopsided(P).astype(np.float32), 8)]
    for turn, (name, stack, k) in enumerate(inputs):
        everything = (name, stack.dtype.name) in (("normal", "float32"), ("spread", "float64"))
        for number, choice in enumerate(_OPTIONS if everything else [_OPTIONS[turn % len(_OPTIONS)]]):
            periods = _PERIODS[(turn + number) % len(_PERIODS)]
            settings = {"input": name, "dtype": stack.dtype.name, "n": stack.shape[1], "k": k, **choice, **periods}
            yield RankCase(settings, _over_time(stack, _ITERATIONS))


def _by_rank(result: OkTopkResult, state: OkTopkState, residuals: NDArray[Any]) -> list[RankResult]:
    """What every rank would have of an iteration, named as in `OkTopkRankResult` and `OkTopkRankState`."""
    return [
        {
            "update": result.update,
            "indices": result.indices,
            "selected": result.selected[p],
            "local_count": int(result.local_counts[p]),
            "region_counts": result.region_counts[p],
            "nonzero_sums": int(result.nonzero_sums[p]),
            "winners": result.winners,
            **vars(OkTopkRankState.of(state, p)),
            "residual": residuals[p].copy(),
        }
        for p in range(state.P)
    ]


def _in_turn(iterations: list[list[RankResult]], traffics: list[Traffic]) -> tuple[list[RankResult], Traffic]:
    """For every rank its outcomes one after another; and the traffic of all iterations, phase by phase."""
    outcomes: list[RankResult] = [{"iterations": own} for own in zip(*iterations, strict=True)]
    phases = {name: summed(traffic.phases[name] for traffic in traffics) for name in traffics[0].phases}
    return outcomes, Traffic.of_phases(phases)


def _in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    k, options = case.settings["k"], _options(case.settings)
    acc, state = np.zeros_like(case.stack[:, 0]), None
    iterations, traffics = [], []
    for t in range(case.stack.shape[1]):
        acc += case.stack[:, t]
        result, state, traffic = oktopk_allreduce(acc, k, state, **options)
        for own, indices in zip(acc, result.selected, strict=True):
            own[indices] = 0
        iterations.append(_by_rank(result, state, acc))
        traffics.append(traffic)
    return _in_turn(iterations, traffics)


def _on_rank(comm: Communicator, case: RankCase) -> RankResult:
    k, options = case.settings["k"], _options(case.settings)
    mine = case.stack[comm.rank]
    acc, state, iterations = np.zeros_like(mine[0]), None, []
    for vector in mine:
        acc += vector
        result, state = oktopk_allreduce.on_rank(comm, acc, k, state, **options)
        acc[result.selected] = 0
        iterations.append({**vars(result), **vars(state), "residual": acc.copy()})
    return {"iterations": tuple(iterations)}


def _sgd_cases(P: int) -> Iterator[RankCase]:
    chosen: tuple[dict[str, Any], ...] = (
        {"accumulate": "scaled", "tau": 2, "tau_prime": 2},
        {"accumulate": "raw", "controller": "vgg", "tau": 2, "tau_prime": 3, "bucket": 2},
    )
    for name, stack, k in telling_stacks(P):
        for choice in chosen if name in ("normal", "spread") else chosen[:1]:
            settings = {"input": name, "dtype": stack.dtype.name, "n": stack.shape[1], "k": k, "step_size": 0.3}
            yield RankCase({**settings, **choice}, _over_time(stack, 3))


def _descent(case: RankCase) -> OkTopkSGD:
    s = case.settings
    return OkTopkSGD(s["k"], s["step_size"], s["accumulate"], _options(s))


def _schedule(t: int) -> float | None:
    """Another step size from the second step on."""
    return None if t == 0 else 0.1 / t


def _descended_in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    sgd, (P, _, n) = _descent(case), case.stack.shape
    state = sgd.start(np.ones(n, case.stack.dtype), P)
    iterations, traffics = [], []
    for t in range(case.stack.shape[1]):
        state, result, traffic = sgd.step(case.stack[:, t], state, _schedule(t))
        assert state.allreduce is not None
        outcomes = _by_rank(result, state.allreduce, state.residuals)
        outcomes = [{**outcome, "weights": state.weights} for outcome in outcomes]
        iterations.append(outcomes)
        traffics.append(traffic)
    return _in_turn(iterations, traffics)


def _descended_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    sgd, mine = _descent(case), case.stack[comm.rank]
    state, iterations = oktopk_sgd_start(comm, sgd, np.ones(mine.shape[1], mine.dtype)), []
    for t, gradient in enumerate(mine):
        state, result = oktopk_sgd_step(comm, sgd, gradient, state, _schedule(t))
        remembered = vars(state.allreduce)
        iterations.append({**vars(result), **remembered, "residual": state.residual, "weights": state.weights})
    return {"iterations": tuple(iterations)}


def _boundary_cases(P: int) -> Iterator[RankCase]:
    rng = np.random.default_rng([P, 3])
    for rule in ("mean-of-quantiles", "global-count", "even"):
        for allgather in ("bruck", "ring", "recursive-doubling"):
            for n, density in ((1, 1.0), (50, 0.3), (9, 0.0)):
                settings = {"rule": rule, "allgather": allgather, "n": n, "density": density}
                yield RankCase(settings, rng.random((P, n)) < density)


def _bounded_in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    selected = [np.flatnonzero(row) for row in case.stack]
    n, rule, allgather = (case.settings[name] for name in ("n", "rule", "allgather"))
    boundaries, traffic = oktopk_boundaries(selected, n, rule, allgather=allgather)
    return [{"boundaries": boundaries} for _ in selected], traffic


def _bounded_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    selected = np.flatnonzero(case.stack[comm.rank])
    n, rule, allgather = (case.settings[name] for name in ("n", "rule", "allgather"))
    return {"boundaries": oktopk_boundaries.on_rank(comm, selected, n, rule, allgather=allgather)}


# --- on the rows of the definitions -----------------------------------------------------------------------------------


def _started(state: OkTopkState | None, rank: int) -> OkTopkRankState | None:
    return None if state is None else OkTopkRankState.of(state, rank)


def _iterated(given: Given) -> tuple[list[RankResult], Traffic]:
    state, iterations, traffics = given.inputs.get("state"), list[list[RankResult]](), []
    for stack in given.inputs["iterations"]:
        result, state, traffic = oktopk_allreduce(stack, state=state, **given.parameters)
        iterations.append(_by_rank(result, state, stack))
        traffics.append(traffic)
    return _in_turn(iterations, traffics)


def _iterated_on_rank(comm: Communicator, given: Given) -> RankResult:
    state, iterations = _started(given.inputs.get("state"), comm.rank), []
    for stack in given.inputs["iterations"]:
        own = stack[comm.rank]
        result, state = oktopk_allreduce.on_rank(comm, own, state=state, **given.parameters)
        iterations.append({**vars(result), **vars(state), "residual": own})
    return {"iterations": tuple(iterations)}


def _stepped(given: Given) -> tuple[list[RankResult], Traffic]:
    inputs, sgd = given.inputs, OkTopkSGD(**given.parameters)
    state = sgd.start(inputs["weights"], len(inputs["gradients"][0]))
    iterations, traffics = list[list[RankResult]](), []
    if "residuals" in inputs:
        state = OkTopkSGDState(state.weights, inputs["residuals"], inputs["allreduce"])
    for t, stack in enumerate(inputs["gradients"]):
        state, result, traffic = sgd.step(stack, state, inputs.get("step_sizes", {}).get(str(t)))
        assert state.allreduce is not None
        outcomes = _by_rank(result, state.allreduce, state.residuals)
        iterations.append([{**outcome, "weights": state.weights} for outcome in outcomes])
        traffics.append(traffic)
    return _in_turn(iterations, traffics)


def _stepped_on_rank(comm: Communicator, given: Given) -> RankResult:
    inputs, sgd, iterations = given.inputs, OkTopkSGD(**given.parameters), []
    state = oktopk_sgd_start(comm, sgd, inputs["weights"])
    if "residuals" in inputs:
        own = inputs["residuals"][comm.rank]
        state = OkTopkSGDRankState(state.weights, own, _started(inputs["allreduce"], comm.rank))
    for t, stack in enumerate(inputs["gradients"]):
        scheduled = inputs.get("step_sizes", {}).get(str(t))
        state, result = oktopk_sgd_step(comm, sgd, stack[comm.rank], state, scheduled)
        remembered = vars(state.allreduce)
        iterations.append({**vars(result), **remembered, "residual": state.residual, "weights": state.weights})
    return {"iterations": tuple(iterations)}


def _bounded(boundaries: NDArray[np.int64], P: int) -> list[RankResult]:
    return [{"boundaries": boundaries}] * P


PAIRINGS: tuple[Pairing, ...] = (
    on_definition(
        Pairing("oktopk_boundaries", _boundary_cases, _bounded_in_one_process, _bounded_on_rank),
        DEFINITIONS["oktopk_boundaries"],
        _bounded,
        lambda boundaries: {"boundaries": boundaries},
    ),
    on_rows(
        Pairing("oktopk_allreduce", _cases, _in_one_process, _on_rank),
        DEFINITIONS["oktopk_allreduce"].space,
        _iterated,
        _iterated_on_rank,
    ),
    on_rows(
        Pairing("OkTopkSGD", _sgd_cases, _descended_in_one_process, _descended_on_rank),
        DEFINITIONS["OkTopkSGD"].space,
        _stepped,
        _stepped_on_rank,
    ),
)
