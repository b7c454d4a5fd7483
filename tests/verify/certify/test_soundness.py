"""What would prove false claims, and is refused: hypotheses that no goal lists, denominators, products of vectors."""

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from commbounds import theory
from commbounds.theory.model import CASE, PART, STAND_IN, Goal, Model, vectors
from commbounds.verify import certify
from commbounds.verify.certify import hypotheses, letters
from commbounds.verify.certify.checker import prove
from commbounds.verify.certify.letters import Letter

x, y, t = sp.symbols("x y t")
u, v, w = vectors("u v w")
A_LITTLE = sp.Rational(1, 1000)


def refused(match, goal, **proof):
    with pytest.raises(certify.CertificateError, match=match):
        prove(goal, proof)


# --- assumptions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["positive", "nonnegative", "integer", "real"])
def test_assumptions_of_symbols_are_refused(word):
    assumed = sp.Symbol("x", **{word: True})
    refused("assumed to be", Goal("itself", assumed - assumed, given={"x": assumed}), terms=[["1", {"x": 1}]])


def test_the_root_of_a_square_is_what_it_is_of_where_a_condition_says_that_it_is_not_negative():
    root = Goal("root", sp.sqrt(x**2) - x, equal=True)
    refused("the root of", root)
    refused("the root of", replace(root, given={"-x": -x, "y": y}))
    prove(replace(root, given={"x": x}), {})
    prove(replace(root, positive={"x": x}), {})
    parts = Goal("parts", sp.sqrt(4 * x**2 * (y - 1) ** 2) - 2 * x * (y - 1), equal=True, given={"x": x})
    refused("the root of", parts)
    prove(replace(parts, given={"x": x, "y - 1": y - 1}), {})
    powers = Goal("powers", (x**2) ** (t / 2) - x**t, equal=True)
    with pytest.raises(certify.CertificateError):
        prove(powers, {})
    prove(replace(powers, given={"x": x}), {})


def test_what_is_declared_of_a_letter_is_a_condition_that_is_listed():
    size, loss = Letter("size", positive=True), Letter("loss", real=True)
    goal = Goal("root", sp.sqrt(size**2) - size, equal=True, zero={"loss": loss})
    assert (size.is_positive, size.is_commutative) == (None, True)
    prove(goal, {})
    assert set(letters.hypotheses(goal)) == {"loss", "size > 0"}
    assert Letter("size", positive=True) is size
    assert Letter("size", nonnegative=True) != size
    assert Letter("x") == x
    refused("the root of", Goal("root", sp.sqrt(loss**2) - loss, equal=True))


@pytest.mark.wide
def test_the_second_theory_is_the_first_in_letters():
    book = letters.book()
    assert all(book.model(name).claim == name for name in certify.models())
    for name, claim in theory.claims().items():
        bound = book.bound(name)
        assert all(type(s) is Letter or not s._assumptions_orig for s in bound.free_symbols), name
        assert {s.name for s in book.written(claim.relation.rhs).free_symbols} <= {s.name for s in bound.free_symbols}
    assert sp.Symbol("made.afterwards", positive=True).is_positive
    assert theory.claims() is not None
    assert all(module is not book.modules.get(name) for name, module in sys.modules.items())


# --- denominators -----------------------------------------------------------------------------------------------------


def test_denominators_need_conditions():
    cancelled = Goal("cancelled", (x**2 - 1) / (x - 1) - (x + 1), equal=True)
    refused("no condition says that the denominator", cancelled)
    refused("no condition says that the denominator", replace(cancelled, given={"x - 1": x - 1}))
    prove(replace(cancelled, positive={"x > 1": x - 1}), {})
    prove(replace(cancelled, positive={"x < 1": 1 - x}), {})
    prove(replace(cancelled, positive={"x is not 1": (x - 1) ** 2}), {})
    refused("no condition", Goal("in a condition", x, given={"x": x, "y/x": y / x}), terms=[["1", {"x": 1}]])


@pytest.mark.parametrize(
    ("below", "positive", "known"),
    [
        (x * y, (x, y), True),
        (x * y, (x,), False),
        (x**2 - x, (x, x - 1), True),
        (1 - x**2, (1 - x,), False),
        (1 - x**2, (1 - x, x), True),
        (1 + y**2, (), True),
        (x + y**2, (x,), False),  # true, and not seen
        (x + y, (x,), False),
        (x - y, (x, y), False),
        (2**t, (), True),
        (x**t, (), False),
        (x**t, (x,), True),
        ((x - 1) ** t, (1 - x,), False),
        (x - y, (x / y - 1, y), True),
        (x - y, (1 / (x - y),), False),
    ],
)
def test_what_is_seen_to_have_no_zero(below, positive, known):
    goal = Goal(
        "itself", 1 / below - 1 / below * (1 + x) + x / below, equal=True, positive={str(e): e for e in positive}
    )
    if known:
        prove(goal, {})
    else:
        refused("no condition says that the denominator", goal)


# --- vectors ----------------------------------------------------------------------------------------------------------


