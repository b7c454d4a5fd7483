"""Symbols, quantities and hypotheses of what depends on the order and the place of additions."""

import math
from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.claim import Hypothesis, Le
from commbounds.theory.quantities import P, Quantity
from commbounds.theory.rational import exact_sum
from commbounds.theory.symbols import Symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

wire_digits = Symbol("wire_digits", "t", 8, integer=True, positive=True)
"""Digits of the significand of the wire's format."""
wire_largest = Symbol("wire_largest", r"\Omega", Fraction(448), positive=True)
"""Largest number of the wire's format."""
equal_entry = Symbol("equal_entry", "m", Fraction(3, 2), positive=True)
"""What every rank holds, where all hold the same."""
add_depth = Symbol("add_depth", "h", 5, integer=True, nonnegative=True)
"""Additions on the longest way of a term from its rank to the sum."""

# --- quantities -------------------------------------------------------------------------------------------------------

MOVED_BITS = Quantity(
    "moved_bits",
    r"\#\{(p,i): \mathrm{fused}_{p,i}\neq\mathrm{split}_{p,i}\}",
    "entries, over all ranks, whose bits differ between one all-reduce of several buffers and one for each of them",
)
RESHARDED_BITS = Quantity(
    "resharded_bits",
    r"\#\{i: y^{(P)}_i\neq y^{(1)}_i\}",
    "entries whose bits differ between P ranks with an equal share of the terms each and one rank with all of them",
)
MOMENT_BITS = Quantity(
    "moment_bits",
    r"\#\{i: \mathrm{before}_i\neq\mathrm{after}_i\}",
    "entries of the average whose bits depend on whether the division is before all additions, after them, or, for "
    "sums of two, by two before each",
)
AVERAGE_ERROR = Quantity(
    "average_error",
    r"\max_i\frac{\lvert y_i-\frac1P\sum_p x_{p,i}\rvert}{\frac1P\sum_p\lvert x_{p,i}\rvert}",
    "largest error of an entry of the average, over the average of the magnitudes",
)
AVERAGE_LOSS = Quantity(
    "average_loss",
    r"\max_i\lvert y_i-\tfrac1P\textstyle\sum_p x_{p,i}\rvert",
    "largest error of an entry of the average",
)
NOT_FINITE = Quantity("not_finite", r"\#\{i: \lvert y_i\rvert\notin\mathbb{R}\}", "entries that are infinite or NaN")
NOT_NUMBERS = Quantity("not_numbers", r"\#\{i: y_i=\mathrm{NaN}\}", "entries that are NaN")
MOST_RANKS = Quantity(
    "most_ranks",
    r"\max\{P=2^j: \textstyle\sum_{p=1}^P m<\infty\}",
    "most ranks, a power of two, of which the sum of an entry that all of them hold is a number",
)
EQUAL_SUM = Quantity(
    "equal_sum", r"\tfrac1m\textstyle\sum_{p=1}^P m", "sum of an entry that all ranks hold, over that entry"
)
RMS_GROWTH = Quantity(
    "rms_growth",
    r"\frac{1}{w}\sqrt{\frac{\sum_i\bigl(y_i-\sum_p x_{p,i}\bigr)^2}{\sum_i\bigl(\sum_p x_{p,i}\bigr)^2}}",
    "root mean square error of the entries over that of their sums, in units of the wire's unit roundoff",
)

# --- hypotheses -------------------------------------------------------------------------------------------------------

BLOCK_BY_BLOCK = ("ring", "direct", "hierarchical")
"""Schedules whose order of additions begins at another rank in every block."""
HALVED = ("recursive_doubling", "rabenseifner", "binomial")
"""Schedules that add two sums of as many terms each, where P is a power of two."""


def _is_chain(schedule: str, accumulate: str, wire: str, per_hop: bool) -> bool:
    return (schedule == "ring" and per_hop) or (schedule in ("ring", "direct", "in_rank_order") and accumulate == wire)


def _log_exactly(P: int) -> bool:
    return P & (P - 1) == 0


def _largest_sum(x: Any) -> Any:
    """The largest sum of an entry's magnitudes, exactly; infinite where an entry is infinite or NaN."""
    columns = abs(x).T.tolist()
    if not all(entry < math.inf for column in columns for entry in column):
        return math.inf
    return max(map(exact_sum, columns))


def _form(name: str) -> Any:
    from commbounds.theory.precision.formats import format_named

    return format_named(name)


def _shares_are_whole(x: Any, P: int, wire: str) -> bool:
    """Whether every entry over P is a multiple of the wire's smallest number."""
    import numpy as np

    step = float(P * _form(wire).smallest)
    return bool(np.isfinite(x).all() and (np.fmod(x, step) == 0).all())


