"""All-reduces in narrow formats beside their definitions: the spaces of their cases."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.precision import COMPUTATIONS, SCHEDULES, SIMULATED, uniforms_shape
from commbounds.verify.data import KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called, chosen, with_generator
from commbounds.verify.definitions import precision
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, Of, Space, sizes

FORMATS = (
    (None, None), ("bfloat16", "float32"), ("float32", None), ("float16", "float32"), ("float8_e4m3fn", None),
    ("float8_e4m3fn", "bfloat16"), ("float8_e4m3fn", "float16"), ("float8_e5m2", "float16"), ("float8_e5m2", None),
    ("float16", None), ("float32", "float64"), ("bfloat16", "bfloat16"), ("float64", None),
)  # fmt: skip
"""Of the wire and of the accumulator; None leaves an option to its default."""
DATA = ("eighths", "ties", "normal", "zeros", "signs", "cancelling", "halfway", "of some sizes", "large", "subnormal")
NODES = (
    1,
    Of("P", lambda P: P),
    Of("least divisor of P above 1", lambda P: min(k for k in range(1, P + 1) if P % k == 0 and k != 1 % P)),
    Of("largest divisor of P below P", lambda P: max(k for k in range(1, max(P, 2)) if P % k == 0)),
)


def _stack(data: str, P: int, n: int, dtype: str, seed: int) -> Array:
    """Halfway: between neighbours of narrow formats, at the ends of binades; large: sums beyond the largest number."""
    rng = np.random.default_rng([seed, P, n, 3])
    made: Array = stack_of(data, P, n, "float64", seed) if data in KINDS else np.zeros((P, n))
    if data == "halfway":
        odd = 2 * rng.integers(0, 16, (P, n)) + 1
        made = np.ldexp(rng.choice((-1.0, 1.0), (P, n)) * odd, rng.integers(-12, 4, (P, n)))
    elif data == "of some sizes":
        made = rng.standard_normal((P, n)) * 2.0 ** rng.integers(-16, 10, (P, n))
    elif data == "large":
        made = rng.choice((448.0, 57344.0, 65504.0, 3.3e38), (1, n)) * rng.choice((1.0, 0.5, -1.0, 0.9), (P, n))
    return made.astype(dtype)


def _mixed(
    P: int, n: int, data: str, dtype: str, schedule: str, formats: tuple[str | None, str | None], nodes: int,
    drawn: str | None, seed: int, **options: Any,
) -> Given:  # fmt: skip
    wire, accumulate = formats
    parameters = chosen(schedule=schedule, wire=wire, accumulate=accumulate, **options)
    if schedule == "hierarchical":
        parameters["nodes"] = nodes
    randomness: dict[str, Any] = {"seed": seed} if drawn == "seed" else {}
    if drawn in ("uniforms", "quarters"):
        shape = uniforms_shape(schedule, P, n, nodes if schedule == "hierarchical" else None)
        uniforms = np.random.default_rng(seed).random(shape)
        randomness["uniforms"] = uniforms if drawn == "uniforms" else np.floor(4 * uniforms) / 4
    return Given({"stack": _stack(data, P, n, dtype, seed)}, parameters, randomness)


MIXED = (
    Space(
        _mixed,
        {
            "P": RANKS,
            "n": sizes(5),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "schedule": SCHEDULES,
            "formats": FORMATS,
            "per_hop": (None, True, False),
            "nodes": NODES,
            "average": (None, "before", "after"),
            "rounds_own": (None, True, False),
            "drawn": (None, "seed", "uniforms", "quarters"),
        },
        options=("dtype", "schedule", "formats", "per_hop", "rounds_own", "drawn"),
        combined=(("formats", "per_hop", "average"),),
        hiding={"n": (17, 33, 65)},
    )
    .without("An average whose roundings are stochastic is refused.", lambda average, drawn: bool(average and drawn))
    .search(P=(1, 12), n=(1, 20))
)


def _simulated(
    P: int, n: int, data: str, dtype: str, schedule: str, formats: tuple[str | None, str | None], nodes: int,
    rounding: str | None, seed: int, **options: Any,
) -> Given:  # fmt: skip
    wire, accumulate = formats
    if wire is not None and accumulate is None:
        accumulate, wire = wire, None
    parameters = chosen(schedule=schedule, wire=wire, accumulate=accumulate, rounding=rounding, **options)
    if schedule == "hierarchical":
        parameters["nodes"] = nodes
    stack = _stack(data, P, n, dtype, seed)
    if data == "large":
        stack[-1, -1] = np.random.default_rng(seed).choice((np.nan, np.inf, -np.inf))
    return Given({"stack": stack}, parameters, {"seed": seed} if rounding == "stochastic" else {})


def _held(implementation: Any, given: Given) -> Said:
    """What the ranks hold; and whether that is of the wire's format, where nobody keeps what is not; read-only."""
    result = implementation(**given.inputs, **given.parameters, **with_generator(given.randomness))
    wire = given.parameters.get("wire") or given.parameters.get("accumulate", "float32")
    in_format = all(np.isnan(v) or precision.number(v, wire) == v for v in result.ravel().tolist())
    in_format = not result.flags.writeable and (in_format or given.parameters.get("kept") == "unrounded")
    return {"result": result, "in format": in_format}


