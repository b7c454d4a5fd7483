"""What the studies of DropCompute are able to see."""

from dataclasses import replace
from fractions import Fraction

import pytest
from bindings import evidence, judged, refuted

from commbounds.collectives import StepLaw, drop_step, random_batch_sgd
from commbounds.theory import claims
from commbounds.theory.dropcompute.terms import UNCORRELATED
from commbounds.verify import Method, Verdict
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.dropcompute.laws import MAPPED, NAMED_LAWS
from commbounds.verify.experiments.dropcompute.reference_times import reference_times
from commbounds.verify.experiments.dropcompute.sgd import Objective
from commbounds.verify.experiments.dropcompute.small import dependent_time, of_slow

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("name", ["dropcompute.trials.time", "dropcompute.trials.completed"])
def test_simulated_steps_are_seen_to_a_few_per_cent(name):
    assert evidence(name, Method.SAMPLE).detects <= 0.035


def verdict(study, implementation, wanted):
    """What the search says of the study's wanted cases by hand."""
    cases = [*study.grid(0), *study.corpus(budgets["quick"])]
    alone = replace(study, corpus=lambda budget: (case for case in cases if wanted(case)), extremal=None)
    first = replace(budgets["quick"], first=True)
    found = judged(alone, Method.SEARCH, budget=first, implementations={study.subject: implementation})
    return found.evidence[Method.SEARCH].verdict


@pytest.mark.parametrize("factor", [1, 2, 4, 8, 0.5])
def test_wrong_step_sizes_are_seen_without_any_quadratic(factor):
    def twin(start, gradient, noise, batches, learning_rate):
        return random_batch_sgd(start, gradient, noise, batches, factor * learning_rate)

    def wanted(case):
        return case.settings["f"] in ("two wells", "waves", "teeth")

    study = EXPERIMENTS["dropcompute.sgd.nonconvex"]
    assert verdict(study, twin, wanted) is (Verdict.SURVIVED if factor == 1 else Verdict.REFUTED)


def test_the_grid_of_convex_runs_leaves_out_what_the_book_leaves_out():
    study = EXPERIMENTS["dropcompute.sgd.convex"]
    for case in list(study.grid(0))[::37]:
        batches, f = case.settings["batches"], case.settings["f"]
        computed, convex = sum(batches) > 0, f.startswith("x^2/2") or (f == "teeth" and len(batches) == 1)
        facts = study.facts(random_batch_sgd, case)
        admitted = all(h.admits(**{n: facts[n] for n in h.needs}) for h in study.statement.assumes)
        assert admitted == (computed and convex)


def test_objectives_are_what_they_are_said_to_be():
    wells = Objective([(-1, 1), (1, -1)], 1, 1)
    assert wells.minimisers == [-2, 2]
    assert wells.value(Fraction(0)) - wells.infimum == 1  # half a unit up to -1, and half a unit more
    assert [wells.gradient(Fraction(x)) for x in (-3, -2, -1, 0, 1, 2, 3)] == [-1, 0, 1, 0, -1, 0, 1]
    assert [wells.in_floats(x) for x in (-3.0, -0.5, 0.25, 2.5)] == [-1, 0.5, -0.25, 0.5]
    tangents = Objective([(-1, -1), (1, 1)], 0, 0)
    assert [tangents.value(Fraction(x)) - tangents.infimum for x in (-3, -1, 0, 1, 4)] == [
        Fraction(5, 2),
        Fraction(1, 2),
        0,
        Fraction(1, 2),
        Fraction(7, 2),
    ]


def test_latencies_of_a_worker_that_go_together_are_no_case_of_the_uncorrelated_claim():
    values = of_slow(2, 2, 0, 2, "the same")
    assert dependent_time(drop_step, values["times"]) == 4
    assert (values["latency"], values["jitter"], values["timejitter"]) == (1, 1, 2)
    named = [name for name in UNCORRELATED.needs if name != "M"]
    assert not UNCORRELATED.admits(M=2, **{name: values[name] for name in named})
    for chosen in ("anew", "in turn"):
        others = of_slow(2, 2, 0, 2, chosen)
        assert UNCORRELATED.admits(M=2, **{name: others[name] for name in named})


def test_every_hypothesis_runs_or_says_how_it_is_ensured():
    for claim in claims().values():
        if claim.column == "dropcompute":
            for hypothesis in claim.assumes:
                assert hypothesis.condition is not None or hypothesis.ensured, (claim.name, hypothesis.name)


@pytest.mark.parametrize(
    ("name", "hypothesis"),
    [
        ("dropcompute.step.completed", "all_the_time"),
        ("dropcompute.step.completed", "ends_before_tau"),
        ("dropcompute.step.after_backward", "after_backward"),
        ("dropcompute.step.between_at_most", "between_halves"),
        ("dropcompute.backup.dominated", "waited_for_takes_time"),
        ("dropcompute.threshold.optimal", "first_takes_time"),
        ("dropcompute.threshold.never_loses", "some_time"),
        ("dropcompute.released.optimistic", "seven_micro_batches"),
        ("dropcompute.completed.new_better", "new_better_than_used"),
        ("dropcompute.completed.one_sided", "beyond_the_mean"),
        ("dropcompute.gradient.computed", "some_computed"),
        ("dropcompute.sgd.convex_tuned", "begins_elsewhere"),
        ("dropcompute.gain.bounded", "never_free"),
        ("dropcompute.maximum.bracket_above", "at_least_three"),
    ],
)
def test_what_a_claim_is_not_about_is_kept_out_by_name(name, hypothesis):
    study = EXPERIMENTS[name]
    cases = [*(study.grid(0) if study.grid else ()), *study.corpus(budgets["quick"])]
    conditions = {h.name: h for h in study.statement.assumes}
    asked = conditions[hypothesis]
    facts = (study.facts(study.implementation({}), case) for case in cases)
    assert any(not asked.admits(**{n: known[n] for n in asked.needs}) for known in facts)


@pytest.mark.parametrize("law", ["exponential", "gamma, shape 1/4", "normal, mean 2", "released delay", "uniform"])
def test_expected_times_come_out_alike_by_both_ways(law):
    for N, M in ((1, 1), (32, 4), (10_000, 12)):
        step, reference = StepLaw(MAPPED[law], N, M), reference_times(MAPPED[law], M)
        assert reference.slowest(N) == pytest.approx(step.mean_time(), rel=1e-7)
        tau = 0.7 * M * step.law.mean
        assert reference.below(tau) == pytest.approx(step.completed(tau), rel=1e-5)


@pytest.mark.parametrize("name", ["with_means", "at_the_mean", "new_better", "degenerate"])
def test_bounds_on_gains_do_not_go_wrong_with_the_times_that_are_measured(name):
    class Slower(StepLaw):
        """The slowest worker takes half as long again, in measured gains alone, or less long."""

        factor = 1.5 if name == "new_better" else 2 / 3

        def mean_time(self):
            return self.factor * super().mean_time()

    assert refuted(f"dropcompute.gain.{name}", Method.SEARCH, {"StepLaw": Slower})


def test_zeros_before_the_first_latency_attain_lordens_bound():
    law = NAMED_LAWS["0 (3/4) or 1 (1/4)"]
    assert (law.mean, law.variance) == (Fraction(1, 4), Fraction(3, 16))
    before = sum(law.expect(m, lambda s: s < Fraction(1, 1024)) for m in range(1, 60))
    # a geometric sum, without what comes after 59
    assert before == law.variance / law.mean**2 * (1 - Fraction(3, 4) ** 59)
