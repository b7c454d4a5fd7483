"""Messages of group quantisers as the bytes that are sent, and messages from such bytes.

The bytes are, one after another: the planes of the codes, highest bits first (`bit_planes`); every group's scale; every
group's zero point; every group's two spikes; and where in their groups these stand, ceil(log2 group) bits each, packed
from the lowest bit of a byte up. Numbers are little-endian. The order is this project's choice.
"""

from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from commbounds.array_types import Array, Bytes
from commbounds.compressors.base import MAX_ENTRIES, as_array, checked_count, checked_kind, index_bits, shown
from commbounds.compressors.flashcomm.bit_planes import PLANES
from commbounds.compressors.flashcomm.groupquant import GroupQuantizer
from commbounds.compressors.flashcomm.message import GroupCodes
from commbounds.compressors.flashcomm.metadata import FORMATS
from commbounds.compressors.flashcomm.ranges import read_ranges, stored_dtypes


def wire_bytes(message: GroupCodes) -> Bytes:
    """The bytes that `message` is sent as: ceil(``message.bits`` / 8) of them.

    Parameters
    ----------
    message : GroupCodes
        Of a `GroupQuantizer`.

    Returns
    -------
    (bytes,) uint8
        Only the positions of spikes can leave bits unused, in the last byte; these are zero.

    Raises
    ------
    TypeError
        `message` is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> message = GroupQuantizer(2, group=4, metadata="float16").compress(np.array([0.0, 3.0, 1.0, 2.0], np.float32))
    >>> wire_bytes(message).tolist(), message.bits
    ([156, 0, 60, 0, 0], 40)
    """
    checked_kind("message", message, GroupCodes)
    about = message.ranges
    parts = [*message.planes, _bytes_of(about.wire_scale), _bytes_of(about.wire_zero)]
    if about.spikes is not None and about.positions is not None:
        places = about.positions.reshape(-1, 1) >> np.arange(index_bits(message.group), dtype=np.int64)
        parts += [_bytes_of(about.spikes), np.packbits((places & 1).astype(np.uint8), bitorder="little")]
    return np.concatenate(parts)


@lru_cache(maxsize=1 << 10)
def wire_sizes(quantiser: GroupQuantizer, n: int) -> tuple[int, ...]:
    """Bytes of the parts of a message of `n` entries, one after another: of each plane first."""
    groups = -(-n // quantiser.group)
    scale, zero = stored_dtypes(quantiser.metadata, quantiser.zero, quantiser.scale == "log2")
    sizes = [
        *(-(-n * width // 8) for width in PLANES[quantiser.width]),
        groups * scale.itemsize,
        groups * zero.itemsize,
    ]
    if quantiser.spikes:
        sizes += [2 * groups * FORMATS[quantiser.metadata].itemsize, -(-2 * groups * index_bits(quantiser.group) // 8)]
    return tuple(sizes)


def message_from_bytes(sent: Bytes, quantiser: GroupQuantizer, n: int, dtype: DTypeLike) -> GroupCodes:
    """The message that was sent as these bytes.

    Parameters
    ----------
    sent : (bytes,) uint8
        What `wire_bytes` made of a message of `quantiser`.
    quantiser : GroupQuantizer
        What the message was made with.
    n : int
        Entries of the vector.
    dtype : float32 or float64
        Of the vector.

    Returns
    -------
    GroupCodes
        Decompressed it gives the same bits. The ranges before they were rounded are not sent: they read as stored.

    Raises
    ------
    TypeError, ValueError
        `sent` is no vector of bytes, not as long as a message of `n` entries, or its positions lie outside their
        groups; `quantiser` or `dtype` is no such thing.

    Examples
    --------
    >>> import numpy as np
    >>> quantiser, x = GroupQuantizer(3, group=4), np.array([0.0, 7.0, 1.0], np.float32)
    >>> quantiser.decompress(message_from_bytes(wire_bytes(quantiser.compress(x)), quantiser, 3, x.dtype)).tolist()
    [0.0, 7.0, 1.0]
    """
    checked_kind("quantiser", quantiser, GroupQuantizer)
    entries = checked_count("n", n, 1, MAX_ENTRIES)
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"dtype must be float32 or float64, got {shown(dtype)}") from None
    if dtype is None or kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, got {kind}")
    given = as_array(sent, "sent")
    if given.dtype != np.uint8:
        raise TypeError(f"sent must be uint8, got {given.dtype}")
    groups, form = -(-entries // quantiser.group), FORMATS[quantiser.metadata]
    scale, zero = stored_dtypes(quantiser.metadata, quantiser.zero, quantiser.scale == "log2")
    each, sizes = index_bits(quantiser.group), wire_sizes(quantiser, entries)
    if given.shape != (sum(sizes),):
        raise ValueError(f"sent must have shape ({sum(sizes)},) for {entries} entries, got {given.shape}")
    parts = [given[start:stop].copy() for start, stop in pairwise(accumulate(sizes, initial=0))]
    planes = tuple(parts[: len(PLANES[quantiser.width])])
    about = parts[len(planes) :]
    spikes = positions = None
    if quantiser.spikes:
        spikes = _numbers(about[2], form).reshape(groups, 2)
        bits = np.unpackbits(about[3], count=2 * groups * each, bitorder="little").reshape(2 * groups, each)
        positions = (bits.astype(np.int64) << np.arange(each, dtype=np.int64)).sum(axis=1).reshape(groups, 2)
        ends = np.minimum(quantiser.group, entries - quantiser.group * np.arange(groups, dtype=np.int64))
        if (positions >= ends[:, None]).any():
            raise ValueError(f"positions of the message must lie in their groups of {quantiser.group}, got others")
    theta = quantiser.theta * (quantiser.scale == "log2")
    ranges = read_ranges(
        quantiser.metadata, quantiser.group, kind, theta, quantiser.zero != "float",
        _numbers(about[1], zero), _numbers(about[0], scale), positions, spikes,
    )  # fmt: skip
    return GroupCodes((entries,), kind, planes, quantiser.width, quantiser.group, ranges)


def _bytes_of(numbers: Array) -> Bytes:
    """Numbers as little-endian bytes; by way of integers, as not every format knows of byte orders."""
    size = numbers.dtype.itemsize
    return np.ascontiguousarray(numbers).reshape(-1).view(f"u{size}").astype(f"<u{size}").view(np.uint8)


def _numbers(sent: Bytes, form: np.dtype[Any]) -> Array:
    """The numbers of a format that little-endian bytes stand for."""
    size = form.itemsize
    return sent.view(f"<u{size}").astype(f"u{size}").view(form)
