"""Vectors for block formats, and what is measured of them in exact arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.compressors.blockformats import ELEMENTS
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.marginals import kernel_marginals
from commbounds.verify.study import Case

Array = NDArray[Any]
Law = list[list[tuple[Fraction, Fraction]]]
"""Of every entry the (probability, value) pairs."""
SCALES = ("floor", "even", "rceil", "ceil", "double", "three_quarters")
_KEYS = ("element", "block", "scale", "dim", "digits", "choice")


def made(cls: Any, case: Case) -> Any:
    """The quantiser of a case."""
    return case.once(_made, cls)


def _made(cls: Any, case: Case) -> Any:
    return cls(**{key: case.settings[key] for key in _KEYS if key in case.settings})


def exact(x: Array) -> list[Fraction]:
    """The entries as what they are."""
    return [Fraction(v) for v in x.astype(np.float64).tolist()]


def laws(cls: Any, case: Case) -> Law:
    """The law of every entry of the output, read off the kernel.

    Probabilities are multiples of the uniforms' spacing; where the share of the gap is one too, they are exact.
    """
    return law_of(made(cls, case), case.array)


def law_of(c: Any, x: Array) -> Law:
    """The same for any quantiser and vector."""
    if not c.randomised:
        return [[(Fraction(1), y)] for y in exact(c(x))]
    found = kernel_marginals(c, x)
    rows = zip(found.p.tolist(), found.upper.tolist(), found.lower.tolist(), strict=True)
    return [[(Fraction(p), Fraction(up)), (1 - Fraction(p), Fraction(down))] for p, up, down in rows]


def resolution(c: Any, x: Array) -> float:
    """How far a probability that is read off may be from the share that it stands for: a cell, and three roundings."""
    return 0.0 if not c.randomised else (2.0**-24 if x.dtype == np.float32 else 2.0**-53) + 4.0 * 2.0**-53


def blocks(x: Sequence[Any], block: int) -> Iterator[tuple[int, int]]:
    """Starts and ends of the blocks."""
    return ((start, min(start + block, len(x))) for start in range(0, len(x), block))


def dyadic(case: Case) -> bool:
    """Whether all shares are multiples of the uniforms' spacing: entries are quarters, few and small."""
    x = case.array
    return bool(
        x.dtype == np.float64
        and x.size <= 4
        and (4 * x == np.rint(4 * x)).all()
        and np.abs(x).max() < 64
        and case.settings.get("scale") != "three_quarters"
    )


# --- vectors -----------------------------------------------------------------------------------------------------

_FEW = tuple(Fraction(v, 4) for v in (0, 1, 2, 4, 5, 10, 12, 14, 20, 24, 26, 31, 36))
"""Quarters: half-way points, elements and clipped ones of E2M1."""
_FEWER = tuple(Fraction(v, 4) for v in (0, 1, 5, 14, 31))


def small_vectors() -> Iterator[tuple[Fraction, ...]]:
    """One, two and three such entries, signs among them."""
    for v in _FEW[1:]:
        yield (v,)
        yield (-v,)
    for a, b in itertools.product(_FEW, repeat=2):
        if a or b:
            yield (a, -b)
    for triple in itertools.product(_FEWER, repeat=3):
        if any(triple):
            yield triple


def exact_case(x: Sequence[Fraction], **settings: Any) -> Case:
    """A case whose entries are dyadic, as float64."""
    return Case(settings, np.array([float(v) for v in x]))


COMBINATIONS = (
    *(("e2m1", scale) for scale in SCALES),
    *((element, "floor") for element in ELEMENTS if element != "e2m1"),
    ("e4m3", "rceil"),
    ("int8", "rceil"),
    ("e3m2", "even"),
    ("int4", "three_quarters"),
)
"""Elements and rules of the scale that cases go through."""


def grid(level: int) -> Iterator[Case]:
    """The small vectors in every format, in blocks of one entry and of two."""
    for x in small_vectors():
        for element, scale in COMBINATIONS:
            for block in (1, 2) if len(x) > 1 else (2,):
                # three quarters of an entry, and four thirds of an element, are no dyadic numbers
                if scale != "three_quarters":
                    yield exact_case(x, element=element, scale=scale, block=block)
    if level:
        for a, b, c, d in itertools.product(_FEWER, repeat=4):
            for scale in SCALES[:-1]:
                yield exact_case((a, b, c, d), element="e2m1", scale=scale, block=4)


def corpus(budget: Budget) -> Iterator[Case]:
    """Hostile vectors, in blocks of 32 and of seven; and one large entry among small ones."""
    for (element, scale), top in itertools.product(COMBINATIONS, (3.001, 5.0, 7.5)):
        x = np.full(32, 0.25)
        x[0] = top
        yield Case({"element": element, "scale": scale, "block": 32}, x)
    combinations = itertools.cycle(itertools.product(COMBINATIONS, (32, 7)))
    for dtype in (np.float32, np.float64):
        for _, x in inputs.corpus((1, 5, 33, 64), dtype):
            for (element, scale), block in itertools.islice(combinations, 7 if budget.level else 3):
                yield Case({"element": element, "scale": scale, "block": block}, x)


def _drawn(family: str, n: int, seed: int, about: tuple[str, str], block: int, dtype: type) -> Case:
    x = inputs.family(family, n, seed, 1.0, dtype)
    return Case({"element": about[0], "scale": about[1], "block": block, "family": family, "seed": seed}, x)


def drawn() -> st.SearchStrategy[Case]:
    """Vectors of the families."""
    return st.builds(
        _drawn,
        sampled_from(tuple(inputs.FAMILIES)),
        integers(1, 70),
        integers(0, 2**20),
        sampled_from(COMBINATIONS),
        sampled_from((1, 2, 5, 16, 32, 64)),
        sampled_from((np.float32, np.float64)),
    )


def largest_just_below(
    _budget: Budget, elements: Sequence[str] = tuple(ELEMENTS), scale: str = "floor"
) -> Iterator[Case]:
    """One entry just below a power of two, others small."""
    for element, n in itertools.product(elements, (1, 32)):
        x = np.zeros(n)
        x[0] = 2.0 - 2.0**-20
        yield Case({"element": element, "scale": scale, "block": 32}, x)
