"""What the models of orthogonal say that an iteration does, against the kernel."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from goal_values import exact, failing, goals, value

from commbounds.collectives.orthogonal import muon_update
from commbounds.theory.orthogonal import models, models_express


@pytest.mark.models(
    "orthogonal.cubic.converges",
    "orthogonal.cubic.one_step",
    "orthogonal.muon.at_least",
    "orthogonal.muon.at_most",
    "orthogonal.muon.below",
    "orthogonal.muon.growth",
    "orthogonal.muon.one",
    "orthogonal.muon.plateau",
)
@pytest.mark.parametrize("x", ["1/1000", "1/100", "1/10", "3/5", "24/25", "1"])
def test_iterations(x):
    """A step of either iteration on a diagonal matrix of norm one, and the intervals of the models."""
    x, slack = Fraction(x), 64 * 3.5 * np.finfo(np.float64).eps
    matrix = np.diag([float(x), float(1 - x**2) ** 0.5])
    once = abs(float(muon_update(matrix[None], 1, "muon")[0][0][0, 0]))
    after = Fraction(models._p(x))
    assert abs(once - float(after)) <= slack
    for i, (before, least) in enumerate(itertools.pairwise(models._CHAIN), 1):
        if x >= before:
            goal = goals("orthogonal.muon.at_least")[f"iteration {i}"]
            assert failing(goal, x=x) == []
            assert value(goal.show, {"x": x}) == after - Fraction(int(least.p), int(least.q))
    for i, (before, most) in enumerate(itertools.pairwise(models._CHAIN_BELOW), 1):
        if x <= before:
            goal = goals("orthogonal.muon.below")[f"iteration {i}"]
            assert failing(goal, x=x) == []
            assert value(goal.show, {"x": x}) == Fraction(int(most.p), int(most.q)) - after
    cubic = abs(float(muon_update(matrix[None], 1, "cubic")[0][0][0, 0]))
    goal = goals("orthogonal.cubic.one_step")["gap"]
    assert failing(goal, singular=x) == []
    assert abs(cubic - float((3 * x - x**3) / 2)) <= slack
    given = {"singular": x, "gap": 1 - x**2, "schulz_steps": 0}
    assert failing(goals("orthogonal.cubic.converges")["one more"], **given) == []


@pytest.mark.models(
    "orthogonal.polar_express.at_least", "orthogonal.polar_express.at_most", "orthogonal.polar_express.six"
)
@pytest.mark.parametrize("x", ["1/1000", "1/100", "38/100", "3/5", "1"])
def test_intervals_of_polar_express(x):
    """Where the kernel's values are after every iteration: in the intervals that the models go through."""
    x, slack = Fraction(x), 64 * 1000 * np.finfo(np.float64).eps
    matrix = np.diag([float(x), float(1 - x**2) ** 0.5])
    for number in range(5):
        after = abs(float(muon_update(matrix[None], number + 1, "polar_express")[0][0][0, 0]))
        assert (
            float(models_express.LEAST[number + 1]) - slack <= after <= float(models_express.TOPS[number + 1]) + slack
        )
        assert abs(after - float(models_express._polynomial(number, exact(x)))) <= slack
        for claim in ("at_most", "at_least", "six"):
            for goal in goals(f"orthogonal.polar_express.{claim}").values():
                if goal.name.startswith(f"iteration {number + 1} "):
                    assert failing(goal, x=x) == []
        x = Fraction(after)
