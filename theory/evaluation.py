"""Sympy expressions as functions of numbers: in Python's rationals where the value is rational, in float64 otherwise.

An expression is compiled once. Its exact form keeps every node as a numerator and a denominator, reduces only at the
end, and gives up where an operation leaves the rationals: there sympy substitutes, as it does for irrational
arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from numbers import Rational
from operator import eq, ge, gt, le, lt, mod, ne
from typing import Any

import sympy as sp
from sympy.core.intfunc import integer_nthroot
from sympy.core.relational import Relational
from sympy.printing.numpy import SciPyPrinter

__all__ = ["Evaluator", "evaluator"]


class _Irrational(ArithmeticError):
    """The value, or a number on the way to it, is not rational, or not known to be."""


@cache
def evaluator(expression: Any) -> Evaluator:
    """The one evaluator of an expression.

    Parameters
    ----------
    expression : sympy expression, relation or Boolean
        Its symbols differ in their names.
    """
    return Evaluator(expression)


class Evaluator:
    """A sympy expression as a function of its symbols' values."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression
        self._symbols = tuple(sorted(expression.free_symbols, key=lambda s: s.name))
        self.names = tuple(s.name for s in self._symbols)
        """Names of the symbols, sorted."""

    def __reduce__(self) -> Any:
        return evaluator, (self.expression,)

    def __call__(self, values: Mapping[str, Any], what: str) -> Any:
        """The value of the expression.

        Parameters
        ----------
        values : mapping from name to int, Fraction, sympy number, float or array
            One value for every name in `names`; further names are ignored.
        what : str
            What is evaluated, for the message of an error.

        Returns
        -------
        Fraction, bool, sympy.Basic, float or ndarray
            With exact values only: a Fraction where the value is rational, a bool where it is a truth value, else the
            exact sympy number. With a float or an array among the values: float64, broadcast.

        Raises
        ------
        TypeError
            A value is missing.
        """
        try:
            arguments = [values[name] for name in self.names]
        except KeyError:
            missing = ", ".join(name for name in self.names if name not in values)
            raise TypeError(f"{what} needs {missing}") from None
        for value in arguments:
            if type(value) is not int and type(value) is not Fraction:
                break
        else:
            return self._exactly(arguments)
        if type(value) is float:
            return self._in_floats(arguments)
        if any(isinstance(value, sp.Float) or not isinstance(value, Rational | sp.Expr) for value in arguments):
            return self._in_floats(arguments)
        arguments = [_plain(value) if isinstance(value, Rational) else value for value in arguments]
        if any(isinstance(value, sp.Expr) for value in arguments):
            return self._substituted(*arguments)
        return self._exactly(arguments)

    def _exactly(self, arguments: list[Any]) -> Any:
        if self._exact is not None:
            try:
                return self._exact(*arguments)
            except (_Irrational, ZeroDivisionError):
                pass  # an irrational number on the way; a pole
        return self._substituted(*arguments)

    def _in_floats(self, arguments: list[Any]) -> Any:
        # what is not a number, overflows or divides by zero is left to numpy's rules
        try:
            numbers = [value if type(value) is float else _number(value) for value in arguments]
            value = self._float(*numbers)
            if math.isfinite(value) and math.isfinite(sum(numbers)):
                return float(value)
        except (ArithmeticError, TypeError, ValueError):
            pass
        return self._array(arguments)

    @cached_property
    def _exact(self) -> Callable[..., Any] | None:
        """The value at ints and Fractions; None where it is never rational."""
        return _Exactly(self._symbols).function(self.expression)

    @cached_property
    def _substituted(self) -> Callable[..., Any]:
        """The value by sympy, remembered."""

        @lru_cache(maxsize=1 << 12)
        def substituted(*arguments: Any) -> Any:
            numbers = (
                sp.Rational(v.numerator, v.denominator) if isinstance(v, int | Fraction) else v for v in arguments
            )
            value = self.expression.xreplace(dict(zip(self._symbols, numbers, strict=True)))
            if value.is_Boolean or value.is_Relational:
                return bool(value)
            return Fraction(int(value.p), int(value.q)) if value.is_Rational else value

        return substituted

    @cached_property
    def _float(self) -> Callable[..., Any]:
        """The value at floats, by the operations of `_array` on Python's floats."""
        printer = _ScalarPrinter({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})
        modules = [_ON_FLOATS, "scipy", "numpy"]
        return sp.lambdify(self._symbols, self.expression, modules=modules, printer=printer)  # type: ignore[no-any-return]

    @cached_property
    def _array(self) -> Callable[[list[Any]], Any]:
        """The value at arrays."""
        import numpy as np

        function = sp.lambdify(self._symbols, self.expression, modules=["scipy", "numpy"])

        def evaluate(arguments: list[Any]) -> Any:
            result = function(*(np.asarray(value, dtype=np.float64) for value in arguments))
            return float(result) if np.ndim(result) == 0 else result

        return evaluate


