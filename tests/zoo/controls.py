"""Right subjects, column by column: ``CONTROLS`` in ``tests/mutants/NAME.py``, beside the broken twins."""

from mutants.registry import of_columns

from commbounds.verify import conformance as cf

CONTROLS = of_columns("CONTROLS")
"""Everything that has to pass."""
COMPRESSORS = tuple(subject for subject in CONTROLS if isinstance(subject, cf.Codec))
"""Compressors of single arrays."""
