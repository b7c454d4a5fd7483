"""What the site says, as data: claims, findings, certificates and hypotheses, badges, and what a search looks at."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from commbounds import __version__
from commbounds.figures.entries import Chapter, Entry, grades
from commbounds.theory import Code, Hypothesis, Standing
from commbounds.theory.notation import latex
from commbounds.verify.certify import Grade
from commbounds.verify.finding import Verdict

TABLES = {
    "claims": "every claim of this run: statement in LaTeX, hypotheses, source and how it is known, what the book says",
    "findings": "what this run found about each: verdict, evidence, curves, counterexample",
    "certificates": "claims that are proved, or true by definition, or refuted at a point: how much, for which inputs",
    "hypotheses": "what the claims assume, in words, with the claims that assume it",
}
"""Names of the tables, each with what is in it; ``NAME.schema.json`` beside this module is its schema."""

_COLOURS = {
    Verdict.PROVED: "brightgreen",
    Verdict.ENUMERATED: "green",
    Verdict.SURVIVED: "yellowgreen",
    Verdict.CONSISTENT: "yellowgreen",
    Verdict.REFUTED: "orange",
    Verdict.ERROR: "red",
    Verdict.DEFINITION: "lightgrey",
}


def tables(entries: Sequence[Entry]) -> dict[str, str]:
    """JSON of every table, by its name; an object whose key, the table's name, has a list of records."""
    rows: dict[str, list[Any]] = {
        "claims": [_claim(e) for e in entries],
        "findings": [json.loads(e.finding.to_json()) for e in entries],
        "certificates": [_certificate(e) for e in entries if e.finding.shown_for or e.finding.refuted_at],
        "hypotheses": [_hypothesis(h, names) for h, names in users(entries).items()],
    }
    return {name: _object({"commbounds": __version__, name: rows[name]}) for name in TABLES}


def users(entries: Sequence[Entry]) -> dict[Hypothesis, list[str]]:
    """By hypothesis, the names of the claims that assume it, in the order of the names."""
    found: dict[Hypothesis, list[str]] = {}
    for e in entries:
        for h in e.claim.assumes:
            found.setdefault(h, []).append(e.id)
    return dict(sorted(found.items(), key=lambda item: (item[0].name, item[0].statement)))


def _object(data: Mapping[str, Any]) -> str:
    """One record a line, so that versions of a file can be compared."""
    lines = []
    for key, value in data.items():
        rows = ",\n".join(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in value)
        lines.append(f"{json.dumps(key)}: " + (f"[\n{rows}\n]" if isinstance(value, list) else json.dumps(value)))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _claim(e: Entry) -> dict[str, Any]:
    claim, source = e.claim, e.claim.source
    return {
        "name": claim.name,
        "page": f"c/{claim.name}.html",
        "column": claim.column,
        "title": claim.title,
        "statement": claim.latex,
        "kind": str(claim.kind),
        "measured": claim.quantity.meaning,
        "assumes": [h.name for h in claim.assumes],
        "source": {
            "work": source.work,
            "link": source.link,
            "place": source.place,
            "text": source.text,
            "tag": str(source.tag),
            "origin": str(source.origin),
            "reading": source.reading,
            "proof": source.proof,
            "code": _code(source.code),
        },
        "stands": str(claim.stands),
        "corrected_by": claim.corrected_by,
        "corrects": list(e.corrects),
        "tightness": "" if claim.tightness is None else latex(claim.tightness),
        "extremal": claim.extremal,
        "note": claim.note,
    }


def _code(code: Code | None) -> dict[str, Any] | None:
    if code is None:
        return None
    return {
        "repo": code.repo,
        "commit": code.commit,
        "path": code.path,
        "lines": code.lines,
        "default": code.default,
        "upstream": code.upstream,
        "link": code.link,
    }


def _certificate(e: Entry) -> dict[str, Any]:
    proved = bool(e.finding.shown_for)
    return {
        "claim": e.id,
        "proves": bool(e.finding.proved_for),
        "grade": e.finding.grade,
        "steps_in_words": list(e.finding.steps_in_words),
        "scope": e.finding.shown_for or e.finding.refuted_at.removeprefix("refuted "),
        "kind": e.proof.detail.partition(";")[0],
        "goals": e.proof.cases,
        "model": e.model.words if proved else e.refutation.words,
        "tie": list(e.model.checked_by) if proved else [e.refutation.checked_by],
        "runs": e.seen.runs if proved and e.seen else 0,
        "file": f"theory/{e.claim.column}/certificates/{e.id}.json",
    }


def _hypothesis(h: Hypothesis, names: list[str]) -> dict[str, Any]:
    page = f"h/{h.name}.html"
    return {"name": h.name, "page": page, "statement": h.statement, "ensured": h.ensured, "claims": names}


def badges(entries: Sequence[Entry], chapters: Sequence[Chapter]) -> dict[str, str]:
    """JSON as https://shields.io/badges/endpoint-badge takes it, by the name of a claim or of a column."""
    made = {e.id: _badge(e.id, *_says(e)) for e in entries}
    for chapter in chapters:
        every = chapter.entries
        surprises = sum(not e.finding.as_stated for e in every)
        text = f"{sum(not e.failing for e in every)} of {len(every)} hold"
        text += "".join(f", {count} {words}" for words, count in grades(every).items() if count)
        text += f", {surprises} disagree" * bool(surprises)
        made[chapter.name] = _badge(f"commbounds {chapter.name}", text, "red" if surprises else "brightgreen")
    return made


def _says(e: Entry) -> tuple[str, str]:
    if not e.finding.as_stated:
        return f"{e.finding.verdict}, against the book", "red"
    stands = (
        ""
        if e.claim.stands is Standing.HOLDS
        else f", {e.claim.stands}" * (e.claim.stands is Standing.HOLDS_AS_CORRECTED)
    )
    if e.finding.verdict is not Verdict.PROVED:
        defined = f", {Grade.DEFINITION}" if e.finding.grade == Grade.DEFINITION else ""
        return f"{e.finding.verdict}{defined}{stands}", _COLOURS[e.finding.verdict]
    whole = e.finding.grade == Grade.PROVED
    return f"{e.finding.graded}{stands}", _COLOURS[Verdict.PROVED if whole else Verdict.ENUMERATED]


def _badge(label: str, message: str, colour: str) -> str:
    badge = {"schemaVersion": 1, "label": label, "message": message, "color": colour}
    return json.dumps(badge, sort_keys=True) + "\n"


def searched(entries: Sequence[Entry], chapters: Sequence[Chapter]) -> str:
    """A script that holds what a search looks at: pages can load one from a file, which they cannot do with data."""
    claims = [[e.id, e.claim.title, e.status.word, e.status.sign, _further(e)] for e in entries]
    columns = [[c.name, c.heading, c.story.lower()] for c in chapters]
    hypotheses = [[name, h.statement] for name, h in {h.name: h for h in users(entries)}.items()]
    table = {"claims": claims, "columns": columns, "hypotheses": hypotheses}
    # what closes a script must not stand in one, wherever it is put
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return f"window.SEARCHED = {text};\n"


def _further(e: Entry) -> str:
    """What a search looks at besides name and title."""
    return e.search.removeprefix(f"{e.claim.name} {e.claim.title} ".lower())
