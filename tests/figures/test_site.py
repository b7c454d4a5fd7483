"""The site: pages that link to one another and load nothing else, data that keep their schemas, what is replaced."""

import json
import math
import posixpath
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import jsonschema
import pytest
import sympy as sp
from page_reading import parsed, shown

from commbounds.figures import report, single
from commbounds.figures.entries import Chapter, entries_of, vector
from commbounds.figures.picture import palette, picture, size
from commbounds.figures.prose import prose
from commbounds.figures.publishing import FILES, published
from commbounds.figures.site.data import TABLES
from commbounds.figures.site.graph import graph
from commbounds.figures.site.pages import shelves
from commbounds.figures.status import MEANING, status
from commbounds.figures.style import COLOURS, SERIES
from commbounds.figures.trends import course, described, described_exhibit
from commbounds.theory import Claim, Hypothesis, Source, Standing, Tag
from commbounds.theory import quantities as q
from commbounds.theory.book import claims, columns
from commbounds.theory.column import Synopsis, claims_named, former_names
from commbounds.verify.exhibit import Exhibit, Heat, Line, Panel
from commbounds.verify.finding import Evidence, Finding, Method, Series, Verdict
from commbounds.verify.writing import written

MAP = Heat([0.01, 0.1], [2.0, 4.0], [[0.0, 1.0], [0.0, 0.0]], ["sparse", "dense"])
EXHIBIT = Exhibit(
    "synthetic.words",
    "A <title> & more",
    "Its caption.",
    (
        Panel("first", "ranks", "words", (Line("ring", [1.0, 2.0], [1.0, 1.5]), Line("flat", [1.0, 2.0], [2.0, 2.0]))),
        Panel("second", "k/n", "ranks", heat=MAP),
    ),
)

WORK = "https://arxiv.org/abs/0001.00001v2"
"""Where a made-up paper is found."""
EXHIBITS = [EXHIBIT, replace(EXHIBIT, name="synthetic.topk", panels=EXHIBIT.panels[:1])]


@pytest.fixture(scope="module")
def site(findings, book, tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "deep" / "report"
    first = report(findings, out, book, EXHIBITS, address="https://example.org/checked/")
    assert first == out / "index.html"
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def code(book):
    return book["synthetic.qsgd.variance"].source.code


def main_of(page):
    return page[page.index('<main id="main">') : page.index("</main>")]


def test_pages_are_well_formed_and_their_links_lead_somewhere(site, pages, code):
    read = {name: parsed(page) for name, page in pages.items()}
    for name, checked in read.items():
        assert pages[name].lstrip().startswith("<!doctype html>")
        assert len(checked.ids) == len(set(checked.ids)), name
        for link in checked.links:
            path, _, anchor = link.partition("#")
            target = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), path.partition("?")[0])) if path else name
            )
            if link in (code.link, WORK):
                continue
            assert not re.match(r"[a-z]+:|/", link), (name, link)
            assert (site / target).is_file(), (name, link)
            if anchor:
                assert anchor in read[target].ids, (name, link)


def test_code_that_was_read_has_a_permanent_link_on_the_claims_page(site, pages, code):
    assert code.link == f"https://github.com/nobody/made-up/blob/{'0123456789' * 4}/src/loop.py#L7-L9"
    (page,) = (text for name, text in pages.items() if name == "c/synthetic.qsgd.variance.html")
    assert f'<a href="{code.link}">' in page
    words = "".join(parsed(page).text)
    assert "nobody/made-up at 0123456, src/loop.py, lines 7 to 9; setting: loop=True" in words
    assert "upstream: mended in 2000000 <by hand>" in words
    assert not [name for name, text in pages.items() if code.link in text and not name.startswith("c/synthetic.qsgd.v")]
    data = json.loads((site / "data" / "claims.json").read_text("utf-8"))["claims"]
    assert [row["name"] for row in data if row["source"]["code"]] == ["synthetic.qsgd.variance"]


def test_a_work_with_an_identifier_is_linked_and_can_be_cited(site, pages, book):
    (name, *_) = (claim.name for claim in book.values() if claim.source.link)
    page = pages[f"c/{name}.html"]
    assert f'<a href="{WORK}">' in page
    cited = "".join(parsed(page).text)
    assert "@misc{nobody1900,\n  author = {A. Nobody and Q. Nobody and others}," in cited
    assert "title = {{A made-up paper \\& more}},\n  year = {1900},\n  url = {" + WORK in cited
    rows = json.loads((site / "data" / "claims.json").read_text("utf-8"))["claims"]
    assert {row["source"]["link"] for row in rows} == {"", WORK}
    assert "@misc{nobody" not in pages["c/synthetic.qsgd.variance.html"]  # a program has no authors, year and title


