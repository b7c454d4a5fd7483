"""What a page says about findings: entries, and how they are grouped."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import sympy as sp
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from commbounds.figures.curves import claim_of
from commbounds.figures.formula import mathml
from commbounds.figures.prose import prose
from commbounds.figures.status import MEANING, Status, number, ratio, status
from commbounds.theory import Claim, Kind, Origin, Standing, Tag
from commbounds.theory import book as contents
from commbounds.theory.column import Column, Synopsis
from commbounds.theory.definitions import definitions
from commbounds.theory.model import STEPS, Model, Refutation
from commbounds.verify.certify import Grade, models, refutations, seen
from commbounds.verify.certify.certificate import Seen
from commbounds.verify.finding import Evidence, Finding, Method, Verdict

KINDS = {
    Kind.SURE: "for every input and every outcome of the algorithm's own randomness",
    Kind.EXPECTED: "for every input, in expectation over the algorithm's own randomness",
    Kind.LAW: "for every input, about the whole distribution of the output",
    Kind.APPROXIMATE: "approximately",
}

VERDICTS = {
    Verdict.PROVED: "a certificate, checked in exact arithmetic, proves a model of the claim for every input of a "
    "stated scope, and its grade says how much of the claim that is; the implementation was confronted with the claim "
    "as well, and with the model by what ties it",
    Verdict.ENUMERATED: "all randomness was enumerated in exact arithmetic, on every input of the grids named",
    Verdict.SURVIVED: "a search for a counterexample found none",
    Verdict.CONSISTENT: "a sequential test saw no violation at its declared false-alarm rate",
    Verdict.DEFINITION: "what a certificate shows is what the model says of the quantity: no proof, and no verdict",
}


@dataclass(frozen=True)
class Entry:
    """What the template needs to know about one finding."""

    finding: Finding
    claim: Claim
    status: Status
    corrects: tuple[str, ...]
    mentions: tuple[str, ...] = ()
    """Claims whose note, proof or reading names this one."""
    date: str = ""
    """When the finding was made, if it was kept from an earlier run."""

    @property
    def ties(self) -> tuple[str, ...]:
        """Claims whose certificates its enumeration ties to the implementation; none in a book of one's own."""
        return _ties().get(self.id, ()) if self.claim.column in contents.columns() else ()

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
        return self.claim.source.origin in (Origin.PRINTED, Origin.USAGE) or bool(self.claim.source.reading)

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
    def seen(self) -> Seen | None:
        """What the model came to at runs of the implementation; None where none was recorded."""
        found: Seen | None = seen().get(self.claim.name)
        return found

    @property
    def refutation(self) -> Refutation:
        """What the claim's counterexample is a point of."""
        refutation: Refutation = refutations()[self.claim.name]
        return refutation

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


def asked(entries: Sequence[Entry]) -> dict[str, tuple[list[str], dict[str, list[list[Entry]]]]]:
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
    "idempotence_defect": "idempotent?",
    "differences": "equals its definition?",
    "rankdifferences": "is what its ranks do one by one?",
}
"""Quantities that are zero where the answer is yes."""


def grades(entries: Iterable[Entry]) -> dict[str, int]:
    """How many have a certificate of every grade, most first; what is true by definition is no proof."""
    found = [e.finding.grade for e in entries]
    return {str(grade): found.count(grade) for grade in Grade}


def by_source(entries: Sequence[Entry]) -> list[tuple[str, str, int, dict[str, int]]]:
    """Origin, tag, number of statements, and how many of each standing; without those that do not occur."""
    rows = []
    for origin in Origin:
        for tag in Tag:
            stands = [e.claim.stands for e in entries if (e.claim.source.origin, e.claim.source.tag) == (origin, tag)]
            if stands:
                who = "our reading" if origin is Origin.OWN and tag is not Tag.DERIVED else origin.value
                rows.append((who, tag.value, len(stands), {s.value: stands.count(s) for s in Standing}))
    return rows


def entries_of(
    findings: Iterable[Finding], book: Mapping[str, Claim], dates: Mapping[str, str] | None = None
) -> list[Entry]:
    """What there is to say about `findings`, in the order of the book; of several on one claim the last counts.

    Parameters
    ----------
    findings : iterable of Finding
        At least one.
    book : mapping of str to Claim
        Where to look claims up.
    dates : mapping of str to str or None
        When findings were made that were kept from earlier runs.

    Raises
    ------
    ValueError
        No finding, or a claim that is not in the book.
    """
    latest = {claim_of(finding, book).name: finding for finding in findings}
    if not latest:
        raise ValueError("findings must not be empty: there is nothing to report")
    corrects, mentions = _corrections(book), _mentions(book)
    return [
        Entry(
            latest[name],
            claim,
            status(latest[name], claim),
            corrects.get(name, ()),
            mentions.get(name, ()),
            (dates or {}).get(name, ""),
        )
        for name, claim in book.items()
        if name in latest
    ]


