"""What the columns' modules list, one module for a column: broken twins, right subjects, hyper-parameters to try."""

from importlib import import_module
from itertools import chain

from commbounds.columns import COLUMNS

_MODULES = {column: import_module(f"mutants.{column}") for column in COLUMNS}


def by_column(table):
    """Column -> its tuple of that name; a column without has nothing to list."""
    return {column: getattr(module, table, ()) for column, module in _MODULES.items()}


def of_columns(table):
    """The columns' tuples of that name, one after another."""
    return tuple(chain.from_iterable(by_column(table).values()))


MUTANTS = of_columns("MUTANTS")
"""Every broken twin, and what kills it."""
EXAMPLES = {name: given for module in _MODULES.values() for name, given in getattr(module, "EXAMPLES", {}).items()}
"""Hyper-parameters by compressor, admissible for 20 entries and matrices of 4 x 5; the first of them for one entry."""
LOSSLESS = of_columns("LOSSLESS")
"""Compressors that lose nothing of a vector of 20 entries."""
