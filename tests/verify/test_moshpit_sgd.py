"""The bounds of Moshpit SGD are heard: no term of theirs can be dropped, and no step is far from what it should be."""

import pytest
import sympy as sp
from bindings import refuted

from commbounds.collectives import moshpit_sgd
from commbounds.theory import claims
from commbounds.theory.moshpit.terms import noise, period, quality, smoothness, stepsize
from commbounds.verify import Method
from commbounds.verify.experiment import budgets, decimal
from commbounds.verify.experiments import EXPERIMENTS

pytestmark = pytest.mark.kernels
BOUNDS = ("convex", "strongly_convex", "nonconvex")
_DELTA, _TAU = quality**2, (period - 1) * noise**2


def measured(bounded):
    """What the study measures of the cases by hand that are the claim's: outcomes, and their bound with a change."""
    study = EXPERIMENTS[f"moshpit.sgd.{bounded}"]
    outcomes = [study.trial(study.implementation({}), case) for case in study.corpus(budgets["quick"])]
    bound = claims()[study.claim].relation.rhs

    def broken(changed):
        values = [{s: sp.nsimplify(o.values[s.name]) for s in bound.free_symbols} for o in outcomes]
        return [float(o.measured) > decimal(changed.subs(v)) + o.slack for o, v in zip(outcomes, values, strict=True)]

    return bound, broken


@pytest.mark.parametrize("bounded", BOUNDS)
def test_every_term_is_needed(bounded):
    bound, broken = measured(bounded)
    assert not any(broken(bound))
    terms = sp.Add.make_args(bound)
    assert len(terms) == 3
    for term in terms:
        assert any(broken(bound - term)), term
    for part in (_DELTA, _TAU):
        assert any(broken(bound.subs(_DELTA + _TAU, _DELTA + _TAU - part))), part
    spread = next(term for term in terms if term.has(quality))
    assert spread.has(smoothness, stepsize)


@pytest.mark.parametrize("factor", [1 / 4, 4, 8])
@pytest.mark.parametrize("bounded", BOUNDS)
def test_a_wrong_step_size_is_noticed(bounded, factor):
    def wrong(points, gradient, gamma, *arguments):
        return moshpit_sgd(points, gradient, factor * gamma, *arguments)

    claim, twin = f"moshpit.sgd.{bounded}", {"moshpit_sgd": wrong}
    assert any(refuted(claim, method, twin) for method in (Method.SEARCH, Method.SAMPLE))


def test_every_term_of_the_bound_with_departures_is_needed():
    study = EXPERIMENTS["moshpit.sgd.departures"]
    cases = [*study.corpus(budgets["quick"]), *study.extremal(budgets["quick"])]
    outcomes = [study.trial(study.implementation({}), case) for case in cases]
    bound = claims()[study.claim].relation.rhs
    terms = sp.Add.make_args(bound)
    assert len(terms) == 3
    for term in (sp.S.Zero, *terms):
        broken = []
        for o in outcomes:
            values = {s: sp.nsimplify(o.values[s.name]) for s in bound.free_symbols}
            broken.append(float(o.measured) > decimal((bound - term).subs(values)) + o.slack)
        assert any(broken) == (term != 0), term


def test_who_stays_has_the_noise_of_its_own_steps_alone():
    study = EXPERIMENTS["moshpit.sgd.departures"]
    leaving = [case for case in study.extremal(budgets["quick"]) if case.settings["stays"] == (1,)]
    assert len(leaving) == 2
    for case in leaving:
        outcome = study.trial(study.implementation({}), case)
        assert outcome.measured == study.statement.bound(**outcome.values)
