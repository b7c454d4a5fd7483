"""The pages of the site about a list of findings."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import sympy as sp
from jinja2 import Environment
from markupsafe import Markup

from commbounds import __version__
from commbounds.figures.curves import draw
from commbounds.figures.entries import NAME, Chapter, Entry, breakable, entries_of, environment, facts, text_of
from commbounds.figures.exhibits import draw_exhibit
from commbounds.figures.formula import mathml
from commbounds.figures.picture import picture, size
from commbounds.figures.prose import prose
from commbounds.figures.publishing import published
from commbounds.figures.site.data import TABLES, badges, searched, tables, users
from commbounds.figures.site.graph import graph
from commbounds.figures.trends import described, described_exhibit
from commbounds.theory import Claim, Hypothesis, Origin, Source, Tag, claims
from commbounds.theory.column import former_names
from commbounds.theory.notation import latex
from commbounds.verify.exhibit import Exhibit
from commbounds.verify.finding import Finding, Verdict
from commbounds.verify.writing import written

_PACKAGE = "commbounds.figures.site"

_TAGS = {
    Tag.READ: "the text was read",
    Tag.OFFICIAL_CODE: "taken from the authors' program",
    Tag.TRANSCRIPTION: "a copy of the text that others made was read",
    Tag.SECOND_HAND: "quoted by others",
    Tag.RECALLED: "a standard result, attributed from memory",
    Tag.DERIVED: "proved here, with the sketch shown",
}

_FAILING = (
    (
        "printed",
        "Printed",
        "Statements that a work prints, or its authors’ program makes, as far as their tags say that we know.",
    ),
    ("usage", "In common usage", "What is commonly said, without a source."),
    (
        "reading",
        "Printed formulas, under our reading",
        "A quantifier that is not printed, an equality for an approximation, hypotheses left out: the statement is "
        "ours, and no erratum of the work.",
    ),
    (
        "own",
        "Our own",
        "Properties that one would like, and statements that one might expect, which fail. Nobody’s errata.",
    ),
)
"""Groups of statements that fail: a name, a heading, and what is in it."""


@dataclass(frozen=True)
class Shown:
    """A drawing as a page shows it.

    Parameters
    ----------
    file : str
        Its name in the folder of the figures.
    svg : str
        Its contents.
    alt : str
        What it shows, in words.
    """

    file: str
    svg: str
    alt: str

    @property
    def width(self) -> int:
        """In CSS pixels."""
        return size(self.svg)[0]

    @property
    def height(self) -> int:
        """In CSS pixels."""
        return size(self.svg)[1]


@dataclass(frozen=True)
class System:
    """A system and its columns; the first says what was found.

    Parameters
    ----------
    name : str
        Of the system.
    chapters : list of Chapter
        At least one, with a synopsis.
    card : Shown or None
        Its picture.
    """

    name: str
    chapters: list[Chapter]
    card: Shown | None

    @property
    def first(self) -> Chapter:
        """The chapter that speaks for it."""
        return self.chapters[0]


def report(
    findings: Iterable[Finding],
    out: str | Path,
    book: Mapping[str, Claim] | None = None,
    exhibits: Sequence[Exhibit] = (),
    executor: Executor | None = None,
    address: str = "",
    dates: Mapping[str, str] | None = None,
    given: str = "",
) -> Path:
    """A static site about `findings`: ``index.html``, and a page for every column, claim and hypothesis.

    Parameters
    ----------
    findings : iterable of Finding
        At least one; of several on one claim the last counts.
    out : path
        The folder; made where it is missing. A site of ours that is there is replaced, and nothing else.
    book : mapping of str to Claim or None
        Where to look claims up, and their order; `theory.claims()` when None.
    exhibits : sequence of Exhibit
        Figures about more than one claim, for the pages of their columns, if those have a finding.
    executor : concurrent.futures.Executor or None
        Draws the figures, where `book` is None; by default this process does.
    address : str
        Where the site will be found, for citations: ``https://example.org/commbounds``. Empty for nowhere.
    dates : mapping of str to str or None
        When findings were made that were kept from earlier runs; their pages say so.
    given : str
        The file that findings were read from, where no run has made them; every page says so. Empty where one has.

    Returns
    -------
    Path
        The first page. All links are relative and nothing is loaded from elsewhere: the site works from a folder. The
        same findings give the same bytes.

    Raises
    ------
    ValueError
        No finding, or a claim that is not in the book.
    """
    workers, own = executor if book is None else None, book
    book = claims() if book is None else book
    entries = entries_of(findings, book, dates)
    told = facts(entries, book, given)
    chapters: list[Chapter] = told["chapters"]
    names = {chapter.name for chapter in chapters}
    exhibits = [exhibit for exhibit in exhibits if exhibit.column in names]
    wanted = {c.synopsis.picture for c in chapters if c.synopsis and c.synopsis.picture}
    cards = [_card(exhibit) for exhibit in exhibits if exhibit.name in wanted]
    drawn = [e for e in entries if e.finding.series and not e.claim.asked_of_all]
    draws = map if workers is None else workers.map
    drawings = chain(
        draws(partial(_claim_figure, book=own), [e.finding for e in drawn]),
        draws(_exhibit_figure, [*exhibits, *cards]),
    )
    files = _data(entries, chapters)  # while others draw
    pictures = {shown.file.removesuffix(".svg"): shown for shown in drawings}
    files |= {f"figures/{shown.file}": shown.svg for shown in pictures.values()}
    files |= _pages(entries, told, exhibits, pictures, address.rstrip("/"))
    files["site.css"] = text_of("commbounds.figures", "palette.css") + text_of(_PACKAGE, "site.css")
    files["site.js"] = text_of(_PACKAGE, "site.js")
    published(out, {name: text.encode() for name, text in files.items()})
    return Path(out) / "index.html"


def versions(out: str | Path) -> Path:
    """A page, ``index.html``, that leads to the sites in folders named after versions (``0.2.0``), the newest first.

    Raises
    ------
    ValueError
        There is none.
    """
    named = [path.parent.name for path in Path(out).glob("*/index.html")]
    found = sorted((n for n in named if re.fullmatch(r"\d+(\.\d+)+", n)), key=_numbers, reverse=True)
    if not found:
        raise ValueError(f"{out} has no folder that is named after a version and holds a site")
    page = environment(_PACKAGE).get_template("versions.html.j2").render(versions=found)
    written(Path(out) / "index.html", page.encode())
    return Path(out) / "index.html"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _claim_figure(finding: Finding, book: Mapping[str, Claim] | None = None) -> Shown:
    claim = (claims() if book is None else book)[finding.claim]
    alt = described(finding, claim)
    svg = draw(finding, book, heading=False).svg()
    return Shown(f"{finding.claim}.svg", picture(svg, html.escape(alt, quote=True)), alt)


def _exhibit_figure(exhibit: Exhibit) -> Shown:
    alt = described_exhibit(exhibit)
    svg = draw_exhibit(exhibit, heading=False).svg()
    return Shown(f"{exhibit.name}.svg", picture(svg, html.escape(alt, quote=True)), alt)


def _card(exhibit: Exhibit) -> Exhibit:
    """The exhibit's first panel alone."""
    return replace(exhibit, name=f"{exhibit.name}.card", panels=exhibit.panels[:1])


