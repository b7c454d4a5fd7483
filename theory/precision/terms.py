"""Symbols, functions, quantities, hypotheses and works of the column precision."""

import math
from fractions import Fraction
from typing import Any

from commbounds.theory.claim import Hypothesis, Le
from commbounds.theory.dense.terms import unit
from commbounds.theory.functions import ExactFunction
from commbounds.theory.precision.formats import format_named, innocuous
from commbounds.theory.quantities import P, Quantity
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

wire_unit = Symbol("wire_unit", "w", Fraction(1, 16), positive=True)
"""Unit roundoff of the format that is sent; `unit` is then that of the format that is added in."""
wire_bytes = Symbol("wire_bytes", "b_w", 2, integer=True, positive=True)
"""Bytes of a number of a result as it is sent."""
sum_bytes = Symbol("sum_bytes", "b_s", 4, integer=True, positive=True)
"""Bytes of a number of a partial sum as it is sent: the wire's, or the accumulator's."""
addends = Symbol("addends", r"\left(\sum_p|x_p|\right)", Fraction(5, 2), nonnegative=True)
"""Sum of the ranks' magnitudes at an entry."""
least = Symbol("least", r"\eta", Fraction(1, 2**9), positive=True)
"""Smallest positive number of the format."""
chance = Symbol("chance", r"\delta", Fraction(1, 8), positive=True)
"""Probability with which a bound may fail."""
random_bits = Symbol("random_bits", "r", 1, integer=True, positive=True)
"""Random bits that a stochastic rounding takes."""


class binary_ones(ExactFunction):
    """Sum over i = 1 .. P - 1 of u^(ones of i in binary); (1 + u)^h - 1 for P = 2^h."""

    nargs = 2

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The sum."""
        ranks, base = int(arguments[0]), Fraction(arguments[1])
        return sum((base ** i.bit_count() for i in range(1, ranks)), Fraction(0))

    def _latex(self, printer: Any, **_: Any) -> str:
        ranks, base = (printer.parenthesize(a, 50) for a in self.args)
        return rf"\sum_{{0<i<{ranks}}}{base}^{{\mathrm{{ones}}(i)}}"


RUNNING_WORST = (P - 1) * unit / (1 + (P - 1) * unit)
TREE_WORST = binary_ones(P, unit) / (1 + binary_ones(P, unit))

# --- quantities --------------------------------------------------------------------------------------------------

WORST_CASE = Quantity(
    "worst_case",
    r"\max_x\frac{\lvert y-\sum_q x_q\rvert}{\sum_q\lvert x_q\rvert}",
    "largest error of an entry over the sum of the magnitudes that were added, over all inputs of the format",
)
ENTRY_ERROR = Quantity(
    "entry_error", r"\max_p\lvert y_p-\sum_q x_q\rvert", "error of an entry of the sum, on the rank where it is largest"
)
ROUNDED_OTHERWISE = Quantity(
    "rounded_otherwise",
    r"\#\{(p,i): y_{p,i}\neq y'_{p,i}\}",
    "entries, over all ranks, that differ from the same all-reduce with additions in the wire's format",
)
MEAN_SUM_ERROR = Quantity(
    "mean_sum_error",
    r"\frac{\lvert\mathbb{E}\,y-\sum_q x_q\rvert}{\sum_q\lvert x_q\rvert}",
    "error of an entry's mean over the sum of the magnitudes",
)
SUM_VARIANCE = Quantity(
    "sum_variance",
    r"\frac{\mathbb{E}\,(y-\sum_q x_q)^2}{(\sum_q\lvert x_q\rvert)^2}",
    "mean squared error of an entry over the square of the sum of the magnitudes",
)
LIKELY_ERROR = Quantity(
    "likely_error",
    r"\min\{e: \Pr[\lvert y-\sum_q x_q\rvert>e\sum_q\lvert x_q\rvert]\leq\delta\}",
    "value that an entry's error over the sum of the magnitudes exceeds with probability at most delta",
)
CRITICAL_BYTES = Quantity(
    "critical_bytes",
    r"\sum_t \max_p \max(\mathrm{sent}_{p,t},\mathrm{received}_{p,t})",
    "bytes on the critical path: summed over the steps, the most that any rank sends or receives in that step",
)

# --- hypotheses --------------------------------------------------------------------------------------------------


def on_the_wire(x: Any, wire: str) -> bool:
    """Whether all entries are numbers of the wire's format: multiples of the gap there, and not too large."""
    import numpy as np

    known = format_named(wire)
    lowest = known.smallest.denominator.bit_length() - 1
    scaled = np.ldexp(x, -np.maximum(np.frexp(x)[1] - known.digits, -lowest))
    return bool((scaled == np.rint(scaled)).all() and np.abs(x).max() <= float(known.largest))


def _quarter(x: Any, wire: str) -> bool:
    """Whether no sum of the ranks' magnitudes is beyond a quarter of the wire's largest number."""
    room = 2.0**-64  # against overflow of what is summed here
    quarter = room * float(format_named(wire).largest) / 4
    return all(math.fsum(entries) <= quarter for entries in (room * abs(x)).T.tolist())


def _grown(x: Any, wire: str) -> bool:
    """Whether no sum of the ranks' magnitudes, a gap larger after every addition, is beyond the largest number."""
    known, room = format_named(wire), 2.0**-64
    most = room * float(known.largest) / (1 + 2 * float(known.unit)) ** (len(x) - 1)
    return all(math.fsum(entries) <= most for entries in (room * abs(x)).T.tolist())


