"""`word_law`: the exact law of a kernel that rounds by a few random bits, over all words that it can be given."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.compressors.base import as_numbers, checked_choice, checked_count, shown
from commbounds.verify.conformance.subject import DTYPES

_MOST_BITS = 16
_AGREED = 64
"""Words for which a whole array is compared with its entries one by one."""


@dataclass(frozen=True)
class WordLaw:
    """What becomes of each entry over all words, and what follows exactly.

    Parameters
    ----------
    x : tuple of float
        The entries.
    values : tuple of tuple of float
        For every entry the different results, ascending.
    counts : tuple of tuple of int
        For how many words each came.
    monotone : tuple of bool
        For every entry whether results never fall, or never rise, as words do.
    shared : tuple of int
        Entries whose result in an array is not that of their own word alone: words are shared, or moved.
    bits : int
        Of a word.
    """

    x: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    counts: tuple[tuple[int, ...], ...]
    monotone: tuple[bool, ...]
    shared: tuple[int, ...]
    bits: int

    @property
    def bias(self) -> tuple[Fraction, ...]:
        """E C(x) - x, of every entry."""
        words = 2**self.bits
        return tuple(
            sum((Fraction(v) * c for v, c in zip(values, counts, strict=True)), Fraction(0)) / words - Fraction(x)
            for x, values, counts in zip(self.x, self.values, self.counts, strict=True)
        )

    @property
    def variance(self) -> tuple[Fraction, ...]:
        """E (C(x) - E C(x))^2, of every entry."""
        words = 2**self.bits
        return tuple(
            sum((c * (Fraction(v) - Fraction(x) - bias) ** 2 for v, c in zip(values, counts, strict=True)), Fraction(0))
            / words
            for x, bias, values, counts in zip(self.x, self.bias, self.values, self.counts, strict=True)
        )

    @property
    def relative_bias(self) -> tuple[Fraction, ...]:
        """The bias over the distance of the outermost results: 0 where there is one, and it is the entry."""
        gaps = (Fraction(values[-1]) - Fraction(values[0]) for values in self.values)
        return tuple(bias / gap if gap else bias for bias, gap in zip(self.bias, gaps, strict=True))


def word_law(kernel: Callable[[Array, Array], Any], x: ArrayLike, bits: int = 16, dtype: str = "float32") -> WordLaw:
    """The exact law of ``kernel(x, words)`` over all words of so many bits.

    Parameters
    ----------
    kernel : callable (x, words) -> y
        Rounds every entry of `x`, (m,) of `dtype`, by its own word, (m,) uint32 below 2^bits; `y` is (m,), of any
        floating dtype.
    x : (n,) array
        Finite entries, which are given in `dtype`.
    bits : int
        1 to 16.
    dtype : str
        Of what the kernel is given: float16, bfloat16, float32 or float64.

    Returns
    -------
    WordLaw
        No sampling: of every entry all 2^bits results.

    Raises
    ------
    TypeError
        `kernel` is not callable, or gives no array.
    ValueError
        `bits` is out of range, `x` is empty or not finite, or the answer has another shape, or is not finite.

    Notes
    -----
    A kernel that rounds by r bits can't give more than 2^r probabilities: where it floors, the bias at a fraction f of
    a step is (floor(2^r f)/2^r - f) steps, down to 2^-r - 2^-s for inputs with s > r further bits.

    Examples
    --------
    >>> def to_integers(x, words):
    ...     return np.floor(x + words / 256.0)
    >>> law = word_law(to_integers, [0.25, 0.501953125], bits=8)
    >>> law.bias
    (Fraction(0, 1), Fraction(-1, 512))
    """
    if not callable(kernel):
        raise TypeError(f"kernel must be callable, got {shown(kernel)}")
    checked_count("bits", bits, low=1)
    if bits > _MOST_BITS:
        raise ValueError(f"bits must be at most {_MOST_BITS}, got {bits}")
    checked_choice("dtype", dtype, tuple(DTYPES))
    with np.errstate(over="ignore"):
        entries = as_numbers(x, "x").ravel().astype(DTYPES[dtype])
    if entries.size == 0 or not np.isfinite(entries.astype(np.float64)).all():
        raise ValueError(f"x must hold finite numbers, got {shown(x)}")
    words = np.arange(2**bits, dtype=np.uint32)
    tables = [_answer(kernel, np.full(words.size, entry, entries.dtype), words) for entry in entries]
    found = [np.unique(table, return_counts=True) for table in tables]
    return WordLaw(
        tuple(float(entry) for entry in entries),
        tuple(tuple(values.tolist()) for values, _ in found),
        tuple(tuple(counts.tolist()) for _, counts in found),
        tuple(bool((np.diff(table) >= 0.0).all() or (np.diff(table) <= 0.0).all()) for table in tables),
        _shared(kernel, entries, np.array(tables), words.size),
        bits,
    )


def _answer(kernel: Callable[[Array, Array], Any], x: Array, words: Array) -> Floats:
    y = kernel(x.copy(), words.copy())
    if not isinstance(y, np.ndarray):
        raise TypeError(f"kernel must give an array, got {shown(y)}")
    wide: Floats = y.astype(np.float64)
    if y.shape != x.shape or not np.isfinite(wide).all():
        raise ValueError(f"kernel must give {x.shape} finite numbers, got an array of shape {y.shape}")
    return wide


def _shared(kernel: Callable[[Array, Array], Any], x: Array, tables: Array, count: int) -> tuple[int, ...]:
    """Entries of the whole array that do not become what they do alone with their words."""
    rng, wrong = np.random.default_rng(0), set[int]()
    for _ in range(_AGREED):
        words = rng.integers(count, size=x.size, dtype=np.uint32)
        wrong |= set(np.flatnonzero(_answer(kernel, x, words) != tables[np.arange(x.size), words]).tolist())
    return tuple(sorted(wrong))
