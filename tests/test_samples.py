"""What runs by default of a large family of tests: some of it, always the same, and the rest is ``wide``."""

import re
from pathlib import Path

import pytest
from samples import LARGE, SHARE, SHARE_OF_KERNELS, sample, slow, timed_in


class Item:
    """A collected test, as far as samples look at it."""

    def __init__(self, nodeid, *marks):
        self.nodeid, self.marks = nodeid, set(marks)

    def get_closest_marker(self, name):
        return name if name in self.marks else None

    def add_marker(self, mark):
        self.marks.add(mark.name)


def family(name, count, *marks):
    return [Item(f"tests/test_made_up.py::{name}[{i}-{i % 3}]", *marks) for i in range(count)]


def marked(items):
    sample(items)
    return [item for item in items if "wide" in item.marks]


def test_small_families_run_whole():
    items = [*family("test_a", LARGE - 1), *family("test_b", LARGE - 1), Item("tests/test_made_up.py::test_c")]
    assert not marked(items)


@pytest.mark.parametrize(("marks", "share"), [((), SHARE), (("kernels",), SHARE_OF_KERNELS)])
def test_of_large_ones_the_first_runs_and_a_share_of_the_others_with_every_value(marks, share):
    items = family("test_a", 600, *marks)
    wide = marked(items)
    assert items[0] not in wide
    assert abs(len(wide) / 600 - (1 - 1 / share)) < 0.06
    run = {item.nodeid.rpartition("-")[2] for item in items if item not in wide}
    assert run == {"0]", "1]", "2]"}
    assert [item.nodeid for item in marked(family("test_a", 600, *marks))] == [item.nodeid for item in wide]


@pytest.mark.parametrize("mark", ["wide", "long"])
def test_families_that_are_sampled_already_are_left_alone(mark):
    others = family("test_a", 3 * LARGE)
    others[-1].marks.add(mark)
    assert len(marked(others)) == (mark == "wide")


def test_slow_tests_are_wide_and_count_for_no_family(monkeypatch):
    items = family("test_a", 3 * LARGE)
    monkeypatch.setattr("samples.slow", lambda: [items[0].nodeid])
    assert items[0] in marked(items)
    assert 1 < len(marked(items)) < len(items)


def test_of_wide_tests_a_share_can_be_drawn(monkeypatch):
    drawn = []
    for seed in ("one", "another"):
        items = family("test_a", 900, "wide")
        monkeypatch.setenv("COMMBOUNDS_WIDE", f"3:{seed}")
        sample(items)
        drawn.append({item.nodeid for item in items if "long" not in item.marks})
    assert all(250 < len(run) < 350 for run in drawn)
    assert 50 < len(drawn[0] & drawn[1]) < 150


def test_slow_tests_are_there():
    for name in slow():
        path, _, test = name.partition("::")
        assert re.search(rf"\ndef {test.partition('[')[0]}\(", Path(path).read_text(encoding="utf-8")), name


def test_times_are_read_as_pytest_writes_them(tmp_path):
    (tmp_path / "junit.xml").write_text(
        '<testsuites><testcase classname="tests.a.test_b" name="test_c[1]" time="2.5"/></testsuites>'
    )
    assert list(timed_in(tmp_path / "junit.xml")) == [("tests/a/test_b.py::test_c[1]", 2.5)]
