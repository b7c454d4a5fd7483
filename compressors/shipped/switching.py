"""Which of several compressors FL_PyTorch's switching one uses."""

from collections.abc import Sequence

from commbounds.compressors.base import checked_real, of_python_numbers

MOST = 4096
"""Compressors to switch between."""


@of_python_numbers
def switched(probabilities: Sequence[float], dice: float) -> int:
    """The number of the compressor that a throw of `dice` chooses, or -1 for none.

    The first i with p_0 + ... + p_(i-1) <= dice <= p_0 + ... + p_i, as FL_PyTorch has it: sums are not divided by the
    whole, which need not be one. Where none is chosen, its `compressVector` returns None.

    Parameters
    ----------
    probabilities : sequence of float
        Of every compressor; not negative, finite; one to 4096 of them.
    dice : float
        Uniform on [0, 1).

    Raises
    ------
    TypeError, ValueError
        What is no number; a negative or infinite probability; none, or too many; `dice` outside [0, 1).

    Examples
    --------
    >>> switched([0.25, 0.25], 0.3), switched([0.25, 0.25], 0.75)
    (1, -1)
    """
    chances = [checked_real("probabilities", p) for p in probabilities]
    if not 1 <= len(chances) <= MOST:
        raise ValueError(f"probabilities must be 1 to {MOST}, got {len(chances)}")
    if not all(0 <= p < float("inf") for p in chances):
        raise ValueError(f"probabilities must not be negative or infinite, got {chances}")
    if not 0 <= checked_real("dice", dice) < 1:
        raise ValueError(f"dice must be in [0, 1), got {dice}")
    start = 0.0
    for number, p in enumerate(chances):
        if start <= dice <= start + p:
            return number
        start += p
    return -1
