"""Compiled expressions against substitution in sympy, on the whole book and on what is awkward."""

import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given
from hypothesis import strategies as st
from substitution import in_arrays, in_floats, powers, substituted
from symbol_values import VALUES

from commbounds.theory import claims
from commbounds.theory.evaluation import evaluator, is_product_less_one
from commbounds.theory.quantities import choose, index_bits, k, m, mu, n, norm1, norm2, s
from commbounds.theory.rational import exact_sum

BOOK = claims()
POINTS = 4
"""Random points an expression, beside the one of `VALUES`."""
x, y = sp.symbols("x y")


def _near(value, rng):
    """A number of the same kind: whole, a share of one, or larger."""
    if isinstance(value, int):
        return rng.choice([1, 2, 4, 9, 16, value, value + 1, value + 5, max(1, value - 2)])
    if isinstance(value, Fraction) and value < 1:
        return rng.choice([value, Fraction(rng.randint(1, 8), 9)])
    return rng.choice([value, Fraction(rng.randint(1, 9), rng.randint(1, 9))])


def _points(name):
    """Each symbol's draws are its own: what symbols other columns have is nothing to them."""
    drawn = [
        {symbol: _near(value, random.Random(f"{name}, {symbol}, {point}")) for symbol, value in VALUES.items()}
        for point in range(POINTS)
    ]
    return [VALUES, *drawn]


def _same(value, expected):
    assert type(value) is type(expected)
    assert value == expected or (value is sp.nan and expected is sp.nan)


def _same_floats(value, expected, expression):
    assert type(value) is float
    # a bound is at most ten operations: an ulp a power grows no further than theirs, of half an ulp each
    allowed = 32 * np.finfo(float).eps if powers(expression) else 0.0
    # what is expected of a product less one has been subtracted: it is off by as much as the product is
    lost = 32 * np.finfo(float).eps * (1 + abs(expected)) if expression.find(is_product_less_one) else 0.0
    close = math.isclose(value, expected, rel_tol=allowed, abs_tol=lost)
    assert close or (math.isnan(value) and math.isnan(expected))


def test_products_less_one_lose_no_digits():
    a, b = sp.symbols("a b", positive=True)
    expression = (1 + a) ** 3 * (1 + a / b) - 1
    for values in ({"a": 2.0**-53, "b": 3.0}, {"a": 1e-300, "b": 7.0}, {"a": 0.3, "b": 0.1}):
        exact = evaluator(expression)({name: Fraction(value) for name, value in values.items()}, "it")
        assert isinstance(exact, Fraction)
        floats = evaluator(expression)(values, "it")
        assert abs(Fraction(floats) - exact) <= exact * 32 * Fraction(np.finfo(float).eps)
        (of_array,) = evaluator(expression)({name: np.array([value]) for name, value in values.items()}, "it")
        assert of_array == floats


@pytest.mark.parametrize(("every", "points"), [(4, 1), pytest.param(1, 1 + POINTS, marks=pytest.mark.wide)])
@pytest.mark.parametrize("column", sorted({claim.column for claim in BOOK.values()}))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # poles and overflow are numpy's business on both sides
def test_the_book_is_evaluated_as_by_substitution(column, every, points):
    for claim in [claim for claim in BOOK.values() if claim.column == column][::every]:
        rng = random.Random(claim.name)
        for values in _points(claim.name)[:points]:
            _same(claim.bound(**values), substituted(claim.relation.rhs, values))
            floats = {
                name: float(value) * (1 if isinstance(value, int) else rng.uniform(0.9, 1.1))
                for name, value in values.items()
            }
            if claim.parameters:
                _same_floats(claim.bound(**floats), in_floats(claim.relation.rhs, floats), claim.relation.rhs)
            if claim.tightness is not None and claim.tightness is not sp.oo:
                _same(claim.tightness_at(**values), substituted(claim.tightness, values))
            for hypothesis in claim.assumes:
                if isinstance(hypothesis.condition, sp.Basic):
                    assert hypothesis.admits(**values) is substituted(hypothesis.condition, values)


