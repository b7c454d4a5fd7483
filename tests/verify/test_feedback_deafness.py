"""What the claims about error feedback and ARC-Top-K notice: wrong steps, reused seeds, ignored ranks, lost memories.

Every one of these stand-ins went unnoticed by one of the claims named here.
"""

import numpy as np
import pytest
from bindings import STUDIES, refuted
from mutants import arctopk, feedback
from samples import first_of_each

from commbounds.collectives import FeedbackSGD
from commbounds.verify import Method
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments.feedback.runs import Wells

pytestmark = pytest.mark.kernels
WRONG_STEPS = (feedback.QuartersTheStep, feedback.DoublesTheStep, feedback.QuadruplesTheStep, feedback.OctuplesTheStep)


@pytest.mark.parametrize("twin", WRONG_STEPS, ids=lambda twin: twin.__name__)
@pytest.mark.parametrize("claim", ["feedback.ef21m.step", "feedback.ef14.telescoping"])
def test_identities_notice_every_wrong_step(claim, twin):
    assert refuted(claim, Method.EXACT, {"FeedbackSGD": twin})


@pytest.mark.parametrize(
    "claim", ["feedback.ef14.rate", "feedback.ef21.rate", "feedback.ef21m.bound", "feedback.arc.bound"]
)
def test_rates_notice_a_step_that_is_too_short(claim):
    assert refuted(claim, Method.SEARCH, {"FeedbackSGD": feedback.QuartersTheStep})


@pytest.mark.parametrize("twin", WRONG_STEPS[2:], ids=lambda twin: twin.__name__)
@pytest.mark.parametrize("claim", ["feedback.ef14.rate", "feedback.ef21.rate"])
def test_rates_notice_a_step_that_is_too_long(claim, twin):
    assert refuted(claim, Method.SEARCH, {"FeedbackSGD": twin})


@pytest.mark.parametrize(
    "twin",
    [*WRONG_STEPS, feedback.SameDrawsInEveryStep, feedback.SketchesOfOneColumn, feedback.LastWorkerForgets],
    ids=lambda twin: twin.__name__,
)
def test_floors_notice_all_that_differs_from_the_recursion(twin):
    assert refuted("feedback.arc.speedup", Method.SEARCH, {"FeedbackSGD": twin})


@pytest.mark.parametrize("claim", ["feedback.ef21m.bound", "feedback.arc.bound"])
def test_bounds_notice_a_worker_that_forgets(claim):
    assert refuted(claim, Method.SEARCH, {"FeedbackSGD": feedback.LastWorkerForgets})


@pytest.mark.parametrize(
    ("claim", "twin"),
    [
        ("contraction_rho", arctopk.one_seed_for_every_sketch),
        pytest.param("contraction_rho", arctopk.sketch_of_one_column, marks=pytest.mark.wide),
        ("high_probability", arctopk.sketch_of_one_column),
        ("high_probability", arctopk.one_rank_dropped),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_expectations_notice_seeds_and_ranks(claim, twin):
    assert refuted(f"arctopk.allreduce.{claim}", Method.SAMPLE, {"arctopk_allreduce": twin})


@pytest.mark.parametrize("seed", first_of_each((2, 1, 3), lambda _: "any seed"))
def test_no_fixed_direction_passes_the_two_rows_at_eight_angles(seed):
    """Whatever the seed that is reused."""

    def reused(gradients, K, rank, rng=None, **options):
        return arctopk.arctopk_allreduce(gradients, K, rank, np.random.default_rng(seed), **options)

    assert refuted("arctopk.allreduce.contraction_rho", Method.SAMPLE, {"arctopk_allreduce": reused})


def by_hand(claim):
    """The cases of a rate's study that no search draws."""
    return list(STUDIES[claim].corpus(budgets["quick"]))


def test_rates_are_confronted_where_f_is_not_convex():
    """Their corpus holds wells, begun where the second derivative is negative."""
    assert sum(case.settings["family"] == "wells" for case in by_hand("feedback.ef14.rate")) >= 10
    problem = Wells.drawn(3, 4, 7)
    step = 1e-4
    for entry in np.eye(4):
        slopes = [problem.mean(sign * step * entry) @ entry for sign in (1, -1)]
        values = [problem.gap(sign * step * entry) for sign in (1, 0, -1)]
        # the gradient is the value's difference; both are off by step^2 times third derivatives, which are below 10
        assert (values[0] - values[2]) / (2 * step) == pytest.approx(problem.mean(0 * entry) @ entry, abs=10 * step**2)
        assert abs(slopes[0] - slopes[1]) / (2 * step) <= problem.L
    curvatures = [(problem.mean(step * e) - problem.mean(-step * e)) @ e / (2 * step) for e in np.eye(4)]
    assert min(curvatures) < -0.01


def test_the_lowest_value_of_wells_is_below_all_others_and_not_by_much():
    problem = Wells.drawn(3, 2, 5, 2.0)
    lattice = np.linspace(problem.c.min(), problem.c.max(), 301)
    least = sum(
        min(float(problem._value(np.where(np.arange(2) == j, v, 0.0))[j]) for v in lattice)
        for j in range(problem.a.shape[1])
    )
    assert problem.lowest <= least
    assert least - problem.lowest < 1e-3


def test_wells_are_missed_by_a_step_that_is_too_short():
    """Not only the quadratics notice."""
    study = STUDIES["feedback.ef21.rate"]
    worst = 0.0
    for case in by_hand("feedback.ef21.rate"):
        if case.settings["family"] == "wells" and case.settings["apart"] and not case.settings["sigma"]:
            outcome = study.trial(feedback.QuartersTheStep, case)
            worst = max(worst, float(outcome.measured) / float(study.statement.bound(**outcome.values)))
    assert worst > 1


def noisy(claim):
    """A study, and a case of noise: one worker that leaves nothing out, begun at the minimiser."""
    study = STUDIES[claim]
    settings = study.family.space.at(P=1, n=1, kept=1, steps=8, apart=0.0, sigma=1.0, exact=True, seed=5)
    return study, study.family.case(settings)


@pytest.mark.parametrize("claim", ["feedback.ef14.rate", "feedback.ef21.rate"])
def test_noise_breaks_the_rates_that_are_about_full_gradients(claim):
    """The hypothesis keeps such cases out; without it the claim would be refuted by them."""
    study, case = noisy(claim)
    outcome = study.trial(FeedbackSGD, case)
    assert outcome.measured > study.statement.bound(**outcome.values)
    facts = study.facts(FeedbackSGD, case)
    asked = [h for h in study.statement.assumes if h.needs]
    assert [h.name for h in asked if not h.admits(**{name: facts[name] for name in h.needs})] == ["full_gradients"]


def test_ef14_with_noise_keeps_its_own_bound_where_the_other_breaks():
    study, case = noisy("feedback.ef14.rate_noisy")
    outcome = study.trial(FeedbackSGD, case)
    assert 0 < outcome.measured <= study.statement.bound(**outcome.values)
