"""Models at work: what their conditions and goals come to at runs of the implementation.

The cases are those of the claim's own study. What a run says of a model's symbols, the columns' files in
``verify/certify/runs`` say, which are named after the column:

RUNS
    By the claim's name, or by how it begins (the longest beginning counts): a function that yields what one case says,
    each a mapping of values by the symbols' names, or a `Run`. Its parameters are named after what it asks for: the
    settings of the case, what the family's `facts` and `run` gave, ``implementation``, ``x``, ``outcome``, ``bound``,
    ``measured``. Or a mapping of such functions by the symbols' names, whose values are added, one after another, to
    all numbers that are known of a case: they may ask for each other's.

``python tests/model_runs.py COLUMN ...`` counts the runs, with those that tests of the models make
(``goal_values.SEEN``), and writes ``theory/COLUMN/runs.json``, which pages read.

Without an entry the values of the claim's own symbols are what is known of a case. A goal is looked at where all of
its symbols have values, and every run must meet the conditions of one goal at least.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from typing import Any

import goal_values
import numpy as np
import pytest
import sympy as sp
from column_files import TESTS, modules_in
from switching import marginals

from commbounds.columns import part
from commbounds.theory import claims
from commbounds.theory.evaluation import evaluator
from commbounds.theory.model import Goal
from commbounds.verify.certify import files, models, refutations
from commbounds.verify.compressor_study import CompressorStudy
from commbounds.verify.experiment import bound_at, budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.family import FamilyStudy, asked
from commbounds.verify.study import Outcome

EPS = float(np.finfo(np.float64).eps)
CASES, MOST = 8, 60
"""Cases of a claim that are looked at: so many, and further ones until every goal was met, up to the second number."""


@dataclass(frozen=True)
class Run:
    """What a run says of a model's symbols.

    Parameters
    ----------
    values : mapping from str to number or array
        By the symbols' names. A vector is the last axis of an array; over the others, outcomes that are equally likely
        and workers, inner products are averaged.
    roundings : int
        How often numbers were rounded on the way to a value; 0 where all are exact.
    at : mapping from str to int
        The model's instance.
    """

    values: Mapping[str, Any]
    roundings: int = 0
    at: Mapping[str, Any] = field(default_factory=dict)


# --- values of expressions --------------------------------------------------------------------------------------------


def exact(number: Any) -> Any:
    """A number as it is, without a float's rounding."""
    if isinstance(number, (bool, np.bool_, int, np.integer)):
        return Fraction(int(number))
    if isinstance(number, (float, np.floating)):
        return Fraction(float(number))
    if isinstance(number, sp.Rational):
        return Fraction(int(number.p), int(number.q))
    return number


def inner(a: Any, b: Any) -> Any:
    """The inner product over the last axis, averaged over the others."""
    products = np.asarray(a * b)
    return products.sum() * Fraction(products.shape[-1], products.size)


