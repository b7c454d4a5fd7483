"""Certificates are tried at other bounds than their claim's: a little larger, a little smaller, functions unknown."""

import pytest
import sympy as sp

from commbounds import theory
from commbounds.verify import certify

A_LITTLE = sp.Rational(1, 1000)
SHARES = 50
"""So many tests that a sample of them runs by default."""
PROVED = [name for name in certify.files() if name not in certify.refutations()]


def others(bound):
    """Bounds that are none of the claim's, by name."""
    found = {"b + eps": bound + A_LITTLE, "b - eps": bound - A_LITTLE}
    if bound != 0:
        found |= {"b (1 + eps)": bound * (1 + A_LITTLE), "b (1 - eps)": bound * (1 - A_LITTLE)}
    for function in bound.atoms(sp.Function, sp.Max, sp.Min):
        found[f"unknown {function}"] = bound.xreplace({function: sp.Symbol("unknown")})
    return found


def accepted(name):
    """The other bounds that the certificate of a claim is accepted at."""
    certificate, found = certify.load(name), set()
    for words, bound in others(theory.claims()[name].relation.rhs).items():
        try:
            certify.check(certificate, bound)
        except certify.CertificateError:
            continue
        found.add(words)
    return found


def weaker(name):
    """Those that say less than the claim."""
    relation = theory.claims()[name].relation
    up, down = {"b + eps", "b (1 + eps)"}, {"b - eps", "b (1 - eps)"}
    return {sp.Le: up, sp.Ge: down}.get(type(relation), set())  # of positive numbers


@pytest.mark.parametrize("share", range(SHARES))
def test_no_certificate_is_accepted_at_another_bound(share):
    """But for a weaker one where Sturm's theorem counts the roots of what is shown, whatever that is."""
    for name in PROVED[share::SHARES]:
        allowed = weaker(name) if certify.load(name).kind == "sturm" else set()
        assert accepted(name) <= allowed, name
