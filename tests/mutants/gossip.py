"""Broken twins of the column gossip, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