@pytest.mark.parametrize(
    "expression",
    [
        sp.sqrt(x) * y - 1,
        sp.sqrt(x) * sp.sqrt(y),  # rational though neither root is
        x ** sp.Rational(2, 3) / y,
        x**y,
        y ** (-x),
        1 / (x - y),  # a pole at x = y
        1 / (1 + 1 / (x - y)),  # one at which the whole is defined
        (x - y) / (x**2 - y**2),  # 0/0
        sp.floor(x / y) + sp.ceiling(-x / y) + sp.Mod(-x, y) + sp.Mod(x, -y),
        sp.Min(x, 1 / y) + sp.Max(x, y, 1),
        sp.Piecewise((1 / x, sp.Gt(x, y)), (sp.pi, sp.Eq(x, y)), (sp.sqrt(y), sp.Gt(y, 3)), (2, True)),
        sp.Piecewise((1, sp.Gt(x, y)), (2, sp.Lt(x, sp.sqrt(y)))),  # undefined elsewhere
        sp.Piecewise((x, sp.Gt(x, sp.E)), (y, True)),
        sp.Piecewise((sp.Piecewise((x, sp.Lt(x, sp.pi)), (1, True)), sp.Gt(x, y)), (y, True)),
        sp.log(x) + sp.harmonic(sp.floor(y)),
        sp.exp(x - y),
        sp.Sum(1 / (k + y), (k, 1, 3)) + x,
        sp.And(sp.Le(x, y), sp.Not(sp.Eq(x, sp.sqrt(y)))),
        sp.Or(sp.Gt(x**2, y), sp.Ne(sp.Min(x, y), 1)),
        sp.Lt(sp.sqrt(x) + sp.sqrt(y), sp.sqrt(x + y + 2 * sp.sqrt(x * y)) + sp.Rational(1, 10**40)),
        sp.oo,
        sp.Rational(-3, 7),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "values",
    [
        {"x": 2, "y": 8},
        {"x": Fraction(9, 4), "y": Fraction(4, 9)},
        {"x": 3, "y": 3},
        {"x": 0, "y": 1},
        {"x": Fraction(7, 2), "y": 2},
        {"x": -8, "y": 4},
        {"x": sp.sqrt(2), "y": sp.sqrt(8)},
        {"x": sp.sqrt(5), "y": Fraction(1, 3)},
        {"x": sp.Rational(1, 4), "y": np.int64(2)},
    ],
    ids=str,
)
def test_awkward_expressions_are_evaluated_as_by_substitution(expression, values):
    try:
        expected = substituted(expression, values)
    except (TypeError, ValueError) as refusal:
        with pytest.raises(type(refusal)):
            evaluator(expression)(values, "expression")
    else:
        _same(evaluator(expression)(values, "expression"), expected)


def test_a_symbol_of_integers_takes_any_number():
    expression = sp.floor(n / s) + choose(n, k) / s + index_bits(n)
    for values in ({"n": 7, "k": 2, "s": 3}, {"n": Fraction(7), "k": True, "s": np.uint8(3)}):
        _same(evaluator(expression)(values, "expression"), substituted(expression, values))
    half = {"n": Fraction(9, 2), "s": Fraction(4, 3)}
    _same(evaluator(sp.floor(n / s) / n + n**s)(half, "expression"), substituted(sp.floor(n / s) / n + n**s, half))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # poles and overflow are numpy's business on both sides
@pytest.mark.parametrize(
    "expression", [x / y, x**2 / y, sp.sqrt(x - y), sp.exp(x) * y, sp.Max(x, y), x**y, sp.log(x - y)]
)
@pytest.mark.parametrize(
    "values",
    [
        (1.5, 0.0),
        (math.inf, 2.0),
        (math.nan, 1.0),
        (1.0, math.nan),
        (-2.0, 0.5),
        (1e200, 1e200),
        (0.0, -1.0),
        (800.0, 0.0),
    ],
)
def test_floats_follow_numpy_to_the_bit(expression, values):
    named = dict(zip("xy", values, strict=True))
    _same_floats(evaluator(expression)(named, "expression"), in_floats(expression, named), expression)


def test_squares_are_rounded_once():
    rng = np.random.default_rng(0)
    for value in rng.lognormal(0.0, 3.0, 4000).tolist():
        assert evaluator(x**2 + y)({"x": value, "y": 0.0}, "expression") == value * value


def test_arrays_are_broadcast_beside_numbers_of_any_kind():
    expression = sp.sqrt(norm1) / norm2 + mu * sp.Min(m, n)
    values = {"norm1": np.arange(3.0)[:, None], "norm2": sp.sqrt(5), "mu": Fraction(1, 3), "m": [1, 2, 3], "n": 2}
    result = evaluator(expression)(values, "expression")
    assert result.shape == (3, 3)
    assert np.array_equal(result, in_arrays(expression, values))
    assert evaluator(expression)({**values, "norm1": np.array(4.0), "m": np.float32(1)}, "expression") == pytest.approx(
        2 / math.sqrt(5) + 1 / 3, rel=4 * np.finfo(float).eps
    )


def test_an_expression_has_one_evaluator_that_pickles_as_itself():
    one = evaluator(x + y)
    assert evaluator(y + x) is one
    assert pickle.loads(pickle.dumps(one)) is one


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match=r"the sum needs x, y"):
        evaluator(x + y)({"z": 1}, "the sum")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
@example([5e-324, 1.7e308, -1.7e308, -0.0])
def test_sums_of_floats_are_exact(values):
    assert exact_sum(values) == sum(map(Fraction, values))