def test_a_claim_can_be_cited_without_an_address(findings, book, tmp_path):
    """The entry of the page names the file, and the release, budget and seed that make it again."""
    finding = next(each for each in findings if book[each.claim].source.link)
    report([finding], tmp_path / "report", {finding.claim: book[finding.claim]}, {})
    cited = "".join(parsed((tmp_path / "report" / "c" / f"{finding.claim}.html").read_text("utf-8")).text)
    where = cited[cited.index(f"@misc{{commbounds:{finding.claim},") :]
    assert f"howpublished = {{c/{finding.claim}.html of a report by commbounds}}" in where
    made = f"budget {finding.budget}, seed {finding.seed}"
    assert re.search(rf"note = {{commbounds \S+, claim {finding.claim}: \w+, {made}}}", where)
    assert "@misc{nobody1900," in where
    assert "None" not in where[: where.index("@misc{nobody1900,")]


def test_pages_load_nothing_from_elsewhere(site, code):
    allowed = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML", "http://www.w3.org/1999/xlink"}
    for path in (*site.rglob("*.html"), *site.rglob("*.css"), *site.rglob("*.js"), *site.rglob("*.svg")):
        text = path.read_text("utf-8").replace("https://example.org/checked/", "").replace(f"url = {{{WORK}}}", "")
        text = text.replace(f'<a href="{code.link}"', "").replace(f'<a href="{WORK}"', "")
        assert set(re.findall(r"https?://[^\"' <)]+", text)) <= allowed, path
        assert not re.search(r"@import|url\((?!#)|<(iframe|object)\b|fetch\(|import\(", text), path


def test_every_finding_has_a_page_with_all_that_is_known(pages, findings, book):
    for finding in findings:
        claim = book[finding.claim]
        page = pages[f"c/{finding.claim}.html"]
        text = "".join(parsed(page).text)
        assert f"commbounds verify {finding.claim} --budget quick --seed 0" in text
        assert "<math" in main_of(page)
        assert f"@misc{{commbounds:{finding.claim}," in text
        assert f"url = {{https://example.org/checked/c/{finding.claim}.html}}" in text
        for words in (claim.title, claim.quantity.meaning, claim.source.work, claim.note, claim.extremal):
            assert shown(words) in text
        for hypothesis in claim.assumes:
            assert shown(hypothesis.statement) in text
            assert f'href="../h/{hypothesis.name}.html"' in page
    assert "plain <b>text</b>" in "".join(parsed(pages["c/synthetic.signs.sign_symmetry.html"]).text)


def test_every_curve_has_a_figure_in_words_too_and_what_has_none_a_sentence(site, pages, findings, book):
    for finding in findings:
        images = [a for tag, a in parsed(pages[f"c/{finding.claim}.html"]).tags if tag == "img"]
        if not finding.series:
            assert images == []
            assert described(finding, book[finding.claim]).partition(". ")[2] in pages[f"c/{finding.claim}.html"]
            continue
        (image,) = images
        assert image["src"] == f"../figures/{finding.claim}.svg"
        assert image["loading"] == "lazy"
        assert image["alt"] == described(finding, book[finding.claim])
        assert all(series.label in image["alt"] for series in finding.series)
        drawing = ElementTree.parse(site / "figures" / f"{finding.claim}.svg").getroot()
        assert (drawing.get("width"), drawing.get("height")) == (image["width"], image["height"])


def test_drawings_know_light_and_dark(site):
    light, dark = palette()
    assert set(light) == set(dark) >= {*COLOURS, *SERIES}
    text = (site / "figures" / "synthetic.words.svg").read_text("utf-8")
    style = text[text.index("<style>") : text.index("</style>")]
    assert f"--blue:{light['blue']}" in style.partition("@media")[0]
    assert f"--blue:{dark['blue']}" in style.partition("@media(prefers-color-scheme:dark)")[2]
    assert set(re.findall(r"var\(--(\w+)\)", text)) == set(re.findall(r"--(\w+):", style))
    with pytest.raises(ValueError, match="must have a viewBox"):
        size("<svg></svg>")
    assert 'role="img"' in picture(text, "a &amp; b")


