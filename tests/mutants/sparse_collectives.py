"""Broken twins of the column sparse, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
