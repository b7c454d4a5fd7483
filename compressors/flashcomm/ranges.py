"""Scales, zero points and spikes of groups: measured, rounded to what is stored, and read again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Array, Floats, Integers
from commbounds.compressors._blocks import BLOCK, for_blocks, quiet
from commbounds.compressors.base import check_part, check_same, is_finite, shown
from commbounds.compressors.flashcomm.metadata import FORMATS, stored, stored_above, stored_below

_REST32, _REST64 = np.int32(0x7FFFFFFF), np.int64(0x7FFFFFFFFFFFFFFF)
_TOP32, _TOP64 = np.int32(31), np.int64(63)


@njit(cache=True, nogil=True)
def _ends32(words, group, lows, highs):  # type: ignore[no-untyped-def]
    # words are the bits of floats; with all but the sign turned in negative ones, integers have the order of the floats
    for g in range(lows.size):
        part = words[g * group : (g + 1) * group]
        low, high = _REST32, ~_REST32
        for i in range(part.size):
            key = np.int32(part[i] ^ ((part[i] >> _TOP32) & _REST32))
            low, high = min(low, key), max(high, key)
        lows[g] = low ^ ((low >> _TOP32) & _REST32)
        highs[g] = high ^ ((high >> _TOP32) & _REST32)


@njit(cache=True, nogil=True)
def _ends64(words, group, lows, highs):  # type: ignore[no-untyped-def]
    # the same for float64
    for g in range(lows.size):
        part = words[g * group : (g + 1) * group]
        low, high = _REST64, ~_REST64
        for i in range(part.size):
            key = part[i] ^ ((part[i] >> _TOP64) & _REST64)
            low, high = min(low, key), max(high, key)
        lows[g] = low ^ ((low >> _TOP64) & _REST64)
        highs[g] = high ^ ((high >> _TOP64) & _REST64)


@njit(cache=True, nogil=True)
def _spikes(x, group, positions, lows, highs):  # type: ignore[no-untyped-def]
    # positions[g] = where the smallest and the largest of the others stand, ties to the lowest; ends of those left
    for g in range(lows.size):
        part = x[g * group : (g + 1) * group]
        first = last = 0
        for i in range(1, part.size):
            if part[i] < part[first]:
                first = i
        if part.size > 1:
            last = 1 if first == 0 else 0
            for i in range(part.size):
                if i != first and part[i] > part[last]:
                    last = i
        positions[g, 0], positions[g, 1] = first, last
        lows[g] = highs[g] = 0
        left = 0
        for i in range(part.size):
            if i not in (first, last):
                lows[g] = part[i] if left == 0 else min(lows[g], part[i])
                highs[g] = part[i] if left == 0 else max(highs[g], part[i])
                left += 1


@njit(cache=True, nogil=True)
def _spans(lows, highs, spans):  # type: ignore[no-untyped-def]
    for g in range(spans.size):
        spans[g] = highs[g] - lows[g]


@dataclass(frozen=True, eq=False)
class Ranges:
    """What the codes of every group are relative to.

    Parameters
    ----------
    form : str
        Format of the metadata.
    group : int
        Entries of a group.
    low, scale : (groups,) dtype of the vector
        Zero points and scales as the receiver reads them; with integer zero points, `low` is the smallest entry.
    exact_low, exact_scale : (groups,) dtype of the vector
        The same before they were rounded; a receiver, who cannot know, has what it reads.
    wire_zero, wire_scale : (groups,) arrays
        What is sent, in its format.
    points : (groups,) float64 or None
        Integer zero points, where these are used in place of `low`.
    positions : (groups, 2) int64 or None
        Where in its group the smallest and the largest entry stand; the same twice in a group of one entry.
    spikes : (groups, 2) of the metadata's format, or None
        Those entries.
    """

    form: str
    group: int
    low: Array
    scale: Array
    exact_low: Array
    exact_scale: Array
    wire_zero: Array
    wire_scale: Array
    points: Array | None = None
    positions: Integers | None = None
    spikes: Array | None = None

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.scale.size)

    @property
    def scale_bits(self) -> int:
        """Bits of a stored scale."""
        return 8 * self.wire_scale.itemsize

    @property
    def zero_bits(self) -> int:
        """Bits of a stored zero point."""
        return 8 * self.wire_zero.itemsize

    def check(self, n: int, group: int, dtype: np.dtype[Any]) -> None:
        """See that a receiver can read `n` entries of this dtype with the ranges; raises as `Message.check` does."""
        groups = -(-n // group)
        check_same("group of the ranges", self.group, group)
        if not isinstance(self.form, str) or self.form not in FORMATS:
            raise ValueError(f"form of the message must be one of {', '.join(FORMATS)}, got {shown(self.form)}")
        for name in ("low", "scale"):
            check_part(name, getattr(self, name), (groups,), (dtype,))
        if self.points is not None:
            check_part("points", self.points, (groups,), (np.float64,))
        if (self.positions is None) != (self.spikes is None):
            raise ValueError("the message must have both positions and spikes, or neither")
        if self.positions is not None:
            check_part("positions", self.positions, (groups, 2), (np.int64,), 0, max(group, 2) - 1)
            check_part("spikes", self.spikes, (groups, 2), (FORMATS[self.form],))
            if (np.arange(groups)[:, None] * group + self.positions >= n).any():
                raise ValueError(f"positions of the message must be among its {n} entries")

    def without_spikes(self, x: Array) -> Array:
        """`x` with the spikes, if there are any, at their group's low: what is left lies within the group's levels."""
        if self.positions is None:
            return x
        rest = x.copy()
        starts = np.arange(self.count, dtype=np.int64)[:, None] * self.group
        rest[starts + self.positions] = self.exact_low[:, None].astype(x.dtype)
        return rest

    def put_spikes(self, out: Array) -> None:
        """Write the spikes, if there are any, where they belong in `out`."""
        if self.positions is not None and self.spikes is not None:
            starts = np.arange(self.count, dtype=np.int64)[:, None] * self.group
            out[starts + self.positions] = self.spikes.astype(out.dtype)


def ranges(
    x: Array, group: int, top: int, form: str, repaired: bool, zero: str, theta: int, with_spikes: bool
) -> Ranges:
    """The ranges of the groups of `x`.

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite.
    group, top : int
        Entries of a group; the largest code.
    form : str
        Format of the metadata.
    repaired : bool
        Zero points down, scales up.
    zero : str
        float, integer or clamped.
    theta : int
        Steps of a log2 scale in an octave; 0 for a scale in the metadata's format.
    with_spikes : bool
        Leave the smallest and the largest entry out.

    Raises
    ------
    ValueError
        A range, scale or zero point does not fit its format.
    """
    count = -(-x.size // group)
    low, high = np.empty(count, x.dtype), np.empty(count, x.dtype)
    positions = np.empty((count, 2), np.int64) if with_spikes else None
    ends, words = (_ends32, np.int32) if x.dtype == np.float32 else (_ends64, np.int64)

    def measure(start: int, stop: int) -> None:
        groups = slice(start // group, -(-stop // group))
        if positions is not None:
            _spikes(x[start:stop], group, positions[groups], low[groups], high[groups])
        else:
            ends(x[start:stop].view(words), group, low[groups].view(words), high[groups].view(words))

    for_blocks(x.size, measure, max(1, BLOCK // group) * group)
    span = np.empty_like(low)
    with quiet():
        _spans(low, high, span)
    if not is_finite(span):
        raise ValueError(f"the range of a group is too large for {x.dtype}")
    spikes = None
    if positions is not None:
        spikes = stored(x[np.arange(count, dtype=np.int64)[:, None] * group + positions], form, "spike")
    exact_scale = span / x.dtype.type(top)
    if zero != "float":
        return _with_points(low, exact_scale, group, top, form, zero, theta, positions, spikes)
    wire_zero = (stored_below if repaired else _stored)(low, form, "zero point")
    read = wire_zero.astype(x.dtype)
    wanted = exact_scale
    if repaired:
        wanted = (high.astype(np.float64) - read.astype(np.float64)) / top
        wanted = np.where(high > read, np.nextafter(wanted, np.inf), 0.0)  # the quotient may have been rounded down
    wire_scale, scale = _scales(wanted, form, theta, repaired)
    return Ranges(
        form, group, read, scale.astype(x.dtype), low, exact_scale, wire_zero, wire_scale, None, positions, spikes
    )


def _with_points(
    low: Array,
    exact_scale: Array,
    group: int,
    top: int,
    form: str,
    zero: str,
    theta: int,
    positions: Integers | None,
    spikes: Array | None,
) -> Ranges:
    """Integer zero points: a group of equal entries c is one step of |c| away from zero."""
    wanted = np.where(exact_scale > 0, exact_scale, np.abs(low))
    wire_scale, scale = _scales(wanted, form, theta, False)
    points = np.rint(-low.astype(np.float64) / np.where(scale > 0, scale, 1.0))
    if zero == "clamped":
        points = np.clip(points, 0, top)
    elif np.abs(points).max() >= 2**31:
        raise ValueError("the zero point of a group does not fit 32 bits: its offset is too large for its range")
    wire_zero = points.astype(np.uint8 if zero == "clamped" else np.int32)
    read = scale.astype(low.dtype)
    return Ranges(form, group, low, read, low, exact_scale, wire_zero, wire_scale, points, positions, spikes)


def _stored(values: Array, form: str, what: str) -> Array:
    """As `stored`, of finite numbers, which may be of the format already."""
    return values.copy() if values.dtype == FORMATS[form] else stored(values, form, what)


def _scales(wanted: Array, form: str, theta: int, up: bool) -> tuple[Array, Floats]:
    """Scales as they are sent, and as they are read."""
    if theta == 0:
        sent = (stored_above if up else _stored)(wanted, form, "scale")
        return sent, _read_scales(sent, theta)
    wanted = wanted.astype(np.float64)
    with np.errstate(divide="ignore"):
        power = np.ceil(theta * np.log2(wanted))
    power += np.exp2(power / theta) < wanted  # the logarithm may have been rounded down
    if power.max() > 127:
        raise ValueError(f"the scale of a group is above 2^(127/{theta}), the largest of its format")
    sent = np.maximum(power, -128).astype(np.int8)
    return sent, _read_scales(sent, theta)


def _read_scales(sent: Array, theta: int) -> Floats:
    """Scales as they are read."""
    read: Floats = np.exp2(sent / theta) if theta else sent.astype(np.float64)
    return read


def stored_dtypes(form: str, zero: str, log2: bool) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """What scales and zero points are sent as."""
    zeros = {"float": FORMATS[form], "integer": np.dtype(np.int32), "clamped": np.dtype(np.uint8)}
    return np.dtype(np.int8) if log2 else FORMATS[form], zeros[zero]


def read_ranges(
    form: str,
    group: int,
    dtype: np.dtype[Any],
    theta: int,
    with_points: bool,
    wire_zero: Array,
    wire_scale: Array,
    positions: Integers | None,
    spikes: Array | None,
) -> Ranges:
    """The ranges that a receiver makes of what was sent.

    Parameters
    ----------
    form, group, theta, positions, spikes
        As in `ranges` and `Ranges`.
    dtype : dtype
        Of the vector.
    with_points : bool
        Whether zero points are integers.
    wire_zero, wire_scale : (groups,) arrays
        What was sent.
    """
    scale = _read_scales(wire_scale, theta).astype(dtype)
    if with_points:
        points = wire_zero.astype(np.float64)
        low = (-points * scale).astype(dtype)
        return Ranges(form, group, low, scale, low, scale, wire_zero, wire_scale, points, positions, spikes)
    low = wire_zero.astype(dtype)
    return Ranges(form, group, low, scale, low, scale, wire_zero, wire_scale, None, positions, spikes)
