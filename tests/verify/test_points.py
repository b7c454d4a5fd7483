"""Many expressions at many points: the values that the book's own evaluation gives, one by one."""

import numpy as np
import pytest
import sympy as sp
from symbol_values import VALUES

from commbounds.theory import claims
from commbounds.theory.mutation import regimes
from commbounds.verify.points import ValuesAt

x, y = sp.symbols("x y", real=True)


def test_every_bound_of_the_book_has_the_value_that_the_book_gives_it():
    for claim in claims().values():
        values = {name: float(sp.sympify(VALUES[name])) for name in claim.parameters}
        at = ValuesAt({name: np.full(3, value) for name, value in values.items()})
        expected = float(claim.bound(**values))
        np.testing.assert_allclose(at(claim.relation.rhs), expected, rtol=64 * np.finfo(float).eps, err_msg=claim.name)


def test_points_are_told_apart():
    at = ValuesAt({"x": np.array([1.0, 2.0, 4.0]), "y": np.array([3.0, 3.0, 3.0])})
    assert at(sp.Max(x, y) + sp.sqrt(x)).tolist() == [4.0, 3.0 + 2.0**0.5, 6.0]
    assert at(sp.Integer(2)).tolist() == [2.0, 2.0, 2.0]
    assert at(sp.Piecewise((x, x < y), (-y, True))).tolist() == [1.0, 2.0, -3.0]


def test_there_is_no_value_where_there_is_none():
    at = ValuesAt({"x": np.array([-1.0, 0.0, 4.0])})
    assert not np.isfinite(at(1 / x)[1])
    assert np.isnan(at(sp.sqrt(x))[0])
    assert at(sp.sqrt(x))[2] == 2.0


def test_a_point_is_in_one_branch_of_a_case_distinction_and_in_both_sides_of_a_tie():
    at = ValuesAt({"x": np.array([1.0, 2.0, 4.0]), "y": np.array([2.0, 2.0, 2.0])})
    first, other = regimes(sp.Piecewise((x, x < 2), (y, True)))
    assert (at.entered(first).tolist(), at.entered(other).tolist()) == ([True, False, False], [False, True, True])
    of_x, of_y = regimes(sp.Min(x, y))
    assert (at.entered(of_x).tolist(), at.entered(of_y).tolist()) == ([True, True, False], [False, True, True])


@pytest.mark.parametrize(("terms", "size"), [(x - y, 5.0), (x * y, 6.0), (-x, 2.0)])
def test_the_size_of_a_sum_is_that_of_its_terms(terms, size):
    assert ValuesAt({"x": np.array([2.0]), "y": np.array([3.0])}).size(terms).tolist() == [size]