def _computed(implementation: Any, given: Given) -> Said:
    return {"result": implementation(**given.inputs, **given.parameters)}


def _drawing(rounding: str | None, data: str) -> bool:
    return rounding == "stochastic" and data == "large"


def _no_halves(average: str | None, P: int, schedule: str) -> bool:
    return average == "halving" and bool(
        P & (P - 1) or schedule not in ("recursive_doubling", "rabenseifner", "binomial")
    )


SIMULATIONS = (
    Space(
        _simulated,
        {
            "P": RANKS,
            "n": sizes(5),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "schedule": SIMULATED,
            "formats": FORMATS,
            "per_hop": (None, True, False),
            "nodes": NODES,
            "average": (None, "before", "after", "halving"),
            "own": (None, "as sent", "unrounded"),
            "kept": (None, "as sent", "unrounded"),
            "rounding": (None, "nearest", "stochastic"),
        },
        options=("dtype", "schedule", "formats", "per_hop", "own", "kept", "average"),
        hiding={"n": (17, 33, 65)},
    )
    .without("Infinities that a draw decides on.", _drawing)
    .without("Halving where ranks are no power of two, or sums have no two halves, is refused.", _no_halves)
    .search(P=(1, 17), n=(1, 20))
)


def _refused(usual: Mapping[str, Any], *others: Mapping[str, Any]) -> list[Given]:
    stack = np.arange(6.0).reshape(3, 2)
    return [Given({"stack": stack}, {**usual, **other}) for other in others]


FITTING = ({"schedule": "star"}, {"wire": "float7"}, {"accumulate": "float7"}, {"average": "during"})
UNFIT = (
    {"wire": "float32", "accumulate": "float16"},
    {"wire": "bfloat16", "accumulate": "float16"},
    {"wire": "float8_e5m2", "accumulate": "float8_e4m3fn"},
    {"wire": "float8_e4m3fn", "accumulate": "float8_e5m2"},
    {"schedule": "hierarchical", "nodes": 2},
    {"schedule": "hierarchical", "nodes": 0},
)


@cache
def _mixed_by_hand() -> Sequence[Given]:
    stack = np.arange(6.0).reshape(3, 2)
    uniforms = np.zeros(uniforms_shape("ring", 3, 2))
    bad = [uniforms[1:], uniforms[:, :, :1], uniforms + 1, uniforms - 0.5, uniforms * np.nan]
    drawn = [Given({"stack": stack}, {}, {"uniforms": given}) for given in bad]
    averages = [Given({"stack": stack}, {"average": how}, {"seed": 1}) for how in ("before", "after")]
    wide = {"stack": stack.astype(np.float32)}
    # sums that float64 rounds, beside powers of two and elsewhere: both neighbours, and shares of quarters and eighths
    edges = [(a, b) for a in (1.0, -1.0, 1.5, 0.75) for b in (2.0**-54, -(2.0**-54), 3 * 2.0**-55, -(2.0**-55))]
    sums, shape = np.array(edges).T, uniforms_shape("direct", 2, len(edges))
    near = [
        Given({"stack": sums}, {"schedule": "direct", "wire": "float64"}, {"uniforms": np.full(shape, share)})
        for share in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    ]
    return [
        *_refused({}, *FITTING, *UNFIT, {"schedule": "hierarchical"}, {"nodes": 1}, {"wire": "float64"}),
        Given(wide, {"wire": "float64"}),
        Given({"stack": np.array([[1.0, np.nan]])}),
        Given({"stack": np.array([[np.inf]])}),
        *drawn,
        *averages,
        *near,
    ]


@cache
def _simulated_by_hand() -> Sequence[Given]:
    more = [{name: "never"} for name in ("own", "kept", "rounding")]
    halving = [{"average": "halving", "schedule": name} for name in SIMULATED]
    many = [
        Given({"stack": _stack("normal", P, 2, "float32", P)}, {"schedule": schedule, "accumulate": "bfloat16"})
        for P in (16, 31, 33)
        for schedule in SIMULATED
    ]
    return [
        *_refused({}, *FITTING, *UNFIT, *more, *halving, {"rounding": "stochastic"}, {"nodes": 2}),
        Given({"stack": np.ones(3)}),
        Given({"stack": np.ones((0, 2))}),
        Given({"stack": np.ones((2, 0))}),
        *many,
        *_unrounded(),
        *_drawn(),
    ]


