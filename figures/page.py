"""The report: one self-contained HTML page about a list of findings."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import sympy as sp
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from commbounds.figures.curves import claim_of, draw
from commbounds.figures.exhibits import draw_exhibit
from commbounds.figures.files import rendered
from commbounds.figures.formula import mathml
from commbounds.figures.status import MEANING, Status, number, ratio, status
from commbounds.figures.svg import inlined
from commbounds.theory import Claim, Kind, Origin, Standing, Tag, claims
from commbounds.theory import book as contents
from commbounds.theory.definitions import definitions
from commbounds.theory.model import Model
from commbounds.verify.certify import models
from commbounds.verify.exhibit import Exhibit
from commbounds.verify.finding import Evidence, Finding, Method, Verdict
from commbounds.verify.writing import written

KINDS = {
    Kind.SURE: "for every input and every outcome of the algorithm's own randomness",
    Kind.EXPECTED: "for every input, in expectation over the algorithm's own randomness",
    Kind.LAW: "for every input, about the whole distribution of the output",
    Kind.APPROXIMATE: "approximately",
}

VERDICTS = {
    Verdict.PROVED: "a certificate, checked in exact arithmetic, proves a model of the claim for every input of a "
    "stated scope; the implementation was confronted with the claim as well, and with the model by what ties it",
    Verdict.ENUMERATED: "all randomness was enumerated in exact arithmetic, on every input of the grids named",
    Verdict.SURVIVED: "a search for a counterexample found none",
    Verdict.CONSISTENT: "a sequential test saw no violation at its declared false-alarm rate",
}


@dataclass(frozen=True)
class Entry:
    """What the template needs to know about one finding."""

    finding: Finding
    claim: Claim
    status: Status
    corrects: tuple[str, ...]

    @property
    def id(self) -> str:
        """Anchor of the section."""
        return self.claim.name

    @property
    def failing(self) -> bool:
        """Whether the statement fails."""
        return self.finding.verdict is Verdict.REFUTED or self.claim.stands is not Standing.HOLDS

    @property
    def printed(self) -> bool:
        """Whether others make the statement, as it stands or as we read it, rather than the book alone."""
        return self.claim.source.origin is not Origin.OWN or bool(self.claim.source.reading)

    @cached_property
    def formula(self) -> Markup:
        """The relation, for a line of text."""
        return Markup(mathml(self.claim.latex))

    @cached_property
    def displayed(self) -> Markup:
        """The relation, on a line of its own."""
        return Markup(mathml(self.claim.latex, large=True))

    @cached_property
    def supremum(self) -> Markup:
        """The tightness that theory gives; empty where it gives none."""
        tightness = self.claim.tightness
        return Markup("" if tightness is None else mathml(sp.latex(tightness)))

    @property
    def found(self) -> str:
        """What was found in the counterexample, measured against bound."""
        example = self.finding.counterexample
        return "" if example is None else f"{example.measured:.6g} against {example.bound:.6g}"

    @property
    def known(self) -> str:
        """The verdict, how close the bound was approached or by how much it was passed, and what the book says."""
        reached = "passed by the factor" if self.status.word == "refuted" else "approached to measured / bound ="
        words = [self.status.verdict, f"{reached} {self.status.tightness.lstrip('×')}" * bool(self.status.tightness)]
        return " · ".join([*filter(None, words), f"the book says: {self.claim.stands}"])

    @property
    def meanings(self) -> dict[str, str]:
        """What the symbols of the bound mean, those that the book says."""
        return {name: meaning for name, meaning in definitions(self.claim).items() if meaning}

    @property
    def pinned(self) -> str:
        """How many neighbours of the formula some case refutes, and which none does."""
        refuted, asked = self.finding.pinned
        words = f"{refuted} of {asked} neighbours are refuted by some case"
        return words + (f"; not tested: {', '.join(self.finding.untested)}" if self.finding.untested else "")

    @property
    def model(self) -> Model:
        """What the claim's certificate proves."""
        model: Model = models()[self.claim.name]
        return model

    @property
    def proof(self) -> Evidence:
        """What the claim's certificate contributed."""
        return next(e for e in self.finding.evidence if e.method is Method.CERTIFICATE)

    @property
    def slack(self) -> list[str]:
        """What no case tests, by reason."""
        by_reason: dict[str, list[str]] = {}
        for name, why in (*self.finding.explained.items(), *self.claim.unentered):
            by_reason.setdefault(why, []).append(name)
        return [f"{', '.join(names)}: {why}" for why, names in by_reason.items()]

    @property
    def search(self) -> str:
        """What the filter looks at."""
        claim = self.claim
        words = [claim.name, claim.title, f"is:{self.status.word}", f"verdict:{self.finding.verdict}", claim.kind]
        words += [claim.source.work, claim.source.tag, claim.stands, *(h.name for h in claim.assumes)]
        words += ["" if self.finding.as_stated else "disagrees"]
        return " ".join(words).lower()

    @property
    def command(self) -> str:
        """What reproduces the finding."""
        return f"commbounds verify {self.claim.name} --budget {self.finding.budget} --seed {self.finding.seed}"


