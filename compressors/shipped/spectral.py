"""Spectral ATOMO as its authors' code samples: singular values kept independently, drawn again where none is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats, Mask
from commbounds.compressors.base import as_array, checked_array, checked_real, checked_rng, is_finite, of_python_numbers

SMALLEST = 1e-6
"""Below it the largest singular value is sent alone."""
LEAST_BUDGET = 2.0**-10


@dataclass(frozen=True, eq=False)
class SpectralAtoms:
    """What was drawn of a matrix.

    Parameters
    ----------
    singular : (r,) dtype of the matrix
        Singular values, descending.
    probabilities : (r,) float64
        With which each is kept in one draw.
    kept : (r,) bool
        Which were kept.
    values : (m, n) dtype of the matrix
        The sum of the atoms kept, over their probabilities.
    """

    singular: Array
    probabilities: Floats
    kept: Mask
    values: Array


@of_python_numbers
def spectral_atoms(
    matrix: ArrayLike, budget: float, rng: np.random.Generator | None = None, *, kept: ArrayLike | None = None
) -> SpectralAtoms:
    """Singular value s_i over p_i with probability p_i = min(1, budget s_i / sum s); drawn again where none is kept.

    Spectral ATOMO (Wang et al. 2018, arXiv:1806.04090) as its authors' code has it. The paper's probabilities share
    among the others what is left of the budget where one exceeds one; the code cuts it off.

    Parameters
    ----------
    matrix : (m, n) float32 or float64
        Finite.
    budget : float
        Atoms to be kept in expectation; finite, and at least 2^-10, so that a draw keeps one soon.
    rng : numpy.random.Generator or None
        A draw takes a uniform for every singular value, which is kept where that is below its probability. Required
        where `kept` is not given, and the largest singular value is at least 1e-6.
    kept : (r,) bool or None
        In place of `rng`: which atoms are kept, r = min(m, n).

    Returns
    -------
    SpectralAtoms
        Where the largest singular value is below 1e-6, that one alone, for sure.

    Raises
    ------
    TypeError, ValueError
        `matrix` is neither float32 nor float64, not a matrix, empty or not finite; `budget` is below 2^-10 or
        not finite; no generator where one is needed; `kept` of another shape or dtype, or an atom of probability zero;
        atoms that overflow.

    Notes
    -----
    Biased: the mean is the matrix over 1 - q, where q = prod (1 - p_i) is the probability that a draw keeps none.

    Examples
    --------
    >>> import numpy as np
    >>> spectral_atoms(np.diag([1.0, 1.0]), 1, kept=[True, False]).values
    array([[2., 0.],
           [0., 0.]])
    """
    array = checked_array(matrix, 2, name="matrix")
    if not LEAST_BUDGET <= checked_real("budget", budget) < np.inf:
        raise ValueError(f"budget must be finite and at least {LEAST_BUDGET}, got {budget}")
    left, singular, right = np.linalg.svd(array, full_matrices=False)
    if not is_finite(singular):
        raise ValueError(f"matrix must have singular values that {array.dtype} holds")
    wide = singular.astype(np.float64)
    if wide[0] < SMALLEST:
        chances = np.zeros(wide.size)
        chances[0] = 1.0
    else:
        chances = np.minimum(1.0, float(budget) * (wide / wide[0]) / (wide / wide[0]).sum())
    if kept is not None:
        chosen = as_array(kept, "kept").copy()
        if chosen.dtype != np.bool_:
            raise TypeError(f"kept must be bool, got {chosen.dtype}")
        if chosen.shape != wide.shape:
            raise ValueError(f"kept must have shape {wide.shape}, got {chosen.shape}")
        if (chosen & (chances == 0)).any():
            raise ValueError("kept must not hold an atom of probability zero")
    elif wide[0] < SMALLEST:
        chosen = chances == 1.0
    else:
        generator, chosen = checked_rng(rng), np.zeros(wide.size, np.bool_)
        while not chosen.any():
            chosen = generator.random(wide.size) < chances
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(chosen, wide, 0.0) / np.where(chosen, chances, 1.0)
        values = ((left * scaled) @ right).astype(array.dtype)
    if not is_finite(values):
        raise ValueError(f"matrix must not overflow {array.dtype} when its atoms are divided by their probabilities")
    return SpectralAtoms(singular, chances, chosen, values)
