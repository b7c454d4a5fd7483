from dataclasses import replace

import pytest
import sympy as sp

from commbounds.theory.model import Goal, vectors
from commbounds.verify.certify.checker import prove
from commbounds.verify.certify.finder import NotFoundError, proof_of
from commbounds.verify.certify.semidefinite import sum_of_squares

x, f, low, p = sp.symbols("x f low p")
g, h = vectors("g h")


def descent(factor):
    """Gradient descent on a smooth convex function, one step of size 1: ||grad f(x+)||^2 against what f can fall."""
    return Goal(
        "descent",
        factor * (f - low) - h**2,
        given={
            "f - f+": f - sp.Symbol("f+") - h * g - (g - h) ** 2 / 2,
            "f+ - f": sp.Symbol("f+") - f + g**2 - (g - h) ** 2 / 2,
            "f+ - low": sp.Symbol("f+") - low - h**2 / 2,
        },
        vectors=(g, h),
    )


@pytest.mark.parametrize("factor", [2, 1, sp.Rational(7, 10), sp.Rational(667, 1000)])
def test_what_holds_with_room_is_proved(factor):
    proof = sum_of_squares(descent(factor))
    prove(descent(factor), proof)
    assert proof_of(descent(factor))[0] == proof


def test_what_does_not_hold_is_not_proved():
    assert sum_of_squares(descent(sp.Rational(66, 100))) is None  # Huber's function comes to 2/3
    with pytest.raises(NotFoundError):
        proof_of(replace(descent(sp.Rational(66, 100)), hints=(g, h)), degree=1)


@pytest.mark.parametrize(
    "goal",
    [
        Goal("no vectors", p, given={"p": p}),
        Goal("no conditions", g**2, vectors=(g,)),
        Goal("an equation", g**2 - h**2, equal=True, vectors=(g, h)),
        Goal("zeros", g**2, zero={"h": h**2}, vectors=(g, h)),
        Goal("symbols in coefficients", p * g**2, given={"p": p}, vectors=(g,)),
        Goal("a quotient", g**2 / p, positive={"p": p}, vectors=(g,)),
        Goal("a vector alone", g, vectors=(g,)),
        Goal("a number that is left", g**2 - 1, given={"p": p}, vectors=(g,)),
    ],
    ids=lambda goal: goal.name,
)
def test_goals_of_another_kind_are_left_to_others(goal):
    assert sum_of_squares(goal) is None


def test_squares_make_up_for_what_conditions_leave():
    goal = Goal("squares", 3 * g**2 - 2 * g * h + h**2, given={"g g": g**2}, vectors=(g, h))
    prove(goal, sum_of_squares(goal))
    assert sum_of_squares(replace(goal, show=g**2 - 2 * g * h + sp.Rational(99, 100) * h**2)) is None


def test_the_last_digit_of_a_multiplier_matters():
    proof = sum_of_squares(descent(1))
    (number, powers), *others = proof["terms"]
    changed = {"terms": [[str(sp.Rational(number) + sp.Rational(1, 10**12)), powers], *others]}
    with pytest.raises(ValueError, match="not the same"):
        prove(descent(1), changed)
