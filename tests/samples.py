"""Which members of a large family of tests run by default; the rest are marked ``wide``, or ``long``."""

from zlib import crc32

import pytest

LARGE = 8
"""Members that make a family large."""
SHARE = 5
"""Of a large family that is not sampled otherwise, one member in so many runs by default."""
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


def sample(items):
    """Marks what does not run by default of large families, of which everything would.

    The first member runs, and those whose names have a checksum that the share divides: whatever the order of the
    parameters and their number, no value of one is left out because of another.

    Parameters
    ----------
    items : iterable of pytest.Item
        Tests as they are collected. Of a test that is asked for by its whole name there is one, and it runs.
    """
    families = {}
    for item in items:
        families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in families.values():
        if len(family) < LARGE or any(item.get_closest_marker(mark) for item in family for mark in ("wide", "long")):
            continue
        share = SHARE_OF_KERNELS if family[0].get_closest_marker("kernels") else SHARE
        for item in family[1:]:
            if crc32(item.nodeid.encode()) % share:
                item.add_marker(pytest.mark.wide)
