"""The polynomials of `commbounds.verify.certify.polynomials` as sympy's, which can be divided.

Nothing here is trusted, as in `commbounds.verify.certify.finder`.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement, PolyRing, ring

from commbounds.verify.certify.polynomials import WIDTH, Polynomial, Polynomials


class Ring:
    """The ring of the polynomials in the symbols of some expressions.

    Parameters
    ----------
    expressions : iterable of sympy expression
        All that a goal speaks of.
    conditions : iterable of sympy expression
        Those that are not negative.
    """

    def __init__(self, expressions: Iterable[Any], conditions: Iterable[Any] = ()) -> None:
        self._own = Polynomials(expressions, conditions)
        self._atoms = list(self._own.generators)
        self.ring: PolyRing = ring([f"g{i}" for i in range(max(1, len(self._atoms)))], sp.QQ)[0]

    def of(self, expression: Any) -> tuple[PolyElement, PolyElement]:
        """Numerator and denominator of an expression."""
        above, below = self._own.of(expression)
        denominator = self.ring.one
        for factor, power in below.items():
            denominator *= self._element(factor) ** power
        return self._element(above), denominator

    def _element(self, polynomial: Polynomial) -> PolyElement:
        padding = (0,) * (1 - len(self._atoms))
        return self.ring.from_dict(
            {self._own.exponents(m) + padding: sp.QQ(c, polynomial.below) for m, c in polynomial.terms.items()}
        )

    def write(self, element: PolyElement) -> str:
        """The text that a certificate holds of a polynomial."""
        numbers = {m: Fraction(int(c.numerator), int(c.denominator)) for m, c in element.terms()}
        below = lcm(*(number.denominator for number in numbers.values()))
        packed = {sum(e << (WIDTH * i) for i, e in enumerate(m)): int(number * below) for m, number in numbers.items()}
        return self._own.write(Polynomial(packed, below))

    def degree(self, element: PolyElement, symbols: Sequence[Any]) -> set[int]:
        """The degrees in some symbols that a polynomial's terms have."""
        chosen = [i for i, atom in enumerate(self._atoms) if atom in symbols]
        return {sum(powers[i] for i in chosen) for powers in element.monoms()}
