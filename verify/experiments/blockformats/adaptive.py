"""Claims about Four Over Six and about shared microexponents, bound to their implementations."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.blockformats import NVFP4, FourOverSix
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.blockformats.cases import (
    changed_again,
    exact,
    hostile,
    laws,
    made,
    maximum_error,
    of_families,
    of_law,
    relative_error,
    symbols,
    ways,
)
from commbounds.verify.experiments.blockformats.nvfp4 import _lost, _one_each, _rounded_up
from commbounds.verify.study import Case, Outcome, Study, over, these

_F, _G, _U = "blockformats.fouroversix.", "blockformats.stochastic_fouroversix.", "blockformats.microexponents."
_FOUR, _DRAWN, _MICRO = "FourOverSix", "StochasticFourOverSix", "SharedMicroexponents"

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


def _share_of_six(cls: Any, case: Case) -> Outcome:
    error, other = _own_error(cls, case), _ended_at_six(case)
    values = {"n": case.array.size, "block": case.settings["block"]}
    if other == 0:
        return Outcome(Fraction(int(error > 0) * 2), values, active=error > 0)
    if case.settings.get("exact"):
        return Outcome(error / other, values)
    # of two sums of squares of at most `block` entries, each taken in float64, the less is found but for their rounding
    return Outcome(float(error / other), values, 2.0 * (case.settings["block"] + 4) * 2.0**-53)


def _excess(cls: Any, case: Case) -> Outcome:
    x = exact(case.array)
    other = NVFP4(case.settings["block"], case.settings["scale"])(case.array)
    more = max(_own_error(cls, case) - _squared(x, exact(other)), Fraction(0))
    return Outcome(more / sum(v * v for v in x), {"n": case.array.size, "block": case.settings["block"]})


def _own_error(cls: Any, case: Case) -> Fraction:
    return _squared(exact(case.array), [entry[0][1] for entry in case.once(laws, cls)])


def _mean_of_four(cls: Any, case: Case) -> Outcome:
    """Mean of the second entry of a block (1536, a): all pairs of cells of its two uniforms are blocks."""
    cells, a = case.settings["cells"], case.settings["entry"]
    pairs = np.array(list(itertools.product(range(cells), repeat=2)))
    x = np.tile([1536.0, float(a)], len(pairs))
    uniforms = np.zeros((2, x.size))
    uniforms[:, 1::2] = (pairs.T + 0.5) / cells
    c = cls(2, case.settings["scale"], case.settings["choice"])
    found = exact(c.decompress(c.compress_with(x, uniforms)))
    mean = sum(found[1::2], Fraction(0)) / len(pairs)
    return Outcome(max(abs(mean - a), abs(sum(found[::2]) / len(pairs) - 1536)) / 1536, {"n": 2, "block": 2})


_FEW = (0.0, 64.0, 96.0, 160.0, 384.0, 640.0, 960.0, 1280.0, 1344.0)
"""Half-way points of either scale beside 1536."""


def _blocks_of(counts: Sequence[int], entries: Sequence[float], block: int = 16, scale: str = "nearest") -> Case:
    x = [1536.0, *(v for count, v in zip(counts, entries, strict=True) for _ in range(count))]
    return Case({"block": block, "scale": scale, "exact": True}, np.array(x))


def _four_grid(level: int) -> Iterator[Case]:
    few = _FEW if level else _FEW[1::2]
    for a, b in itertools.combinations(_FEW, 2):
        for k in (0, 3, 7, 12):
            yield _blocks_of((k, 15 - k), (a, b))
    for a, b, c in itertools.product(few, repeat=3):
        yield _blocks_of((1, 1, 1), (a, -b, c), 4)
    for a, b in itertools.product((2688.0, 102.0, 6.0, 5.0, 17.0, 1000.0), repeat=2):
        for scale, block in (("nearest", 1), ("up", 1), ("nearest", 2)):
            yield Case({"block": block, "scale": scale, "exact": True}, np.array([2688.0, a, b, 0.5 * b]))


_four_corpus = hostile(ways(block=(16, 5), scale=("nearest", "up")), 1, 3, (np.float64,))
_four_search = of_families(ways(block=(1, 2, 5, 16), scale=("nearest",)), 48, (np.float64,))


def _means(level: int) -> Iterator[Case]:
    steps = (1, 3, 5, 7, 11, 15, 19, 23, 27, 33, 37, 41, 45) if level else (3, 5, 11, 19, 27, 41)
    for k, choice in itertools.product(steps, ("drawn", "expected")):
        yield Case(
            {"entry": 32 * k, "cells": 48, "choice": choice, "scale": "up", "block": 2}, np.array([1536.0, 32.0])
        )


def _study(name: str, subject: str, trial: Any, enumerated: str, grid: Any = None, **sources: Any) -> Study:
    return Study(name, subject, trial, grid=grid, enumerated=enumerated if grid else "", **sources)


_BESIDE = "blocks of 16, four and fewer beside 1536, entries at half-way points; exact"
_PAIRS = "1536 and a multiple of 32 in a block, every pair of roundings; exact"
_FEWER_CASES = [_blocks_of((2, b - 4, 1), (1280.0, 96.0, 64.0), b) for b in (4, 6, 8, 10, 12, 14, 16)]
FOUR_OVER_SIX = (
    _study(_F + "no_worse", _FOUR, _share_of_six, _BESIDE, _four_grid, corpus=_four_corpus, cases=_four_search,
           extremal=these(_blocks_of((3, 3), (256.0 * 3, 100.0)))),
    _study(_F + "no_worse_than_nvfp4", _FOUR, _excess, _BESIDE, _four_grid, extremal=_one_each(2688.0, 6.0)),
    _study(_F + "contraction", _FOUR, of_law(relative_error), _BESIDE, _four_grid,
           extremal=these(_blocks_of((2, 12, 1), (1280.0, 96.0, 64.0))),
           curves=[over("block", "two entries at 5/6, one at 1/24, others at 1/16", _FEWER_CASES)]),
    _study(_F + "lost_blocks", _FOUR, _lost, "", corpus=_four_corpus, cases=_four_search,
           extremal=_rounded_up(1536.0, 4 * 2.0**-10)),
)  # fmt: skip
STOCHASTIC_FOUR = (
    _study(
        _G + "unbiased_as_coded",
        _DRAWN,
        _mean_of_four,
        _PAIRS,
        _means,
        extremal=these(
            Case({"entry": 160, "cells": 12, "choice": "drawn", "scale": "up", "block": 2}, np.array([1536.0, 160.0]))
        ),
    ),
    _study(_G + "unbiased", _DRAWN, _mean_of_four, _PAIRS, _means),
)

# --- shared microexponents ---------------------------------------------------------------------------------------


def _micro_bits(cls: Any, case: Case) -> Outcome:
    return Outcome(int(made(cls, case).compress(case.array).bits), symbols(case))


def _micro(x: Any, digits: int, block: int) -> Case:
    return Case({"digits": digits, "block": block}, np.asarray(x, np.float64))


def _micro_grid(level: int) -> Iterator[Case]:
    few = (0.0, 0.0625, 0.25, 0.4375, 0.5, 0.75, 0.9375, 1.0, 1.0625, 1.25, 1.9375)
    for digits, block in itertools.product((1, 2, 4), (2, 3, 4)):
        for triple in itertools.product(few if level else few[::2], repeat=3):
            if any(triple):
                yield _micro((triple[0], -triple[1], triple[2]), digits, block)
    for digits, block in itertools.product((2, 4, 7), (16, 6, 1)):
        yield _micro(np.linspace(-1, 1, 21), digits, block)


_micro_corpus = hostile(ways(digits=(7, 4, 2), block=(16, 5)), 1, 3)


def _worst_block(digits: int, block: int) -> Array:
    u = 2.0**-digits
    tops = (1.0, 1.0 + u, 2.0 - 2.0**-30)
    lost = (block - 2) / 4
    shares = [(1 + lost) / (1 + u * u * (1 + lost)), (2 + lost) / ((1 + u) ** 2 + u * u * (1 + lost)),
              (5 + lost) / (4 + u * u * (1 + lost))]  # fmt: skip
    return np.array([tops[int(np.argmax(shares))], u, *[u / 2] * (block - 2)])


def _worst_blocks(_budget: Budget) -> Iterator[Case]:
    for digits, block in itertools.product((1, 2, 4, 7), (2, 4, 16, 32)):
        yield _micro(_worst_block(digits, block), digits, block)
    for digits in (1, 2, 4, 7):
        # a block that is not full, and many blocks
        block = 16 if digits == 2 else 4
        yield _micro(_worst_block(digits, block), digits, 2**20)
        yield _micro(np.tile(_worst_block(digits, block), 500), digits, block)


def _next_to_two(_budget: Budget) -> Iterator[Case]:
    for digits in (2, 4, 7):
        yield _micro([2.0 - 2.0**-30, 0.25], digits, 16)


_SMALL = "three entries of eleven values in blocks of two to four, and 21 in larger ones; exact"
MICROEXPONENTS = (
    _study(_U + "wire", _MICRO, _micro_bits, _SMALL, _micro_grid, corpus=_micro_corpus),
    _study(_U + "maximum", _MICRO, of_law(maximum_error, more=("block",)), _SMALL, _micro_grid, corpus=_micro_corpus,
           extremal=_next_to_two,
           curves=[over("microdigits", "just below a power of two", [_micro([1.999], d, 16) for d in range(1, 9)])]),
    _study(_U + "contraction", _MICRO, of_law(relative_error), _SMALL, _micro_grid, corpus=_micro_corpus,
           extremal=_worst_blocks,
           curves=[over("block", f"{d} digits", [_micro(_worst_block(d, b), d, b) for b in (2, 4, 8, 16, 32, 64)])
                   for d in (2, 4, 7)]),
    _study(_U + "idempotence", _MICRO, changed_again, _SMALL, _micro_grid, corpus=_micro_corpus),
)  # fmt: skip
