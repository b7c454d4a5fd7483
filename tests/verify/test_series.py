import math

import numpy as np
import pytest
import sympy as sp

from commbounds.collectives import COLLECTIVES
from commbounds.theory import claims
from commbounds.verify import gradients
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.judgement import Judgement
from commbounds.verify.series import Pair, _quantiles, series_of
from commbounds.verify.study import Case, Curve, Outcome, Study, Unmeasured, over


def drawn(name):
    """The one curve of the claim."""
    study = EXPERIMENTS[name]
    judgement = Judgement(study, study.implementation({}))
    (series,) = series_of([judgement], 0)[name]
    assert judgement.error is None
    return series


def test_refutations_stand_above_their_bound():
    for name in (
        "sparsifiers.blocktopk.kept_share",
        "quantizers.naturalcompression.variance_every_float",
        "sparsifiers.topk.global_contraction",
    ):
        series = drawn(name)
        assert any(m > 1.3 * b + 1e-3 for m, b in zip(series.worst, series.bound, strict=True))
        assert not series.relative


def test_bounds_that_differ_between_inputs_are_drawn_as_one():
    series = drawn("quantizers.scaledsign.error")
    assert series.relative
    assert set(series.bound) == {1.0}
    assert all(abs(m - 1) < 1e-5 for m in (*series.worst, *series.random_low, *series.random_high))


def test_worst_bounds_every_other_curve():
    series = drawn("sparsifiers.topk.contraction")
    for i, worst in enumerate(series.worst):
        others = [series.random_high[i], *(values[i] for values in series.gradients.values())]
        assert max(others) <= worst <= series.bound[i] + 1e-6


def test_curves_are_whole_ascending_and_alike_for_one_seed():
    for name in ("sparsifiers.randk.variance", "lowrank.powersgd.contraction", "sparsifiers.topk.global_error"):
        series = drawn(name)
        assert repr(series) == repr(drawn(name))
        assert series.x == sorted(set(series.x))
        curves = (series.bound, series.worst, series.random_low, series.random_mid, series.random_high)
        assert {len(c) for c in (*curves, *series.gradients.values())} == {len(series.x)}
        assert set(series.gradients) == set(gradients.KINDS)
        assert all(a <= b for a, b in zip(series.random_low, series.random_high, strict=True) if a == a)


def test_two_workers_are_drawn_over_their_own_parameter():
    series = drawn("sparsifiers.topk.two_workers")
    assert series.axis == "e"
    assert series.bound == [1 / e**2 for e in series.x]
    assert all(abs(m - b) <= 1e-5 * b for m, b in zip(series.worst, series.bound, strict=True))


def test_labels_say_what_is_held_and_what_is_drawn():
    assert drawn("sparsifiers.topk.contraction").label == "n = 2410"
    assert drawn("sparsifiers.randk.bias").label == "RandK, k = 1 to 3"
    assert drawn("sparsifiers.randk.contraction").label == "n = 2410; means of up to 100 draws"
    assert drawn("quantizers.qsgd.unbiased").label == "QSGD(levels=2)"


def test_equalities_show_the_value_farthest_away():
    series = drawn("quantizers.scaledsign.attained")
    assert isinstance(claims()["quantizers.scaledsign.attained"].relation, sp.Eq)
    assert max(b - m for m, b in zip(series.worst, series.bound, strict=True)) > 0.15


def test_ratio_that_rounding_hides_is_left_out():
    assert Pair(0.0, 0.0).over_the_bound() is None
    assert Pair(1.2e-9, 1e-9, slack=1e-9).over_the_bound() is None
    assert Pair(1.0, 0.0).over_the_bound().value == float("inf")
    assert Pair(1.0, 2.0, slack=1e-9).over_the_bound() == Pair(0.5, 1.0)


# --- curves of cases -------------------------------------------------------------------------------------------------


def words_of_a_ring(ring, case):
    _, traffic = ring(np.ones((case.settings["P"], case.settings["n"])))
    return Outcome(int(traffic.sent.max()), {"P": case.settings["P"], "n": case.settings["n"]})


def ring_curve(*curves, trial=words_of_a_ring):
    """The judgement of a study of the ring's words that has these curves, and what is drawn."""
    cases = [Case({"P": 2, "n": 4})]
    study = Study(
        "dense.ring.critical_path", "ring_allreduce", trial, corpus=lambda _budget: iter(cases), curves=curves
    )
    judgement = Judgement(study, study.implementation({}))
    return judgement, series_of([judgement], 0)[study.claim]


def test_a_curve_is_its_cases_measured_by_the_trial_of_the_study():
    ranks = (2, 4, 8)
    judgement, (series,) = ring_curve(over("P", "n = 16", (Case({"P": P, "n": 16}) for P in ranks)))
    assert judgement.error is None
    assert series.x == list(ranks)
    assert series.bound == [float(claims()["dense.ring.critical_path"].bound(P=P, n=16)) for P in ranks]
    assert series.worst == series.bound
    assert series.random_mid == []


def test_random_cases_have_quantiles_and_the_farthest_of_all_is_the_worst():
    def points(_seed):
        yield 4.0, [Case({"P": 4, "n": n}) for n in (16, 32, 64)]

    _, (series,) = ring_curve(Curve("P", "three lengths", points, typical=2))
    small, middle, large = (claims()["dense.ring.critical_path"].bound(P=4, n=n) for n in (16, 32, 64))
    assert series.bound == [float(small)]
    assert series.worst == [float(large)]
    assert series.random_mid == [float(small + middle) / 2]


def test_curves_without_a_case_of_the_claim_are_an_error():
    def kept_out(_ring, _case):
        return Unmeasured("nothing reaches it")

    judgement, drawn_curves = ring_curve(over("P", "none", [Case({"P": 2, "n": 4})]), trial=kept_out)
    assert drawn_curves == ()
    assert "no case of the curves" in str(judgement.error)


def test_claims_about_a_subject_share_what_their_curves_run():
    calls = []

    def counted(*arguments, **options):
        calls.append(arguments)
        return COLLECTIVES["topk_allgather"](*arguments, **options)

    studies = [study for study in EXPERIMENTS.values() if study.subject == "topk_allgather" and study.curves]
    alone = []
    for study in studies:
        series_of([Judgement(study, counted)], 0)
        alone.append(len(calls))
        calls.clear()
    judgements = [Judgement(study, counted) for study in studies]
    series_of(judgements, 0)
    assert all(j.error is None for j in judgements)
    assert 0 < len(calls) < sum(alone)
    points = {study.curves[0].points for study in studies}
    assert len(calls) == sum(
        max(n for n, study in zip(alone, studies, strict=True) if study.curves[0].points is p) for p in points
    )


def test_quantiles_of_infinite_values_are_infinite():
    assert _quantiles([1.0, 2.0, 3.0]).tolist() == pytest.approx([1.1, 2.0, 2.9], rel=2**-52)
    assert _quantiles([0.0, *[math.inf] * 9]).tolist() == [math.inf] * 3
    assert _quantiles([*[-math.inf] * 9, 0.0]).tolist() == [-math.inf, -math.inf, -math.inf]
    assert np.isnan(_quantiles([1.0, math.nan])).all()
