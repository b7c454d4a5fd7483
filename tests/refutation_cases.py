"""What refuted claims are run with at their smallest counterexamples: the columns' files in ``verify/certify/cases``.

A file is named after its column. Of these tables it has those that the column needs, each entry by the claim's name, or
by how it begins (the longest beginning counts):

CASES
    Settings of the case at the point, beside the values of the claim's symbols (or what makes them of the point), and
    what makes its array of the point, where it is not the refutation's x; else None.
HYPER_PARAMETERS
    Of the compressor at the point; or what makes the compressor of the point.
KERNEL_ALONE
    Claims that are run in float32 alone: about its ends, which the exact law does not have, or about messages.
IN_FLOATS
    Claims that are run in floats alone: the compressor's law is not finite, or has no exact measure.
LAW_ALONE
    Claims that are run by the exact law alone: of the kernel the outcomes are not enumerated.
WORST_OUTCOME
    Claims whose reading of the kernel is the worst over the outcomes, and not the mean, which the model says.
ALONE
    What makes the outcome of the point, where no study measures at so small a one.

``case_of(name, settings, more, stack)``, where a column's cases are made in a way of their own, makes them.
"""

from fractions import Fraction
from functools import cache

from column_files import modules_in

from commbounds.verify.study import Case


@cache
def _files():
    return modules_in("verify/certify/cases")


def found_in(table, name):
    """The entry of the longest beginning of the claim's name in a table of its column.

    Raises
    ------
    LookupError
        The column's file has none, or there is no file.
    """
    column = name.partition(".")[0]
    entries = getattr(_files().get(column), table, {})
    known = [beginning for beginning in entries if name.startswith(beginning)]
    if not known:
        raise LookupError(f"{table} of verify/certify/cases/{column}.py says nothing of {name}")
    return entries[max(known, key=len)]


def listed_in(table, name):
    """Whether the claim stands in a table of its column."""
    return name in getattr(_files().get(name.partition(".")[0]), table, ())


def case_of(name, settings, more, stack):
    """The case at the point of a claim."""
    own = getattr(_files()[name.partition(".")[0]], "case_of", None)
    return own(name, settings, more, stack) if own else Case({**settings, **more}, stack)


def rows(*sizes):
    """A maker of an array that is the same for every point."""
    return lambda _: [list(map(float, size)) for size in sizes]


def squared_distance(result):
    """The mean squared distance of the rows from their mean, exactly."""
    exact = [[Fraction(v) for v in row] for row in result.tolist()]
    means = [sum(column) / len(exact) for column in zip(*exact, strict=True)]
    return sum((v - m) ** 2 for row in exact for v, m in zip(row, means, strict=True)) / len(exact)
