"""Messages as the bits that are sent: an encoding of every kind of message, and what a receiver makes of it.

A size on the wire is confronted with the length of such an encoding. Both sides know the compressor, the shape and the
dtype, and what follows from these: how many levels there are, how many entries are kept, whether a scale is sent.
Numbers of a finite range are sent in the fewest bits that tell them apart, floats as they are. A sparsifier that sends
the same entries of every vector of n states them as ``positions(n)``; then nothing is sent to say which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from commbounds.array_types import Array, Bytes, Integers
from commbounds.columns import Registry
from commbounds.compressors import Coded, Dense, Factors, Signs, Sparse

Bits = Bytes


def bit_count(c: Any, message: Any) -> int:
    """Bits that `message` takes, encoded; a receiver that has them reads the same vector.

    Parameters
    ----------
    c : Compressor
        What made the message.
    message : Message
        Of a sparsifier, a quantiser or a low-rank approximation.

    Raises
    ------
    TypeError
        No encoding is known for such a message.
    ValueError
        A number does not fit its range, or what is read back is another vector.
    """
    sent = encoded(c, message)
    read, meant = c.decompress(decoded(c, message, sent)), c.decompress(message)
    if read.tobytes() != meant.tobytes():
        raise ValueError(f"the encoding of a message of {c} reads as another vector")
    return sent.size


def encoded(c: Any, message: Any) -> Bits:
    """The bits of `message`, 0 or 1 each."""
    if isinstance(message, Dense):
        return raw(message.values)
    if isinstance(message, Factors):
        return np.concatenate([raw(message.left), raw(message.right)])
    if isinstance(message, Signs):
        codes = message.signs.astype(np.int64)
        signs = fixed((codes + 1) // 2, 2) if message.zero else fixed(codes + 1, 3)
        return _with_number(message.scale, message.dtype, signs)
    if isinstance(message, Coded):
        levels = message.codes.astype(np.int64) + message.levels
        return _with_number(message.norm, message.dtype, fixed(levels, 2 * message.levels + 1))
    if isinstance(message, Sparse):
        return np.concatenate([_positions(c, message.indices.astype(np.int64), *message.shape), raw(message.values)])
    return _of_column(message)[0](message)


_ENCODINGS: Registry[tuple[Callable[[Any], Bits], Callable[[Any, Any], Any]]] = Registry(
    "ENCODINGS", "verify.experiments", "encodings"
)
"""How messages of the columns' own kinds are encoded and read, by the name of their class."""


def _of_column(message: Any) -> tuple[Callable[[Any], Bits], Callable[[Any, Reader], Any]]:
    for kind in type(message).__mro__:
        if kind.__name__ in _ENCODINGS:
            return _ENCODINGS[kind.__name__]
    raise TypeError(f"no encoding is known for {type(message).__name__}")


def decoded(c: Any, known: Any, sent: Bits) -> Any:
    """The message that `sent` stands for; of `known` only what both sides know beforehand is used."""
    wire = Reader(sent)
    if isinstance(known, Dense):
        return replace(known, values=wire.floats(known.values.size, known.dtype))
    if isinstance(known, Factors):
        left, right = (wire.floats(part.size, known.dtype).reshape(part.shape) for part in (known.left, known.right))
        return replace(known, left=left, right=right)
    (n,) = known.shape
    if isinstance(known, Signs):
        scale = None if known.scale is None else wire.floats(1, known.dtype)[0]
        signs = 2 * wire.numbers(n, 2) - 1 if known.zero else wire.numbers(n, 3) - 1
        return replace(known, signs=signs.astype(known.signs.dtype), scale=scale)
    if isinstance(known, Coded):
        norm = None if known.norm is None else wire.floats(1, known.dtype)[0]
        codes = wire.numbers(n, 2 * known.levels + 1) - known.levels
        return replace(known, codes=codes.astype(known.codes.dtype), norm=norm)
    if not isinstance(known, Sparse):
        return _of_column(known)[1](known, wire)
    indices = _read_positions(c, wire, n)
    return replace(known, indices=indices.astype(np.int32), values=wire.floats(indices.size, known.dtype))


# --- which entries ----------------------------------------------------------------------------------------------------


