"""The tables of ``docs/tolerance-power.md`` are what is counted."""

from pathlib import Path

import oracle_power as power
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "tolerance-power.md").read_text(encoding="utf-8")


def test_rows_are_what_is_counted():
    lines = PAGE.splitlines()
    assert power.row("bfloat16", 8) in lines
    assert power.row_of_codes("two-step, 8 bits", 8) in lines
    assert [name for name in power.ROWS for P in power.ROWS[name] if f"| {name}, {P} |" not in PAGE] == []
    assert [name for name, P in power.CODED if f"| {name}, {P} |" not in PAGE] == []


@pytest.mark.long
def test_all_rows_are_what_is_counted():
    assert power.table() in PAGE
    assert power.table_of_codes() in PAGE


def test_right_runs_are_not_refused():
    assert len(power.RIGHT) == 12
    assert power.false_alarms(120) == [0] * 6
    assert "False alarms in 20000 right runs: [0, 0, 0, 0, 0, 0]" in PAGE


@pytest.mark.long
def test_many_right_runs_are_not_refused():
    assert power.false_alarms(20_000) == [0] * 6
