"""The tables of ``README.md`` name every column, with as many claims as the book has."""

import re
from pathlib import Path

from commbounds.columns import COLUMNS
from commbounds.theory import Origin, Standing, claims
from commbounds.theory.book import columns

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def rows(text):
    """What, which columns, how many claims of each origin hold, and more."""
    return [line.strip("| ").split("|") for line in text.splitlines() if re.match(r"\|.*\| `\w+`", line)]


ROWS = rows(TEXT)


def named(row):
    """The columns of a row."""
    return re.findall(r"`(\w+)`", row[1])


def test_every_column_has_a_place_in_a_table():
    assert sorted(name for row in ROWS for name in named(row)) == sorted(COLUMNS)


def test_numbers_of_claims_are_those_of_the_book():
    for row in ROWS:
        of_row = [claim for claim in claims().values() if claim.column in named(row)]
        for origin, cell in zip((Origin.PRINTED, Origin.USAGE, Origin.OWN), row[2:5], strict=True):
            stands = [claim.stands for claim in of_row if claim.source.origin is origin]
            expected = f"{stands.count(Standing.HOLDS)} of {len(stands)}" if stands else "–"
            assert cell.strip() == expected, (row[:2], origin)


def test_what_is_trained_with_now_stands_in_a_table_of_its_own():
    current = TEXT.partition("\nWhat is trained with now, and what packages ship:\n")[2]
    practice = [name for name, column in columns().items() if column.synopsis.practice]
    assert sorted(name for row in rows(current) for name in named(row)) == sorted(practice)