def test_the_first_page_counts_what_was_found(pages, findings, book):
    first = pages["index.html"]
    tiles = dict(re.findall(r'href="index.html\?q=is:\w+" class="tile (\w+)"><b>(\d+)</b>', first))
    seen = [status(finding, book[finding.claim]).word for finding in findings]
    assert tiles == {word: str(seen.count(word)) for word in MEANING if word in seen}
    verdicts = dict(re.findall(r'href="index.html\?q=verdict:(\w+)"><b>(\d+)</b>', first))
    assert verdicts == {"enumerated": "3", "survived": "3", "consistent": "1", "refuted": "4", "error": "1"}
    assert "2 disagree with the book" in first
    table = first[first.index('<table class="origins">') :].partition("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in table.split("<tr>")[2:]]
    assert rows == [
        ["printed", "official code", "1", "1", "0", "0"],
        ["printed", "recalled", "9", "6", "1", "2"],
        ["our own", "derived", "2", "1", "0", "1"],
    ]
    assert "7 of 10 printed, 1 of 2 our own hold as stated" in first


def test_what_is_trained_with_now_stands_apart_from_the_ground_of_the_systems():
    ground, practice, system, bare = (
        SimpleNamespace(synopsis=synopsis)
        for synopsis in (SimpleNamespace(practice=False), SimpleNamespace(practice=True), SimpleNamespace(), None)
    )
    held = shelves([system, practice, ground, bare], [system])
    assert list(held.values()) == [[practice], [ground, bare]]
    assert list(shelves([ground, practice], [])) == ["Columns", next(iter(held))]


def test_what_fails_stands_apart_by_who_says_it(pages):
    first, page = pages["errata.html"], pages["errata/synthetic.html"]
    assert page.count('class="erratum"') == 3
    named = re.findall(r'class="erratum" id="([\w.]+)"', page)
    assert [f'href="errata/synthetic.html#{name}"' in first for name in named] == [True] * 3
    assert 'href="../c/synthetic.signs.identity.html"' in page
    assert "(1, -2, 0.1)" in page
    assert "exactly 4/5 &gt; 3/4" in page
    assert "commbounds verify synthetic.signs.contraction --budget quick --seed 0" in page
    own = first[first.index('id="own"') :]
    assert own.count('class="lack"') == 1
    assert 'href="c/synthetic.signs.scale_equivariance.html"' in own
    assert "scale_equivariance" not in page


def test_corrections_are_linked_both_ways(pages):
    assert 'Corrected by <a href="../c/synthetic.signs.identity.html">' in pages["c/synthetic.signs.contraction.html"]
    assert 'Corrects <a href="../c/synthetic.signs.contraction.html">' in pages["c/synthetic.signs.identity.html"]


def test_a_claim_lists_who_uses_it(findings, book, tmp_path):
    by, of = "synthetic.topk.moment", "synthetic.topk.contraction"
    told = {**book, by: replace(book[by], note=f"Compare {of}.")}
    report([f for f in findings if f.claim in (by, of)], tmp_path, told)
    page = (tmp_path / "c" / f"{of}.html").read_text("utf-8")
    assert f'href="../c/{by}.html"' in page[page.index('id="used"') :].partition("</ul>")[0]
    assert f'href="../c/{of}.html"' in (tmp_path / "c" / f"{by}.html").read_text("utf-8")


def test_hypotheses_list_their_claims(pages, book):
    page = pages["h/equal.html"]
    users = {claim.name for claim in book.values() if any(h.name == "equal" for h in claim.assumes)}
    assert set(re.findall(r'href="\.\./c/([\w.]+)\.html"', main_of(page))) == users
    assert "all entries have one magnitude" in page
    assert "all workers send equally many" in page
    assert "12 cases kept out" in page


def test_what_was_tested_and_what_not_is_on_the_page(pages):
    text = "".join(parsed(pages["c/synthetic.topk.contraction.html"]).text)
    assert "5 of 7 neighbours are refuted by some case; not tested: k + 1 for k, 0.9 times the bound" in text
    assert "P: 1, 2, 3; n: 1 to 5" in text
    assert "3 cases: too large a law" in text
    assert "enumerated · approached to measured / bound = 1.000 · the book says: holds" in text


def test_exhibits_stand_on_their_columns_page(pages):
    page = pages["synthetic.html"]
    assert 'id="figure-synthetic.topk"' in page  # a subject has that name
    assert 'src="figures/synthetic.words.svg"' in page
    assert "A &lt;title&gt; &amp; more" in page
    assert "Its caption." in page
    assert described_exhibit(EXHIBIT) in [a.get("alt") for tag, a in parsed(page).tags if tag == "img"]


def test_the_graph_has_every_claim_with_its_verdict_tag_hypotheses_and_corrections(pages, findings, book):
    page = pages["graph/synthetic.html"]
    assert 'href="graph/synthetic.html"' in pages["graph.html"]
    for finding in findings:
        tag = str(book[finding.claim].source.tag).replace(" ", "-")
        assert f'<a class="v-{finding.verdict} t-{tag}" href="../c/{finding.claim}.html">' in page
    assert page.count('class="assumes"') == sum(len(book[f.claim].assumes) for f in findings)
    assert page.count('class="corrects"') == 1
    boxes = [tuple(map(float, box)) for box in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', page)]
    assert len(boxes) == len(set(boxes))
    for x in {x for x, _ in boxes}:
        ys = sorted(y for a, y in boxes if a == x)
        assert all(b - a >= 20 for a, b in pairwise(ys))


def test_a_correction_without_a_box_is_named_where_its_arrow_ends_if_it_has_a_page(findings, book):
    entries = [e for e in entries_of(findings, book) if e.id != "synthetic.signs.identity"]
    chapter = Chapter("synthetic", None, {"all": entries})
    drawn = graph(chapter, {"synthetic.signs.identity"})
    assert drawn.count('class="corrects"') == 1
    assert '<a href="../c/synthetic.signs.identity.html"><title>synthetic.signs.identity corrects it</title>' in drawn
    box, name = (
        float(re.search(rf'<text x="([\d.]+)" y="[\d.]+">{text}<', drawn)[1])
        for text in ("signs.contraction", "synthetic.signs.identity")
    )
    width = float(re.search(r'width="([\d.]+)"', drawn)[1])
    assert box + 300 < name < width - 6 * len("synthetic.signs.identity")
    assert 'class="corrects"' not in graph(chapter, set())


def test_data_keep_their_published_schemas(site, findings, book):
    for name in TABLES:
        schema = json.loads((site / "data" / f"{name}.schema.json").read_text("utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        data = json.loads((site / "data" / f"{name}.json").read_text("utf-8"))
        jsonschema.validate(data, schema)
        for record in data[name][:1]:
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({**data, name: [{**record, "surprise": 1}]}, schema)
    data = {name: json.loads((site / "data" / f"{name}.json").read_text("utf-8"))[name] for name in TABLES}
    assert {row["name"] for row in data["claims"]} == {f.claim for f in findings}
    assert {row["claim"]: row for row in data["findings"]} == {f.claim: json.loads(f.to_json()) for f in findings}
    assert {row["name"] for row in data["hypotheses"]} == {h.name for c in book.values() for h in c.assumes}


@pytest.mark.wide  # reads the models of all columns
def test_data_of_certificates_keep_their_schema(tmp_path):
    steps = {"grade": "proved but for steps in words", "steps": "a sum, independence"}
    proof = Evidence(Method.CERTIFICATE, Verdict.PROVED, 3, "identity; a", scope={"for": "every x", **steps})
    defined = Evidence(
        Method.CERTIFICATE, Verdict.DEFINITION, 1, "identity; c", scope={"for": "every k", "grade": "by definition"}
    )
    point = Evidence(
        Method.CERTIFICATE, Verdict.REFUTED, 1, "counterexample; b", scope={"smallest": "refuted at n = 1"}
    )
    found = [
        Finding("sparsifiers.topk.contraction", Verdict.PROVED, True, (proof,)),
        Finding("sparsifiers.topk.global_contraction", Verdict.REFUTED, True, (point,)),
        Finding("sparsifiers.randk.bias", Verdict.ENUMERATED, True, (defined,)),
    ]
    report(found, tmp_path)
    data = json.loads((tmp_path / "data" / "certificates.json").read_text("utf-8"))
    jsonschema.validate(data, json.loads((tmp_path / "data" / "certificates.schema.json").read_text("utf-8")))
    assert [(row["proves"], row["scope"]) for row in data["certificates"]] == [
        (True, "every x"),
        (False, "at n = 1"),
        (False, "every k"),
    ]
    assert [row["grade"] for row in data["certificates"]] == [steps["grade"], "", "by definition"]
    assert data["certificates"][0]["steps_in_words"] == ["a sum", "independence"]
    names = [f.claim for f in found]
    badges = [
        json.loads((tmp_path / "badge" / f"{name}.json").read_text("utf-8"))["message"]
        for name in (*names, "sparsifiers")
    ]
    assert badges[0] == "proved but for steps in words (a sum, independence)"
    assert badges[2] == "enumerated, by definition"
    assert badges[3] == "2 of 3 hold, 1 proved but for steps in words, 1 by definition"
    about = (tmp_path / "about.html").read_text("utf-8")
    for path in re.findall(
        r'href="\.\./about\.html#([\w-]+)"', (tmp_path / "c" / f"{names[0]}.html").read_text("utf-8")
    ):
        assert f'id="{path}"' in about
    assert "about.html#step-independence" in (tmp_path / "c" / f"{names[0]}.html").read_text("utf-8")
    page = (tmp_path / "proofs" / "sparsifiers.html").read_text("utf-8")
    assert "every x" in page
    assert "commbounds certificates 'sparsifiers.*'" in page
    assert "The smallest one, certified: at n = 1" in (tmp_path / "c" / f"{found[1].claim}.html").read_text("utf-8")


def test_badges_say_the_verdict(site, findings):
    for finding in findings:
        badge = json.loads((site / "badge" / f"{finding.claim}.json").read_text("utf-8"))
        assert set(badge) == {"schemaVersion", "label", "message", "color"}
        assert badge["label"] == finding.claim
        assert str(finding.verdict) in badge["message"]
        assert (badge["color"] == "red") is (not finding.as_stated)
    column = json.loads((site / "badge" / "synthetic.json").read_text("utf-8"))
    assert column["message"] == "8 of 12 hold, 2 disagree"


def test_a_search_looks_at_every_claim(site, findings, book):
    text = (site / "data" / "search.js").read_text("utf-8")
    searched = json.loads(text.removeprefix("window.SEARCHED = ").removesuffix(";\n"))
    assert {row[0]: row[1] for row in searched["claims"]} == {f.claim: book[f.claim].title for f in findings}
    (row,) = [row for row in searched["claims"] if row[0] == "synthetic.topk.global_contraction"]
    assert row[2] == "refuted"
    assert {"is:refuted", "verdict:refuted", "recalled", "equal"} <= set(row[4].split())


@pytest.mark.wide  # five seconds and more
def test_same_findings_give_the_same_bytes_in_any_order(site, findings, book, tmp_path):
    stale = replace(findings[0], verdict=Verdict.REFUTED)
    report([stale, *findings[::-1]], tmp_path, book, EXHIBITS, address="https://example.org/checked")
    first, second = ({p.relative_to(o).as_posix(): p.read_bytes() for p in o.rglob("*.*")} for o in (site, tmp_path))
    assert first == second


def test_a_site_replaces_the_one_before_and_nothing_else(findings, book, tmp_path):
    (tmp_path / "findings.jsonl").write_text("mine\n")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "notes.txt").write_text("mine\n")
    bare = [replace(f, series=()) for f in findings]
    report(bare, tmp_path, book)
    assert (tmp_path / "h" / "equal.html").is_file()
    report([f for f in bare if f.claim == "synthetic.topk.wire"], tmp_path, book)
    assert {p.name for p in (tmp_path / "c").iterdir()} == {"notes.txt", "synthetic.topk.wire.html"}
    assert not (tmp_path / "h").exists()
    single([f for f in bare if f.claim == "synthetic.topk.wire"], tmp_path, book)
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()} == {
        "index.html",
        "findings.jsonl",
        "c/notes.txt",
    }


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "c/../../x", "c\\..\\x"])
def test_nothing_is_written_or_removed_outside_the_folder(name, tmp_path):
    with pytest.raises(ValueError, match="must lead into the folder"):
        published(tmp_path / "site", {name: b""})
    (tmp_path / "x").write_text("kept")
    listed = {"commbounds": "", "files": [name, "../x", 3, "index.html"]}
    written(tmp_path / "site" / FILES, json.dumps(listed).encode())
    published(tmp_path / "site", {"index.html": b"a", "b": b"b"})
    assert (tmp_path / "x").read_text() == "kept"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"commbounds": 1, "files": 3}'])