def _unrounded() -> Iterator[Given]:
    """What ranks keep unrounded, all options together: it shows from the second sum on."""
    for P, schedule, average in itertools.product((4, 6, 8, 9), SIMULATED, (None, "after", "halving")):
        nodes = {"nodes": 2 if P % 2 == 0 else 3} if schedule == "hierarchical" else {}
        for wire, accumulate in (("bfloat16", "float32"), ("float8_e4m3fn", "float16"), ("float8_e5m2", "float16")):
            if not _no_halves(average, P, schedule):
                options = chosen(schedule=schedule, wire=wire, accumulate=accumulate, average=average, **nodes)
                stack = _stack("normal", P, 7, "float64", P)
                yield Given({"stack": stack}, {**options, "own": "unrounded", "kept": "unrounded"})


def _drawn() -> Iterator[Given]:
    """Every rounding draws a number of its own: of sums, of what is sent, and of halves below the smallest number."""
    for P, schedule, average in itertools.product((4, 6, 8), SIMULATED, (None, "halving")):
        nodes = {"nodes": 2} if schedule == "hierarchical" else {}
        for wire, accumulate, unit in (
            (None, "bfloat16", 1.0),
            (None, "float8_e5m2", 2.0**-15),
            ("bfloat16", "float32", 1.0),
        ):
            if not _no_halves(average, P, schedule):
                options = chosen(
                    schedule=schedule, wire=wire, accumulate=accumulate, average=average, rounding="stochastic"
                )
                yield Given({"stack": unit * _stack("normal", P, 7, "float64", P)}, {**options, **nodes}, {"seed": P})


def _split(
    P: int, n: int, data: str, dtype: str, of: str | None, formats: tuple[str | None, str | None], batches: int,
    groups: int, seed: int, **options: Any,
) -> Given:  # fmt: skip
    wire, accumulate = formats
    if wire is not None and accumulate is None:
        accumulate, wire = wire, None
    stack = np.clip(_stack(data, P, 2 * n * batches, dtype, seed), -30.0, 30.0)
    more = {"replicas": min(k for k in range(1, P + 1) if P % k == 0 and k >= groups) if groups <= P else 1}
    more |= {"batches": batches} if batches > 1 else {}
    return Given({"stack": stack}, chosen(of=of, wire=wire, accumulate=accumulate, **more, **options), {})


SPLIT = Space(
    _split,
    {
        "P": RANKS,
        "n": sizes(5),
        "data": tuple(name for name in DATA if name not in ("large", "subnormal")),
        "dtype": ("float32", "float64"),
        "of": (None, *COMPUTATIONS),
        "formats": tuple(pair for pair in FORMATS if "float8" not in str(pair)),
        "tf32": (None, False, True),
        "batches": (1, 2, 3),
        "groups": (1, 2, 3),
        "divisor": (None, 1, 3, 8),
        "target": (None, 0, 1),
        "eps": (None, 0.3, 2.0**-12, 0.0),
    },
    options=("dtype", "of", "formats", "tf32", "batches", "divisor", "target", "eps"),
    hiding={"n": (17, 33, 65)},
).search(P=(1, 12), n=(1, 12))


def _eps_between() -> Iterator[Given]:
    """Just below the middle of two numbers of the accumulator's format, so that a small mean square decides."""
    for form, digits in (("bfloat16", 8), ("float16", 11), ("float32", 24)):
        small = 2.0 ** -(digits // 2) * np.array([[1.0, 0.75, -0.5, 0.25]])
        for k in range(4):
            eps = 2 + (k + 0.5 - 2.0**-8) * 2.0 ** (2 - digits)
            yield Given({"stack": small}, {"of": "norm", "accumulate": form, "eps": eps})


@cache
def _split_by_hand() -> Sequence[Given]:
    more: list[dict[str, Any]] = [
        {"of": "sum"},
        {"batches": 4},
        {"replicas": 2},
        {"divisor": 0},
        {"target": 6},
        {"target": -1},
        {"eps": -1.0},
        {"eps": -5e-324},
        {"eps": np.nan},
    ]
    odd = Given({"stack": np.ones((2, 3))})
    bad = [np.ones(3), np.ones((0, 2)), np.ones((2, 0)), np.array([[1.0, np.nan]]), np.array([[np.inf, 1.0]])]
    return [
        *_refused({}, *FITTING[1:3], *UNFIT[:4], *more),
        odd,
        *(Given({"stack": stack}) for stack in bad),
        *(Given({"stack": np.zeros((2, 4))}, {"of": of}) for of in COMPUTATIONS),
        *_eps_between(),
    ]


DEFINITIONS = {
    "mixed_precision_allreduce": Definition(
        MIXED, called("result", "traffic"), precision.reduced, examples=_mixed_by_hand
    ),
    "simulated_allreduce": Definition(SIMULATIONS, _held, precision.simulated, examples=_simulated_by_hand),
    "split_computation": Definition(SPLIT, _computed, precision.split, examples=_split_by_hand),
}
