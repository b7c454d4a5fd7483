"""Broken twins of the column feedback, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