def test_a_list_of_files_that_is_none_of_ours_removes_nothing(text, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / FILES).write_text(text)
    (tmp_path / "kept").write_text("kept")
    published(tmp_path, {"index.html": b"a"})
    assert {p.name for p in tmp_path.iterdir()} == {"data", "kept", "index.html"}


def test_what_has_not_changed_is_not_written_again(tmp_path):
    published(tmp_path, {"index.html": b"a", "b": b"b"})
    before = (tmp_path / "b").stat().st_ino, (tmp_path / "index.html").stat().st_ino
    published(tmp_path, {"index.html": b"c", "b": b"b"})
    assert (tmp_path / "b").stat().st_ino == before[0]
    assert (tmp_path / "index.html").stat().st_ino != before[1]


def test_hostile_strings_are_escaped(tmp_path):
    evil = "<script>alert('x')</script>\"'&{{ 7*7 }}{% raw %}</title>`synthetic.x.y`"
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
        (Series(evil, evil, [1.0, 2.0], [1.0, 1.0], [1.0, 1.0]),),
        parameters={evil: evil},
        versions={evil: evil},
        budget=evil,
        message=evil,
    )
    report([finding], tmp_path, {claim.name: claim})
    for path in tmp_path.rglob("*.html"):
        checked = parsed(path.read_text("utf-8"))
        assert [tag for tag, _ in checked.tags].count("script") == 1, path
    text = "".join(parsed((tmp_path / "c" / "evil.one.two.html").read_text("utf-8")).text)
    assert text.count("<script>alert('x')</script>") >= 10
    ElementTree.parse(tmp_path / "figures" / "evil.one.two.svg")
    assert "</script" not in (tmp_path / "data" / "search.js").read_text("utf-8")


