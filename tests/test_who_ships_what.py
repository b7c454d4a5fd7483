"""The table of what packages ship: every claim in it is in the book, and stands as the word before it says."""

import re
from pathlib import Path

import pytest

from commbounds.theory import Standing, claims

PAGE = Path(__file__).parents[1] / "docs" / "who-ships-what.md"
WORDS = {"holds": Standing.HOLDS, "corrected": Standing.HOLDS_AS_CORRECTED, "refuted": Standing.REFUTED}
CLAIM = re.compile(r"`([a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_]*){2,})`")


def rows():
    """The cells of every row but the heads."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def verdicts(cell):
    """(word, claim) pairs of a cell."""
    found = []
    for part in cell.split(";"):
        word, colon, names = part.strip().partition(": ")
        assert colon, f"{part!r} has no verdict"
        assert CLAIM.findall(names), f"{part!r} names no claim"
        found += [(word, name) for name in CLAIM.findall(names)]
    return found


def wrong(cell):
    """What a cell says of claims that the book does not."""
    return [
        (word, name) for word, name in verdicts(cell) if name not in claims() or claims()[name].stands != WORDS[word]
    ]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_what_a_row_says_holds_or_not_is_what_the_book_says(row):
    assert len(row) == 4
    assert not wrong(row[3])


def test_claims_outside_the_table_are_in_the_book_too():
    assert set(CLAIM.findall(PAGE.read_text())) <= set(claims())


def test_another_word_or_another_name_is_noticed():
    assert wrong("refuted: `shipped.bernoullilazy.variance`")
    assert wrong("holds: `shipped.bernoullilazy.no_such_claim`")
    assert not wrong("holds: `shipped.bernoullilazy.variance`; refuted: `shipped.terngrad.variance_zero`")


def test_every_statement_that_fails_and_every_package_has_a_row():
    named = {name for row in rows() for _, name in verdicts(row[3])}
    printed = {
        name
        for name, claim in claims().items()
        if claim.column == "shipped"
        and claim.stands is not Standing.HOLDS
        and claim.source.tag.value == "official code"
    }
    assert printed <= named
    shippers = " ".join(row[1] for row in rows())
    assert all(
        package in shippers
        for package in ("BytePS", "FL_PyTorch", "GRACE", "hivemind", "Bagua", "epfml", "bitsandbytes", "ATOMO")
    )
