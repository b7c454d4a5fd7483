import pkgutil
import re
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from substitution import powers
from symbol_values import VALUES

from commbounds import theory
from commbounds.columns import columns, parts
from commbounds.compressors import COMPRESSORS
from commbounds.theory import Hypothesis, Kind, Standing, Tag, book, claims

BOOK = claims()
_OF_COMPRESSORS = [column for column, found in parts("compressors") if hasattr(found, "COMPRESSORS")]
_NAMES = {name.lower() for name in COMPRESSORS}
COMPRESSED = {
    name: claim for name, claim in BOOK.items() if claim.column in _OF_COMPRESSORS and claim.subject in _NAMES
}
"""The claims about compressors, in the columns that have some."""
MODULES = [import_module(m.name) for m in pkgutil.walk_packages(theory.__path__, "commbounds.theory.")]
SYMBOLS = {
    value
    for module in MODULES
    if not module.__name__.rpartition(".")[2].startswith(("models", "refutations"))  # a model's symbols are its own
    for value in vars(module).values()
    if isinstance(value, sp.Symbol)
}
ASKED_OF_ALL = {"unbiased", "wire", "sign_symmetry", "scale_equivariance", "idempotence"}

FLOATS = {name: float(value) for name, value in VALUES.items()}


def each_claim(test):
    """A test of one claim as one of every column's: thousands of small tests cost more than what they do."""

    @pytest.mark.parametrize("column", columns())
    def of_column(column):
        for claim in book.columns()[column].claims:
            try:
                test(claim)
            except AssertionError as error:
                raise AssertionError(f"{claim.name}: {error}") from error

    return of_column


def test_the_book_is_one_read_only_mapping():
    assert claims() is BOOK
    assert all(name == claim.name for name, claim in BOOK.items())
    with pytest.raises(TypeError):
        BOOK["a.b.c"] = None


def test_every_column_holds_its_own_claims():
    assert tuple(book.columns()) == columns()
    for name, column in book.columns().items():
        assert {claim.column for claim in column.claims} == {column.name} == {name}


def test_every_compressor_is_in_the_book_with_every_question_answered():
    stated: dict[str, set[str]] = {}
    for claim in COMPRESSED.values():
        stated.setdefault(claim.subject, set()).add(claim.name.rpartition(".")[2])
    assert set(stated) == _NAMES
    for subject, statements in stated.items():
        assert statements >= ASKED_OF_ALL, subject
        assert statements & {"contraction", "variance"}, subject
        if "variance" in statements:
            assert {"unbiased", "shrunk_contraction"} <= statements, subject


def test_what_compressors_claim_is_in_the_book_and_holds():
    for name, compressor in COMPRESSORS.items():
        for claim in compressor.claims:
            assert BOOK[claim].subject == name.lower()
            assert BOOK[claim].stands is Standing.HOLDS


@each_claim
def test_bounds_are_written_in_the_symbols_of_quantities(claim):
    assert claim.relation.rhs.free_symbols <= SYMBOLS
    assert claim.axis in {symbol.name for symbol in SYMBOLS}


@each_claim
def test_exact_and_float_bounds_agree(claim):
    exact = claim.bound(**VALUES)
    assert isinstance(exact, Fraction) or not exact.free_symbols
    # a bound is at most ten operations and a root: each rounds by half an ulp
    allowed = 32 * np.finfo(float).eps
    assert float(claim.bound(**FLOATS)) == pytest.approx(float(exact), rel=allowed, abs=1e-300)
    pair = claim.bound(**{name: np.array([value, value]) for name, value in FLOATS.items()})
    if not powers(claim.relation.rhs):
        allowed = 0.0
    assert np.ravel(pair) == pytest.approx(claim.bound(**FLOATS), rel=allowed, abs=0.0)


@each_claim
def test_standing_is_argued(claim):
    assert claim.source.proof, "every claim carries its own argument"
    if claim.stands is Standing.HOLDS:
        equality = isinstance(claim.relation, sp.Eq)
        if equality or claim.name in COMPRESSED:
            assert (claim.tightness is None) == equality
        if claim.tightness is not None:
            assert claim.extremal
    else:
        assert claim.extremal
        assert claim.note


@each_claim
def test_a_tightness_that_holds_is_at_most_one(claim):
    if claim.tightness is None:
        return
    for n in (1, 2, 5, 16, 100):
        for s in (1, 2, 5):
            stated = claim.tightness_at(**{**VALUES, "n": n, "s": s, "k": 1, "r": 1})
            assert stated > 0
            if claim.stands is Standing.HOLDS:
                assert stated <= 1
            else:
                assert stated > 1


