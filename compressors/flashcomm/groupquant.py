"""Asymmetric group quantisers: the entries of a group at b bits each, between its smallest and its largest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.compressors._blocks import BLOCK, for_blocks, quiet, run_all, spans
from commbounds.compressors.base import (
    Compressor,
    Law,
    check_same,
    checked_array,
    checked_choice,
    checked_count,
    checked_exact,
    checked_flag,
    checked_message,
    finite_reading,
    product_law,
)
from commbounds.compressors.flashcomm._kernels import (
    nearest,
    nearest_integer,
    stochastic,
    there_and_back32,
    there_and_back64,
    values,
    values_integer,
)
from commbounds.compressors.flashcomm.bit_planes import packed
from commbounds.compressors.flashcomm.message import GroupCodes
from commbounds.compressors.flashcomm.metadata import FORMATS
from commbounds.compressors.flashcomm.ranges import Ranges, ranges
from commbounds.compressors.quantizers.message import Draw


@dataclass(frozen=True)
class GroupQuantizer(Compressor):
    """Every entry of a group at the nearest of 2^bits equidistant levels between the group's ends.

    With lo and hi the smallest and largest entry of a group and s = (hi - lo) / (2^bits - 1), entry x is sent as
    q = round((x - lo) / s) and read as q s + lo. Scale s and zero point lo are stored in a number format of their own.

    Parameters
    ----------
    width : int
        Bits of a code; in [1, 8].
    group : int
        Entries of a group; >= 1.
    metadata : str
        Format of scales, zero points and spikes: float64, float32, float16 or bfloat16.
    repaired : bool
        Round the zero point down, take the scale from there and round it up: the error is then surely at most half
        the stored scale. Only with ``zero="float"``.
    quantise_with : str
        "stored": codes are relative to scale and zero point as stored. "exact": to those before they were rounded,
        while the receiver can only use what was stored.
    zero : str
        "float": lo itself. "integer": round(-lo / s), a 32-bit integer. "clamped": the same clamped to [0, 2^bits - 1],
        eight bits, which is right only for groups that straddle zero.
    scale : str
        "float": in the format of the metadata. "log2": 2^(j / theta) with an eight-bit integer j, rounded up.
    theta : int
        Steps of a log2 scale in an octave.
    spikes : bool
        Send the smallest and the largest entry of every group as they are (rounded to the metadata's format), with
        their positions, and let the scale be that of the others. A group of at most two entries is all spikes.

    Notes
    -----
    In exact arithmetic |error| <= s / 2, attained half-way between two levels; lo and hi are reproduced, and order is
    kept. With metadata of unit roundoff u the error is at most s~/2 + u |lo| + u (hi - lo) ("stored"). A group of equal
    entries is coded as zeros. A scale that underflows in its format makes its group constant, unless repaired. A scale
    or zero point that overflows its format is a ValueError, and so are NaN and infinities, also among spikes. A level
    within 8u of the dtype's largest number may round to infinity, and an entry there is read so.
    float32 codes are those of numpy's ``rint((x - lo) / s)``, bit for bit.

    Examples
    --------
    >>> import numpy as np
    >>> c = GroupQuantizer(2, group=4)
    >>> c(np.array([0.0, 3.0, 1.4, 1.6], np.float32))
    array([0., 3., 1., 2.], dtype=float32)
    >>> c.compress(np.array([0.0, 3.0, 1.4, 1.6], np.float32)).bits
    72
    """

    width: int
    group: int = 128
    metadata: str = "float32"
    repaired: bool = False
    quantise_with: str = "stored"
    zero: str = "float"
    scale: str = "float"
    theta: int = 8
    spikes: bool = False

    _rounds_randomly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, low, high in (("width", 1, 8), ("group", 1, 2**31 - 1), ("theta", 1, 127)):
            object.__setattr__(self, name, checked_count(name, getattr(self, name), low, high))
        for name, options in _OPTIONS.items():
            checked_choice(name, getattr(self, name), options)
        checked_flag("repaired", self.repaired)
        checked_flag("spikes", self.spikes)
        if self.repaired and self.zero != "float":
            raise ValueError(f"repaired needs zero='float', got {self.zero!r}")
        if self.zero != "float" and self._rounds_randomly:
            raise ValueError(f"stochastic rounding needs zero='float', got {self.zero!r}")

    @property
    def top(self) -> int:
        """The largest code, 2^width - 1."""
        return int(2**self.width - 1)

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> GroupCodes:
        """The message for `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite, not empty.
        rng : numpy.random.Generator
            Ignored.

        Raises
        ------
        TypeError, ValueError
            As every compressor; or a scale or zero point does not fit its format.
        """
        array = checked_array(x)
        return self._message(array, None)

    def decompress(self, message: GroupCodes) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, GroupCodes)
        check_same("width", message.width, self.width)
        check_same("group", message.group, self.group)
        return self.read(message)

    def read(self, message: GroupCodes) -> Array:
        """As `decompress`, of a message that is known to be one of this quantiser: it is not looked at again."""
        out, codes = np.empty(message.shape, message.dtype), message.codes
        self._for_groups(out.size, lambda part, groups: self._decode(codes[part], message.ranges, groups, out[part]))
        message.ranges.put_spikes(out)
        return finite_reading(out)

    def law(self, x: Sequence[Any]) -> Law:
        """The output in exact arithmetic, where scales and zero points are stored exactly.

        Parameters
        ----------
        x : sequence of int, Fraction or float
            Floats are taken at their exact binary value.

        Raises
        ------
        ValueError
            For an integer zero point or a log2 scale, which no exact arithmetic defines.
        """
        if self.zero != "float" or self.scale != "float":
            raise ValueError("the law is defined for zero='float' and scale='float'")
        entries = checked_exact(x)
        parts = (entries[start : start + self.group] for start in range(0, len(entries), self.group))
        return product_law([marginal for part in parts for marginal in self._marginals(part)])

    def _marginals(self, part: tuple[Fraction, ...]) -> list[list[tuple[Fraction, Fraction]]]:
        """The law of every entry of a group."""
        kept = list(range(len(part)))
        if self.spikes:
            first = min(kept, key=lambda i: (part[i], i))
            last = max((i for i in kept if i != first), key=lambda i: (part[i], -i), default=first)
            kept = [i for i in kept if i not in (first, last)]
        rest = [part[i] for i in kept] or [Fraction(0)]
        low, scale = min(rest), (max(rest) - min(rest)) / self.top
        law = []
        for i, v in enumerate(part):
            if i not in kept or scale == 0:
                law.append([(Fraction(1), v)])
            else:
                law.append([(p, low + code * scale) for p, code in self._codes_exact((v - low) / scale)])
        return law

    def _codes_exact(self, level: Fraction) -> list[tuple[Fraction, int]]:
        """Codes of an entry at this level, with their probabilities."""
        return [(Fraction(1), round(level))]  # halves to even, as rint

    def _message(self, x: Array, draw: Draw | None) -> GroupCodes:
        about = self._ranges(x)
        codes, entries = np.empty(x.size, np.uint8), about.without_spikes(x)
        self._for_groups(
            x.size,
            lambda part, groups: self._encode(
                entries[part], about, groups, draw and draw(part.start, part.stop), codes[part]
            ),
        )
        return GroupCodes(x.shape, x.dtype, packed(codes, self.width), self.width, self.group, about)

    def _ranges(self, x: Array) -> Ranges:
        return ranges(
            x,
            self.group,
            self.top,
            self.metadata,
            self.repaired,
            self.zero,
            self.theta * (self.scale == "log2"),
            self.spikes,
        )

    def _encode(self, x: Array, about: Ranges, groups: slice, uniforms: Array | None, codes: Bytes) -> None:
        """Fill `codes` for the entries `x` of the groups."""
        lows, scales = about.low[groups], about.scale[groups]
        if self.quantise_with == "exact":
            lows, scales = about.exact_low[groups], about.exact_scale[groups]
        if about.points is not None:
            nearest_integer(x, self.group, about.points[groups], scales, self.top, codes)
        elif uniforms is None:
            nearest(x, self.group, lows, scales, self.top, codes)
        else:
            stochastic(x, self.group, lows, scales, self.top, uniforms, codes)

    def _decode(self, codes: Bytes, about: Ranges, groups: slice, out: Array) -> None:
        if about.points is not None:
            values_integer(codes, self.group, about.points[groups], about.scale[groups], out)
        else:
            values(codes, self.group, about.low[groups], about.scale[groups], out)

    def _for_groups(self, n: int, work: Callable[[slice, slice], None]) -> None:
        """Call `work` on blocks of whole groups: the entries, and the groups."""
        per_block = max(1, BLOCK // self.group)

        def block(start: int, stop: int) -> None:
            work(slice(start, stop), slice(start // self.group, -(-stop // self.group)))

        for_blocks(n, block, per_block * self.group)

    def __call__(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Array:
        """`x` compressed and decompressed, without packing the codes in between."""
        array = checked_array(x, finite=False)
        plain = not (self.repaired or self.spikes) and self.zero == self.scale == "float"
        if plain and FORMATS[self.metadata] == array.dtype:
            return self._in_one_pass(array)
        return self._there_and_back(checked_array(array), None)

    def _in_one_pass(self, x: Array) -> Array:
        """The same bits as by way of codes, where scales and zero points are stored as they are."""
        kernel, words = (there_and_back32, np.int32) if x.dtype == np.float32 else (there_and_back64, np.int64)
        out = np.empty_like(x)
        fits: list[bool] = []

        def work(part: slice) -> None:
            with quiet():  # what overflows is refused below
                fits.append(kernel(x[part], x[part].view(words), self.group, self.top, out[part]))

        run_all([partial(work, slice(*span)) for span in spans(x.size, self.group)], x.size)
        if not all(fits):  # NaN and infinities sort to the ends, and make the range one
            checked_array(x)
            raise ValueError(f"the range of a group is too large for {x.dtype}")
        return out

    def _there_and_back(self, x: Array, draw: Draw | None) -> Array:
        about, out = self._ranges(x), np.empty_like(x)
        entries = about.without_spikes(x)

        def work(part: slice, groups: slice) -> None:
            codes = np.empty(part.stop - part.start, np.uint8)
            self._encode(entries[part], about, groups, draw and draw(part.start, part.stop), codes)
            self._decode(codes, about, groups, out[part])

        self._for_groups(x.size, work)
        about.put_spikes(out)
        return out


_OPTIONS = {
    "metadata": tuple(FORMATS),
    "quantise_with": ("stored", "exact"),
    "zero": ("float", "integer", "clamped"),
    "scale": ("float", "log2"),
}
"""What the words among the parameters may be."""
