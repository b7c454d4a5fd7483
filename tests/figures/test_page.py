import re
from dataclasses import replace

import pytest
import sympy as sp
from page_reading import parsed, shown

from commbounds.figures import save, single
from commbounds.theory import Claim, Hypothesis, Source, Tag
from commbounds.theory import quantities as q
from commbounds.verify.finding import Evidence, Finding, Method, Verdict

# what is asserted here of the single page is asserted of the site by default
pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def page(findings, book, tmp_path_factory):
    path = single(findings, tmp_path_factory.mktemp("page") / "deep" / "report", book)
    assert path.name == "index.html"
    return path.read_text("utf-8")


def test_page_is_well_formed_and_its_links_lead_somewhere(page, book):
    checked = parsed(page)
    assert page.startswith("<!doctype html>")
    assert len(checked.ids) == len(set(checked.ids))
    works = {claim.source.link for claim in book.values()}
    assert {link for link in checked.links if not link.startswith("#")} <= works
    assert {link[1:] for link in checked.links if link.startswith("#")} <= set(checked.ids)


def test_page_loads_nothing(page):
    loaded = re.sub(r'<a href="[^"]*"', "", page)  # a link is followed, not loaded
    addresses = set(re.findall(r"https?://[^\"' <)]+", loaded))
    assert addresses <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1999/xlink",
    }
    assert not re.search(r"@import|url\((?!#)|<(link|iframe|img|object)\b|fetch\(|import\(", page)


def test_every_finding_has_row_section_figure_formula_and_command(page, findings, book):
    checked = parsed(page)
    text = "".join(checked.text)
    rows = [a for tag, a in checked.tags if tag == "tr" and "data-text" in a]
    sections = {a["id"] for tag, a in checked.tags if tag == "article" and "id" in a}
    assert len(rows) == len(findings)
    assert sections == {f.claim for f in findings}
    assert sum(tag == "svg" for tag, _ in checked.tags) == len(findings)
    assert sum(tag == "math" for tag, _ in checked.tags) >= 2 * len(findings)
    for finding in findings:
        claim = book[finding.claim]
        assert finding.claim in text
        assert f"commbounds verify {finding.claim} --budget quick --seed 0" in text
        for words in (claim.title, claim.quantity.meaning, claim.source.work, claim.note, claim.extremal):
            assert shown(words) in text
    assert "plain <b>text</b>" in text


def test_what_fails_stands_on_top_with_its_correction_and_counterexample(page):
    top, lacking = page[page.index('id="failing"') : page.index('id="summary"')].split('id="lacking"')
    assert top.count('class="card"') == 3
    assert 'href="#synthetic.signs.scale_equivariance"' in lacking
    assert 'href="#synthetic.signs.identity"' in top
    assert "2 disagree with the book" in page
    assert "(1, -2, 0.1)" in page
    assert "(1, 0)\n(0, 0.125)" in page
    assert "the first 64 of 99 entries" in page
    assert "exactly 4/5 &gt; 3/4" in page


def test_tiles_filter_for_as_many_rows_as_they_count(page):
    tiles = re.findall(r'data-filter="(is:\w+)".*?<b>(\d+)</b>', page)
    rows = re.findall(r'<tr data-text="([^"]*)"', page)
    assert {word: int(count) for word, count in tiles} == {
        word: sum(word in row for row in rows)
        for word in ("is:tight", "is:loose", "is:exact", "is:refuted", "is:error")
    }


def test_sections_say_what_was_found_and_what_the_book_says(page):
    text = "".join(parsed(page).text)
    assert "enumerated · approached to measured / bound = 1.000 · the book says: holds" in text
    assert "passed by the factor 2.0e6 · the book says: refuted" in text
    assert "passed by the factor 1.070 · the book says: holds as corrected" in text
    found = re.findall(r'data-filter="verdict:(\w+)"><b>(\d+)</b>', page)
    assert dict(found) == {"enumerated": "3", "survived": "3", "consistent": "1", "refuted": "4", "error": "1"}


