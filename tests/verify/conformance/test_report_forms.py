"""Reports as data, JUnit XML, a page and a badge: what they say, what they refuse, and what they escape."""

import json
from dataclasses import asdict, replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import jsonschema
import pytest

from commbounds.figures.check_page import page
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import badge
from commbounds.verify.conformance.baseline import changes
from commbounds.verify.conformance.junit import junit

PASS, FAIL, EXPECTED, UNKNOWN = cf.CheckVerdict
HOLDS = cf.CheckFinding("Idempotent()", PASS, "12 cases", e_value=float("inf"), alpha=1e-6, detects=0.125)
FAILS = cf.CheckFinding("Unbiased()", FAIL, "3 cases", "off by 2", [1.0, -2.0], 5, "print(1)")
KNOWN = FAILS.expecting("stores float16")
SILENT = cf.CheckFinding("Bits(at_most=8)", UNKNOWN, message="the subject does not count bits")
REPORT = cf.Report("mine", (HOLDS, FAILS, SILENT), "quick", 3, {"numpy": "2.0"})
EVIL = "<script>alert(1)</script> ]]> & \" ' \x00\x1b[2J \ud800 \ufffe"


def test_an_expected_failure_is_none_and_a_pass_is_one():
    assert KNOWN.verdict is EXPECTED
    assert HOLDS.expecting("no").verdict is FAIL
    assert SILENT.expecting("no").verdict is UNKNOWN
    assert not REPORT.passed
    report = replace(REPORT, findings=(HOLDS, KNOWN))
    assert report.passed
    assert report.expected == (KNOWN,)
    assert report.counts == "1 pass, 0 fail, 1 expected failure, 0 not judged"


# --- data --------------------------------------------------------------------------------------------------------

SCHEMA = jsonschema.Draft202012Validator(cf.schema())


def agreed(data):
    """Whether a report is one, as the schema and the reader say."""
    try:
        cf.report_from_json(json.dumps(data))
        read = True
    except ValueError:
        read = False
    assert SCHEMA.is_valid(data) is read, data
    return read


def test_reports_come_back_as_they_were():
    for report in (REPORT, replace(REPORT, findings=(HOLDS, KNOWN, SILENT)), replace(REPORT, findings=())):
        assert cf.report_from_json(report.to_json()) == report
        assert agreed(json.loads(report.to_json()))


WRONG = (None, True, 1, 1.5, "inf", "text", [], [1], {}, {"a": 1}, [["x"]])


@pytest.mark.parametrize("of_finding", [False, True])
def test_schema_and_reader_agree_on_every_field(of_finding):
    good = json.loads(REPORT.to_json())
    names = asdict(HOLDS) if of_finding else asdict(REPORT)
    refused = set()
    for name in names:
        for value in WRONG:
            data = json.loads(REPORT.to_json())
            (data["findings"][0] if of_finding else data)[name] = value
            refused |= set() if agreed(data) else {name}
        data = json.loads(REPORT.to_json())
        (data["findings"][0] if of_finding else data).pop(name)
        agreed(data)
    assert refused == set(names)
    assert not agreed({**good, "colour": "red"})
    assert not agreed([good])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not a report: Expecting"),
        ("[" * 100_000, "not a report: it is nested too deeply"),
        ('{"subject": "mine", "findings": [{"claim": 1, "verdict": "pass"}]}', r"findings\[0\]\.claim must be a text"),
        ('{"subject": "mine"}', "findings is missing"),
    ],
)
def test_what_is_no_report_is_refused_with_the_place(tmp_path, line, said):
    with pytest.raises(ValueError, match=said):
        cf.report_from_json(line)
    (tmp_path / "old.jsonl").write_text(f"{REPORT.to_json()}\n{line}\n")
    with pytest.raises(ValueError, match=r"old\.jsonl, line 2: not a report"):
        cf.reports_from(tmp_path / "old.jsonl")


