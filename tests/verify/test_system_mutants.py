"""Every broken collective is found out, and the right one passes what finds it."""

import pytest
from bindings import STUDIES, evidence
from mutants.systems import SYSTEMS

from commbounds.theory import Standing, claims
from commbounds.verify import Verdict
from commbounds.verify.confront import confront

pytestmark = pytest.mark.kernels


def test_names_are_unique_and_say_what_is_broken():
    assert len({m.name for m in SYSTEMS}) == len(SYSTEMS)
    assert all(m.broken for m in SYSTEMS)


def test_mutants_are_expected_to_be_killed_by_claims_about_them_that_hold():
    for mutant in SYSTEMS:
        assert STUDIES[mutant.claim].subject == mutant.collective, mutant.name
        assert claims()[mutant.claim].stands is Standing.HOLDS, mutant.name


@pytest.mark.parametrize("mutant", SYSTEMS, ids=lambda m: m.name)
def test_a_claim_kills(mutant):
    assert evidence(mutant.claim, mutant.method, mutant.implementations).verdict is Verdict.REFUTED, mutant.broken


@pytest.mark.parametrize(("claim", "method"), sorted({(m.claim, m.method) for m in SYSTEMS}), ids=str)
def test_the_right_collective_passes_what_kills_its_mutants(claim, method):
    assert evidence(claim, method, {}).verdict is not Verdict.REFUTED


@pytest.mark.long
@pytest.mark.parametrize("mutant", SYSTEMS, ids=lambda m: m.name)
def test_confront_finds_every_mutant(mutant):
    finding = confront(mutant.claim, implementations=mutant.implementations, drawn=False)
    assert not finding.as_stated
    assert finding.verdict is Verdict.REFUTED
