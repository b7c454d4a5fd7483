"""Definitions: slow, obvious twins of what is registered, a module per column.

Each is written from what its claim ``COLUMN.NAME.definition`` names, a paper, code, or our own documentation, and
imports nothing of the package, so that a slip of the implementation is not repeated. The book, the tests and the test
vectors use the same ones.
"""

from commbounds.columns import extended

__all__ = []

__path__ = extended(__path__, "verify/definitions")
