"""LDLQ: rounding to whole numbers with feedback, for a quadratic loss."""

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import as_numbers, checked_array, checked_count, is_finite

MOST_WEIGHTS = 2**10
LARGEST_WEIGHT = 2.0**40


def ldl(hessian: Array) -> tuple[Array, Array]:
    """L, lower triangular with ones on the diagonal, and d > 0, with ``H = L diag(d) L^T``.

    Raises
    ------
    ValueError
        H is not square, or not positive definite, as far as elimination in float64 can tell.
    """
    hessian = as_numbers(hessian, "hessian", np.float64)
    if hessian.ndim != 2 or len(hessian) != hessian.shape[1]:
        raise ValueError(f"hessian must be square, got shape {hessian.shape}")
    left, n = hessian.copy(), len(hessian)
    L, d = np.eye(n), np.zeros(n)
    for i in range(n):
        d[i] = left[i, i]
        if not 0.0 < d[i] < np.inf:
            raise ValueError(f"hessian must be positive definite, got the pivot {d[i]}")
        with np.errstate(over="ignore", invalid="ignore"):
            L[i + 1 :, i] = left[i + 1 :, i] / d[i]
            left[i + 1 :, i + 1 :] -= np.outer(L[i + 1 :, i], left[i, i + 1 :])
    if not is_finite(L):
        raise ValueError("hessian must be positive definite, got columns that leave the range of floats")
    return L, d


def ldlq(weights: ArrayLike, hessian: ArrayLike, levels: int | None = None) -> Array:
    """Whole numbers q near the weights w, for a small ``(q - w)^T H (q - w)`` (QuIP: Chee et al. 2023).

    With ``H = L diag(d) L^T``, from the last weight to the first ``q_i = floor(w_i + sum_{j > i} L_ji (w_j - q_j) +
    1/2)``. The loss is the sum of d_i times the squared i-th rounding error. In float64: H is eliminated column by
    column, and to w_i the errors are added as they are found.

    Parameters
    ----------
    weights : (n,) float32 or float64
        At most 2^40 in magnitude; n <= 1024.
    hessian : (n, n) float
        Symmetric, positive definite.
    levels : int or None
        q is clipped to 0 .. levels - 1 as it is found, as the authors' code does; None for no limit.

    Returns
    -------
    (n,) float64
        Whole numbers.

    Raises
    ------
    TypeError
        Another dtype.
    ValueError
        Another shape; NaN or an infinity; weights that are too large; H not symmetric, or not positive definite;
        levels below 1.

    Examples
    --------
    >>> import numpy as np
    >>> ldlq(np.array([0.25, 0.25]), np.array([[1.0, 1.0], [1.0, 2.0]]))
    array([1., 0.])
    """
    w = checked_array(weights, name="weights").astype(np.float64)
    n = w.size
    if n > MOST_WEIGHTS:
        raise ValueError(f"weights must be at most {MOST_WEIGHTS}, got {n}")
    if float(np.abs(w).max()) > LARGEST_WEIGHT:
        raise ValueError(f"weights must be at most 2**40 in magnitude, got {np.abs(w).max()}")
    H = as_numbers(hessian, "hessian", np.float64)
    if H.shape != (n, n):
        raise ValueError(f"hessian must have shape {(n, n)}, got {H.shape}")
    if not is_finite(H) or not (H == H.T).all():
        raise ValueError("hessian must be finite and symmetric")
    top = None if levels is None else checked_count("levels", levels, 1) - 1
    L, _ = ldl(H)
    q, wanted = np.empty(n), w.copy()
    for i in range(n - 1, -1, -1):
        q[i] = np.floor(wanted[i] + 0.5)
        if top is not None:
            q[i] = min(max(q[i], 0.0), float(top))
        wanted[:i] += (w[i] - q[i]) * L[i, :i]
    return q
