"""Definitions: slow, obvious twins of everything that is registered, a module per column.

Each is written from the source that its claim ``COLUMN.NAME.definition`` names, and imports nothing of the package, so
that no mistake can be in both. The book, the tests and the test vectors use the same ones.
"""

from commbounds.columns import extended

__all__ = []

__path__ = extended(__path__, "verify/definitions")
