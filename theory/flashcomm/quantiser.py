"""Claims about the group quantiser and its metadata."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.flashcomm import terms as t
from commbounds.theory.quantities import BIAS, BITS, n
from commbounds.theory.sources import FOLKLORE, derived

_G = "flashcomm.groupquant."
_HALF = sp.Rational(1, 2)
_HALF_WAY = "an entry half-way between two levels"

_ERROR = (
    Claim(
        name=_G + "error",
        title="An entry is read within half a scale",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.EXACT_METADATA,),
        source=FOLKLORE.recalled(
            "rounding to equidistant levels",
            "Levels are s apart and reach from the smallest to the largest entry; the nearest is at most s/2 away.",
        ),
        tightness=1,
        extremal=_HALF_WAY,
        axis="width",
    ),
    Claim(
        name=_G + "ends",
        title="The smallest and the largest entry of a group are reproduced",
        relation=Eq(t.END_ERROR, 0),
        assumes=(t.EXACT_METADATA,),
        source=derived(
            "Their codes are 0 and 2^b - 1, which stand for lo and lo + (2^b - 1) s = hi. In floats the last sum may "
            "miss "
            "hi by rounding."
        ),
        axis="width",
    ),
    Claim(
        name=_G + "order",
        title="No pair of entries of a group changes its order",
        relation=Eq(t.INVERSIONS, 0),
        source=derived("Every operation of coding and reading is monotone, rounding included."),
        axis="width",
    ),
    Claim(
        name=_G + "idempotence",
        title="Coding what was read changes nothing",
        relation=Eq(t.CHANGED, 0),
        assumes=(t.EXACT_METADATA,),
        source=derived("Both ends are reproduced, so the levels are the same, and every entry lies on one."),
        axis="width",
    ),
    Claim(
        name=_G + "stored",
        title="With metadata of unit roundoff u an entry is read within s/2 + u |lo| + u (hi - lo)",
        relation=Le(t.LARGEST_ERROR, t.step / 2 + t.roundoff * t.offset + t.roundoff * t.span),
        assumes=(t.STORED_METADATA,),
        source=derived(
            "Inside the stored levels the nearest is half a stored scale away. Below the first the distance is at most "
            "|lo - lo~| <= u |lo|, above the last at most |lo - lo~| + n |s - s~| with n |s - s~| <= u n s = u (hi - "
            "lo), "
            "as long as lo and s are normal numbers of the format."
        ),
        axis="width",
    ),
    Claim(
        name=_G + "half_step_stored",
        title="An entry is read within half the stored scale, whatever the metadata's format",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.STORED_METADATA,),
        source=FOLKLORE.recalled(
            "the bound of exact arithmetic, used with half-precision metadata",
            "Refuted by one input: 1000 + i/10, i = 0 .. 3, with bfloat16 metadata.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_G + "repaired",
        tightness=sp.oo,
        extremal="an offset that is large against the range: a zero point of bfloat16 misses 1003 by up to 1",
        axis="width",
        note=(
            "Rounding the zero point costs u |lo|, which no number of bits makes up for; at eight bits bfloat16 "
            "breaks the "
            "bound on normal entries already. Rounding the zero point down and the scale up repairs it."
        ),
    ),
    Claim(
        name=_G + "exact_then_stored",
        title="Codes relative to the exact metadata are read within half the stored scale",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.EXACT_THEN_STORED,),
        source=FOLKLORE.recalled(
            "kernels that quantise before they round the metadata",
            "Refuted on normal entries: the largest code is off by the rounding of the scale times 2^b - 1.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="an offset that is large against the range",
        axis="width",
        note="Worse than quantising with what is stored: the receiver's levels are not those that the codes were "
        "made for.",
    ),
    Claim(
        name=_G + "repaired",
        title="Zero point down, scale up: an entry is read within half the stored scale in every format",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.REPAIRED,),
        source=derived(
            "The stored levels begin at or below lo, and (hi - lo~)/s~ <= n because s~ >= (hi - lo~)/n: all entries "
            "lie "
            "between two stored levels, which are s~ apart."
        ),
        tightness=1,
        extremal=_HALF_WAY,
        axis="width",
    ),
    Claim(
        name=_G + "integer_point",
        title="An integer zero point that is not clamped keeps half a scale",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.INTEGER_POINT, t.EXACT_METADATA),
        source=derived(
            "x/s is rounded to an integer and read back; the code round(x/s) + z lies in [0, n] for all entries but "
            "those "
            "half-way outside, which clamping moves by one level to the other neighbour, half a scale away as well."
        ),
        tightness=1,
        extremal=_HALF_WAY,
        axis="width",
    ),
    Claim(
        name=_G + "clamped_point",
        title="A clamped integer zero point keeps half a scale",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.CLAMPED_POINT, t.EXACT_METADATA),
        source=FOLKLORE.recalled(
            "zero points stored in the codes' own type", "Refuted by a group whose entries have one sign."
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="a group far from zero, such as 30, 31, 32, 33",
        axis="width",
        note="It is right for groups that straddle zero; a group of one sign far from zero is read at one end of its "
        "levels.",
    ),
    Claim(
        name=_G + "log2_inflation",
        title="A log2 scale is larger than the exact one by at most the factor 2^(1/theta)",
        relation=Le(t.INFLATION, 2 ** (1 / t.theta)),
        assumes=(t.LOG2_SCALE,),
        source=derived("j - 1 is too small: 2^((j-1)/theta) < s, so 2^(j/theta) < 2^(1/theta) s."),
        tightness=1,
        extremal="an exact scale just above a power 2^(j/theta)",
        axis="theta",
        note="9.1 % at theta = 8 and 7.2 % at theta = 10. The format is a design option here, not one read in the "
        "paper.",
    ),
    Claim(
        name=_G + "wire",
        title="Size of a message of the group quantiser",
        relation=Eq(BITS, n * t.width + 2 * t.groups * t.metabits),
        assumes=(t.WHOLE_GROUPS,),
        source=derived("Counted: codes, and for every group its scale and zero point.", "counted from the message"),
        note="What both sides know beforehand is not sent.",
    ),
    Claim(
        name=_G + "value_bits",
        title="Bits for one entry, with float16 scale and zero point: b + 32/g",
        relation=Eq(t.VALUE_BITS, t.width + sp.Integer(32) / t.group),
        assumes=(t.WHOLE_GROUPS,),
        source=FOLKLORE.recalled("bits of grouped formats", "n b + 32 n/g bits over n entries."),
        axis="width",
        note="At g = 128: 8.25, 6.25, 5.25, 4.25, 3.25 and 2.25. INT4 therefore cannot gain more than 16/4.25 = 3.76 "
        "over float16.",
    ),
)

_STOCHASTIC = (
    Claim(
        name="flashcomm.stochastic.unbiased",
        title="Stochastic rounding between levels is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(t.EXACT_METADATA,),
        source=derived("At level a = k + f the code is k + 1 with probability f and k else: its mean is a."),
        axis="width",
    ),
    Claim(
        name="flashcomm.stochastic.variance",
        title="The variance of an entry is at most a quarter of the scale squared",
        relation=Le(t.VARIANCE_IN_STEPS, sp.Rational(1, 4)),
        kind=Kind.EXPECTED,
        assumes=(t.EXACT_METADATA,),
        source=derived("A Bernoulli number of probability f has variance f (1 - f) <= 1/4; levels are s apart."),
        tightness=1,
        extremal=_HALF_WAY,
        axis="width",
    ),
    Claim(
        name="flashcomm.stochastic.error",
        title="Stochastic rounding errs by less than one scale",
        relation=Le(t.ERROR_IN_STEPS, 1),
        assumes=(t.EXACT_METADATA,),
        source=derived(
            "It moves to one of the two neighbouring levels, and to the farther one only if it is on neither."
        ),
        tightness=1,
        extremal="an entry just above a level that is rounded up",
        axis="width",
    ),
)

CLAIMS = (*_ERROR, *_STOCHASTIC)
