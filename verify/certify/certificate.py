"""`Certificate`: data that proves a claim for every input of a scope, and where it is kept."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from commbounds.columns import Registry, part
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
        version = data.pop("format")
        if type(version) is not int or version != FORMAT:
            raise CertificateError(f"certificates must have format {FORMAT}: find it again with `commbounds certify`")
        instances = tuple({k: _number(v) for k, v in at.items()} for at in data.pop("instances"))
        certificate = Certificate(**{**data, "instances": instances, "proofs": tuple(data["proofs"])})
    except CertificateError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CertificateError(f"not a certificate: {error!r}") from error
    require_form(certificate)
    return certificate


_RATIONAL = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?", re.ASCII)
_MOST_TEXT, _MOST_POWER = 10_000, 256


def rational(value: Any) -> Fraction:
    """The number that a certificate writes: whole, or ``"3/4"``.

    Raises
    ------
    CertificateError
        It is neither, or division by zero.
    """
    if (type(value) is int and abs(value).bit_length() < 1400) or isinstance(value, Fraction):
        return Fraction(value)
    if isinstance(value, str) and _RATIONAL.fullmatch(value) and not re.search("/0+$", value):
        return Fraction(value)
    raise CertificateError(f"a number must be whole or a quotient of whole numbers, got {_shown(value)}")


def _number(value: Any) -> int | Fraction:
    number = rational(value)
    return int(number) if type(value) is int else number


def _shown(value: Any) -> str:
    text = str(value) if not isinstance(value, int) else hex(value)
    return repr(text if len(text) <= 80 else text[:80] + "...")


def require_form(certificate: Certificate) -> None:
    """Whether a certificate has the form that `docs/certificates.md` describes; of what it proves this says nothing.

    Raises
    ------
    CertificateError
        It has another, with the first place found.
    """
    for name in ("claim", "kind", "scope", "found"):
        _require(_is_text(getattr(certificate, name)), name, "a text", getattr(certificate, name))
    _require(_is_list(certificate.instances), "instances", "a list", certificate.instances)
    for at in certificate.instances:
        _require(_maps(at, lambda v: type(v) is int or isinstance(v, Fraction)), "an instance", "names to numbers", at)
    _require(_is_list(certificate.proofs), "proofs", "a list", certificate.proofs)
    for proof in certificate.proofs:
        _require(_maps(proof, lambda _: True), "a proof", "a record", proof)
        for name, value in proof.items():
            allowed, words = _PARTS.get(name, (None, ""))
            if allowed is None:
                raise CertificateError(f"a proof has no {_shown(name)}")
            _require(allowed(value), f"{name!r} of a proof", words, value)


def _require(holds: bool, what: str, words: str, value: Any) -> None:
    if not holds:
        raise CertificateError(f"{what} must be {words}, got {type(value).__name__}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _maps(value: Any, allowed: Callable[[Any], bool]) -> bool:
    return isinstance(value, Mapping) and all(_is_text(k) and allowed(v) for k, v in value.items())


def _is_power(value: Any) -> bool:
    return type(value) is int and 1 <= value <= _MOST_POWER


def _is_term(value: Any) -> bool:
    if not _is_list(value) or len(value) not in (2, 3):
        return False
    return type(value[0]) in (int, str) and _maps(value[1], _is_power) and all(_is_text(v) for v in value[2:])


_POWERS = f"names of conditions to whole powers from 1 to {_MOST_POWER}"
_PARTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "at": (lambda v: type(v) is int, "a whole number"),
    "goal": (_is_text, "a text"),
    "clear": (lambda v: _maps(v, _is_power), _POWERS),
    "terms": (
        lambda v: _is_list(v) and all(map(_is_term, v)),
        f"a list of [number, {_POWERS}] or [number, {_POWERS}, polynomial]",
    ),
    "zero": (lambda v: _maps(v, _is_text), "names of conditions to polynomials"),
    "sturm": (lambda v: _is_list(v) and len(v) == 2 and all(map(_is_text, v)), "the names of two conditions"),
    "run": (lambda v: _maps(v, lambda part: type(part) is int or _is_text(part)), "the record of a run"),
}
"""What the parts of a proof may be, and the same in words."""


def folder(column: str) -> Path | None:
    """Where a column's certificates lie; None where its claims are a single module."""
    found = part("theory", column)
    path = getattr(found, "__path__", None)
    return Path(next(iter(path))) / "certificates" if path else None


def _beside(column: str, found: ModuleType) -> dict[str, Path]:
    """The files of a column by claim, in the order of its claims."""
    from commbounds import theory

    path = getattr(found, "__path__", None)
    where = [] if path is None else sorted((Path(next(iter(path))) / "certificates").glob("*.json"))
    named = {file.name.removesuffix(".json"): file for file in where}
    if not named:
        return {}
    order = list(theory.claims().of_column(column))
    if unknown := [name for name in named if name not in order]:
        raise CertificateError(f"certificates must be named after claims, got {', '.join(unknown)}")
    return {name: named[name] for name in order if name in named}


@cache
def files() -> Registry[Path]:
    """The certificates' files, by the claim that each is named after, in the book's order."""
    return Registry("certificates", "theory", read=_beside)


def load(claim: str) -> Certificate:
    """The certificate of a claim.

    Raises
    ------
    CertificateError
        The file is no certificate, or one of another claim.
    """
    try:
        certificate = from_json(files()[claim].read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise CertificateError(f"not a certificate: {error}") from error
    if certificate.claim != claim:
        raise CertificateError(f"the certificate of {claim} says that it is of {certificate.claim}")
    return certificate


_MODELS: Registry[Any] = Registry("MODELS", "theory", "models")


def models() -> Registry[Any]:
    """The models of all columns, by claim: ``MODELS`` in ``theory/NAME/models.py``."""
    return _MODELS


@dataclass(frozen=True)
class Seen:
    """What a model came to at runs of the implementation: conditions were met, and what they are to show held.

    Parameters
    ----------
    cases, tested : int
        How many runs there were: cases of the claim's study, and further ones in tests of the models.
    goals, of : int
        How many of the model's goals were met at one at least, and how many it has.
    """

    cases: int
    tested: int
    goals: int
    of: int

    @property
    def runs(self) -> int:
        """How many runs in all."""
        return self.cases + self.tested

    def __str__(self) -> str:
        every = "" if self.goals == self.of else f", those of {self.goals} of {self.of} goals"
        return f"conditions held at {self.runs} runs of the implementation{every}"


def _recorded(_column: str, found: ModuleType) -> dict[str, Seen]:
    path = getattr(found, "__path__", None)
    file = None if path is None else Path(next(iter(path))) / "runs.json"
    records = json.loads(file.read_text("utf-8")) if file is not None and file.is_file() else {}
    return {claim: Seen(*record) for claim, record in records.items()}


_SEEN: Registry[Seen] = Registry("runs", "theory", read=_recorded)


def seen() -> Registry[Seen]:
    """What models came to at runs of the implementation, by claim: ``theory/NAME/runs.json``, which tests compare."""
    return _SEEN


def proved_for(certificate: Certificate) -> str:
    """For what a certificate proves its claim: the model's scope, and the claim's hypotheses by their names."""
    from commbounds import theory

    names = [hypothesis.name for hypothesis in theory.claims()[certificate.claim].assumes]
    return certificate.scope + (f"; hypotheses: {', '.join(names)}" if names else "")


def save(certificate: Certificate, where: Path) -> Path:
    """Write a certificate into a folder, in one step; the file is named after its claim."""
    path = where / f"{certificate.claim}.json"
    written(path, certificate.to_json().encode())
    files.cache_clear()
    return path