def _room_for_roundings(x: Any, P: int, wire: str) -> bool:
    """Whether sum |x| <= (1 - 2 P w) largest, so that 2 P roundings end within the range."""
    form = _form(wire)
    return bool(_largest_sum(x) <= (1 - 2 * P * form.unit) * form.largest)


def _room_for_shares(x: Any, P: int, wire: str) -> bool:
    """The same of the average, whose terms may have grown by half a smallest number each."""
    form = _form(wire)
    return bool(_largest_sum(x) / P + P * form.smallest / 2 <= (1 - 2 * P * form.unit) * form.largest)


def _sums_below_normal(x: Any, wire: str, least: int = 1) -> bool:
    """Whether sums of the magnitudes over `least` stay where gaps are those of the smallest numbers."""
    form = _form(wire)
    return bool(_largest_sum(x) / least + (least > 1) * least * form.smallest / 2 <= 2 * form.normal)


def _exact_sum_fits(x: Any, wire: str) -> bool:
    import numpy as np

    largest = _form(wire).largest
    return bool(np.isfinite(x).all()) and all(abs(exact_sum(column)) <= largest for column in x.T.tolist())


def _quotients_are_normal(x: Any, P: int, wire: str) -> bool:
    """Whether no entry over P is below the normal range, unless zero."""
    form = _form(wire)
    return bool(((x == 0) | (abs(x) >= float(P * form.normal))).all())


