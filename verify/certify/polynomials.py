"""Expressions of models and certificates as quotients of polynomials, exactly: in whole numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import comb, gcd, isqrt, lcm
from typing import Any

import sympy as sp

from commbounds.verify.certify.certificate import CertificateError
from commbounds.verify.certify.letters import declared

MOST_WORK = 500_000
"""Products of numbers that a proof of one goal may take."""

WIDTH = 16
"""Bits of an exponent."""

_MOST_DEGREE = 2 ** (WIDTH - 1)


@dataclass(frozen=True, eq=False, slots=True)
class Polynomial:
    """A sum of monomials with whole coefficients, over a whole number.

    Parameters
    ----------
    terms : mapping from int to int
        The coefficients, none of which is zero, by monomial: the exponent of generator i stands in the bits from
        16 i on. As no degree reaches 2^16, products of monomials are sums of these numbers.
    below : int
        Positive.
    degree : int
        At least that of every term.
    """

    terms: Mapping[int, int]
    below: int = 1
    degree: int = 0

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polynomial) or self.terms.keys() != other.terms.keys():
            return False
        return all(c * other.below == other.terms[m] * self.below for m, c in self.terms.items())

    def __hash__(self) -> int:
        return hash(frozenset(self.terms))

    def __neg__(self) -> Polynomial:
        return Polynomial({m: -c for m, c in self.terms.items()}, self.below, self.degree)

    def __mul__(self, other: Polynomial) -> Polynomial:
        degree = self.degree + other.degree
        if degree > _MOST_DEGREE:
            raise CertificateError(f"a degree of {degree} is more than {_MOST_DEGREE}")
        terms: dict[int, int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                terms[m + n] = terms.get(m + n, 0) + c * d
        return Polynomial({m: c for m, c in terms.items() if c}, self.below * other.below, degree)

    def __pow__(self, exponent: int) -> Polynomial:
        return reduce(Polynomial.__mul__, [self] * exponent, ONE)


ONE = Polynomial({0: 1})

Quotient = tuple[Polynomial, Mapping[Polynomial, int]]
"""Numerator, and the powers of the polynomials whose product is the denominator: none of them is zero, or a number."""


def added(polynomials: Sequence[Polynomial]) -> Polynomial:
    """The sum."""
    below = lcm(*(polynomial.below for polynomial in polynomials))
    terms: dict[int, int] = {}
    for polynomial in polynomials:
        multiple = below // polynomial.below
        for m, c in polynomial.terms.items():
            terms[m] = terms.get(m, 0) + c * multiple
    return Polynomial({m: c for m, c in terms.items() if c}, below, max((p.degree for p in polynomials), default=0))


def divided(polynomial: Polynomial, factor: Polynomial) -> Polynomial | None:
    """A quotient but for a positive number; None where the factor is a number, or does not divide the polynomial."""
    first = max(factor.terms)
    if not first:
        return None
    left, quotient = {m: Fraction(c) for m, c in polynomial.terms.items()}, {}
    while left:
        top = max(left)  # the larger number has the larger exponent of the last generator in which they differ
        if any((top >> i) % 2**WIDTH < (first >> i) % 2**WIDTH for i in range(0, first.bit_length(), WIDTH)):
            return None
        quotient[top - first] = left[top] / factor.terms[first]
        for m, c in factor.terms.items():
            place = top - first + m
            left[place] = left.get(place, Fraction(0)) - quotient[top - first] * c
            if not left[place]:
                del left[place]
    below = lcm(*(c.denominator for c in quotient.values()))
    return Polynomial({m: int(c * below) for m, c in quotient.items()}, degree=polynomial.degree)


class Polynomials:
    """The polynomials in the symbols of some expressions, and in their powers with symbolic exponents.

    Such a power, ``p**t``, is a generator of its own: what is an identity for independent generators is one for
    their values.

    Parameters
    ----------
    expressions : iterable of sympy expression
        All that a goal speaks of.
    conditions : iterable of sympy expression
        Those that are not negative: the root of an even power of one of them is rational.
    """

    def __init__(self, expressions: Iterable[Any], conditions: Iterable[Any] = ()) -> None:
        self._conditions = {sp.sympify(condition, strict=True) for condition in conditions}
        self.generators: dict[Any, Polynomial] = {}
        self._named: dict[str, Polynomial] = {}
        self._quotients: dict[Any, Quotient] = {}
        self.work = 0
        for expression in expressions:
            self._quotients[expression] = self._of(sp.sympify(expression, strict=True))

    def _generator(self, atom: Any) -> Polynomial:
        if atom not in self.generators:
            if str(atom) in self._named:
                raise CertificateError(f"symbols must have different names, got two of {atom}")
            generator = Polynomial({1 << (WIDTH * len(self.generators)): 1}, degree=1)
            self.generators[atom] = self._named[str(atom)] = generator
        return self.generators[atom]

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The product, where all that was multiplied so far is not too much."""
        self._charge(len(a.terms) * len(b.terms), a, b)
        return a * b

    def power(self, a: Polynomial, exponent: int) -> Polynomial:
        """The power, likewise."""
        self._charge(exponent * comb(max(1, len(a.terms)) + exponent - 1, exponent), a)
        return a**exponent

    def _charge(self, products: int, *factors: Polynomial) -> None:
        """Count products of 64-bit words. Proofs need some thousand; a text of few letters can ask for any number."""
        bits = max(number.bit_length() for factor in factors for number in (factor.below, *factor.terms.values()))
        self.work += products * (1 + bits // 64)
        if self.work > MOST_WORK:
            raise CertificateError(f"multiplied out, this takes more than {MOST_WORK} products of numbers")

    def total(self, quotients: Sequence[Quotient]) -> Quotient:
        """The sum of quotients, over their smallest common denominator."""
        common: dict[Polynomial, int] = {}
        for _, below in quotients:
            for factor, power in below.items():
                common[factor] = max(power, common.get(factor, 0))
        numerators = []
        for above, below in quotients:
            for factor, power in common.items():
                if missing := power - below.get(factor, 0):
                    above = self.times(above, self.power(factor, missing))
            numerators.append(above)
        return added(numerators), common

    def product(self, start: Quotient, powers: Iterable[tuple[Quotient, int]]) -> Quotient:
        """A quotient times powers of others."""
        above, below = start[0], dict(start[1])
        for (numerator, denominator), exponent in powers:
            above = self.times(above, numerator if exponent == 1 else self.power(numerator, exponent))
            for factor, power in denominator.items():
                below[factor] = below.get(factor, 0) + power * exponent
        return above, below

    def of(self, expression: Any) -> Quotient:
        """An expression as a quotient.

        Raises
        ------
        CertificateError
            It is no rational function with rational coefficients.
        """
        known = self._quotients.get(expression)
        return self._of(sp.sympify(expression, strict=True)) if known is None else known

    def _of(self, e: Any) -> Quotient:
        if e.is_Symbol:
            return self._generator(e), {}
        if e.is_Rational:
            return Polynomial({0: int(e.p)} if e.p else {}, int(e.q)), {}
        if e.is_Add:
            return self.total([self._of(a) for a in e.args])
        if e.is_Mul:
            return self.product((ONE, {}), [(self._of(a), 1) for a in e.args])
        if e.is_Pow and e.base.is_Pow and e.base.exp.is_Integer and self._not_negative(e.base.base):
            return self._of(sp.Pow(e.base.base, e.base.exp * e.exp))
        if e.is_Pow and e.exp.is_Rational and e.exp.q == 2:
            return self._of(sp.Pow(self._root(e.base), e.exp.p))
        if e.is_Pow:
            powers = []
            for multiple, atom in _exponents(e):
                base = self._of(e.base) if atom is None else (self._generator(atom), {})
                powers.append((base if multiple > 0 else self._inverse(base), abs(multiple)))
            return self.product((ONE, {}), powers)
        raise CertificateError(f"not a rational function: {e}")

    def _root(self, e: Any) -> Any:
        """The root of a product of even powers of what is not negative."""
        if e.is_Mul:
            return sp.Mul(*map(self._root, e.args))
        if e.is_Integer and e >= 0 and isqrt(int(e)) ** 2 == e:
            return sp.Integer(isqrt(int(e)))
        if e.is_Pow and e.exp.is_Integer and e.exp % 2 == 0 and self._not_negative(e.base):
            return e.base ** (e.exp / 2)
        raise CertificateError(f"not a rational function: the root of {e}")

    def _not_negative(self, e: Any) -> bool:
        if e.is_Mul:
            return all(map(self._not_negative, e.args))
        return e in self._conditions or declared(e, "positive", "nonnegative") or bool(e.is_Rational and e >= 0)

    def sign(self, polynomial: Polynomial, positive: Sequence[Polynomial]) -> int:
        """The sign that a polynomial has everywhere, as a product or a sum of positive ones; 0 where none is seen."""
        for factor in positive:
            while (quotient := divided(polynomial, factor)) is not None:
                polynomial = quotient
        signs = {1 if c > 0 else -1 for c in polynomial.terms.values()}
        if len(signs) > 1:
            return 0
        atoms = list(self.generators)
        terms = [[(atoms[i], e) for i, e in enumerate(self.exponents(m)) if e] for m in polynomial.terms]
        sure = {atom for term in terms for atom, _ in term if self.is_positive(atom, positive)}
        if not all(atom in sure or e % 2 == 0 or self._not_negative(atom) for term in terms for atom, e in term):
            return 0
        return signs.pop() if any(all(atom in sure for atom, _ in term) for term in terms) else 0

    def is_positive(self, atom: Any, positive: Sequence[Polynomial]) -> bool:
        """Whether a generator is declared positive, or is a power of what `sign` sees to be."""
        if atom.is_Pow:
            numerator, denominator = self.of(atom.base)
            return self.sign(numerator, positive) == 1 and all(self.sign(f, positive) == 1 for f in denominator)
        return declared(atom, "positive")

    def _inverse(self, quotient: Quotient) -> Quotient:
        above, below = quotient
        if not above:
            raise CertificateError("a denominator is zero")
        content = gcd(*above.terms.values())
        sign = 1 if above.terms[max(above.terms)] > 0 else -1
        factor = Polynomial({m: sign * c // content for m, c in above.terms.items()}, degree=above.degree)
        inverse = Polynomial({0: sign * above.below}, content)
        for other, power in below.items():
            inverse = self.times(inverse, self.power(other, power))
        return inverse, {} if factor == ONE else {factor: 1}

    def read(self, text: str) -> Polynomial:
        """A polynomial that a certificate writes with the operations + - * / (by numbers) ** (by whole numbers).

        Powers with symbolic exponents are written in brackets: ``3*x - [p**t]*y/2``.

        Raises
        ------
        CertificateError
            It is not one, or has symbols that the goal does not have.
        """
        names = dict(self._named)
        for i, (name, generator) in enumerate(self._named.items()):
            if not name.isidentifier():
                text = text.replace(f"[{name}]", f"_g{i}")
                names[f"_g{i}"] = generator
        try:
            return self._evaluate(ast.parse(text, mode="eval").body, names)
        except CertificateError:
            raise
        except (SyntaxError, RecursionError, MemoryError, ArithmeticError, ValueError, TypeError, KeyError) as error:
            raise CertificateError(f"not a polynomial of the goal's symbols: {text[:80]}") from error

    def _evaluate(self, node: ast.expr, names: Mapping[str, Polynomial]) -> Polynomial:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return Polynomial({0: value} if value else {})
            case ast.Name(id=name):
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._evaluate(operand, names)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return added((self._evaluate(left, names), self._evaluate(right, names)))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return added((self._evaluate(left, names), -self._evaluate(right, names)))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.times(self._evaluate(left, names), self._evaluate(right, names))
            case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=int() as value)) if value:
                polynomial = self._evaluate(left, names)
                return Polynomial(polynomial.terms, polynomial.below * value, polynomial.degree)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as value)) if 0 <= value <= 64:
                return self.power(self._evaluate(left, names), value)
        raise TypeError("an operation that polynomials do not have")

    def write(self, polynomial: Polynomial) -> str:
        """The text that `read` reads."""
        names = [name if name.isidentifier() else f"[{name}]" for name in self._named]
        terms = []
        for monomial, coefficient in polynomial.terms.items():
            powers = zip(names, self.exponents(monomial), strict=True)
            factors = [f"{name}**{e}" if e > 1 else name for name, e in powers if e]
            terms.append("*".join([f"({Fraction(coefficient, polynomial.below)})", *factors]))
        return " + ".join(terms) or "0"

    def exponents(self, monomial: int) -> tuple[int, ...]:
        """The exponents of the generators in a monomial."""
        return tuple(monomial >> (WIDTH * i) & (2**WIDTH - 1) for i in range(len(self.generators)))

    def degree(self, polynomial: Polynomial, symbols: Sequence[Any]) -> set[int]:
        """The degrees in some symbols that a polynomial's terms have."""
        known = (self.generators[symbol].terms for symbol in symbols if symbol in self.generators)
        digits = sum((2**WIDTH - 1) * unit for terms in known for unit in terms)
        return {(monomial & digits) % (2**WIDTH - 1) for monomial in polynomial.terms}  # 2^16 is 1: digits are summed


def _exponents(e: Any) -> list[tuple[int, Any]]:
    """A power as a product: whole multiples of exponents, each with its atom (base to the monomial), None for 1."""
    if e.exp.is_Integer:
        return [(int(e.exp), None)]
    parts = []
    for monomial, multiple in sp.expand(e.exp).as_coefficients_dict().items():
        if not multiple.is_Integer:
            raise CertificateError(f"not a rational function: {e}")
        parts.append((int(multiple), None if monomial == 1 else sp.Pow(e.base, monomial, evaluate=False)))
    return parts