def test_what_is_not_a_form_as_it_is_written_is_refused():
    """In dimension 2 the product of the squares is more than the square of the inner product."""
    refused("degree 0 or 2", Goal("cauchy", u**2 * v**2 - (u * v) ** 2, equal=True, vectors=(u, v)))
    refused("degree 0 or 2", Goal("three", u * v * w - w * u * v, equal=True, vectors=(u, v, w)))
    refused("degree 0 or 2", Goal("a vector", u - u + v, vectors=(u, v)))
    refused("degree 0 or 2", Goal("a quotient", u**2 / v**2, vectors=(u, v)))
    refused("degree 0 or 2", Goal("a number and a vector", (u + 1) ** 2, vectors=(u,)))
    refused("must not commute", Goal("square", x**2 * y**2 - (x * y) ** 2, equal=True, vectors=(x, y)))
    prove(Goal("symmetric", u * v - v * u, equal=True, vectors=(u, v)), {})
    prove(Goal("parallelogram", (u + v) ** 2 + (u - v) ** 2 - 2 * u**2 - 2 * v**2, equal=True, vectors=(u, v)), {})


# --- conditions that change with the bound ----------------------------------------------------------------------------


def inducted(condition, base):
    """The induction that the sum of t ones is at most the bound t, with a condition that it begins with."""

    def goals(bound):
        step = Goal("step", bound.subs(t, t + 1) - x - 1, given={condition: bound - x})
        return (Goal("first", bound.subs(t, 0)), step) if base else (step,)

    return Model("made.up.sum", "as it says", "every t", goals, ("made.up",))


def of_sum(model):
    terms = [{"at": 0, "goal": "step", "terms": [["1", {"before": 1}]]}]
    proofs = ({"at": 0, "goal": "first"}, *terms) if len(model.goals(t)) > 1 else tuple(terms)
    return certify.Certificate("made.up.sum", "linear", "every t", ({},), proofs, "by hand")


@pytest.mark.parametrize(
    ("declared", "base", "match"),
    [
        ({"before": "first"}, True, ""),
        ({"before": "first"}, False, "no goal 'first' shows"),
        ({"before": "step"}, True, "no goal 'step' shows"),
        ({}, True, "no induction is declared"),
        ({"other": "first"}, True, "no induction is declared"),
    ],
)
def test_a_condition_that_changes_with_the_bound_is_declared_and_shown(monkeypatch, declared, base, match):
    monkeypatch.setattr(hypotheses, "shown_by", lambda: {"made.up.sum": declared})
    model = inducted("before", base)
    named = {goal.name: goal for goal in model.goals(t)}
    certificate = of_sum(model)
    if match:
        with pytest.raises(certify.CertificateError, match=match):
            hypotheses.require_shown(model, t, {}, named)
    else:
        hypotheses.require_shown(model, t, {}, named)
        certify.check(certificate, t, model)
        with pytest.raises(certify.CertificateError, match="first"):
            certify.check(certificate, t - A_LITTLE, model)


def test_a_model_of_one_bound_alone_is_refused():
    def goals(bound):
        return (Goal("step", t - x, given={"before": t - x}),) if bound == t else ()

    model = Model("made.up.sum", "as it says", "every t", goals, ("made.up",))
    with pytest.raises(certify.CertificateError, match="bound alone"):
        hypotheses.require_shown(model, t, {}, {goal.name: goal for goal in goals(t)})


def test_what_is_declared_to_change_does():
    """No declaration is left of what does not change any more."""
    book, counted = letters.book(), {}
    for name, conditions in hypotheses.shown_by().items():
        model, bound = book.model(name), book.bound(name)
        found = set()
        for at in certify.load(name).instances:
            found |= set(hypotheses.changing(model, bound, at, letters.goals(model, bound, at)))
        assert found == set(conditions), name
        for shown in conditions.values():
            counted[shown] = counted.get(shown, 0) + 1
    assert {reason: counted[reason] for reason in (STAND_IN, PART, CASE)} == {STAND_IN: 10, PART: 5, CASE: 4}


# --- Sturm's theorem --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "show", [1 / (x - sp.Rational(1, 2)) ** 2, 1 / x, 1 / (1 - x), sp.sqrt(2) * x, sp.pi + x, sp.sqrt(x), 0.5 + x]
)
def test_sturm_refuses_poles_and_what_is_not_rational(show):
    refused("denominator|rational", Goal("sign", show, given={"x": x, "1 - x": 1 - x}), sturm=["x", "1 - x"])


def test_sturm_needs_rational_ends_in_order():
    for low, high in ((x - sp.sqrt(2), 5 - x), (x - 5, 3 - x), (x - 1, 1 - x)):
        refused("rational numbers", Goal("sign", x, given={"low": low, "high": high}), sturm=["low", "high"])


# --- models -----------------------------------------------------------------------------------------------------------


def test_models_and_the_checker_refuse_by_raising():
    """An assertion is not there under ``python -O``."""
    root = Path(__file__).parents[3]
    for pattern in ("theory/*/models*.py", "theory/model.py", "verify/certify/*.py"):
        for path in root.glob(pattern):
            assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text("utf-8")))), path
