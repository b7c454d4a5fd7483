"""Findings survive their JSON form."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.verify import Counterexample, Evidence, Finding, Method, Series, Verdict
from commbounds.verify.finding import finding_from_json

number = st.floats(allow_nan=False)
counterexamples = st.builds(
    Counterexample, st.text(), st.lists(number | st.lists(number)), number, number, st.text(), st.integers(0, 2**31)
)
evidence = st.builds(
    Evidence,
    st.sampled_from(Method),
    st.sampled_from(Verdict),
    st.integers(0, 10**12),
    st.text(),
    *[st.none() | number] * 4,
    st.none() | counterexamples,
)
curves = st.builds(
    Series, st.text(), st.text(), *[st.lists(number)] * 6, st.dictionaries(st.text(), st.lists(number), max_size=2)
)
findings = st.builds(
    Finding,
    st.text(min_size=1),
    st.sampled_from(Verdict),
    st.booleans(),
    st.lists(evidence, max_size=2).map(tuple),
    st.lists(curves, max_size=1).map(tuple),
    st.none() | number,
    st.dictionaries(st.text(), st.text(), max_size=2),
    st.integers(0, 2**63),
    st.sampled_from(("quick", "standard", "thorough")),
    st.dictionaries(st.text(), st.text(), max_size=2),
    st.text(),
)


@given(findings)
def test_round_trip(finding):
    line = finding.to_json()
    assert "\n" not in line
    assert finding_from_json(line) == finding


def test_lines_are_json_for_any_reader_even_with_infinities():
    example = Counterexample("C()", [math.inf, [-math.inf]], math.inf, -math.inf)
    series = Series("n", "n", [1.0], [math.inf], [0.0], gradients={"iid, early": [1.5]})
    finding = Finding(
        "a.b",
        Verdict.REFUTED,
        True,
        (Evidence(Method.EXACT, Verdict.REFUTED, 1, "", math.inf, counterexample=example),),
        (series,),
        math.inf,
    )
    line = finding.to_json()

    def refuse(constant):
        raise AssertionError(constant)

    assert json.loads(line, parse_constant=refuse)["verdict"] == "refuted"
    assert finding_from_json(line) == finding


def test_nan_comes_back_as_nan():
    series = Series("n", "n", [1.0], [2.0], [math.nan], gradients={"iid, early": [math.nan, 1.0]})
    back = finding_from_json(Finding("a.b", Verdict.ENUMERATED, True, (), (series,)).to_json())
    assert math.isnan(back.series[0].worst[0])
    assert math.isnan(back.series[0].gradients["iid, early"][0])
    assert back.series[0].gradients["iid, early"][1] == 1.0


def test_the_counterexample_is_the_first_one():
    first, second = (Counterexample("C()", [v], v, 0.0) for v in (1.0, 2.0))
    none = Evidence(Method.INJECT, Verdict.SURVIVED, 1, "")
    some = [Evidence(Method.SEARCH, Verdict.REFUTED, 1, "", counterexample=e) for e in (first, second)]
    assert Finding("a.b", Verdict.REFUTED, True, (none, *some)).counterexample is first
    assert Finding("a.b", Verdict.ENUMERATED, True, (none,)).counterexample is None


GOOD = json.loads(Finding("a.b", Verdict.ENUMERATED, True, ()).to_json())


@pytest.mark.parametrize(
    "line",
    [
        "",
        "3",
        "null",
        "[]",
        "{}",
        "{",
        json.dumps({k: v for k, v in GOOD.items() if k != "evidence"}),
        json.dumps({**GOOD, "verdict": "maybe"}),
        json.dumps({**GOOD, "surprise": 1}),
        json.dumps({**GOOD, "evidence": [{"method": "exact"}]}),
        json.dumps({**GOOD, "series": [{"label": "x"}]}),
        json.dumps({**GOOD, "evidence": 3}),
        json.dumps({**GOOD, "tightness": {"float": "seven"}}),
    ],
)
def test_what_is_no_finding_is_refused(line):
    with pytest.raises(ValueError, match=r".+"):
        finding_from_json(line)


def altered(**fields):
    """A finding's line with some fields changed, by their paths."""
    evidence = (Evidence(Method.SEARCH, Verdict.SURVIVED, 3, ""),)
    data = json.loads(Finding("a.b", Verdict.SURVIVED, True, evidence).to_json())
    for path, value in fields.items():
        *into, last = path.split("__")
        target = data
        for step in into:
            target = target[int(step) if step.isdigit() else step]
        target[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (altered(evidence__0__cases="many"), r"evidence\[0\]\.cases must be an integer, got 'many'"),
        (altered(evidence__0__cases=True), r"evidence\[0\]\.cases must be an integer, got True"),
        (altered(evidence__0__verdict="sure"), r"evidence\[0\]\.verdict must be one of proved, "),
        (altered(evidence__0__scope=["P"]), r"evidence\[0\]\.scope must be an object"),
        (altered(evidence__0__tightness="1"), r"evidence\[0\]\.tightness must be a number"),
        (altered(evidence__0__counterexample={"subject": "C()"}), r"counterexample\.x is missing"),
        (altered(evidence__0__why=1), r"evidence\[0\]\.'why' is no field"),
        (altered(as_stated="yes"), "as_stated must be true or false, got 'yes'"),
        (altered(as_stated=1), "as_stated must be true or false, got 1"),
        (altered(claim=3), "claim must be a text"),
        (altered(seed=1.5), "seed must be an integer"),
        (altered(regimes={"a": "b"}), r"regimes\['a'\] must be an integer"),
        (altered(untested={}), "untested must be a list"),
        (altered(tightness={"float": "seven"}), "tightness must be a number"),
        (altered(tightness={"float": [1]}), "tightness must be a number"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=range(16),
)
def test_a_field_of_another_type_is_named(line, said):
    with pytest.raises(ValueError, match=said):
        finding_from_json(line)
