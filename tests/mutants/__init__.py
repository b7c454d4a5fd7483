"""Broken twins of the compressors: each differs from the right one by one defect."""

from mutants.record import Mutant
from mutants.registry import MUTANTS

__all__ = ["MUTANTS", "Mutant"]
