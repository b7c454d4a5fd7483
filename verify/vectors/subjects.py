"""What has test vectors: every compressor, mechanism and collective, and those that are left out, with the reason."""

from commbounds.columns import Registry, parts
from commbounds.verify.vectors.case import VectorSubject

LEFT_OUT: Registry[str] = Registry("WITHOUT_VECTORS", "verify.experiments")
"""Names in the registries without vectors, and why: the columns' packages say so in ``WITHOUT_VECTORS``."""


def subjects() -> dict[str, VectorSubject]:
    """Everything that has vectors, under its name: what the columns' ``vectors.py`` give, column by column."""
    made = [getattr(column, "subjects", list) for _, column in parts("verify.experiments", "vectors")]
    found = [subject for subjects_of in made for subject in subjects_of()]
    return {subject.name: subject for subject in found}
