"""Symbols, conditions and works of the column dense and of the schedules."""

import math
from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.cost import log2, power_below
from commbounds.theory.quantities import P, Quantity, index_bits, n
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

ceil_log2 = index_bits(P)
"""The binary logarithm of P, rounded up, exactly."""
floor_log2 = log2(power_below(P))
"""The binary logarithm of P, rounded down, exactly."""

unit = Symbol("unit", "u", Fraction(1, 2**24), positive=True)
"""Unit roundoff of the dtype: 2^-24 or 2^-53."""


WRONG_SUMS = Quantity(
    "wrong_sums",
    r"\#\{(p,i): y_{p,i}\neq\sum_q x_{q,i}\}",
    "entries, over all ranks, in which the result differs from the exact sum",
)
ARRIVED_ELSEWHERE = Quantity(
    "misplaced_words",
    r"\#\{(p,i): y_{p,i}\neq x_i\}",
    "entries, over all ranks, that differ from the ranks' blocks one behind the other",
)
RELATIVE_SUM_ERROR = Quantity(
    "relative_sum_error",
    r"\max_{p,i}\frac{\lvert y_{p,i}-\sum_q x_{q,i}\rvert}{\sum_q\lvert x_{q,i}\rvert}",
    "largest error of an entry of any rank's result, over the sum of the magnitudes that were added",
)
DIFFERING = Quantity(
    "differing", r"\#\{(p,i): y_{p,i}\neq y_{1,i}\}", "entries of any rank that differ in bits from the first rank's"
)
OUT_OF_ORDER = Quantity(
    "out_of_order",
    r"\#\{i: y_{1,i}\neq((x_{1,i}\oplus x_{2,i})\oplus\cdots)\oplus x_{P,i}\}",
    "entries that differ, bit for bit, from adding the ranks one after another in floating point",
)

BITS_OF_REST = (
    "10/9 times the term 1",
    "equivalent: a ninth more than a whole number has no more bits; where n mod P is zero, its bits are times zero",
)
"""Formula mutant of what `schedules` says of blocks that differ by a word."""

POWER_OF_TWO_RANKS = Hypothesis("power_of_two_ranks", "P is a power of two.", Eq(2**ceil_log2, P))
BLOCKS_DIVIDE = Hypothesis("blocks_divide", "P divides n.", Eq(sp.Mod(n, P), 0))
CORE_BLOCKS_DIVIDE = Hypothesis(
    "core_blocks_divide", "The largest power of two that is at most P divides n.", Eq(sp.Mod(n, power_below(P)), 0)
)
SEVERAL_RANKS = Hypothesis("several_ranks", "There are at least two ranks.", Ge(P, 2))


def _adds_exactly(x: Any) -> bool:
    """Whether the entries are integers whose magnitudes add up, rank by rank, to less than 1/u."""
    limit = 2.0 ** (53 if x.dtype.itemsize == 8 else 24)
    return bool((x == x.round()).all() and abs(x).sum(axis=0).max() < limit)


def _half_in_range(x: Any) -> bool:
    """Whether no sum of the ranks' magnitudes is beyond half of the largest number."""
    import numpy as np

    room = 2.0**-64  # against overflow of what is summed here
    half = room * float(np.finfo(x.dtype).max) / 2
    return all(math.fsum(entries) <= half for entries in (room * abs(x).astype(float)).T.tolist())


EXACT_INTEGERS = Hypothesis(
    "exact_integers",
    "Entries are integers whose magnitudes add up to less than 2^53, or 2^24 in float32.",
    _adds_exactly,
)
IN_RANGE = Hypothesis(
    "sums_in_range",
    "In no entry do the magnitudes add up to more than half of the dtype's largest number.",
    _half_in_range,
)
BY_RING = Hypothesis("by_ring", "The algorithm is the ring.", lambda algorithm: algorithm == "ring")
BY_BRUCK = Hypothesis("by_bruck", "The algorithm is Bruck's.", lambda algorithm: algorithm == "bruck")
BY_DOUBLING = Hypothesis(
    "by_doubling",
    "The algorithm is recursive doubling, or halving.",
    lambda algorithm: algorithm == "recursive-doubling",
)

HIGHAM_2002 = Work(
    "N. J. Higham, 2002, Accuracy and stability of numerical algorithms, doi:10.1137/1.9780898718027",
    "As the survey of Boldo, Jeannerod, Melquiond and Muller (Acta Numerica, 2023) states it, equation 4.8, which a "
    "public note quotes.",
)
PATARASUK_2009 = Work(
    "P. Patarasuk, X. Yuan, 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations, "
    "doi:10.1016/j.jpdc.2008.09.002"
)
RABENSEIFNER_2004 = Work(
    "R. Rabenseifner, 2004, Optimization of collective reduction operations, doi:10.1007/978-3-540-24685-5_1",
    "The cost, as a public note and comments in MPICH's source restate it.",
)
THAKUR_2005 = Work(
    "R. Thakur, R. Rabenseifner, W. Gropp, 2005, Optimization of collective communication operations in MPICH, "
    "doi:10.1177/1094342005051521",
    "The cost model and its formulas, as a public note and comments in MPICH's source restate them.",
)
MPICH = Work("MPICH (pmodels/mpich), src/mpi/coll, by authors of the papers")
MPICH_AT = Repository("pmodels/mpich", "6a79bf6575c3b5b41cabbd3d59340634d6f9412d")
BRUCK_1997 = Work(
    "J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, 1997, Efficient algorithms for all-to-all "
    "communications in multiport message-passing systems, doi:10.1109/71.642949",
    "The abstract was read; the cost, as a comment in MPICH's source restates it.",
)
