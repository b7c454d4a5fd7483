"""Broken twins of the column dropcompute, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
