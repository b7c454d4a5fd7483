"""Top-K: the entries of largest magnitude."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.compressors._largest import largest
from commbounds.compressors.base import Law, checked_array, checked_count, checked_exact, index_bits
from commbounds.compressors.sparsifiers.message import Sparse, Sparsifier


def largest_exact(x: Sequence[Fraction], k: int) -> tuple[int, ...]:
    """Ascending indices of the `k` entries of `x` largest in magnitude; ties go to the lowest index."""
    return tuple(sorted(sorted(range(len(x)), key=lambda i: (-abs(x[i]), i))[:k]))


@dataclass(frozen=True)
class TopK(Sparsifier):
    """The k entries of largest magnitude, the others zero.

    C(x)_i = x_i for i in S, 0 elsewhere, where S holds the k largest |x_i| (Stich 2018, Alistarh 2018).

    Parameters
    ----------
    k : int
        Entries kept; 1 <= k <= n.

    Notes
    -----
    Exactly `k` entries are sent; ties go to the lowest index.
    ||C(x) - x||^2 <= (1 - k/n) ||x||^2 surely; equality iff all |x_i| are equal (or k = n).

    Examples
    --------
    >>> import numpy as np
    >>> TopK(2)(np.array([1.0, -3.0, 2.0, 2.0]))
    array([ 0., -3.,  2.,  0.])
    """

    k: int
    claims = (
        "sparsifiers.topk.contraction",
        "sparsifiers.topk.support",
        "sparsifiers.topk.ceil_k",
        "sparsifiers.topk.local_contraction",
        "sparsifiers.topk.global_error",
        "sparsifiers.topk.two_workers",
        "sparsifiers.topk.wire",
        "sparsifiers.topk.sign_symmetry",
        "sparsifiers.topk.scale_equivariance",
        "sparsifiers.topk.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count("k", self.k))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """The k largest entries of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite; n >= k.
        rng : None
            Ignored.

        Returns
        -------
        Sparse
            k entries; k (ceil(log2 n) + bits of a value) bits.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64.
        ValueError
            `x` is not a vector, empty, not finite, or shorter than k.
        """
        array = checked_array(x, finite=False)
        k = checked_count("k", self.k, 1, array.size)
        indices, values = largest(array, k)
        return Sparse(array.shape, array.dtype, indices, values, k * index_bits(array.size))

    def law(self, x: Sequence[Any]) -> Law:
        """The output, with probability one."""
        exact = checked_exact(x)
        kept = set(largest_exact(exact, checked_count("k", self.k, 1, len(exact))))
        return [(Fraction(1), tuple(v if i in kept else Fraction(0) for i, v in enumerate(exact)))]