def test_claims_that_were_not_run_are_counted(findings, book, tmp_path):
    page = report([replace(findings[0], series=())], tmp_path, book).read_text("utf-8")
    assert "Every finding agrees with the book; 11 of its claims were not run." in page


def test_nothing_to_report_is_refused(findings, tmp_path):
    with pytest.raises(ValueError, match="findings must not be empty"):
        report([], tmp_path)
    with pytest.raises(ValueError, match="the book has no claim called 'synthetic"):
        report(findings, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_every_compressor_is_asked_is_a_table_without_figures(tmp_path):
    found = [
        Finding("quantizers.sign.unbiased", Verdict.REFUTED, True, ()),
        Finding("quantizers.sign.sign_symmetry", Verdict.ENUMERATED, True, ()),
        Finding("quantizers.sign.sign_symmetry_zeros", Verdict.REFUTED, True, ()),
        Finding("quantizers.nearestpower.idempotence", Verdict.ENUMERATED, True, ()),
    ]
    report(found, tmp_path)
    text = (tmp_path / "quantizers.html").read_text("utf-8")
    for finding in found:  # the way back from a claim's page
        crumbs = (tmp_path / "c" / f"{finding.claim}.html").read_text("utf-8")
        assert f'href="../quantizers.html#{finding.claim}"' in crumbs
        assert text.count(f'id="{finding.claim}"') == 1
    assert "<img" not in text
    assert not (tmp_path / "figures").exists()
    table = text[text.index('<table class="asked">') :].partition("</table>")[0]
    assert re.findall(r"<th>([^<]*)</th>", table) == [
        "Implementation",
        "unbiased?",
        "commutes with a change of sign?",
        "idempotent?",
    ]
    rows = [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in table.split("<tr>")[2:]]
    answers = [[re.findall(r"<b>(\w+)</b>", cell) for cell in row[1:]] for row in rows]
    assert answers == [[["no"], ["yes", "no"], []], [[], [], ["yes"]]]


# --- in words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 1.0], "stays at 1.000"),
        ([1.0, 2.0, 2.0], "rises from 1.000 to 2.000"),
        ([2.0, math.nan, 1.0], "falls from 2.000 to 1.000"),
        ([1.0, 3.0, 2.0], "goes from 1.000 to 2.000, between 1.000 and 3.000"),
        ([math.inf], "has no finite value"),
    ],
)
def test_courses(values, words):
    assert course(values) == words


