"""Certificates are tried at other bounds than their claim's: a little larger, a little smaller, functions unknown."""

import pytest
import sympy as sp

from commbounds import theory
from commbounds.verify import certify

A_LITTLE = sp.Rational(1, 1000)
SHARES = 5
"""Few enough tests for all of them to run by default, each of some two seconds."""
PROVED = [name for name in certify.files() if name not in certify.refutations()]
WEAKER_TOO = {
    # Sturm's theorem counts roots of what is shown, whatever the bound: a weaker one is proved by the same two points
    "orthogonal.polar_express.at_most": {"b + eps", "b (1 + eps)"},
    "orthogonal.polar_express.at_least": {"b - eps", "b (1 - eps)"},
    "orthogonal.polar_express.six": {"b - eps", "b (1 - eps)"},
}
"""Bounds that are accepted, all of them true: no certificate accepts a stronger one."""


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


@pytest.mark.parametrize("share", range(SHARES))
def test_no_certificate_is_accepted_at_another_bound(share):
    for name in PROVED[share::SHARES]:
        assert accepted(name) == WEAKER_TOO.get(name, set()), name


def test_what_is_accepted_beside_the_claim_is_weaker():
    for name, bounds in WEAKER_TOO.items():
        at_most = isinstance(theory.claims()[name].relation, sp.Le)
        assert {"+" in words for words in bounds} == {at_most}, name
