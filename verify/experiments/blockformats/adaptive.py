"""Claims about Four Over Six and about shared microexponents, bound to their implementations."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.blockformats import NVFP4, FourOverSix
from commbounds.verify.experiments.blockformats.cases import (
    VECTORS,
    Entries,
    changed_again,
    exact,
    laws,
    made,
    maximum_error,
    relative_error,
    symbols,
)
from commbounds.verify.experiments.blockformats.nvfp4 import lost, rounded_up
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import Space
from commbounds.verify.study import Case, Outcome, over

# --- Four Over Six -----------------------------------------------------------------------------------------------


def _squared(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0))


def _ended_at_six(case: Case) -> Fraction:
    """Squared error where every block ends at 6, by the definition."""
    rule = FourOverSix(case.settings["block"], case.settings["scale"])
    x, block = exact(case.array), case.settings["block"]
    tensor = Fraction(float(rule._tensor(float(np.abs(case.array).max()))))
    total = Fraction(0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        laws = rule._read(part, tensor * rule.exact_scale(part, tensor))
        total += _squared(part, [y for ((_, y),) in laws])
    return total


def _share_of_six(implementation: Any, case: Case, block: int) -> Outcome | Rounded:
    error, other = _own_error(implementation, case), _ended_at_six(case)
    if other == 0:
        return Outcome(Fraction(int(error > 0) * 2), {}, active=error > 0)
    if case.settings["exact"]:
        return Outcome(error / other, {})
    # of two sums of squares of at most `block` entries, each taken in float64, the less is found but for their rounding
    return Rounded(float(error / other), 2.0 * (block + 4) * 2.0**-53)


def _excess(implementation: Any, case: Case, entries: list[Fraction], block: int, scale: str) -> Fraction:
    other = _squared(entries, exact(NVFP4(block, scale)(case.array)))
    return max(_own_error(implementation, case) - other, Fraction(0)) / sum(v * v for v in entries)


def _own_error(cls: Any, case: Case) -> Fraction:
    return _squared(exact(case.array), [entry[0][1] for entry in case.once(laws, cls)])


def _mean_of_four(implementation: Any, entry: int, cells: int, scale: str, choice: str) -> Fraction:
    """Mean of the second entry of a block (1536, a): all pairs of cells of its two uniforms are blocks."""
    pairs = np.array(list(itertools.product(range(cells), repeat=2)))
    x = np.tile([1536.0, float(entry)], len(pairs))
    uniforms = np.zeros((2, x.size))
    uniforms[:, 1::2] = (pairs.T + 0.5) / cells
    c = implementation(2, scale, choice)
    found = exact(c.decompress(c.compress_with(x, uniforms)))
    means = (sum(found[at::2], Fraction(0)) / len(pairs) for at in (0, 1))
    return max(abs(mean - v) for mean, v in zip(means, (1536, entry), strict=True)) / 1536


_FEW = (0.0, 64.0, 96.0, 160.0, 384.0, 640.0, 960.0, 1280.0, 1344.0)
"""Half-way points of either scale beside 1536."""


def _beside(counts: Sequence[int], entries: Sequence[float]) -> Entries:
    return (1536.0, *zip(counts, entries, strict=True))


def _at_half_way(level: int) -> list[Entries]:
    triples = itertools.product(_FEW if level else _FEW[1::2], repeat=3)
    return [
        *(_beside((k, 15 - k), pair) for pair in itertools.combinations(_FEW, 2) for k in (0, 3, 7, 12)),
        *((1536.0, a, -b, c) for a, b, c in triples),
        *((2688.0, a, b, 0.5 * b) for a, b in itertools.product((2688.0, 102.0, 6.0, 5.0, 17.0, 1000.0), repeat=2)),
    ]


_SPACE = VECTORS.replaced(dtype=("float64",), block=(16, 5, 1, 2), scale=("nearest", "up")).search(length=(1, 48))
_FOUR = Family("blockformats.fouroversix", "FourOverSix", _SPACE, symbols, laws, exact=False, arrays=2)
_HALF_WAY: dict[str, Any] = {
    "grid": _FOUR.every(
        exact=[True],
        data=_at_half_way,
        block=lambda data: (16,) if len(data) == 3 else (1, 2) if data[0] == 2688.0 else (4,),
        scale=lambda data: ("nearest", "up") if data[0] == 2688.0 else ("nearest",),
    ),
    "enumerated": "blocks of 16, four and fewer beside 1536, entries at half-way points; exact",
}
_SHORTER = [
    _FOUR.case(_SPACE.at(data=_beside((2, b - 4, 1), (1280.0, 96.0, 64.0)), block=b)) for b in (4, 6, 8, 10, 12, 14, 16)
]
_alone = partial(_FOUR.every, exact=[True])
FOUR_OVER_SIX = (
    *_FOUR.studies(_share_of_six, "no_worse", extremal=_alone(data=[_beside((3, 3), (768.0, 100.0))]), **_HALF_WAY),
    *_FOUR.studies(_excess, "no_worse_than_nvfp4", corpus=None, cases=None,
                   extremal=_alone(data=[(2688.0, 6.0)], block=[1]), **_HALF_WAY),
    *_FOUR.studies(relative_error, "contraction", corpus=None, cases=None, **_HALF_WAY,
                   extremal=_alone(data=[_beside((2, 12, 1), (1280.0, 96.0, 64.0))]),
                   curves=[over("block", "two entries at 5/6, one at 1/24, others at 1/16", _SHORTER)]),
    *_FOUR.studies(lost, "lost_blocks", extremal=_alone(data=rounded_up(1536.0, 4 * 2.0**-10), block=[1])),
)  # fmt: skip
_MEANS = Family(
    "blockformats.stochastic_fouroversix",
    "StochasticFourOverSix",
    Space(
        lambda entry: np.array([1536.0, entry]),
        {"entry": (32,), "cells": (48,), "choice": ("drawn", "expected"), "scale": ("up",), "block": (2,)},
    ),
    lambda: {"n": 2},
    searched=False,
)
_PAIRS: dict[str, Any] = {
    "grid": _MEANS.every(
        entry=lambda level: [32 * k for k in (3, 5, 11, 19, 27, 41, *((1, 7, 15, 23, 33, 37, 45) if level else ()))],
        choice=("drawn", "expected"),
    ),
    "enumerated": "1536 and a multiple of 32 in a block, every pair of roundings; exact",
}
STOCHASTIC_FOUR = (
    *_MEANS.studies(_mean_of_four, "unbiased_as_coded", extremal=_MEANS.every(entry=[160], cells=[12]), **_PAIRS),
    *_MEANS.studies(_mean_of_four, "unbiased", **_PAIRS),
)

# --- shared microexponents ---------------------------------------------------------------------------------------


def _micro_bits(implementation: Any, case: Case, x: Array) -> int:
    return int(made(implementation, case).compress(x).bits)


_VALUES = (0.0, 0.0625, 0.25, 0.4375, 0.5, 0.75, 0.9375, 1.0, 1.0625, 1.25, 1.9375)
_RAMP = tuple(np.linspace(-1, 1, 21).tolist())


def _threes(level: int) -> list[Entries]:
    triples = itertools.product(_VALUES if level else _VALUES[::2], repeat=3)
    return [*((a, -b, c) for a, b, c in triples if a or b or c), _RAMP]


def _worst_block(digits: int, block: int) -> Entries:
    u = 2.0**-digits
    tops = (1.0, 1.0 + u, 2.0 - 2.0**-30)
    lost = (block - 2) / 4
    shares = [(1 + lost) / (1 + u * u * (1 + lost)), (2 + lost) / ((1 + u) ** 2 + u * u * (1 + lost)),
              (5 + lost) / (4 + u * u * (1 + lost))]  # fmt: skip
    return (tops[int(np.argmax(shares))], u, (block - 2, u / 2))


_MICRO_SPACE = VECTORS.replaced(digits=(7, 4, 2), block=(16, 5))
_of_micro = partial(Family, "blockformats.microexponents", "SharedMicroexponents", exact=False, searched=False)
_MICRO = _of_micro(_MICRO_SPACE, symbols, laws, arrays=2)
_THREES: dict[str, Any] = {
    "grid": _MICRO.every(
        data=_threes,
        digits=lambda data: (1, 2, 4) if len(data) == 3 else (2, 4, 7),
        block=lambda data: (2, 3, 4) if len(data) == 3 else (16, 6, 1),
    ),
    "enumerated": "three entries of eleven values in blocks of two to four, and 21 in larger ones; exact",
}
_LONG = {1: 4, 2: 16, 4: 4, 7: 4}
"""By digits: entries of a block that is not full, and of many blocks."""
_WORST = [
    *_MICRO_SPACE.every(digits=_LONG, block=(2, 4, 16, 32), data=lambda digits, block: [_worst_block(digits, block)]),
    *_MICRO_SPACE.every(digits=_LONG, block=[2**20], data=lambda digits: [_worst_block(digits, _LONG[digits])]),
    *_MICRO_SPACE.every(
        digits=_LONG,
        block=lambda digits: [_LONG[digits]],
        data=lambda digits, block: [((500, _worst_block(digits, block)),)],
    ),
]
MICROEXPONENTS = (
    *_MICRO.studies(_micro_bits, "wire", **_THREES),
    *_MICRO.studies(maximum_error, "maximum", **_THREES,
                    extremal=_MICRO.every(digits=(2, 4, 7), data=[(2.0 - 2.0**-30, 0.25)]),
                    curves=[_MICRO.over("microdigits", range(1, 9), "just below a power of two", by="digits",
                                        data=(1.999,))]),
    *_MICRO.studies(relative_error, "contraction", extremal=_MICRO.of(_WORST), **_THREES,
                    curves=[over("block", f"{d} digits", [
                        _MICRO.case(_MICRO_SPACE.at(data=_worst_block(d, b), digits=d, block=b))
                        for b in (2, 4, 8, 16, 32, 64)]) for d in (2, 4, 7)]),
    *_MICRO.studies(changed_again, "idempotence", **_THREES),
)  # fmt: skip