def test_inputs_are_shown_whatever_is_in_them():
    assert vector([[1.0, math.nan], [-math.inf, 0.25]]) == "(1, nan)\n(-inf, 0.25)"


@pytest.mark.parametrize(
    ("worst", "words"),
    [
        ([1.0, 2.0], "lies on it"),
        ([0.5, 1.9], "lies below it, closest at n = 2.000: 1.900 against 2.000"),
        ([1.5, 2.0], "lies above it at 1 of 2 places and on it at the others"),
        ([0.5, 2.5], "lies on both sides of it"),
        ([math.inf, 2.0], "lies on it, and is unbounded at 1 places"),
        ([math.inf, math.inf], "is unbounded throughout"),
    ],
)
def test_figures_in_words_say_where_the_measurements_lie(worst, words, book):
    finding = Finding(
        "synthetic.topk.moment", Verdict.SURVIVED, True, (), (Series("a", "n", [1, 2], [1.0, 2.0], worst),)
    )
    said = described(finding, book[finding.claim])
    assert "a: over n from 1.000 to 2.000, the bound rises from 1.000 to 2.000" in said
    assert f"the worst value found {words}." in said


def test_exhibits_in_words():
    said = described_exhibit(EXHIBIT)
    assert "first: words over ranks. ring rises from 1.000 to 1.500; flat stays at 2.000." in said
    assert "second: a map over k/n and ranks; sparse on 75 %, dense on 25 %." in said