def _positions(c: Any, indices: Array, n: int) -> Bits:
    """The bits that say which entries of `n` are sent; none where the compressor states them for every vector."""
    if hasattr(c, "positions"):
        return np.empty(0, np.uint8)
    if hasattr(c, "block"):
        return fixed(np.unique(indices // c.block), -(-n // c.block))
    if hasattr(c, "chunk"):
        return fixed(indices % c.chunk, c.chunk)
    count = fixed(np.array([indices.size]), n + 1) if _counted(c) else np.empty(0, np.uint8)
    return np.concatenate([count, fixed(indices, n)])


def _read_positions(c: Any, wire: Reader, n: int) -> Array:
    if hasattr(c, "positions"):
        return np.asarray(c.positions(n))
    if hasattr(c, "block"):
        starts = wire.numbers(c.k, -(-n // c.block)) * c.block
        indices: Array = (starts[:, None] + np.arange(c.block)).ravel()
        return indices[indices < n]
    if hasattr(c, "chunk"):
        starts = np.arange(0, n, c.chunk, dtype=np.int64)
        kept = np.minimum(c.k, np.minimum(c.chunk, n - starts))
        within: Array = np.repeat(starts, kept) + wire.numbers(int(kept.sum()), c.chunk)
        return within
    if _counted(c):
        return wire.numbers(int(wire.numbers(1, n + 1)[0]), n)
    return wire.numbers(min(getattr(c, "k", 1), n), n)


def _counted(c: Any) -> bool:
    """Whether how many entries are sent depends on the data or on draws, so that their number is sent as well."""
    return hasattr(c, "threshold") or getattr(c, "counted", False)


# --- numbers as bits --------------------------------------------------------------------------------------------------


def _width(count: int) -> int:
    """Bits that `count` different numbers need: the least w with 2^w >= count."""
    width = 0
    while 2**width < count:
        width += 1
    return width


def fixed(numbers: Array, count: int) -> Bits:
    """Numbers below `count`, each in as many bits as it takes, the lowest first."""
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        raise ValueError(f"numbers must be in [0, {count}), got [{numbers.min()}, {numbers.max()}]")
    bits: Bits = ((numbers[:, None] >> np.arange(_width(count))) & 1).astype(np.uint8).ravel()
    return bits


def raw(values: Array) -> Bits:
    """Numbers as they are in memory."""
    return np.unpackbits(np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8))


def _with_number(value: Any, dtype: np.dtype[Any], bits: Bits) -> Bits:
    return bits if value is None else np.concatenate([raw(np.array([value], dtype)), bits])


class Reader:
    """Takes numbers off a sequence of bits."""

    def __init__(self, sent: Bits) -> None:
        self._sent, self._at = sent, 0

    def _next(self, count: int) -> Bits:
        self._at += count
        return self._sent[self._at - count : self._at]

    def numbers(self, size: int, count: int) -> Integers:
        """The next `size` numbers below `count`."""
        width = _width(count)
        bits = self._next(size * width).reshape(size, width).astype(np.int64)
        numbers: Integers = (bits << np.arange(width)).sum(axis=1)
        return numbers

    def floats(self, size: int, dtype: np.dtype[Any]) -> Array:
        """The next `size` floats."""
        return np.packbits(self._next(8 * size * dtype.itemsize)).view(dtype)


# --- codes of varying length ------------------------------------------------------------------------------------------


def elias_gamma(numbers: Sequence[int]) -> str:
    """Positive numbers one after another: floor(log2 v) zeros, then v in binary.

    Examples
    --------
    >>> elias_gamma([1, 2, 5])
    '101000101'
    """
    return "".join("0" * (int(v).bit_length() - 1) + f"{int(v):b}" for v in numbers)


def read_gamma(sent: str) -> list[int]:
    """The numbers that `elias_gamma` made `sent` of.

    Examples
    --------
    >>> read_gamma("101000101")
    [1, 2, 5]
    """
    numbers, at = [], 0
    while at < len(sent):
        zeros = sent.index("1", at) - at
        at += 2 * zeros + 1
        numbers.append(int(sent[at - zeros - 1 : at], 2))
    return numbers
