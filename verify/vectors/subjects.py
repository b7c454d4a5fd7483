"""What has test vectors: every compressor, mechanism and collective, and those that are left out, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from commbounds.columns import entries, parts
from commbounds.verify.vectors.case import VectorSubject

LEFT_OUT: Mapping[str, str] = MappingProxyType(entries("WITHOUT_VECTORS", "verify.experiments"))
"""Names in the registries without vectors, and why: the columns' packages say so in ``WITHOUT_VECTORS``."""


def subjects() -> dict[str, VectorSubject]:
    """Everything that has vectors, under its name: what the columns' ``vectors.py`` give, column by column."""
    found = [subject for _, column in parts("verify.experiments", "vectors") for subject in column.subjects()]
    return {subject.name: subject for subject in found}
