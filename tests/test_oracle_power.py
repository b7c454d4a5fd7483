"""The tables of ``docs/tolerance-power.md`` are what is counted."""

from pathlib import Path

import oracle_power as power
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "tolerance-power.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("dtype", power.FORMATS)
def test_rows_are_what_is_counted(dtype):
    assert power.row(dtype, 8) in PAGE.splitlines()


@pytest.mark.long
def test_all_rows_are_what_is_counted():
    assert power.table() in PAGE


def test_right_runs_are_not_refused():
    assert len(power.RIGHT) == 10
    assert power.false_alarms(60) == [0, 0, 0]
    assert "0 by the bound, 0 by replay, 0 by exact inputs" in PAGE