def _data(entries: Sequence[Entry], chapters: Sequence[Chapter]) -> dict[str, str]:
    files = {f"data/{name}.json": text for name, text in tables(entries).items()}
    files |= {f"data/{name}.schema.json": text_of(_PACKAGE, f"{name}.schema.json") for name in TABLES}
    files |= {f"badge/{name}.json": text for name, text in badges(entries, chapters).items()}
    files["data/search.js"] = searched(entries, chapters)
    return files


def _pages(
    entries: Sequence[Entry],
    told: Mapping[str, Any],
    exhibits: Sequence[Exhibit],
    pictures: Mapping[str, Shown],
    address: str,
) -> dict[str, str]:
    """Every page, by its path."""
    chapters: list[Chapter] = told["chapters"]
    assumed = list(users(entries))
    made = environment(_PACKAGE)
    made.globals |= told
    made.globals |= {
        "tag_words": {str(tag): words for tag, words in _TAGS.items()},
        "data_words": TABLES,
        "conditions": {h.name: _condition(h) for h in assumed},
        "exhibits": {c.name: [(x, pictures[x.name]) for x in exhibits if x.column == c.name] for c in chapters},
    }
    made.filters["linked"] = partial(_linked, told["by_name"])
    page = partial(_page, made)
    systems = _systems(chapters, pictures)
    files = {
        "index.html": page(
            "index",
            systems=systems,
            groups=shelves(chapters, [chapter for system in systems for chapter in system.chapters]),
            by_hand=sum(e.failing and not e.printed for e in entries),
        ),
        "errata.html": page("errata", groups=_groups(entries)),
        "proofs.html": page("proofs"),
        "graph.html": page("graph"),
        "about.html": page("about"),
    }
    for chapter in chapters:
        groups = _groups(chapter.entries)
        failing = any(those for name, _, _, those in groups if name != "own")
        files[f"{chapter.name}.html"] = page("column", chapter=chapter, errata_here=failing)
        if failing:
            files[f"errata/{chapter.name}.html"] = page("errata_of", "../", chapter=chapter, groups=groups)
        if any(e.finding.shown_for for e in chapter.entries):
            files[f"proofs/{chapter.name}.html"] = page("proofs_of", "../", chapter=chapter)
        files[f"graph/{chapter.name}.html"] = page(
            "graph_of",
            "../",
            chapter=chapter,
            drawn=graph(chapter, told["by_name"]),
            verdict_words=[v.value for v in Verdict if v is not Verdict.DEFINITION],
        )
        for e in chapter.entries:
            files[f"c/{e.id}.html"] = page(
                "claim",
                "../",
                e=e,
                heading=chapter.heading.partition(":")[0],
                picture=pictures.get(e.id),
                described=described(e.finding, e.claim),
                bibtex=_bibtex(e, address),
            )
        for former, now in former_names(chapter.name).items():
            if now in told["by_name"]:
                files[f"c/{former}.html"] = page("moved", "../", former=former, e=told["by_name"][now])
    meanings: dict[str, list[Hypothesis]] = {}
    for hypothesis in assumed:
        meanings.setdefault(hypothesis.name, []).append(hypothesis)
    claimed: dict[str, list[Entry]] = {}
    for e in entries:
        for name in dict.fromkeys(h.name for h in e.claim.assumes):
            claimed.setdefault(name, []).append(e)
    for name, those in meanings.items():
        files[f"h/{name}.html"] = page("hypothesis", "../", name=name, meanings=those, users=claimed[name])
    return files


