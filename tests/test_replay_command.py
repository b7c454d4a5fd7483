"""The command ``replay``: tables, exit codes, wrong usage."""

import sys
from functools import partial
from types import ModuleType

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.columns import Registry
from commbounds.verify import replays
from commbounds.verify.replay import Table


@pytest.fixture
def call(monkeypatch, tmp_path):
    """``call(*arguments)`` with two made-up replays: one that agrees and one that does not."""
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path))
    known = {}
    for name, agrees in (("good", True), ("bad", False)):
        module = ModuleType(f"replay_of_{name}", f"A replay that is {name}.\n\nMore of it.")

        def replay(budget, seed, agrees=agrees):
            first = partial(Table, "First [bold]", ("N", "ours"), (("4", f"{budget} {seed}"),), "read [this]")
            return [first, partial(Table, "Second", ("N",), (), agrees=agrees)]

        module.replay = replay
        monkeypatch.setitem(sys.modules, module.__name__, module)
        known[name] = module.__name__
    made_up = Registry(
        "REPLAYS", "verify.experiments", read=lambda column, _: known if column == "dense" else {}, written=False
    )
    monkeypatch.setattr(replays, "REPLAYS", made_up)
    return lambda *arguments: CliRunner().invoke(main, ["replay", *arguments])


def test_without_a_name_it_lists_them_and_says_what_each_is(call):
    result = call()
    assert result.exit_code == 0
    assert result.output.splitlines() == ["good  A replay that is good.", "bad   A replay that is bad."]


def test_tables_and_notes_are_printed_as_they_are(call):
    result = call("good", "--seed", "3")
    assert result.exit_code == 0
    for text in ("First [bold]", "quick 3", "read [this]", "Second"):
        assert text in result.output


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_tables_keep_their_order_wherever_they_are_made(call, jobs):
    output = call("good", "--jobs", jobs).output
    assert 0 <= output.index("First") < output.index("Second")


def test_disagreement_exits_with_1(call):
    assert call("bad").exit_code == 1


def test_unknown_names_are_wrong_usage(call):
    result = call("ugly")
    assert result.exit_code == 2
    assert "there are good, bad" in result.output


def test_rows_must_fit_their_headings():
    with pytest.raises(ValueError, match="must have 2 cells"):
        Table("t", ("a", "b"), (("1",),))
