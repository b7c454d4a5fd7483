"""Certificates looked for: linear programmes over products of conditions, solved in floats and then exactly.

Nothing here is trusted: what is found is written down, and `commbounds.verify.certify.checker` checks it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement
from math import inf
from operator import or_
from time import perf_counter
from typing import Any

import numpy as np
import sympy as sp
from sympy.polys.matrices import DomainMatrix

from commbounds import theory
from commbounds.theory.model import Goal, Model, Refutation
from commbounds.verify.certify import letters
from commbounds.verify.certify.certificate import Certificate, CertificateError, files, load
from commbounds.verify.certify.checker import check, kind_of, prove
from commbounds.verify.certify.counterexamples import points, scope_of, shortcoming
from commbounds.verify.certify.rings import Ring
from commbounds.verify.certify.semidefinite import sum_of_squares

_MOST_COLUMNS = 60_000


class NotFoundError(Exception):
    """No certificate was found within the stated effort. That says nothing about the claim."""


def find(
    model: Model, degree: int = 6, seconds: float = 60.0, exhaustive: Callable[[str], Mapping[str, Any]] | None = None
) -> Certificate:
    """A certificate of a claim's model.

    Parameters
    ----------
    model : Model
        Of the claim.
    degree : int
        Most conditions in a product that are tried.
    seconds : float
        After which no further linear programme is begun, and one that runs is stopped.
    exhaustive : function
        Of a run's name: runs a kernel on every bit pattern, and returns the record. If None, the record of the claim's
        present certificate is taken, where it still checks.

    Returns
    -------
    Certificate
        Checked.

    Raises
    ------
    NotFoundError
        None was found, with the goal that is left.
    """
    book = letters.book()
    bound, model = book.bound(model.claim), book.model(model.claim)
    deadline = perf_counter() + seconds
    proofs, ways = [], set()
    for i, at in enumerate(model.instances):
        for goal in letters.goals(model, bound, at).values():
            proof, way = _ran(goal, model, exhaustive) if goal.run else proof_of(goal, degree, deadline)
            ways.add(way)
            proofs.append({"at": i, "goal": goal.name, **proof})
    draft = Certificate(model.claim, "", model.scope_of(model.instances), tuple(model.instances), tuple(proofs), "")
    found = Certificate(**{**draft.__dict__, "kind": kind_of(draft), "found": "; ".join(sorted(ways))})
    check(found, model=model)
    return found


def find_point(refutation: Refutation) -> Certificate:
    """The smallest counterexample of a refutation: every point in turn, those of smaller sums first.

    Raises
    ------
    NotFoundError
        There is none among the first `counterexamples.MOST_POINTS`.
    """
    claim = theory.claims()[refutation.claim]
    bound, size = claim.relation.rhs, sum(refutation.whole.values())
    try:
        while True:
            for point in points(refutation, size, size):
                if not shortcoming(refutation, claim, bound, point):
                    scope, proof = scope_of(refutation, bound, point), {"at": 0, "goal": "counterexample"}
                    found = Certificate(claim.name, "counterexample", scope, (point,), (proof,), "every smaller point")
                    check(found, refutation=refutation)
                    return found
            size += 1
            if not refutation.whole:
                raise NotFoundError("the only point is no counterexample")
    except CertificateError as error:
        raise NotFoundError(str(error)) from error


def _ran(goal: Goal, model: Model, exhaustive: Callable[[str], Mapping[str, Any]] | None) -> tuple[Any, str]:
    """The record of a goal's run, made now or before."""
    way = "run on every bit pattern"
    if exhaustive is not None:
        try:
            return {"run": exhaustive(goal.run)}, way
        except CertificateError as error:
            raise NotFoundError(str(error)) from error
    known = load(model.claim).proofs if model.claim in files() else ()
    for proof in known:
        if proof["goal"] == goal.name and "run" in proof and _proves(goal, {"run": proof["run"]}):
            return {"run": proof["run"]}, way
    raise NotFoundError(f"goal {goal.name!r} is about every bit pattern: say --exhaustive")