def _all_small(x: Any, wire: str) -> bool:
    """Whether no sum of the ranks' magnitudes is beyond the wire's smallest normal number."""
    normal = float(format_named(wire).normal)
    return all(math.fsum(entries) <= normal for entries in abs(x).T.tolist())


ONE_FORMAT = Hypothesis(
    "one_format", "Sums are added in the format that is sent.", lambda wire, accumulate: wire == accumulate
)
NEAREST = Hypothesis("to_nearest", "Roundings are to nearest, ties to even.", lambda rounding: rounding == "nearest")
STOCHASTIC = Hypothesis(
    "stochastic_rounding",
    "A rounding is to either neighbour, with the exact value as its mean, independently of all others.",
    lambda rounding: rounding == "stochastic",
)
BY_FEW_BITS = Hypothesis(
    "by_few_bits",
    "A rounding is to the upper neighbour if a whole number of r random bits, over 2^r, is below the share of the "
    "gap, independently of all others.",
    lambda rounding: rounding == "few bits",
)
ON_THE_WIRE = Hypothesis("on_the_wire", "The ranks' vectors are numbers of the format that is sent.", on_the_wire)
ROOM = Hypothesis(
    "room_for_sums",
    "In no entry do the magnitudes add up to more than a quarter of the largest number that is sent.",
    _quarter,
)
ROOM_TO_GROW = Hypothesis(
    "room_to_grow",
    "In no entry do the magnitudes, times (1 + 2u)^(P - 1), add up to more than the largest number that is sent.",
    _grown,
)
BELOW_NORMAL = Hypothesis(
    "below_normal", "In every entry the magnitudes add up to the wire's smallest normal number at most.", _all_small
)
RUNNING = Hypothesis(
    "running_sum",
    "A running sum takes up one rank's term after another: around a ring, or at the rank that gets all terms.",
    lambda schedule: schedule in ("ring", "direct"),
)
TREE = Hypothesis(
    "balanced_tree",
    "Sums of equal numbers of ranks are added, by recursive doubling, recursive halving or up a binomial tree.",
    lambda schedule: schedule in ("recursive_doubling", "rabenseifner", "binomial"),
)
HIERARCHICAL = Hypothesis(
    "rings_in_nodes", "Rings within nodes, then between them.", lambda schedule: schedule == "hierarchical"
)
AROUND_A_RING = Hypothesis("around_a_ring", "The schedule is the ring.", lambda schedule: schedule == "ring")
DIRECT = Hypothesis("sent_directly", "Every rank gets all terms of its block.", lambda schedule: schedule == "direct")
DOUBLING = Hypothesis(
    "by_recursive_doubling", "The schedule is recursive doubling.", lambda schedule: schedule == "recursive_doubling"
)
RABENSEIFNER = Hypothesis(
    "by_rabenseifner", "The schedule is Rabenseifner's.", lambda schedule: schedule == "rabenseifner"
)
BINOMIAL_TREE = Hypothesis(
    "up_a_binomial_tree", "The schedule is the binomial tree.", lambda schedule: schedule == "binomial"
)
ONCE = Hypothesis(
    "rounded_once",
    "Partial sums stay in the accumulator's format, and only the result is rounded to the wire's.",
    lambda schedule, per_hop: schedule == "direct" or not per_hop,
)
EVERY_HOP = Hypothesis(
    "rounded_at_every_hop",
    "Every partial sum is sent, and rounded to the wire's format, before anything is added to it: around a ring, and "
    "in recursive doubling, where the sender keeps what it sent.",
    lambda schedule, per_hop: schedule in ("ring", "recursive_doubling") and per_hop,
)
TWICE_THE_DIGITS = Hypothesis(
    "twice_the_digits",
    "The accumulator has twice the wire's digits and two more, and holds its numbers.",
    lambda wire, accumulate: innocuous(format_named(accumulate), format_named(wire)),
)
FEW_RANKS = Hypothesis("few_ranks", "There are at most 1/u ranks.", Le(P * unit, 1))
HALF_A_DOUBLING = Hypothesis("half_a_doubling", "There are at most 1 + 1/(2u) ranks.", Le(2 * (P - 1) * unit, 1))
EIGHT_BITS = Hypothesis(
    "of_eight_bits", "The format is float8_e4m3fn or float8_e5m2.", lambda wire: wire.startswith("float8")
)


LANGE_RUMP = Work(
    "M. Lange, S. M. Rump, 2017, Error estimates for the summation of real numbers with application to "
    "floating-point summation, doi:10.1007/s10543-017-0658-9"
)
JEANNEROD_RUMP = Work(
    "C.-P. Jeannerod, S. M. Rump, 2018, On relative errors of floating-point operations: optimal bounds and "
    "applications, doi:10.1090/mcom/3234"
)
FIGUEROA = Work(
    "S. A. Figueroa, 1995, When is double rounding innocuous?, doi:10.1145/221332.221334",
    "The condition on the digits, as many public texts restate it.",
)
CONNOLLY = Work(
    "M. P. Connolly, N. J. Higham, T. Mary, 2021, Stochastic rounding and its probabilistic backward error "
    "analysis, doi:10.1137/20M1334796"
)
EL_ARAR_2023 = Work(
    "E.-M. El Arar, D. Sohier, P. de Oliveira Castro, E. Petit, 2023, Bounds on non-linear errors for variance "
    "computation with stochastic rounding, arXiv:2304.05177"
)
EL_ARAR = Work(
    "E.-M. El Arar, D. Sohier, P. de Oliveira Castro, E. Petit, 2022, Stochastic rounding variance and "
    "probabilistic bounds: a new approach, arXiv:2207.10321"
)
