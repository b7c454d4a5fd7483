"""Ok-Topk, its boundaries and the descent around it beside their definitions: the spaces of their cases."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from commbounds.collectives.oktopk import CONTROLLERS, Controller, OkTopkSGDState, OkTopkState
from commbounds.collectives.oktopk.state import OkTopkRankState
from commbounds.collectives.ranks import Communicator, LockstepWorld
from commbounds.verify.data import KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.definitions import oktopk
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes
from commbounds.verify.vectors.collectives import every_round

RULES = ("mean-of-quantiles", "global-count", "even")
GATHERS = ("bruck", "ring", "recursive-doubling")
COUNTS = (1, Of("n", lambda n: n), Of("max(n // 3, 1)", lambda n: max(n // 3, 1)))
STEEP = Controller(1, 1, 1, 2.0, 4.0, 1.5, 1, 2.0, 2)  # type: ignore[arg-type]  # integers are fractions
TELLING = tuple(kind for kind in KINDS if kind not in ("zeros", "one rank"))
EDGES = ("zeros", "one rank", "NaN", "infinite", "overflow")
CONTROLLED: dict[str | None, Controller | None] = {None: None, "steep": STEEP}
CONTROLLED.update(CONTROLLERS)


def without_defaults(named: bool, defaults: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options; those that have their default are left out unless they are to be named, and so is any None."""
    kept = {name: value for name, value in options.items() if value is not None}
    return {name: value for name, value in kept.items() if named or value != defaults.get(name)}


DEFAULTS = {
    "boundaries": "mean-of-quantiles", "balance": "always", "allgather": "bruck", "threshold": "inclusive",
    "rotation": True, "bucket": 1,
}  # fmt: skip


def _made_up(start: Any, k: int, stack: Any, seed: int) -> Any:
    """A state before iteration `start`, thresholds at and just beside entries, uneven regions; or what is no number."""
    if not isinstance(start, int):
        return start
    (P, n), rng = stack.shape, np.random.default_rng([seed, 1])
    entries = np.abs(np.float64(rng.choice(stack.ravel(), P + 1)))
    entries = np.where(np.isfinite(entries), entries, 1.0)
    beside = np.nextafter(entries, rng.choice((0.0, np.inf), P + 1))
    thresholds = np.where(rng.random(P + 1) < 0.4, beside, entries) * rng.choice(
        (1.0, 0.5, 0.0), P + 1, p=(0.6, 0.3, 0.1)
    )
    cuts = np.sort(rng.integers(0, n + 1, P - 1))
    return OkTopkState(
        start, k, thresholds[:P], float(thresholds[P]), np.concatenate([[0], cuts, [n]]).astype(np.int64)
    )


def _stacks(P: int, n: int, data: str, dtype: str, rounds: int, seed: int) -> list[Any]:
    kind = data if data in KINDS else "normal"
    stacks = [stack_of(kind, P, n, dtype, seed + t) for t in range(rounds)]
    if data == "NaN":
        stacks[-1][-1, -1] = np.nan
    if data == "infinite":
        stacks[-1][0, 0] = -np.inf
    if data == "overflow":
        stacks[-1][:] = np.finfo(dtype).max
    return stacks


def _iterations(
    P: int, n: int, data: str, dtype: str, k: int, rounds: int, tau: int | None, tau_prime: int | None,
    start: int | None, controller: str | None, named: bool, seed: int, **options: Any,
) -> Given:  # fmt: skip
    stacks = _stacks(P, n, data, dtype, rounds, seed)
    state = _made_up(start, k, stacks[0], seed)
    further = {"tau": tau, "tau_prime": tau_prime, "controller": CONTROLLED[controller]}
    given = without_defaults(named, DEFAULTS, {"k": k, **options, **further})
    return Given({"iterations": stacks, **({} if state is None else {"state": state})}, given)


