"""What the models of orthogonal say that an iteration does, against the kernel."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from goal_values import failing, goals, value

from commbounds.collectives.orthogonal import muon_update
from commbounds.theory.orthogonal import models


@pytest.mark.parametrize("x", ["1/100", "1/10", "3/5", "24/25", "1"])
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
    cubic = abs(float(muon_update(matrix[None], 1, "cubic")[0][0][0, 0]))
    goal = goals("orthogonal.cubic.one_step")["gap"]
    assert failing(goal, singular=x) == []
    assert abs(cubic - float((3 * x - x**3) / 2)) <= slack
    given = {"singular": x, "gap": 1 - x**2, "schulz_steps": 0}
    assert failing(goals("orthogonal.cubic.converges")["one more"], **given) == []
