"""Which members of a large family of tests run by default; the rest are marked ``wide``."""

import pytest


def first_of_each(members, kind, name=str):
    """The members as parameters of a test: the first of every kind runs by default.

    Parameters
    ----------
    members : sequence
        A tuple is the values of several parameters.
    kind : callable (member) -> hashable
        What the default run is to hold one of.
    name : callable (member) -> str
        Its part of the test's name.
    """
    known, parameters = set(), []
    for member in members:
        values = member if isinstance(member, tuple) else (member,)
        marks = pytest.mark.wide if kind(member) in known else ()
        parameters.append(pytest.param(*values, id=name(member), marks=marks))
        known.add(kind(member))
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
