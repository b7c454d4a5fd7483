"""Claims about bit planes and spikes."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.flashcomm import terms as t
from commbounds.theory.quantities import n
from commbounds.theory.sources import derived

_HALF = sp.Rational(1, 2)
_HALF_WAY = "an entry half-way between two levels"

_PLANES = (
    Claim(
        name="flashcomm.bitplanes.lossless",
        title="Splitting codes into planes and packing them loses nothing",
        relation=Eq(t.CHANGED, 0),
        source=t.FLASH_2025.second_hand(
            "bit splitting, from its abstract; the order of the planes is this project's",
            "The widths of the planes add up to b, every bit of a code lies in exactly one of them, at a known place.",
        ),
        axis="width",
    ),
    Claim(
        name="flashcomm.bitplanes.bytes",
        title="Planes of n codes take n b/8 bytes if 8 divides n",
        relation=Eq(t.PACKED_BYTES, n * t.width / 8),
        assumes=(t.WHOLE_BYTES,),
        source=derived("A plane of width w takes n w/8 bytes, and the widths add up to b."),
        note="Else every plane is rounded up to a byte.",
    ),
)

_SPIKES = (
    Claim(
        name="flashcomm.spikes.range",
        title="Reserving the spikes never widens the range of the others",
        relation=Le(t.RANGE_WITHOUT_SPIKES, 1),
        assumes=(t.SOME_RANGE,),
        source=t.FLASH_2025.second_hand("spike reserving, from its abstract", "A subset has no larger range."),
        tightness=1,
        extremal="tied extremes: only one of each is reserved",
        axis="group",
    ),
    Claim(
        name="flashcomm.spikes.kept",
        title="The smallest and the largest entry of every group are kept exactly",
        relation=Eq(t.END_ERROR, 0),
        assumes=(t.EXACT_METADATA,),
        source=t.FLASH_2025.second_hand(
            "spike reserving, from its abstract", "They are sent exactly, with their positions."
        ),
        axis="group",
    ),
    Claim(
        name="flashcomm.spikes.error",
        title="Entries that are not spikes are read within half of their own, smaller scale",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.NO_SPIKE, t.EXACT_METADATA),
        source=derived("They are quantised as a group of their own; spikes are written over what was read."),
        tightness=1,
        extremal=_HALF_WAY,
        axis="width",
    ),
    Claim(
        name="flashcomm.spikes.pays",
        title="INT2 with spikes has a smaller error than plain INT4, which takes fewer bits",
        relation=Le(t.MSE_RATIO, 1),
        source=t.FLASH_2025.second_hand(
            "spike reserving makes two bits usable; read as a statement for any data",
            "Refuted on normal numbers: the error of INT2 with spikes is about nine times that of INT4.",
            reading="It is read for any data.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="flashcomm.spikes.pays_isolated",
        tightness=sp.oo,
        extremal="normal numbers: there are no spikes to reserve",
        axis="n",
        note=(
            "In groups of 32 with float16 metadata, two bits and spikes take 4.3 bits per entry (4.5 with eight-bit "
            "positions), more than the 4.25 of plain INT4 in groups of 128."
        ),
    ),
    Claim(
        name="flashcomm.spikes.pays_isolated",
        title="INT2 with spikes has at most E/V times the error of plain INT4, with E/V < 1 if spikes are isolated",
        relation=Le(t.MSE_RATIO, t.reserved_error / t.least_error),
        assumes=(t.LEVELS_MISS,),
        source=derived(
            "E bounds the error with spikes, entry by entry. INT4 reads the entries of a group on levels one scale "
            "apart, so its error is at least the smallest that such levels can make, and its ends only add to it. That "
            "smallest is found on a circle as long as the scale: cut it between two neighbours, take the spread about "
            "the mean, and the least over all cuts."
        ),
        axis="n",
        note="With one spike of 100 or more in place of one in every 64 normal entries INT4 has levels further apart "
        "than the others' whole range, and E/V is about 0.44; the ratio is below 0.01. Adjacent spikes cannot all be "
        "reserved: the error of INT2 is then up to 15 times that of INT4, and E/V shows it.",
    ),
)

CLAIMS = (*_PLANES, *_SPIKES)
