"""The tables of ``README.md`` name every column, with as many claims as the book has."""

import re
from pathlib import Path

from commbounds.columns import COLUMNS
from commbounds.theory import Standing, claims

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split("|") for line in TEXT.splitlines() if re.match(r"\|.*\| `\w+`", line)]
"""What, which columns, how many claims, and more."""


def named(row):
    """The columns of a row."""
    return re.findall(r"`(\w+)`", row[1])


def test_every_column_has_a_place_in_a_table():
    assert sorted(name for row in ROWS for name in named(row)) == sorted(COLUMNS)


def test_numbers_of_claims_are_those_of_the_book():
    for row in ROWS:
        of_row = [claim for claim in claims().values() if claim.column in named(row)]
        holding = sum(claim.stands is Standing.HOLDS for claim in of_row)
        stated = re.match(r" (\d+)(?: claims)?, (\d+) hold", row[2])
        assert stated is not None, row
        assert [int(number) for number in stated.groups()] == [len(of_row), holding], row[:2]