def _plain(value: Any) -> int | Fraction:
    """A rational number of any library as Python's."""
    numerator, denominator = int(value.numerator), int(value.denominator)
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def _number(value: Any) -> float:
    """A number as a float; TypeError for arrays and sequences."""
    if getattr(value, "shape", ()) != ():
        raise TypeError(f"{value!r} is not a number")
    return float(value)


class _ScalarPrinter(SciPyPrinter):  # type: ignore[misc]
    """Squares of symbols as products, which is how numpy squares an array."""

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        if expr.exp == 2 and expr.base.is_Symbol:
            return f"({self._print(expr.base)}*{self._print(expr.base)})"
        return str(super()._print_Pow(expr, rational=rational))


def _select(conditions: list[bool], values: list[float], default: float) -> float:
    return next((value for condition, value in zip(conditions, values, strict=True) if condition), default)


_ON_FLOATS: dict[str, Any] = {
    "sqrt": math.sqrt,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "mod": mod,
    # as numpy's, NaN if either is
    "maximum": lambda x, y: x if x >= y or x != x else y,
    "minimum": lambda x, y: x if x <= y or x != x else y,
    "select": _select,
    "equal": eq,
    "not_equal": ne,
    "less": lt,
    "less_equal": le,
    "greater": gt,
    "greater_equal": ge,
}
"""Numpy's functions on Python's floats, to the same bits."""


