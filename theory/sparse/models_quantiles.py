"""What certificates about Gaussiank's share of a law's midpoint quantiles prove."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.model import Goal, Model, untied
from commbounds.theory.quantities import k, mu, n
from commbounds.theory.sparse.terms import sd, z

Goals = Callable[..., tuple[Goal, ...]]

side = sp.Symbol("side", integer=True, nonnegative=True)
"""Quantiles that are selected at either end."""
tail = sp.Symbol("tail", nonnegative=True)
"""P(|X| > t) of the law at a level t."""
_x, _log = sp.symbols("x log_half", real=True)
_density, _u, _pi, _arc = sp.symbols("density u pi arctan_z", positive=True)


def _share(bound: Any, level: Any) -> Any:
    return bound.xreplace({level: tail}).subs(mu, k / n)


def _most(level: Any) -> Goals:
    def goals(bound: Any) -> tuple[Goal, ...]:
        return (
            Goal(
                "share",
                _share(bound, level) - 2 * side / k,
                given={"the last one passes": n * tail - 2 * side + 1},
                positive={"k": k},
            ),
        )

    return goals


def _convex(twice: Any, **known: Any) -> Goal:
    return Goal("squared quantiles are convex", twice, hints=(_x,), **known)


def _normal_least(bound: Any) -> tuple[Goal, ...]:
    return (
        _convex(2 / _density**2 + 2 * _x * (_x / _density**2), positive={"density": _density}),
        Goal("share", 2 * side / k - bound, given={"the next one fails": 2 * side + 1 - (k + 1)}, positive={"k": k}),
    )


def _laplace_least(bound: Any) -> tuple[Goal, ...]:
    return (
        _convex((1 + _log) / _u**2, given={"log_half": _log}, positive={"u": _u}),
        Goal(
            "share",
            2 * side / k - _share(bound, sp.exp(-sp.sqrt(2) * z)),
            given={"the next one fails": 2 * side + 1 - n * tail},
            positive={"k": k},
        ),
    )


def _student_least(bound: Any) -> tuple[Goal, ...]:
    # the tail at sqrt(3) z, 1 - 2(arctan z + z/(1 + z^2))/pi, times pi (1 + z^2)
    cleared = _pi * (1 + z**2) - 2 * (_arc * (1 + z**2) + z)
    named = bound.xreplace({sp.atan(z): _arc, sp.pi: _pi}).subs(mu, k / n)
    slope = (mu * sp.diff(bound, z)).xreplace({sp.pi: _pi})
    return (
        _convex(
            2 / _density**2 + 2 * _x * 4 * _x / (3 + _x**2) / _density**2,
            positive={"density": _density, "3 + x**2": 3 + _x**2},
        ),
        Goal("all of the law", bound.subs(z, 0) - (1 / mu - 1 / k), equal=True),
        Goal("slope of the tail", slope + 4 / (_pi * (1 + z**2) ** 2), equal=True),
        Goal(
            "share",
            2 * side / k - named,
            given={"the next one fails": (2 * side + 1) * _pi * (1 + z**2) - n * cleared},
            positive={"k": k, "pi": _pi, "1 + z**2": 1 + z**2},
        ),
    )


_ENDS = (
    "mu = k/n. The j-th midpoint quantile from either end has the tail P(|X| > |x_j|)/2 = (j - 1/2)/n; `side` of them "
    "at either end are selected, 2 side in all. "
)
_MOST = _ENDS + (
    "Their mean is zero, and the threshold is z sd. {tail} The last one selected, j = side, has a tail below that of "
    "the threshold: side - 1/2 < n tail/2."
)
_SQUARE = (
    "The law's mean is zero, and so is the quantiles'. Squared quantiles are a convex function of the probability "
    "({convex}), so that by Jensen's inequality each one is at most its mean over its n-th of the probabilities, and "
    "their own variance at most the law's: the threshold is at most z times the law's deviation. "
)
_LEAST = (
    _ENDS + _SQUARE + "{tail} Already at that level the next one, j = side + 1, has at least as much of a tail: "
    "side + 1/2 >= n tail/2."
)
_REAL = "the midpoint quantiles of the law, every n > k >= 1; real arithmetic"

QUANTILES: tuple[Model, ...] = (
    untied(
        "sparse.gaussiank.normal_least",
        _ENDS
        + _SQUARE.format(
            convex="its second derivative, where x' = 1/density and density' = -x density by x, is 2/density^2 + 2 x "
            "x/density^2"
        )
        + "Strictly so: the threshold is below z, and a quantile of z itself is selected. `side` quantiles have at "
        "most the tail of z, k/(2n); the next one has more: side + 1/2 > k/2, in integers 2 side + 1 >= k + 1.",
        _REAL,
        _normal_least,
    ),
    untied(
        "sparse.gaussiank.normal_most",
        _MOST.format(tail="`tail` is erfc(z sd/sqrt(2)), that of the normal law there."),
        _REAL,
        _most(sp.erfc(z * sd / sp.sqrt(2))),
    ),
    untied(
        "sparse.gaussiank.laplace_least",
        _LEAST.format(
            convex="log_half^2/2, where log_half = -log(2u) >= 0 at the upper end, u = 1 - p; its second derivative by "
            "u is (1 + log_half)/u^2, and its slope in the middle is zero",
            tail="`tail` is exp(-sqrt(2) z), that of the Laplace law of variance one at z.",
        ),
        _REAL,
        _laplace_least,
    ),
    untied(
        "sparse.gaussiank.laplace_most",
        _MOST.format(tail="`tail` is exp(-sqrt(2) z sd), that of the Laplace law of variance one there."),
        _REAL,
        _most(sp.exp(-sp.sqrt(2) * z * sd)),
    ),
    untied(
        "sparse.gaussiank.student_least",
        _LEAST.format(
            convex="its second derivative, where x' = 1/density and density' = -4x/(3 + x^2) density by x, is "
            "2/density^2 + 2 x 4x/(3 + x^2)/density^2",
            tail="The law's variance is 3. The bound is tail/mu - 1/k: the tail at sqrt(3) z is one at z = 0, and its "
            "slope -2 sqrt(3) times the density 2/(pi sqrt(3) (1 + z^2)^2) there. `arctan_z` is arctan z.",
        ),
        _REAL,
        _student_least,
    ),
)
"""Of Gaussiank's shares."""
