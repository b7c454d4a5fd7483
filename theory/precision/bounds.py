"""How far an all-reduce may be off its exact result: surely, and with a stated probability.

Bounds are sympy expressions; with formats and integers put in they are exact numbers. Errors are relative to the sum of
the ranks' magnitudes at an entry, for averages to that sum over P.

Rounding x to nearest changes it by u/(1 + u) |x| at most, u = 2^-digits, and by half the smallest number at most below
the normal range, where sums of numbers of one format are exact. Nothing may overflow.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.functions import ExactFunction
from commbounds.theory.precision.formats import Format, innocuous
from commbounds.theory.precision.roundings import Roundings
from commbounds.theory.symbols import expression

ROUNDING = ("nearest", "stochastic", "either neighbour")
"""To nearest, ties to even; to either neighbour with a mean that is exact; to either, truncation for one."""


@dataclass(frozen=True)
class ErrorBound:
    """|result - exact| <= relative sum_p |x_p| + absolute, at every entry of every rank; for an average / P.

    Parameters
    ----------
    relative : sympy expression
        Times the sum of the magnitudes (for an average, over P).
    absolute : sympy expression
        What underflow may add, in the result's unit; 0 where no rounding can underflow.
    """

    relative: Any
    absolute: Any


_MOST_BITS = 1 << 20
"""Of an exact power: what has more is given in floats alone."""


class compounded(ExactFunction):
    """(1 + rate)^times - 1; in floats without the cancellation.

    Of times that are not whole, or make a number of too many digits, in floats alone.
    """

    nargs = 2

    @classmethod
    def eval(cls, *arguments: Any) -> Any:
        """The value of numbers, unless it has too many digits to be written down."""
        rate, times = arguments
        if rate.is_Rational and times.is_Integer and cls._bits(rate, times) > _MOST_BITS:
            return None
        return super().eval(rate, times)

    @staticmethod
    def _bits(rate: Any, times: Any) -> int:
        """Of the exact value, about."""
        return abs(int(times)) * int(rate.denominator).bit_length()

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The value."""
        rate, times = map(Fraction, arguments)
        if times.denominator == 1 and cls._bits(rate, times) <= _MOST_BITS:
            return (1 + rate) ** int(times) - 1
        return Fraction(math.expm1(float(times) * math.log1p(float(rate))))

    def _latex(self, printer: Any, **_: Any) -> str:
        rate, times = printer.parenthesize(1 + self.args[0], 50), printer.doprint(self.args[1])
        return rf"{rate}^{{{times}}}-1"


def one_rounding(unit: Any, rounding: str = "nearest") -> Any:
    """Largest relative error of one rounding: u/(1 + u) to nearest, 2u to either neighbour."""
    return unit / (1 + unit) if rounding == "nearest" else 2 * unit


def any_tree(additions: Any, unit: Any, rounding: str = "nearest") -> Any:
    """Of sums in one format, `additions` on the longest way: (1 + v)^additions - 1, v of one rounding."""
    return compounded(one_rounding(unit, rounding), additions)


def any_order(terms: Any, unit: Any) -> Any:
    """Of `terms` terms added in one format in any order, rounded to nearest: (terms - 1) u/(1 + u)."""
    return (terms - 1) * one_rounding(unit)


def running_sum(terms: Any, unit: Any) -> Any:
    """Of `terms` terms added one after another in one format, rounded to nearest: (terms - 1) u/(1 + u), or 1.

    An addition moves the sum by no more than the term that it adds.
    """
    return sp.Min(any_order(terms, unit), 1)


def followed(first: Any, then: Any) -> Any:
    """Relative bounds one after the other: (1 + first)(1 + then) - 1."""
    return first + then + first * then


def one_after_another(*errors: Any) -> Any:
    """Relative bounds one after the other: the product of all 1 + error, less 1."""
    return sp.Mul(*(1 + error for error in errors)) - 1


