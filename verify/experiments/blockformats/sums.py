"""Claims about sums in block formats, bound to the collectives."""

import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.blockformats import rounding_stages
from commbounds.compressors.blockformats import ELEMENTS, Microscaling, StochasticMicroscaling
from commbounds.verify.experiments.blockformats.cases import (
    ERRORS,
    error_of_sums,
    of_a_column,
    ones,
    parts_of,
)
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space, nothing
from commbounds.verify.study import Outcome

_requantised = partial(Family, "blockformats.requantised", "requantised_allreduce", searched=False)
_homomorphic = partial(Family, "blockformats.homomorphic", "homomorphic_allreduce", searched=False)
_SCHEDULES = ("ring", "direct")
_OF_CURVES = (2, 3, 4, 6, 8, 12, 16)

# --- bytes -------------------------------------------------------------------------------------------------------


def _busiest(implementation: Any, x: Array, element: str, block: int, schedule: str) -> int:
    return int(implementation(x, Microscaling(element, block), schedule)[1].sent.max())


def _bytes(found: int, P: int) -> Outcome:
    return Outcome(found, {}, active=P > 1)


def _price(found: int, P: int, n: int) -> Fraction:
    return Fraction(8 * found * P, 2 * (P - 1) * n)


_SIZED = _requantised(
    Space(
        ones,
        {
            "P": RANKS,
            "n": (*parts_of(32, 1, 3, 8, 96), 7),
            "element": ("e2m1", "e3m2", "e4m3"),
            "block": (32, 8, 1),
            "schedule": _SCHEDULES,
        },
    ),
    lambda element: {"elementbits": ELEMENTS[element].width},
    _busiest,
)

# --- errors ------------------------------------------------------------------------------------------------------


def _total_error(implementation: Any, x: Array, schedule: str) -> Fraction:
    return error_of_sums(x, implementation(x, Microscaling("e2m1", 1), schedule)[0][0])


_ERRORS = _requantised(ERRORS.replaced(schedule=_SCHEDULES))


# --- means -------------------------------------------------------------------------------------------------------


def _mean_sum(implementation: Any, x: Array, P: int, schedule: str, scale: str, cells: int) -> Fraction:
    """Expected sums of one entry a rank: all uniforms in so many cells are columns, each with a scale of its own."""
    total, draws = Fraction(x.sum()), P if schedule == "ring" else P + 1
    # every rank's part of the columns holds all of them
    uniform = (np.tile(np.array(list(itertools.product(range(cells), repeat=draws))).T, P) + 0.5) / cells
    n = uniform.shape[1]
    uniforms = np.zeros((rounding_stages(schedule, P), P, n))
    for stage in range(uniforms.shape[0]):
        # round the ring one rank rounds a column at a time; directly all do, and then the owner
        uniforms[stage] = uniform[stage] if schedule == "ring" else uniform[:P] if stage == 0 else uniform[P]
    quantiser = StochasticMicroscaling("e2m1", 1, scale)
    sums = implementation(np.repeat(x, n, axis=1), quantiser, schedule, uniforms=uniforms)[0][0]
    mean: Fraction = sum(map(Fraction, sums.tolist()), Fraction(0)) / n
    return abs(mean - total) / (Fraction(np.abs(x).sum()) or Fraction(1))


