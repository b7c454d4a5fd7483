"""What group quantisers send: `GroupCodes`."""

from dataclasses import dataclass
from typing import Any

from commbounds.array_types import Bytes
from commbounds.compressors.base import MAX_ENTRIES, Message, checked_kind, index_bits, shown
from commbounds.compressors.flashcomm.bit_planes import packed_bytes, unpacked
from commbounds.compressors.flashcomm.metadata import FORMATS
from commbounds.compressors.flashcomm.ranges import Ranges


@dataclass(frozen=True, eq=False)
class GroupCodes(Message):
    """Codes of all entries, and what every group's codes are relative to.

    Parameters
    ----------
    planes : tuple of uint8 vectors
        The codes, split and packed by `bit_planes.packed`.
    width : int
        Bits of a code.
    group : int
        Entries of a group; the last group may be shorter.
    ranges : Ranges
        Scales, zero points and spikes, as they are stored.
    """

    planes: tuple[Bytes, ...]
    width: int
    group: int
    ranges: Ranges

    @property
    def codes(self) -> Bytes:
        """The codes, one byte each."""
        return unpacked(self.planes, self.width, self.shape[0])

    @property
    def parts(self) -> dict[str, Any]:
        """Planes, scales, zero points and spikes as they are stored; and the codes, which the planes hold packed."""
        about = self.ranges
        spikes = {} if about.positions is None else {"positions": about.positions, "spikes": about.spikes}
        return {
            "planes": self.planes,
            "codes": self.codes,
            "scale": about.wire_scale,
            "zero": about.wire_zero,
            **spikes,
        }

    @property
    def bits(self) -> int:
        """Exact size on the wire: packed codes, and for every group its scale, its zero point and its spikes."""
        spikes = 0
        if self.ranges.positions is not None:
            spikes = self.ranges.positions.size * (index_bits(self.group) + 8 * FORMATS[self.ranges.form].itemsize)
        each = self.ranges.scale_bits + self.ranges.zero_bits
        return 8 * packed_bytes(self.shape[0], self.width) + self.ranges.count * each + spikes

    def check(self) -> None:
        super().check()
        checked_kind("ranges of the message", self.ranges, Ranges)
        for name, value, most in (("width", self.width, 8), ("group", self.group, MAX_ENTRIES)):
            if type(value) is not int or not 1 <= value <= most:
                raise ValueError(f"{name} of the message must be an integer in [1, {most}], got {shown(value)}")
        self.ranges.check(self.shape[0], self.group, self.dtype)
