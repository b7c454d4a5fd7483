"""Expressions of models and certificates as quotients of polynomials with rational coefficients, exactly."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import comb
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement, PolyRing, ring

from commbounds.verify.certify.certificate import CertificateError

MOST_WORK = 500_000
"""Products of numbers that a proof of one goal may take."""


class Polynomials:
    """The polynomials in the symbols of some expressions, and in their powers with symbolic exponents.

    Such a power, ``p**t``, is a generator of its own: what is an identity for independent generators is one for
    their values.

    Parameters
    ----------
    expressions : iterable of sympy expression
        All that a goal speaks of.
    """

    def __init__(self, expressions: Iterable[Any]) -> None:
        atoms: set[Any] = set()
        for expression in expressions:
            _collect(sp.sympify(expression), atoms)
        self._atoms = sorted(atoms, key=str)
        self.ring: PolyRing = ring([f"g{i}" for i in range(max(1, len(self._atoms)))], sp.QQ)[0]
        self._generator = dict(zip(self._atoms, self.ring.gens, strict=False))
        self._named = {str(atom): generator for atom, generator in self._generator.items()}
        if len(self._named) < len(self._atoms):
            raise CertificateError(f"symbols must have different names, got {self._atoms}")
        self.work = 0

    def times(self, a: PolyElement, b: PolyElement) -> PolyElement:
        """The product, where all that was multiplied so far is not too much."""
        self._charge(len(a) * len(b), a, b)
        return a * b

    def power(self, a: PolyElement, exponent: int) -> PolyElement:
        """The power, likewise."""
        self._charge(exponent * comb(max(1, len(a)) + exponent - 1, exponent), a)
        return a**exponent

    def _charge(self, products: int, *factors: PolyElement) -> None:
        """Count products of 64-bit words. Proofs need some thousand; a text of few letters can ask for any number."""
        numbers = [c for factor in factors for c in factor.coeffs()]
        bits = max((max(int(c.numerator).bit_length(), int(c.denominator).bit_length()) for c in numbers), default=0)
        self.work += products * (1 + bits // 64)
        if self.work > MOST_WORK:
            raise CertificateError(f"multiplied out, this takes more than {MOST_WORK} products of numbers")

    def of(self, expression: Any) -> tuple[PolyElement, PolyElement]:
        """Numerator and denominator of an expression.

        Raises
        ------
        CertificateError
            It is no rational function with rational coefficients.
        """
        return self._of(sp.sympify(expression))

    def _of(self, e: Any) -> tuple[PolyElement, PolyElement]:
        one = self.ring.one
        if e.is_Rational:
            return self.ring(sp.QQ(int(e.p), int(e.q))), one
        if e.is_Add:
            return reduce(_plus, (self._of(a) for a in e.args))
        if e.is_Mul:
            return reduce(_times, (self._of(a) for a in e.args))
        if e.is_Pow:
            whole, factors = 0, [(one, one)]
            for multiple, atom in _exponents(e):
                if atom is None:
                    whole = multiple
                else:
                    factors.append(_power((self._generator[atom], one), multiple))
            return (
                reduce(_times, factors)
                if not whole
                else _times(_power(self._of(e.base), whole), reduce(_times, factors))
            )
        if e.is_Symbol:
            return self._generator[e], one
        raise CertificateError(f"not a rational function: {e}")

    def read(self, text: str) -> PolyElement:
        """A polynomial that a certificate writes with the operations + - * / (by numbers) ** (by whole numbers).

        Powers with symbolic exponents are written in brackets: ``3*x - [p**t]*y/2``.

        Raises
        ------
        CertificateError
            It is not one, or has symbols that the goal does not have.
        """
        names: dict[str, Any] = dict(self._named)
        for name, generator in self._named.items():
            if not name.isidentifier():
                text = text.replace(f"[{name}]", f"_{generator}")
                names[f"_{generator}"] = generator
        try:
            return self._evaluate(ast.parse(text, mode="eval").body, names)
        except CertificateError:
            raise
        except (SyntaxError, RecursionError, MemoryError, ArithmeticError, ValueError, TypeError, KeyError) as error:
            raise CertificateError(f"not a polynomial of the goal's symbols: {text[:80]}") from error

    def _evaluate(self, node: ast.expr, names: dict[str, Any]) -> PolyElement:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return self.ring(sp.QQ(value))
            case ast.Name(id=name):
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._evaluate(operand, names)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._evaluate(left, names) + self._evaluate(right, names)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._evaluate(left, names) - self._evaluate(right, names)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.times(self._evaluate(left, names), self._evaluate(right, names))
            case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=int() as value)):
                return self._evaluate(left, names) * sp.QQ(1, value)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as value)) if 0 <= value <= 64:
                return self.power(self._evaluate(left, names), value)
        raise TypeError("an operation that polynomials do not have")

    def write(self, polynomial: PolyElement) -> str:
        """The text that `read` reads."""
        names = [name if name.isidentifier() else f"[{name}]" for name in map(str, self._atoms)]
        terms = []
        for powers, coefficient in polynomial.terms():
            factors = [f"{name}**{e}" if e > 1 else name for name, e in zip(names, powers, strict=False) if e]
            number = Fraction(int(coefficient.numerator), int(coefficient.denominator))
            terms.append("*".join([f"({number})", *factors]))
        return " + ".join(terms) or "0"

    def degree(self, polynomial: PolyElement, symbols: Sequence[Any]) -> set[int]:
        """The degrees in some symbols that a polynomial's terms have."""
        chosen = [i for i, atom in enumerate(self._atoms) if atom in symbols]
        return {sum(powers[i] for i in chosen) for powers in polynomial.monoms()}


def _collect(e: Any, atoms: set[Any]) -> None:
    if e.is_Symbol:
        atoms.add(e)
    elif e.is_Pow:
        for _, atom in _exponents(e):
            if atom is None:
                _collect(e.base, atoms)
            else:
                atoms.add(atom)
    elif e.is_Add or e.is_Mul:
        for a in e.args:
            _collect(a, atoms)
    elif not e.is_Rational:
        raise CertificateError(f"not a rational function: {e}")


def _exponents(e: Any) -> list[tuple[int, Any]]:
    """A power as a product: whole multiples of exponents, each with its atom (base to the monomial), None for 1."""
    parts = []
    for monomial, multiple in sp.expand(e.exp).as_coefficients_dict().items():
        if not multiple.is_Integer:
            raise CertificateError(f"not a rational function: {e}")
        parts.append((int(multiple), None if monomial == 1 else sp.Pow(e.base, monomial, evaluate=False)))
    return parts


def _plus(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1]) if a[1] == b[1] else (a[0] * b[1] + b[0] * a[1], a[1] * b[1])


def _times(a: Any, b: Any) -> Any:
    return a[0] * b[0], a[1] * b[1]


def _power(a: Any, exponent: int) -> Any:
    if exponent < 0:
        if not a[0]:
            raise CertificateError("a denominator is zero")
        return a[1] ** -exponent, a[0] ** -exponent
    return a[0] ** exponent, a[1] ** exponent


def is_zero(fractions: Sequence[tuple[PolyElement, PolyElement]]) -> bool:
    """Whether a sum of quotients is zero, as an identity."""
    common = reduce(lambda a, b: a.lcm(b), dict.fromkeys(denominator for _, denominator in fractions))
    total = sum(numerator * common.quo(denominator) for numerator, denominator in fractions)
    return not total