def _drawing(finding: Finding, prefix: str, label: str, book: Mapping[str, Claim] | None = None) -> str:
    """The figure, as part of the page."""
    return inlined(rendered(draw(finding, book, heading=False), "svg").decode(), prefix, label)


def report(
    findings: Iterable[Finding],
    out: str | Path,
    book: Mapping[str, Claim] | None = None,
    exhibits: Sequence[Exhibit] = (),
    executor: Executor | None = None,
) -> Path:
    """``index.html`` about `findings`: a summary, and a section with its figure for every claim.

    Parameters
    ----------
    findings : iterable of Finding
        At least one; of several on one claim the last counts.
    out : path
        The folder; made where it is missing. The page replaces an older one in one step.
    book : mapping of str to Claim or None
        Where to look claims up, and their order; `theory.claims()` when None.
    exhibits : sequence of Exhibit
        Figures about more than one claim; each stands at the head of its column, if that has a finding.
    executor : concurrent.futures.Executor or None
        Draws the figures, where `book` is None; by default this process does.

    Returns
    -------
    Path
        The page. It loads nothing from anywhere; the same findings give the same bytes.

    Raises
    ------
    ValueError
        No finding, or a claim that is not in the book.
    """
    workers, own = executor if book is None else None, book
    book = claims() if book is None else book
    latest = {claim_of(finding, book).name: finding for finding in findings}
    if not latest:
        raise ValueError("findings must not be empty: there is nothing to report")
    entries = [_entry(claim, latest[claim.name], book) for claim in book.values() if claim.name in latest]
    shown = [entry for entry in entries if not entry.claim.asked_of_all]
    labels = [html.escape(f"{e.claim.name}: {e.status.text}", quote=True) for e in shown]
    prefixes = [f"f{i}-" for i in range(len(shown))]
    draws = map if workers is None else workers.map
    drawn_exhibits = draws(_drawn_exhibit, exhibits, [f"e{place}-" for place in range(len(exhibits))])
    drawn = draws(partial(_drawing, book=own), [e.finding for e in shown], prefixes, labels)
    environment = Environment(
        loader=FunctionLoader(lambda name: files("commbounds.figures").joinpath(name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["ratio"] = ratio
    environment.filters["vector"] = _vector
    environment.filters["breakable"] = _breakable
    environment.filters["coded"] = _coded
    page = environment.get_template("report.html.j2").render(
        style=Markup(files("commbounds.figures").joinpath("report.css").read_text("utf-8")),
        columns=list(_columns(entries)),
        entries=entries,
        failing=[e for e in entries if e.failing and e.printed],
        proved=[e for e in entries if e.finding.proved_for],
        lacking=[e for e in entries if e.claim.stands is not Standing.HOLDS and not e.printed],
        surprises=[e for e in entries if not e.finding.as_stated],
        by_name={e.id: e for e in entries},
        exhibits=_by_column(exhibits, drawn_exhibits),
        drawings={e.id: Markup(drawing) for e, drawing in zip(shown, drawn, strict=True)},
        asked=_asked(entries),
        counts={word: sum(e.status.word == word for e in entries) for word in MEANING},
        verdict_counts={verdict.value: sum(e.finding.verdict is verdict for e in entries) for verdict in Verdict},
        missing=len(book) - len(entries),
        by_source=_by_source(entries),
        meaning=MEANING,
        kinds=KINDS,
        verdicts=VERDICTS,
        budgets=sorted({(e.finding.budget, e.finding.seed) for e in entries}),
        versions=sorted({item for e in entries for item in e.finding.versions.items()}),
    )
    path = Path(out) / "index.html"
    written(path, page.encode())
    return path


def _asked(entries: Sequence[Entry]) -> dict[str, tuple[list[str], dict[str, list[list[Entry]]]]]:
    """By column, what is asked of every compressor: the questions, and by subject what answers each."""
    tables: dict[str, tuple[list[str], dict[str, list[list[Entry]]]]] = {}
    for column in dict.fromkeys(e.claim.column for e in entries if e.claim.asked_of_all):
        asked = [e for e in entries if e.claim.asked_of_all and e.claim.column == column]
        questions = list(dict.fromkeys(e.claim.quantity for e in asked))
        rows = {
            subject: [[e for e in asked if (e.claim.subject, e.claim.quantity) == (subject, q)] for q in questions]
            for subject in dict.fromkeys(e.claim.subject for e in asked)
        }
        tables[column] = [_QUESTIONS.get(q.name) or q.meaning for q in questions], rows
    return tables


_QUESTIONS = {
    "bias": "unbiased?",
    "sign_defect": "commutes with a change of sign?",
    "scale_defect": "commutes with scaling?",
    "idempotence_defect": "leaves its own outputs alone?",
}
"""Quantities that are zero where the answer is yes."""


def _by_source(entries: Sequence[Entry]) -> list[tuple[str, str, int, dict[str, int]]]:
    """Origin, tag, number of statements, and how many of each standing; without those that do not occur."""
    rows = []
    for origin in Origin:
        for tag in Tag:
            stands = [e.claim.stands for e in entries if (e.claim.source.origin, e.claim.source.tag) == (origin, tag)]
            if stands:
                who = "our reading" if origin is Origin.OWN and tag is not Tag.DERIVED else origin.value
                rows.append((who, tag.value, len(stands), {s.value: stands.count(s) for s in Standing}))
    return rows


def _entry(claim: Claim, finding: Finding, book: Mapping[str, Claim]) -> Entry:
    corrects = tuple(other.name for other in book.values() if other.corrected_by == claim.name)
    return Entry(finding, claim, status(finding, claim), corrects)


def _columns(entries: Sequence[Entry]) -> Iterator[tuple[str, str, str, dict[str, list[Entry]]]]:
    """Name, heading, story and entries by subject of every column, in the order of the book."""
    columns: dict[str, dict[str, list[Entry]]] = {}
    for entry in entries:
        columns.setdefault(entry.claim.column, {}).setdefault(entry.claim.subject, []).append(entry)
    known = contents.columns()
    for name, subjects in columns.items():
        column = known.get(name)  # a book of one's own may have others
        yield name, column.title if column else name.capitalize(), column.story if column else "", subjects


def _drawn_exhibit(exhibit: Exhibit, prefix: str) -> str:
    """The exhibit's figure, as part of the page."""
    svg = rendered(draw_exhibit(exhibit, heading=False), "svg").decode()
    return inlined(svg, prefix, html.escape(exhibit.title, quote=True))


def _by_column(exhibits: Sequence[Exhibit], drawings: Iterable[str]) -> dict[str, list[tuple[Exhibit, Markup]]]:
    """The exhibits of every column, with their drawings."""
    shown: dict[str, list[tuple[Exhibit, Markup]]] = {}
    for exhibit, drawing in zip(exhibits, drawings, strict=True):
        shown.setdefault(exhibit.column, []).append((exhibit, Markup(drawing)))
    return shown


def _breakable(name: str) -> Markup:
    """`name`, which may be broken after a full stop or an underscore."""
    return Markup(html.escape(name).replace(".", ".<wbr>").replace("_", "_<wbr>"))


def _coded(words: str) -> Markup:
    """`words`, with what stands in backticks as code."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(words)))


def _vector(x: Sequence[Any]) -> str:
    """Entries at full precision, a matrix row by row; many equal ones once."""
    if x and isinstance(x[0], list | tuple):
        return "\n".join(_vector(row) for row in x)
    if len(x) > 8 and all(v == x[0] for v in x):
        return f"({_entry_text(x[0])}, ..., {_entry_text(x[0])}), {len(x)} equal entries"
    return f"({', '.join(_entry_text(v) for v in x)})"


def _entry_text(value: Any) -> str:
    if isinstance(value, float) and value == int(value) and abs(value) < 1e16:
        return str(int(value))
    return repr(value)
