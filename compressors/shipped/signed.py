"""Signs with a memory: Signum, GRACE's EF-signSGD, and both kinds of descent on a ridge."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.compressors.base import (
    checked_array,
    checked_count,
    checked_flag,
    checked_real,
    is_finite,
    of_python_numbers,
)


def _rate(name: str, value: Any) -> float:
    if not 0 < checked_real(name, value) < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return float(value)


def _finite(name: str, values: Array) -> Array:
    if not is_finite(values):
        raise ValueError(f"{name} must stay finite")
    return values


@of_python_numbers
def signum_signs(gradients: ArrayLike, momentum: float = 0.9) -> NDArray[np.int8]:
    """What a worker of Signum sends in every step: the signs of u = momentum u + (1 - momentum) g.

    As GRACE has it for PyTorch: the first u is the first gradient itself, and the sign of zero is +1 (Bernstein et al.
    2018). momentum and 1 - momentum are rounded to the dtype.

    Parameters
    ----------
    gradients : (T, n) float32 or float64
        Finite.
    momentum : float
        In [0, 1).

    Returns
    -------
    (T, n) int8
        +1 or -1.

    Raises
    ------
    TypeError, ValueError
        `gradients` are neither float32 nor float64, no matrix, empty or not finite; `momentum` leaves [0, 1).

    Examples
    --------
    >>> signum_signs([[1.0], [-1.0], [-1.0]], 0.75).ravel().tolist()
    [1, 1, 1]
    """
    array = checked_array(gradients, 2, name="gradients")
    if not 0 <= checked_real("momentum", momentum) < 1:
        raise ValueError(f"momentum must be in [0, 1), got {momentum}")
    kept, fresh, u = array.dtype.type(momentum), array.dtype.type(1 - momentum), array[0]
    signs = np.empty(array.shape, np.int8)
    for t, gradient in enumerate(array):
        if t:
            u = fresh * gradient + kept * u
        signs[t] = np.where(u >= 0, 1, -1)
    return signs


@dataclass(frozen=True, eq=False)
class SignedRun:
    """What a worker of EF-signSGD did.

    Parameters
    ----------
    updates : (T, n) array
        What was applied, before the optimiser's step size.
    residuals : (T, n) array
        What was left over after every step.
    """

    updates: Array
    residuals: Array


def ef_signs(gradients: ArrayLike, rate: float = 0.1, scaled: bool = False) -> SignedRun:
    """One worker's EF-signSGD as GRACE has it: the mean magnitude times the signs of residual + rate g, over the rate.

    Parameters
    ----------
    gradients : (T, n) float32 or float64
        Finite.
    rate : float
        The step size, by which gradients are multiplied and updates divided; positive.
    scaled : bool
        Whether the first gradient is multiplied too, as GRACE does for TensorFlow and not for PyTorch, where nothing is
        done as long as there is no residual.

    Returns
    -------
    SignedRun
        p = e + rate g, C(p) = (norm1(p) / n) sign(p) with sign(0) = +1, e <- p - C(p), update C(p) / rate.

    Raises
    ------
    TypeError, ValueError
        `gradients` are neither float32 nor float64, no matrix, empty or not finite; `rate` is not positive or not
        finite, `scaled` no bool; updates that overflow.

    Examples
    --------
    >>> ef_signs([[1.0, -1.0], [1.0, -1.0]], 0.5).updates.tolist()
    [[2.0, -2.0], [1.0, -1.0]]
    """
    array = checked_array(gradients, 2, name="gradients")
    step, first = array.dtype.type(_rate("rate", rate)), checked_flag("scaled", scaled)
    residual = np.zeros_like(array[0])
    updates, residuals = np.empty_like(array), np.empty_like(array)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for t, gradient in enumerate(array):
            offered = residual + step * gradient if t or first else gradient.copy()
            mean = array.dtype.type(np.abs(offered.astype(np.float64)).mean())
            sent = np.where(offered >= 0, mean, -mean)
            residual = offered - sent
            updates[t], residuals[t] = sent / step, residual
    return SignedRun(_finite("updates", updates), _finite("residuals", residuals))


@of_python_numbers
def ridge_descent(slope: float, step: float, steps: int, feedback: bool = False, tie: int = 1) -> Array:
    """The path of sign descent on slope |x + y| + |x - y| from (1, 1), with or without error feedback.

    The counterexample of Karimireddy et al. (2019, arXiv:1901.09847) for slopes below one: where x and y differ, the
    signs of the gradient are (1, -1) or (-1, 1), and x + y does not change. Where they are equal, as at the start, that
    is so of some subgradients and not of others, such as (slope, slope): `tie` chooses. With feedback a step is the
    mean magnitude times the signs of residual + step g.

    Parameters
    ----------
    slope : float
        In (0, 1).
    step : float
        Step size; positive.
    steps : int
        At least 1, at most 2^20.
    feedback : bool
        Whether what the signs leave out is kept.
    tie : {1, 0, -1}
        The sign of zero in subgradients; 0 as automatic differentiation has it. What is compressed to its signs has +1
        for zero all the same.

    Returns
    -------
    (steps + 1, 2) float64
        All points, the first is (1, 1).

    Raises
    ------
    TypeError, ValueError
        An argument is of another type, or out of its range; a path that overflows.

    Examples
    --------
    >>> ridge_descent(0.5, 0.25, 2).tolist()
    [[1.0, 1.0], [0.75, 1.25], [1.0, 1.0]]
    >>> ridge_descent(0.5, 0.25, 2, tie=0).tolist()
    [[1.0, 1.0], [0.75, 0.75], [0.5, 0.5]]
    """
    if not 0 < checked_real("slope", slope) < 1:
        raise ValueError(f"slope must be in (0, 1), got {slope}")
    length, kept = _rate("step", step), checked_flag("feedback", feedback)
    between = float(checked_count("tie", tie, -1, 1))
    path = np.ones((checked_count("steps", steps, 1, 2**20) + 1, 2))
    residual = np.zeros(2)
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(len(path) - 1):
            x, y = path[t]
            along, across = (float(np.sign(v)) if v else between for v in (x + y, x - y))
            gradient = np.array([slope * along + across, slope * along - across])
            if kept:
                offered = residual + length * gradient
                sent = np.abs(offered).sum() / 2 * np.where(offered >= 0, 1.0, -1.0)
                residual = offered - sent
            else:
                sent = length * np.where(gradient >= 0, 1.0, -1.0)
            path[t + 1] = path[t] - sent
    return _finite("the path", path)
