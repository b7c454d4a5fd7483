"""What certificates prove of Polar Express and of the growth under cubic iterations."""

from itertools import pairwise
from typing import Any

import sympy as sp

from commbounds.theory.model import Goal, in_range
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.orthogonal.models_norms import of_singular

_x, _before = sp.symbols("x before", nonnegative=True)
_DIGITS = 10**15


def _polynomial(number: int, x: Any) -> Any:
    """The iteration of this number, from 0 on, by Horner's rule."""
    a, b, c = t.POLAR[number]
    return x * (a + x**2 * (b + x**2 * c))


TOPS = (sp.Integer(1), *map(sp.Rational, ("1.9918", "1.966", "1.8658", "1.5605", "1.1236")))
"""A little more than the largest value of each polynomial on the interval that the one before leaves."""


def _least() -> tuple[Any, ...]:
    """A little less than what 1/1000 becomes."""
    found = [sp.Rational(1, 1000)]
    for number in range(5):
        found.append(sp.Rational(sp.floor(_polynomial(number, found[-1]) * _DIGITS), _DIGITS))
    return tuple(found)


LEAST = _least()


def _below(count: int) -> tuple[Goal, ...]:
    return tuple(
        Goal(f"iteration {i + 1} stays below", after - _polynomial(i, _x), given=in_range(_x, 0, before))
        for i, (before, after) in enumerate(pairwise(TOPS[: count + 1]))
    )


def _above(count: int) -> tuple[Goal, ...]:
    return tuple(
        Goal(f"iteration {i + 1} stays above", _polynomial(i, _x) - after, given=in_range(_x, before, top))
        for i, (before, after, top) in enumerate(zip(LEAST[:count], LEAST[1 : count + 1], TOPS[:count], strict=True))
    )


def _positive(count: int) -> tuple[Goal, ...]:
    return tuple(
        Goal(f"iteration {i + 1} stays above zero", _polynomial(i, _x), given=in_range(_x, 0, before))
        for i, before in enumerate(TOPS[:count])
    )


def _at_most(bound: Any) -> tuple[Goal, ...]:
    last = Goal("the fifth", bound - _polynomial(4, _x), given=in_range(_x, 0, TOPS[4]))
    return (*_below(4), *_positive(4), last)


def _at_least(steps: int) -> Any:
    def goals(bound: Any) -> tuple[Goal, ...]:
        whole = in_range(_x, LEAST[steps - 1], TOPS[steps - 1])
        last = Goal("the last", _polynomial(steps - 1, _x) - bound, given=whole)
        return (*_below(steps - 1), *_above(steps - 1), last)

    return goals


def _cubic_growth(bound: Any) -> tuple[Goal, ...]:
    after = (3 * _before - _before**3) / 2
    return (
        Goal("no iteration", bound.subs(t.iterations, 0) - t.singular, equal=True),
        Goal(
            "one more",
            bound.subs(t.iterations, t.iterations + 1) - after,
            given={"up to here": bound - _before, "the cube": _before**3},
        ),
    )


_CHAIN = "Polynomials map intervals from zero on into intervals, one after the other, by Sturm's theorem. "
EXPRESS = (
    of_singular("polar_express.at_most", _CHAIN, "every singular value in [0, 1], five iterations", _at_most),
    *(
        of_singular(
            f"polar_express.{statement}",
            _CHAIN + "So they do from what 1/1000 becomes on, rounded down to 15 digits after each.",
            f"every singular value in [1/1000, 1], {word} iterations",
            _at_least(steps),
        )
        for statement, word, steps in (("at_least", "five", 5), ("six", "six", 6))
    ),
    of_singular(
        "cubic.growth",
        "A singular value s becomes (3 s - s^3)/2, at most 3 s/2. Induction on the iterations.",
        "every singular value in [0, 1], every number of iterations",
        _cubic_growth,
    ),
)
