"""Broken twins: each differs from the right compressor or collective by one defect.

Columns that are no part of the package have theirs in ``tests/mutants/`` beside their rooms.
"""

from commbounds.columns import extended

__path__ = extended(__path__, "tests/mutants")
__all__ = ["MUTANTS", "Mutant"]


def __getattr__(name):
    """What the columns' modules list, which are read when it is asked for: mutants of the source need none of them."""
    if name == "MUTANTS":
        from mutants.registry import MUTANTS

        return MUTANTS
    if name == "Mutant":
        from mutants.record import Mutant

        return Mutant
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
