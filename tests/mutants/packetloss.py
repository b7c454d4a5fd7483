"""Broken twins of the column packetloss, each by one defect."""

__all__ = ["MUTANTS"]

MUTANTS = ()
