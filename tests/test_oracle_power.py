"""The tables of ``docs/tolerance-power.md`` are what is counted."""

from pathlib import Path

import numpy as np
import oracle_power as power
import pytest

from commbounds._orders import schedule_order

PAGE = (Path(__file__).parents[1] / "docs" / "tolerance-power.md").read_text(encoding="utf-8")
LINES = PAGE.splitlines()


def test_rows_are_what_is_counted():
    assert power.row("bfloat16", 8) in LINES
    assert power.row_of_codes("two-step, 8 bits", 8) in LINES
    rows = [(name, P) for name, ranks in power.ROWS.items() for P in ranks] + power.CODED
    assert [row for row in rows if f"| {row[0]}, {row[1]} |" not in PAGE] == []


@pytest.mark.long
@pytest.mark.parametrize(("dtype", "P"), [(dtype, P) for dtype, ranks in power.ROWS.items() for P in ranks])
def test_all_rows_are_what_is_counted(dtype, P):
    assert power.row(dtype, P) in LINES


@pytest.mark.long
@pytest.mark.parametrize(("name", "P"), power.CODED)
def test_all_rows_of_codes_are_what_is_counted(name, P):
    assert power.row_of_codes(name, P) in LINES


def test_what_is_counted_is_what_the_assertions_say():
    order = schedule_order("ring", 9, power.N, "bfloat16")
    x = power.data("normal", np.random.default_rng(1), 9, power.N, "bfloat16")
    check = power.Checks(x, order)
    for name in ("a rank is halved", "a chunk of a rank is lost", "other digits than promised"):
        y = power.BUGS[name](x, power.ring)
        assert check(y) == power.checks(y, x, order)
    assert check(power.ring(x)) == [False] * 4


def test_right_runs_are_not_refused():
    assert len(power.RIGHT) == 12
    assert power.false_alarms(120) == [0] * 8


@pytest.mark.long
def test_many_right_runs_are_not_refused():
    assert power.false_alarms(20_000) == [0] * 8


def test_what_all_functions_are_asked_first_is_asked_once():
    """For the table: a bug that exact inputs refuse is refused with any data, and another is asked about in full."""
    x = power.data("normal", np.random.default_rng(1), 9, power.N, "bfloat16")
    for name in ("a rank is halved", "one entry is wrong", "other digits than promised"):
        at_once = power.refused_at_once(power.BUGS[name], 9, "bfloat16")
        assert at_once == (name != "other digits than promised")
        assert power.refused(power.BUGS[name], x, schedule="ring")
        assert power.refused(power.BUGS[name], x) == at_once