class _Exactly:
    """Writes an expression as a Python function of ints and Fractions.

    A node becomes a pair of integer terms, numerator and denominator. Where denominators multiply, a zero stays zero: a
    pole, or what is undefined, comes out as a ratio over zero, and Fraction refuses it.
    """

    def __init__(self, symbols: tuple[Any, ...]) -> None:
        self._symbols = symbols
        self._namespace: dict[str, Any] = {"Fraction": Fraction, "irrational": _Irrational, "power": _power}
        self._lines: list[str] = []
        self._known: dict[Any, tuple[str, str]] = {}
        self._indent = "    "
        self._count = 0

    def function(self, expression: Any) -> Callable[..., Any] | None:
        """The function of the symbols' values in their order, or None where it would always give up."""
        names = []
        for symbol in self._symbols:
            name = self._fresh()
            names.append(name)
            if symbol.is_integer:
                self._known[symbol] = name, "1"
            else:
                self._known[symbol] = self._pair(f"{name}.numerator", f"{name}.denominator")
        try:
            result = self._truth(expression) if _is_truth(expression) else self._ratio(expression)
        except _Irrational:
            return None
        source = f"def exactly({', '.join(names)}):\n" + "\n".join([*self._lines, f"    return {result}"])
        exec(source, self._namespace)
        return self._namespace["exactly"]  # type: ignore[no-any-return]

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _write(self, line: str) -> None:
        self._lines.append(self._indent + line)

    def _term(self, code: str) -> str:
        """A term that is written once and read by name; literals are read as they are."""
        if code.isidentifier() or code.lstrip("-").isdecimal():
            return f"({code})" if code.startswith("-") else code
        name = self._fresh()
        self._write(f"{name} = {code}")
        return name

    def _pair(self, numerator: str, denominator: str = "1") -> tuple[str, str]:
        return self._term(numerator), self._term(denominator)

    def _unpacked(self, code: str) -> tuple[str, str]:
        """The pair that a call gives."""
        pair = self._fresh(), self._fresh()
        self._write(f"{pair[0]}, {pair[1]} = {code}")
        return pair

    def _ratio(self, expression: Any) -> str:
        """A Fraction."""
        numerator, denominator = self._node(expression)
        return f"Fraction({numerator})" if denominator == "1" else f"Fraction({numerator}, {denominator})"

    def _rational(self, expression: Any) -> str:
        """An int or a Fraction, for comparisons."""
        numerator, denominator = self._node(expression)
        return numerator if denominator == "1" else self._term(f"Fraction({numerator}, {denominator})")

    def _node(self, expression: Any) -> tuple[str, str]:
        found = self._known.get(expression)
        if found is None:
            found = self._known[expression] = self._written(expression)
        return found

    def _written(self, expression: Any) -> tuple[str, str]:
        if expression.is_Rational:
            return self._pair(str(expression.p), str(expression.q))
        if expression.is_Add:
            return self._sum(expression.args)
        if expression.is_Mul:
            pairs = [self._node(a) for a in expression.args]
            return self._pair(_product([p for p, _ in pairs]), _product([q for _, q in pairs]))
        if expression.is_Pow:
            return self._power(*expression.args)
        if isinstance(expression, sp.Piecewise):
            return self._piecewise(expression.args)
        if isinstance(expression, sp.Min | sp.Max):
            chosen = "min" if isinstance(expression, sp.Min) else "max"
            best = self._term(f"{chosen}({', '.join(self._rational(a) for a in expression.args)})")
            whole = all(self._node(a)[1] == "1" for a in expression.args)
            return (best, "1") if whole else self._pair(f"{best}.numerator", f"{best}.denominator")
        if isinstance(expression, sp.floor | sp.ceiling):
            p, q = self._node(expression.args[0])
            return self._pair(f"{p} // {q}" if isinstance(expression, sp.floor) else f"-(-{p} // {q})")
        if isinstance(expression, sp.Mod):
            (p, q), (r, s) = (self._node(a) for a in expression.args)
            return self._pair(f"({p} * {s}) % ({r} * {q})" if (q, s) != ("1", "1") else f"{p} % {r}", _product([q, s]))
        if expression.is_Function:
            return self._call(expression)
        raise _Irrational  # pi and other constants, infinities, sums that sympy has to evaluate

    def _sum(self, terms: tuple[Any, ...]) -> tuple[str, str]:
        """Terms of one denominator first, so that few denominators multiply."""
        over: dict[str, list[str]] = {}
        for p, q in map(self._node, terms):
            over.setdefault(q, []).append(p)
        (q, ps), *others = over.items()
        p = " + ".join(ps)
        for s, rs in others:
            r = " + ".join(rs)
            p, q = self._pair(f"{_product([f'({p})', s])} + {_product([f'({r})', q])}", _product([q, s]))
        return self._pair(p, q)

    def _power(self, base: Any, exponent: Any) -> tuple[str, str]:
        p, q = self._node(base)
        if exponent.is_Integer:
            size = abs(int(exponent))
            raised = [v if size == 1 or v == "1" else f"{v}**{size}" for v in (p, q)]
            return self._pair(*(raised if exponent > 0 else reversed(raised)))
        return self._unpacked(f"power({p}, {q}, {', '.join(self._node(exponent))})")

    def _piecewise(self, pieces: tuple[Any, ...]) -> tuple[str, str]:
        """Each piece is computed only where it holds."""
        result, known, indent = (self._fresh(), self._fresh()), dict(self._known), self._indent
        for value, condition in pieces:
            try:
                self._write(f"if {self._truth(condition)}:")
            except _Irrational:
                break
            outside, here = dict(self._known), self._indent
            self._indent += "    "
            try:
                self._write(f"{result[0]}, {result[1]} = {', '.join(self._node(value))}")
            except _Irrational:
                self._write("raise irrational")
            self._known, self._indent = outside, here
            self._write("else:")
            self._indent += "    "
        self._write("raise irrational")
        self._known, self._indent = known, indent
        return result

    def _call(self, expression: Any) -> tuple[str, str]:
        """A function of the book in its own exact form, and any other by sympy; remembered either way."""
        head: Any = type(expression)
        name = f"{head.__name__}_value"
        self._namespace[name] = _exact_values(head)
        arguments = ", ".join(self._rational(a) for a in expression.args)
        value = self._term(f"{name}({arguments})")
        return self._pair(f"{value}.numerator", f"{value}.denominator")

    def _truth(self, condition: Any) -> str:
        if condition in (sp.true, sp.false):
            return str(bool(condition))
        if isinstance(condition, sp.Not):
            return f"(not {self._truth(condition.args[0])})"
        if isinstance(condition, sp.And | sp.Or):
            word = " and " if isinstance(condition, sp.And) else " or "
            return f"({word.join(self._truth(a) for a in condition.args)})"
        if isinstance(condition, Relational):
            left, right = (self._rational(a) for a in condition.args)
            return f"({left} {condition.rel_op} {right})"
        raise _Irrational


def _is_truth(expression: Any) -> bool:
    return bool(expression.is_Boolean or expression.is_Relational)


def _product(factors: list[str]) -> str:
    return " * ".join(f for f in factors if f != "1") or "1"


def _power(p: int, q: int, r: int, s: int) -> tuple[int, int]:
    """(p/q)^(r/s) as a ratio."""
    exponent = Fraction(r, s)
    size = abs(exponent.numerator)
    if exponent.denominator == 1:
        raised = p**size, q**size
    else:
        base = Fraction(p, q)
        if base < 0:
            raise _Irrational
        top, whole = integer_nthroot(base.numerator, exponent.denominator)
        bottom, also = integer_nthroot(base.denominator, exponent.denominator)
        if not (whole and also):
            raise _Irrational
        raised = int(top) ** size, int(bottom) ** size
    return raised if exponent >= 0 else (raised[1], raised[0])


@cache
def _exact_values(head: Any) -> Callable[..., Any]:
    """A function of the book, or of sympy, on ints and Fractions."""
    own = getattr(head, "exact", None)

    @lru_cache(maxsize=1 << 12)
    def value(*arguments: Any) -> Any:
        if own is not None:
            return own(*arguments)
        result = head(*(sp.Rational(a.numerator, a.denominator) for a in arguments))
        if not result.is_Rational:
            raise _Irrational
        return Fraction(int(result.p), int(result.q))

    return value