def sure(
    counted: Roundings,
    accumulate: Format,
    wire: Format,
    P: int,
    *,
    nodes: int | None = None,
    rounding: str = "nearest",
    flushed: bool = False,
) -> ErrorBound:
    """What holds for every input of which no sum overflows.

    Parameters
    ----------
    counted : Roundings
        How often and when is rounded.
    accumulate, wire : Format
        In which is added and sent; the accumulator holds the wire's numbers.
    P : int
        Ranks, at least 1.
    nodes : int or None
        Of a hierarchical all-reduce; divides P.
    rounding : {"nearest", "stochastic", "either neighbour"}
        How all roundings go.
    flushed : bool
        Whether terms and results below the wire's normal range may be taken for zero.

    Returns
    -------
    ErrorBound
        Of exact numbers.

    Raises
    ------
    ValueError
        A number of ranks below one, nodes that do not divide them or are missing, an accumulator that does not hold the
        wire's numbers, or another way to round.
    """
    at = _checked(counted, accumulate, wire, P, nodes, rounding)
    additions, hops = at(counted.additions), at(counted.hops)
    u, w = sp.Rational(accumulate.unit), sp.Rational(wire.unit)
    cast = one_rounding(w, rounding)
    if accumulate == wire or (rounding == "nearest" and counted.every_sum and innocuous(accumulate, wire)):
        relative = _in_one_format(counted, additions, P, w, rounding)
    elif hops != 1 or additions == 1:
        # rounded twice each, or once: no more of either on any way, and the sum of one rank is not rounded
        hops = hops if P > 1 else sp.Integer(0)
        relative = followed(any_tree(additions, u, rounding), any_tree(hops, w, rounding))
    else:
        relative = followed(_in_one_format(counted, additions, P, u, rounding), cast if P > 1 else sp.Integer(0))
    divided = counted.scalings if P > 1 else 0
    for _ in range(divided + counted.first):
        relative = followed(relative, cast)
    # a term that underflows is off by up to half a smallest number, which is summed like any other term
    share = sp.Rational(wire.smallest) / (2 if rounding == "nearest" else 1)
    casts = sp.sympify(at(counted.casts), strict=True) if P > 1 else sp.Integer(P * counted.first)
    absolute = casts * share * (1 + relative)
    if flushed:
        # P terms, P scaled, P - 1 additions, as many roundings behind, a mean: each is off by a normal number at most
        absolute += 4 * P * sp.Rational(wire.normal) * (1 + relative)
    return ErrorBound(relative, absolute)


def _in_one_format(counted: Roundings, additions: Any, P: int, unit: Any, rounding: str) -> Any:
    if rounding != "nearest":
        return any_tree(additions, unit, rounding)
    if counted.one_by_one:
        return running_sum(sp.Integer(P), unit)
    if additions == P - 1:
        return any_order(sp.Integer(P), unit)
    return sp.Min(any_order(sp.Integer(P), unit), any_tree(additions, unit))


def spread(unit: Any, additions: Any, wire_unit: Any = 0, hops: Any = 0) -> Any:
    """Root of the sum of squares of a path's roundings: sqrt(additions u^2 + hops w^2)."""
    return sp.sqrt(additions * unit**2 + hops * wire_unit**2)


def deviations(probability: Any, entries: Any) -> Any:
    """sqrt(2 ln(2 entries/probability)): what a martingale of all entries stays below, in units of its spread."""
    return sp.sqrt(2 * sp.log(2 * entries / expression("probability", probability)))


def probable_chain(deviation: Any) -> Any:
    """q/(1 - q) for q < 1, else infinite: a running sum, whose own growth by errors is in the bound; see `probable`."""
    return sp.Piecewise((deviation / (1 - deviation), deviation < 1), (sp.oo, True))


def probable_tree(deviation: Any, before: Any) -> Any:
    """(1 + before) q, where partial sums are surely within 1 + before of their terms' magnitudes."""
    return (1 + before) * deviation


def probable_products(root: Any, ranks: Any, entries: Any, probability: Any) -> Any:
    """exp(sqrt(2 L) root) - 1, L the larger of ln(2 entries ranks/probability) and 4, for the factors of all terms."""
    logarithm = sp.Max(sp.log(2 * entries * ranks / expression("probability", probability)), 4)
    return sp.exp(sp.sqrt(2 * logarithm) * root) - 1


