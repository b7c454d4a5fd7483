"""The orthonormal discrete cosine transform (DCT-II) of chunks, and what is counted about chunks."""

import math

import numpy as np

from commbounds.array_types import Floats, Integers
from commbounds.compressors.base import MAX_ENTRIES, checked_choice, checked_count, index_bits, of_python_numbers

POSITIONS = ("one by one", "as a set")
"""How positions are coded: each by itself, or all of a chunk by the number of their set."""


def _cosine(turns: int, whole: int) -> float:
    """cos(2 pi turns / whole), the same bits for angles whose cosines are the same up to the sign; 4 divides whole."""
    turns %= whole
    turns = min(turns, whole - turns)
    sign = 1.0
    if 4 * turns > whole:
        turns, sign = whole // 2 - turns, -1.0
    if 8 * turns > whole:  # near a quarter the sine is exact where the cosine is not
        return sign * math.sin(2 * math.pi * (whole // 4 - turns) / whole)
    return sign * math.cos(2 * math.pi * turns / whole)


def dct_matrix(size: int) -> Floats:
    """The orthonormal DCT-II of vectors of `size` entries, as a matrix; its rows are the cosines.

    Row 0 is 1/sqrt(size), row j is sqrt(2/size) cos(pi (2 i + 1) j / (2 size)). A cosine is that of the angle that is
    left to the nearest half turn, up to the sign; beyond an eighth of a turn the sine of what is left to a quarter.

    Parameters
    ----------
    size : int
        In [1, 4096].

    Raises
    ------
    TypeError, ValueError
        It is no such integer.

    Examples
    --------
    >>> dct_matrix(2).round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    """
    size = checked_count("size", size, 1, 4096)
    whole = 4 * size
    cosines = np.array([_cosine(turns, whole) for turns in range(whole)])
    turns = (2 * np.arange(size) + 1) * np.arange(size)[:, np.newaxis] % whole
    rows: Floats = math.sqrt(2 / size) * cosines[turns]
    rows[0] = math.sqrt(1 / size)
    return rows


def chunk_length(n: int, target: int = 64) -> int:
    """The largest divisor of `n` that is at most `target`: how long DeMo's code makes its chunks.

    Parameters
    ----------
    n : int
        Length of a side of a parameter; in [1, 2^31 - 1].
    target : int
        Length that is asked for; >= 1.

    Raises
    ------
    TypeError, ValueError
        They are no such integers.

    References
    ----------
    bloc97/DeMo, demo.py, `_get_smaller_split`.

    Examples
    --------
    >>> chunk_length(96), chunk_length(97)
    (48, 1)
    """
    n, target = checked_count("n", n, 1, MAX_ENTRIES), checked_count("target", target, 1, MAX_ENTRIES)
    best = 1
    for d in range(1, math.isqrt(n) + 1):
        if n % d == 0:
            best = max(best, *(divisor for divisor in (d, n // d) if divisor <= target), 1)
    return best


@of_python_numbers
def sparse_bits(n: int, k: int, chunk: int, value_bits: int = 2, positions: str = "one by one") -> int:
    """Bits of the positions and values of the k entries that are sent of every chunk of `n` entries.

    Parameters
    ----------
    n : int
        Entries; a multiple of `chunk`, at most 2^31 - 1.
    k : int
        Sent per chunk; in [1, chunk].
    chunk : int
        Entries of a chunk; in [1, 2^16].
    value_bits : int
        Bits of one value; in [1, 64].
    positions : str
        "one by one": ceil(log2 chunk) bits for each; "as a set": ceil(log2 of the number of sets of k) for a chunk.

    Raises
    ------
    TypeError, ValueError
        They are no such numbers.

    Examples
    --------
    >>> sparse_bits(4096, 64, 4096), sparse_bits(4096, 64, 4096, positions="as a set")
    (896, 600)
    """
    chunk = checked_count("chunk", chunk, 1, 1 << 16)
    n, k = checked_count("n", n, chunk, MAX_ENTRIES), checked_count("k", k, 1, chunk)
    if n % chunk:
        raise ValueError(f"n must be a multiple of chunk = {chunk}, got {n}")
    checked_count("value_bits", value_bits, 1, 64)
    one_by_one = checked_choice("positions", positions, POSITIONS) == "one by one"
    where = k * index_bits(chunk) if one_by_one else index_bits(math.comb(chunk, k))
    return n // chunk * (where + k * value_bits)


def resets(tensors: int, reset_after: int, passes: int) -> Integers:
    """How often the compensation of each tensor is set to zero, as DeepSpeed's LoCo counts.

    One counter serves all tensors and goes up with every one of them; the tensor that finds it above `reset_after` is
    reset, alone, and sets it to zero. In the first pass every tensor starts, which is no reset.

    Parameters
    ----------
    tensors : int
        Tensors of the model; in [1, 10^4].
    reset_after : int
        The setting `reset_T`; in [0, 10^6].
    passes : int
        Passes through the model after the first; in [0, 10^4].

    Returns
    -------
    (tensors,) int64
        Resets of every tensor.

    Raises
    ------
    TypeError, ValueError
        They are no such integers.

    References
    ----------
    deepspeedai/DeepSpeed, deepspeed/runtime/comm/coalesced_collectives.py, `all_to_all_loco_quant_reduce`.

    Examples
    --------
    >>> resets(4, 7, 10).tolist(), resets(4, 8, 10).tolist()
    ([0, 0, 0, 5], [1, 1, 1, 1])
    """
    tensors = checked_count("tensors", tensors, 1, 10**4)
    reset_after = checked_count("reset_after", reset_after, 0, 10**6)
    passes = checked_count("passes", passes, 0, 10**4)
    found = np.zeros(tensors, np.int64)
    turns = tensors * passes // (reset_after + 1)  # every so many updates one finds the counter above
    around = tensors // math.gcd(tensors, reset_after + 1)
    for turn in range(min(turns, around)):
        found[((turn + 1) * (reset_after + 1) - 1) % tensors] = (turns - turn - 1) // around + 1
    return found
