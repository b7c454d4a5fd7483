from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from commbounds.verify.certify import CertificateError
from commbounds.verify.certify.polynomials import Polynomials
from commbounds.verify.certify.rings import Ring

x, y, p, t = sp.symbols("x y p t")
NUMBERS = st.fractions(-3, 3, max_denominator=7)
EXPRESSIONS = st.recursive(
    st.sampled_from([x, y, sp.Integer(0), sp.Integer(2), sp.Rational(-3, 7), p**t, p ** (2 * t - 1)]),
    lambda parts: st.one_of(
        st.tuples(parts, parts).map(sum),
        st.tuples(parts, parts).map(sp.prod),
        st.tuples(parts, st.integers(0, 3)).map(lambda pair: pair[0] ** pair[1]),
        st.tuples(parts, parts).map(lambda pair: pair[0] / (pair[1] ** 2 + 1)),
    ),
    max_leaves=8,
)


def value(space, polynomial, at):
    """A polynomial's value, monomial by monomial."""
    numbers = [at[atom] for atom in space.generators]
    total = Fraction(0)
    for monomial, coefficient in polynomial.terms.items():
        product = Fraction(coefficient, polynomial.below)
        for number, exponent in zip(numbers, space.exponents(monomial), strict=True):
            product *= number**exponent
        total += product
    return total


@given(EXPRESSIONS, NUMBERS, NUMBERS, st.sampled_from([Fraction(1, 2), Fraction(-2, 3)]), st.integers(1, 3))
def test_a_quotient_has_the_value_of_its_expression(e, at_x, at_y, at_p, at_t):
    space = Polynomials([e])
    above, below = space.of(e)
    at = {x: at_x, y: at_y, p: at_p, p**t: at_p**at_t}
    denominator = Fraction(1)
    for factor, power in below.items():
        denominator *= value(space, factor, at) ** power
    exact = sp.sympify(e).subs({x: at_x, y: at_y, p: at_p, t: at_t})
    assert denominator != 0
    assert value(space, above, at) / denominator == Fraction(int(exact.p), int(exact.q))


@given(EXPRESSIONS, EXPRESSIONS)
def test_sums_products_and_equality_are_those_of_sympy(one, other):
    space, ring = Polynomials([one, other]), Ring([one, other])
    (a, below_a), (b, below_b) = space.of(one), space.of(other)
    (c, under_c), (d, under_d) = ring.of(one), ring.of(other)
    assert (a == b) == (c == d)
    assert ring._element(space.times(a, b)) == c * d
    total, common = space.total([(a, below_a), (b, below_b)])
    denominator = ring.ring.one
    for factor, power in common.items():
        denominator *= ring._element(factor) ** power
    assert ring._element(total) * under_c * under_d == (c * under_d + d * under_c) * denominator


def test_exponents_never_run_into_each_other():
    space = Polynomials([x, y])
    with pytest.raises(CertificateError, match="degree"):
        space.read("((x**64)**64)**8*x")
    longest = space.read("((x**64)**64)**8")
    assert longest != space.read("y")
    assert longest != space.read("x")
    assert space.exponents(next(iter((longest * space.read("1")).terms))) == (2**15, 0)


def test_what_is_divided_by_is_kept_apart_and_is_not_zero():
    space = Polynomials([x / (2 * x - 2 * y) + 1 / (y - x)])
    above, below = space.of(x / (2 * x - 2 * y) + 1 / (y - x))
    assert below == {space.read("x - y"): 1}  # for both: a number and a sign are the numerator's
    assert above == space.read("x/2 - 1")
    with pytest.raises(CertificateError, match="zero"):
        Polynomials([sp.Pow(sp.Add(x, -x, evaluate=False), -1, evaluate=False)])


def test_symbols_of_one_name_are_refused():
    with pytest.raises(CertificateError, match="different names"):
        Polynomials([x + sp.Symbol("x", positive=True)])


def test_polynomials_as_sympys_are_written_alike():
    ring, own = Ring([x, y, p**t]), Polynomials([x, y, p**t])
    for text in ("3*x**2 - y/2 + [p**t]*x", "0", "-(x - y)**3/7"):
        e = sp.sympify(text.replace("[p**t]", "p**t"), locals={"p": p, "t": t})
        assert own.read(ring.write(ring.of(e)[0])) == own.read(text)
    assert ring.degree(ring.of(x**2 * y + y)[0], (x,)) == own.degree(own.read("x**2*y + y"), (x,)) == {0, 2}
