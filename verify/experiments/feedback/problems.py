"""Problems whose smoothness, convexity and minimum are known: quadratics, and logistic regression on digits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.packetloss.digits import dealt


@dataclass(frozen=True, eq=False)
class Problem:
    """The average f of P functions f_i, one a worker.

    Parameters
    ----------
    name : str
        In words.
    gradients : callable (n,) -> (P, n)
        Every worker's.
    excess : callable (n,) -> float
        f - f*, without cancellation near the minimum.
    L : float
        Smoothness of f.
    Li : (P,) float64
        Smoothness of every f_i.
    mu : float
        Polyak-Lojasiewicz constant of f: ||grad f||^2 >= 2 mu (f - f*).
    best : (n,) float64
        The minimiser.
    start : (n,) float64
        Where descents begin.
    """

    name: str
    gradients: Callable[[Array], Array]
    excess: Callable[[Array], float]
    L: float
    Li: Array
    mu: float
    best: Array
    start: Array

    @property
    def Lt(self) -> float:
        """Root of the mean squared smoothness of the f_i: at least L."""
        return float(np.sqrt(np.mean(self.Li**2)))

    @property
    def P(self) -> int:
        """Workers."""
        return len(self.Li)


def diagonal(curvature: Array, centre: Array, start: Array | None = None, name: str = "diagonal quadratic") -> Problem:
    """Of f_i(x) = sum_j a_ij (x_j - c_ij)^2 / 2, with the (P, n) arrays a >= 0 and c; means of a must be positive."""
    a, c = np.asarray(curvature, np.float64), np.asarray(centre, np.float64)
    mean = a.mean(axis=0)
    best = (a * c).mean(axis=0) / mean
    return Problem(
        name,
        lambda x: a * (x - c),
        lambda x: float((mean * (x - best) ** 2).sum() / 2),
        float(mean.max()),
        a.max(axis=1),
        float(mean.min()),
        best,
        np.zeros(a.shape[1]) if start is None else np.asarray(start, np.float64),
    )


def rotated(P: int, n: int, condition: float, spread: float, seed: int) -> Problem:
    """Quadratics whose Hessians share no eigenvectors, eigenvalues between 1/condition and 1, minimisers `apart`."""
    rng = np.random.default_rng([seed, P, n])
    hessians, centres = np.empty((P, n, n)), spread * rng.standard_normal((P, n))
    for p in range(P):
        basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
        spectrum = condition ** -rng.random(n)
        spectrum[0] = 1.0
        hessians[p] = (basis * spectrum) @ basis.T
    mean = hessians.mean(axis=0)
    best = np.linalg.solve(mean, np.einsum("pij,pj->i", hessians, centres) / P)
    values = np.linalg.eigvalsh(mean)
    return Problem(
        f"{P} rotated quadratics, condition {condition:g}",
        lambda x: np.einsum("pij,pj->pi", hessians, x - centres),
        lambda x: float((x - best) @ mean @ (x - best) / 2),
        float(values[-1]),
        np.array([np.linalg.eigvalsh(h)[-1] for h in hessians]),
        float(values[0]),
        best,
        best + rng.standard_normal(n),
    )


def three_workers(start: float = 1.0) -> Problem:
    """Of f_i(x) = <a_i, x>^2 + ||x||^2 / 4, with a_1 = (-3, 2, 2) and its rotations: minimum at 0.

    Every f_i has smoothness 34 + 1/2. The sum of the outer products of the a_i is 25 I - 8 J, J of ones, with
    eigenvalues 1 and twice 25; those of f's Hessian are 2/3 of them plus 1/2. Along (1, 1, 1) the gradient is 7/6 of x,
    and the average of the three largest entries is -11/6 of it.
    """
    a = np.array([[-3.0, 2.0, 2.0], [2.0, -3.0, 2.0], [2.0, 2.0, -3.0]])
    hessian = 2 * a.T @ a / 3 + np.eye(3) / 2
    values = np.linalg.eigvalsh(hessian)
    return Problem(
        "three workers",
        lambda x: 2 * (a @ x)[:, None] * a + x / 2,
        lambda x: float(x @ hessian @ x / 2),
        float(values[-1]),
        np.full(3, 2 * 17.0 + 0.5),
        float(values[0]),
        np.zeros(3),
        np.full(3, start),
    )


def _sigmoid(z: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(z / 2)))


@cache
def logistic_digits(P: int = 8, sharding: str = "by label", ridge: float = 0.1) -> Problem:
    """Logistic regression: is a digit at least 5? On 1440 real images in P parts, with ridge ||x||^2 / 2 added.

    With rows z_j of a worker's m images (a constant one appended), L_i = ||Z_i||^2 / (4 m) + ridge, mu = ridge; the
    minimiser by Newton's method, until the gradient is at rounding.
    """
    data = dealt(sharding, P)
    images = np.concatenate([data.images, np.ones((*data.images.shape[:2], 1))], axis=2)
    signed = images * np.where(data.labels >= 5, 1.0, -1.0)[..., None]
    m, n = signed.shape[1:]

    def gradients(x: Array) -> Array:
        weights = _sigmoid(-signed @ x)
        return np.asarray(-np.einsum("pm,pmn->pn", weights, signed) / m + ridge * x)

    best = np.zeros(n)
    for _ in range(30):
        slope = _sigmoid(-signed @ best)
        hessian = np.einsum("pm,pmi,pmj->ij", slope * (1 - slope), signed, signed) / (P * m) + ridge * np.eye(n)
        best = best - np.linalg.solve(hessian, gradients(best).mean(axis=0))

    def value(x: Array) -> float:
        return float(np.logaddexp(0.0, -signed @ x).mean() + ridge * x @ x / 2)

    lowest = value(best)
    spectral = [float(np.linalg.norm(rows, 2) ** 2) for rows in signed]
    return Problem(
        f"logistic regression on digits, {sharding}",
        gradients,
        lambda x: max(0.0, value(x) - lowest),
        float(np.linalg.norm(signed.reshape(-1, n), 2) ** 2) / (4 * P * m) + ridge,
        np.array(spectral) / (4 * m) + ridge,
        ridge,
        best,
        np.zeros(n),
    )
