"""Stacks for all-reduces in several formats, and what is measured there."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.collectives.precision import SCHEDULES, rounded_to, uniforms_shape
from commbounds.theory import Claim
from commbounds.theory.precision.formats import FORMATS, Format, format_named
from commbounds.theory.rational import exact_sum
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.precision.sums import exact_columns
from commbounds.verify.experiments.precision.worst import order_of, table_of, worst_input
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Outcome

PAIRS = (
    *((name, name, True) for name in FORMATS),
    ("float32", "bfloat16", True),
    ("float32", "bfloat16", False),
    ("float16", "float8_e4m3fn", True),
    ("bfloat16", "float8_e4m3fn", True),
    ("bfloat16", "float8_e4m3fn", False),
    ("float32", "float16", False),
    ("float64", "float32", True),
)
"""(accumulator, wire, whether sums are rounded at every hop), simplest first."""


def nodes_of(schedule: str, P: int) -> tuple[int | None, ...]:
    """Nodes to try: divisors of P, where ranks sit in some."""
    return tuple(k for k in range(1, P + 1) if P % k == 0) if schedule == "hierarchical" else (None,)


def case_of(stack: Array | None, P: int, n: int, schedule: str, wire: str, accumulate: str, **more: Any) -> Case:
    """A case with every setting that the all-reduce and the hypotheses ask for."""
    settings = {"P": P, "n": n, "schedule": schedule, "wire": wire, "accumulate": accumulate}
    return Case({**settings, "per_hop": True, "nodes": None, "rounding": "nearest", **more}, stack)


# --- stacks -----------------------------------------------------------------------------------------------------------


def _ones(P: int) -> Array:
    return np.array([i.bit_count() for i in range(P)])


def columns(known: Format, P: int, rng: np.random.Generator) -> Array:
    """Telling entries, one a column, as numbers of the format: (P, 12)."""
    unit, smallest = float(known.unit), float(known.smallest)
    largest = float(known.largest) / (4 * P)
    made = [
        np.ones(P),
        np.arange(1.0, P + 1.0) / P,
        rng.standard_normal(P),
        np.abs(rng.standard_normal(P)),
        rng.choice((-1.0, 1.0), P) * 2.0 ** rng.uniform(-3.0, 3.0, P),
        np.where(np.arange(P) == 1 % P, 1.0, unit),  # lost one by one, round the ring and at rank 0's side
        np.where(np.arange(P) == 0, 1.0, unit),
        unit ** _ones(P),
        np.where(np.arange(P) == rng.integers(P), 1.0, unit * rng.choice((1.0, -1.0, 1.5), P)),
        smallest * rng.integers(-3, 4, P),
        np.where(np.arange(P) == rng.integers(P), rng.standard_normal(P), 0.0),
        largest * rng.uniform(-1.0, 1.0, P),
    ]
    return rounded_to(np.stack(made, axis=1), known)


@lru_cache(maxsize=1024)
def _stack(wire: str, P: int, seed: int) -> Array:
    return columns(format_named(wire), P, np.random.default_rng([seed, P]))


def hostile(_budget: Budget) -> Iterator[Case]:
    """All schedules, formats and pairs of formats, few ranks; worst cases of eight bits."""
    for (accumulate, wire, per_hop), P in itertools.product(PAIRS, (1, 2, 3, 4, 5, 7, 8, 12)):
        stack = _stack(wire, P, 0)
        for schedule in SCHEDULES:
            for nodes in nodes_of(schedule, P):
                more = {"per_hop": per_hop, "nodes": nodes, "family": "telling"}
                yield case_of(stack, P, stack.shape[1], schedule, wire, accumulate, **more)
    # 9/16 + 15/512 is rounded twice in bfloat16
    twice = np.array([[9.0], [15.0 / 32.0]]) / 16.0
    yield case_of(twice, 2, 1, "ring", "float8_e4m3fn", "bfloat16", family="rounded twice")
    yield from worst_cases()


def worst_cases() -> Iterator[Case]:
    """What dynamic programming finds, beyond where formulas end and before."""
    wanted = (
        ("ring", "float8_e5m2", (3, 5, 8, 16, 40)),
        ("direct", "float8_e4m3fn", (4, 9, 11, 40)),
        ("recursive_doubling", "float8_e5m2", (3, 4, 7, 8, 16, 64, 512)),
        ("binomial", "float8_e4m3fn", (5, 16, 32)),
        ("rabenseifner", "float8_e5m2", (6, 8)),
    )
    for schedule, wire, ranks in wanted:
        for P in ranks:
            stack = worst_stack(schedule, wire, P)
            yield case_of(stack, P, 1, schedule, wire, wire, family="worst case")


@lru_cache(maxsize=256)
def worst_stack(schedule: str, wire: str, P: int) -> Array:
    """An input of one entry whose error is the largest of all, scaled so that a quarter of the range is enough."""
    from commbounds.collectives.precision import mixed_precision_allreduce

    _, terms = worst_input(table_of(mixed_precision_allreduce, schedule, wire), order_of(schedule, P))
    column = np.array([[float(terms[rank])] for rank in range(P)])
    room = format_named(wire).largest / 4
    while exact_sum(np.abs(column[:, 0]).tolist()) > room:
        column = column / 2
    return column


def lost(_budget: Budget) -> Iterator[Case]:
    """Two ranks with 1 and the unit roundoff, in every format: the sum is rounded to the even, 1."""
    for name, known in FORMATS.items():
        stack = np.array([[1.0], [float(known.unit)]])
        for schedule in SCHEDULES:
            for nodes in nodes_of(schedule, 2):
                yield case_of(stack, 2, 1, schedule, name, name, nodes=nodes, family="halfway")


def all_lost(_budget: Budget) -> Iterator[Case]:
    """1, and terms of u that a running sum loses one by one; terms of u to the ones of i, which trees lose."""
    for name, known in FORMATS.items():
        for P in (2, 3, 4, 5, 8, 9):
            for schedule in ("ring", "direct", "recursive_doubling", "rabenseifner", "binomial"):
                yield case_of(lost_stack(schedule, known, P), P, 1, schedule, name, name, family="lost")


def lost_stack(schedule: str, known: Format, P: int) -> Array:
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


@st.composite
def drawn(draw: st.DrawFn) -> Case:
    """Up to twelve ranks, any schedule, any pair of formats."""
    accumulate, wire, per_hop = draw(sampled_from(PAIRS))
    P, schedule = draw(integers(1, 12)), draw(sampled_from(SCHEDULES))
    nodes = draw(sampled_from(nodes_of(schedule, P)))
    stack = columns(format_named(wire), P, np.random.default_rng(draw(integers(0, 2**31))))
    return case_of(stack, P, stack.shape[1], schedule, wire, accumulate, per_hop=per_hop, nodes=nodes, family="drawn")


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


def ran(implementation: Any, case: Case, **changed: Any) -> tuple[Array, Any]:
    """Result and traffic of the all-reduce on the case's stack."""
    given = {**case.settings, **changed}
    options = {name: given[name] for name in ("schedule", "wire", "accumulate", "per_hop", "nodes")}
    found: tuple[Array, Any] = implementation(case.array, **options, uniforms=given.get("uniforms"))
    return found


