"""Words that readers stumbled over are used neither in the guides nor in the texts of the book."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from commbounds import theory
from commbounds.theory import book

ROOT = Path(__file__).parents[1]
PLAIN = {
    r"errs?( by)?": "has error",
    r"mend(s|ed|ing)?": "fix, correct",
    r"whatever": "for any, for every",
    r"as much at": "equal at",
    r"hands (it|them) to": "prints, passes",
    r"goes on where": "continues where",
    r"nobody need": "no reader has to",
    r"which is why": "for this reason",
    r"next to nothing": "almost nothing, tiny",
    r"if need be": "if necessary",
}
"""Word or phrase, as an expression: what is said in its place."""
BOOK = PLAIN | {
    r"whoever": "the rank that",
    r"for ever": "at all times, without bound",
    r"tells? .{0,20}apart|told apart": "distinguish",
    r"(no|any|every)body": "no worker, any rank",
    r"anew": "again, new",
    r"besides": "also",
    r"however (many|much|long|large|far|deep|different)": "for any",
    r"(run|made|drawn|dealt|placed|given|counted|taken|rounded|computed) so(?=\.)": "this way",
    r"(?<![^.:] )(?-i:Of) \w+": "among, for: a sentence has a subject and a verb",
}
"""What titles, notes, proofs and captions of the book do without as well."""
GENERATED = {"conformance-zoo.md"}  # from docstrings of subjects
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def unclear(text: str, plain: dict[str, str] = PLAIN) -> list[str]:
    """Each such word with its line and what to write; code is left out."""
    if not re.search(rf"\b({'|'.join(plain)})\b", text, re.IGNORECASE):
        return []
    prose = re.sub(r"^```(?s:.*?)^```$|^ {4}.*$|`[^`\n]*`|\"[^\"\n]*\"", _blank, text, flags=re.MULTILINE)
    return [
        f"line {number}: {found[0]!r}, better: {better}"
        for number, line in enumerate(prose.splitlines(), 1)
        for word, better in plain.items()
        for found in re.finditer(rf"\b{word}\b", line, re.IGNORECASE)
    ]


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def test_guides_use_plain_words():
    guides = [path for path in GUIDES if path.name not in GENERATED]
    assert {path.name: found for path in guides if (found := unclear(path.read_text("utf-8")))} == {}


def _texts() -> Iterator[tuple[str, str]]:
    """Every text of the book that a reader sees, behind the claim, column or file that it is of."""
    for name, claim in theory.claims().items():
        source = claim.source
        reasons = [reason for _, reason in (*claim.unpinned, *claim.unentered)]
        said = [text for hypothesis in claim.assumes for text in (hypothesis.statement, hypothesis.ensured)]
        for text in (claim.title, claim.note, claim.extremal, source.place, source.proof, source.reading):
            yield name, text
        yield from ((name, text) for text in (*reasons, *said))
    for name, column in book.columns().items():
        yield name, column.title
        if (told := column.synopsis) is not None:
            yield from ((name, text) for text in (told.found, *told.parts.values()))
    written = ("theory/*/*models*.py", "theory/*/refutations.py", "verify/experiments/*/exhibits.py")
    for path in sorted(path for pattern in written for path in ROOT.glob(pattern)):
        # models take long to load, and exhibits to make: their texts are read where they are written
        tree = ast.parse(path.read_text("utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
        yield from ((str(path.relative_to(ROOT)), node.value) for node in strings if isinstance(node.value, str))


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    return list(_texts())


def test_the_book_uses_plain_words(texts):
    places = {text: where for where, text in texts}
    assert {where: found for text, where in places.items() if (found := unclear(text, BOOK))} == {}


def test_the_book_s_titles_notes_and_captions_are_read(texts):
    read: dict[str, list[str]] = {}
    for where, text in texts:
        read.setdefault(where, []).append(text)
    claim = theory.claims()["oktopk.received.gaussian"]
    assert {claim.title, claim.note, claim.assumes[0].statement} <= set(read[claim.name])
    assert book.columns()["oktopk"].synopsis.lesson in read["oktopk"]
    assert "Without failures" in " ".join(read["verify/experiments/gossip/exhibits.py"])
    assert "induction on the ranks" in " ".join(read["theory/oktopk/models_selection.py"])


def test_unclear_words_are_seen_outside_of_code():
    assert unclear("A sum\nerrs by one.\n") == ["line 2: 'errs by', better: has error"]
    assert unclear("    errs\n\n```\nmended\n```\n`whatever` is a word.\n") == []
    assert unclear("    errs\n\n```\nmended\n```\nIt errs.\n") == ["line 6: 'errs', better: has error"]
    assert len(unclear("Whatever was mended goes on where it was.")) == 3
    assert len(unclear("It is run so. Of three ranks two are slow. Which is why they wait.", BOOK)) == 3
    assert unclear("They wait so. A part of it. One rank of P waits.", BOOK) == []