def proof_of(goal: Goal, degree: int = 6, deadline: float = inf) -> tuple[dict[str, Any], str]:
    """A proof of a goal, and how it was found.

    Raises
    ------
    NotFoundError
        None was found.
    """
    if not goal.zero and _proves(goal, {}):
        return {}, "nothing to find"
    squares = sum_of_squares(goal)
    if squares is not None and _proves(goal, squares):
        return squares, "a barrier method, rounded, and L D L^T in rational numbers"
    for factor, most in [*((None, most) for most in range(degree + 1)), *((name, degree) for name in goal.positive)]:
        if (left := deadline - perf_counter()) <= 0.0:
            raise NotFoundError(f"no proof of goal {goal.name!r} in the time given")
        proof = _linear_programme(goal, most, left, factor)
        if proof is not None and _proves(goal, proof):
            return proof, f"scipy's HiGHS, products of up to {max(1, most)} conditions, solved again exactly"
    if not goal.equal and (sturm := _by_sturm(goal)) is not None:
        return sturm, "Sturm's theorem"
    raise NotFoundError(f"no proof of goal {goal.name!r} with products of up to {degree} conditions")


def contradiction(goal: Goal, seconds: float = 5.0) -> dict[str, Any] | None:
    """A proof of -1 >= 0 from the conditions of a goal; None where none was found, which says nothing.

    Squares of all symbols are tried beside products of three conditions, or of two where there are many.
    """
    conditions = {**goal.given, **goal.positive, **goal.zero}
    symbols = set().union(*(sp.sympify(e, strict=True).free_symbols for e in conditions.values()))
    hints = sorted(symbols, key=str)
    few = (len(conditions) + 1) ** 3 * (len(hints) + 1) <= _MOST_COLUMNS // 20
    try:
        return proof_of(
            replace(goal, show=sp.Integer(-1), equal=False, hints=hints), 3 if few else 2, perf_counter() + seconds
        )[0]
    except NotFoundError:
        return None


def _proves(goal: Goal, proof: Mapping[str, Any]) -> bool:
    try:
        prove(goal, proof)
    except CertificateError:
        return False
    return True


def _by_sturm(goal: Goal) -> dict[str, Any] | None:
    for low in goal.given:
        for high in goal.given:
            if low != high and not goal.vectors and _proves(goal, {"sturm": [low, high]}):
                return {"sturm": [low, high]}
    return None