_ENTRIES = Space(
    of_a_column,
    {
        "P": RANKS,
        "entries": (Of("5, -5, ...", lambda P: (5, -5) * (P // 2) + (2,) * (P % 2)),),
        "cells": (Of("8, and 2 of four ranks and more", lambda P: 8 if P < 4 else 2),),
        "schedule": _SCHEDULES,
        "scale": ("rceil", "floor", "ceil", "even"),
        "block": (1,),
    },
)
_MANY = {"schedule": _SCHEDULES, "scale": _ENTRIES.axes["scale"]}
_MEANS = _requantised(
    _ENTRIES.including(
        *_ENTRIES.every(P=(1, 2), entries=lambda P: itertools.product((0, 5, -5, 7, 9, 12), repeat=P), **_MANY),
        *_ENTRIES.every(P=[3], entries=((5, 7, 9), (7, -5, 9), (5, -7, 3), (7, 7, 7)), **_MANY),
        *_ENTRIES.every(P=[5], entries=[(5, 4, 6, -5, 3)], cells=[4], schedule=["direct"]),
    )
)

# --- codes that share a scale --------------------------------------------------------------------------------------


def _top(width: int) -> int:
    """The largest code."""
    return int(2 ** (width - 1) - 1)


def _of_width(width: int) -> dict[str, int]:
    return {"codebits": width, "codetop": _top(width)}


def _codes(P: int, n: int, width: int, data: str, seed: int) -> Array:
    if data == "ones":
        return np.ones((P, n))
    if data == "every":
        return np.array(list(itertools.product((0.0, 0.5, 1.5, 3.0, 7.0, -2.5), repeat=P))).T
    if data == "half-way":
        return np.tile(np.resize([_top(width), 0.5, _top(width) - 0.5], n), (P, 1))
    return np.random.default_rng([P, seed]).standard_normal((P, n))


def _summed(implementation: Any, x: Array, width: int, block: int, rounding: str) -> tuple[Array, int]:
    """The sums, and the busiest rank's bytes."""
    found, traffic = implementation(x, width, block, rounding)
    return found, int(traffic.sent.max())


def exponents(x: Array, width: int, block: int) -> Array:
    """The shared exponent of every entry, by its definition."""
    found: list[int] = []
    for start in range(0, x.shape[1], block):
        part = np.abs(x[:, start : start + block])
        largest, e = Fraction(float(part.max())), -40
        while largest > _top(width) * Fraction(2) ** e:
            e += 1
        found += [e] * part.shape[1]
    return np.array(found)


def _wrong_sums(found: tuple[Array, int], x: Array, width: int, block: int) -> int:
    """Against the ranks' own codes, from the definition of the shared exponent."""
    shared = exponents(x, width, block)
    meant = np.ldexp(np.rint(np.ldexp(x, -shared)).sum(axis=0), shared)
    return int((found[0] != meant).any(axis=0).sum())


def _code_error(found: tuple[Array, int], x: Array, width: int, block: int) -> Fraction:
    columns = zip(x.T.tolist(), found[0][0].tolist(), exponents(x, width, block).tolist(), strict=True)
    errors = (abs(Fraction(y) - sum(map(Fraction, column))) / Fraction(2) ** e for column, y, e in columns)
    worst: Fraction = max(errors)
    return worst


def _code_bytes(found: tuple[Array, int], P: int) -> Outcome:
    return Outcome(found[1], {}, active=P > 1)


def _sum_bits(implementation: Any, P: int, width: int) -> int:
    """The least width with which all sums of the largest codes, of either sign, are right."""
    # column k: the first k ranks at the top, the others at the bottom; and the sums between, one unit less
    columns = np.array([[_top(width) if p < k else -_top(width) for k in range(P + 1)] for p in range(P)], np.float64)
    for bits in range(2, 40):
        found = implementation(columns, width, P + 1, "nearest", sum_width=bits)[0][0]
        if (found == columns.sum(axis=0)).all():
            return bits
    raise ValueError("no width is enough")


_CODES = Space(
    _codes,
    {
        "P": RANKS,
        "n": (*parts_of(32, 1, 8), 7, Of("6^P", lambda P: 6**P)),
        "width": (4, 2, 8, 3),
        "block": (32, 1, 4, 3, 5, 8),
        "data": ("ones", "drawn", "every", "half-way"),
        "rounding": ("nearest",),
        "exact": (Of("all but drawn ones", lambda data: data != "drawn"),),
    },
    options=("width",),
)
_CODES = _CODES.without("More than 216 columns.", lambda P, data: data == "every" and P > 3).without(
    "Every combination of six values takes 6^P columns.", lambda P, n, data: (data == "every") != (n == 6**P)
)
_CODED = _homomorphic(_CODES, _of_width, _summed)
_WIDTHS = _homomorphic(Space(nothing, {"P": RANKS, "width": (4, 2, 3, 8)}), _of_width)
_ALL_WIDTHS: dict[str, Any] = {
    "grid": _WIDTHS.every(P=lambda level: (*RANKS, 16, 17, *((31, 33) if level else ())), width=(2, 3, 4, 8)),
    "enumerated": "up to 17 ranks, codes of 2, 3, 4 and 8 bits",
}

# --- correlated rounding -------------------------------------------------------------------------------------------


def _moments(
    implementation: Any, P: int, parts: int, numerators: tuple[int, ...], rounding: str
) -> tuple[Fraction, Fraction]:
    """Bias and variance of the sum of the codes, in units of the scale: all orders and all cells are columns.

    Fractions are multiples of 1/(P parts): a cell's uniform goes up or not as a whole.
    """
    correlated = rounding == "correlated"
    orders = list(itertools.permutations(range(P))) if correlated else [tuple(range(P))]
    cells = parts if correlated else parts * P
    rows = [(order, cell) for order in orders for cell in itertools.product(range(cells), repeat=P)]
    # a first column holds the scale at one: 7 is the largest code of four bits
    x = np.array([[7.0, *[numerator / (P * parts)] * len(rows)] for numerator in numerators])
    given = {"uniforms": np.array([[0.5, *[(cell[p] + 0.5) / cells for _, cell in rows]] for p in range(P)])}
    if correlated:
        given["orders"] = np.array([[p, *[order[p] for order, _ in rows]] for p in range(P)])
    sums = implementation(x, 4, len(rows) + 1, rounding, **given)[0][0][1:]
    found = [Fraction(v) for v in sums.tolist()]
    mean = sum(found, Fraction(0)) / len(found)
    variance = sum(((v - mean) ** 2 for v in found), Fraction(0)) / len(found)
    return abs(mean - sum(Fraction(v, P * parts) for v in numerators)), variance


def _of_fractions(P: int, parts: int, numerators: tuple[int, ...]) -> dict[str, Any]:
    shares = [Fraction(v, P * parts) % 1 for v in numerators]
    named = {"ownfraction": shares[0], "otherfraction": shares[-1], "fraction": shares[0]}
    return {"alike": len(set(numerators)) == 1, "fractionnoise": sum(f * (1 - f) for f in shares), **named}


_TOGETHER = Space(
    nothing,
    {
        "P": RANKS,
        "rounding": ("correlated", "independent"),
        "parts": (Of("1, and 4, 4, 3 and 2 of up to four ranks", lambda P: (4, 4, 3, 2)[P - 1] if P < 5 else 1),),
        "numerators": (
            Of("1, 1, ...", lambda P: (1,) * P),
            Of("3, 3, ...", lambda P: (3,) * P),
            Of("1, 2, ..., 0", lambda P: (*range(1, P), 0)),
        ),
    },
)
_TOGETHER = _TOGETHER.without("More than 6! orders, or 5^5 cells.", lambda P, rounding: 5 + (rounding[0] == "c") < P)
_BOTH = {"rounding": _TOGETHER.axes["rounding"]}
_TRIPLES = {
    *itertools.product((0, 2, 3, 5), repeat=3),
    *itertools.combinations_with_replacement((0, 1, 3, 5, 6, 8), 3),
    *((a,) * 3 for a in range(10)),
}
_FRACTIONS = Family(
    "blockformats.correlated",
    "homomorphic_allreduce",
    _TOGETHER.including(
        *_TOGETHER.every(P=[1], numerators=[(a,) for a in range(4)], **_BOTH),
        *_TOGETHER.every(P=[2], numerators=itertools.product(range(9), repeat=2), **_BOTH),
        *_TOGETHER.every(P=[3], numerators=sorted(_TRIPLES), **_BOTH),
        *_TOGETHER.every(P=[4], numerators=[(a,) * 4 for a in range(8)]),
        *_TOGETHER.every(P=[5], numerators=[(4, 4, 2, 2, 1)]),
    ),
    _of_fractions,
    _moments,
    searched=False,
)


def _bias(found: tuple[Fraction, Fraction]) -> Fraction:
    return found[0]


def _variance(found: tuple[Fraction, Fraction]) -> Fraction:
    return found[1]


# --- studies -----------------------------------------------------------------------------------------------------

_STAGNATING = partial(_ERRORS.over, "P", _OF_CURVES, "4, and 9/10 on all other ranks", terms="stagnating")
REQUANTISED = (
    *_SIZED.studies(_bytes, "bytes", curves=[_SIZED.over("P", _OF_CURVES, "MXFP4, n = 1536", n=1536)]),
    *_SIZED.studies(_price, "bits_an_entry", extremal=_SIZED.every(P=[4], n=[32]),
                    curves=[_SIZED.over("n", (4, 8, 16, 32, 64, 128, 256), "MXFP4, P = 4", P=4)]),
    *_SIZED.studies(_price, "bits_an_entry_of_whole_blocks",
                    curves=[_SIZED.over("n", (128, 256, 512), "MXFP4, P = 4", P=4)]),
    *_ERRORS.studies(_total_error, "direct_error", extremal=_ERRORS.every(P=[9], schedule=["direct"], terms=["halves"]),
                     curves=[_STAGNATING(schedule="direct")]),
    *_ERRORS.studies(_total_error, "ring_error", extremal=_ERRORS.every(P=[8], terms=["stagnating"]),
                     curves=[_STAGNATING(schedule="ring")]),
    *_MEANS.studies(_mean_sum, "unbiased"),
    *_MEANS.studies(_mean_sum, "unbiased_by_specification",
                    extremal=_MEANS.every(P=[2], entries=[(7, 7)], scale=["floor"])),
)  # fmt: skip
HOMOMORPHIC = (
    *_CODED.studies(_wrong_sums, "sums"),
    *_CODED.studies(_code_error, "error",
                    extremal=_CODED.every(P=(1, 2, 5, 16), n=[3], block=[3], data=["half-way"]),
                    curves=[_CODED.over("P", _OF_CURVES, "all half-way", n=3, block=3, data="half-way")]),
    *_WIDTHS.studies(_sum_bits, "sum_bits", curves=[_WIDTHS.over("P", _OF_CURVES, "four bits")], **_ALL_WIDTHS),
    *_WIDTHS.studies(_sum_bits, "sum_bits_added", extremal=_WIDTHS.every(P=[5], width=[2]), **_ALL_WIDTHS),
    *_CODED.studies(_code_bytes, "bytes", curves=[_CODED.over("P", _OF_CURVES, "n = 1536", n=1536)]),
)  # fmt: skip
_over = partial(_FRACTIONS.over, by="numerators")
CORRELATED = (
    *_FRACTIONS.studies(_bias, "unbiased"),
    *_FRACTIONS.studies(_variance, "independent"),
    *_FRACTIONS.studies(_variance, "equal",
                        curves=[_over("fraction", [(a,) * 3 for a in range(9)], "three ranks", P=3)]),
    *_FRACTIONS.studies(_variance, "pair",
                        curves=[_over("ownfraction", [(a, 3) for a in range(8)], "the other at 3/8", P=2)]),
    *_FRACTIONS.studies(_variance, "never_worse", extremal=_FRACTIONS.of(
        [_TOGETHER.at(P=2, numerators=(3, 8)), _TOGETHER.at(P=3, numerators=(4, 0, 9))])),
)  # fmt: skip
