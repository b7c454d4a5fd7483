"""Broken twins of the column arctopk, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