def _linear_programme(goal: Goal, degree: int, seconds: float, factor: str | None = None) -> dict[str, Any] | None:
    """Multipliers of products of up to `degree` conditions, and of the zeros times single monomials.

    For `degree` 0, of single conditions, all over one common denominator. What is shown is multiplied by the positive
    condition `factor`, if there is one.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    conditions = {**goal.given, **goal.positive}
    space = Ring([goal.show, *conditions.values(), *goal.zero.values(), *goal.hints], conditions.values())
    clear, target = _cleared(goal.show, goal, space)
    if factor is not None:
        clear, target = _over({**clear, factor: clear.get(factor, 0) + 1}, clear, target, goal, space)
    whole = {name: _cleared(expression, goal, space) for name, expression in conditions.items()}
    if degree == 0:
        every = [Counter(powers) for powers, _ in [(clear, target), *whole.values()]]
        degree, common = 1, dict(reduce(or_, every))
        clear, target = _over(common, clear, target, goal, space)
        whole = {name: _over(common, *cleared, goal, space) for name, cleared in whole.items()}
    known = {name: polynomial for name, (_, polynomial) in whole.items()}
    zeros = {name: space.of(expression)[0] for name, expression in goal.zero.items()}
    terms: list[tuple[dict[str, int], Any]] = []
    columns: list[Any] = []
    squares = [None, *(space.of(hint)[0] for hint in goal.hints)]
    if not goal.equal:
        for count in range(degree + 1):
            for names in combinations_with_replacement(known, count):
                product = space.ring.one
                for name in names:
                    product *= known[name]
                for square in squares:
                    column = product if square is None else product * square**2
                    if goal.vectors and not space.degree(column, goal.vectors) <= {0, 2}:
                        continue
                    columns.append(column)
                    factors = [Counter(names), *(Counter(whole[name][0]) for name in names)]
                    terms.append((dict(sum(factors, Counter())), square))
                if len(columns) > _MOST_COLUMNS:
                    return None
    free: list[tuple[str, Any]] = []
    most = max([sum(m) for m in target.monoms()] + [sum(m) for c in columns for m in c.monoms()] + [degree])
    for name, polynomial in zeros.items():
        lowest = min(sum(m) for m in polynomial.monoms())
        for count in range(min(degree, most - lowest) + 1):
            for generators in combinations_with_replacement(space.ring.gens, count):
                monomial = space.ring.one
                for generator in generators:
                    monomial *= generator
                if goal.vectors and not space.degree(monomial * polynomial, goal.vectors) <= {0, 2}:
                    continue
                free.append((name, monomial))
                columns.append(monomial * polynomial)
    if not columns:
        return None
    rows = {monomial: i for i, monomial in enumerate(dict.fromkeys(m for p in [target, *columns] for m in p.monoms()))}
    entries = [(rows[m], j, c) for j, p in enumerate(columns) for m, c in p.terms()]
    right = np.zeros(len(rows))
    for m, c in target.terms():
        right[rows[m]] = float(c)
    matrix = csc_array(
        ([float(c) for _, _, c in entries], ([i for i, _, _ in entries], [j for _, j, _ in entries])),
        shape=(len(rows), len(columns)),
    )
    cost = [1.0] * len(terms) + [0.0] * len(free)
    bounds = [(0, None)] * len(terms) + [(None, None)] * len(free)
    solved = linprog(cost, A_eq=matrix, b_eq=right, bounds=bounds, method="highs-ds", options={"time_limit": seconds})
    if solved.status != 0:
        return None
    chosen = [j for j, value in enumerate(solved.x) if abs(value) > 1e-9]
    exact = _solved(rows, [columns[j] for j in chosen], target)
    if exact is None:
        return None
    proof: dict[str, Any] = {"clear": clear} if clear else {}
    multipliers: dict[str, Any] = {}
    for j, value in zip(chosen, exact, strict=True):
        if not value:
            continue
        if j >= len(terms):
            name, monomial = free[j - len(terms)]
            multipliers[name] = multipliers.get(name, space.ring.zero) + monomial * value
        else:
            powers, square = terms[j]
            number = str(Fraction(int(value.numerator), int(value.denominator)))
            proof.setdefault("terms", []).append([number, powers, *([space.write(square)] if square else [])])
    if multipliers:
        denominators = {name: space.of(goal.zero[name])[1] for name in multipliers}
        proof["zero"] = {name: space.write(polynomial * denominators[name]) for name, polynomial in multipliers.items()}
    return proof


def _cleared(expression: Any, goal: Goal, space: Ring) -> tuple[dict[str, int], Any]:
    """Powers of positive conditions that clear an expression's denominator, and the expression times their product."""
    numerator, denominator = space.of(expression)
    common = numerator.gcd(denominator)
    numerator, denominator = numerator.quo(common), denominator.quo(common)
    clear: dict[str, int] = {}
    for name, condition in goal.positive.items():
        factor = space.of(condition)[0]
        while not factor.is_ground and denominator.rem(factor) == 0:
            denominator = denominator.quo(factor)
            clear[name] = clear.get(name, 0) + 1
    if not denominator.is_ground:
        raise NotFoundError(f"a denominator in goal {goal.name!r} is no product of the model's positive conditions")
    return clear, numerator * (1 / denominator.LC)


def _over(common: Any, powers: Any, polynomial: Any, goal: Goal, space: Ring) -> tuple[dict[str, int], Any]:
    """An expression that was cleared by powers of positive conditions, cleared by `common` ones, which are more."""
    for name in common:
        numerator, denominator = space.of(goal.positive[name])
        polynomial *= numerator ** (common[name] - powers.get(name, 0)) / denominator.LC
    return dict(common), polynomial


def _solved(rows: Mapping[Any, int], columns: Sequence[Any], target: Any) -> list[Any] | None:
    """The exact solution of the equations, with what is not determined at zero; None where there is none."""
    table = [[sp.QQ(0)] * (len(columns) + 1) for _ in rows]
    for j, polynomial in enumerate([*columns, target]):
        for m, c in polynomial.terms():
            table[rows[m]][j] = c
    table = [row for row in table if any(row)]
    if not table:
        return [sp.QQ(0)] * len(columns)
    reduced, pivots = DomainMatrix(table, (len(table), len(columns) + 1), sp.QQ).rref()
    if len(columns) in pivots:
        return None
    values = [sp.QQ(0)] * len(columns)
    for i, pivot in enumerate(pivots):
        values[pivot] = reduced[i, len(columns)].element
    return values