def uniforms_of(case: Case) -> Array:
    """The uniform numbers of a stochastic case: given by its name, else drawn from its seed."""
    settings = case.settings
    shape = uniforms_shape(settings["schedule"], settings["P"], settings["n"], settings["nodes"])
    if settings.get("draws") == "up":
        return np.zeros(shape)
    return np.random.default_rng(settings.get("seed", 0)).random(shape)


def errors(result: Array, stack: Array) -> tuple[tuple[Fraction | float, Fraction], ...]:
    """Of every entry the largest error of any rank, infinite for NaN and infinity, and the sum of the magnitudes."""
    found: list[tuple[Fraction | float, Fraction]] = []
    for held, (total, magnitude) in zip(result.T.tolist(), exact_columns(stack), strict=True):
        values = set(held)
        worst = max((abs(Fraction(v) - total) if math.isfinite(v) else np.inf for v in values), default=Fraction(0))
        found.append((worst, magnitude))
    return tuple(found)


def relative(measured: tuple[tuple[Fraction | float, Fraction], ...]) -> Fraction | float:
    """The largest error over the sum of the magnitudes; infinite where there is an error and no magnitude."""
    shares = [error / size if size else (np.inf if error else Fraction(0)) for error, size in measured]
    return max(shares)


def symbols(case: Case) -> dict[str, Any]:
    """Values of the symbols of bounds; not to be changed."""
    found: dict[str, Any] = case.once(_symbols)
    return found


def _symbols(case: Case) -> dict[str, Any]:
    settings = case.settings
    wire, accumulate = format_named(settings["wire"]), format_named(settings["accumulate"])
    summed = wire if settings["per_hop"] or settings["schedule"] == "direct" else accumulate
    return {
        "P": settings["P"],
        "n": settings["n"],
        "nodes": settings["nodes"] or 1,
        "random_bits": settings.get("random_bits"),
        "unit": accumulate.unit,
        "wire_unit": wire.unit,
        "least": wire.smallest,
        "wire_bytes": wire.bytes,
        "sum_bytes": summed.bytes,
    }


def _errors_of(implementation: Any, case: Case) -> tuple[tuple[Fraction | float, Fraction], ...]:
    stochastic = case.settings["rounding"] == "stochastic"
    result, _ = ran(implementation, case, uniforms=uniforms_of(case) if stochastic else None)
    return errors(result, case.array)


def relative_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """The largest relative error of an entry."""
    return Outcome(relative(case.once(_errors_of, implementation)), symbols(case), active=case.settings["P"] > 1)


def entry_trial(claim: Claim, implementation: Any, case: Case) -> Outcome:
    """The entry whose error is the largest part of its bound."""
    known = symbols(case)

    def share(measured: tuple[Fraction | float, Fraction]) -> Fraction | float:
        bound = claim.bound(**known, addends=measured[1])
        return measured[0] / bound if bound else (np.inf if measured[0] else 0.0)

    error, magnitude = max(case.once(_errors_of, implementation), key=share)
    return Outcome(error, {**known, "addends": magnitude})


def wrong_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """Entries that are not the exact sum."""
    result, _ = (
        case.once(ran, implementation)
        if case.settings["rounding"] == "nearest"
        else (ran(implementation, case, uniforms=uniforms_of(case)))
    )
    exact = [float(total) for total, _ in exact_columns(case.array)]
    return Outcome(int((result != np.array(exact)).sum()), symbols(case), active=case.settings["P"] > 1)


def otherwise_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """Entries that differ from sums in the wire's format; the same bits of NaN count as one."""
    result, _ = case.once(ran, implementation)
    plain, _ = ran(implementation, case, accumulate=case.settings["wire"])
    wider = case.settings["accumulate"] != case.settings["wire"] and case.settings["P"] > 1
    return Outcome(int((result != plain).sum()), symbols(case), active=wider)


def bytes_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """Bytes on the critical path."""
    settings = case.settings
    stack = np.ones((settings["P"], settings["n"]))
    _, traffic = ran(implementation, Case(settings, stack))
    return Outcome(int(traffic.critical_path), symbols(case), active=settings["P"] > 1)
