"""What certificates about orthogonalised updates prove."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import at_most_each
from commbounds.theory.model import Goal, by_claim, extents, in_range, recurrence, vectors
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.orthogonal.models_express import EXPRESS
from commbounds.theory.orthogonal.models_norms import NORMS, model_of, of_singular
from commbounds.theory.quantities import P, m, n, r

_x = sp.Symbol("x", nonnegative=True)
_turn, _root, _spectral = sp.symbols("turn root spectral", nonnegative=True)
_gap, _rows, _columns = sp.symbols("gap rows columns", nonnegative=True)
_rest, _taken = vectors("rest taken")

Goals = Callable[[Any], tuple[Goal, ...]]

_ABOVE = sp.Rational(1203, 1000)
"""A little more than the local maximum."""
_CHAIN = tuple(map(sp.Rational, ("1/660", "0.00521", "0.01794", "0.06175", "0.2115")))
"""A little less than what 1/660 becomes in none to four iterations."""
_CHAIN_BELOW = tuple(map(sp.Rational, ("1/665", "0.00518", "0.01785", "0.06146", "0.2106", "0.6817")))
"""A little more than what 1/665 becomes in none to five."""


def _p(x: Any) -> Any:
    """One iteration, by Horner's rule."""
    return x * (t.A + x**2 * (t.B + x**2 * t.C))


# --- the cubic -------------------------------------------------------------------------------------------------------


def _one_step(bound: Any) -> tuple[Goal, ...]:
    return (Goal("gap", bound - (1 - (3 * t.singular - t.singular**3) / 2), equal=True),)


def _converges(bound: Any) -> tuple[Goal, ...]:
    square = 1 - _gap
    after = 1 - square * (3 - square) ** 2 / 4
    return (
        Goal("no iteration", bound.subs(t.iterations, 0) - (1 - t.singular**2), equal=True),
        Goal(
            "one more",
            bound.subs(t.iterations, t.iterations + 1) - after,
            given={"up to here": bound - _gap, "gap": _gap, "square": square},
        ),
    )


# --- Muon's quintic --------------------------------------------------------------------------------------------------


def _of_one(bound: Any) -> tuple[Goal, ...]:
    value = sp.Integer(1)
    for _ in range(5):
        value = _p(value)
    return (Goal("five iterations", bound - value, equal=True),)


def _at_turn(bound: Any, square: Any) -> Any:
    """The bound in `turn`, the square of which is `square`, a rational number and a multiple of a root."""
    (root,) = (e for e in square.atoms(sp.Pow) if e.exp == sp.Rational(1, 2))
    solved = sp.solve(square.xreplace({root: _root}) - _turn**2, _root)[0]
    return bound.xreplace({sp.sqrt(square): _turn}).xreplace({root: solved})


_STAYS = (
    Goal("stays above zero", _p(_x), given=in_range(_x, 0, _ABOVE)),
    Goal("stays below 1.203", _ABOVE - _p(_x), given=in_range(_x, 0, _ABOVE)),
)


def _extreme(bound: Any, square: Any, sign: int, turns: tuple[Any, Any], inputs: tuple[Any, Any]) -> tuple[Goal, ...]:
    """That the quintic lies on one side of what it is where it turns; by its double root there."""
    double = -t.B * (_x + 2 * _turn) - t.C * (_x**3 + 2 * _turn * _x**2 + 3 * _turn**2 * _x + 4 * _turn**3)
    return (
        Goal(
            "a double root",
            _at_turn(bound, square) - _p(_x) - (_x - _turn) ** 2 * double,
            equal=True,
            zero={"the slope is zero": t.A + 3 * t.B * _turn**2 + 5 * t.C * _turn**4},
        ),
        Goal("the other factor", sign * double, given={**in_range(_x, *inputs), **in_range(_turn, *turns)}),
    )


def _at_most(bound: Any) -> tuple[Goal, ...]:
    return (*_STAYS, *_extreme(bound, t._low, 1, (sp.Rational("0.55"), sp.Rational("0.56")), (0, _ABOVE)))