def _iterated(implementation: Any, given: Given) -> Said:
    state: Any = given.inputs.get("state")
    if "other" in given.inputs:
        return _with_other_states(implementation, given, [state, given.inputs["other"]])
    done = []
    for stack in given.inputs["iterations"]:
        result, state, traffic = implementation(stack, state=state, **given.parameters)
        done.append({"result": result, "state": state, "traffic": traffic})
    return {**every_round(done), "state": _about_state(state)}


def _with_other_states(implementation: Any, given: Given, states: Sequence[OkTopkState]) -> Said:
    """Whether two ranks, each with a caller and a state of its own, refuse states that differ, and say why."""
    (stack,) = given.inputs["iterations"]

    def on_rank(comm: Communicator) -> Any:
        own = OkTopkRankState.of(states[comm.rank], comm.rank)
        return implementation.on_rank(comm, stack[comm.rank], state=own, **given.parameters)

    try:
        LockstepWorld().run(on_rank, len(stack))
    except ValueError as error:
        return {"refused as unlike": "must be the same on all ranks" in str(error)}
    return {"refused as unlike": False}


BAD_STATES: tuple[dict[str, Any], ...] = (
    {"k": 0},
    {"k": "n + 1"},
    {"t": -1},
    {"global_threshold": -1.0},
    {"local_thresholds": "one too many"},
)


def _about_state(state: OkTopkState) -> Said:
    """What states refuse and turn their numbers into; and the parameters of the official code."""
    made = {"n + 1": state.n + 1, "one too many": np.zeros(state.P + 1)}
    refused = []
    for bad in BAD_STATES:
        try:
            changed: dict[str, Any] = {name: made.get(str(value), value) for name, value in bad.items()}
            replace(state, **changed)
        except ValueError as error:
            refused.append(type(error).__name__)
    numpys: dict[str, Any] = {"k": np.int64(state.k), "global_threshold": np.float32(0.5)}
    again = replace(state, **numpys)
    return {
        "refused": refused,
        "kinds": [type(again.k).__name__, type(again.global_threshold).__name__],
        "writeable": [array.flags.writeable for array in (state.local_thresholds, state.boundaries)],
        "controllers": dict(CONTROLLERS),
    }


ITERATIONS = (
    Space(
        _iterations,
        {
            "P": RANKS,
            "n": sizes(64, 70, *TILES),
            "data": TELLING,
            "dtype": ("float32", "float64"),
            "k": COUNTS,
            "rounds": (3, 11),
            "tau": (None, 1, 3),
            "tau_prime": (None, 1, 2),
            "start": (None, 1, 15, 31, 63, 127),
            "controller": tuple(CONTROLLED),
            "boundaries": RULES,
            "balance": ("always", "never", "4x-mean"),
            "allgather": GATHERS,
            "threshold": ("inclusive", "strict"),
            "rotation": (True, False),
            "bucket": (1, 2, 4),
            "named": (False, True),
        },
        options=("tau", "tau_prime", "boundaries", "balance", "allgather", "threshold", "rotation", "bucket"),
        periods=("tau", "tau_prime"),
    )
    .hidden_by(tau=(4, 5), tau_prime=(3, 5), bucket=(3, 7))
    .search(P=(1, 12), n=(1, 40), data=EDGES, tau=(2,), tau_prime=(3,), bucket=(3, 100))
)  # fmt: skip
ITERATIONS = ITERATIONS.including(*ITERATIONS.every(P=RANKS[4:], n=(33, 70), k=(1,), balance=("4x-mean",)))
"""One rank has the only winner: more than four times the mean."""


def _other_states(stack: Any) -> list[Given]:
    """What one of two ranks alone may have another of, and what must be the same on both."""
    state = OkTopkState(1, 1, np.ones(2), 1.0, np.array([0, 4, 9]))
    unlike: dict[str, Any] = {"t": 3, "local_thresholds": [1.0, 0.5], "global_threshold": 0.5, "boundaries": [0, 3, 9]}
    others = (replace(state, **{name: value}) for name, value in unlike.items())
    return [Given({"iterations": [stack], "state": state, "other": other}, {"k": 1}) for other in others]


