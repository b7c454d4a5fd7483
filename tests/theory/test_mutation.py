"""The neighbours of a formula: one thing changed in each."""

import pytest
import sympy as sp

from commbounds.theory import claims
from commbounds.theory.mutation import formula_mutants, regimes

n, k, P = sp.symbols("n k P", integer=True, positive=True)
x, y = sp.symbols("x y", positive=True)


def mutants(bound):
    return {mutant.name: mutant.bound for mutant in formula_mutants(bound)}


def test_terms_factors_exponents_constants_and_counts_are_changed_one_at_a_time():
    found = mutants(x**2 / 3 + y)
    assert found == {
        "0.9 times the bound": sp.Rational(3, 10) * x**2 + sp.Rational(9, 10) * y,
        "10/9 times the bound": sp.Rational(10, 27) * x**2 + sp.Rational(10, 9) * y,
        "without the term x**2/3": y,
        "0.9 times the term x**2/3": sp.Rational(3, 10) * x**2 + y,
        "10/9 times the term x**2/3": sp.Rational(10, 27) * x**2 + y,
        "without the term y": x**2 / 3,
        "0.9 times the term y": x**2 / 3 + sp.Rational(9, 10) * y,
        "10/9 times the term y": x**2 / 3 + sp.Rational(10, 9) * y,
        "without the factor x**2": y + sp.Rational(1, 3),
        "exponent 1 of x": x / 3 + y,
        "exponent 3 of x": x**3 / 3 + y,
    }


def test_symbols_that_count_are_moved_by_one_everywhere():
    found = mutants(sp.sqrt(n) * (P - 1) / P)
    assert found["P - 1 for P"] == sp.sqrt(n) * (P - 2) / (P - 1)
    assert found["n - 1 for n"] == sp.sqrt(n - 1) * (P - 1) / P
    assert "x - 1 for x" not in mutants(x + 1)


def test_choices_are_reduced_to_each_side():
    found = mutants(2 * sp.Min(x, y))
    assert (found["x for Min(x, y)"], found["y for Min(x, y)"]) == (2 * x, 2 * y)
    steps = mutants(sp.Piecewise((x, n > 3), (y**2, True)))
    assert steps["branch 1 everywhere, x"] == x
    assert steps["branch 2 everywhere, y**2"] == y**2
    assert steps["0.9 times branch 1, x"] == sp.Piecewise((sp.Rational(9, 10) * x, n > 3), (y**2, True))
    assert steps["exponent 1 of y"] == sp.Piecewise((x, n > 3), (y, True))


@pytest.mark.parametrize(("bound", "count"), [(0, 0), (sp.Integer(1), 2), (sp.Rational(1, 9), 2)])
def test_a_number_is_taken_smaller_and_larger_and_zero_has_no_neighbours(bound, count):
    assert len(formula_mutants(bound)) == count


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.wide)])
def test_no_mutant_of_the_book_is_its_bound_and_none_is_there_twice(every):
    for claim in list(claims().values())[::every]:
        found = [mutant.bound for mutant in formula_mutants(claim.relation.rhs)]
        assert len(set(found)) == len(found), claim.name
        assert claim.relation.rhs not in found, claim.name
        assert found or claim.relation.rhs == 0, claim.name


def test_regimes_are_the_branches_of_all_choices():
    bound = sp.Piecewise((sp.Max(x, y), n > 3), (0, True))
    assert [regime.name for regime in regimes(bound)] == ["n > 3", "otherwise", "Max(x, y) = x", "Max(x, y) = y"]
    assert regimes(x + 1) == ()