def _at_least(bound: Any) -> tuple[Goal, ...]:
    turns, inputs = (sp.Rational("1.05"), sp.Rational("1.0502")), (_CHAIN[-1], _ABOVE)
    steps = (
        Goal(f"iteration {i}", _p(_x) - after, given=in_range(_x, before, _ABOVE))
        for i, (before, after) in enumerate(pairwise(_CHAIN), 1)
    )
    return (*_STAYS, *steps, *_extreme(bound, t._high, -1, turns, inputs))


def _below(bound: Any) -> tuple[Goal, ...]:
    steps = (
        Goal(f"iteration {i}", after - _p(_x), given=in_range(_x, 0, before))
        for i, (before, after) in enumerate(pairwise(_CHAIN_BELOW), 1)
    )
    turn = in_range(_turn, sp.Rational("1.05"), sp.Rational("1.0502"))
    return (*_STAYS, *steps, Goal("below the minimum", _at_turn(bound, t._high) - _CHAIN_BELOW[-1], given=turn))


def _plateau(bound: Any) -> tuple[Goal, ...]:
    """One less the bound from below, and one more than it from above: by 1.203."""
    turns = (sp.Rational("1.05"), sp.Rational("1.0502"))
    above = 1 + _at_turn(bound, t._high) - _ABOVE
    return (*_at_least(1 - bound), Goal("above one", above, given=in_range(_turn, *turns)))


def _growth(bound: Any) -> tuple[Goal, ...]:
    return (
        *_STAYS,
        Goal("an iteration", t.A * _x - _p(_x), given=in_range(_x, 0, _ABOVE)),
        Goal("five of them", bound - t.A * t.A * t.A * t.A * t.A * t.singular, equal=True),
    )


# --- Dion ------------------------------------------------------------------------------------------------------------


def _words(bound: Any) -> tuple[Goal, ...]:
    whole = {"blocks of rows": m * r - P * _rows, "blocks of columns": n * r - P * _columns}
    return (Goal("two rings", bound - 2 * (P - 1) * (_rows + _columns), equal=True, positive={"P": P}, zero=whole),)


def _keeps(bound: Any) -> tuple[Goal, ...]:
    at = bound.subs({t.square_before: (_rest + _taken) ** 2, t.square_taken: _taken**2})
    kept = (_rest + t.keeps * _taken) ** 2
    return (Goal("squares", at - kept, equal=True, zero={"orthogonal parts": _rest * _taken}, vectors=(_rest, _taken)),)


def _size(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, r, 0, lambda square, _: square + 1)


def _spectral_norm(bound: Any) -> tuple[Goal, ...]:
    """Of any unit vector v: `cut` is its product with a column q of the right factor, u one of the left."""
    root, squares, cut = sp.symbols("root squares cut", positive=True)
    q, u, v = vectors("q u v")
    return (
        Goal("a column", 1 - cut**2, given={"norm": 1 - q**2, "square": (q - cut * v) ** 2},
             zero={"product": q * v - cut, "v": v**2 - 1}, vectors=(q, v)),
        *at_most_each("columns", sp.S.One, r, squares),
        Goal("one more direction", _taken**2 + cut**2 - (_taken + cut * u) ** 2,
             given={"norm, times a square": cut**2 * (1 - u**2)}, zero={"orthogonal": _taken * u}, vectors=(_taken, u)),
        Goal("norm", bound.xreplace({sp.sqrt(r): root}) - _spectral,
             given={"the columns": r - squares, "directions": squares - _spectral**2},
             zero={"root": root**2 - r}, positive={"root + spectral": root + _spectral}),
    )  # fmt: skip


_INSIDE = (
    "An iteration maps x to p(x), and [0, 1.203] into itself, by Sturm's theorem or by products. `turn` is where p has "
    "slope zero{0}; there the bound is what p is, and the bound less p(x) is the square of x - turn times another "
    "factor, which is {1} on the intervals in question. "
)

