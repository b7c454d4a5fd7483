"""Right subjects, column by column: ``CONTROLS`` in ``tests/mutants/NAME.py``, beside the broken twins."""

from mutants.registry import by_column, of_columns

from commbounds.verify import conformance as cf

CONTROLS = of_columns("CONTROLS")
"""Everything that has to pass."""
COLUMN_OF = {subject.name: column for column, subjects in by_column("CONTROLS").items() for subject in subjects}
"""Name of a control -> its column."""
COMPRESSORS = tuple(subject for subject in CONTROLS if isinstance(subject, cf.Codec))
"""Compressors of single arrays."""
