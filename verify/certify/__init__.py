"""Certificates: proofs of claims for every input of a scope, checked in exact arithmetic."""

from commbounds.verify.certify.certificate import (
    Certificate,
    CertificateError,
    files,
    from_json,
    load,
    models,
    proved_for,
    seen,
)
from commbounds.verify.certify.checker import check
from commbounds.verify.certify.counterexamples import refutations
from commbounds.verify.certify.grades import Grade, extent, grade, record, told

__all__ = [
    "Certificate",
    "CertificateError",
    "Grade",
    "check",
    "extent",
    "files",
    "from_json",
    "grade",
    "load",
    "models",
    "proved_for",
    "record",
    "refutations",
    "seen",
    "told",
]