def sized(e: Any, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """The value of an expression, and what it would be if nothing cancelled: that by which roundings count."""
    if e.is_Number:
        v = exact(e)
        return v, abs(v)
    if not e.is_commutative and any(np.ndim(values.get(s.name, 0)) for s in e.free_symbols if not s.is_commutative):
        return _form(sp.expand(e), values)
    if e.is_Symbol:
        v = exact(values[e.name])
        return v, abs(v)
    if e.is_Add or e.is_Mul:
        parts = [sized(a, values) for a in e.args]
        fold = sum if e.is_Add else math.prod
        return fold(v for v, _ in parts), fold(s for _, s in parts)
    if e.is_Pow:
        base, size = sized(e.base, values)
        power, _ = sized(e.exp, values)
        if isinstance(power, Fraction) and power.denominator == 1:
            power = int(power)
            return base**power, (size**power if power >= 0 else abs(base) ** power)
        rooted = sp.Rational(base.numerator, base.denominator) if isinstance(base, Fraction) else base
        found = exact(rooted ** (sp.Rational(power.numerator, power.denominator) if isinstance(power, Fraction)
                                 else power))  # fmt: skip
        return found, abs(found)
    found = exact(evaluator(e)({s.name: exact(values[s.name]) for s in e.free_symbols}, "a goal"))
    return found, abs(found)


def _form(e: Any, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """A quadratic form of vectors."""
    value, size = Fraction(0), Fraction(0)
    for term in sp.Add.make_args(e):
        plain, vectors = term.args_cnc()
        factor, much = sized(sp.Mul(*plain), values)
        named = [s for v in vectors for s in ([v.base] * int(v.exp) if v.is_Pow else [v])]
        if len(named) not in (0, 2):
            raise AssertionError(f"no quadratic form: {term}")
        a, b = (values[s.name] for s in named) if named else (np.ones(1), np.ones(1))
        if named:
            value, size = value + factor * inner(a, b), size + much * inner(abs(a), abs(b))
        else:
            value, size = value + factor, size + much
    return value, size


def _sign(e: Any, run: Run) -> int:
    """The sign of an expression at a run; 0 where roundings may have made it."""
    value, size = sized(sp.sympify(e), run.values)
    if isinstance(value, sp.Expr) and not value.is_Rational:
        digits = sp.N(value, 40)
        value = sp.simplify(value) if abs(digits) < 1e-30 else digits
    if run.roundings and abs(float(value)) <= run.roundings * EPS * float(size):
        return 0
    return (value > 0) - (value < 0) if not isinstance(value, sp.Expr) else int(sp.sign(value))


# --- goals ------------------------------------------------------------------------------------------------------------


@functools.cache
def goals_of(claim: str, at: Any = ()) -> tuple[Goal, ...]:
    """The goals of a claim's model at an instance."""
    return tuple(models()[claim].goals_at(claims()[claim].relation.rhs, dict(at)).values())


@functools.cache
def names_of(claim: str, at: Any, number: int) -> frozenset[str]:
    """The names of all symbols of a goal."""
    goal = goals_of(claim, at)[number]
    parts = (goal.show, *goal.given.values(), *goal.positive.values(), *goal.zero.values())
    return frozenset(s.name for e in parts for s in sp.sympify(e).free_symbols)


def broken(goal: Goal, run: Run) -> str:
    """The first condition of a goal that a run does not meet; empty where it meets all."""
    kinds = ((goal.positive, lambda s: s > 0), (goal.zero, lambda s: s == 0), (goal.given, lambda s: s >= 0))
    for conditions, holds in kinds:
        for name, condition in conditions.items():
            if not holds(_sign(condition, run)):
                return name
    return ""


def met_by(claim: str, run: Run) -> list[str]:
    """The goals whose conditions a run meets, and which hold there; none if no goal is about its symbols alone.

    Raises
    ------
    AssertionError
        A goal does not hold though its conditions do, or the run meets no goal's.
    """
    at = tuple(run.at.items())
    found, missed = [], []
    for number, goal in enumerate(goals_of(claim, at)):
        if goal.run:  # the kernel itself, of which every input is one
            found.append(goal.name)
            continue
        if not names_of(claim, at, number) <= set(run.values):
            continue
        name = broken(goal, run)
        if name:
            missed.append(f"{goal.name}: {name}")
            continue
        sign = _sign(goal.show, run)
        assert sign == 0 if goal.equal else sign >= 0, (claim, goal.name, sized(sp.sympify(goal.show), run.values), run)
        found.append(goal.name)
    assert found or not missed, (claim, "meets no conditions", missed, run)
    return found


def law_of_entries(run: Any) -> Iterator[tuple[Fraction, list[tuple[Fraction, Fraction]]]]:
    """Of a compressor's run on an exact input: every entry's magnitude, and what it becomes, with the probability."""
    if run.exact:
        pairs = marginals(run.law(), len(run.x))
        for value, found in zip(run.x, pairs, strict=True):
            yield abs(value), [(exact(p), exact(o)) for p, o in found]


def between_levels(law: Any, x: Any, resolution: float = 0) -> Iterator[dict[str, Fraction]]:
    """Entries that become one of two levels, and are on average what they were.

    `law` says of every entry of `x` what it becomes, with which probability.
    `resolution` is how far a probability may be off.
    """
    for value, pairs in zip(x, law, strict=True):
        levels = sorted((exact(o), exact(p)) for p, o in pairs if p)
        if len(levels) == 2:
            (low, _), (high, up) = levels
            assert abs(up - (exact(value) - low) / (high - low)) <= resolution
            yield {"value": exact(value), "low": low, "high": high}


def length(x: Any) -> Any:
    """The norm of a vector of rational numbers, exactly."""
    return sp.sqrt(sp.Rational(*sum(Fraction(v) ** 2 for v in x).as_integer_ratio()))


# --- runs -------------------------------------------------------------------------------------------------------------


_FILES = functools.cache(lambda: modules_in("verify/certify/runs"))


def _entries(column: str) -> Mapping[str, Any]:
    return getattr(_FILES().get(column), "RUNS", {})


def entry_of(claim: str) -> Any:
    """What says which values the symbols of the claim's model have in a run; None where the claim's own are known."""
    entries = _entries(claim.partition(".")[0])
    return entries.get(max((n for n in entries if claim.startswith(n)), key=len, default=""))


def cases_of(claim: str) -> Iterator[tuple[Any, Any, Outcome]]:
    """Implementation, case and outcome of the cases that the claim's hypotheses admit, exact ones first."""
    study = EXPERIMENTS[claim]
    implementation = study.implementation({})
    sources = [make(of) for make, of in ((study.grid, 0), (study.corpus, budgets["quick"])) if make is not None]
    step = 7 if isinstance(study, CompressorStudy) else 1
    for case in islice(chain(*sources), 0, 400, step):
        outcome = study.admitted(implementation, case)
        if isinstance(outcome, Outcome) and outcome.active:
            yield implementation, case, outcome


def known_of(claim: str, implementation: Any, case: Any, outcome: Outcome) -> dict[str, Any]:
    """What is known of a case, by the names under which an entry may ask for it."""
    study = EXPERIMENTS[claim]
    known = {**case.settings, "settings": case.settings, "case": case, "x": case.x, "exact_x": case.exact}
    if isinstance(study, FamilyStudy):
        facts = study.family.known(implementation, case)
        known |= {**facts, "facts": facts}
        if study.family.run is not None:
            known["found"] = case.once(study.family._found, implementation)
    if isinstance(study, CompressorStudy):
        known["run"] = study.run(implementation, case)
    bound = bound_at(claims()[claim], outcome.values)
    known |= {"implementation": implementation, "outcome": outcome, "bound": bound, "study": study}
    return {**known, "measured": outcome.measured}


ROUNDINGS = 256
"""How often a float that a study computed may have been rounded, in what is taken from a case by name."""


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    def number(v: Any) -> bool:
        return isinstance(v, (int, Fraction, float, np.integer, np.floating, sp.Expr)) and not isinstance(v, str)

    return {name: v for name, v in values.items() if number(v)}


def by_formulas(formulas: Mapping[str, Any], known: Mapping[str, Any]) -> Run:
    """All numbers that are known of a case, and those that formulas give besides."""
    found = {**known, **known["outcome"].values}
    for name, formula in formulas.items():
        found[name] = asked(formula, found)
    values = _numbers(found)
    return Run(values, ROUNDINGS if any(isinstance(v, (float, np.floating)) for v in values.values()) else 0)


def runs_of(claim: str) -> Iterator[list[Run]]:
    """What each case says of the symbols of the claim's model."""
    entry, parameters = entry_of(claim), models()[claim].parameters
    for implementation, case, outcome in cases_of(claim):
        if isinstance(entry, Mapping):
            yield [by_formulas(entry, known_of(claim, implementation, case, outcome))]
            continue
        if entry is not None:
            said = asked(entry, known_of(claim, implementation, case, outcome))
            yield [run if isinstance(run, Run) else Run(run) for run in said]
            continue
        values = _numbers(outcome.values)
        at = {name: values[name] for name in parameters if name in values}
        if len(at) == len(parameters) and at in map(dict, models()[claim].instances):
            yield [Run(values, at=at)]


def seen(claim: str) -> tuple[int, Counter[str]]:
    """At how many cases the conditions of a goal of the claim's model were met, and at how many runs those of each."""
    cases, goals = 0, Counter[str]()
    for number, runs in enumerate(runs_of(claim)):
        if number == MOST or (cases >= CASES and wanted(claim) <= set(goals)):
            break
        met = [name for run in runs for name in met_by(claim, run)]
        goals.update(met)
        cases += bool(met)
    return cases, goals


def wanted(claim: str) -> set[str]:
    """The names of all goals of a claim's model."""
    return {goal.name for at in models()[claim].instances for goal in goals_of(claim, tuple(at.items()))}


# --- what is kept -----------------------------------------------------------------------------------------------------


def record(claim: str, tested: Mapping[str, set[str]]) -> list[int]:
    """What is kept of a claim's model: runs in cases and in tests, goals that were met, and all goals."""
    cases, goals = seen(claim)
    met = set(goals) | set(tested)
    return [cases, len(set().union(*tested.values())) if tested else 0, len(met), len(wanted(claim))]


def tested_in(column: str) -> dict[str, dict[str, set[str]]]:
    """What the column's tests of its models saw, once they ran."""
    file = TESTS / "verify" / "certify" / f"test_{column}_models.py"
    if file.exists() and pytest.main([str(file), "-q", "-n", "0", "-m", "not long", "-W", "ignore"]):
        raise RuntimeError(f"tests of the models of {column} failed")
    return goal_values.SEEN


def write(column: str) -> None:
    """Count the runs of a column's models, and keep their numbers."""
    tested = tested_in(column)
    proved = [c for c in models().of_column(column) if c in files() and c not in refutations()]
    records = {claim: record(claim, tested.get(claim, {})) for claim in proved}
    lines = ",\n".join(f" {json.dumps(claim)}: {numbers}" for claim, numbers in records.items() if any(numbers[:2]))
    folder = Path(next(iter(part("theory", column).__path__)))
    (folder / "runs.json").write_text(f"{{\n{lines}\n}}\n", "utf-8")
    print(column, len(records), "models,", sum(any(n[:2]) for n in records.values()), "seen,",
          sum(n[2] for n in records.values()), "of", sum(n[3] for n in records.values()), "goals")  # fmt: skip


if __name__ == "__main__":
    import model_runs  # the one that the columns' files import

    for name in sys.argv[1:]:
        model_runs.write(name)
