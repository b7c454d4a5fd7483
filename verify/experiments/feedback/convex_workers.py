"""Several workers on strongly convex quadratics: one step from any state."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.feedback.sgd import FeedbackSGDState
from commbounds.compressors import EF14, EF21, Compressor, FeedbackState, TopK
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.convex import convex_step, tight_estimate, tight_residual
from commbounds.verify.experiments.feedback.runs import EPS, Shrunk, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

Array = NDArray[Any]


def _compressor(s: dict[str, Any]) -> Compressor:
    return TopK(s["k"]) if "k" in s else Shrunk(s["q"])


def _state(x: Array, memories: Array, estimate: Array) -> FeedbackSGDState:
    """As after some step."""
    return FeedbackSGDState(x.copy(), len(memories), estimate, tuple(FeedbackState(m.copy()) for m in memories), t=1)


def _virtual_energy(sgd: Any, case: Case) -> Outcome:
    """One step of f_i(x) = sum_j a_ij x_j^2 / 2; the array has the P rows a, those of the residuals, and x."""
    s, rows = case.settings, case.array
    P, q = s["P"], s["q"]
    a, residuals, x = rows[:P], rows[P : 2 * P], rows[2 * P]
    descent = sgd(EF14(_compressor(s)), convex_step(s["L"], s["mu"], q))
    after, _ = descent.step(a * x, _state(x, residuals, np.zeros_like(x)))
    left = np.array([w.memory for w in after.workers])
    values = {
        "alpha": 1 - Fraction(q) ** 2, "smoothness": s["L"], "convexity": s["mu"],
        "virtual": square(x - residuals.mean(axis=0)), "residual": square(residuals) / P,
    }  # fmt: skip
    measured = q * square(after.weights - left.mean(axis=0)) + square(left) / P
    scale = float(measured + values["residual"] + square(x))
    return Outcome(measured, values, (64 + P) * EPS * scale)


def _energy(sgd: Any, case: Case) -> Outcome:
    """Of f_i(x) = sum_j a_ij (x_j - c_ij)^2 / 2: from what two steps begin with, the second is judged.

    The array has the P rows a, those of the centres, those of the workers' estimates before the first step, and x.
    """
    s, rows = case.settings, case.array
    P, q = s["P"], s["q"]
    a, c, estimates, x = rows[:P], rows[P : 2 * P], rows[2 * P : 3 * P], rows[3 * P]
    descent = sgd(EF21(_compressor(s)), convex_step(s["L"], s["mu"], q))
    first, _ = descent.step(a * (x - c), _state(x, estimates, estimates.mean(axis=0)))
    second, _ = descent.step(a * (first.weights - c), first)
    energies = []
    for point, state in ((x, first), (first.weights, second)):
        gradients = a * (point - c)
        lag = square(np.array([w.memory for w in state.workers]) - gradients) / P
        energies.append((square(gradients.mean(axis=0)), lag))
    (slope, lag), (slope_after, lag_after) = energies
    values = {
        "alpha": 1 - Fraction(q) ** 2, "smoothness": s["L"], "convexity": s["mu"], "slope": slope, "lag": lag
    }  # fmt: skip
    measured = q * slope_after + lag_after
    sizes = square(a * (x - c)) + square(a * (first.weights - c)) + square(estimates)
    return Outcome(measured, values, (64 + P) * EPS * float(measured + sizes))


def _tight_residual_case(q: float, L: float, mu: float, P: int) -> Case:
    """Workers alike, both curvatures, the residual along each of them as bad as can be."""
    x, k = np.array([3.0, 1.0]), (L - mu) / (L + mu)
    residual = x * [tight_residual(q, k, sign) for sign in (-1.0, 1.0)]
    rows = [*[np.array([mu, L])] * P, *[residual] * P, x]
    return Case({"P": P, "q": q, "L": L, "mu": mu}, np.array(rows))


def _tight_estimate_case(q: float, L: float, mu: float, P: int) -> Case:
    """Workers alike; after the first step, the estimate along both curvatures is as bad as can be."""
    a, x, k = np.array([mu, L]), np.array([3.0, 1.0]), (L - mu) / (L + mu)
    wanted = a * x * [tight_estimate(q, k, sign) for sign in (-1.0, 1.0)]
    before = (wanted - (1 - q) * a * x) / q
    rows = [*[a] * P, *[np.zeros(2)] * P, *[before] * P, x]
    return Case({"P": P, "q": q, "L": L, "mu": mu}, np.array(rows))


def _tight_cases(make: Callable[..., Case]) -> Callable[[Budget], Iterator[Case]]:
    def cases(_budget: Budget) -> Iterator[Case]:
        for q, (L, mu), P in itertools.product((0.125, 0.5, 0.9), ((1.0, 0.5), (1.0, 0.1), (40.0, 39.0)), (1, 3)):
            yield make(q, L, mu, P)

    return cases


def _rows(rng: np.random.Generator, P: int, n: int, mu: float, centres: float, size: float) -> Array:
    """Curvatures between mu and 1, centres where there are any, memories, and x."""
    a = mu + (1 - mu) * rng.random((P, n))
    c = centres * rng.standard_normal((P if centres else 0, n))
    return np.concatenate([a, c, size * rng.standard_normal((P, n)), rng.standard_normal((1, n))])


def _corpus(make: Callable[..., Case], centres: float) -> Callable[[Budget], Iterator[Case]]:
    """`centres` is 0 where all functions have one minimiser."""

    def cases(budget: Budget) -> Iterator[Case]:
        rng = np.random.default_rng(37)
        for (P, n, k), mu, size in itertools.product(
            ((1, 1, 1), (2, 3, 1), (8, 20, 5)), (0.01, 0.5, 0.99), (0.0, 0.1, 1.0)
        ):
            settings = {"P": P, "q": float(np.sqrt(1 - k / n)), "k": k, "L": 1.0, "mu": mu}
            yield Case(settings, _rows(rng, P, n, mu, centres, size))
        for q, P in itertools.product((0.01, 0.3, 0.99), (1, 2)):
            yield make(q, 3.0, 0.2, P)
        yield from _tight_cases(make)(budget)

    return cases


def _drawn(centres: tuple[float, ...]) -> Callable[[], st.SearchStrategy[Case]]:
    @st.composite
    def cases(draw: st.DrawFn) -> Case:
        P, n, mu = draw(inputs.integers(1, 4)), draw(inputs.integers(1, 6)), draw(inputs.sampled_from((0.01, 0.3, 0.9)))
        k, rng = draw(inputs.integers(1, n)), np.random.default_rng(draw(inputs.integers(0, 2**31)))
        rows = _rows(rng, P, n, mu, draw(inputs.sampled_from(centres)), draw(inputs.sampled_from((0.1, 1.0, 10.0))))
        return Case({"P": P, "q": float(np.sqrt(1 - k / n)), "k": k, "L": 1.0, "mu": mu}, rows)

    return cases


def _curve(name: str, trial: Callable[[Any, Case], Outcome], make: Callable[..., Case]) -> Any:
    def curves(sgd: Any, _seed: int) -> list[Series]:
        """The worst states, over alpha."""
        outcomes = [trial(sgd, make(q, 1.0, 0.1, 3)) for q in (0.99, 0.9, 0.7, 0.5, 0.3, 0.1)]
        bound = [float(claims()[name].bound(**o.values)) for o in outcomes]
        alphas = [float(o.values["alpha"]) for o in outcomes]
        return [
            Series("three workers alike, mu = 0.1 L", "alpha", alphas, bound, [float(o.measured) for o in outcomes])
        ]

    return curves


def _study(name: str, trial: Callable[[Any, Case], Outcome], make: Callable[..., Case], *centres: float) -> Study:
    return Study(
        name,
        "FeedbackSGD",
        trial,
        corpus=_corpus(make, centres[0]),
        cases=_drawn(centres),
        extremal=_tight_cases(make),
        curves=_curve(name, trial, make),
    )


CONVEX_WORKERS = (
    _study("feedback.ef14.strongly_convex_workers", _virtual_energy, _tight_residual_case, 0.0),
    _study("feedback.ef21.strongly_convex_workers", _energy, _tight_estimate_case, 1.0, 0.1, 10.0),
)