def _just_enough() -> list[Given]:
    """As many entries as a controller wants at least, or at most: products of floats are above 7, and below 15."""
    found = []
    for share, k, count in ((Fraction(7, 25), 25, 7), (Fraction(15, 22), 22, 15)):
        stack = np.where(np.arange(25) < count, 2.0, 0.0)[None]
        inputs = {"iterations": [stack], "state": OkTopkState(1, k, np.ones(1), 1.0, np.array([0, 25]))}
        for low in (share, Fraction(0)):
            found.append(Given(inputs, {"k": k, "controller": Controller(low, share, share, 2, 2, 2, share, 2, 1)}))
    return found


@cache
def _by_hand() -> Sequence[Given]:
    """Data that hide what options do, or no numbers; and vectors longer than what is compared, or added, at once."""
    edges = ITERATIONS.replaced(data=EDGES, n=(Of("P", lambda P: P), 33), named=(False,), rounds=(3,))
    long = ((2, 4097, "float32", 40), (2, 16385, "float64", 100), (1, 8191, "float32", 4100), (2, 40000, "float32", 60))
    first = stack_of("normal", 2, 9, "float32", 1)
    later = 4 * first
    later[1, 8] = np.nan  # a threshold that is raised at once leaves it out of the sums
    wide = np.zeros((2, 3 * 2**14), np.float32)  # a region that is added in three parts; the first part overflows
    wide[:, [3, 2**14 + 5, -1]] = np.finfo(np.float32).max, 1.0, 2.0
    held = OkTopkState(1, 3, np.ones(2), 1.0, np.array([0, wide.shape[1], wide.shape[1]]))
    return [
        *_other_states(first),
        *_just_enough(),
        Given({"iterations": [first, later]}, {"k": 1, "controller": STEEP}),
        Given({"iterations": [wide], "state": held}, {"k": 3}),
        *(  # states of other ranks, entries or k
            Given({"iterations": [first], "state": _made_up(1, k, stack_of("normal", P, n), 0)}, {"k": 1})
            for P, n, k in ((3, 9, 1), (2, 8, 1), (2, 9, 2))
        ),
        *(edges.make(**row) for row in replace(edges, options=("data",), periods=()).covering()),
        *(Given({"iterations": [stack_of("normal", P, n, dtype, n)]}, {"k": k}) for P, n, dtype, k in long),
    ]


def _descent(
    P: int, n: int, data: str, dtype: str, k: int, rounds: int, step_size: float, other: int | None,
    start: int | None, tau: int | None, tau_prime: int | None, seed: int, **options: Any,
) -> Given:  # fmt: skip
    stacks = _stacks(P, n, data, dtype, rounds, seed)
    inputs: dict[str, Any] = {"weights": stack_of("normal", 1, n, dtype, seed)[0], "gradients": stacks}
    if start is not None:
        inputs["residuals"] = stack_of("normal", P, n, dtype, seed + 9)
        inputs["allreduce"] = _made_up(start, k, stacks[0], seed)
    if other is not None:
        inputs["step_sizes"] = {str(other): 0.75 * step_size}
    within = {name: value for name, value in options.items() if name != "accumulate"}
    within["controller"] = CONTROLLED[within["controller"]]
    periods = {"tau": tau, "tau_prime": tau_prime}
    kept = without_defaults(False, DEFAULTS, {**within, **periods})
    given = {"k": k, "step_size": step_size, "accumulate": options["accumulate"], "options": kept}
    return Given(inputs, without_defaults(False, {"options": {}}, given))


