"""Every broken twin is found out, and the right compressor or collective passes what finds it."""

from pathlib import Path

import contract_checks
import mutants
import pytest
from bindings import evidence, refuted
from mutants import MUTANTS
from mutants.matrix import claims_of, row
from samples import first_of_each

from commbounds.columns import columns
from commbounds.compressors import COMPRESSORS
from commbounds.theory import Standing, claims
from commbounds.verify import Method, Verdict
from commbounds.verify.confront import confront

pytestmark = pytest.mark.kernels

BY_CLAIM = [m for m in MUTANTS if m.claim]
BY_CHECK = [m for m in MUTANTS if m.check]


def column_of(mutant):
    """The column whose claims the mutant is to break."""
    return claims()[mutant.claim].column if mutant.claim else column_of_subject(mutant.subject)


def column_of_subject(subject):
    """The column of the first of the claims about it."""
    return claims()[claims_of(subject)[0]].column


def test_names_are_unique_and_say_what_is_broken():
    assert len({m.name for m in MUTANTS}) == len(MUTANTS)
    assert all(m.broken for m in MUTANTS)


def test_every_column_has_mutants_and_every_table_of_mutants_is_read():
    counted = {column: sum(column_of(m) == column for m in MUTANTS) for column in columns()}
    assert {column: count for column, count in counted.items() if count < 10} == {}
    modules = [path for folder in mutants.__path__ for path in Path(folder).glob("*.py")]
    tables = {path.stem for path in modules if "\nMUTANTS = (" in path.read_text("utf-8")}
    assert tables == set(columns())


def test_every_compressor_has_mutants_in_the_order_of_the_registry():
    alone = [m for m in MUTANTS if m.subject in COMPRESSORS]
    counted = {name: sum(m.subject == name for m in alone) for name in COMPRESSORS}
    assert min(counted.values()) >= 4, counted
    order = list(COMPRESSORS)
    places = [order.index(m.subject) for m in alone]
    assert places == sorted(places)
    assert all(issubclass(m.twin, COMPRESSORS[m.subject]) for m in alone)


def test_every_method_kills_some_mutant_and_so_does_every_check():
    assert {m.method for m in BY_CLAIM} == set(Method) - {Method.CERTIFICATE}  # which says nothing of a stand-in
    named = {check.__name__ for check in contract_checks.CHECKS}
    assert {m.check for m in BY_CHECK} <= named


def test_mutants_are_expected_to_be_killed_by_claims_that_hold():
    for mutant in BY_CLAIM:
        assert mutant.claim in claims_of(mutant.subject), mutant.name
        assert claims()[mutant.claim].stands is Standing.HOLDS, mutant.name


@pytest.mark.parametrize("mutant", first_of_each(BY_CLAIM, lambda m: (column_of(m), m.method), lambda m: m.name))
@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")  # on the way to the verdict
def test_a_claim_kills(mutant):
    assert refuted(mutant.claim, mutant.method, mutant.implementations), mutant.broken


@pytest.mark.parametrize("mutant", BY_CHECK, ids=lambda m: m.name)
def test_a_check_of_the_contract_kills(mutant):
    check = getattr(contract_checks, mutant.check)
    with pytest.raises(AssertionError):
        contract_checks.run(check, mutant.subject, mutant.twin)


FIRST = {column_of(m): m for m in reversed(BY_CLAIM)}
"""Column -> its first mutant; ``commbounds report`` judges the right ones by all claims and methods."""


@pytest.mark.parametrize("mutant", first_of_each(FIRST.values(), lambda _: "any column", column_of))
def test_the_right_one_passes_what_kills_the_first_mutant_of_a_column(mutant):
    assert evidence(mutant.claim, mutant.method).verdict is not Verdict.REFUTED


@pytest.mark.parametrize("check", contract_checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", COMPRESSORS)
def test_the_right_compressor_keeps_the_contract(name, check):
    contract_checks.run(check, name, COMPRESSORS[name])


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_the_kill_matrix_is_complete(mutant):
    line = row(mutant.name)
    assert line.claims or line.checks
    assert not mutant.claim or mutant.claim in line.claims
    assert not mutant.check or mutant.check in line.checks


def test_confront_takes_stand_ins():
    mutant = next(m for m in MUTANTS if m.name == "TopKWideIndices")
    finding = confront("sparsifiers.topk.wire", implementations=mutant.implementations, drawn=False)
    assert finding.verdict is Verdict.REFUTED
    assert not finding.as_stated
    assert finding.counterexample.subject.startswith("TopKWideIndices(k=")