def test_bytes_that_are_no_text_and_files_that_are_none_are_said(tmp_path):
    (tmp_path / "old.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match=r"old\.jsonl, line 1: 'utf-8' codec"):
        cf.reports_from(tmp_path / "old.jsonl")
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        cf.reports_from(tmp_path / "none.jsonl")


# --- JUnit -------------------------------------------------------------------------------------------------------


def test_junit_tells_failures_from_what_was_expected_or_not_judged():
    report = replace(REPORT, findings=(HOLDS, FAILS, replace(KNOWN, claim="Support(k=2)"), SILENT))
    (suite,) = ElementTree.fromstring(junit([report], {("mine", "Unbiased()"): 1.25}))
    told = {"name": "mine", "tests": "4", "failures": "1", "skipped": "2", "errors": "0", "time": "1.250"}
    assert suite.attrib == told
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert cases["Unbiased()"].get("time") == "1.250"
    assert cases["Unbiased()"].find("failure").get("message") == "off by 2"
    assert cases["Unbiased()"].find("failure").text == "off by 2\nat [1.0, -2.0], seed 5\nprint(1)"
    assert cases["Support(k=2)"].find("skipped").get("message") == "expected: stores float16"
    assert cases["Bits(at_most=8)"].find("skipped").get("message") == "the subject does not count bits"
    assert cases["Idempotent()"].find("system-out").text == "12 cases"
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties == {"budget": "quick", "seed": "3", "numpy": "2.0"}


def test_junit_is_xml_whatever_a_subject_is_called():
    evil = replace(REPORT, subject=EVIL, findings=(replace(FAILS, claim=EVIL, message=EVIL, reproduce=EVIL),))
    (suite,) = ElementTree.fromstring(junit([evil]).encode())
    assert suite.get("name").startswith("<script>alert(1)</script> ]]> & \" ' \\x00\\x1b[2J \\ud800 \\ufffe")


# --- page and badge ----------------------------------------------------------------------------------------------


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)


def test_the_page_shows_every_finding_and_obeys_none():
    evil = replace(FAILS, claim=EVIL, message=EVIL, reproduce=EVIL)
    made = page([REPORT, replace(REPORT, subject="other", findings=(KNOWN, evil))])
    for said in (
        "off by 2",
        "12 cases",
        "violations above 0.12 would be seen",
        "expected: stores float16",
        "[1.0, -2.0]",
    ):
        assert said in made
    tags = _Tags()
    tags.feed(made)
    assert "script" not in tags.seen
    assert tags.seen.count("tr") == 2 + 5
    assert "Since the baseline" not in made
    assert "Nothing changed" in page([REPORT], [])


@pytest.mark.parametrize(
    ("findings", "message", "colour"),
    [
        ((HOLDS, FAILS, SILENT), "1 of 2 claims fail", "red"),
        ((HOLDS, SILENT), "1 claim holds", "brightgreen"),
        ((HOLDS, HOLDS, KNOWN), "2 claims hold, 1 known to fail", "yellow"),
        ((SILENT,), "no claim judged", "yellow"),
    ],
)
def test_the_badge_says_what_failed(findings, message, colour):
    reports = [replace(REPORT, findings=findings)]
    told = json.loads(badge.endpoint(reports))
    assert told == {"schemaVersion": 1, "label": "commbounds", "message": message, "color": colour}
    assert message in "".join(ElementTree.fromstring(badge.picture(reports)).itertext())


# --- baseline ----------------------------------------------------------------------------------------------------


def test_what_changed_is_said_and_nothing_else():
    old = [REPORT, replace(REPORT, subject="not judged today")]
    now = replace(REPORT, findings=(replace(HOLDS, evidence="13 cases"), replace(SILENT, verdict=FAIL), KNOWN))
    found = changes(old, [replace(now, findings=(*now.findings, replace(HOLDS, claim="Support(k=2)")))])
    assert [(c.claim, c.worse) for c in found] == [
        ("Bits(at_most=8)", True),
        ("Unbiased()", False),
        ("Support(k=2)", False),
    ]
    assert str(found[1]) == "mine: Unbiased(): fail -> expected failure: off by 2"
    assert str(found[2]) == "mine: Support(k=2): new -> pass"
    (gone,) = changes([REPORT], [replace(REPORT, findings=(HOLDS, SILENT))])
    assert str(gone) == "mine: Unbiased(): fail -> not there any more"
    assert changes([REPORT], [REPORT]) == []
