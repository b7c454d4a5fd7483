import math
from dataclasses import replace

import pytest

from commbounds.figures.status import MEANING, TIGHT, number, ratio, status
from commbounds.figures.style import COLOURS, GRADIENTS
from commbounds.verify import gradients
from commbounds.verify.finding import Verdict

EXPECTED = {
    "topk.contraction": "● tight 1.000 · enumerated",
    "qsgd.variance": "◐ loose 0.260 · consistent",
    "topk.global_contraction": "✕ refuted ×2.0e6",
    "signs.identity": "= exact · enumerated",
    "signs.scale_equivariance": "✕ refuted",
    "topk.moment": "◐ loose 0.800 · survived",
    "powersgd.broken": "! error",
}


def test_words_follow_verdict_relation_and_tightness(findings, book):
    for finding in findings:
        short = finding.claim.partition(".")[2]
        seen = status(finding, book[finding.claim])
        assert seen.word in MEANING
        assert seen.word in COLOURS
        assert seen.text == EXPECTED.get(short, seen.text)


@pytest.mark.parametrize(
    ("name", "tightness", "word"),
    [
        ("topk.contraction", None, "holds"),
        ("topk.contraction", TIGHT, "tight"),
        ("topk.contraction", math.nextafter(TIGHT, 0), "loose"),
        ("topk.moment", 1.0, "tight"),
        ("topk.moment", 0.99, "loose"),
        ("topk.moment", 0.0, "loose"),
    ],
)
def test_tight_ends_where_it_says(findings, book, name, tightness, word):
    finding = next(f for f in findings if f.claim.endswith(name))
    finding = replace(finding, verdict=Verdict.SURVIVED, tightness=tightness)
    assert status(finding, book[finding.claim]).word == word


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (0.0, "0.000"),
        (0.26, "0.260"),
        (1e-8, "1.0e-8"),
        (-1234.0, "-1.2e3"),
    ],
)
def test_numbers_for_reading(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.99854, "0.998"), (0.9989999, "0.998"), (TIGHT, "0.999"), (0.9996, "1.000"), (0.26, "0.260")],
)
def test_what_is_not_tight_does_not_read_as_tight(value, text):
    assert ratio(value) == text


def test_every_kind_of_gradient_has_its_own_look():
    assert tuple(GRADIENTS) == gradients.KINDS
    assert len(set(GRADIENTS.values())) == len(GRADIENTS)
    assert len(set(COLOURS.values())) == len(COLOURS)
