"""Stacks for all-reduces in several formats, and what is measured there."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.precision import SCHEDULES, mixed_precision_allreduce, rounded_to, uniforms_shape
from commbounds.theory import claims
from commbounds.theory.precision.formats import FORMATS, Format, format_named
from commbounds.theory.rational import exact_sum
from commbounds.verify.experiments.precision.sums import exact_columns
from commbounds.verify.experiments.precision.worst import order_of, table_of, worst_input
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Settings, Space
from commbounds.verify.study import Case, Outcome

PAIRS = {
    **{name: (name, name, True) for name in FORMATS},
    "bfloat16, added in float32": ("float32", "bfloat16", True),
    "bfloat16, added in float32, rounded once": ("float32", "bfloat16", False),
    "float8_e4m3fn, added in float16": ("float16", "float8_e4m3fn", True),
    "float8_e4m3fn, added in bfloat16": ("bfloat16", "float8_e4m3fn", True),
    "float8_e4m3fn, added in bfloat16, rounded once": ("bfloat16", "float8_e4m3fn", False),
    "float16, added in float32, rounded once": ("float32", "float16", False),
    "float32, added in float64": ("float64", "float32", True),
}
"""Name -> (accumulator, wire, whether sums are rounded at every hop), simplest first."""


def nodes_of(schedule: str, P: int) -> tuple[int | None, ...]:
    """Nodes to try: divisors of P, where ranks sit in some."""
    return tuple(k for k in range(1, P + 1) if P % k == 0) if schedule == "hierarchical" else (None,)


# --- stacks -----------------------------------------------------------------------------------------------------------


def _ones(P: int) -> Array:
    return np.array([i.bit_count() for i in range(P)])


def _columns(known: Format, P: int, rng: np.random.Generator) -> Array:
    """Telling entries, one a column, as numbers of the format: (P, 13)."""
    unit, smallest = float(known.unit), float(known.smallest)
    largest = float(known.largest) / (4 * P)
    made = [
        np.ones(P),
        np.arange(1.0, P + 1.0) / P,
        rng.standard_normal(P),
        np.abs(rng.standard_normal(P)),
        rng.choice((-1.0, 1.0), P) * 2.0 ** rng.uniform(-4.0, 2.0, P),
        np.where(np.arange(P) == 1 % P, 1.0, unit),  # lost one by one, round the ring and at rank 0's side
        np.where(np.arange(P) == 0, 1.0, unit),
        unit ** _ones(P),
        np.where(np.arange(P) == rng.integers(P), 1.0, unit * rng.choice((1.0, -1.0, 1.5), P)),
        smallest * rng.integers(-3, 4, P),
        np.where(np.arange(P) == rng.integers(P), rng.standard_normal(P), 0.0),
        largest * rng.uniform(-1.0, 1.0, P),
        np.where(np.arange(P) == 1 % P, 1.0, smallest),  # gains by roundings up
    ]
    return rounded_to(np.stack(made, axis=1), known)


def worst_stack(implementation: Any, schedule: str, wire: str, P: int) -> tuple[Fraction, Array]:
    """The largest error of an entry over the sum of its magnitudes, of all inputs; and one that has it: (P, 1)."""
    ratio, terms = worst_input(table_of(implementation, schedule, wire), order_of(schedule, P))
    return ratio, np.array([[float(terms.get(rank, 0))] for rank in range(P)])


@lru_cache(maxsize=256)
def _scaled_worst(schedule: str, wire: str, P: int) -> Array:
    """The same so that a quarter of the range is enough."""
    _, stack = worst_stack(mixed_precision_allreduce, schedule, wire, P)
    room = format_named(wire).largest / 4
    while exact_sum(np.abs(stack[:, 0]).tolist()) > room:
        stack = stack / 2
    return stack


def _lost(schedule: str, known: Format, P: int) -> Array:
    """One entry of every rank, most of which the schedule's sums lose: (P, 1)."""
    if schedule in ("recursive_doubling", "rabenseifner", "binomial"):
        return _for_tree(schedule, known, P)
    begins = 0 if schedule == "direct" else 1 % P  # around a ring the first block begins at rank 1
    return np.where(np.arange(P) == begins, 1.0, float(known.unit))[:, None]


def _for_tree(schedule: str, known: Format, P: int) -> Array:
    """Every leaf's weight: u to the number of times that its sum is the lost one."""
    weights = np.ones(P)

    def walk(order: Any, weight: float) -> float:
        """The largest weight of i < P below, heavier sums first."""
        if isinstance(order, int):
            weights[order] = weight
            return weight
        walk(order[0], weight)
        return walk(order[1], weight * float(known.unit))

    walk(order_of(schedule, P), 1.0)
    return weights[:, None]


