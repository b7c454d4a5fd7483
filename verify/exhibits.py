"""Figures about more than one claim: every column's ``exhibits.py`` has a dict ``EXHIBITS``."""

from types import MappingProxyType

from commbounds.columns import entries

EXHIBITS = MappingProxyType(entries("EXHIBITS", "verify.experiments", "exhibits"))
"""What makes an exhibit, under the exhibit's name, in the order of the columns."""
