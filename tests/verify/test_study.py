"""Every method on a study confirms what is so and rejects what is not: tests of the tests."""

from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
import sympy as sp

from commbounds.theory import Claim, Hypothesis, Source, Standing, Tag
from commbounds.theory.mutation import formula_mutants
from commbounds.theory.quantities import Quantity, k, n
from commbounds.verify import Method, Series, Verdict
from commbounds.verify.confront import confront
from commbounds.verify.experiment import budgets
from commbounds.verify.inputs import integers
from commbounds.verify.methods import METHODS
from commbounds.verify.study import Case, Outcome, Stream, Study, studies

QUICK = budgets["quick"]
MEASURED = Quantity("words_moved", "w", "what the test's collective gives")
FITS = Hypothesis("fits", "k is at most n.", sp.Le(k, n))
SOURCE = Source("this test", "made up", Tag.DERIVED, proof="By looking.")


def moves(values):
    """The made-up collective: what it moves for n and k is k of n."""
    return values["k"]


def twice(values):
    """Moves twice as much."""
    return 2 * values["k"]


def trial(implementation, case):
    values = {"n": case.settings["n"], "k": case.settings["k"]}
    return Outcome(implementation(values), values)


def grid(level):
    for size in range(1, 4 + level):
        for kept in range(1, size + 2):  # the last is not admissible
            yield Case({"n": size, "k": kept}, np.ones((2, size)))


def by_hand(_budget):
    yield Case({"n": 5, "k": 2})
    yield Case({"n": 1, "k": 7})


def generated():
    return integers(1, 9).flatmap(lambda size: integers(1, size).map(lambda kept: Case({"n": size, "k": kept})))


def neighbour(rng, case):
    return Case({"n": case.settings["n"], "k": int(rng.integers(1, case.settings["n"] + 1))})


def full(_budget):
    yield Case({"n": 3, "k": 3})


@pytest.fixture
def confronted(monkeypatch):
    """``confronted(relation, implementation=moves, study={}, **claim)``: the finding of a made-up claim."""
    studying, confronting = (import_module(f"commbounds.verify.{name}") for name in ("study", "confront"))

    def run(relation, implementation=moves, study=None, **claim):
        about = Claim("made.up.claim", "made up", relation, SOURCE, **{"assumes": (FITS,), **claim})
        study = {"trial": trial, **(study or {"grid": grid, "enumerated": "n below 4"})}
        bound = Study("made.up.claim", "made_up", **study)
        book = {"made.up.claim": about}
        monkeypatch.setattr(studying, "claims", lambda: book)
        monkeypatch.setattr(studying, "COLLECTIVES", {"made_up": implementation})
        monkeypatch.setattr(confronting, "EXPERIMENTS", {"made.up.claim": bound})
        monkeypatch.setattr(confronting, "study_entries", lambda: {"made.up.claim": bound})
        confronting.claim_alpha.cache_clear()
        return confront("made.up.claim")

    yield run
    confronting.claim_alpha.cache_clear()


W = MEASURED
EVERYTHING = {
    "grid": grid,
    "enumerated": "n below 4",
    "corpus": by_hand,
    "cases": generated,
    "mutate": neighbour,
    "extremal": full,
}


def test_a_grid_proves_an_equality(confronted):
    finding = confronted(sp.Eq(W, k))
    assert finding.verdict is Verdict.ENUMERATED
    assert finding.as_stated
    (evidence,) = finding.evidence
    assert (evidence.method, evidence.cases) == (Method.EXACT, 6)
    assert evidence.detail == "n below 4"


def test_a_grid_refutes_with_the_first_case(confronted):
    finding = confronted(sp.Eq(W, k), twice)
    assert finding.verdict is Verdict.REFUTED
    assert not finding.as_stated
    found = finding.counterexample
    assert (found.subject, found.measured, found.bound) == ("made_up(n=1, k=1)", 2.0, 1.0)
    assert found.exact == "measured 2, bound 1"
    assert found.x == [[1.0], [1.0]]


@pytest.mark.parametrize("value", [0.5, np.float64(0.5)])
def test_a_grid_refuses_what_is_not_exact(confronted, value):
    finding = confronted(sp.Le(W, n), lambda values: value, tightness=1, extremal="all")
    assert finding.verdict is Verdict.ERROR
    assert "needs exact outcomes" in finding.message


