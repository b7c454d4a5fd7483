"""What the quick cases of sparse all-reduces and of packet loss reach, so that their claims can hear."""

from dataclasses import replace
from fractions import Fraction

import pytest

from commbounds.collectives import lossy_training, oktopk_allreduce
from commbounds.theory import claims
from commbounds.theory.definitions import definitions
from commbounds.verify import Method, Verdict, confront
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.oktopk.cases import family_of, options_of
from commbounds.verify.experiments.oktopk.runs import OkTopkRun
from commbounds.verify.judgement import Judgement
from commbounds.verify.series import series_of
from commbounds.verify.study import Outcome

QUICK = budgets["quick"]
COLUMNS = ("packetloss", "oktopk", "sparse")


@pytest.mark.parametrize("column", COLUMNS)
def test_every_symbol_has_a_meaning_on_the_card(column):
    book = [claim for claim in claims().values() if claim.column == column]
    assert [(c.name, name) for c in book for name, meaning in definitions(c).items() if not meaning] == []


@pytest.mark.kernels
def test_four_times_the_mean_is_exceeded_in_some_cases_and_only_from_five_ranks_on():
    balanced = []
    for case in EXPERIMENTS["oktopk.balance.quarter_ring"].corpus(QUICK):
        run = OkTopkRun.of(oktopk_allreduce, case)
        if run.option("balance") == "4x-mean" and run.traffic.phases["balance"].sent.any():
            balanced.append(run)
    assert {run.P for run in balanced} >= {5, 8}
    for run in balanced:
        assert run.P >= 5
        assert run.winners.max() * run.P > 4 * run.winners.sum()
    study = EXPERIMENTS["oktopk.balance.quarter_ring"]
    measured = {run.P for run in balanced if isinstance(study.admitted(oktopk_allreduce, run.case), Outcome)}
    assert measured >= {5, 8}


@pytest.mark.kernels
@pytest.mark.parametrize("claim", ["oktopk.balance.quarter", "oktopk.balance.quarter_as_read"])
def test_the_rule_applies_in_cases_that_the_claim_admits(claim):
    study = EXPERIMENTS[claim]
    cases = [c for c in study.corpus(QUICK) if isinstance(study.admitted(oktopk_allreduce, c), Outcome)]
    assert any(OkTopkRun.of(oktopk_allreduce, case).traffic.phases["balance"].sent.any() for case in cases)


def test_a_long_run_sees_the_published_periods():
    steps = [c.settings for c in EXPERIMENTS["oktopk.sgd.iterate"].corpus(QUICK)]
    long = [s for s in steps if (s["tau_prime"], s["tau"]) == (32, 64) and s["steps"] > 65]
    assert {s["P"] for s in long} == {1, 2, 3, 5, 8}
    assert all(s["n"] % s["P"] for s in long if s["P"] > 1)


@pytest.mark.parametrize(
    "claim",
    [
        "packetloss.arrivals.variance",
        "packetloss.arrivals.empty",
        "packetloss.arrivals.zero_fill",
        "packetloss.expected.variance",
        "packetloss.owner.variance_iid",
    ],
)
def test_estimates_are_made_by_five_and_eight_workers(claim):
    assert {case.settings["N"] for case in EXPERIMENTS[claim].grid(0)} == {1, 2, 3, 5, 8}


@pytest.mark.kernels
def test_the_printed_path_of_topk_dsa_fails_at_one_entry():
    found = confront("sparse.topkdsa.upper_any_split", drawn=False)
    assert found.as_stated
    assert found.verdict is Verdict.REFUTED
    assert found.tightness >= 16
    study = EXPERIMENTS["sparse.topkdsa.upper_any_split"]
    for case in study.extremal(QUICK):
        implementation = study.implementation({})
        outcome = study.trial(implementation, case)
        P = case.settings["P"]
        assert outcome.measured == 3 * (P - 1)
        assert outcome.measured == P * study.statement.bound(**outcome.values)


@pytest.mark.kernels
def test_the_drift_term_of_training_is_needed():
    study = EXPERIMENTS["packetloss.training.descent"]
    lossy = [c for c in study.grid(0) if c.settings["p"] > 0 and c.settings["N"] > 1 and c.settings["t"] > 1]
    alike = [c for c in lossy if c.settings["curvatures"] != "several"]
    assert len(alike) >= 8
    for case in alike:
        outcome = study.trial(lossy_training, case)
        v = outcome.values
        some = 1 - v["p"] ** v["N"]
        plain = v["fall"] / (v["eta"] * some * v["elapsed"]) + v["smooth"] * v["eta"] / (2 * some) * v["estimatesquare"]
        assert outcome.measured > plain


@pytest.mark.kernels
def test_a_threshold_that_lets_an_eighth_too_few_pass_is_heard():
    def fewer(*arguments, **options):
        result, state, traffic = oktopk_allreduce(*arguments, **options)
        return replace(result, local_counts=result.local_counts * Fraction(7, 8)), state, traffic

    found = confront("oktopk.threshold.drift", drawn=False, implementations={"oktopk_allreduce": fewer})
    assert [e.verdict for e in found.evidence if e.method is Method.SAMPLE] == [Verdict.REFUTED]


@pytest.mark.kernels
def test_thresholds_that_are_given_with_fresh_boundaries_are_not_kept():
    """Boundaries are found anew in iterations that find the thresholds anew, and then sizes are agreed on twice."""
    family = family_of(options_of("oktopk.sizes.counted"))
    case, kept = (family.case(family.space.at(P=4, k=4, cuts=cuts)) for cuts in ("fresh", "even"))
    for claim in ("oktopk.sizes.counted", "oktopk.sent.reused_threshold"):
        assert not isinstance(EXPERIMENTS[claim].admitted(oktopk_allreduce, case), Outcome)
    assert EXPERIMENTS["oktopk.sizes.counted"].admitted(oktopk_allreduce, kept).measured == 3
    sizes = OkTopkRun.of(oktopk_allreduce, case).traffic.phases["sizes"]
    assert sizes.received.max() == 6


@pytest.mark.kernels
def test_the_curve_of_a_law_lies_on_it():
    study = EXPERIMENTS["oktopk.sizes.counted"]
    ((series,),) = series_of([Judgement(study, oktopk_allreduce)], 0).values()
    assert series.worst == series.bound == [1.0, 3.0, 7.0, 15.0]
