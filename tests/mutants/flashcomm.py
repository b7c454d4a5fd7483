"""Broken twins of the column flashcomm, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