def _wider(known: Format, P: int, rng: np.random.Generator) -> Array:
    """Entries with more digits than the format, and below its smallest number: (P, 7)."""
    unit, smallest = float(known.unit), float(known.smallest)
    made = [
        np.full(P, 1.0 + unit),
        np.full(P, smallest / 2),
        np.full(P, smallest * 0.75),
        np.where(np.arange(P) == 1 % P, 1.0 + unit, unit * (1 + unit)),
        rng.standard_normal(P),
        smallest * rng.uniform(-2.0, 2.0, P),
        float(known.normal) * rng.uniform(-2.0, 2.0, P),
    ]
    return np.stack(made, axis=1)


_STACKS: Mapping[str, Callable[[Format, int, np.random.Generator], Array]] = {
    "telling": _columns,
    "wider": _wider,
    "1 and u": lambda known, P, _: np.where(np.arange(P) == 0, 1.0, float(known.unit))[:, None],
    "1 and the smallest": lambda known, P, _: np.where(np.arange(P) == 0, 1.0, float(known.smallest))[:, None],
    "1 + u": lambda known, P, _: np.full((P, 1), 1.0 + float(known.unit)),
    # 9/16 + 15/512 is rounded twice in bfloat16
    "rounded twice": lambda _known, P, _: np.where(np.arange(P) == 0, 9.0, 15.0 / 32.0)[:, None] / 16.0,
}
"""(wire's format, P, rng) -> (P, n)."""


def _stack(P: int, schedule: str, wire: str, data: str, seed: int) -> Array:
    known = format_named(wire)
    if data == "worst case":
        return _scaled_worst(schedule, wire, P)
    if data == "lost":
        return _lost(schedule, known, P)
    made = _STACKS[data](known, P, np.random.default_rng([seed, P]))
    return made if data != "telling" else np.hstack([rounded_to(_lost(schedule, known, P), known), made])


def _divisor(label: str, place: int) -> Of:
    def chosen(P: int, schedule: str) -> int | None:
        found = nodes_of(schedule, P)
        return found[max(min(place, len(found) - 1), -len(found))]

    return Of(f"{label}, if there are nodes", chosen)


def _of_pair(place: int) -> tuple[Of, ...]:
    return (Of("that of the formats", lambda formats: PAIRS[formats][place]),)


_WORST: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("ring", "float8_e5m2"): (3, 5, 8, 16, 40),
    ("direct", "float8_e4m3fn"): (4, 9, 11, 40),
    ("recursive_doubling", "float8_e5m2"): (3, 4, 7, 8, 16, 64, 512),
    ("binomial", "float8_e4m3fn"): (5, 16, 32),
    ("rabenseifner", "float8_e5m2"): (6, 8),
}
"""Schedule and format -> ranks of which dynamic programming finds the worst, beyond where formulas end and before."""
SPACE = (
    Space(
        _stack,
        {
            "P": RANKS,
            "schedule": SCHEDULES,
            "nodes": (_divisor("one", 0), _divisor("some", 1), _divisor("P", -1)),
            "formats": tuple(PAIRS),
            "accumulate": _of_pair(0),
            "wire": _of_pair(1),
            "per_hop": _of_pair(2),
            "rounding": ("nearest",),
            "data": ("telling",),
        },
        combined=(("P", "schedule", "nodes", "formats"),),
    )
    .search(P=(1, 12), nodes=(_divisor("half of P", -2),))
    .without(
        "Worst cases that take long to find.",
        lambda P, schedule, wire, data: data == "worst case" and P not in _WORST.get((schedule, wire), ()),
    )
)
"""All schedules, formats and pairs of formats."""
WORST = [
    SPACE.at(P=P, schedule=schedule, formats=wire, data="worst case")
    for (schedule, wire), ranks in _WORST.items()
    for P in ranks
]


def nudged(rng: np.random.Generator, case: Case) -> Case:
    """One entry a power of two times larger or smaller, its neighbour, or negated; a number of the format."""
    stack = case.array.copy()
    known = format_named(case.settings["wire"])
    place = tuple(int(rng.integers(length)) for length in stack.shape)
    value = stack[place]
    kind = rng.integers(4)
    if kind == 0:
        value = value * 2.0 ** rng.integers(-3, 4)
    elif kind == 1:
        value = -value
    elif kind == 2:
        value = value + float(known.gap(Fraction(value))) * rng.integers(-2, 3)
    else:
        value = float(rng.choice(stack[:, place[1]])) * float(known.unit)
    stack[place] = np.clip(rounded_to(value, known), -float(known.largest), float(known.largest))
    return Case({**case.settings, "family": "climbed"}, stack)


