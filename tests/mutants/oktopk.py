"""Broken twins of the column oktopk, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
