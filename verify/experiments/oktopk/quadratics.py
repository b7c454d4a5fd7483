"""Ok-Topk SGD on quadratics with full batches: the bound on the mean squared gradient."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.finding import Series
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Outcome, Study

_EPS = float(np.finfo(np.float64).eps)


def kept_largest(x: Array, k: int) -> Array:
    """The k largest entries of `x`, ties to the first; zeros for all others."""
    kept = np.argsort(-np.abs(x), kind="stable")[:k]
    out = np.zeros_like(x)
    out[kept] = x[kept]
    return out


def _quadratic_case(P: int, n: int, k: int, seed: int, steps: int, rate: float, spread: float, **units: float) -> Case:
    """`rate` is the step size times the smoothness, `spread` how far the ranks' minimisers are apart.

    Curvatures are measured in a unit of `curvature`, distances in one of `distance`.
    """
    settings = {"P": P, "n": n, "k": k, "seed": seed, "steps": steps, "rate": rate, "spread": spread}
    return Case({**settings, "curvature": 1.0, "distance": 1.0, **units})


def _stalled_case(steps: int, rate: float, **units: float) -> Case:
    """The pair of ranks whose large entries cancel, so that it never moves: see `oktopk.sgd.stall`."""
    return _quadratic_case(2, 2, 1, -1, steps, rate, 0.0, **units)


def _quadratics(s: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """(P, n) curvatures, minimisers, and slopes that cancel, of the ranks' quadratics."""
    P, n = s["P"], s["n"]
    if s["seed"] < 0:
        curvature, centre = np.tile((0.0, 1.0), (P, 1)), np.tile((0.0, 1.0), (P, 1))
        slopes = np.outer((1.0, -1.0), (2.0, 0.0))
    else:
        rng = np.random.default_rng([s["seed"], P, n])
        curvature = np.exp(rng.standard_normal((P, n)))
        centre = rng.standard_normal(n) + s["spread"] * rng.standard_normal((P, n))
        slopes = np.zeros((P, n))
    c, d = s["curvature"], s["distance"]
    return c * curvature, d * centre, c * d * slopes


def _quadratic_trial(implementation: Any, case: Case) -> Outcome:
    s = case.settings
    P, n, k = s["P"], s["n"], s["k"]
    curvature, centre, slopes = _quadratics(s)
    mean = curvature.mean(axis=0)
    smooth = float(mean.max())
    eta = s["rate"] / smooth

    def objective(w: Array) -> float:
        return float((curvature * (w - centre) ** 2).sum()) / float(2 * P)

    sgd = implementation(k, eta, options={"tau_prime": 1})
    state = sgd.start(np.zeros(n), P)
    squares, xi, top, unexplained = [], 0.0, 0.0, 0.0
    for _ in range(s["steps"]):
        gradients = curvature * (state.weights - centre) + slopes
        gradient = gradients.mean(axis=0)
        acc = (state.residuals + eta * gradients).mean(axis=0)
        squares.append(float(gradient @ gradient))
        state, result, _ = sgd.step(gradients, state)
        norm = float(np.linalg.norm(gradient))
        top = max(top, norm)
        missed = float(np.linalg.norm(kept_largest(acc, k) - result.update / P))
        if norm:
            xi = max(xi, missed / (eta * norm))
        else:
            unexplained = max(unexplained, missed)
    best = (curvature * centre).sum(axis=0) / np.where(mean > 0.0, curvature.sum(axis=0), 1.0)
    values = {
        "gap": objective(np.zeros(n)) - objective(best),
        "eta": eta, "horizon": s["steps"], "smooth": smooth, "moment": top, "k": k, "n": n, "xi": xi,
        "unexplained": unexplained,
    }  # fmt: skip
    # a mean of squares of n-term sums over P ranks: so many roundings, relative to the largest square
    return Outcome(float(np.mean(squares)), values, (P + n + s["steps"]) * _EPS * top**2)


_UNITS = ((1.0, 1.0), (1e-6, 1.0), (1e6, 1.0), (1.0, 1e-3), (1.0, 1e3))


def _quadratic_corpus(budget: Budget) -> Iterator[Case]:
    steps = (1, 10, 100)[: 2 + budget.level]
    for (P, n, k), T, rate, spread in itertools.product(
        ((1, 1, 1), (2, 4, 1), (4, 20, 5), (4, 20, 20), (8, 40, 2)), steps, (0.1, 1.0), (0.0, 3.0)
    ):
        yield _quadratic_case(P, n, k, 0, T, rate, spread)
    for curvature, distance in _UNITS:
        for rate in (0.1, 1.0, 10.0):
            yield _quadratic_case(1, 1, 1, 0, 1, rate, 0.0, curvature=curvature, distance=distance)
        yield _stalled_case(300, 0.01, curvature=curvature, distance=distance)


@st.composite
def _quadratic_cases(draw: st.DrawFn) -> Case:
    P, n = draw(integers(1, 6)), draw(integers(1, 12))
    rate, spread = draw(sampled_from((0.01, 0.1, 0.5, 1.0, 1.9))), draw(sampled_from((0.0, 0.1, 1.0, 10.0)))
    return _quadratic_case(P, n, draw(integers(1, n)), draw(integers(0, 2**31)), draw(integers(1, 20)), rate, spread)


def _quadratic_curve(implementation: Any, seed: int) -> Sequence[Series]:
    """Bound and mean squared gradient over the number of steps, for one quadratic."""
    series = []
    for k in (20, 5):
        steps = [1, 3, 10, 30, 100]
        found = [_quadratic_trial(implementation, _quadratic_case(4, 20, k, seed % 2**31, T, 0.1, 1.0)) for T in steps]
        claim = claims()["oktopk.sgd.gradient"]
        series.append(
            Series(
                f"P = 4, n = 20, k = {k}, step size 0.1/L",
                "horizon",
                [float(T) for T in steps],
                [float(claim.bound(**outcome.values)) for outcome in found],
                [float(outcome.measured) for outcome in found],
            )
        )
    return series


QUADRATIC = Study(
    claim="oktopk.sgd.gradient",
    subject="OkTopkSGD",
    trial=_quadratic_trial,
    corpus=_quadratic_corpus,
    cases=_quadratic_cases,
    curves=_quadratic_curve,
)
"""How the bound is confronted."""
