"""One worker on strongly convex quadratics: one step from any state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.compressors import FeedbackState, Plain, TopK
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import EPS, Shrunk, lifted, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

Array = NDArray[Any]


def _energy(ef21: Any, case: Case) -> Outcome:
    """One step of f(x) = sum_j a_j x_j^2 / 2; rows of the array are a, x and the estimate."""
    s, (a, x, estimate) = case.settings, case.array
    exact, q = bool(s.get("exact")), s["q"]
    step = (lambda v: Fraction(v)) if exact else float
    gamma = convex_step(step(s["L"]), step(s["mu"]), step(q))
    after = np.array([float(v) for v in lifted(x, exact) - gamma * lifted(estimate, exact)])
    mechanism = ef21(TopK(s["k"]) if "k" in s else Shrunk(q))
    _, state = mechanism.step(FeedbackState(estimate.copy()), a * after)
    slope, new = lifted(a, exact) * lifted(x, exact), lifted(a, exact) * lifted(after, exact)
    values = {
        "alpha": 1 - Fraction(q) ** 2, "smoothness": step(s["L"]), "convexity": step(s["mu"]),
        "slope": square(slope), "lag": square(lifted(estimate, exact) - slope),
    }  # fmt: skip
    measured = (Fraction(q) if exact else q) * square(new) + square(lifted(state.memory, exact) - new)
    return Outcome(measured, values, 0.0 if exact else 64 * EPS * float(values["slope"] + values["lag"] + measured))


def tight_estimate(q: float, k: float, sign: float) -> float:
    """The estimate over the gradient at which nothing is given away; curvature is the middle times 1 + sign k."""
    z = ((1 - q) * k + np.sqrt((1 - q) ** 2 * k * k + 4 * q)) / 2
    return float((1 + q) * (z * z - q) / (z * z - q * q - q * (1 - q) * (1 + sign * k)))


def _tight_case(q: float, L: float, mu: float, scale: float = 1.0) -> Case:
    """Both curvatures, the estimate along each of them as bad as can be."""
    a, x = np.array([mu, L]), scale * np.array([3.0, 1.0])
    k = (L - mu) / (L + mu)
    estimate = a * x * np.array([tight_estimate(q, k, sign) for sign in (-1.0, 1.0)])
    return Case({"q": q, "L": L, "mu": mu}, np.array([a, x, estimate]))


def _tight_cases(_budget: Budget) -> Iterator[Case]:
    for q, (L, mu) in itertools.product((0.125, 0.5, 0.9), ((1.0, 0.5), (1.0, 0.1), (40.0, 39.0))):
        yield _tight_case(q, L, mu)


def _integer_states(level: int) -> Iterator[Case]:
    """Curvatures and q with rational rates, estimates that make every number exact."""
    rng = np.random.default_rng(31)
    for (L, mu, unit), _ in itertools.product(((7, 5, 18), (38, 7, 135)), range(60 * (1 + 4 * level))):
        a = rng.choice([mu, L], 4).astype(float)
        rows = np.array([a, rng.integers(-9, 10, 4), unit * rng.integers(-9, 10, 4)], np.float64)
        for kept in ({"k": 3}, {}):
            yield Case({"q": 0.5, "L": L, "mu": mu, "exact": True, **kept}, rows)


def _states(_budget: Budget) -> Iterator[Case]:
    rng = np.random.default_rng(32)
    for (n, k), mu, lag in itertools.product(((1, 1), (3, 1), (20, 5)), (0.01, 0.5, 0.99), (0.0, 0.1, 1.0)):
        a, x = np.linspace(1.0, mu, n), rng.standard_normal(n)
        settings = {"q": float(np.sqrt(1 - k / n)), "k": k, "L": 1.0, "mu": mu}
        yield Case(settings, np.array([a, x, a * x + lag * rng.standard_normal(n)]))
    for q, scale in itertools.product((0.01, 0.3, 0.99), (1e-3, 1e3)):
        yield _tight_case(q, 3.0, 0.2, scale)


@st.composite
def _drawn_states(draw: st.DrawFn) -> Case:
    n, mu = draw(inputs.integers(1, 6)), draw(inputs.sampled_from((0.01, 0.3, 0.9)))
    k, rng = draw(inputs.integers(1, n)), np.random.default_rng(draw(inputs.integers(0, 2**31)))
    a, x, away = mu + (1 - mu) * rng.random(n), rng.standard_normal(n), rng.standard_normal(n)
    settings = {"q": float(np.sqrt(1 - k / n)), "k": k, "L": 1.0, "mu": mu}
    return Case(settings, np.array([a, x, a * x + draw(inputs.sampled_from((0.1, 1.0, 10.0))) * away]))


def _rate_curve(ef21: Any, _seed: int) -> list[Series]:
    """The worst states, over alpha."""
    found = []
    for mu in (0.1, 0.5):
        outcomes = [_energy(ef21, _tight_case(q, 1.0, mu)) for q in (0.99, 0.9, 0.7, 0.5, 0.3, 0.1)]
        scale = [float(v["slope"] + v["lag"]) for v in (o.values for o in outcomes)]
        bound = [
            float(claims()["feedback.ef21.strongly_convex"].bound(**o.values)) / by
            for o, by in zip(outcomes, scale, strict=True)
        ]
        measured = [float(o.measured) / by for o, by in zip(outcomes, scale, strict=True)]
        alphas = [float(o.values["alpha"]) for o in outcomes]
        found.append(
            Series(f"worst estimates, mu = {mu:g} L, over squared gradient and lag", "alpha", alphas, bound, measured)
        )
    return found


# --- error feedback of 2014 -------------------------------------------------------------------------------------------


def _virtual_energy(ef14: Any, case: Case) -> Outcome:
    """One step of f(x) = sum_j a_j x_j^2 / 2; rows of the array are a, x and the residual."""
    s, (a, x, residual) = case.settings, case.array
    exact, q = bool(s.get("exact")), s["q"]
    number = Fraction if exact else float
    gamma = convex_step(number(s["L"]), number(s["mu"]), number(q))
    step = np.array([float(gamma * v) for v in lifted(a, exact) * lifted(x, exact)])
    mechanism = ef14(TopK(s["k"]) if "k" in s else Shrunk(q))
    message, state = mechanism.step(FeedbackState(residual.copy()), step)
    left = lifted(state.memory, exact)
    away = lifted(x, exact) - lifted(mechanism.compressor.decompress(message), exact) - left
    values = {
        "alpha": 1 - Fraction(q) ** 2, "smoothness": number(s["L"]), "convexity": number(s["mu"]),
        "virtual": square(lifted(x, exact) - lifted(residual, exact)), "residual": square(lifted(residual, exact)),
    }  # fmt: skip
    measured = number(q) * square(away) + square(left)
    scale = values["virtual"] + values["residual"] + square(lifted(x, exact))
    return Outcome(measured, values, 0.0 if exact else 64 * EPS * float(scale + measured))


def convex_step(L: Any, mu: Any, q: Any) -> Any:
    """2/(L + mu) (1 - q)/(1 + q)."""
    return 2 / (L + mu) * (1 - q) / (1 + q)


def tight_residual(q: float, k: float, sign: float) -> float:
    """The residual over x - x* at which nothing is given away; curvature is the middle times 1 + sign k."""
    z = ((1 - q) * k + np.sqrt((1 - q) ** 2 * k * k + 4 * q)) / 2
    return float(q * ((1 - q) * (1 + sign * k) - (1 - z * z)) / ((1 + q) * (z * z - q)))


def _tight_residual_case(q: float, L: float, mu: float, scale: float = 1.0) -> Case:
    """Both curvatures, the residual along each of them as bad as can be."""
    a, x = np.array([mu, L]), scale * np.array([3.0, 1.0])
    k = (L - mu) / (L + mu)
    return Case({"q": q, "L": L, "mu": mu}, np.array([a, x, x * [tight_residual(q, k, sign) for sign in (-1.0, 1.0)]]))


def _tight_residuals(_budget: Budget) -> Iterator[Case]:
    for q, (L, mu) in itertools.product((0.125, 0.5, 0.9), ((1.0, 0.5), (1.0, 0.1), (40.0, 39.0))):
        yield _tight_residual_case(q, L, mu)


def _integer_residuals(level: int) -> Iterator[Case]:
    """Curvatures and q with rational rates, weights that make every number exact."""
    rng = np.random.default_rng(35)
    for (L, mu, unit), _ in itertools.product(((7, 5, 18), (38, 7, 135)), range(60 * (1 + 4 * level))):
        a = rng.choice([mu, L], 4).astype(float)
        rows = np.array([a, unit * rng.integers(-9, 10, 4), unit * rng.integers(-9, 10, 4)], np.float64)
        for kept in ({"k": 3}, {}):
            yield Case({"q": 0.5, "L": L, "mu": mu, "exact": True, **kept}, rows)


def _residuals(_budget: Budget) -> Iterator[Case]:
    rng = np.random.default_rng(36)
    for (n, k), mu, size in itertools.product(((1, 1), (3, 1), (20, 5)), (0.01, 0.5, 0.99), (0.0, 0.1, 1.0)):
        settings = {"q": float(np.sqrt(1 - k / n)), "k": k, "L": 1.0, "mu": mu}
        rows = [np.linspace(1.0, mu, n), rng.standard_normal(n), size * rng.standard_normal(n)]
        yield Case(settings, np.array(rows))
    for q, scale in itertools.product((0.01, 0.3, 0.99), (1e-3, 1e3)):
        yield _tight_residual_case(q, 3.0, 0.2, scale)


@st.composite
def _drawn_residuals(draw: st.DrawFn) -> Case:
    case = draw(_drawn_states())
    a, x, estimate = case.array
    return Case(case.settings, np.array([a, x, estimate - a * x]))


def _residual_curve(ef14: Any, _seed: int) -> list[Series]:
    """The worst states, over alpha."""
    found = []
    for mu in (0.1, 0.5):
        outcomes = [_virtual_energy(ef14, _tight_residual_case(q, 1.0, mu)) for q in (0.99, 0.9, 0.7, 0.5, 0.3, 0.1)]
        scale = [float(v["virtual"] + v["residual"]) for v in (o.values for o in outcomes)]
        claim = claims()["feedback.ef14.strongly_convex"]
        bound = [float(claim.bound(**o.values)) / by for o, by in zip(outcomes, scale, strict=True)]
        measured = [float(o.measured) / by for o, by in zip(outcomes, scale, strict=True)]
        alphas = [float(o.values["alpha"]) for o in outcomes]
        label = f"worst residuals, mu = {mu:g} L, over squared distance and residual"
        found.append(Series(label, "alpha", alphas, bound, measured))
    return found


# --- without feedback ------------------------------------------------------------------------------------------------


def _excess(first: bool) -> Any:
    """One step of f(x) = sum_j a_j x_j^2 / 2 without feedback; rows of the array are a and x."""

    def trial(sgd: Any, case: Case) -> Outcome:
        s, (a, x) = case.settings, case.array
        exact, r, number = bool(s.get("exact")), abs(s["q"]), Fraction if s.get("exact") else float
        L, mu = number(s["L"]), number(s["mu"])
        gamma = 2 / ((1 + r) * (mu + L) if first else (1 - r) * mu + (1 + r) * L)
        descent = sgd(Plain(TopK(s["k"]) if "k" in s else Shrunk(s["q"])), float(gamma))
        after = descent.step((a * x)[None], descent.start(x, 1))[0].weights
        values = {"alpha": 1 - Fraction(r) ** 2, "smoothness": L, "convexity": mu, "gap": _half(a, x, exact)}
        measured = _half(a, after, exact)
        return Outcome(measured, values, 0.0 if exact else 64 * EPS * float(values["gap"] + measured))

    return trial


def _half(a: Array, x: Array, exact: bool) -> Any:
    """f(x) - f*."""
    return (lifted(a, exact) * lifted(x, exact) * lifted(x, exact)).sum() / 2


def _dyadic_steps(level: int) -> Iterator[Case]:
    """Curvatures of dyadic step sizes at r = 1/2."""
    rng = np.random.default_rng(33)
    for (L, mu), _ in itertools.product(((5.0, 1.0), (4.5, 2.5), (2.5, 0.5)), range(20 * (1 + 4 * level))):
        rows = np.array([rng.choice([mu, L], 4), rng.integers(-9, 10, 4)], np.float64)
        for more in ({"k": 3, "q": 0.5}, {"q": 0.5}, {"q": -0.5}):
            yield Case({"L": L, "mu": mu, "exact": True, **more}, rows)


def _worst_curvatures(_budget: Budget) -> Iterator[Case]:
    for q, (L, mu) in itertools.product((0.125, 0.5, 0.9), ((1.0, 0.5), (1.0, 0.1), (40.0, 39.0))):
        for a, sign in ((mu, 1), (L, -1)):
            yield Case({"q": sign * q, "L": L, "mu": mu}, np.array([[a], [3.0]]))


def _points(_budget: Budget) -> Iterator[Case]:
    rng = np.random.default_rng(34)
    for (n, k), mu in itertools.product(((1, 1), (3, 1), (20, 5)), (0.01, 0.5, 0.99)):
        settings = {"q": float(np.sqrt(1 - k / n)), "k": k, "L": 1.0, "mu": mu}
        yield Case(settings, np.array([np.linspace(1.0, mu, n), rng.standard_normal(n)]))
    yield from _worst_curvatures(_budget)


@st.composite
def _drawn_points(draw: st.DrawFn) -> Case:
    case = draw(_drawn_states())
    return Case(case.settings, case.array[:2])


def _factor_curve(sgd: Any, _seed: int) -> list[Series]:
    """Curvature mu, over alpha."""
    cases = [Case({"q": q, "L": 1.0, "mu": 0.1}, np.array([[0.1], [1.0]])) for q in (0.99, 0.9, 0.7, 0.5, 0.3, 0.1)]
    outcomes = [_excess(False)(sgd, case) for case in cases]
    bound = [float(claims()["feedback.cgd.factor"].bound(**o.values)) for o in outcomes]
    alphas = [float(o.values["alpha"]) for o in outcomes]
    return [
        Series("mu = 0.1 L, of which 1 - r is returned", "alpha", alphas, bound, [float(o.measured) for o in outcomes])
    ]


CONVEX = (
    Study(
        "feedback.ef14.strongly_convex",
        "EF14",
        _virtual_energy,
        grid=_integer_residuals,
        corpus=_residuals,
        cases=_drawn_residuals,
        extremal=_tight_residuals,
        curves=_residual_curve,
        enumerated="integer curvatures of two ratios, weights and residuals, three of four entries kept; rational "
        "numbers",
    ),
    Study(
        "feedback.cgd.factor",
        "FeedbackSGD",
        _excess(False),
        grid=_dyadic_steps,
        corpus=_points,
        cases=_drawn_points,
        extremal=_worst_curvatures,
        curves=_factor_curve,
        enumerated="curvatures of dyadic step sizes, integer weights; three of four entries kept, or 1 - r or 1 + r of "
        "all; rational numbers",
    ),
    Study("feedback.cgd.first_step", "FeedbackSGD", _excess(True), corpus=_points, cases=_drawn_points),
    Study(
        "feedback.ef21.strongly_convex",
        "EF21",
        _energy,
        grid=_integer_states,
        corpus=_states,
        cases=_drawn_states,
        extremal=_tight_cases,
        curves=_rate_curve,
        enumerated="integer curvatures of two ratios, weights and estimates, three of four entries kept; rational "
        "numbers",
    ),
)
