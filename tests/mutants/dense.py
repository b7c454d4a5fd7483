"""Broken twins of the column dense, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
