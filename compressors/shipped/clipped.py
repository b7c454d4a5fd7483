"""TernGrad with the clipping that its paper and GRACE have."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors._magnitude import finite_largest
from commbounds.compressors._surds import exact_law, root
from commbounds.compressors.base import Exact, Law, checked_exact, checked_real, hold_python_numbers, product_law
from commbounds.compressors.quantizers import Coded, TernGrad
from commbounds.compressors.quantizers.message import Draw, RandomisedQuantiser


@dataclass(frozen=True)
class ClippedTernGrad(RandomisedQuantiser):
    """TernGrad of the entries clipped to `clip` standard deviations: c = clip std, scale = min(norminf, c).

    C(x)_i = scale sign(x_i) Bernoulli(min(|x_i|, c) / scale), where std^2 = sum (x_i - mean)^2 / n, as GRACE has it.

    Parameters
    ----------
    clip : int, float or Fraction
        Standard deviations, about the mean; entries are clipped about zero. Positive; 2.5 as shipped.

    Notes
    -----
    Unbiased where no entry exceeds c, and nowhere else. Equal entries have std 0: they all become zero. The standard
    deviation is computed in float64, exactly summed, and c rounded to the dtype. 8 itemsize + 2 n bits.

    Examples
    --------
    >>> import numpy as np
    >>> ClippedTernGrad()(np.full(3, 7.0), np.random.default_rng(0))
    array([0., 0., 0.])
    """

    clip: float | Fraction = 2.5
    claims = (
        "shipped.clippedterngrad.bias",
        "shipped.clippedterngrad.unbiased_unclipped",
        "shipped.clippedterngrad.equal_entries",
        "shipped.clippedterngrad.one_sparse",
        "shipped.clippedterngrad.wire",
        "shipped.clippedterngrad.sign_symmetry",
        "shipped.clippedterngrad.scale_equivariance",
    )

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        if not 0 < checked_real("clip", self.clip) < math.inf:
            raise ValueError(f"clip must be positive and finite, got {self.clip}")

    def _encoded(self, x: Array, draw: Draw) -> Coded:
        top = float(finite_largest(x))
        if top > 0.0:
            wide = x.astype(np.float64) / top
            mean = math.fsum(wide) / x.size
            deviation = math.sqrt(math.fsum((wide - mean) ** 2) / x.size)  # zero of equal entries, which become one
            with np.errstate(over="ignore"):
                bound = x.dtype.type(float(self.clip) * deviation * top)
            x = np.clip(x, -bound, bound)
        return TernGrad()._encoded(x, draw)

    def decompress(self, message: Coded) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        return TernGrad().decompress(message)

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output: entries are independent, each zero or at the scale.

        Parameters
        ----------
        x : sequence of int, Fraction or float
            Floats are taken at their exact binary value.

        Returns
        -------
        list of (probability, output)
            Fractions where the scale is rational, else exact sympy numbers.
        """
        values = checked_exact(x)
        n, mean = len(values), sum(values, Fraction(0)) / len(values)
        clipped = Fraction(self.clip) ** 2 * sum(((v - mean) ** 2 for v in values), Fraction(0)) / n
        square = min(max(v * v for v in values), clipped)
        if square == 0:
            return [(Fraction(1), (Fraction(0),) * n)]
        scale: Exact = root(square)

        def marginal(v: Fraction) -> list[tuple[Exact, Exact]]:
            sign = -1 if v < 0 else 1
            if v * v >= square:
                return [(Fraction(1), scale * sign)]
            if v == 0:
                return [(Fraction(1), Fraction(0))]
            # |v| / scale = (|v| / scale^2) scale
            p = scale * (abs(v) / square)
            return [(1 - p, Fraction(0)), (p, scale * sign)]

        return exact_law(product_law([marginal(v) for v in values]))
