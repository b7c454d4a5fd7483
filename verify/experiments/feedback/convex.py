"""Strongly convex quadratics, one worker and several: one step from any state, with feedback and without."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.feedback.sgd import FeedbackSGDState
from commbounds.compressors import EF14, EF21, FeedbackState, Plain
from commbounds.verify.experiments.feedback.runs import (
    ALL,
    EPS,
    MOST,
    Kept,
    compressor_of,
    contraction,
    drawn_values,
    lifted,
    root,
    square,
)
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import RANKS, Of, Space
from commbounds.verify.study import Curve, Outcome

Values = dict[str, Any]
Curvatures = tuple[float, float]
"""L and mu."""


def convex_step(L: Any, mu: Any, q: Any) -> Any:
    """2/(L + mu) (1 - q)/(1 + q)."""
    return 2 / (L + mu) * (1 - q) / (1 + q)


def _wave(q: float, k: float) -> float:
    """z, where z^2 = (1 - q) k z + q."""
    return ((1 - q) * k + float(np.sqrt((1 - q) ** 2 * k * k + 4 * q))) / 2


def tight_estimate(q: float, k: float, sign: float) -> float:
    """The estimate over the gradient at which nothing is given away; curvature is the middle times 1 + sign k."""
    z = _wave(q, k)
    return float((1 + q) * (z * z - q) / (z * z - q * q - q * (1 - q) * (1 + sign * k)))


def tight_residual(q: float, k: float, sign: float) -> float:
    """The residual over x - x* at which nothing is given away; curvature is the middle times 1 + sign k."""
    z = _wave(q, k)
    return float(q * ((1 - q) * (1 + sign * k) - (1 - z * z)) / ((1 + q) * (z * z - q)))


# --- states ----------------------------------------------------------------------------------------------------------

_UNITS: dict[Curvatures, int] = {(7, 5): 18, (38, 7): 135}
"""L and mu of rational rates at q = 1/2, and multiples that steps divide."""
_DYADIC = ((5.0, 1.0), (4.5, 2.5), (2.5, 0.5))
"""L and mu of dyadic step sizes at r = 1/2 without feedback."""


def _state(
    mechanism: str, P: int, n: int, kept: Kept, curvatures: Curvatures, start: str, size: float, apart: float,
    exact: bool, seed: int,
) -> Array:  # fmt: skip
    """The rows are x, and of every worker curvatures a, centres c, and what its memory is off by.

    In tight cases there are both curvatures, all workers are alike, and memories as bad as can be along each; what the
    energy is made of has the norm `size`.
    """
    rng, (L, mu) = np.random.default_rng([seed, P, n]), curvatures
    if start == "tight":
        k, q = (L - mu) / (L + mu), _root(kept, n)
        x, a = np.array([3.0, 1.0]), np.array([mu, L])
        residual, estimate = (
            np.array([of(q, k, sign) for sign in (-1.0, 1.0)]) for of in (tight_residual, tight_estimate)
        )
        off = x * residual if mechanism == "EF14" else a * x * (estimate - 1)
        other = x - off if mechanism == "EF14" else a * x
        scale = size / float(square(off) + square(other)) ** 0.5
        return np.array([scale * x, *[a] * P, *[0 * x] * P, *[scale * off] * P])
    if start in ("flat", "steep"):
        return np.array([[3.0 * size], [mu if start == "flat" else L], [0.0], [0.0]])
    unit = _UNITS.get(curvatures, 1) if exact else 1
    a = rng.choice([mu, L], (P, n)) if exact else mu + (L - mu) * rng.random((P, n))
    x, c, off = (unit * drawn_values(rng, exact, rows, n, most=9) for rows in (1, P, P))
    return np.concatenate([x, a, apart * c, size * off])


def _root(kept: Kept, n: int) -> float:
    """q, in floats."""
    return float(root(1 - contraction(kept, n)))


def _of_state(x: Array, P: int, n: int, kept: Kept, curvatures: Curvatures, exact: bool) -> Values:
    number: Any = Fraction if exact else float
    L, mu = map(number, curvatures)
    q = root(1 - contraction(kept, n)) if exact else _root(kept, n)
    a, c, off = x[1:].reshape(3, P, n)
    return {
        "at": x[0], "a": a, "c": c, "off": off, "L": L, "mu": mu, "q": q, "smoothness": L, "convexity": mu,
        "alpha": contraction(kept, n), "compressor": compressor_of(kept),
    }  # fmt: skip


def _judged(measured: Any, values: Values, exact: bool, *sizes: Any, operations: int = 64) -> Outcome:
    """Of sums of squares: rounding relative to all of them."""
    return Outcome(measured, values, 0.0 if exact else operations * EPS * float(sum(sizes, measured)))


# --- one worker ------------------------------------------------------------------------------------------------------


def _energy(
    implementation: Any, compressor: Any, at: Array, a: Array, off: Array, L: Any, mu: Any, q: Any, exact: bool
) -> Outcome:
    """One step of f(x) = sum_j a_j x_j^2 / 2 with EF21."""
    estimate = a[0] * at + off[0]
    after = np.array([float(v) for v in lifted(at, exact) - convex_step(L, mu, q) * lifted(estimate, exact)])
    _, state = implementation(compressor).step(FeedbackState(estimate.copy()), a[0] * after)
    slope, new = (lifted(a[0], exact) * lifted(point, exact) for point in (at, after))
    values = {"slope": square(slope), "lag": square(lifted(estimate, exact) - slope)}
    measured = q * square(new) + square(lifted(state.memory, exact) - new)
    return _judged(measured, values, exact, *values.values())


def _virtual_energy(
    implementation: Any, compressor: Any, at: Array, a: Array, off: Array, L: Any, mu: Any, q: Any, exact: bool
) -> Outcome:
    """The same with EF14."""
    slope = lifted(a[0], exact) * lifted(at, exact)
    step = np.array([float(convex_step(L, mu, q) * v) for v in slope])
    message, state = implementation(compressor).step(FeedbackState(off[0].copy()), step)
    left, x, e = (lifted(v, exact) for v in (state.memory, at, off[0]))
    away = x - lifted(compressor.decompress(message), exact) - left
    values = {"virtual": square(x - e), "residual": square(e)}
    return _judged(q * square(away) + square(left), values, exact, *values.values(), square(x))


def _excess(
    first: bool, implementation: Any, compressor: Any, at: Array, a: Array, L: Any, mu: Any, q: Any, exact: bool
) -> Outcome:
    """The same without feedback: f - f*."""
    gamma = 2 / ((1 + q) * (mu + L) if first else (1 - q) * mu + (1 + q) * L)
    descent = implementation(Plain(compressor), float(gamma))
    after = descent.step(a * at, descent.start(at, 1))[0].weights
    gap, measured = ((lifted(a[0], exact) * lifted(v, exact) ** 2).sum() / 2 for v in (at, after))
    return _judged(measured, {"gap": gap}, exact, gap)


# --- several workers -------------------------------------------------------------------------------------------------


def _later(x: Array, memories: Array, estimate: Array) -> FeedbackSGDState:
    """As after some step."""
    return FeedbackSGDState(x.copy(), len(memories), estimate, tuple(FeedbackState(m.copy()) for m in memories), t=1)


def _memories(state: FeedbackSGDState) -> Array:
    return np.array([worker.memory for worker in state.workers])


def _virtual_energy_of_all(
    implementation: Any, compressor: Any, at: Array, a: Array, off: Array, L: float, mu: float, q: float, P: int
) -> Outcome:
    """One step of f_i(x) = sum_j a_ij x_j^2 / 2."""
    descent = implementation(EF14(compressor), convex_step(L, mu, q))
    after, _ = descent.step(a * at, _later(at, off, np.zeros_like(at)))
    left = _memories(after)
    values = {"virtual": square(at - off.mean(axis=0)), "residual": square(off) / P}
    measured = q * square(after.weights - left.mean(axis=0)) + square(left) / P
    return _judged(measured, values, False, values["residual"], square(at), operations=64 + P)


def _energy_of_all(
    implementation: Any, compressor: Any, at: Array, a: Array, c: Array, off: Array, L: float, mu: float, q: float,
    P: int,
) -> Outcome:  # fmt: skip
    """Of f_i(x) = sum_j a_ij (x_j - c_ij)^2 / 2: from what two steps begin with, the second is judged.

    The compressor that returns 1 - q makes `off` of what estimates are off by at first.
    """
    descent = implementation(EF21(compressor), convex_step(L, mu, q))
    slopes = a * (at - c)
    estimates = slopes + off / (q or 1.0)
    first, _ = descent.step(slopes, _later(at, estimates, estimates.mean(axis=0)))
    slopes_after = a * (first.weights - c)
    second, _ = descent.step(slopes_after, first)
    lag, lag_after = (square(_memories(s) - g) / P for s, g in ((first, slopes), (second, slopes_after)))
    values = {"slope": square(slopes.mean(axis=0)), "lag": lag}
    measured = q * square(slopes_after.mean(axis=0)) + lag_after
    sizes = (square(slopes), square(slopes_after), square(estimates))
    return _judged(measured, values, False, *sizes, operations=64 + P)


# --- studies ---------------------------------------------------------------------------------------------------------

_RATIONAL = Of(
    "1 - alpha is 1/4, and rates are rational",
    lambda n, kept, curvatures, start: curvatures in _UNITS and _quarter(kept, n) and start == "drawn",
)


def _quarter(kept: Kept, n: int) -> bool:
    return contraction(kept, n) == Fraction(3, 4)


_CASES = Space(
    _state,
    {
        "mechanism": ("EF14",),
        "P": (1,),
        "n": (4, 1, 2, 3, 8, 20),
        "kept": (MOST, 1, ALL, 0.5, 0.25),
        "curvatures": ((7, 5), (38, 7), (1.0, 0.5), (1.0, 0.01), (1.0, 0.99)),
        "start": ("drawn",),
        "size": (1.0, 0.0, 0.125, 8.0),
        "apart": (0.0,),
        "exact": (_RATIONAL, False),
    },
).search(n=(1, 6))
_TIGHT = {
    "kept": [0.125, 0.5, 0.9],
    "curvatures": [(1.0, 0.5), (1.0, 0.1), (40.0, 39.0)],
    "n": [2],
    "start": ["tight"],
    "exact": [False],
}
_FARTHER = {
    "kept": [0.01, 0.3, 0.99],
    "curvatures": [(3.0, 0.2)],
    "n": [2],
    "start": ["tight"],
    "exact": [False],
    "size": [1e-3, 1e3],
}


_QS = (0.99, 0.9, 0.7, 0.5, 0.3, 0.1)


def _family(claims: str, subject: str, mechanism: str, space: Space, **tight: Any) -> Family:
    """Cases, and those that are tight or nearly so by hand."""
    made = space.replaced(mechanism=(mechanism,))
    rows = [*made.every(**{**_TIGHT, **tight}), *made.every(**{**_FARTHER, **tight})]
    return Family(claims, subject, made.including(*rows), _of_state, exact_arrays=80 if subject == mechanism else 1)


def _tight(family: Family, **tight: Any) -> Any:
    return family.every(**{**_TIGHT, **tight})


def _over_alpha(family: Family, mu: float, **fixed: Any) -> Curve:
    """The worst states."""
    label = f"worst states of norm 1, {'workers alike, ' if fixed else ''}mu = {mu:g} L"
    at: Values = {"curvatures": (1.0, mu), "start": "tight", "n": 2, "exact": False, **fixed}
    return family.over("alpha", _QS, label, by="kept", **at)


_ONE = _CASES.without("Several workers: the claim is about one.", lambda P: P > 1)
_EF14, _EF21 = (_family(f"feedback.{name.lower()}", name, name, _ONE) for name in ("EF14", "EF21"))
_MANY = _CASES.replaced(P=RANKS, exact=(False,), curvatures=_CASES.axes["curvatures"][2:])
_APART = _MANY.replaced(apart=(1.0, 0.0, 8.0))
_EF14S = _family("feedback.ef14", "FeedbackSGD", "EF14", _MANY, P=[1, 3])
_EF21S = _family("feedback.ef21", "FeedbackSGD", "EF21", _APART, P=[1, 3])
_WORST: Values = {
    "n": [1],
    "kept": [0.125, 0.5, 0.9],
    "curvatures": _TIGHT["curvatures"],
    "start": ["flat"],
    "exact": [False],
}
_STEEPEST: Values = {**_WORST, "kept": [-q for q in _WORST["kept"]], "start": ["steep"]}
_POINTS = _ONE.replaced(
    kept=(*_CASES.axes["kept"], -0.5),
    curvatures=(*_DYADIC, *_CASES.axes["curvatures"][2:]),
    size=(1.0,),
    exact=(
        Of(
            "1 - alpha is 1/4, and step sizes dyadic",
            lambda n, kept, curvatures: curvatures in _DYADIC and _quarter(kept, n),
        ),
        False,
    ),
)
_WORST_ROWS = [*_POINTS.every(**_WORST), *_POINTS.every(**_STEEPEST)]
_CGD = Family("feedback.cgd", "FeedbackSGD", _POINTS.including(*_WORST_ROWS), _of_state, exact_arrays=28)

CONVEX: tuple[FamilyStudy, ...] = (
    *_EF14.studies(
        _virtual_energy, "strongly_convex", extremal=_tight(_EF14), curves=[_over_alpha(_EF14, mu) for mu in (0.1, 0.5)]
    ),
    *_EF21.studies(
        _energy, "strongly_convex", extremal=_tight(_EF21), curves=[_over_alpha(_EF21, mu) for mu in (0.1, 0.5)]
    ),
    *_EF14S.studies(
        _virtual_energy_of_all,
        "strongly_convex_workers",
        extremal=_tight(_EF14S, P=[1, 3]),
        curves=[_over_alpha(_EF14S, 0.1, P=3)],
    ),
    *_EF21S.studies(
        _energy_of_all,
        "strongly_convex_workers",
        extremal=_tight(_EF21S, P=[1, 3]),
        curves=[_over_alpha(_EF21S, 0.1, P=3)],
    ),
    *_CGD.studies(
        partial(_excess, False),
        "factor",
        extremal=_CGD.of(_WORST_ROWS),
        curves=[
            _CGD.over(
                "alpha",
                _QS,
                "mu = 0.1 L, of which 1 - r is returned",
                by="kept",
                n=1,
                curvatures=(1.0, 0.1),
                start="flat",
                exact=False,
            )
        ],
    ),
    *_CGD.studies(partial(_excess, True), "first_step", grid=None),
)