# --- measures ---------------------------------------------------------------------------------------------------------

Errors = tuple[tuple[Fraction | float, Fraction], ...]
"""Of every entry the largest error of any rank, infinite for NaN and infinity, and the sum of the magnitudes."""
Found = tuple[Array, Errors]
"""What ranks hold, (P, n), and the errors."""


def ran(implementation: Any, case: Case, **changed: Any) -> tuple[Array, Any]:
    """Result and traffic of the all-reduce on the case's stack."""
    given = {**case.settings, **changed}
    options = {name: given[name] for name in ("schedule", "wire", "accumulate", "per_hop", "nodes")}
    found: tuple[Array, Any] = implementation(case.array, **options, uniforms=given.get("uniforms"))
    return found


def _run(implementation: Any, case: Case, settings: Settings) -> Found:
    """Result and errors; uniform numbers of a stochastic case are zeros, or drawn from its seed."""
    uniforms = None
    if settings["rounding"] == "stochastic":
        P, n = case.array.shape
        shape = uniforms_shape(settings["schedule"], P, n, settings["nodes"])
        up = settings.get("draws") == "up"
        uniforms = np.zeros(shape) if up else np.random.default_rng(settings["seed"]).random(shape)
    result, _ = ran(implementation, case, uniforms=uniforms)
    return result, errors(result, case.array)


def errors(result: Array, stack: Array) -> Errors:
    """The errors of what the ranks hold."""
    found: list[tuple[Fraction | float, Fraction]] = []
    for held, (total, magnitude) in zip(result.T.tolist(), exact_columns(stack), strict=True):
        values = set(held)
        worst = max((abs(Fraction(v) - total) if math.isfinite(v) else np.inf for v in values), default=Fraction(0))
        found.append((worst, magnitude))
    return tuple(found)


def relative(measured: Errors) -> Fraction | float:
    """The largest error over the sum of the magnitudes; infinite where there is an error and no magnitude."""
    shares = [error / size if size else (np.inf if error else Fraction(0)) for error, size in measured]
    return max(shares)


def _symbols(schedule: str, wire: str, accumulate: str, per_hop: bool) -> dict[str, Any]:
    """Values of the symbols of bounds."""
    sent, added = format_named(wire), format_named(accumulate)
    return {
        "unit": added.unit,
        "wire_unit": sent.unit,
        "least": sent.smallest,
        "wire_bytes": sent.bytes,
        "sum_bytes": (sent if per_hop or schedule == "direct" else added).bytes,
    }


def family_of(space: Space, run: Any = _run, **options: Any) -> Family:
    """Claims about the all-reduce on the cases of a space."""
    return Family("precision", "mixed_precision_allreduce", space, _symbols, run, **options)


def relative_error(found: Found, P: int) -> Outcome:
    """The largest relative error of an entry."""
    return Outcome(relative(found[1]), {}, active=P > 1)


def entry_error(claim: str, found: Found, facts: Mapping[str, Any], P: int) -> Outcome:
    """The entry whose error is the largest part of its bound."""

    def share(measured: tuple[Fraction | float, Fraction]) -> Fraction | float:
        bound = claims()[claim].bound(**facts, P=P, addends=measured[1])
        return measured[0] / bound if bound else (np.inf if measured[0] else 0.0)

    error, magnitude = max(found[1], key=share)
    return Outcome(error, {"addends": magnitude})


def wrong_sums(found: Found, x: Array, P: int) -> Outcome:
    """Entries that are not the exact sum."""
    exact = [float(total) for total, _ in exact_columns(x)]
    return Outcome(int((found[0] != np.array(exact)).sum()), {}, active=P > 1)


def rounded_otherwise(implementation: Any, case: Case, found: Found, P: int, accumulate: str, wire: str) -> Outcome:
    """Entries that differ from sums in the wire's format; the same bits of NaN count as one."""
    plain, _ = ran(implementation, case, accumulate=wire)
    return Outcome(int((found[0] != plain).sum()), {}, active=accumulate != wire and P > 1)


def critical_bytes(implementation: Any, settings: Settings, P: int, n: int) -> Outcome:
    """Bytes on the critical path."""
    _, traffic = ran(implementation, Case(settings, np.ones((P, n))))
    return Outcome(int(traffic.critical_path), {}, active=P > 1)
