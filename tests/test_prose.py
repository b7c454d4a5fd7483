"""Words that readers of the guides stumbled over are not used in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLAIN = {
    r"errs?( by)?": "has error",
    r"mend(s|ed|ing)?": "fix, correct",
    r"whatever": "for any, for every",
    r"as much at": "equal at",
    r"hands (it|them) to": "prints, passes",
    r"goes on where": "continues where",
    r"nobody need": "no reader has to",
}
"""Word or phrase, as an expression: what is said in its place."""
GENERATED = {"conformance-zoo.md"}  # from docstrings of subjects
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def unclear(text: str) -> list[str]:
    """Each such word with its line and what to write; code is left out."""
    prose = re.sub(r"^```(?s:.*?)^```$|^ {4}.*$|`[^`\n]*`|\"[^\"\n]*\"", _blank, text, flags=re.MULTILINE)
    return [
        f"line {number}: {found[0]!r}, better: {better}"
        for number, line in enumerate(prose.splitlines(), 1)
        for word, better in PLAIN.items()
        for found in re.finditer(rf"\b{word}\b", line, re.IGNORECASE)
    ]


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def test_guides_use_plain_words():
    guides = [path for path in GUIDES if path.name not in GENERATED]
    assert {path.name: found for path in guides if (found := unclear(path.read_text("utf-8")))} == {}


def test_unclear_words_are_seen_outside_of_code():
    assert unclear("A sum\nerrs by one.\n") == ["line 2: 'errs by', better: has error"]
    assert unclear("    errs\n\n```\nmended\n```\n`whatever` is a word.\n") == []
    assert unclear("    errs\n\n```\nmended\n```\nIt errs.\n") == ["line 6: 'errs', better: has error"]
    assert len(unclear("Whatever was mended goes on where it was.")) == 3
