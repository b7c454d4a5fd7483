"""Whether a point is a counterexample to its claim, and the smallest of its model: by trying every smaller one."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import comb, floor
from operator import eq, ge, gt
from typing import Any

import sympy as sp

from commbounds.columns import Registry
from commbounds.theory import Claim
from commbounds.theory.evaluation import evaluator
from commbounds.theory.model import Refutation
from commbounds.verify.certify.certificate import Certificate, CertificateError
from commbounds.verify.certify.enclosures import NotEnclosedError, enclosure, sign

MOST_POINTS = 20_000
"""Smaller points that are tried."""
MOST_BITS = 4096
"""Of a rational number that is written as it is."""


_REFUTATIONS: Registry[Refutation] = Registry("REFUTATIONS", "theory", "refutations")


def refutations() -> Registry[Refutation]:
    """The refutations of all columns, by claim: ``REFUTATIONS`` in ``theory/NAME/refutations.py``."""
    return _REFUTATIONS


def check_point(certificate: Certificate, claim: Claim, bound: Any, refutation: Refutation) -> None:
    """Check a certificate of the kind ``counterexample``.

    Raises
    ------
    CertificateError
        Its point is none, or not the smallest, or the scope says something else.
    """
    if len(certificate.instances) != 1 or list(certificate.proofs) != [{"at": 0, "goal": "counterexample"}]:
        raise CertificateError("a counterexample is one point, which is all of its proof")
    point = certificate.instances[0]
    if set(point) != {symbol.name for symbol in refutation.whole}:
        raise CertificateError(f"a point has {', '.join(s.name for s in refutation.whole)}, got {', '.join(point)}")
    if reason := shortcoming(refutation, claim, bound, point):
        raise CertificateError(f"no counterexample: {reason}")
    size = sum(point.values())
    for smaller in points(refutation, int(size) - 1):
        if not shortcoming(refutation, claim, bound, smaller):
            raise CertificateError(f"{smaller} is a smaller counterexample")
    if certificate.scope != (scope := scope_of(refutation, bound, point)):
        raise CertificateError(f"the scope must be {scope!r}")


def shortcoming(refutation: Refutation, claim: Claim, bound: Any, point: Mapping[str, Any]) -> str:
    """Why a point is no counterexample; empty where it is one.

    Raises
    ------
    CertificateError
        That cannot be told: something is not rational there, or nothing is known of a hypothesis.
    """
    for symbol, least in refutation.whole.items():
        if type(value := point[symbol.name]) is not int or value < least:
            return f"{symbol.name} must be a whole number of at least {least}, got {value}"
    for conditions, holds, words in (
        (refutation.given, ge, "not be negative"),
        (refutation.positive, gt, "be positive"),
        (refutation.zero, eq, "be zero"),
    ):
        for name, condition in conditions.items():
            if not holds(_rational(condition, point), 0):
                return f"{name!r} must {words}"
    values = _values(refutation, point)
    for hypothesis in claim.assumes:
        relation = isinstance(hypothesis.condition, sp.Basic) and set(hypothesis.needs) <= set(values)
        if relation == (hypothesis.name in refutation.met):
            raise CertificateError(f"the model must say once why {hypothesis.name} is met")
        if relation and not hypothesis.admits(**values):
            return f"the hypothesis {hypothesis.name} is not met"
    measured, limit = _number(refutation.measured, point), _number(bound, values)
    try:
        above = sign(measured - limit)
    except NotEnclosedError as error:
        raise CertificateError(f"{refutation.claim} at {dict(point)}: {error}") from error
    broken = {sp.Le: above > 0, sp.Ge: above < 0, sp.Eq: above != 0}[claim.relation.func]
    return "" if broken else f"measured {_written(measured)}, bound {_written(limit)}"


def scope_of(refutation: Refutation, bound: Any, point: Mapping[str, Any]) -> str:
    """What a counterexample is, in words."""
    at = {symbol: point[symbol.name] for symbol in refutation.whole}
    values = _values(refutation, point)
    found = f"measured {_written(_number(refutation.measured, point))}, bound {_written(_number(bound, values))}"
    return f"refuted at {refutation.at(at)}: {found}; {_how_small(refutation, at)}"


def _how_small(refutation: Refutation, at: Mapping[Any, int]) -> str:
    """Among which points a counterexample is the smallest."""
    if not at:
        return "the only point of the model, which has no whole numbers: of smaller ones nothing is said"
    smallest = f"the smallest {' + '.join(symbol.name for symbol in at)} of the model"
    if at == dict(refutation.whole):
        return f"{smallest}, which has no smaller point that could have been tried"
    return smallest


def points(refutation: Refutation, most: int, least: int = 0) -> Iterator[dict[str, int]]:
    """The model's points whose whole numbers sum to `least` up to `most`, those of smaller sums first.

    Raises
    ------
    CertificateError
        They are too many to be tried.
    """
    names, floors = [s.name for s in refutation.whole], list(refutation.whole.values())
    spare = most - sum(floors)
    if spare >= 0 and comb(spare + len(names), len(names)) > MOST_POINTS:
        raise CertificateError(f"more than {MOST_POINTS} points would have to be tried")

    def shares(total: int, parts: int) -> Iterator[tuple[int, ...]]:
        if parts == 0:
            yield from [()] * (total == 0)
        else:
            for first in range(total if parts == 1 else 0, total + 1):
                yield from ((first, *rest) for rest in shares(total - first, parts - 1))

    for total in range(max(0, least - sum(floors)), spare + 1):
        for share in shares(total, len(names)):
            yield {name: floor + more for name, floor, more in zip(names, floors, share, strict=True)}


def _rational(expression: Any, values: Mapping[str, Any]) -> Fraction:
    value = _number(expression, values)
    if not value.is_Rational:
        raise CertificateError(f"{expression} is not rational at {dict(values)}")
    return Fraction(int(value.p), int(value.q))


def _values(refutation: Refutation, point: Mapping[str, Any]) -> dict[str, Any]:
    """The exact values of the claim's symbols, rational ones as fractions."""
    numbers = {symbol.name: _number(value, point) for symbol, value in refutation.values.items()}
    return {name: Fraction(int(v.p), int(v.q)) if v.is_Rational else v for name, v in numbers.items()}


def _number(expression: Any, values: Mapping[str, Any]) -> sp.Expr:
    """An expression's exact value, rational or not."""
    value = evaluator(sp.sympify(expression, strict=True))(values, "a counterexample's model")
    if isinstance(value, int | Fraction):
        return sp.Rational(value.numerator, value.denominator)
    if not isinstance(value, sp.Expr) or value.has(sp.Float):
        raise CertificateError(f"{expression} has no exact value at {dict(values)}")
    return value


def _written(number: sp.Expr) -> str:
    """A number in words: a rational one as it is, unless it is long, another one as far as four decimals tell."""
    if number.is_Rational and max(abs(number.p), number.q).bit_length() <= MOST_BITS:
        return str(number)
    low, high = (floor(10**4 * end) for end in enclosure(number, 64))
    return f"between {low / 10**4:.4f} and {(high + 1) / 10**4:.4f}"
