"""Broken twins of the column moshpit, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
