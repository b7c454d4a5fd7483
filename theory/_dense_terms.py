"""Symbols, conditions and works of the column dense and of the schedules."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Hypothesis
from commbounds.theory.cost import log2, power_below
from commbounds.theory.quantities import P, index_bits, n
from commbounds.theory.sources import Work

__all__ = [
    "BLOCKS_DIVIDE",
    "BRUCK_1997",
    "PATARASUK_2009",
    "POWER_OF_TWO_RANKS",
    "RABENSEIFNER_2004",
    "THAKUR_2005",
    "ceil_log2",
    "floor_log2",
]

ceil_log2 = index_bits(P)
"""The binary logarithm of P, rounded up, exactly."""
floor_log2 = log2(power_below(P))
"""The binary logarithm of P, rounded down, exactly."""

POWER_OF_TWO_RANKS = Hypothesis("power_of_two_ranks", "P is a power of two.", sp.Eq(2**ceil_log2, P))
BLOCKS_DIVIDE = Hypothesis("blocks_divide", "P divides n.", sp.Eq(sp.Mod(n, P), 0))

PATARASUK_2009 = Work(
    "P. Patarasuk, X. Yuan, 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations"
)
RABENSEIFNER_2004 = Work("R. Rabenseifner, 2004, Optimization of collective reduction operations")
THAKUR_2005 = Work(
    "R. Thakur, R. Rabenseifner, W. Gropp, 2005, Optimization of collective communication operations in MPICH"
)
BRUCK_1997 = Work(
    "J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, 1997, Efficient algorithms for all-to-all communications "
    "in multiport message-passing systems"
)
