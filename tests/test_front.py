"""What the library offers to somebody at a prompt or in a notebook."""

import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import commbounds
from commbounds.collectives import ring_allreduce
from commbounds.compressors import TopK
from commbounds.theory import claims
from commbounds.theory.cost import cost
from commbounds.theory.schedules import IN_NODES, SCHEDULES
from commbounds.verify import conformance as cf
from commbounds.verify.finding import Counterexample, Evidence, Finding, Method, Series, Verdict

ROOMS = ("collectives", "compressors", "figures", "testing", "theory", "verify")


def test_rooms_are_imported_when_they_are_first_used():
    assert set(ROOMS) <= set(dir(commbounds))
    code = "import sys, commbounds as c\nfor room in {}: getattr(c, room); assert f'commbounds.{{room}}' in sys.modules"
    subprocess.run([sys.executable, "-c", code.format(ROOMS)], check=True)
    with pytest.raises(AttributeError, match=r"no attribute 'theories'; it has .*theory"):
        commbounds.theories  # noqa: B018


def test_claims_of_a_pattern_are_those_that_match_in_the_order_of_the_book():
    found = claims("quantizers.qsgd.*")
    assert list(found) == [name for name in claims() if name.startswith("quantizers.qsgd.")]
    assert len(found) > 3
    assert list(claims("*.topk.contraction")) == ["sparsifiers.topk.contraction"]
    assert set(claims("*unbiased")) == {name for name in claims() if name.endswith("unbiased")}
    with pytest.raises(KeyError, match=r"no claim matches 'quantizer\.\*'; did you mean quantizers"):
        claims("quantizer.*")


class Tags(HTMLParser):
    """What is open when the document ends, and the texts of its cells."""

    def __init__(self, document):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


FINDING = Finding(
    claim="sparsifiers.topk.contraction",
    verdict=Verdict.REFUTED,
    as_stated=False,
    evidence=(
        Evidence(Method.SEARCH, Verdict.REFUTED, 3, "3 < 4 & _", counterexample=Counterexample("A", [1.0], 0.5, 0.25)),
    ),
    series=(Series("n = 4", "k", [1.0, 2.0], [0.75, 0.5], [0.75, 0.625], [0.1, 0.1], [0.2, 0.2], [0.3, 0.3]),),
    tightness=1.25,
    message="the book says holds",
)
REPORT = cf.check(cf.Codec(lambda x, seed: x * 2, [cf.Contraction(alpha=0.5)]), only=["Contraction"])
RECORDS = {
    "claim": (claims()["sparsifiers.topk.contraction"], "Top-K is contractive with alpha = k/n"),
    "finding": (FINDING, "3 < 4 & _"),
    "compressor": (TopK(3), "sparsifiers.topk.contraction"),
    "traffic": (ring_allreduce(np.ones((3, 6)))[1], "words sent"),
    "cost": (cost(SCHEDULES["ring"]), "additions"),
    "cost in nodes": (cost(IN_NODES["hierarchical"]), "words within nodes"),
    "report": (REPORT, "Contraction(alpha=0.5)"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_notebook_shows_a_table(name):
    record, text = RECORDS[name]
    seen = Tags(record._repr_html_())
    assert not seen.open
    assert text in seen.texts
    latex = record._repr_latex_()
    assert latex.startswith(r"$\displaystyle \begin{array}")
    assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")


def test_a_table_of_a_claim_has_its_formula_whatever_its_text():
    for claim in list(claims().values())[::20]:
        assert not Tags(claim._repr_html_()).open
        assert claim.latex in claim._repr_latex_()


def test_reprs_are_one_short_line():
    assert repr(FINDING) == ("<Finding sparsifiers.topk.contraction: refuted; the book says holds; tightness 1.25>")
    assert repr(RECORDS["claim"][0]) == "<Claim sparsifiers.topk.contraction: Top-K is contractive with alpha = k/n>"
    assert repr(RECORDS["traffic"][0]) == (
        "<Traffic P=3: at most 8 words sent and 8 received by a rank, 4 steps, critical path of 8 words, "
        "phases reduce-scatter, all-gather>"
    )
    assert repr(REPORT) == f"<Report {REPORT.subject}: 0 pass, 1 fail, 0 not judged>"


def test_a_finding_is_plotted_on_axes_that_are_given():
    from matplotlib.figure import Figure

    given = Figure().gca()
    assert FINDING.plot(given) is given
    lines = {line.get_label(): list(line.get_ydata()) for line in given.lines}
    assert lines["bound"] == [0.75, 0.5]
    assert lines["worst found"] == [0.75, 0.625]
    assert lines["random median"] == [0.2, 0.2]
    assert given.get_ylabel() == "relative error"
    with pytest.raises(ValueError, match="series must be below the number of series"):
        FINDING.plot(given, series=1)
