"""Figures about more than one claim: every column's ``exhibits.py`` has a dict ``EXHIBITS``."""

from typing import Any

from commbounds.columns import Registry

EXHIBITS: Registry[Any] = Registry("EXHIBITS", "verify.experiments", "exhibits")
"""What makes an exhibit, under the exhibit's name, in the order of the columns."""