MODELS = by_claim(
    of_singular("cubic.one_step", "A singular value s becomes (3 s - s^3)/2.", "every singular value", _one_step),
    of_singular(
        "cubic.converges",
        "`gap` is 1 - s^2 of a singular value s after some iterations, from 0 to 1, and no more than the bound; s "
        "becomes s (3 - s^2)/2. Induction on the iterations.",
        "every singular value in [0, 1], every number of iterations",
        _converges,
    ),
    model_of(
        "muon.one", "The iterated quintic at 1, in rational numbers.", "the singular value 1, five iterations", _of_one
    ),
    of_singular(
        "muon.at_most",
        _INSIDE.format(", between 0.55 and 0.56", "not negative")
        + "So the last iteration ends below the bound, from wherever the others end.",
        "every singular value in [0, 1], five iterations",
        _at_most,
    ),
    of_singular(
        "muon.at_least",
        _INSIDE.format(", between 1.05 and 1.0502", "not positive")
        + "From 1/660 on four iterations end above 0.2115, one after the other, and the fifth above the bound.",
        "every singular value in [1/660, 1], five iterations",
        _at_least,
    ),
    of_singular(
        "muon.below",
        "An iteration maps x to p(x), by Sturm's theorem or by products. From 1/665 down five iterations end below "
        "0.6817, one after the other, which is below p at `turn`, between 1.05 and 1.0502.",
        "every singular value in [0, 1/665], five iterations",
        _below,
    ),
    of_singular(
        "muon.plateau",
        _INSIDE.format(", between 1.05 and 1.0502", "not positive")
        + "As orthogonal.muon.at_least for one less the bound; 1.203 is no more than one and the bound.",
        "every singular value in [1/660, 1], five iterations",
        _plateau,
    ),
    of_singular(
        "muon.growth",
        "An iteration maps x to p(x), and [0, 1.203] into itself, where p(x) is at most 3.4445 x.",
        "every singular value in [0, 1], five iterations",
        _growth,
    ),
    model_of(
        "dion.words",
        "Two ring all-reduces, of m r and of n r entries, in P blocks of `rows` and of `columns`: in each of 2 (P - 1) "
        "steps a rank sends a block of either.",
        "every m, n, r, and every P that divides m r and n r",
        _words,
    ),
    model_of(
        "dion.keeps",
        "B is the sum of two orthogonal parts, `rest` and `taken`, the second in the space of U, and what is kept is "
        "rest + mu taken.",
        "every B, every orthonormal U, every mu",
        _keeps,
    ),
    model_of(
        "dion.size",
        "The square of U Q^T is that of Q, for orthonormal U, and each of the r columns of Q has norm one: induction "
        "on them.",
        "every B with independent columns of B Q, none of B^T U zero",
        _size,
    ),
    model_of(
        "dion.spectral",
        "A unit vector v has the product `cut` with a column q of the right factor, of norm one or zero: 1 in the "
        "square at most, r for all columns. The update's columns u are orthogonal, of norm one at most, so that v "
        "becomes no longer than those squares; the longest is the spectral norm. `root` is that of r.",
        "every B, every r",
        _spectral_norm,
    ),
    *NORMS,
    *EXPRESS,
)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "orthogonal.cubic.converges": {"up to here": "no iteration"},
    "orthogonal.cubic.growth": {"up to here": "no iteration"},
    "orthogonal.dion.buffer": {"up to here": "no step"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "orthogonal",
    {
        (): "dion.keeps dion.spectral dion.buffer cubic.one_step cubic.converges muon.at_most muon.at_least "
        "muon.growth muon.below quintic.one_step cubic.growth muon.plateau polar_express.at_most "
        "polar_express.at_least polar_express.six lowrank.spectral matrix_topk.spectral matrix_topk.nuclear "
        "lowrank.nuclear"
    },
    by_definition="dion.words",
)
