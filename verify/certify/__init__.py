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

__all__ = [
    "Certificate",
    "CertificateError",
    "check",
    "files",
    "from_json",
    "load",
    "models",
    "proved_for",
    "refutations",
    "seen",
]
