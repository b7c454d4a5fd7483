"""Stochastic sums, all roundings enumerated: every rounding of an entry takes up and down in the shares that it has.

Terms are whole numbers of as many digits as the format, and so few that a sum needs two digits more at most: it lies at
quarters of the gap between its neighbours. Four uniform numbers an addition, 1/8, 3/8, 5/8 and 7/8, in all combinations
over the additions of an entry, give its law exactly; every entry of a stack is one combination.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.precision import SCHEDULES, uniforms_shape
from commbounds.collectives.precision.steps import plan_of
from commbounds.theory import Claim
from commbounds.theory.precision.formats import FORMATS, format_named
from commbounds.theory.rational import exact_sum
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.precision.cases import case_of, nodes_of, ran, symbols
from commbounds.verify.study import Case, Outcome

_LEVELS = (0.125, 0.375, 0.625, 0.875)


@lru_cache(maxsize=256)
def _adders(schedule: str, P: int, nodes: int | None) -> list[list[tuple[int, int]]]:
    """Block by block: the (step, rank) whose uniform numbers its additions take."""
    plan = plan_of(schedule, P, nodes)
    found: list[list[tuple[int, int]]] = [[] for _ in range(plan.blocks)]
    before = 0
    for part in plan.parts:
        if not part.adds:
            continue
        for step, _, target, first, count in part.messages.tolist():
            for block in range(first, first + count):
                at = before + step, int(plan.speakers[before + step + 1, target])
                if at not in found[block % plan.blocks]:
                    found[block % plan.blocks].append(at)
        before += part.steps
    return found


@lru_cache(maxsize=64)
def _every_way(schedule: str, P: int, nodes: int | None, bits: int | None = None) -> Array:
    """The uniform numbers of as many entries a block as there are combinations, every one once.

    With `bits` the whole numbers of so many bits, over their number.
    """
    levels = _LEVELS if bits is None else [word / 2**bits for word in range(2**bits)]
    ways = np.array(list(itertools.product(levels, repeat=P - 1))).reshape(len(levels) ** (P - 1), P - 1)
    blocks = plan_of(schedule, P, nodes).blocks
    n = len(ways) * blocks
    uniforms = np.full(uniforms_shape(schedule, P, n, nodes), 0.5)
    edges = even_cuts(n, blocks)
    for block, adders in enumerate(_adders(schedule, P, nodes)):
        if len(adders) != P - 1:
            raise ValueError(f"{schedule} adds block {block} of {P} ranks {len(adders)} times")
        for number, (step, rank) in enumerate(adders):
            uniforms[2 * step + 1, rank, edges[block] : edges[block + 1]] = ways[:, number]
    return uniforms


def _terms(wire: str, P: int, kind: str) -> Array:
    """Whole numbers of the format, scaled to begin about 1."""
    digits = format_named(wire).digits
    one = 2**digits
    numbers = {
        "lost": [one if p == 0 else 1 for p in range(P)],
        "lost by the second": [one if p == 1 % P else 1 for p in range(P)],
        "odd": [one // 2 + 1 + 2 * (p % (one // 4)) for p in range(P)],
        "negligible": [one if p == 0 else 1 / one for p in range(P)],
        "signed": [(one - 1 - p % (one // 2)) * (-1) ** p for p in range(P)],
    }[kind]
    return np.asarray(np.array(numbers, np.float64) / one)


KINDS = ("lost", "lost by the second", "odd", "signed")


def laws(level: int) -> Iterator[Case]:
    """Up to four ranks (five at higher levels), every schedule and format."""
    for wire, P in itertools.product(FORMATS, (1, 2, 3, 4, *((5,) if level else ()))):
        for kind, schedule in itertools.product(KINDS, SCHEDULES):
            if format_named(wire).digits + 1 < P and kind != "lost":
                continue  # sums of so many terms need more digits
            for nodes in nodes_of(schedule, P):
                for chance in (Fraction(1, 2), Fraction(1, 8)):
                    yield law_case(schedule, wire, P, kind, nodes, chance)


def law_case(
    schedule: str,
    wire: str,
    P: int,
    kind: str,
    nodes: int | None,
    chance: Fraction = Fraction(1, 2),
    bits: int | None = None,
) -> Case:
    """The law of one sum, every entry one way that its roundings may go."""
    column = _terms(wire, P, kind)
    n = _every_way(schedule, P, nodes, bits).shape[2]
    stack = np.repeat(column[:, None], n, axis=1)
    drawn = {"rounding": "few bits", "random_bits": bits} if bits else {"rounding": "stochastic"}
    return case_of(stack, P, n, schedule, wire, wire, **drawn, nodes=nodes, terms=kind, chance=chance)


def few_bits(_level: int) -> Iterator[Case]:
    """Up to four ranks, every schedule and format, up to three random bits."""
    for wire, P, bits in itertools.product(FORMATS, (1, 2, 3, 4), (1, 2, 3)):
        for kind, schedule in itertools.product((*KINDS, "negligible"), SCHEDULES):
            if bits * (P - 1) <= 6 and (format_named(wire).digits + 1 >= P or kind in ("lost", "negligible")):
                for nodes in nodes_of(schedule, P):
                    yield law_case(schedule, wire, P, kind, nodes, bits=bits)


def negligible(_budget: Budget) -> Iterator[Case]:
    """Two ranks with 1 and the square of the unit roundoff."""
    for wire, schedule, bits in itertools.product(FORMATS, SCHEDULES, (1, 2, 3)):
        for nodes in nodes_of(schedule, 2):
            yield law_case(schedule, wire, 2, "negligible", nodes, bits=bits)


def halves(_budget: Budget) -> Iterator[Case]:
    """Two ranks with 1 and the unit roundoff: either neighbour with probability 1/2."""
    for wire, schedule in itertools.product(FORMATS, SCHEDULES):
        for nodes in nodes_of(schedule, 2):
            yield law_case(schedule, wire, 2, "lost", nodes)


Errors = dict[Fraction, Fraction]
"""Error over the sum of the magnitudes -> its probability."""


def _law(implementation: Any, case: Case) -> Errors:
    """The errors of all ways on the rank where they are largest."""
    about = (case.settings.get(name) for name in ("schedule", "wire", "P", "terms", "nodes", "random_bits"))
    return _errors(implementation, *about)


@lru_cache(maxsize=1)
def _errors(
    implementation: Any, schedule: str, wire: str, P: int, kind: str, nodes: int | None, bits: int | None
) -> Errors:
    case = law_case(schedule, wire, P, kind, nodes, bits=bits)
    result, _ = ran(implementation, case, uniforms=_every_way(schedule, P, nodes, bits))
    terms = case.array[:, 0].tolist()
    total, size = exact_sum(terms), exact_sum(map(abs, terms))
    laws = []
    for row in {row.tobytes(): row.tolist() for row in result}.values():
        laws.append({(Fraction(v) - total) / size: Fraction(ways, len(row)) for v, ways in Counter(row).items()})
    return max(laws, key=lambda law: sum(abs(error) * p for error, p in law.items()))


def mean_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """The mean error."""
    law = case.once(_law, implementation)
    return Outcome(abs(sum(error * p for error, p in law.items())), symbols(case), active=any(law))


def variance_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """The mean squared error."""
    law = case.once(_law, implementation)
    return Outcome(sum(error**2 * p for error, p in law.items()), symbols(case), active=case.settings["P"] > 1)


def likely_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """What the error exceeds with the probability at most."""
    law, chance = case.once(_law, implementation), case.settings["chance"]
    ordered = sorted(((abs(error), p) for error, p in law.items()), reverse=True)
    larger = itertools.accumulate(p for _, p in ordered)
    exceeded = next((error for (error, _), p in zip(ordered, larger, strict=True) if p > chance), ordered[-1][0])
    return Outcome(exceeded, {**symbols(case), "chance": chance}, active=case.settings["P"] > 1)
