"""Broken twins: each differs from the right compressor or collective by one defect.

Columns that are no part of the package have theirs in ``tests/mutants/`` beside their rooms.
"""

from commbounds.columns import extended

__path__ = extended(__path__, "tests/mutants")

from mutants.record import Mutant
from mutants.registry import MUTANTS

__all__ = ["MUTANTS", "Mutant"]