def _reversed(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Of (who, whom): by whom, all who, each once."""
    found: dict[str, dict[str, None]] = {}
    for who, whom in pairs:
        if who != whom:
            found.setdefault(whom, {})[who] = None
    return {whom: tuple(those) for whom, those in found.items()}


def _corrections(book: Mapping[str, Claim]) -> dict[str, tuple[str, ...]]:
    return _reversed((claim.name, claim.corrected_by) for claim in book.values() if claim.corrected_by)


@cache
def _ties() -> dict[str, tuple[str, ...]]:
    return _reversed((model.claim, tie) for model in models().values() for tie in model.checked_by)


NAME = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_]*){2,}")
"""What can be the name of a claim in a text."""


def _mentions(book: Mapping[str, Claim]) -> dict[str, tuple[str, ...]]:
    texts = ((c.name, f"{c.note} {c.source.proof} {c.source.reading} {c.extremal}") for c in book.values())
    return _reversed((name, other) for name, text in texts for other in NAME.findall(text) if other in book)


def facts(entries: Sequence[Entry], book: Mapping[str, Claim], given: str = "") -> dict[str, Any]:
    """What every page may say about all entries together, by the name under which templates ask for it."""
    return {
        "given": given,
        "chapters": list(_chapters(entries)),
        "entries": entries,
        "failing": [e for e in entries if e.failing and e.printed],
        "proved": [e for e in entries if e.finding.proved_for],
        "certified": [e for e in entries if e.finding.shown_for],
        "grades": grades(entries),
        "grades_of": grades,
        "steps": {str(step): (step.name.lower(), words) for step, words in STEPS.items()},
        "lacking": [e for e in entries if e.claim.stands is not Standing.HOLDS and not e.printed],
        "surprises": [e for e in entries if not e.finding.as_stated],
        "by_name": {e.id: e for e in entries},
        "asked": asked(entries),
        "counts": {word: sum(e.status.word == word for e in entries) for word in MEANING},
        "verdict_counts": {verdict.value: sum(e.finding.verdict is verdict for e in entries) for verdict in Verdict},
        "missing": len(book) - len(entries),
        "by_source": by_source(entries),
        "meaning": MEANING,
        "kinds": KINDS,
        "verdicts": VERDICTS,
        "budgets": sorted({(e.finding.budget, e.finding.seed) for e in entries}),
        "versions": sorted({item for e in entries for item in e.finding.versions.items()}),
    }


@dataclass(frozen=True)
class Chapter:
    """The entries of one column.

    Parameters
    ----------
    name : str
        Of the column.
    column : Column or None
        What the book says of it; None in a book of one's own.
    subjects : dict of str to list of Entry
        By subject.
    """

    name: str
    column: Column | None
    subjects: dict[str, list[Entry]]

    @property
    def heading(self) -> str:
        """The column's title."""
        return self.column.title if self.column else self.name.capitalize()

    @property
    def story(self) -> str:
        """What the column is about."""
        return self.column.story if self.column else ""

    @property
    def synopsis(self) -> Synopsis | None:
        """The column in one screen, if the book has one."""
        return self.column.synopsis if self.column else None

    @property
    def entries(self) -> list[Entry]:
        """All of them."""
        return [entry for entries in self.subjects.values() for entry in entries]

    @property
    def origins(self) -> dict[str, tuple[int, int]]:
        """By who makes the statement: how many hold as stated, of how many."""
        found: dict[str, tuple[int, int]] = {}
        for origin in Origin:
            of = [e for e in self.entries if e.claim.source.origin is origin]
            if of:
                found[origin.value] = sum(not e.failing for e in of), len(of)
        return found


def _chapters(entries: Sequence[Entry]) -> Iterator[Chapter]:
    """The columns, in the order of the book."""
    columns: dict[str, dict[str, list[Entry]]] = {}
    for entry in entries:
        columns.setdefault(entry.claim.column, {}).setdefault(entry.claim.subject, []).append(entry)
    known = contents.columns()
    for name, subjects in columns.items():
        yield Chapter(name, known.get(name), subjects)


def environment(package: str) -> Environment:
    """The templates in a package, which ask for nothing that is not there; markup in what they show is not obeyed."""
    made = Environment(
        loader=FunctionLoader(lambda name: text_of(package, name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(number=number, ratio=ratio, vector=vector, breakable=breakable, prose=_prose)
    return made


def text_of(package: str, name: str) -> str:
    """The text of a file of a package."""
    return files(package).joinpath(name).read_text("utf-8")


def breakable(name: str) -> Markup:
    """`name`, which may be broken after a full stop or an underscore."""
    return Markup(html.escape(name).replace(".", ".<wbr>").replace("_", "_<wbr>"))


def _prose(words: str) -> Markup:
    """`words`, with formulas as MathML, and what stands in backticks as code."""
    return Markup(prose(words))


def vector(x: Sequence[Any]) -> str:
    """Entries at full precision, a matrix row by row; many equal ones once."""
    if x and isinstance(x[0], list | tuple):
        return "\n".join(vector(row) for row in x)
    if len(x) > 8 and all(v == x[0] for v in x):
        return f"({_entry_text(x[0])}, ..., {_entry_text(x[0])}), {len(x)} equal entries"
    return f"({', '.join(_entry_text(v) for v in x)})"


def _entry_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return repr(value)
