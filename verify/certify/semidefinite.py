"""Multipliers of performance estimation: a form in vectors as multiples of conditions and a sum of squares.

Nothing here is trusted, as in `commbounds.verify.certify.finder`.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
from sympy.polys.matrices import DomainMatrix

from commbounds.array_types import Floats
from commbounds.theory.model import Goal
from commbounds.verify.certify.rings import Ring


def sum_of_squares(goal: Goal, most_digits: int = 12) -> dict[str, Any] | None:
    """A proof of a goal by multiples of single conditions and squares of linear forms in its vectors.

    ``show - sum of multiplier * condition`` is to be a positive definite form in the vectors and nothing else.
    Multipliers inside that set are found by a barrier method in floats and rounded; those that the other part
    determines, and the squares (``L D L^T`` of the form), are then computed in rational numbers.

    Parameters
    ----------
    goal : Goal
        With vectors and conditions, and without zeros.
    most_digits : int
        After how many decimals rounding is given up.

    Returns
    -------
    dict or None
        A proof as `commbounds.verify.certify.checker.prove` takes it; None where the goal is of another kind (not all
        coefficients are numbers) or no multipliers were found.
    """
    conditions = {**goal.given, **goal.positive}
    if not goal.vectors or not conditions or goal.zero or goal.equal:
        return None
    space = Ring([goal.show, *conditions.values()], conditions.values())
    quotients = [space.of(expression) for expression in (goal.show, *conditions.values())]
    if not all(denominator.is_ground for _, denominator in quotients):
        return None
    met = set().union(*(sp.sympify(e, strict=True).free_symbols for e in (goal.show, *conditions.values())))
    vectors = [space.of(vector)[0] for vector in goal.vectors if vector in met]
    parts = [_parts(numerator * (1 / denominator.LC), vectors, space) for numerator, denominator in quotients]
    if any(part is None for part in parts):
        return None
    (form, rest), *others = [part for part in parts if part is not None]
    rows = list(dict.fromkeys(monomial for _, other in ((form, rest), *others) for monomial in other))
    equations = [[other.get(row, sp.QQ(0)) for _, other in others] for row in rows]
    right = [rest.get(row, sp.QQ(0)) for row in rows]
    weights = _inside(form, [other for other, _ in others], equations, right)
    if weights is None:
        return None
    for digits in range(3, most_digits + 1):
        exact = _rounded(weights, equations, right, digits)
        if exact is None or min(exact) < 0:
            continue
        left = [
            [
                form[i][j] - sum(w * other[i][j] for w, (other, _) in zip(exact, others, strict=True))
                for j in range(len(form))
            ]
            for i in range(len(form))
        ]
        squares = _squares(left)
        if squares is not None:
            terms: list[Any] = [[_text(w), {name: 1}] for w, name in zip(exact, conditions, strict=True) if w]
            for weight, row in squares:
                linear = sum((vectors[j] * c for j, c in enumerate(row)), space.ring.zero)
                terms.append([_text(weight), {}, space.write(linear)])
            return {"terms": terms}
    return None


def _text(value: Any) -> str:
    return str(Fraction(int(value.numerator), int(value.denominator)))


def _parts(polynomial: Any, vectors: Sequence[Any], space: Ring) -> tuple[list[list[Any]], dict[Any, Any]] | None:
    """The symmetric matrix of a form in the vectors, and what else there is, by monomial; None if neither."""
    places = {v.leading_expv().index(1): i for i, v in enumerate(vectors)}
    form, rest = [[sp.QQ(0)] * len(vectors) for _ in vectors], {}
    for powers, coefficient in polynomial.terms():
        chosen = [places[g] for g, e in enumerate(powers) if g in places for _ in range(e)]
        if not chosen and sum(powers) <= 1:
            rest[powers] = coefficient
        elif len(chosen) == 2 and sum(powers) == 2:
            i, j = chosen
            form[i][j] += coefficient / 2
            form[j][i] += coefficient / 2
        else:
            return None
    return form, rest


def _inside(form: Any, others: Sequence[Any], equations: Any, right: Any) -> Floats | None:
    """Positive multipliers that meet the equations and leave a positive definite form; None where none were found.

    The largest t with ``form - sum of multiplier * other >= t`` is approached from inside, until it is positive.
    """
    from scipy.linalg import null_space
    from scipy.optimize import linprog

    matrices, target = np.array(others, float), np.array(form, float)
    table, values = np.array(equations, float).reshape(-1, len(others)), np.array(right, float)
    # multipliers as far from zero as can be, of those whose sum is bounded
    start = linprog(
        [0.0] * len(others) + [-1.0],
        A_ub=np.vstack([np.hstack([-np.eye(len(others)), np.ones((len(others), 1))]), [1.0] * len(others) + [0.0]]),
        b_ub=[0.0] * len(others) + [1e3],
        A_eq=np.hstack([table, np.zeros((len(table), 1))]),
        b_eq=values,
        bounds=[(0, None)] * (len(others) + 1),
    )
    if start.status != 0 or start.x[-1] <= 1e-9:
        return None
    weights, free = start.x[:-1], null_space(table) if len(table) else np.eye(len(others))
    moves = [-np.tensordot(free[:, k], matrices, 1) for k in range(free.shape[1])] + [-np.eye(len(target))]
    left = target - np.tensordot(weights, matrices, 1)
    t = float(np.linalg.eigvalsh(left)[0]) - 1.0
    sharpness = 1.0
    for _ in range(60):
        for _ in range(50):
            inverse = np.linalg.inv(left - t * np.eye(len(target)))
            turned = [inverse @ move for move in moves]
            slope = np.array([-np.trace(v) for v in turned])
            slope[:-1] -= free.T @ (1 / weights)
            slope[-1] -= sharpness
            curve = np.array([[np.sum(a * b.T) for b in turned] for a in turned])
            curve[:-1, :-1] += (free / weights[:, None] ** 2).T @ free
            step = -np.linalg.lstsq(curve, slope, rcond=None)[0]
            gain = -float(slope @ step)
            length = 1.0 if gain < 0.1 else 1 / (1 + gain**0.5)
            while not _is_inside(weights + length * free @ step[:-1], left, moves, length * step, t):
                length /= 2
                if length < 1e-12:
                    return None
            weights = weights + length * free @ step[:-1]
            t += length * step[-1]
            left = target - np.tensordot(weights, matrices, 1)
            if gain < 1e-6:
                break
        if t > 0 and sharpness * t > len(target) + len(others):
            return np.asarray(weights)
        sharpness *= 4
        if sharpness > 1e9:
            return np.asarray(weights) if t > 0 else None
    return None


def _is_inside(weights: Floats, left: Floats, moves: Sequence[Floats], step: Floats, t: float) -> bool:
    moved = left - t * np.eye(len(left)) + np.tensordot(step, np.array(moves), 1)
    return bool(weights.min() > 0 and np.linalg.eigvalsh(moved)[0] > 0)


def _rounded(weights: Floats, equations: Any, right: Any, digits: int) -> list[Any] | None:
    """Multipliers of so many decimals; the largest that the equations determine are computed from the others."""
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    table = [[row[i] for i in order] + [value] for row, value in zip(equations, right, strict=True)]
    reduced, pivots = DomainMatrix(table, (len(table), len(order) + 1), sp.QQ).rref()
    if len(order) in pivots:
        return None
    exact = [sp.QQ(round(float(weights[i]) * 10**digits), 10**digits) for i in order]
    for row, pivot in enumerate(pivots):
        others = (reduced[row, j].element * exact[j] for j in range(len(order)) if j not in pivots)
        exact[pivot] = reduced[row, len(order)].element - sum(others, sp.QQ(0))
    found = dict(zip(order, exact, strict=True))
    return [found[i] for i in range(len(order))]


def _squares(matrix: Sequence[Sequence[Any]]) -> list[tuple[Any, list[Any]]] | None:
    """Positive numbers and linear forms, whose weighted squares add up to a form; None if it is not positive."""
    left, found = [list(row) for row in matrix], []
    for i in range(len(left)):
        if left[i][i] <= 0:
            return None
        row = [value / left[i][i] for value in left[i]]
        found.append((left[i][i], row))
        left = [
            [value - left[i][i] * a * b for value, b in zip(old, row, strict=True)]
            for old, a in zip(left, row, strict=True)
        ]
    return found
