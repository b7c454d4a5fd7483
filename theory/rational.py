"""Sympy expressions written as Python functions of ints and Fractions.

Every node is kept as a numerator and a denominator, and reduced only at the end; the function gives up where an
operation leaves the rationals.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import sympy as sp
from sympy.core.intfunc import integer_nthroot
from sympy.core.relational import Relational


def exact_sum(values: Iterable[float]) -> Fraction:
    """The sum of finite floats, without rounding.

    Their denominators are powers of two, so the largest serves all: one reduction, where Fractions have one a term.
    """
    ratios = [value.as_integer_ratio() for value in values]
    common = max((denominator for _, denominator in ratios), default=1)
    return Fraction(sum(numerator * (common // denominator) for numerator, denominator in ratios), common)


class Irrational(ArithmeticError):
    """The value, or a number on the way to it, is not rational, or not known to be."""


def rational_function(expression: Any, symbols: tuple[Any, ...]) -> Callable[..., Any] | None:
    """A function of the symbols' values in their order, or None where it would always give up.

    Parameters
    ----------
    expression : sympy expression, relation or Boolean
        In `symbols`.
    symbols : tuple of sympy symbols
        With different names.

    Returns
    -------
    callable (int or Fraction, ...) -> Fraction or bool
        Raises Irrational where it gives up, and ZeroDivisionError at a pole.
    """
    return _Writer(symbols).function(expression)


class _Writer:
    """Writes the lines of a function.

    A node becomes a pair of integer terms, numerator and denominator. Where denominators multiply, a zero stays zero: a
    pole, or what is undefined, comes out as a ratio over zero, and Fraction refuses it.
    """

    def __init__(self, symbols: tuple[Any, ...]) -> None:
        self._symbols = symbols
        self._namespace: dict[str, Any] = {"Fraction": Fraction, "irrational": Irrational, "power": _power}
        self._lines: list[str] = []
        self._known: dict[Any, tuple[str, str]] = {}
        self._indent = "    "
        self._count = 0

    def function(self, expression: Any) -> Callable[..., Any] | None:
        """See `rational_function`."""
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
        except Irrational:
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
            return self._pair(_literal(int(expression.p)), _literal(int(expression.q)))
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
        raise Irrational  # pi and other constants, infinities, sums that sympy has to evaluate

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
            except Irrational:
                break
            outside, here = dict(self._known), self._indent
            self._indent += "    "
            try:
                self._write(f"{result[0]}, {result[1]} = {', '.join(self._node(value))}")
            except Irrational:
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
        raise Irrational


def _is_truth(expression: Any) -> bool:
    return bool(expression.is_Boolean or expression.is_Relational)


def _literal(number: int) -> str:
    """A number as Python has it; a long one in base 16, as those of more than 4300 digits are not read in base 10."""
    return str(number) if number.bit_length() <= 4096 else hex(number)


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
            raise Irrational
        top, whole = integer_nthroot(base.numerator, exponent.denominator)
        bottom, also = integer_nthroot(base.denominator, exponent.denominator)
        if not (whole and also):
            raise Irrational
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
            raise Irrational
        return Fraction(int(result.p), int(result.q))

    return value
