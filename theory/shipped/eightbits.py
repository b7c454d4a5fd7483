"""Claims about codes of eight bits and fewer: bitsandbytes' dynamic map, and INCEPTIONN."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Le, Standing
from commbounds.theory.quantities import BITS, RELATIVE_ERROR, itembits, n
from commbounds.theory.shipped.terms import (
    ALL_ZERO,
    BITSANDBYTES,
    BITSANDBYTES_AT,
    DETTMERS_2021,
    ENLARGED,
    ENTRY_ERROR,
    FAR_BELOW,
    FOLLOWS,
    GAP,
    GRACE,
    GRACE_AT,
    NEGATIVE_TOP,
    NOT_ALL_ZERO,
    ONE_AND_MORE,
    ONE_BLOCK,
    ONE_SCALE,
    POSITIVE_TOP,
    SHARE_LEFT,
    SMALLEST_SENT,
    TOP_ERROR,
    binades,
    blocksize,
    errorbound,
    recompressions,
)
from commbounds.theory.sources import derived

_MAP = "create_dynamic_map: seven decades of 1, 2, ..., 64 middles of linspace(0.1, 1) with both signs; 0 and 1.0"
_MADE = BITSANDBYTES_AT.at("bitsandbytes/functional.py", "296-348")
_HALF_GAP = sp.Rational(9, 1280)
_FIRST_BORDER = sp.Rational(73, 640)

DYNAMIC: tuple[Claim, ...] = (
    Claim(
        name="shipped.dynamic_tree.entry_error",
        title="The dynamic map moves no entry by more than 9/1280 of the largest",
        relation=Le(ENTRY_ERROR, _HALF_GAP),
        assumes=(NOT_ALL_ZERO,),
        source=BITSANDBYTES.official_code(
            _MAP,
            "The top decade has 64 parts of 0.9/64, and their middles for values; -1 is half a part off.",
            FOLLOWS,
            _MADE,
        ),
        tightness=1,
        extremal="x = (-1)",
        axis="n",
    ),
    Claim(
        name="shipped.dynamic_tree.largest",
        title="The dynamic map reproduces the largest entry of a block",
        relation=Eq(TOP_ERROR, 0),
        assumes=(NOT_ALL_ZERO,),
        source=DETTMERS_2021.recalled(
            "outliers are quantised without error, as a block is divided by its largest magnitude",
            "The code appends 1.0 and not -1.0: x = (-1) comes out as -0.99297.",
            reading="It is read for largest entries of either sign and bitsandbytes' map; the sentence is recalled.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.dynamic_tree.largest_positive",
        extremal="x = (-1): -1271/1280",
        axis="n",
        note="256 codes cannot hold zero and both ends symmetrically: the negative end is missing.",
    ),
    Claim(
        name="shipped.dynamic_tree.largest_positive",
        title="The dynamic map reproduces a positive largest entry",
        relation=Eq(TOP_ERROR, 0),
        assumes=(POSITIVE_TOP,),
        source=BITSANDBYTES.official_code(_MAP, "It is one times the scale, and one is a value.", FOLLOWS, _MADE),
        axis="n",
    ),
    Claim(
        name="shipped.dynamic_tree.largest_negative",
        title="The dynamic map reduces a negative largest entry by 9/1280",
        relation=Eq(TOP_ERROR, _HALF_GAP),
        assumes=(NEGATIVE_TOP,),
        source=BITSANDBYTES.official_code(_MAP, "The least value is -(1 - 0.9/128).", FOLLOWS, _MADE),
        axis="n",
    ),
    Claim(
        name="shipped.dynamic_tree.stays",
        title="The dynamic map is idempotent",
        relation=Eq(SHARE_LEFT, 1),
        assumes=(FAR_BELOW, NOT_ALL_ZERO, ONE_SCALE),
        source=derived(
            "It needs a codebook that contains its own ends. Refuted by x = (-1), which shrinks every time."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.dynamic_tree.decay",
        extremal="x = (-1), two rounds: (1271/1280)^2",
        axis="recompressions",
        note="A positive largest entry does not change, nor do the others with it.",
    ),
    Claim(
        name="shipped.dynamic_tree.decay",
        title="A negative largest entry decays by 1271/1280 in every round of the dynamic map",
        relation=Eq(SHARE_LEFT, (1 - _HALF_GAP) ** recompressions),
        assumes=(FAR_BELOW, NEGATIVE_TOP, ONE_SCALE),
        source=BITSANDBYTES.official_code(
            _MAP,
            "Its output is the next scale, of which again 9/1280 is lost; over it every other value grows by less than "
            "half a gap, and is sent by the same code: the whole block decays.",
            FOLLOWS,
            _MADE,
        ),
        axis="recompressions",
        note="Half of it is lost in 99 rounds: a state stored in eight bits between steps decays by 0.7 percent per "
        "step, and so does its whole block; a positive one keeps its size.",
    ),
    Claim(
        name="shipped.dynamic_tree.smallest",
        title="The dynamic map makes every entry zero or at least 5.5e-7 of the largest",
        relation=Ge(SMALLEST_SENT, sp.Rational(11, 20_000_000)),
        assumes=(NOT_ALL_ZERO, ONE_BLOCK),
        source=BITSANDBYTES.official_code(_MAP, "The lowest decade has one middle, 0.55e-6.", FOLLOWS, _MADE),
        tightness=1,
        extremal="x = (1, 4e-7)",
        axis="n",
        note="The border to zero is half of it, 2.75e-7: entries just above are doubled, those below become 0.",
    ),
    Claim(
        name="shipped.dynamic_tree.contraction",
        title="The exact worst error of the dynamic map on a block of up to 2048 entries",
        relation=Le(RELATIVE_ERROR, n * _HALF_GAP**2 / (1 + (n - 1) * _FIRST_BORDER**2)),
        assumes=(NOT_ALL_ZERO, ONE_BLOCK),
        source=derived(
            "A ratio of sums is at most l iff every entry has error^2 - l entry^2 small enough: convex between "
            "borders, so that all others are at one. In the top decade the smallest, 73/640, is worst; lower decades "
            "only for more than 2048 entries."
        ),
        tightness=1,
        extremal="one largest entry that is negative, all others 73/640 of it",
        axis="n",
        note="It is at most 0.37 percent of the squared norm; entries below 2.75e-7 of the largest are still lost.",
    ),
    Claim(
        name="shipped.dynamic_tree.wire",
        title="The dynamic map takes a byte per entry and a scale per block",
        relation=Eq(BITS, 8 * n + itembits * sp.ceiling(n / blocksize)),
        source=derived("It is 8.0078 bits with blocks of 4096."),
        axis="n",
    ),
)

_CODE = "tensorflow/compressor/inceptionn.py: exponent classes from 127 + int(log10(error_bound/2)), code 0 read back"
_CUTS = GRACE_AT.at("grace_dl/tensorflow/compressor/inceptionn.py", "17-188")
INCEPTIONN: tuple[Claim, ...] = (
    Claim(
        name="shipped.inceptionn.bound",
        title="INCEPTIONN's error of every entry is below its error bound",
        relation=Le(GAP, errorbound),
        assumes=(NOT_ALL_ZERO,),
        source=GRACE.official_code(
            _CODE,
            "The bound's decimal exponent is used as a binary one: 2e-10 keeps ten binades, and drops 2^-11.",
            "We read the parameter error_bound, 2e-10 by default, as a bound on the error.",
            _CUTS,
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.inceptionn.entry_error",
        extremal="2^-5 (1 - 2^-23) for a bound of 2e-10: off by almost 2^-6, 78 million times the bound",
        note="Eight bits of fixed point have a unit of 2^-6, for any bound. The code's comment gives 2e-10 the "
        "exponent of 2^-10, which may be intended: the error is up to sixteen times that.",
    ),
    Claim(
        name="shipped.inceptionn.entry_error",
        title="INCEPTIONN moves no entry by more than 2^-6 or the smallest magnitude that it keeps",
        relation=Le(GAP, sp.Max(sp.Rational(1, 64), sp.Integer(2) ** -binades)),
        source=GRACE.official_code(
            _CODE, "Cut at units of 2^-14 and 2^-6; what is zero after the cut is read as 2^-7.", FOLLOWS, _CUTS
        ),
        tightness=1,
        extremal="just below 2^-5 with ten binades, and just below 2^-3 with three: approached",
        axis="binades",
    ),
    Claim(
        name="shipped.inceptionn.shrinks",
        title="INCEPTIONN cuts towards zero: no entry grows",
        relation=Le(ENLARGED, 1),
        assumes=(NOT_ALL_ZERO,),
        source=derived("2^-10 has no bit left in eight bits; its code is that of 2^-7.", code=_CUTS),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.inceptionn.enlarged",
        tightness=sp.oo,
        extremal="2^-10 comes out as 2^-7, eight times as large",
        axis="binades",
        note="So it is not a contraction: x = (2^-10) has an error of 49 times its squared norm.",
    ),
    Claim(
        name="shipped.inceptionn.enlarged",
        title="INCEPTIONN increases an entry by at most a factor of 2^(binades - 7)",
        relation=Le(ENLARGED, sp.Max(1, sp.Integer(2) ** (binades - 7))),
        assumes=(NOT_ALL_ZERO,),
        source=GRACE.official_code(_CODE, "The least entry kept, 2^-binades, is read as 2^-7.", FOLLOWS, _CUTS),
        tightness=1,
        extremal="2^-binades; with seven binades or fewer, one",
        axis="binades",
    ),
    Claim(
        name="shipped.inceptionn.large",
        title="INCEPTIONN sends entries of magnitude one and more exactly",
        relation=Eq(GAP, 0),
        assumes=(ONE_AND_MORE,),
        source=GRACE.official_code(_CODE, "Exponents from 127 on are 32 bits.", FOLLOWS, _CUTS),
    ),
    Claim(
        name="shipped.inceptionn.tags",
        title="INCEPTIONN sends two additional bits per entry",
        relation=Le(BITS, 8 * sp.ceiling(n / 4)),
        assumes=(ALL_ZERO,),
        source=derived("Padded by 4 - n mod 4 entries: by four where four divides n.", code=_CUTS),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.inceptionn.wire_zeros",
        extremal="four zeros: two bytes",
        axis="n",
        note="If four divides the number of entries, as is common, this is one byte more.",
    ),
    Claim(
        name="shipped.inceptionn.wire_zeros",
        title="INCEPTIONN sends floor(n/4) + 1 bytes for zeros",
        relation=Eq(BITS, 8 * (sp.floor(n / 4) + 1)),
        assumes=(ALL_ZERO,),
        source=GRACE.official_code(_CODE, "Tags alone, padded by one to four entries.", FOLLOWS, _CUTS),
        axis="n",
    ),
)

EIGHT_BITS = (*DYNAMIC, *INCEPTIONN)
