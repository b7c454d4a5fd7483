"""`Certificate`: data that proves a claim for every input of a scope, and where it is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from commbounds.columns import columns, entries, part
from commbounds.verify.writing import written

FORMAT = 1
"""Version of the files."""


class CertificateError(ValueError):
    """A certificate that proves nothing: it is malformed, or its sums do not come out."""


@dataclass(frozen=True)
class Certificate:
    """A proof of a claim's model at stated instances.

    Parameters
    ----------
    claim : str
        Name of the claim.
    kind : str
        What is to be checked, see `commbounds.verify.certify.checker.kind_of`.
    scope : str
        In words: for which inputs the claim is proved.
    instances : tuple of mapping
        The same as data: values of the model's enumerated parameters; one empty mapping where it has none.
    proofs : tuple of mapping
        One for every goal at every instance: ``at`` (index of the instance), ``goal`` (its name), and what the kind
        needs, see ``docs/certificates.md``.
    found : str
        How it was found. Nothing depends on it.
    """

    claim: str
    kind: str
    scope: str
    instances: tuple[Mapping[str, int | Fraction], ...]
    proofs: tuple[Mapping[str, Any], ...]
    found: str

    def to_json(self) -> str:
        """The file's text: one proof a line."""
        instances = [{k: v if isinstance(v, int) else str(v) for k, v in at.items()} for at in self.instances]
        head = {"format": FORMAT, "claim": self.claim, "kind": self.kind, "scope": self.scope, "found": self.found}
        lines = [f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}," for k, v in head.items()]
        lines.append(f' "instances": {json.dumps(instances)},')
        proofs = ",\n  ".join(json.dumps(proof) for proof in self.proofs)
        return "\n".join(["{", *lines, f' "proofs": [\n  {proofs}\n ]', "}", ""])


def from_json(text: str) -> Certificate:
    """The certificate that `Certificate.to_json` wrote.

    Raises
    ------
    CertificateError
        It is no certificate, or one of another format.
    """
    try:
        data = json.loads(text)
        if data.pop("format") != FORMAT:
            raise CertificateError(f"certificates must have format {FORMAT}: find it again with `commbounds certify`")
        instances = tuple({k: _number(v) for k, v in at.items()} for at in data.pop("instances"))
        return Certificate(**{**data, "instances": instances, "proofs": tuple(data["proofs"])})
    except (json.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
        raise CertificateError(f"not a certificate: {error!r}") from error


def _number(value: Any) -> int | Fraction:
    if type(value) is int:
        return value
    try:
        return Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise CertificateError(f"not a number: {value!r}") from error


def folder(column: str) -> Path | None:
    """Where a column's certificates lie; None where its claims are a single module."""
    theory = part("theory", column)
    path = getattr(theory, "__path__", None)
    return Path(next(iter(path))) / "certificates" if path else None


@cache
def files() -> dict[str, Path]:
    """The certificates' files, by the claim that each is named after, in the book's order."""
    from commbounds import theory

    found = {
        path.name.removesuffix(".json"): path
        for column in columns()
        if (where := folder(column)) is not None
        for path in sorted(where.glob("*.json"))
    }
    order = {name: i for i, name in enumerate(theory.claims())}
    unknown = [name for name in found if name not in order]
    if unknown:
        raise CertificateError(f"certificates must be named after claims, got {', '.join(unknown)}")
    return dict(sorted(found.items(), key=lambda item: order[item[0]]))


def load(claim: str) -> Certificate:
    """The certificate of a claim.

    Raises
    ------
    CertificateError
        The file is no certificate, or one of another claim.
    """
    certificate = from_json(files()[claim].read_text("utf-8"))
    if certificate.claim != claim:
        raise CertificateError(f"the certificate of {claim} says that it is of {certificate.claim}")
    return certificate


@cache
def models() -> dict[str, Any]:
    """The models of all columns, by claim: ``MODELS`` in ``theory/NAME/models.py``."""
    return entries("MODELS", "theory", "models")


def save(certificate: Certificate, where: Path) -> Path:
    """Write a certificate into a folder, in one step; the file is named after its claim."""
    path = where / f"{certificate.claim}.json"
    written(path, certificate.to_json().encode())
    files.cache_clear()
    return path
