"""Messages of block formats as the bytes that are sent."""

import numpy as np
from numpy.typing import DTypeLike

from commbounds.array_types import Array, Bytes, Integers
from commbounds.compressors.base import shown
from commbounds.compressors.blockformats import NVFP4, Blocks, Microscaling, ScaledBlocks


def packed_numbers(numbers: Array, width: int) -> Bytes:
    """Numbers below 2^width, one after another in `width` bits each, lowest first; the last byte may be part full."""
    bits = (numbers.astype(np.int64)[:, None] >> np.arange(width)) & 1
    return np.packbits(bits.astype(np.uint8).ravel(), bitorder="little")


def packed_form(width: int, count: int) -> tuple[type[np.uint8], tuple[int]]:
    """What `packed_numbers` makes of so many numbers: its dtype and shape."""
    return np.uint8, (-(-count * width // 8),)


def unpacked_numbers(sent: Bytes, width: int, count: int) -> Integers:
    """The `count` numbers that `packed_numbers` made `sent` of.

    Raises
    ------
    ValueError
        `sent` has another size.
    """
    if sent.shape != packed_form(width, count)[1]:
        raise ValueError(f"sent must have shape {packed_form(width, count)[1]}, got {sent.shape}")
    bits = np.unpackbits(sent, count=count * width, bitorder="little").reshape(count, width)
    numbers: Integers = (bits.astype(np.int64) << np.arange(width)).sum(axis=1)
    return numbers


def bytes_of(message: Blocks | ScaledBlocks) -> Bytes:
    """The bytes of a message: what is said of blocks, then the elements, a sign above their magnitude bits."""
    if not isinstance(message, Blocks | ScaledBlocks):
        raise TypeError(f"message must be Blocks or ScaledBlocks, got {shown(message)}")
    if isinstance(message, Blocks):
        head, width = (message.exponents + 127).astype(np.uint8), message.width
    else:
        head, width = np.concatenate([np.array([message.tensor]).view(np.uint8), message.scales]), 4
    codes = message.codes.astype(np.int64)
    words = np.abs(codes) + (codes < 0) * 2 ** (width - 1)
    return np.concatenate([head, packed_numbers(words, width)])


def message_of(sent: Bytes, quantiser: Microscaling | NVFP4, n: int, dtype: DTypeLike) -> Blocks | ScaledBlocks:
    """The message of `n` entries that `bytes_of` made `sent` of."""
    if not isinstance(quantiser, Microscaling | NVFP4):
        raise TypeError(f"quantiser must be Microscaling or NVFP4, got {shown(quantiser)}")
    kind, blocks = np.dtype(dtype), -(-n // quantiser.block)
    mx = isinstance(quantiser, Microscaling)
    width, first = (quantiser.format.width, blocks) if isinstance(quantiser, Microscaling) else (4, blocks + 4)
    words = unpacked_numbers(sent[first:], width, n)
    sizes = words % 2 ** (width - 1)
    codes = np.where(words >= 2 ** (width - 1), -sizes, sizes).astype(np.int8)
    if mx:
        return Blocks((n,), kind, codes, sent[:blocks].astype(np.int16) - np.int16(127), width)
    return ScaledBlocks((n,), kind, codes, sent[4:first].copy(), sent[:4].copy().view(np.float32)[0])
