"""Broken twins: each differs from the right compressor or collective by one defect."""

from mutants.record import Mutant
from mutants.registry import MUTANTS

__all__ = ["MUTANTS", "Mutant"]
