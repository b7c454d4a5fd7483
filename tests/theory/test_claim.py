import dataclasses
import doctest
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from commbounds.theory import Claim, Code, Hypothesis, Kind, Source, Standing, Tag, claim, claims
from commbounds.theory.claim import Eq, Ge, Le
from commbounds.theory.notation import latex
from commbounds.theory.quantities import BITS, RELATIVE_ERROR, Quantity, choose, index_bits, k, n, s

SOURCE = Source("A. Author, 2020, A title", "its abstract", Tag.RECALLED)
ROOT = Claim(
    name="column.subject.statement",
    title="A statement",
    relation=sp.Le(RELATIVE_ERROR, sp.sqrt(n) / s),
    kind=Kind.EXPECTED,
    source=SOURCE,
)


def test_name_parts_and_parameters():
    assert (ROOT.column, ROOT.subject, ROOT.parameters) == ("column", "subject", ("n", "s"))


@pytest.mark.parametrize("record", [ROOT, SOURCE, Hypothesis("name", "statement")])
def test_records_are_frozen(record):
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.tag = record.name = record.symbol = None


def test_what_is_not_said_is_sure_and_what_is_measured_stands_on_the_left():
    assert Claim("a.b.c", "A statement", Eq(BITS, n), SOURCE).kind is Kind.SURE
    assert ROOT.quantity is RELATIVE_ERROR


def test_a_quantity_is_its_symbol_with_a_definition():
    share = Quantity("share", "s/n", "the share")
    assert share.is_nonnegative
    assert Quantity("share", "s/n", "the share", real=True).is_nonnegative is None
    assert share == Quantity("share", "s/n", "the share")
    assert share not in (Quantity("share", "s/m", "the share"), Quantity("share", "s/n", "another"), sp.Symbol("share"))
    again = pickle.loads(pickle.dumps(share))
    assert (again, again.latex, again.meaning) == (share, "s/n", "the share")


@pytest.mark.parametrize("relation", [Le, Ge, Eq])
def test_relations_are_sympys_and_are_not_decided(relation):
    undecided = relation(BITS, -1)
    assert type(undecided) is {Le: sp.Le, Ge: sp.Ge, Eq: sp.Eq}[relation]
    assert undecided.args == (BITS, -1)
    assert undecided.doit() in (sp.true, sp.false)


def test_claims_survive_pickling():
    """Where no hypothesis is a function: those are not pickled."""
    for one in claims().values():
        if all(h.condition is None or isinstance(h.condition, sp.Basic) for h in one.assumes):
            assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"name": "Column.subject"}, ValueError, "dotted lower-case words, got 'Column.subject'"),
        ({"name": "column"}, ValueError, "dotted lower-case words"),
        ({"name": "column..statement"}, ValueError, "dotted lower-case words"),
        ({"kind": "sure"}, TypeError, "kind must be a Kind"),
        ({"stands": "holds"}, TypeError, "stands a Standing"),
        ({"source": "a paper"}, TypeError, "must be a Source, got 'a paper'"),
        ({"assumes": [Hypothesis("name", "statement")]}, TypeError, "must be a tuple of Hypothesis"),
        ({"assumes": ("finite",)}, TypeError, "must be a tuple of Hypothesis"),
        ({"relation": sp.Lt(RELATIVE_ERROR, n)}, TypeError, "must be a sympy Le, Ge or Eq"),
        ({"relation": n / s}, TypeError, "must be a sympy Le, Ge or Eq"),
        ({"relation": sp.Le(k, n)}, ValueError, "must have a Quantity on its left-hand side"),
        ({"relation": sp.Le(RELATIVE_ERROR, n * RELATIVE_ERROR)}, ValueError, "not contain the measured"),
        ({"corrected_by": "column.subject.other"}, ValueError, "exactly when stands is holds as corrected"),
        ({"stands": Standing.HOLDS_AS_CORRECTED, "extremal": "x"}, ValueError, "exactly when stands is holds as"),
        ({"tightness": 1}, ValueError, "needs the extremal input in words"),
        ({"stands": Standing.REFUTED}, ValueError, "needs the extremal input in words"),
        ({"tightness": k / n, "extremal": "x"}, ValueError, "in the symbols of its bound"),
    ],
)
def test_claim_refuses(change, error, words):
    with pytest.raises(error, match=words):
        replace(ROOT, **change)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        (("", "place", Tag.READ), ValueError, "work must name the source"),
        (("work", " ", Tag.READ), ValueError, "place must say where"),
        (("work", "place", "read"), TypeError, "tag must be a Tag, got 'read'"),
        (("work", "place", Tag.DERIVED), ValueError, "must carry its proof sketch"),
        (("work", "place", Tag.DERIVED, "  "), ValueError, "must carry its proof sketch"),
    ],
)
def test_source_refuses(fields, error, words):
    with pytest.raises(error, match=words):
        Source(*fields)


COMMIT = "0123456789" * 4


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (("nobody", COMMIT, "a.py"), "repo must be owner/name, got 'nobody'"),
        (("nobody/made-up", COMMIT[:7], "a.py"), "commit must be 40 hexadecimal digits"),
        (("nobody/made-up", COMMIT.replace("0", "g"), "a.py"), "commit must be 40 hexadecimal digits"),
        (("nobody/made-up", COMMIT, " "), "path must name a file"),
        (("nobody/made-up", COMMIT, "a.py", "7 to 9"), "lines must be a number or two with a hyphen"),
        (("nobody/made-up", COMMIT, "a.py", "7", ""), "default must be a bool or name the setting"),
    ],
)
def test_code_refuses(fields, words):
    with pytest.raises(ValueError, match=words):
        Code(*fields)


