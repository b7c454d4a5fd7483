"""What the columns' modules list, one module for a column: broken twins, right subjects, hyper-parameters to try."""

from importlib import import_module
from itertools import chain

from commbounds.columns import COLUMNS

_MODULES = [import_module(f"mutants.{column}") for column in COLUMNS]


def of_columns(table):
    """The columns' tuples of that name, one after another; a column without has nothing to list."""
    return tuple(chain.from_iterable(getattr(module, table, ()) for module in _MODULES))


MUTANTS = of_columns("MUTANTS")
"""Every broken twin, and what kills it."""
EXAMPLES = {name: given for module in _MODULES for name, given in getattr(module, "EXAMPLES", {}).items()}
"""Hyper-parameters by compressor, admissible for 20 entries and matrices of 4 x 5; the first of them for one entry."""
LOSSLESS = of_columns("LOSSLESS")
"""Compressors that lose nothing of a vector of 20 entries."""
