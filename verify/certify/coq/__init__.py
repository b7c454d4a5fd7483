"""Certificates for Coq, whose kernel checks them a second time."""

from commbounds.verify.certify.coq.export import Lemma, files, write

__all__ = ["Lemma", "files", "write"]