def test_code_says_where_it_stands():
    at = f"https://github.com/nobody/made-up/blob/{COMMIT}/a.py"
    assert Code("nobody/made-up", COMMIT, "a.py").link == at
    assert Code("nobody/made-up", COMMIT, "a.py").words == "nobody/made-up at 0123456, a.py"
    assert Code("nobody/made-up", COMMIT, "a (b)/a.py").link == f"{at.removesuffix('a.py')}a%20%28b%29/a.py"
    line = Code("nobody/made-up", COMMIT, "a.py", "7", False, "never merged")
    assert line.link == f"{at}#L7"
    assert line.words == "nobody/made-up at 0123456, a.py, line 7; not by default; upstream: never merged"


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        (("No spaces", "statement"), ValueError, "lower-case identifier, got 'No spaces'"),
        (("name", ""), ValueError, "statement of name must not be empty"),
        (("name", "statement", n), TypeError, "must be a sympy relation or a function, got n"),
    ],
)
def test_hypothesis_refuses(fields, error, words):
    with pytest.raises(error, match=words):
        Hypothesis(*fields)


def test_hypothesis_admits():
    at_most = Hypothesis("at_most", "k <= n", sp.Le(k, n) & sp.Ge(n, 2))
    assert at_most.admits(k=2, n=Fraction(2), unused=None)
    assert not at_most.admits(k=3, n=2)
    assert not at_most.admits(k=1, n=1)
    assert Hypothesis("prose", "no entry is zero").admits()
    with pytest.raises(TypeError, match="condition of at_most needs k, n"):
        at_most.admits()


def test_bound_is_exact_for_exact_arguments():
    assert ROOT.bound(n=9, s=2, unused="ignored") == Fraction(3, 2)
    assert isinstance(ROOT.bound(n=9, s=2), Fraction)
    assert isinstance(ROOT.bound(n=np.int64(9), s=np.uint8(3)), Fraction)
    assert isinstance(ROOT.bound(n=Fraction(9, 4), s=sp.Integer(1)), Fraction)
    assert ROOT.bound(n=8, s=2) == sp.sqrt(2)
    assert ROOT.bound(n=sp.sqrt(2), s=1) == 2 ** sp.Rational(1, 4)


def test_bound_is_float_otherwise():
    value = ROOT.bound(n=8.0, s=2)
    assert type(value) is float
    assert value == math.sqrt(8) / 2
    assert type(ROOT.bound(n=np.float32(8), s=Fraction(2))) is float
    assert type(ROOT.bound(n=sp.Float(8), s=2)) is float


def test_bound_broadcasts():
    sizes, levels = np.arange(1, 5)[:, None], np.array([1, 2, 4])
    values = ROOT.bound(n=sizes, s=levels)
    assert values.dtype == np.float64
    assert np.array_equal(values, np.sqrt(sizes) / levels)
    assert sizes.dtype == np.arange(1).dtype


def test_bound_names_what_is_missing():
    with pytest.raises(TypeError, match=r"bound of column.subject.statement needs n, s"):
        ROOT.bound(k=1)


def test_tightness_at():
    half = replace(ROOT, tightness=1 / s, extremal="x")
    assert half.tightness_at(n=4, s=2) == Fraction(1, 2)
    assert half.tightness_at(s=0.5) == 2.0
    assert ROOT.tightness_at() is None
    assert replace(ROOT, tightness=sp.oo, extremal="x").tightness_at() == math.inf
    assert replace(ROOT, tightness=1, extremal="x").tightness_at() == 1
    with pytest.raises(TypeError, match=r"tightness of column.subject.statement needs s"):
        half.tightness_at(n=4)


def test_latex_defines_what_is_measured():
    assert ROOT.latex == RELATIVE_ERROR.latex + r" \leq \frac{\sqrt{n}}{s}"
    assert r"\mathbb{E}" in ROOT.latex
    assert r"\mathbb{E}" not in replace(ROOT, kind=Kind.SURE).latex
    assert latex(1 - k / n, {n: "d"}) == r"1 - \frac{k}{d}"


def test_index_bits_is_exact_where_logarithms_are_not():
    counts = [1, 2, 3, 4, 5, 8, 9, *(2**j + d for j in range(5, 32) for d in (-1, 0, 1))]
    expected = [(count - 1).bit_length() for count in counts]
    bits = replace(ROOT, relation=sp.Le(RELATIVE_ERROR, index_bits(n)))
    assert [bits.bound(n=count) for count in counts] == expected
    assert bits.bound(n=np.array(counts)).tolist() == expected
    assert bits.latex.endswith(r"\left\lceil\log_2 n\right\rceil")


def test_choose_neither_rounds_nor_overflows():
    subsets = replace(ROOT, relation=sp.Le(RELATIVE_ERROR, choose(n, k)))
    assert subsets.bound(n=300, k=150) == math.comb(300, 150)
    # the exponential of a sum of logarithms of the gamma function: a unit in the last place of the largest, for each
    assert subsets.bound(n=300.0, k=150.0) == pytest.approx(math.comb(300, 150), rel=3 * math.lgamma(301) * 2.0**-52)
    assert subsets.latex.endswith(r"\binom{n}{k}")


def test_quantity_is_one_class_wherever_it_is_imported_from():
    assert claim.Quantity is Quantity


def test_examples_in_docstrings():
    assert doctest.testmod(claim).failed == 0
