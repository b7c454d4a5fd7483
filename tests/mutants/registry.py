"""The registry of mutants: every broken twin, and what kills it; one module for a column."""

from importlib import import_module

from commbounds.columns import COLUMNS

MUTANTS = tuple(mutant for column in COLUMNS for mutant in import_module(f"mutants.{column}").MUTANTS)
"""Column by column."""
