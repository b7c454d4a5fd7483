"""Exhibits are made once, kept, and made anew for another run."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from commbounds.theory import claims
from commbounds.verify import exhibition
from commbounds.verify.exhibit import Exhibit, Line, Panel
from commbounds.verify.exhibits import EXHIBITS


@pytest.fixture
def made(monkeypatch):
    """Two made-up exhibits; the names of those that were made, in order."""
    calls = []

    def maker(name):
        def make(budget, seed):
            calls.append(name)
            return Exhibit(name, "title", "caption", (Panel("", "x", "y", (Line("a", [1.0], [float(seed)]),)),))

        return make

    table = {name: maker(name) for name in ("dense.words", "oktopk.words")}
    monkeypatch.setattr(exhibition, "EXHIBITS", table)
    monkeypatch.setattr(exhibition, "exhibit_names", lambda: list(table))
    return calls


def test_all_are_made_in_order_with_what_made_them(made):
    first, second = exhibition.exhibit_all(budget="quick", seed=3)
    assert made == ["dense.words", "oktopk.words"] == [first.name, second.name]
    assert (first.seed, first.budget) == (3, "quick")
    assert "numpy" in first.versions
    assert first.panels[0].lines[0].y == [3.0]


def test_patterns_choose_and_may_choose_none(made):
    assert [e.name for e in exhibition.exhibit_all(["oktopk.*"])] == ["oktopk.words"]
    assert exhibition.exhibit_all(["sparsifiers.*"]) == []


def test_what_is_kept_is_not_made_again(made, tmp_path):
    out = tmp_path / "exhibits.jsonl"
    exhibition.exhibit_all(["dense.*"], out=out)
    ready = []
    shown = exhibition.exhibit_all(out=out, progress=ready.append)
    assert [e.name for e in shown] == ["dense.words", "oktopk.words"]
    assert made == ["dense.words", "oktopk.words"]
    assert ready == ["oktopk.words"]
    assert exhibition.load_exhibits(out) == shown
    again = exhibition.exhibit_all(seed=1, out=out)
    assert made == 2 * ["dense.words", "oktopk.words"]
    assert exhibition.load_exhibits(out) == again


def test_an_executor_makes_the_same(made):
    with ThreadPoolExecutor(2) as pool:
        assert exhibition.exhibit_all(executor=pool) == exhibition.exhibit_all()


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "exhibits.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(ValueError, match="line 1"):
        exhibition.load_exhibits(path)


def test_every_exhibit_belongs_to_a_column():
    columns = {claim.column for claim in claims().values()}
    assert {name.partition(".")[0] for name in EXHIBITS} <= columns


@pytest.mark.long
@pytest.mark.parametrize("name", EXHIBITS)
def test_every_exhibit_is_complete(name):
    exhibit = exhibition.made(name)
    assert exhibit.name == name
    assert exhibit.title
    assert exhibit.caption.endswith(".")
    assert exhibit.panels
    for panel in exhibit.panels:
        assert panel.xlabel
        assert panel.ylabel
        assert panel.lines or panel.heat
    assert exhibition.made(name).to_json() == exhibit.to_json()