def _page(made: Environment, template: str, root: str = "", **told: Any) -> str:
    return made.get_template(f"{template}.html.j2").render(root=root, **told)


def shelves(chapters: Sequence[Chapter], shown: Sequence[Chapter]) -> dict[str, list[Chapter]]:
    """The chapters that are not `shown` already, by the heading under which the first page has them."""
    ground, practice = "Classical methods that they build on", "Methods in use today, and what packages ship"
    already, found = {id(chapter) for chapter in shown}, dict[str, list[Chapter]]()
    for chapter in chapters:
        if id(chapter) not in already:
            heading = practice if chapter.synopsis and chapter.synopsis.practice else ground if shown else "Columns"
            found.setdefault(heading, []).append(chapter)
    return found


def _systems(chapters: Sequence[Chapter], pictures: Mapping[str, Shown]) -> list[System]:
    """The systems, in the order of their first columns."""
    found: dict[str, list[Chapter]] = {}
    for chapter in chapters:
        if chapter.synopsis is not None and chapter.synopsis.system:
            found.setdefault(chapter.synopsis.system, []).append(chapter)
    return [System(name, those, _card_of(those, pictures)) for name, those in found.items()]


def _card_of(chapters: Sequence[Chapter], pictures: Mapping[str, Shown]) -> Shown | None:
    """The picture of the first chapter that has one."""
    names = [f"{chapter.synopsis.picture}.card" for chapter in chapters if chapter.synopsis is not None]
    return next((pictures[name] for name in names if name in pictures), None)


