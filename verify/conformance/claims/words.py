"""`WordsAtMost`: how many words a rank sends and receives."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from commbounds.compressors.base import checked_choice, shown
from commbounds.verify.conformance.aims import given_sizes
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import COLLECTIVES, NoBound, NotHere, Sure, checked

_OF = ("sent", "received", "both", "sum")


@dataclass(frozen=True, init=False)
class WordsAtMost(Sure):
    """No rank sends, or receives, more words than a bound, in any case.

    Parameters
    ----------
    bound : float, callable of (P, n) (of (P, m, n) for matrices), or sympy expression
        Free symbols of an expression are called P and n (and m), or are given values by keywords. Rational expressions
        are compared exactly.
    of : str
        sent or received; both: each of the two; sum: of the two together.
    **values : number, or callable of (P, n)
        Of the other symbols.

    Raises
    ------
    ValueError
        There is no such count; a symbol has no value, or one that is given already.

    Examples
    --------
    >>> import sympy as sp
    >>> P, k = sp.symbols("P k")
    >>> print(WordsAtMost(6 * k * (P - 1) / P, k=4))
    WordsAtMost(6*k*(P - 1)/P, k=4)
    """

    bound: Any
    of: str
    values: tuple[tuple[str, Any], ...]

    about: ClassVar[tuple[str, ...]] = COLLECTIVES
    in_book: ClassVar[tuple[str, ...]] = ("dense.ring.sent", "dense.ring.received")

    def __init__(self, bound: Any, of: str = "both", **values: Any) -> None:
        checked_choice("of", of, tuple(_OF))
        if not (isinstance(bound, sp.Basic | int | float | Fraction) or callable(bound)):
            raise TypeError(f"bound must be a number, a callable or a sympy expression, got {shown(bound)}")
        if isinstance(bound, int | float | Fraction):
            checked("bound", bound)
        for name, value in values.items():
            checked(name, value, low=-math.inf)
        needed = {str(s) for s in bound.free_symbols} if isinstance(bound, sp.Basic) else set[str]()
        sizes = {"P", "m", "n"}
        if sizes & set(values) or needed - sizes != set(values):
            raise ValueError(f"values must be given for {sorted(needed - sizes)}, got them for {sorted(values)}")
        object.__setattr__(self, "bound", bound)
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "values", tuple(sorted(values.items())))

    def __str__(self) -> str:
        shown = [_shown(self.bound)] + [f"of={self.of!r}"] * (self.of != "both")
        shown += [f"{name}={_shown(value)}" for name, value in self.values]
        return f"WordsAtMost({', '.join(shown)})"

    def limit(self, shape: tuple[int, ...]) -> Fraction | float:
        """The bound for a case of that shape.

        Raises
        ------
        NoBound
            It is no real number, not finite, or less than no word.
        """
        try:
            limit = self._value(shape)
        except ValueError as error:
            raise NoBound(f"{error} with {_sizes(shape)}") from error
        if not 0 <= limit < math.inf:
            raise NoBound(f"the bound must be finite and at least 0, and is {_as_number(limit)} with {_sizes(shape)}")
        return limit

    def _value(self, shape: tuple[int, ...]) -> Fraction | float:
        sizes = dict(zip(("P", "n") if len(shape) == 2 else ("P", "m", "n"), shape, strict=True))
        if not isinstance(self.bound, sp.Basic):
            return _settled(self.bound(*given_sizes(self.bound, sizes)) if callable(self.bound) else self.bound)
        given = {name: value(*shape) if callable(value) else value for name, value in self.values}
        return _evaluated(self.bound, tuple(sorted({**sizes, **given}.items())))

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        outcome = bench.outcome(case)
        names = ("sent", "received") if self.of in ("both", "sum") else (self.of,)
        counts = {name: getattr(outcome, name) for name in names}
        for name, words in counts.items():
            if words is None:
                raise NotHere(f"the subject does not tell how many words are {name}")
            if (words < 0).any():
                return f"{int(words.min())} words are {name}, which is less than none"
        if self.of == "sum":
            counts = {"sent and received": np.sum(list(counts.values()), axis=0)}
        limit = self.limit(case.x.shape)
        for name, words in counts.items():
            rank = int(words.argmax())
            if not int(words[rank]) <= limit:
                found = f"with {_sizes(case.x.shape)} rank {rank} has {int(words[rank])} words {name}"
                return f"{found}, claimed at most {_as_number(limit)}"
        return None


def _shown(value: Any) -> str:
    if isinstance(value, sp.Basic) or not callable(value):
        return str(value)
    return str(getattr(value, "__name__", type(value).__name__)).replace("<lambda>", "...")


def _sizes(shape: tuple[int, ...]) -> str:
    return f"P = {shape[0]} and {' x '.join(map(str, shape[1:]))} words a rank"


def _as_number(limit: Fraction | float) -> str:
    return str(limit) if isinstance(limit, Fraction) and limit.denominator == 1 else f"{float(limit):.6g}"


@lru_cache(maxsize=4096)
def _evaluated(expression: sp.Basic, given: tuple[tuple[str, Any], ...]) -> Fraction | float:
    """The value of an expression whose symbols are called so."""
    values = dict(given)
    return _settled(expression.subs({s: values[str(s)] for s in expression.free_symbols}))


def _settled(value: Any) -> Fraction | float:
    """A value as a Fraction where it is rational; else as a float, a little more, as its formula rounded.

    2^-48 is what sixteen operations round by; of less than 2^48 words it is less than one.

    Raises
    ------
    ValueError
        It is NaN, or no real number.
    """
    if isinstance(value, sp.Basic):
        if isinstance(value, sp.Rational):
            return Fraction(int(value.p), int(value.q))
        value = sp.N(value, 40)
    elif isinstance(value, int | Fraction | np.integer):
        return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
    try:
        settled = float(value)
    except TypeError as error:
        raise ValueError(f"the bound must be a real number, got {value!r}") from error
    if settled != settled:
        raise ValueError("the bound must be a number, got NaN")
    return settled * (1.0 + 2.0**-48)
