"""One bit an entry, and the means of the two halves."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import Compressor, Law, checked_array, checked_exact, checked_message
from commbounds.compressors.shipped.buckets import bucket_means, exact_means
from commbounds.compressors.shipped.message import Tabled, looked_up


@dataclass(frozen=True)
class TwoMeans(Compressor):
    """Negative entries become their mean, the others theirs (1-bit SGD, Seide et al. 2014; GRACE's one-bit).

    Notes
    -----
    ||C(x) - x||^2 = ||x||^2 - ||C(x)||^2, at most (1 - 1/n) ||x||^2; equality where one entry is nonzero, and
    positive. The sum of the entries is kept. Means are sums in float64 over counts, rounded to the dtype.
    n + 16 itemsize bits.

    Examples
    --------
    >>> import numpy as np
    >>> TwoMeans()(np.array([1.0, -2.0, 3.0, -6.0]))
    array([ 2., -4.,  2., -4.])
    """

    claims = (
        "shipped.twomeans.error",
        "shipped.twomeans.contraction",
        "shipped.twomeans.contraction_halves",
        "shipped.twomeans.below_scaledsign",
        "shipped.twomeans.sum",
        "shipped.twomeans.wire",
        "shipped.twomeans.sign_symmetry",
        "shipped.twomeans.scale_equivariance",
        "shipped.twomeans.idempotence",
    )

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Tabled:
        """The message for `x`; see `Compressor.compress`."""
        array = checked_array(x)
        codes = (array >= 0).astype(np.int16)
        return Tabled(array.shape, array.dtype, codes, bucket_means(array, codes, 2))

    def decompress(self, message: Tabled) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Tabled)
        return looked_up(message)

    def law(self, x: Sequence[Any]) -> Law:
        """The one outcome, with probability 1."""
        exact = checked_exact(x)
        return [(Fraction(1), exact_means(exact, [int(v >= 0) for v in exact]))]
