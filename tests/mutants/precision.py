"""Broken twins of the column precision."""

from mutants.precision_bits import MUTANTS as OF_BITS

MUTANTS = OF_BITS
