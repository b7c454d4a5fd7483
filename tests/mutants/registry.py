"""What the columns' modules list, one module for a column: broken twins, right subjects, hyper-parameters to try."""

from importlib import import_module
from itertools import chain

from commbounds.columns import columns

_MODULES = {column: import_module(f"mutants.{column}") for column in columns()}


def by_column(table):
    """Column -> its tuple of that name; a column without has nothing to list."""
    return {column: getattr(module, table, ()) for column, module in _MODULES.items()}


def of_columns(table):
    """The columns' tuples of that name, one after another."""
    return tuple(chain.from_iterable(by_column(table).values()))


def entries_of(table):
    """The columns' dictionaries of that name, as one.

    Raises
    ------
    ValueError
        Two columns have an entry of the same name.
    """
    joined = {}
    for column, module in _MODULES.items():
        for name, entry in getattr(module, table, {}).items():
            if name in joined:
                raise ValueError(f"{table} of {column} has an entry {name!r}, as that of another column has")
            joined[name] = entry
    return joined


MUTANTS = of_columns("MUTANTS")
"""Every broken twin, and what kills it."""
EXAMPLES = entries_of("EXAMPLES")
"""Hyper-parameters by compressor, admissible for 20 entries and matrices of 4 x 5; the first of them for one entry."""
LOSSLESS = of_columns("LOSSLESS")
"""Compressors that lose nothing of a vector of 20 entries."""
FORMS = entries_of("FORMS")
"""What messages of a class look like, by its name: a check of the message and of what it stands for."""