# --- stories ----------------------------------------------------------------------------------------------------------


TOLD = {name: column.synopsis for name, column in columns().items() if column.synopsis is not None}


@pytest.mark.parametrize("column", TOLD)
def test_a_story_says_of_its_claims_what_the_book_says(column):
    book, story = claims(), TOLD[column]
    named = {part: claims_named(text) for part, text in story.parts.items()}
    assert {name for names in named.values() for name in names} <= set(book)
    assert named["Holds"]
    assert {book[name].stands for name in named["Holds"]} == {Standing.HOLDS}
    assert named["Does not"]
    assert Standing.HOLDS not in {book[name].stands for name in named["Does not"]}
    assert {name.partition(".")[0] for names in named.values() for name in names} == {column}


def test_six_systems_or_more_have_a_card_each():
    assert len({story.system for story in TOLD.values() if story.system}) >= 6
    with pytest.raises(ValueError, match="lesson of a synopsis"):
        Synopsis("a", "b", "c", "d", "e", " ")


def test_pictures_of_stories_are_exhibits_of_their_columns():
    from commbounds.verify.exhibition import select_exhibits

    known = set(select_exhibits(("*",)))
    for name, story in TOLD.items():
        if story.picture:
            assert story.picture in known, name
            assert story.picture.startswith(f"{name}.")


def test_the_first_page_of_a_system_has_its_card(tmp_path):
    line = Line("sent", [2.0, 4.0], [1.0, 1.0])
    exhibit = Exhibit("oktopk.families", "t", "c.", (Panel("a", "P", "words", (line,)), Panel("b", "P", "w", (line,))))
    found = [Finding("oktopk.sent.any_split", Verdict.PROVED, True, ())]
    page = report(found, tmp_path, exhibits=[exhibit]).read_text("utf-8")
    card = page[page.index('<li class="card">') :].partition("</li>")[0]
    assert 'src="figures/oktopk.families.card.svg"' in card
    assert prose(columns()["oktopk"].synopsis.found) in card
    drawn = {p.name: size(p.read_text("utf-8")) for p in Path(tmp_path / "figures").iterdir()}
    assert drawn["oktopk.families.card.svg"][0] < drawn["oktopk.families.svg"][0]


def test_the_page_of_a_former_name_leads_to_the_claim(tmp_path):
    former, now = next((f, n) for column in columns() for f, n in former_names(column).items())
    evidence = (Evidence(Method.SEARCH, Verdict.SURVIVED, 1, "one"),)
    report([Finding(now, Verdict.SURVIVED, True, evidence)], tmp_path)
    page = (tmp_path / "c" / f"{former}.html").read_text("utf-8")
    assert f'<meta http-equiv="refresh" content="0; url={now}.html">' in page
    assert f'href="../c/{now}.html"' in page
    assert (tmp_path / "c" / f"{now}.html").is_file()