@each_claim
def test_a_title_stands_alone(claim):
    # subject, quantity, relation, condition: a reader may meet it without its neighbours
    assert not re.match(r"(And|As|But|It|Its|So|That|The same|Their|These|They|This|Those)\b", claim.title), claim.title
    assert not claim.title.endswith("."), claim.title


def test_no_two_claims_have_one_title():
    titles = [claim.title for claim in BOOK.values()]
    assert sorted({title for title in titles if titles.count(title) > 1}) == []


def test_corrections_hold_and_measure_the_same():
    for claim in BOOK.values():
        if claim.corrected_by:
            correction = BOOK[claim.corrected_by]
            assert correction.stands is Standing.HOLDS
            assert correction.quantity == claim.quantity


def test_hypotheses_have_one_record_each_and_are_used():
    used = {hypothesis for claim in BOOK.values() for hypothesis in claim.assumes}
    names = [hypothesis.name for hypothesis in used]
    assert len(set(names)) == len(names)
    defined = {value for module in MODULES for value in vars(module).values() if isinstance(value, Hypothesis)}
    assert defined == used


def test_a_symbol_has_one_meaning():
    by_name = {}
    for symbol in SYMBOLS | {symbol for claim in BOOK.values() for symbol in claim.relation.free_symbols}:
        bare = sp.Symbol(symbol.name, **symbol.assumptions0)  # two columns' quantities may share a name
        unlike = f"{symbol.name} has other assumptions in another column: name one of the two otherwise"
        assert by_name.setdefault(symbol.name, bare) == bare, unlike


def test_a_quantity_has_one_meaning():
    meanings = {}
    for claim in BOOK.values():
        meanings.setdefault(claim.quantity.name, set()).add((claim.quantity.latex, claim.quantity.meaning))
    assert not {name: found for name, found in meanings.items() if len(found) > 1}


UNREAD = {Tag.RECALLED, Tag.DERIVED}


def test_a_column_says_whether_nothing_was_read_for_it():
    for name, column in book.columns().items():
        tags = {claim.source.tag for claim in column.claims}
        if column.recalled or Tag.RECALLED in tags:
            assert column.recalled == (tags <= UNREAD), name


def test_numbers_of_theorems_are_cited_of_what_was_looked_at():
    for claim in COMPRESSED.values():
        if claim.source.tag in UNREAD:
            words = f"{claim.source.place} {claim.source.proof} {claim.note}"
            assert not re.search(r"(Theorem|Lemma|Proposition|Corollary|Equation)\s*\(?\d", words), claim.name


def test_only_randomised_compressors_have_laws():
    randomised = {name.lower() for name, compressor in COMPRESSORS.items() if compressor.randomised}
    for claim in COMPRESSED.values():
        if claim.kind is Kind.LAW:
            assert claim.subject in randomised, claim.name
        elif claim.name.endswith(("sign_symmetry", "scale_equivariance", ".idempotence")):
            assert claim.subject not in randomised, claim.name


def _book_of(monkeypatch, *chapter):
    part = SimpleNamespace(COLUMN=SimpleNamespace(claims=chapter))
    monkeypatch.setattr(
        "commbounds.columns.part", lambda room, column, module: part if column == "sparsifiers" else None
    )
    return book._Book("CLAIMS", "theory", read=book._chapter).joined()


def test_two_claims_of_one_name_are_refused(monkeypatch):
    claim = BOOK["sparsifiers.topk.contraction"]
    with pytest.raises(ValueError, match=r"two claims are called sparsifiers.topk.contraction"):
        _book_of(monkeypatch, claim, claim)


def test_a_correction_that_is_not_in_the_book_is_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"corrected by sparsifiers.topk.ceil_k, which is not in the book"):
        _book_of(monkeypatch, BOOK["sparsifiers.topk.floor_k"])


def test_the_book_can_be_read_in_any_order(monkeypatch):
    pair = (BOOK["sparsifiers.topk.floor_k"], replace(BOOK["sparsifiers.topk.ceil_k"], note="as before"))
    assert list(_book_of(monkeypatch, *pair)) == [claim.name for claim in pair]


def test_every_hypothesis_runs_on_a_case_or_says_how_all_cases_meet_it():
    for claim in claims().values():
        for hypothesis in claim.assumes:
            assert (hypothesis.condition is None) == bool(hypothesis.ensured), (claim.name, hypothesis.name)
