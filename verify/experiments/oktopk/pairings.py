"""Ok-Topk and its descent beside their rank-by-rank twins, over iterations that reuse thresholds and regions."""

from commbounds.array_types import Array
from commbounds.collectives import OkTopkSGD, OkTopkSGDState, oktopk_allreduce
from commbounds.collectives.oktopk.sgd_on_rank import OkTopkSGDRankState, oktopk_sgd_start, oktopk_sgd_step
from commbounds.collectives.oktopk.state import OkTopkRankState, OkTopkResult, OkTopkState
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic, summed
from commbounds.verify.definition import Given
from commbounds.verify.experiments.oktopk.definitions import DEFINITIONS, ITERATIONS
from commbounds.verify.pairing import Pairing, RankResult, on_definition, on_rows


def _by_rank(result: OkTopkResult, state: OkTopkState, residuals: Array) -> list[RankResult]:
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


def _started(state: OkTopkState | None, rank: int) -> OkTopkRankState | None:
    return OkTopkRankState.of(state, rank) if isinstance(state, OkTopkState) else state


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
        iterations.append({**vars(result), **vars(state), "residual": own.copy()})
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


NO_STATE = ITERATIONS.every(P=(1, 4), start=("no state",))
PAIRINGS: tuple[Pairing, ...] = (
    on_definition(
        "oktopk_boundaries", DEFINITIONS["oktopk_boundaries"], of_all=lambda boundaries, P: [{"result": boundaries}] * P
    ),
    on_rows("oktopk_allreduce", ITERATIONS.including(*NO_STATE), _iterated, _iterated_on_rank),
    on_rows("OkTopkSGD", DEFINITIONS["OkTopkSGD"].space, _stepped, _stepped_on_rank),
)
