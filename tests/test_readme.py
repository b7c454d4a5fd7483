"""The tables of ``README.md`` name every column, with as many claims as the book has."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from commbounds.columns import COLUMNS
from commbounds.theory.book import columns

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
_SPEC = spec_from_file_location("counts", ROOT / "docs" / "counts.py")
COUNTS = module_from_spec(_SPEC)
_SPEC.loader.exec_module(COUNTS)


def rows(text):
    """What, which columns, how many claims of each origin hold, and more."""
    return [line.strip("| ").split("|") for line in text.splitlines() if COUNTS.is_row(line)]


ROWS = rows(TEXT)


def named(row):
    """The columns of a row."""
    return re.findall(r"`(\w+)`", row[1])


def test_every_column_has_a_place_in_a_table():
    assert sorted(name for row in ROWS for name in named(row)) == sorted(COLUMNS)


def test_numbers_of_claims_are_those_of_the_book():
    assert [COUNTS.counted(line) for line in TEXT.splitlines() if COUNTS.is_row(line)] == [
        line for line in TEXT.splitlines() if COUNTS.is_row(line)
    ], "python docs/counts.py writes them"


def test_it_says_how_the_printed_statements_are_known():
    assert COUNTS.SAID.search(TEXT)
    assert COUNTS.told(TEXT) == TEXT, "python docs/counts.py writes it"
    said = COUNTS.SAID.search(TEXT)[0]
    wrong = re.sub(r"\d+", "7", said)
    assert COUNTS.told(TEXT.replace(said, wrong)) == TEXT


def test_what_is_trained_with_now_stands_in_a_table_of_its_own():
    current = TEXT.partition("\nMethods in use today, and what packages ship:\n")[2]
    practice = [name for name, column in columns().items() if column.synopsis.practice]
    assert sorted(name for row in rows(current) for name in named(row)) == sorted(practice)
