"""Goals over histories, sums and norms: the right statement has a proof, one that is a little off has none."""

import pytest
import sympy as sp

from commbounds.theory import finite_laws, smooth_functions, subset_laws
from commbounds.theory.model import Goal, Model, vectors
from commbounds.verify.certify import letters
from commbounds.verify.certify.finder import NotFoundError, proof_of

x, u = vectors("x u")
size, cross, p = sp.symbols("size cross p")


def unproved(goals):
    """The names of the goals that no proof is found of, which a function gives."""
    found = []
    for goal in letters.goals(Model("a.b.c", "words", "scope", lambda bound: goals()), sp.S.Zero, {}).values():
        try:
            proof_of(goal, 4)
        except NotFoundError:
            found.append(goal.name)
    return found


@pytest.mark.parametrize(
    ("stated", "missing"),
    [
        (p * (size + 2 * cross), []),
        (p * (size + cross), ["a step: one more history"]),
        (size + 2 * cross, ["a step: one more history"]),
        (p * (size + 2 * cross) + p, ["a step: no history"]),
    ],
)
def test_means_over_histories(stated, missing):
    fates = (1 - p, sp.S.Zero), (p, (x + u) ** 2 - u**2)
    means = {size: x**2, cross: x * u}
    assert unproved(lambda: finite_laws.over_histories("a step", fates, means, stated, vectors=(x, u))) == missing


def test_fates_have_all_chances():
    fates = (p, size), (p, size)
    goals = unproved(lambda: finite_laws.over_histories("a step", fates, {cross: size}, 2 * p * cross))
    assert goals == ["a step: all fates"]


@pytest.mark.parametrize(("most", "missing"), [(size, []), (size - 1, ["messages: one"])])
def test_at_most_each(most, missing):
    one = Goal("messages: one", most - cross, given={"at most": size - cross})
    goals = unproved(lambda: (one, *finite_laws.at_most_each("messages", most, sp.Integer(3), sp.Symbol("total"))))
    assert goals == missing


@pytest.mark.parametrize(
    "goals",
    [
        subset_laws.over_pairs_of_subsets,
        lambda: finite_laws.uncorrelated(sp.Symbol("variance")),
        lambda: finite_laws.independent_of("a draw"),
        finite_laws.relative_errors,
        lambda: finite_laws.never_negative("an error"),
        lambda: finite_laws.share_of_squares("entries"),
        lambda: finite_laws.share_of_squares("entries", equal=True),
        lambda: (finite_laws.norm_of_a_sum(),),
        lambda: finite_laws.drawn_next("a draw", sp.Symbol("average")),
        finite_laws.square_of_mean,
        finite_laws.under_tangents,
        finite_laws.about_means,
        lambda: finite_laws.noisy_squares(sp.Symbol("variance")),
        lambda: smooth_functions.between_parabolas(*sp.symbols("L mu")),
        lambda: smooth_functions.between_parabolas(sp.Symbol("L"), sp.S.Zero),
        lambda: smooth_functions.between_parabolas(sp.Symbol("L"), -sp.Symbol("L")),
    ],
)
def test_goals_that_many_models_have(goals):
    assert unproved(goals) == []