def test_statements_are_counted_by_who_makes_them(page):
    table = page[page.index('<table class="origins">') :].partition("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in table.split("<tr>")[2:]]
    assert rows == [
        ["printed", "official code", "1", "1", "0", "0"],
        ["printed", "recalled", "9", "6", "1", "2"],
        ["our own", "derived", "2", "1", "0", "1"],
    ]
    assert "No source was read in full." in page


def test_what_was_tested_and_what_not_is_on_the_card(page):
    card = page[page.index('<article class="claim tight" id="synthetic.topk.contraction"') :].partition("</article>")[0]
    text = "".join(parsed(f"{card}</article>").text)
    assert "5 of 7 neighbours are refuted by some case; not tested: k + 1 for k, 0.9 times the bound" in text
    assert "P: 1, 2, 3; n: 1 to 5" in text
    assert "equal: all entries have one magnitude (12 cases kept out)" in text
    assert "3 cases: too large a law" in text
    assert "Entries of the vector" not in text  # a synthetic claim is in no column that defines its letters


def test_sources_show_how_we_know_them(page):
    text = "".join(parsed(page).text)
    assert "recalled" in text
    assert shown("Another line: a < b & c > d.") in text


def test_same_findings_give_the_same_bytes_in_any_order(page, findings, book, tmp_path):
    assert single(findings[::-1], tmp_path, book).read_text("utf-8") == page
    stale = replace(findings[0], verdict=Verdict.REFUTED)
    assert single([stale, *findings], tmp_path, book).read_text("utf-8") == page
    assert [p.name for p in tmp_path.iterdir()] == ["index.html"]


def test_hostile_strings_are_escaped(tmp_path):
    evil = "<script>alert('x')</script>\"'&{{ 7*7 }}{% raw %}"
    claim = Claim(
        name="evil.one.two",
        title=evil,
        relation=sp.Eq(q.BITS, q.n),
        source=Source(evil, evil, Tag.DERIVED, evil),
        assumes=(Hypothesis("evil", evil),),
        extremal=evil,
        note=evil,
    )
    finding = Finding(
        claim.name,
        Verdict.SURVIVED,
        False,
        (Evidence(Method.SEARCH, Verdict.SURVIVED, 1, evil),),
        parameters={evil: evil},
        versions={evil: evil},
        budget=evil,
        message=evil,
    )
    checked = parsed(single([finding], tmp_path, {claim.name: claim}).read_text("utf-8"))
    assert [tag for tag, _ in checked.tags].count("script") == 1
    text = "".join(checked.text)
    assert text.count(evil) + text.count(shown(evil)) >= 15  # in places of plain words, and where formulas are set


def test_claims_that_were_not_run_are_counted(findings, book, tmp_path):
    page = single(findings[:1], tmp_path, book).read_text("utf-8")
    assert "Every finding agrees with the book; 11 of its claims were not run." in page
    assert 'id="failing"' not in page


def test_nothing_to_report_is_refused(findings, tmp_path):
    with pytest.raises(ValueError, match="findings must not be empty"):
        single([], tmp_path)
    with pytest.raises(ValueError, match="the book has no claim called 'synthetic"):
        single(findings, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_page_of_a_hundred_claims_stays_below_six_megabytes(page, findings):
    assert len(page.encode()) / len(findings) * 120 < 6e6


def test_what_every_compressor_is_asked_is_a_table_without_figures(tmp_path):
    found = [
        Finding("quantizers.sign.unbiased", Verdict.REFUTED, True, ()),
        Finding("quantizers.sign.sign_symmetry", Verdict.ENUMERATED, True, ()),
        Finding("quantizers.sign.sign_symmetry_zeros", Verdict.REFUTED, True, ()),
        Finding("quantizers.nearestpower.idempotence", Verdict.ENUMERATED, True, ()),
    ]
    text = single(found, tmp_path).read_text(encoding="utf-8")
    assert "<article" not in text.partition('id="summary"')[2]
    assert "<svg" not in text
    table = text[text.index('<table class="asked">') :].partition("</table>")[0]
    assert re.findall(r"<th>([^<]*)</th>", table) == [
        "Implementation",
        "unbiased?",
        "commutes with a change of sign?",
        "idempotent?",
    ]
    rows = [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in table.split("<tr ")[1:]]
    answers = [[re.findall(r"<b>(\w+)</b>", cell) for cell in row[1:]] for row in rows]
    assert answers == [[["no"], ["yes", "no"], []], [[], [], ["yes"]]]
    assert save(found, tmp_path / "figures") == []
