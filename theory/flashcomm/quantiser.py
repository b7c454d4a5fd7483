"""Claims about the group quantiser and its metadata."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.flashcomm import terms as t
from commbounds.theory.quantities import BIAS, BITS, n
from commbounds.theory.sources import FOLKLORE, derived

_G = "flashcomm.groupquant."
_HALF = sp.Rational(1, 2)
_WIDE = sp.Max(t.span, (2**t.width - 1) * t.own_tiny)
"""The range of a group, at least what makes its scale a normal number."""
_NOT_AT_ONCE = "The roundings of scale, level, product and sum are not all largest at one entry: "
_SUBNORMAL = (
    "Where scales are subnormal and sums exact the error is at most u N t, a sixth of the bound; the rest covers a "
    "last rounding that doubles the error."
)
_HALF_WAY = "an entry half-way between two levels"

_ERROR = (
    Claim(
        name=_G + "error",
        title="A group quantiser with exact metadata reads an entry within half a scale",
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
        title="A group quantiser with exact metadata reproduces the smallest and the largest entry of a group",
        relation=Eq(t.END_ERROR, 0),
        assumes=(t.EXACT_METADATA,),
        source=derived("Their codes are 0 and 2^b - 1, which stand for lo and lo + (2^b - 1) s = hi."),
        axis="width",
    ),
    Claim(
        name=_G + "order",
        title="A group quantiser does not change the order of the entries of a group",
        relation=Eq(t.INVERSIONS, 0),
        source=derived("Every operation of coding and reading is monotone, rounding included."),
        axis="width",
    ),
    Claim(
        name=_G + "idempotence",
        title="A group quantiser is idempotent",
        relation=Eq(t.CHANGED, 0),
        assumes=(t.EXACT_METADATA,),
        source=derived("Both ends are reproduced, so the levels are the same, and every entry lies on one."),
        axis="width",
    ),
    Claim(
        name=_G + "error_rounded",
        title="In the vector's own arithmetic an entry is read within s/2 + u (max|x| + 4 (hi - lo))",
        relation=Le(
            t.LARGEST_ERROR, t.span / (2 * (2**t.width - 1)) + t.own_roundoff * (t.magnitude + 3 * t.span + _WIDE)
        ),
        assumes=(t.OWN_METADATA,),
        source=derived(
            "R = hi - lo and N = 2^b - 1; every operation has a relative error d, |d| <= u. The scale is (R/N)(1 + "
            "d1)(1 + d2), an entry's level is (x - lo)/s (1 + d3)(1 + d4), at most N + 1/2, and its code is off by r, "
            "|r| <= 1/2. So code times scale is (x - lo)(1 + d3)(1 + d4) + r s, and reading rounds a product of at "
            "most R (1 + u)^2 and a sum of at most max|x| + 3.1 u R. Together R/(2 N) + u (R/N + 2 R + R + max|x|) + 7 "
            "u^2 R, and R/N + 7 u R <= R for N >= 3; two levels leave out d2 and the product's rounding. Where R/N is "
            "below the smallest normal number t, the scale is off by u t instead: half a step by u t/2, and the last "
            "level, above which codes are clamped, by u N t."
        ),
        axis="width",
        unpinned=(
            ("0.9 times the term 3*span", _NOT_AT_ONCE + "R/(2 N) + u (max|x| + 1.7 R) is the largest error found."),
            ("own_tiny*(2**width - 1) for Max(*", _NOT_AT_ONCE + "without that R, 3 u R are left, still not found."),
            (
                "10/9 times the term -1",
                "A ninth of u t, less than the half step beside it, which no end of a group has.",
            ),
        ),
        note="Rounding in the vector's dtype can matter much: 2^23 + 0, 1, .., 256 in float32 has scales 256/255 at "
        "eight bits, and the error is 0.996 s.",
    ),
    Claim(
        name=_G + "ends_rounded",
        title="In the vector's own arithmetic both ends of a group are read within 6 u (hi - lo)",
        relation=Le(t.END_ERROR, 6 * t.own_roundoff * _WIDE),
        assumes=(t.OWN_METADATA,),
        source=derived(
            "The smallest entry has code 0 and is read as it is. The largest has code 2^b - 1, whose product with the "
            "scale is R (1 + d1)(1 + d2)(1 + d5), |d| <= u/(1 + u), off by at most 3 u R; or by 2 u R + u N t where "
            "the scale is below the smallest normal number t. The sum is rounded to the nearest number of the dtype; "
            "hi is one, so that rounding is no larger than the distance to hi, and at most doubles it."
        ),
        note="It holds for any distance of the group from zero.",
        unpinned=(
            ("0.9 times the bound", _NOT_AT_ONCE + "2.7 u (hi - lo) is the largest error found."),
            ("0.9 times the term 2**width", _SUBNORMAL),
            ("exponent width - 1 of 2", _SUBNORMAL),
            ("10/9 times the term -1", _SUBNORMAL),
        ),
        axis="width",
    ),
    Claim(
        name=_G + "stored",
        title="With metadata of unit roundoff u and smallest normal number t an entry is read within "
        "s/2 + u max(|lo|, t) + u max(hi - lo, (2^b - 1) t)",
        relation=Le(
            t.LARGEST_ERROR,
            t.step / 2 + t.roundoff * sp.Max(t.offset, t.tiny) + t.roundoff * sp.Max(t.span, (2**t.width - 1) * t.tiny),
        ),
        assumes=(t.STORED_METADATA,),
        source=derived(
            "Rounding v has an error of at most u |v| where v is a normal number, and by half the spacing of the "
            "subnormal ones else, which is u t: by u max(|v|, t). Inside the stored levels the nearest is half a "
            "stored scale away. Below the first the distance is at most |lo - lo~|, above the last at most |lo - lo~| "
            "+ N |s - s~|, N = 2^b - 1, and N u max(s, t) = u max(hi - lo, N t)."
        ),
        axis="width",
        note="Without t it holds for normal numbers only, and float16 has a small range of them: at eight bits the "
        "scale of normal entries times 1e-4 is subnormal and the error up to 6 times s/2 + u |lo| + u (hi - lo), times "
        "1e-5 up to 58 times (200 groups of 128).",
    ),
    Claim(
        name=_G + "half_step_stored",
        title="A decoded entry is within half the stored scale, for any format of the metadata",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.STORED_METADATA,),
        source=FOLKLORE.recalled(
            "the bound of exact arithmetic, used with half-precision metadata",
            "Refuted by one input: 1000 + i/10, i = 0 .. 3, with bfloat16 metadata.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_G + "repaired",
        tightness=sp.oo,
        extremal="an offset that is large against the range: a zero point of bfloat16 differs from 1003 by up to 1",
        axis="width",
        note=(
            "Rounding the zero point costs u |lo|, for any number of bits; at eight bits bfloat16 exceeds the bound "
            "already on normal entries. Rounding the zero point down and the scale up restores it."
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
        note="It is worse than quantising with the stored metadata: the receiver's levels are not those of the codes.",
    ),
    Claim(
        name=_G + "repaired",
        title="Zero point down, scale up: an entry is read within half the stored scale in every format",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.REPAIRED, t.EXACT_CODES),
        source=derived(
            "The stored levels begin at or below lo, and (hi - lo~)/s~ <= n because s~ >= (hi - lo~)/n: all entries "
            "lie between two stored levels, which are s~ apart."
        ),
        tightness=1,
        extremal=_HALF_WAY,
        axis="width",
    ),
    Claim(
        name=_G + "repaired_rounded",
        title="Zero point down, scale up, in the vector's arithmetic: an entry is read within s/2 + u (max|x| + 4 N s)",
        relation=Le(t.LARGEST_ERROR, t.step / 2 + t.own_roundoff * (t.magnitude + 4 * (2**t.width - 1) * t.step)),
        assumes=(t.REPAIRED,),
        source=derived(
            "N = 2^b - 1, s the stored scale; N s >= x - lo~ >= 0. A level is (x - lo~)/s (1 + d3)(1 + d4), its code "
            "is off by at most 1/2, and code times scale is at most N s. Reading rounds that product and a sum of at "
            "most max|x| + s/2 + 4 u N s. Together s/2 + u (2 N s + N s + max|x| + s/2) + 6 u^2 N s, and s/2 <= N s/2."
        ),
        unpinned=tuple(
            (name, _NOT_AT_ONCE + "of the four u N s, 1.7 is the largest number found.")
            for name in (
                "0.9 times the term step*(4*2**width - 4)",
                "0.9 times the term 4*2**width",
                "10/9 times the term -4",
                "exponent width - 1 of 2",
            )
        ),
        axis="width",
    ),
    Claim(
        name=_G + "integer_point",
        title="With an unclamped integer zero point an entry is read within half a scale",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.INTEGER_POINT, t.EXACT_METADATA),
        source=derived(
            "x/s is rounded to an integer and read back; the code round(x/s) + z lies in [0, n] for all entries but "
            "those half-way outside, which clamping moves by one level to the other neighbour, half a scale away as "
            "well."
        ),
        tightness=1,
        extremal=_HALF_WAY,
        axis="width",
    ),
    Claim(
        name=_G + "clamped_point",
        title="With a clamped integer zero point an entry is read within half a scale",
        relation=Le(t.ERROR_IN_STEPS, _HALF),
        assumes=(t.CLAMPED_POINT, t.EXACT_METADATA),
        source=FOLKLORE.recalled(
            "zero points stored in the codes' own type", "Refuted by a group whose entries have one sign."
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="a group far from zero, such as 30, 31, 32, 33",
        axis="width",
        note="It holds for groups that contain zero; a group of one sign far from zero is read at one end of its "
        "levels.",
    ),
    Claim(
        name=_G + "log2_inflation",
        title="A log2 scale is larger than the exact one by at most the factor 2^(1/theta), if it is not the smallest",
        relation=Le(t.INFLATION, sp.Max(2 ** (1 / t.theta), 2 ** (-128 / t.theta) / t.smallest_scale)),
        assumes=(t.LOG2_SCALE, t.SOME_RANGE),
        source=derived(
            "If j > -128, then j - 1 is too small: 2^((j-1)/theta) < s, so 2^(j/theta) < 2^(1/theta) s. Else the "
            "stored scale is 2^(-128/theta), for any exact one."
        ),
        tightness=1,
        extremal="an exact scale just above a power 2^(j/theta); an exact scale below 2^(-128/theta)",
        axis="theta",
        note="This is 9.1 % at theta = 8 and 7.2 % at theta = 10. With eight bits fine steps have a small range: at "
        "theta = 32 the smallest scale is 1/16, about four times too large for normal entries at eight bits. The "
        "format is our design option, not the paper's.",
    ),
    Claim(
        name=_G + "wire",
        title="Size of a message of the group quantiser",
        relation=Eq(BITS, n * t.width + 2 * t.groups * t.metabits),
        assumes=(t.WHOLE_BYTES,),
        source=derived("We count codes, and for every group its scale and zero point.", "counted from the message"),
        note="Parameters that both sides know are not sent.",
    ),
    Claim(
        name=_G + "value_bits",
        title="Bits for one entry, with scale and zero point of 16 bits: b + 32/g",
        relation=Eq(t.VALUE_BITS, t.width + sp.Integer(32) / t.group),
        assumes=(t.WHOLE_GROUPS, t.SIXTEEN_BITS),
        source=FOLKLORE.recalled("bits of grouped formats", "n b + 32 n/g bits over n entries."),
        axis="width",
        note="At g = 128 it is 8.25, 6.25, 5.25, 4.25, 3.25 and 2.25. So INT4 gains at most 16/4.25 = 3.76 over "
        "float16.",
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
        title="Stochastic rounding between levels: an entry's variance is at most a quarter of the squared scale",
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
        title="The error of stochastic rounding between levels is below one scale",
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