def _groups(entries: Sequence[Entry]) -> list[tuple[str, str, str, list[Entry]]]:
    """The statements that fail, apart by who makes them."""
    by_group: dict[str, list[Entry]] = {name: [] for name, _, _ in _FAILING}
    for e in entries:
        if e.failing and not e.claim.asked_of_all:
            by_group[_group(e)].append(e)
    return [(name, title, words, by_group[name]) for name, title, words in _FAILING]


def _group(e: Entry) -> str:
    if e.claim.source.origin is Origin.PRINTED:
        return "printed"
    if e.claim.source.origin is Origin.USAGE:
        return "usage"
    return "reading" if e.claim.source.reading else "own"


def _condition(h: Hypothesis) -> Markup:
    """The condition as a formula; empty where it is none."""
    return Markup(mathml(latex(h.condition), large=True) if isinstance(h.condition, sp.Basic) else "")


_NAMED = re.compile(rf"`([^`]*)`|\b({NAME.pattern})\b")


def _linked(by_name: Mapping[str, Entry], words: str, root: str, here: str = "") -> Markup:
    """`words` with the names of claims as links, formulas as MathML, and everything else in backticks as code.

    Parameters
    ----------
    by_name : mapping of str to Entry
        What can be linked to.
    words : str
        As the book has them.
    root : str
        The way to the first page.
    here : str
        The column in which they stand: its name is left out of its claims' names.
    """

    def shown(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in by_name:
            return prose(found[0])
        title = html.escape(by_name[name].claim.title, quote=True)
        text = breakable(name.removeprefix(f"{here}."))
        return f'<a class="ref" href="{root}c/{name}.html" title="{title}"><code>{text}</code></a>'

    pieces, at = [], 0
    for found in _NAMED.finditer(words):
        pieces += [prose(words[at : found.start()]), shown(found)]
        at = found.end()
    return Markup("".join([*pieces, prose(words[at:])]))


_LATEX = re.compile(r"[&%$#_{}]")


def _bibtex(e: Entry, address: str) -> str:
    """How to cite the claim's page, and the work that the claim is from."""
    version = e.finding.versions.get("commbounds", __version__)
    page = f"c/{e.id}.html"
    where = f"url = {{{address}/{page}}}" if address else f"howpublished = {{{tex(page)} of a report by commbounds}}"
    verdict = f"{e.finding.verdict}, budget {e.finding.budget}, seed {e.finding.seed}"
    fields = [
        "author = {{The commbounds developers}}",
        f"title = {{{{{tex(e.claim.title)}}}}}",
        where,
        f"note = {{commbounds {version}, claim {tex(e.id)}: {tex(verdict)}}}",
    ]
    return "\n\n".join(filter(None, (_entry(f"commbounds:{e.id}", fields), bibtex_of_work(e.claim.source))))


_REFERENCE = re.compile(r"(?P<authors>.+?), (?P<year>\d{4}), (?P<title>.+?)(, (arXiv|doi):\S+)?")


def bibtex_of_work(source: Source) -> str:
    """The work's own entry; empty where the reference has no authors, year and title, or nothing to find it by."""
    found = _REFERENCE.fullmatch(source.work)
    if not (found and source.link):
        return ""
    people = found["authors"].removesuffix(" et al.").removesuffix(" and others").split(", ")
    others = ["others"] if not found["authors"].endswith(people[-1]) else []
    fields = [
        f"author = {{{tex(' and '.join((*people, *others)))}}}",
        f"title = {{{{{tex(found['title'])}}}}}",
        f"year = {{{found['year']}}}",
        f"url = {{{source.link}}}",
    ]
    family = re.sub(r"\W", "", people[0].rpartition(" ")[2]).lower()
    return _entry(f"{family}{found['year']}", fields)


def _entry(key: str, fields: Sequence[str]) -> str:
    return f"@misc{{{key},\n  " + ",\n  ".join(fields) + "\n}"


def tex(text: str) -> str:
    """Plain text as LaTeX."""
    text = text.replace("\\", r"\textbackslash ")
    return _LATEX.sub(lambda sign: f"\\{sign[0]}", text).replace("^", r"\^{}").replace("~", r"\~{}")