def probable(
    counted: Roundings,
    accumulate: Format,
    wire: Format,
    P: int,
    *,
    entries: int = 1,
    probability: Fraction | float = Fraction(1, 10**9),
    nodes: int | None = None,
    rounding: str = "nearest",
    flushed: bool = False,
) -> ErrorBound:
    """What all `entries` keep to, except for a probability of at most `probability`, where roundings have mean zero.

    Parameters
    ----------
    counted, accumulate, wire, P, nodes, rounding, flushed
        As for `sure`; to either neighbour it is the sure one.
    entries : int
        At least 1.
    probability : Fraction or float
        In (0, 1), of all entries together.

    Returns
    -------
    ErrorBound
        Never more than the sure one.

    Raises
    ------
    ValueError
        As `sure` does; no entry, or a probability outside (0, 1).

    Notes
    -----
    The error is a sum of the roundings' errors, one for each rounding. Given all before it, one of a number of
    magnitude at most s has mean zero and lies in an interval of length 2 u s: to nearest, where that is an assumption;
    with stochastic rounding, where it is a fact. By Hoeffding's lemma their sum exceeds lambda with probability at most
    2 exp(-lambda^2/(2 sum (u s)^2)). A term passes at most h additions, so that the sum over the additions of the
    squared magnitudes is at most h (sum |x|)^2, times the square of what errors add to partial sums. Of a running sum
    they add what is being bounded: stopped when they first exceed that, the martingale gives q/(1 - q), q = sqrt(2
    ln(2 entries/probability) h) u. Of a tree the sure bound of the sum.

    Or else: the result is every term times its own product of 1 + d, d of mean zero in an interval of length 2u, |d| <=
    2u <= 1/2. By the same lemma sum d stays within L' = sqrt(2 L h) u for all terms of all entries, L = ln(2 entries
    P/probability). Then the product is at most exp(L'), and at least exp(-L' - 4 h u^2) >= 2 - exp(L') where L >= 4.
    """
    at = _checked(counted, accumulate, wire, P, nodes, rounding)
    if entries < 1:
        raise ValueError(f"entries must be at least 1, got {entries}")
    if not 0 < probability < 1:
        raise ValueError(f"probability must be between 0 and 1, got {probability}")
    surely = sure(counted, accumulate, wire, P, nodes=nodes, rounding=rounding, flushed=flushed)
    if rounding == "either neighbour":
        return surely
    additions, hops = at(counted.additions), at(counted.hops)
    u, w = sp.Rational(accumulate.unit), sp.Rational(wire.unit)
    if accumulate == wire:
        hops = sp.Integer(0)
    elif rounding == "nearest" and counted.every_sum and innocuous(accumulate, wire):
        u, hops = w, sp.Integer(0)  # the wire's rounding is the only one
    elif P == 1:
        hops = sp.Integer(0)
    more = (counted.scalings if P > 1 else 0) + counted.first
    chance = sp.Rational(Fraction(probability))
    root = spread(u, additions, w, hops + more)
    q = deviations(chance, entries) * root
    if counted.one_by_one and counted.scalings + counted.first == 0:
        relative = probable_chain(q)
    else:
        relative = probable_tree(q, surely.relative)
    products = probable_products(root, P, entries, chance)
    return ErrorBound(sp.Min(surely.relative, relative, products), surely.absolute)


def fraction(value: Any) -> Fraction:
    """Of a rational number."""
    exact = sp.Rational(value)
    return Fraction(int(exact.p), int(exact.q))


def upwards(value: Any) -> Fraction:
    """A fraction that is not below a real expression, by at most 2^-90 of it."""
    if value.is_Rational:
        return fraction(value)
    return Fraction(str(sp.N(value, 40))) * (1 + Fraction(1, 2**100))


def _checked(counted: Roundings, accumulate: Format, wire: Format, P: int, nodes: int | None, rounding: str) -> Any:
    """A function that puts the numbers of ranks and nodes into what was counted."""
    if P < 1:
        raise ValueError(f"P must be at least 1, got {P}")
    if rounding not in ROUNDING:
        raise ValueError(f"rounding must be one of {', '.join(ROUNDING)}, got {rounding!r}")
    if not accumulate.holds(wire):
        raise ValueError(f"accumulate must hold all numbers of the wire's format {wire.name}, got {accumulate.name}")
    in_nodes = any(symbol.name == "nodes" for symbol in counted.additions.free_symbols)
    if in_nodes and (nodes is None or nodes < 1 or P % nodes):
        raise ValueError(f"nodes of the {counted.schedule} all-reduce must divide {P} ranks, got {nodes}")

    def at(expression: Any) -> Any:
        numbers = {"P": P, "nodes": nodes}
        return expression.xreplace(
            {s: sp.Integer(numbers[s.name]) for s in sp.sympify(expression, strict=True).free_symbols}
        ).doit()

    return at
