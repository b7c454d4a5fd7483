"""Texts are not formulas: what sympy would run as a program never reaches it."""

import ast
import inspect
import pkgutil
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import commbounds.theory
from commbounds.theory.cost import Cost, Machine, cost
from commbounds.theory.schedules import SCHEDULES
from commbounds.theory.symbols import expression

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("theory", "compressors", "collectives", "verify", "figures", "src/commbounds")
SOURCES = [p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py")) if not p.is_symlink()]


RUN = ("sympify", "S", "lambdify", "parse_expr", "parse_latex", "nsimplify", "lambdastr")


def calls(path):
    """What the module calls by these names, and by those of Python: name and call."""
    text = path.read_text(encoding="utf-8")
    if not any(f"{name}(" in text for name in (*RUN, "eval", "exec")):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name, plain = getattr(node.func, "attr", ""), getattr(node.func, "id", "")
            if name in RUN or plain in (*RUN, "eval", "exec"):
                yield name or plain, node


def test_every_call_that_could_run_a_text_takes_none():
    found = [(path, name, node) for path in SOURCES for name, node in calls(path)]
    assert sum(name == "sympify" for _, name, _ in found) > 20
    assert sum(name == "lambdify" for _, name, _ in found) > 5
    for path, name, node in found:
        where = f"{path.relative_to(ROOT)}, line {node.lineno}"
        if name == "exec":  # of what is written node by node; names of symbols do not get there
            assert path == ROOT / "theory" / "rational.py", where
            continue
        assert name in ("sympify", "lambdify"), where
        if name == "sympify":
            strict = [key.value.value for key in node.keywords if key.arg == "strict"]
            assert strict == [True], where
        else:  # of an expression, which strict calls or the book have made
            assert not any(isinstance(part, ast.Constant | ast.JoinedStr) for part in node.args[:2]), where


@pytest.mark.parametrize("good", [3, 0.5, Fraction(1, 3), np.float64(2), np.int64(7), sp.Symbol("x") + 1, sp.oo])
def test_numbers_and_expressions_are_taken(good):
    assert expression("it", good) == sp.sympify(good)


@pytest.mark.parametrize("bad", ["3", "open('x')", b"3", None, [1], {"a": 1}, object(), sp.true, sp.Symbol("x") < 1])
def test_all_else_is_refused_by_name(bad):
    with pytest.raises(TypeError, match="it must be a number or a sympy expression"):
        expression("it", bad)


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A text that makes a file when it runs; where sympy would parse it, the test fails at once."""
    import sympy.parsing.sympy_parser as parser

    parsed = []
    monkeypatch.setattr(parser, "parse_expr", lambda text, *_, **__: parsed.append(text) or sp.Integer(1))
    return f"open({str(tmp_path / 'made')!r}, 'w')", parsed, tmp_path / "made"


@pytest.mark.parametrize(
    "use",
    [
        lambda text: Machine(alpha=text),
        lambda text: Machine(beta_intra=text),
        lambda text: Cost(text, 1),
        lambda text: cost(SCHEDULES["ring"]).at(P=text),
        lambda text: cost(SCHEDULES["ring"]).at(P=4, n=text),
    ],
)
def test_texts_in_the_place_of_costs_are_refused(use, planted):
    text, parsed, made = planted
    with pytest.raises(TypeError, match="must be a number or a sympy expression"):
        use(text)
    assert not parsed
    assert not made.exists()


def functions():
    """Every function and class of the theory, by its name."""
    found = {}
    for module in pkgutil.walk_packages(commbounds.theory.__path__, "commbounds.theory."):
        for name, value in vars(import_module(module.name)).items():
            ours = getattr(value, "__module__", "").startswith("commbounds.theory")
            if ours and not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
                found[f"{value.__module__}.{name}"] = value
    return found


def test_no_text_reaches_the_parser_by_any_function_of_the_theory(planted):
    text, parsed, made = planted
    reached = []
    for name, function in functions().items():
        try:
            parameters = [p for p in inspect.signature(function).parameters.values() if p.kind not in (2, 4)]
        except (TypeError, ValueError):
            continue
        places = range(len(parameters))
        for texts in ({*places}, *({place} for place in places)):
            for number in (2, sp.Symbol("y", positive=True)):
                given = {
                    p.name: text if place in texts else number for place, p in enumerate(parameters) if p.kind != 0
                }
                try:
                    function(**given)
                except Exception:
                    continue
                finally:
                    if parsed:
                        reached.append(f"{name}: {[parameters[place].name for place in texts]}")
                        parsed.clear()
    assert not reached, "\n".join(reached)
    assert not made.exists()


def test_a_symbol_with_a_hostile_name_is_not_run(tmp_path):
    from commbounds.theory.evaluation import evaluator

    made = tmp_path / "made"
    x = sp.Symbol(f"open({str(made)!r}, 'w')")
    assert evaluator(x**2 + 1)({x.name: Fraction(1, 2)}, "it") == Fraction(5, 4)
    assert evaluator(sp.sqrt(x) + 1)({x.name: 4.0}, "it") == 3.0
    assert evaluator(sp.sqrt(x) + 1)({x.name: np.array([4.0])}, "it").tolist() == [3.0]
    assert not made.exists()
