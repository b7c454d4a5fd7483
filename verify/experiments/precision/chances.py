"""Stochastic sums, all roundings enumerated: every rounding of an entry takes up and down in the shares that it has.

Terms are whole numbers of as many digits as the format, and so few that a sum needs two digits more at most: it lies at
quarters of the gap between its neighbours. Four uniform numbers an addition, 1/8, 3/8, 5/8 and 7/8, in all combinations
over the additions of an entry, give its law exactly; every entry of a stack is one combination.
"""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.precision import SCHEDULES, uniforms_shape
from commbounds.collectives.precision.steps import plan_of
from commbounds.theory.precision.formats import FORMATS, format_named
from commbounds.theory.rational import exact_sum
from commbounds.verify.experiments.precision.cases import SPACE, family_of, nodes_of
from commbounds.verify.family import FamilyStudy
from commbounds.verify.space import rationals
from commbounds.verify.study import Outcome

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


def _column(schedule: str, P: int, nodes: int | None, wire: str, terms: str, random_bits: int | None) -> Array:
    """Every entry is one way that the roundings of the same sum may go."""
    n = _every_way(schedule, P, nodes, random_bits).shape[2]
    return np.repeat(_terms(wire, P, terms)[:, None], n, axis=1)


# --- laws -------------------------------------------------------------------------------------------------------------

Errors = dict[Fraction, Fraction]
"""Error over the sum of the magnitudes -> its probability."""


@lru_cache(maxsize=1)
def _law(
    implementation: Any, schedule: str, P: int, nodes: int | None, wire: str, terms: str, random_bits: int | None
) -> Errors:
    """The errors of all ways on the rank where they are largest; cases that differ in `chance` share them."""
    stack = _column(schedule, P, nodes, wire, terms, random_bits)
    result, _ = implementation(
        stack, schedule, wire, wire, nodes=nodes, uniforms=_every_way(schedule, P, nodes, random_bits)
    )
    column = stack[:, 0].tolist()
    total, size = exact_sum(column), exact_sum(map(abs, column))
    laws = []
    for row in {row.tobytes(): row.tolist() for row in result}.values():
        laws.append({(Fraction(v) - total) / size: Fraction(ways, len(row)) for v, ways in Counter(row).items()})
    return max(laws, key=lambda law: sum(abs(error) * p for error, p in law.items()))


def _mean(found: Errors) -> Outcome:
    """The mean error."""
    return Outcome(abs(sum(error * p for error, p in found.items())), {}, active=any(found))


def _variance(found: Errors, P: int) -> Outcome:
    """The mean squared error."""
    return Outcome(sum(error**2 * p for error, p in found.items()), {}, active=P > 1)


def _likely(found: Errors, chance: Fraction, P: int) -> Outcome:
    """What the error exceeds with the probability at most."""
    ordered = sorted(((abs(error), p) for error, p in found.items()), reverse=True)
    larger = itertools.accumulate(p for _, p in ordered)
    exceeded = next((error for (error, _), p in zip(ordered, larger, strict=True) if p > chance), ordered[-1][0])
    return Outcome(exceeded, {}, active=P > 1)


_KINDS = ("lost", "lost by the second", "odd", "signed")
_SPACE = (
    replace(SPACE, make=_column)
    .replaced(rounding=("stochastic",), terms=_KINDS, random_bits=(None,), chance=(Fraction(1, 2),))
    .without(
        "Sums of so many terms need more digits.",
        lambda wire, P, terms: format_named(wire).digits + 1 < P and terms not in ("lost", "negligible"),
    )
    .without("More ways than 64.", lambda P, random_bits: random_bits and random_bits * (P - 1) > 6)
)
_LAWS = family_of(_SPACE, _law, searched=False)
_WAYS: dict[str, Any] = {"schedule": SCHEDULES, "nodes": nodes_of}
_ALL: dict[str, Any] = {
    "corpus": None,
    "enumerated": "up to four ranks, all ways that their roundings may go, with their shares",
    "grid": _LAWS.every(
        formats=FORMATS,
        P=lambda level: range(1, 5 + (level > 0)),
        terms=_KINDS,
        **_WAYS,
        chance=rationals(0.5, 0.125),
    ),
}
_FEW: dict[str, Any] = {"rounding": ["few bits"], "random_bits": (1, 2, 3)}
_HALVES = _LAWS.every(formats=FORMATS, P=[2], **_WAYS)
CHANCES: tuple[FamilyStudy, ...] = (
    *_LAWS.studies(_mean, "stochastic.unbiased", **_ALL),
    *_LAWS.studies(_variance, "stochastic.running_variance", "stochastic.tree_variance", extremal=_HALVES, **_ALL),
    *_LAWS.studies(_likely, "stochastic.likely", **_ALL),
    *_LAWS.studies(
        _mean,
        "stochastic.few_bits",
        corpus=None,
        grid=_LAWS.every(formats=FORMATS, P=range(1, 5), terms=(*_KINDS, "negligible"), **_WAYS, **_FEW),
        enumerated="up to four ranks and three random bits, all ways that roundings may go",
        extremal=_LAWS.every(formats=FORMATS, P=[2], terms=["negligible"], **_WAYS, **_FEW),
    ),
)
