"""How much of a claim a certificate proves: `grade`, from the model's data and from what the checker is given."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import sympy as sp

from commbounds.columns import Registry
from commbounds.theory.model import Extent, Model, ranges
from commbounds.verify.certify import letters
from commbounds.verify.certify.certificate import Certificate, CertificateError, models, proved_for


class Grade(StrEnum):
    """How much of a claim is proved, most first."""

    PROVED = "proved"
    """From the mechanism, as the model describes it, to the claim."""
    FINITE = "proved for a finite scope"
    """The same, at enumerated parameters or bit patterns, where the claim says more."""
    IN_WORDS = "proved but for steps in words"
    """Goals are proved, and lead to the claim by steps that stand in words: the model lists them."""
    DEFINITION = "by definition"
    """What is shown says again what the model says of the quantity: no proof."""


_EXTENTS: Registry[Extent] = Registry("EXTENTS", "theory", "models")


def extent(claim: str) -> Extent:
    """What a model's author says of how much it shows, in ``EXTENTS`` of the column's models."""
    return _EXTENTS.get(claim, Extent())


def grade(certificate: Certificate) -> Grade:
    """How much of its claim a certificate proves.

    Raises
    ------
    CertificateError
        The model's author does not say, or says of goals that are zero, or conditions, as they stand.
    """
    said = _EXTENTS.get(certificate.claim)
    if (said is None) != is_trivial(certificate):
        what = "no more than its goals do" if said is not None else "how much of the claim it shows"
        raise CertificateError(f"EXTENTS of the column's models must say of {certificate.claim} {what}")
    if said is None or said.by_definition:
        return Grade.DEFINITION
    if said.steps_in_words:
        return Grade.IN_WORDS
    return Grade.FINITE if finite_scope(certificate) else Grade.PROVED


def record(certificate: Certificate) -> dict[str, str]:
    """For what a certificate proves its claim, and how much of it: what a finding says of it, see `told`."""
    found, steps = grade(certificate), extent(certificate.claim).steps_in_words
    only = finite_scope(certificate) if found in (Grade.IN_WORDS, Grade.FINITE) else ""
    parts = {"for": proved_for(certificate), "grade": str(found), "only": only, "steps": ", ".join(steps)}
    return {key: text for key, text in parts.items() if text}


def told(parts: Mapping[str, str]) -> str:
    """A grade in words, with the scope and the steps that it speaks of; empty where there is none.

    Examples
    --------
    >>> told({"grade": "proved but for steps in words", "steps": "a sum, independence"})
    'proved but for steps in words (a sum, independence)'
    """
    found = parts.get("grade", "")
    if found == Grade.FINITE:
        return f"proved for {parts['only']}"
    only = f" for {parts['only']}" if "only" in parts else ""
    return found.replace("proved", f"proved{only}", 1) + (f" ({parts['steps']})" if "steps" in parts else "")


def finite_scope(certificate: Certificate) -> str:
    """The values or bit patterns that a claim is proved for, where it speaks of more; else empty.

    They are bit patterns where no goal but those about a kernel's run says something of the bound.
    """
    model: Model = models()[certificate.claim]
    if extent(certificate.claim).every_case:
        return ""
    if model.parameters:
        values = (f"{name} = {ranges([at[name] for at in certificate.instances])}" for name in model.parameters)
        return f"{{{', '.join(values)}}}"
    if not any("run" in proof for proof in certificate.proofs):
        return ""
    own, bound = letters.book().model(certificate.claim), letters.book().bound(certificate.claim)
    now, other = (letters.goals(own, bound + more, certificate.instances[0]) for more in (0, sp.Rational(1, 1000)))
    only_runs = all(goal.run or goal.show == other[name].show for name, goal in now.items())
    return "{every bit pattern of the run}" if only_runs else ""


def is_trivial(certificate: Certificate) -> bool:
    """Whether every goal is zero before it is checked, or is one of its conditions, but for a number as its factor."""
    if not all(_may_be_trivial(proof) for proof in certificate.proofs):
        return False
    book = letters.book()
    model, bound = book.model(certificate.claim), book.bound(certificate.claim)
    named = [letters.goals(model, bound, at) for at in certificate.instances]
    return all(
        proof.get("terms") or proof.get("zero") or named[proof.get("at", 0)][proof["goal"]].show == 0
        for proof in certificate.proofs
    )


def _may_be_trivial(proof: Mapping[str, Any]) -> bool:
    """Whether a proof has one condition at most, times a number."""
    terms, zero = proof.get("terms", ()), proof.get("zero", {})
    if proof.get("clear") or "sturm" in proof or "run" in proof or len(terms) + len(zero) > 1:
        return False
    if any(len(term) > 2 or sum(term[1].values()) > 1 for term in terms):
        return False
    return not any(character.isalpha() for text in zero.values() for character in text)