def test_a_grid_takes_fractions_and_surds(confronted):
    for value in (Fraction(1, 2), sp.sqrt(2) / 2, np.int64(1)):
        assert confronted(sp.Le(W, n), lambda values, value=value: value).verdict is Verdict.ENUMERATED


def test_a_grid_without_an_admissible_case_is_an_error(confronted):
    study = {"grid": lambda level: iter([Case({"n": 1, "k": 2})]), "enumerated": "nothing"}
    assert "no admissible case" in confronted(sp.Eq(W, k), study=study).message


def test_every_method_speaks_and_tightness_is_attained(confronted):
    finding = confronted(sp.Le(W, n), study=EVERYTHING, tightness=1, extremal="k = n")
    assert finding.as_stated, finding.message
    assert [e.method for e in finding.evidence] == [Method.EXACT, Method.SEARCH, Method.ATTACK, Method.EXTREMAL]
    assert finding.tightness == 1.0
    assert finding.verdict is Verdict.ENUMERATED


def test_a_tightness_that_is_not_attained_is_told(confronted):
    finding = confronted(sp.Le(W, 2 * n), study=EVERYTHING, tightness=1, extremal="k = n")
    assert not finding.as_stated
    assert finding.message == "only 0.5 of the stated tightness was attained"


def test_an_extremal_case_that_is_not_extremal_is_told(confronted):
    study = {**EVERYTHING, "extremal": lambda budget: iter([Case({"n": 4, "k": 1})])}
    finding = confronted(sp.Le(W, n), study=study, tightness=1, extremal="k = 1")
    assert finding.message == "only 0.25 of the stated tightness was attained"


@pytest.mark.parametrize("method", ["grid", "corpus", "cases", "mutate"])
def test_every_method_alone_refutes(confronted, method):
    study = {method: EVERYTHING[method]}
    if method == "grid":
        study["enumerated"] = "n below 4"
    if method == "mutate":
        # the case by hand is within the bound, its neighbours are not
        study["corpus"] = lambda budget: iter([Case({"n": 9, "k": 1})])
    finding = confronted(sp.Le(W, 1), study=study, stands=Standing.REFUTED, extremal="k > 1", note="made up")
    assert finding.verdict is Verdict.REFUTED
    assert finding.as_stated
    assert finding.counterexample.measured > 1


def test_generated_counterexamples_shrink(confronted):
    finding = confronted(sp.Le(W, 3), study={"cases": generated}, stands=Standing.REFUTED, extremal="x", note="x")
    assert finding.counterexample.subject == "made_up(n=4, k=4)"


def test_a_lower_bound_is_tight_where_bound_over_measured_is_one(confronted):
    finding = confronted(sp.Ge(W, k / 2), study=EVERYTHING, tightness=sp.Rational(1, 2), extremal="any")
    assert finding.as_stated, finding.message
    assert finding.tightness == 0.5
    assert confronted(sp.Ge(W, k + 1)).verdict is Verdict.REFUTED


def test_a_refuted_claim_that_nothing_refutes_is_told(confronted):
    finding = confronted(sp.Le(W, n), stands=Standing.REFUTED, extremal="nothing", note="made up")
    assert finding.message == "the book says refuted, but nothing refutes it"


def shifted(shift):
    def draw(rng, count):
        return rng.uniform(-1.0, 1.0, count) * (1 - abs(shift)) + shift

    return lambda implementation: [Stream("uniform", draw, -1.0, 1.0), Stream("again", draw, -1.0, 1.0)]