def _descended(implementation: Any, given: Given) -> Said:
    inputs = given.inputs
    sgd, gradients, done = implementation(**given.parameters), inputs["gradients"], []
    start = state = sgd.start(inputs["weights"], len(gradients[0]))
    if "residuals" in inputs:
        state = OkTopkSGDState(state.weights, inputs["residuals"], inputs["allreduce"])
    for t, stack in enumerate(gradients):
        scheduled = inputs.get("step_sizes", {}).get(str(t))
        state, result, traffic = sgd.step(stack, state, *(() if scheduled is None else (scheduled,)))
        done.append({"state": state, "result": result, "traffic": traffic, "t": state.t})
    return {**every_round(done), "start": {"state": start, "t": start.t}}


DESCENTS = Space(
    _descent,
    {
        "P": RANKS,
        "n": sizes(*TILES),
        "data": TELLING,
        "dtype": ("float32", "float64"),
        "k": COUNTS,
        "rounds": (3, 11),
        "step_size": (0.5, 0.1, 3.0),
        "other": (None, 1, 2),
        "start": (None, 1, 31, 63, 127),
        "accumulate": (None, "scaled", "raw"),
        "tau": (None, 1, 2),
        "tau_prime": (None, 1, 2),
        "controller": (None, "vgg", "steep"),
        "boundaries": RULES,
        "balance": ("always", "never", "4x-mean"),
        "allgather": GATHERS,
        "threshold": ("inclusive", "strict"),
        "rotation": (True, False),
        "bucket": (1, 2),
    },
    options=("step_size", "accumulate", "other", "start"),
    periods=("tau", "tau_prime"),
    hiding={"data": ("zeros", "one rank"), "tau": (3, 5), "tau_prime": (3, 4), "bucket": (3, 4)},
).search(P=(1, 12), n=(1, 40))


def _selections(P: int, n: int, chosen: str, dtype: str, rule: str | None, allgather: str | None, seed: int) -> Given:
    rng = np.random.default_rng([seed, P, n])
    share = {"half": 0.5, "few": 0.1, "all": 1.0, "nothing": 0.0, "corner": 0.8, "some ranks": 0.5}[chosen]
    mask = rng.random((P, n)) < share
    if chosen == "corner":
        mask[:, (n + 2) // 3 :] = False
    if chosen == "some ranks":
        mask[rng.random(P) < 0.5] = False
    selected = [np.flatnonzero(row).astype(dtype) for row in mask]
    return Given({"selected": selected}, {"n": n, **without_defaults(True, {}, {"rule": rule, "allgather": allgather})})


SELECTIONS = Space(
    _selections,
    {
        "P": RANKS,
        "n": sizes(2, 8, 64, 70, *TILES),
        "chosen": ("half", "few", "all", "nothing", "corner", "some ranks"),
        "dtype": ("int64", "int32", "uint16"),
        "rule": (None, *RULES),
        "allgather": (None, *GATHERS),
    },
).search(P=(1, 12), n=(1, 100))


def _no_selections() -> list[Given]:
    """One rank's indices are in no order, or twice there, or in no range; or no integers, or no vector."""
    bad = ([3, 1], [1, 1], [0, 2, 2, 5], [-1, 2], [2, 8], [2.0, 3.0], [[1, 2]])
    return [Given({"selected": [np.array([1, 7]), np.array(own)]}, {"n": 8}) for own in bad]


DEFINITIONS = {
    "oktopk_allreduce": Definition(
        ITERATIONS,
        _iterated,
        oktopk.iterated,
        examples=_by_hand,
        refused={"tau": (0,), "tau_prime": (-1,), "bucket": (0,)},
    ),
    "OkTopkSGD": Definition(
        DESCENTS,
        _descended,
        oktopk.descended,
        refused={"k": (0, Of("n + 1", lambda n: n + 1)), "step_size": (0.0, -0.5, np.inf), "accumulate": ("neither",)},
    ),
    "oktopk_boundaries": Definition(
        SELECTIONS,
        called("boundaries", "traffic"),
        oktopk.settled,
        examples=_no_selections,
        refused={"n": (0, 2**31)},
    ),
}
