"""Mutants of the source, made by a machine, and judged by the claims alone: ``python -m tests.mutants.source``."""