def test_streams_are_consistent_or_refuted(confronted):
    finding = confronted(sp.Eq(W, 0), study={"streams": shifted(0.0)})
    assert finding.verdict is Verdict.CONSISTENT
    assert finding.as_stated
    (evidence,) = finding.evidence
    assert evidence.method is Method.SAMPLE
    assert evidence.cases == 2 * (QUICK.observations // 8)
    assert evidence.alpha == 1e-6
    assert 0 < evidence.detects < 0.2
    assert confronted(sp.Eq(W, 0), study={"streams": shifted(2 * evidence.detects)}).verdict is Verdict.REFUTED


def test_a_draw_outside_its_sure_range_refutes(confronted):
    def streams(_implementation):
        return [Stream("too far", lambda rng, count: np.full(count, 2.0), -1.0, 1.0)]

    finding = confronted(sp.Eq(W, 0), study={"streams": streams})
    assert finding.verdict is Verdict.REFUTED
    assert "outside its sure range" in finding.evidence[0].detail


def test_the_same_seed_gives_the_same_finding(confronted):
    def run():
        return confronted(sp.Le(W, n), study=EVERYTHING, tightness=1, extremal="k = n").to_json()

    assert run() == run()


def test_curves_are_drawn_from_the_implementation(confronted):
    def curves(implementation, seed):
        return [Series("made up", "k", [1.0], [1.0], [float(implementation({"k": 1, "n": 1}))])]

    finding = confronted(sp.Eq(W, k), study={"grid": grid, "enumerated": "x", "curves": curves})
    assert finding.series[0].worst == [1.0]


def test_a_curve_that_cannot_be_drawn_is_an_error(confronted):
    for x, bound in (([], []), ([1.0], [1.0, 2.0])):
        study = {"grid": grid, "enumerated": "x", "curves": lambda f, seed, x=x, b=bound: [Series("s", "k", x, b, b)]}
        finding = confronted(sp.Eq(W, k), study=study)
        assert finding.verdict is Verdict.ERROR
        assert "every list of a series must be as long as x" in finding.message


def test_methods_can_be_asked_one_by_one():
    assert set(METHODS) == set(Method)


def test_a_study_says_what_it_does():
    with pytest.raises(ValueError, match="nothing to confront"):
        Study("a.b.c", "made_up", trial)
    with pytest.raises(ValueError, match="must say what its grid enumerates"):
        Study("a.b.c", "made_up", trial, grid=grid)
    with pytest.raises(ValueError, match="no trial to measure them"):
        Study("a.b.c", "made_up", cases=generated)
    study = Study("a.b.c", "made_up", trial, cases=generated)
    with pytest.raises(ValueError, match="two studies for one claim"):
        studies(study, study)


def test_a_case_is_shown_in_few_words():
    assert str(Case({"P": 4, "family": "iid"}, np.ones((4, 100)))) == "P=4, family=iid"


# --- what a verdict must not hide -----------------------------------------------------------------------------------

FULL = Case({"n": 3, "k": 3})
CASES = {"corpus": lambda _budget: iter([Case({"n": size, "k": kept}) for size in (3, 8) for kept in (1, 2, 3)])}


def test_a_hypothesis_keeps_cases_out_and_the_finding_says_how_many(confronted):
    few = Hypothesis("few", "k is at most 2.", sp.Le(k, 2))
    small = Hypothesis("small", "n is odd.", lambda n: n % 2 == 1)
    finding = confronted(sp.Le(W, 2), study=CASES, assumes=(few, small))
    assert (finding.verdict, finding.left_out) == (Verdict.SURVIVED, {"few": 2, "small": 2})
    assert finding.evidence[0].cases == 2
    assert finding.evidence[0].scope == {"k": "1, 2", "n": "3"}


def test_a_hypothesis_that_nobody_can_answer_is_an_error(confronted):
    finding = confronted(sp.Le(W, n), study=CASES, assumes=(Hypothesis("odd", "P is odd.", lambda P: P % 2),))
    assert (finding.verdict, finding.message) == (Verdict.ERROR, "TypeError: condition of odd needs P")


def test_a_filter_hidden_in_a_trial_is_an_error(confronted):
    def hiding(implementation, case):
        return None if case.settings["k"] == 2 else Outcome(case.settings["k"], case.settings)

    finding = confronted(sp.Le(W, n), study={**CASES, "trial": hiding})
    assert finding.verdict is Verdict.ERROR
    assert finding.message.startswith("TypeError: a trial measures or raises, got None")


def test_a_regime_without_a_case_is_told(confronted):
    bound = sp.Piecewise((k, k < 4), (n, True))
    finding = confronted(sp.Le(W, bound), study=CASES)
    assert finding.regimes == {"k < 4": 6, "otherwise": 0}
    assert not finding.as_stated
    assert finding.message == "no case entered otherwise, a regime of the bound"
    assert confronted(sp.Le(W, bound), study=CASES, unentered=(("other*", "k is 3 at most here"),)).as_stated


def test_both_sides_of_a_minimum_are_regimes(confronted):
    finding = confronted(sp.Le(W, sp.Min(n, 2 * k)), study=CASES)
    assert finding.regimes == {"Min(2*k, n) = 2*k": 4, "Min(2*k, n) = n": 2}


def test_a_loose_term_is_told(confronted):
    finding = confronted(sp.Le(W, k + 4 * n), study=CASES)
    assert finding.as_stated
    assert "without the term k" in finding.untested
    assert "without the term 4*n" not in confronted(sp.Eq(W, k), study=CASES).untested
    explained = confronted(sp.Le(W, k + 4 * n), study=CASES, unpinned=(("*", "the made-up bound is loose"),))
    assert explained.untested == ()
    assert explained.explained == dict.fromkeys(finding.untested, "the made-up bound is loose")


def test_what_the_stated_tightness_leaves_room_for_is_no_gap_and_what_it_does_not_is(confronted):
    half = {"tightness": Fraction(1, 2), "extremal": "any", "study": {**CASES, "extremal": full}}
    finding = confronted(sp.Le(W, 2 * k), **half)
    assert finding.as_stated, finding.message
    assert finding.untested == ()  # 2 is less than k where k is 3, and 2 (k - 1) where k is 1
    assert finding.explained == {"0.9 times the bound": "still true: the stated tightness leaves room for it"}
    slack = confronted(sp.Le(W, 2 * k), lambda values: max(1, values["k"] - 1), study=CASES)
    assert "0.9 times the bound" in slack.untested


def test_a_neighbour_without_a_value_anywhere_is_none(confronted):
    bound = 4 * k / sp.sqrt(1 - 1 / (n + 3))
    assert "without the term 1" in [mutant.name for mutant in formula_mutants(bound)]
    assert "without the term 1" not in confronted(sp.Le(W, bound), study=CASES).untested


def test_what_pins_a_formula_down(confronted):
    finding = confronted(sp.Eq(W, k), study=CASES)
    assert finding.mutants > 0
    assert finding.untested == ()
    assert finding.pinned == (finding.mutants, finding.mutants)


def test_where_the_stated_tightness_is_zero_so_must_be_what_is_measured(confronted):
    given = {"tightness": sp.Max(0, 2 - k), "extremal": "k = 1", "study": CASES}
    finding = confronted(sp.Le(W, n * k), lambda values: values["n"] * (values["k"] == 1), **given)
    assert finding.as_stated
    assert confronted(sp.Le(W, n * k), **given).message == "measured / bound came to inf times the stated tightness"


def test_a_tightness_that_is_exceeded_is_told_for_every_standing(confronted):
    given = {"tightness": Fraction(1, 2), "extremal": "k = n", "study": {**CASES, "extremal": full}}
    finding = confronted(sp.Le(W, n), **given)
    assert finding.message == "measured / bound came to 2 times the stated tightness"
    refuted = confronted(sp.Le(W, n), lambda values: 3 * values["k"], stands=Standing.REFUTED, **given)
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.message == "measured / bound came to 6 times the stated tightness"


def test_cases_that_test_nothing_are_counted_and_none_else_is_an_error(confronted):
    def seldom(implementation, case):
        values = dict(case.settings)
        return Outcome(implementation(values), values, active=values["k"] == 3)

    def never(implementation, case):
        return replace(seldom(implementation, case), active=False)

    finding = confronted(sp.Le(W, n), study={**CASES, "trial": seldom})
    assert (finding.evidence[0].cases, finding.evidence[0].nontrivial) == (6, 2)
    finding = confronted(sp.Le(W, n), study={**CASES, "trial": never})
    assert finding.message == "ValueError: the search for made.up.claim met no case that could break the claim"
    zero = confronted(
        sp.Le(W, n - k), lambda values: 0, study={"grid": lambda level: iter([FULL]), "enumerated": "one"}
    )
    assert zero.message == "ValueError: the grid of made.up.claim holds no case that could break the claim"


def test_an_extremal_case_that_says_nothing_is_an_error(confronted):
    study = {**CASES, "extremal": full}
    finding = confronted(sp.Le(W, n - k), lambda values: 0, study=study, tightness=1, extremal="k = n")
    assert finding.message == "ValueError: the extremal cases of made.up.claim say nothing about its tightness"
