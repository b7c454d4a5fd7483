"""Ok-Topk SGD on quadratics with full batches: the bound on the mean squared gradient."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Settings, Space, nothing
from commbounds.verify.study import Outcome, Study

_EPS = float(np.finfo(np.float64).eps)


def kept_largest(x: Array, k: int) -> Array:
    """The k largest entries of `x`, ties to the first; zeros for all others."""
    kept = np.argsort(-np.abs(x), kind="stable")[:k]
    out = np.zeros_like(x)
    out[kept] = x[kept]
    return out


def _quadratics(s: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """(P, n) curvatures, minimisers, and slopes that cancel, of the ranks' quadratics.

    Curvatures are measured in a unit of `curvature`, distances in one of `distance`; `spread` is how far the ranks'
    minimisers are apart. The large entries of the stalling pair cancel, so that it never moves: `oktopk.sgd.stall`.
    """
    P, n = s["P"], s["n"]
    if s["data"] == "stalling pair":
        curvature, centre = np.tile((0.0, 1.0), (P, 1)), np.tile((0.0, 1.0), (P, 1))
        slopes = np.outer((1.0, -1.0), (2.0, 0.0))
    else:
        rng = np.random.default_rng([s["seed"], P, n])
        curvature = np.exp(rng.standard_normal((P, n)))
        centre = rng.standard_normal(n) + s["spread"] * rng.standard_normal((P, n))
        slopes = np.zeros((P, n))
    c, d = s["curvature"], s["distance"]
    return c * curvature, d * centre, c * d * slopes


def _mean_square(
    implementation: Any, P: int, n: int, k: int, steps: int, rate: float, settings: Mapping[str, Any]
) -> Outcome:
    """Of the gradient; `rate` is the step size times the smoothness."""
    curvature, centre, slopes = _quadratics(settings)
    mean = curvature.mean(axis=0)
    smooth = float(mean.max())
    eta = rate / smooth

    def objective(w: Array) -> float:
        return float((curvature * (w - centre) ** 2).sum()) / float(2 * P)

    sgd = implementation(k, eta, options={"tau_prime": 1})
    state = sgd.start(np.zeros(n), P)
    squares, xi, top, unexplained = [], 0.0, 0.0, 0.0
    for _ in range(steps):
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
        "eta": eta, "horizon": steps, "smooth": smooth, "moment": top, "k": k, "n": n, "xi": xi,
        "unexplained": unexplained,
    }  # fmt: skip
    # a mean of squares of n-term sums over P ranks: so many roundings, relative to the largest square
    return Outcome(float(np.mean(squares)), values, (P + n + steps) * _EPS * top**2)


_AXES = {
    "P": RANKS,
    "n": (4, 1, 20, 40),
    "k": (1, Of("n", lambda n: n), Of("n // 4, at least 1", lambda n: max(1, n // 4))),
    "data": ("drawn",),
    "steps": (10, 1),
    "rate": (0.1, 1.0),
    "spread": (0.0, 3.0),
    "curvature": (1.0, 1e-6, 1e6),
    "distance": (1.0, 1e-3, 1e3),
}
_RUNS = Space(nothing, _AXES, options=("steps", "rate", "spread")).search(
    n=(1, 12), steps=(1, 20), rate=(0.01, 0.5, 1.9), spread=(0.1, 1.0, 10.0)
)
_UNITS: list[Settings] = [{}, {"curvature": 1e-6}, {"curvature": 1e6}, {"distance": 1e-3}, {"distance": 1e3}]
_STALLED = [_RUNS.at(P=2, n=2, k=1, data="stalling pair", steps=300, rate=0.01, **units) for units in _UNITS]
_BEYOND = [_RUNS.at(P=1, n=1, k=1, steps=1, rate=10.0, **units) for units in _UNITS]
_LONG = _RUNS.every(P=[4], n=[20], k=[5], steps=[100], rate=(0.1, 1.0), spread=(0.0, 3.0))
_QUADRATICS = Family("oktopk.sgd", "OkTopkSGD", _RUNS.including(*_STALLED, *_BEYOND, *_LONG), exact=False)

_DRAWN: dict[str, Any] = {"by": "steps", "P": 4, "n": 20, "spread": 1.0}

QUADRATIC: tuple[Study, ...] = _QUADRATICS.studies(
    _mean_square,
    "gradient",
    curves=[
        _QUADRATICS.over("horizon", (1, 3, 10, 30, 100), f"P = 4, n = 20, k = {k}, step size 0.1/L", k=k, **_DRAWN)
        for k in (20, 5)
    ],
)
"""How the bound is confronted."""
