"""Figures about more than one claim: every column's ``exhibits.py`` has a dict ``EXHIBITS``."""

from typing import Any

from commbounds.columns import Registry
from commbounds.verify.contents import STUDIES, told
from commbounds.verify.sources import Sources

EXHIBITS: Registry[Any] = Registry("EXHIBITS", "verify.experiments", "exhibits")
"""What makes an exhibit, under the exhibit's name, in the order of the columns."""


def exhibit_names() -> list[str]:
    """Their names, for which no column is imported; those of a column that cannot be are left out."""
    return [
        name for found in told("exhibits", _named, _made_from).values() if isinstance(found, list) for name in found
    ]


def _named(column: str) -> list[str]:
    return list(EXHIBITS.of_column(column))


def _made_from(sources: Sources, column: str) -> frozenset[str]:
    return sources.modules(column, ("exhibits",), STUDIES)
