"""Which members of a large family of tests run by default; the rest are marked ``wide``, or ``long``."""

import os
import sys
from pathlib import Path
from xml.etree import ElementTree
from zlib import crc32

import pytest

LARGE = 8
"""Members that make a family large."""
SHARE = 5
"""Of a large family that is not sampled otherwise, one member in so many runs by default."""
SLOW = 1.0
"""Seconds from which on a test does not run by default."""
LISTED = Path(__file__).with_name("slow.txt")
"""The tests that took so long; ``python tests/samples.py JUNIT.xml`` adds those of a run that was timed."""
SHARE_OF_KERNELS = 3
"""The same of tests that run kernels: these run in plain Python as well, where the lines count that they cover."""


def first_of_each(members, kind, name=str, often=None):
    """The members as parameters of a test: the first of every kind runs by default.

    Parameters
    ----------
    members : sequence
        A tuple is the values of several parameters.
    kind : callable (member) -> hashable
        What the default run is to hold one of.
    name : callable (member) -> str
        Its part of the test's name.
    often : callable (member) -> hashable, optional
        What the wide run is to hold one of: the others are long. All are wide without it.
    """
    known, known_often, parameters = set(), set(), []
    for member in members:
        values = member if isinstance(member, tuple) else (member,)
        group = None if often is None else often(member)
        if kind(member) not in known:
            marks = ()
        elif often is None or group not in known_often:
            marks = pytest.mark.wide
        else:
            marks = pytest.mark.long
        parameters.append(pytest.param(*values, id=name(member), marks=marks))
        known.add(kind(member))
        known_often.add(group)
    return parameters


def each_once(rows, columns, name=str):
    """All pairs of a row and a column as parameters of a test: every row runs once by default.

    Parameters
    ----------
    rows, columns : iterable
        The rows take the columns in turn: what is telling is to come first.
    name : callable (row) -> str
        Its part of the test's name.
    """
    columns, parameters = list(columns), []
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            marks = () if j == i % len(columns) else pytest.mark.wide
            parameters.append(pytest.param(row, column, id=f"{name(row)}-{column}", marks=marks))
    return parameters


def slow():
    """Names of the tests that are listed as slow."""
    return LISTED.read_text(encoding="utf-8").splitlines()


def sample(items):
    """Marks what does not run by default: slow tests, and of large families, of which everything would, the most.

    With ``COMMBOUNDS_WIDE=NUMBER:SEED`` in the environment one wide test in so many, drawn by the seed, is left wide;
    the others are long.

    The first member runs, and those whose names have a checksum that the share divides: whatever the order of the
    parameters and their number, no value of one is left out because of another.

    Parameters
    ----------
    items : iterable of pytest.Item
        Tests as they are collected. Of a test that is asked for by its whole name there is one, and it runs.
    """
    families, listed = {}, set(slow())
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.wide)
        families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in families.values():
        rest = [item for item in family if item.nodeid not in listed]
        if len(family) < LARGE or any(item.get_closest_marker(mark) for item in rest for mark in ("wide", "long")):
            continue
        share = SHARE_OF_KERNELS if family[0].get_closest_marker("kernels") else SHARE
        for item in family[1:]:
            if crc32(item.nodeid.encode()) % share:
                item.add_marker(pytest.mark.wide)
    of_wide, _, seed = os.environ.get("COMMBOUNDS_WIDE", "1").partition(":")
    for item in items:
        if item.get_closest_marker("wide") and crc32(f"{seed} {item.nodeid}".encode()) % int(of_wide):
            item.add_marker(pytest.mark.long)


def timed_in(path):
    """Names and seconds of the tests in a file that ``pytest --junitxml`` wrote."""
    for case in ElementTree.parse(path).iter("testcase"):
        yield f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}", float(case.get("time"))


if __name__ == "__main__":
    found = {name for path in sys.argv[1:] for name, seconds in timed_in(path) if seconds >= SLOW}
    LISTED.write_text("".join(f"{name}\n" for name in sorted({*slow(), *found})), encoding="utf-8")