ALL_AS_SENT = Hypothesis(
    "all_as_sent",
    "A rank adds its own partial sum as its partner would receive it, and keeps a sum as all others receive it.",
    lambda own, kept: own == kept == "as sent",
)
OWNERS_KEEP = Hypothesis(
    "owners_keep",
    "The rank that makes a sum keeps it unrounded; all others receive it in the wire's format.",
    lambda kept: kept == "unrounded",
)
OWN_AS_IT_IS = Hypothesis(
    "own_as_it_is",
    "A rank adds arrivals, rounded to the wire's format, to its own unrounded partial sum.",
    lambda own: own == "unrounded",
)
SUMS_AS_SENT = Hypothesis(
    "sums_as_sent", "The rank that makes a sum keeps it as all others receive it.", lambda kept: kept == "as sent"
)
ONE_MAKER = Hypothesis(
    "one_maker",
    "Roundings are to nearest; or drawn, and every sum is made by one rank: any schedule but recursive doubling.",
    lambda rounding, schedule: rounding == "nearest" or schedule != "recursive_doubling",
)
PARTNERS_DRAW = Hypothesis(
    "partners_draw",
    "Roundings are stochastic, and every rank draws its own.",
    lambda rounding: rounding == "stochastic",
)
DOUBLING_ONLY = Hypothesis(
    "doubling_only", "The schedule is recursive doubling.", lambda schedule: schedule == "recursive_doubling"
)
RABENSEIFNER_ONLY = Hypothesis(
    "rabenseifner_only", "The schedule is Rabenseifner's.", lambda schedule: schedule == "rabenseifner"
)
PLACELESS = Hypothesis(
    "placeless",
    "The schedule is recursive doubling, the binomial tree, the direct one that adds in the order of the ranks, or "
    "Rabenseifner's, where a rank adds its own partial sum as its partner would receive it.",
    lambda schedule, own: (
        schedule in ("recursive_doubling", "binomial", "in_rank_order")
        or (schedule == "rabenseifner" and own == "as sent")
    ),
)
ROUND_THE_BLOCK = Hypothesis(
    "round_the_block",
    "The schedule begins at another rank in every block: a ring, rings in nodes, or direct.",
    lambda schedule: schedule in BLOCK_BY_BLOCK,
)
FUSED_BEHIND = Hypothesis("fused_behind", "Buffers are concatenated.", lambda layout: layout == "one behind the other")
FUSED_IN_BLOCKS = Hypothesis(
    "fused_in_blocks",
    "Buffers are as long as whole numbers of the schedule's blocks, and block b of the fused buffer is made of their "
    "blocks b: of P blocks, in Rabenseifner's schedule of the largest power of two that is at most P.",
    lambda layout: layout == "in blocks",
)
AT_MOST_TWO = Hypothesis("at_most_two", "There are at most two ranks.", Le(P, 2))
SHARES_IN_A_ROW = Hypothesis(
    "shares_in_a_row",
    "Each of P ranks, P a power of two, has the same number of consecutive terms, a power of two; it adds neighbours "
    "first, and then neighbours of these sums.",
    lambda P, terms, deal: _log_exactly(P) and _log_exactly(terms) and deal == "in a row",
)
SHARES_IN_TURN = Hypothesis(
    "shares_in_turn",
    "Each of P ranks, P a power of two, has every P-th term, a power of two of them; it adds the farthest first: those "
    "of the first half to those of the second, and so on.",
    lambda P, terms, deal: _log_exactly(P) and _log_exactly(terms) and deal == "in turn",
)
ANY_SHARES = Hypothesis(
    "any_shares",
    "Each of P ranks has the same number of consecutive terms, and adds neighbours first.",
    lambda deal: deal == "in a row",
)
RANKS_DOUBLE = Hypothesis("ranks_double", "P is a power of two.", lambda P: _log_exactly(P))
WHOLE_SHARES = Hypothesis(
    "whole_shares", "Every entry over P is a multiple of the wire's smallest number.", _shares_are_whole
)
DIVIDED_BEFORE = Hypothesis(
    "divided_before", "Every rank divides its vector by P before it is added.", lambda average: average == "before"
)
DIVIDED_AFTER = Hypothesis("divided_after", "The sum is divided by P.", lambda average: average == "after")
DIVIDED_ONCE = Hypothesis(
    "divided_once", "Either the entries or their sum are divided by P.", lambda average: bool(average)
)
HALVED_EACH = Hypothesis(
    "halved_each", "Two partial sums are halved each before they are added.", lambda average: average == "halving"
)
NORMAL_QUOTIENTS = Hypothesis(
    "normal_quotients", "No entry over P is below the wire's normal range, unless it is zero.", _quotients_are_normal
)
SHARES_BELOW_NORMAL = Hypothesis(
    "shares_below_normal",
    "The magnitudes over P, half a smallest number more each, add up to twice the smallest normal number at most.",
    lambda x, P, wire: _sums_below_normal(x, wire, P),
)
SUMS_BELOW_NORMAL = Hypothesis(
    "sums_below_normal",
    "The magnitudes add up to twice the smallest normal number at most.",
    lambda x, wire: _sums_below_normal(x, wire),
)
ENTRIES_FINITE = Hypothesis(
    "entries_finite",
    "Every entry is a number of the wire's format.",
    lambda x, wire: bool((abs(x) <= float(_form(wire).largest)).all()),
)
MEAN_HAS_ROOM = Hypothesis(
    "mean_has_room",
    "The average of the magnitudes, P/2 smallest numbers more, is at most 1 - 2 P w of the wire's largest number.",
    _room_for_shares,
)
SUM_HAS_ROOM = Hypothesis(
    "sum_has_room",
    "The magnitudes add up to at most 1 - 2 P w of the wire's largest number, w its unit roundoff.",
    _room_for_roundings,
)
EXACT_SUM_FITS = Hypothesis(
    "exact_sum_fits", "The exact sum is at most the wire's largest number in magnitude.", _exact_sum_fits
)
ONE_SIGN = Hypothesis(
    "one_sign",
    "The entries of all ranks are finite and have one sign.",
    lambda x: bool((abs(x) < float("inf")).all() and ((x >= 0).all(axis=0) | (x <= 0).all(axis=0)).all()),
)
HAS_INFINITY = Hypothesis(
    "has_infinity",
    "The formats have infinities.",
    lambda wire, accumulate: all(_form(name).overflow == "infinity" for name in (wire, accumulate)),
)
HALVES_ONLY = Hypothesis(
    "halves_only",
    "P is a power of two and the schedule adds sums of equally many terms: recursive doubling, Rabenseifner's, a tree.",
    lambda schedule: schedule in HALVED,
)
ONE_AFTER_ANOTHER = Hypothesis(
    "one_after_another",
    "One term after another is added to a sum that is rounded to the wire's format every time: a ring, or any chain in "
    "one format.",
    _is_chain,
)
ENTRY_POWER_OF_TWO = Hypothesis(
    "entry_power_of_two",
    "All ranks hold one power of two, and min(P, 2^t) times it is a number of the wire's format.",
    Le(equal_entry * sp.Min(P, 2**wire_digits), wire_largest),
)
GAUSSIAN_ENTRIES = Hypothesis(
    "independent_normal_entries",
    "Entries are drawn from one normal law of mean zero, independently, and rounded to the wire's format.",
    ensured="Every case draws them from its seed.",
)
WIDE_OWNERS = Hypothesis(
    "wide_owners",
    "Owners get all terms of their block and add them in a format of more than twice the digits.",
    lambda schedule, accumulate, wire: (
        schedule in ("direct", "in_rank_order") and _form(accumulate).digits > 2 * _form(wire).digits
    ),
)
ONE_WIDTH = Hypothesis(
    "one_width",
    "Sums are added in the wire's format, or rounded to it whenever they are sent.",
    lambda accumulate, wire, per_hop: accumulate == wire or per_hop,
)
SEVERAL = Hypothesis("several", "There are at least two ranks.", lambda P: P >= 2)
