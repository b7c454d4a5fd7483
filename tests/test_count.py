"""Counts as people type them."""

import click
import pytest
from click.testing import CliRunner

from commbounds._count import COUNT, WHOLE, Count, integer
from commbounds.cli import main


@pytest.mark.parametrize(
    ("text", "number"),
    [("1000000", 10**6), ("1e6", 10**6), ("1_000_000", 10**6), ("2.5e3", 2500), (" 7 ", 7), ("1e18", 10**18)],
)
def test_whole_numbers_are_read(text, number):
    assert integer(text) == number
    assert COUNT.convert(text, None, None) == number


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e-3", "inf", "nan", "1e19", "1e999999999", "-1e999999999"])
def test_what_is_no_whole_number_is_refused(text):
    assert integer(text) is None
    with pytest.raises(click.BadParameter, match="is not a whole number"):
        COUNT.convert(text, None, None)


def test_the_range_is_said():
    with pytest.raises(click.BadParameter, match="must be at least 1, got 0"):
        COUNT.convert("0", None, None)
    with pytest.raises(click.BadParameter, match=r"must be in \[1, 12\], got 1e2"):
        Count(1, 12).convert("1e2", None, None)
    assert WHOLE.convert("-3", None, None) == -3
    assert COUNT.convert(5, None, None) == 5


def test_everywhere_that_a_count_is_asked_it_may_have_an_exponent():
    """Options of integers that are no counts are seeds: a new one must be of one kind or the other."""
    asked = {}
    for command in main.commands.values():
        for option in command.params:
            if isinstance(option.type, Count | click.types.IntParamType):
                asked[f"{command.name} {option.name}"] = isinstance(option.type, Count)
    assert asked["bench entries"]
    assert asked["cost entries"]
    assert {name for name, counts in asked.items() if not counts} <= {name for name in asked if name.endswith(" seed")}


def test_a_cost_is_the_same_however_its_counts_are_typed():
    typed = [
        CliRunner().invoke(main, ["cost", "ring", "--P", P, "--n", n]) for P, n in (("8", "1000000"), ("8e0", "1e6"))
    ]
    assert typed[0].exit_code == 0
    assert typed[0].output == typed[1].output
