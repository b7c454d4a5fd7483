"""Claims about compressors without randomness: 1-bit SGD, 3LC, and means of buckets."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import (
    ANY_FACTOR,
    EXACT_ARITHMETIC,
    MIDDLE_RANGE,
    NO_ZERO_ENTRIES,
    NONZERO,
    SOME_ALPHA,
)
from commbounds.theory.quantities import (
    ABSOLUTE_ERROR,
    BITS,
    RELATIVE_ERROR,
    alpha,
    index_bits,
    itembits,
    n,
    norm1,
    norm2,
)
from commbounds.theory.shipped.terms import (
    ALL_ZERO,
    ENTRY_ERROR,
    FEW_ENTRIES,
    FOLLOWS,
    GRACE,
    GRACE_AT,
    HIVEMIND,
    HIVEMIND_AT,
    LIM_2018,
    MULTIPLIER_ONE,
    PLAIN_BYTES,
    PRODUCTS_FIT,
    RUNS_ENCODED,
    SPREAD_OUT,
    SUM_SHIFT,
    THREE_OR_MORE,
    WIDTHS_OFF,
    buckets,
    captured,
    larger,
    sparsity,
)
from commbounds.theory.sources import derived

_onebit = CompressorClaims("shipped.twomeans", "1-bit SGD's quantiser")
_threelc = CompressorClaims("shipped.threelc", "3LC's quantiser")
_uniform = CompressorClaims("shipped.uniformbuckets", "uniform bucketing with means")
_quantile = CompressorClaims("shipped.quantilebuckets", "quantile bucketing with means")

_PROJECTION = (
    "Every entry becomes the mean of its group: the output is the projection of x on vectors that are constant on "
    "groups, and ||x||^2 = ||C(x)||^2 + ||x - C(x)||^2."
)
_MEANS = "compressor/onebit.py: the mean of the negative entries, and that of the others"
_AVERAGE = "quantization.py, average_buckets: the average value in each bucket"
_HALVES = GRACE_AT.at("grace_dl/torch/compressor/onebit.py", "8-25")
_AVERAGES = HIVEMIND_AT.at("hivemind/compression/quantization.py", "88-93")
_KEEPS = "A group's mean times its size is its sum."
_ROUNDED = "up to the rounding of the means"


def _pythagoras(subject: str, title: str, source: object) -> Claim:
    return Claim(
        name=f"shipped.{subject}.error",
        title=f"{title} have exactly the lost squared norm as error",
        relation=Eq(ABSOLUTE_ERROR, norm2**2 - captured),
        source=source,  # type: ignore[arg-type]
        note="The means are the best values for these groups: no other code book has a smaller error.",
    )


def _sum_kept(subject: str, title: str, source: object) -> Claim:
    return Claim(
        name=f"shipped.{subject}.sum",
        title=f"{title} keep the sum of the entries",
        relation=Eq(SUM_SHIFT, 0),
        source=source,  # type: ignore[arg-type]
        note=f"In exact arithmetic; {_ROUNDED} in floating point.",
    )


ONEBIT: tuple[Claim, ...] = (
    _pythagoras("twomeans", "1-bit SGD’s two means", GRACE.official_code(_MEANS, _PROJECTION, FOLLOWS, _HALVES)),
    Claim(
        name="shipped.twomeans.contraction",
        title="1-bit SGD's quantiser is contractive with alpha = 1/n",
        relation=Le(RELATIVE_ERROR, 1 - 1 / n),
        assumes=(NONZERO,),
        source=derived(
            "A group of size m with entries of one sign has squared sum at least its squared norm: its error is at "
            "most 1 - 1/m of that, and m <= n."
        ),
        tightness=1,
        extremal="one positive entry among zeros",
    ),
    Claim(
        name="shipped.twomeans.contraction_halves",
        title="1-bit SGD's quantiser is contractive with alpha = one over the larger group",
        relation=Le(RELATIVE_ERROR, 1 - 1 / larger),
        assumes=(NONZERO,),
        source=derived("Group by group: a group of size m has an error of at most 1 - 1/m of its squared norm."),
        tightness=1,
        extremal="one positive entry among zeros; approached where groups are equal and each has one large entry",
        axis="larger",
    ),
    Claim(
        name="shipped.twomeans.contraction_two",
        title="With its two values 1-bit SGD's quantiser is contractive with alpha = 2/n",
        relation=Le(RELATIVE_ERROR, 1 - 2 / n),
        assumes=(NONZERO, THREE_OR_MORE),
        source=derived(
            "One would expect two groups of half the entries. Refuted by one positive entry among zeros: zeros count "
            "as positive, and there is one group."
        ),
        stands=Standing.REFUTED,
        extremal="x = (1, 0, 0): 2/3, where the bound is 1/3",
        note="The signs determine the groups: alpha is one over the size of the larger.",
    ),
    Claim(
        name="shipped.twomeans.below_scaledsign",
        title="The error of 1-bit SGD's quantiser is at most that of signs times the mean magnitude",
        relation=Le(RELATIVE_ERROR, 1 - norm1**2 / (n * norm2**2)),
        assumes=(NONZERO,),
        source=derived("The signs times one magnitude are constant on the groups: the projection is nearer."),
        tightness=1,
        extremal="the means of both groups equal in magnitude, such as all entries equal",
        note="It takes one more number per message, and is never worse than scaled signs with sign(0) = +1.",
    ),
    _sum_kept("twomeans", "1-bit SGD’s two means", GRACE.official_code(_MEANS, _KEEPS, FOLLOWS, _HALVES)),
    _onebit.biased("x = (2, 1): the output is (3/2, 3/2)"),
    _onebit.wire(n + 2 * itembits, "one bit for every entry, and two means"),
    _onebit.sign_symmetry("The groups change places, and their means signs.", (NO_ZERO_ENTRIES,)),
    _onebit.no_sign_symmetry("x = (1, 0): C(x) = (1/2, 1/2), but C(-x) = (-1, 0)", (), "sign_symmetry_zeros"),
    _onebit.scale_equivariance("The groups stay, and their means scale."),
    _onebit.idempotence("The means have the signs of their groups: the groups stay.", (EXACT_ARITHMETIC,)),
)

_factor = 4 * sparsity * (2 - sparsity) / (4 + (n - 1) * sparsity**2)
THREELC: tuple[Claim, ...] = (
    Claim(
        name="shipped.threelc.entry_error",
        title="3LC moves no entry by more than half its scale",
        relation=Le(ENTRY_ERROR, sparsity / 2),
        assumes=(NONZERO, PRODUCTS_FIT),
        source=LIM_2018.recalled(
            "rounding to multiples of M = s max|x|", "An entry is at most M, and rounds to the nearest multiple of M."
        ),
        tightness=1,
        extremal="an entry of half the scale",
        axis="sparsity",
    ),
    Claim(
        name="shipped.threelc.contraction",
        title="3LC contracts with alpha = 4 s (2 - s)/(4 + (n - 1) s^2)",
        relation=Le(RELATIVE_ERROR, 1 - _factor),
        assumes=(NONZERO, PRODUCTS_FIT),
        source=derived(
            "In units of the largest entry, that one has the error (s - 1)^2. Another, a, has a^2 below s/2 and (s - "
            "a)^2 <= a^2 above: the ratio is largest where every other entry is s/2, which loses its whole square."
        ),
        tightness=1,
        extremal="one largest entry, all others s/2 of it",
        note="At s = 1 it is 4/(n + 3), nearly four times the factor of one bit; it tends to 0 as s -> 2.",
    ),
    Claim(
        name="shipped.threelc.contraction_any",
        title="3LC is contractive with alpha = 1/n, for any sparsity multiplier",
        relation=Le(RELATIVE_ERROR, 1 - 1 / n),
        assumes=(NONZERO, PRODUCTS_FIT),
        source=derived("Holds for s = 1, as 4/(n + 3) >= 1/n. Refuted by s = 7/4 and (1, 7/8), both 7/4 then: 85/113."),
        stands=Standing.REFUTED,
        extremal="one entry and any multiplier above one: it is not kept, and alpha is 1",
        note="alpha falls with 2 - s; a multiplier near two nearly doubles the vector.",
    ),
    Claim(
        name="shipped.threelc.quartic",
        title="Quartic encoding: eight bits for five entries, and the scale",
        relation=Eq(BITS, itembits + 8 * sp.ceiling(n / 5)),
        assumes=(PLAIN_BYTES, PRODUCTS_FIT),
        source=LIM_2018.recalled("quartic encoding, 1.6 bits an entry", "3^5 = 243 <= 256; counted."),
        unpinned=(("0.9 times the term itembits", "never a whole number of bits"),),
    ),
    Claim(
        name="shipped.threelc.zeros",
        title="Zero-run encoding: one byte for seventy zeros",
        relation=Eq(BITS, itembits + 8 * sp.ceiling(sp.ceiling(n / 5) / 14)),
        assumes=(ALL_ZERO, RUNS_ENCODED),
        source=LIM_2018.recalled(
            "runs of up to fourteen zero bytes, and a ratio of at most 280",
            "Bytes 243 to 255 stand for runs of two to fourteen; a run of one is the byte itself.",
            reading="It is read with the scale, and for any number of entries.",
        ),
        note="32 bits over 8/70 give the paper's 280; the scale keeps the ratio below it.",
    ),
    Claim(
        name="shipped.threelc.wire",
        title="Zero-run encoding never makes a message longer",
        relation=Le(BITS, itembits + 8 * sp.ceiling(n / 5)),
        assumes=(PRODUCTS_FIT,),
        source=LIM_2018.read(
            "Abstract: zero-run encoding follows quartic encoding, to leverage sparsity",
            "Its bytes are those that quartic encoding leaves free: other bytes do not change.",
            reading="It is read as: no message grows.",
        ),
        tightness=1,
        extremal="no byte of five zeros",
    ),
    _threelc.biased("x = (4, 1), s = 1: the output is (4, 0)", (PRODUCTS_FIT,)),
    _threelc.sign_symmetry("Rounding, halves away from zero, is odd.", (PRODUCTS_FIT,)),
    _threelc.scale_equivariance(
        "The scale scales, and ratios to it are kept.", (ANY_FACTOR, MIDDLE_RANGE, PRODUCTS_FIT)
    ),
    _threelc.idempotence(
        "The largest output is the largest entry, and all are its multiples by -1, 0 and 1.",
        (MULTIPLIER_ONE, PRODUCTS_FIT),
        "idempotence_one",
    ),
    _threelc.no_idempotence("s = 3/2, x = (1): C(x) = (3/2), C(C(x)) = (9/4)", (MIDDLE_RANGE, PRODUCTS_FIT)),
)

UNIFORM: tuple[Claim, ...] = (
    _pythagoras(
        "uniformbuckets", "Means of uniform buckets", HIVEMIND.official_code(_AVERAGE, _PROJECTION, FOLLOWS, _AVERAGES)
    ),
    _sum_kept(
        "uniformbuckets", "Means of uniform buckets", HIVEMIND.official_code(_AVERAGE, _KEEPS, FOLLOWS, _AVERAGES)
    ),
    Claim(
        name="shipped.uniformbuckets.nonexpansive",
        title="The error of means of uniform buckets is at most the vector's norm",
        relation=Le(RELATIVE_ERROR, 1),
        assumes=(NONZERO,),
        source=HIVEMIND.official_code(_AVERAGE, _PROJECTION, FOLLOWS, _AVERAGES),
        tightness=1,
        extremal="two buckets and x = (1, -1): both go to one",
    ),
    Claim(
        name="shipped.uniformbuckets.contraction",
        title="Means of uniform buckets are contractive with some alpha > 0",
        relation=Le(RELATIVE_ERROR, 1 - alpha),
        assumes=(NONZERO, SOME_ALPHA),
        source=derived(
            "Refuted with two buckets by (1, -1), which share one. With 256, entries of all sizes beyond three "
            "standard deviations share a bucket: m ones and one b, b large, lose m/(m + 1) of b^2 among enough zeros."
        ),
        stands=Standing.REFUTED,
        extremal="two buckets and x = (1, -1)",
        axis="alpha",
        note="It fails for any number of buckets: the outermost take all entries beyond the range.",
    ),
    Claim(
        name="shipped.uniformbuckets.range",
        title="The error of means of uniform buckets is at most one width, 6 std/256",
        relation=Le(WIDTHS_OFF, 1),
        assumes=(SPREAD_OUT,),
        source=derived(
            "One would expect it of a uniform quantiser; hivemind's, whose buckets these are, states no bound. "
            "Refuted: entries beyond three standard deviations are clipped to the outermost bucket; two of them that "
            "differ by D each have the error D/2.",
            code=HIVEMIND_AT.at("hivemind/compression/quantization.py", "60-74"),
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="zeros, and two entries 1 and 3 among a hundred: off by 1, which is 135 widths",
        note="Six standard deviations are three on either side. A single outlier is reproduced: buckets send means.",
        axis="n",
    ),
    _uniform.biased("x = (0, 1/2, 4, 5), four buckets: the output is (1/4, 1/4, 9/2, 9/2)"),
    _uniform.wire(
        n * index_bits(buckets) + buckets * itembits, "a bucket for every entry, and the mean of every bucket"
    ),
    _uniform.no_sign_symmetry(
        "two buckets of half a deviation: the middle one is the upper, and 0 and 1 share it, but not 0 and -1",
        (),
        "sign_symmetry",
    ),
    _uniform.scale_equivariance("Mean, width and entries scale, and means of buckets."),
    _uniform.no_idempotence(
        "four buckets of half a deviation: what is merged has a smaller deviation", (MIDDLE_RANGE,)
    ),
)

QUANTILE: tuple[Claim, ...] = (
    _pythagoras(
        "quantilebuckets",
        "Means of quantile buckets",
        HIVEMIND.official_code(_AVERAGE, _PROJECTION, FOLLOWS, _AVERAGES),
    ),
    _sum_kept(
        "quantilebuckets", "Means of quantile buckets", HIVEMIND.official_code(_AVERAGE, _KEEPS, FOLLOWS, _AVERAGES)
    ),
    Claim(
        name="shipped.quantilebuckets.nonexpansive",
        title="The error of means of quantile buckets is at most the vector's norm",
        relation=Le(RELATIVE_ERROR, 1),
        assumes=(NONZERO,),
        source=HIVEMIND.official_code(_AVERAGE, _PROJECTION, FOLLOWS, _AVERAGES),
        tightness=1,
        extremal="two buckets and x = (1, 1, -2): the median is the largest entry, and all are in one bucket",
    ),
    Claim(
        name="shipped.quantilebuckets.lossless",
        title="Means of quantile buckets reproduce up to as many different entries as there are buckets",
        relation=Eq(ABSOLUTE_ERROR, 0),
        assumes=(FEW_ENTRIES,),
        source=HIVEMIND.official_code(
            "Quantile8BitQuantization: bucketize by the 255 inner ones of 257 quantiles",
            "For n <= b neighbouring quantiles are at most (n - 1)/b < 1 places apart: between two different entries "
            "lies one that is not below the smaller and is below the larger.",
            FOLLOWS,
            HIVEMIND_AT.at("hivemind/compression/quantization.py", "80-85"),
        ),
    ),
    Claim(
        name="shipped.quantilebuckets.contraction",
        title="Means of quantile buckets are contractive with some alpha > 0",
        relation=Le(RELATIVE_ERROR, 1 - alpha),
        assumes=(NONZERO, SOME_ALPHA),
        source=derived("Refuted with two buckets by (1, 1, -2): all in one bucket, whose mean is zero."),
        stands=Standing.REFUTED,
        extremal="two buckets and x = (1, 1, -2)",
        axis="alpha",
        note="Ties go below their border: more than half of the entries at the maximum empty the upper buckets.",
    ),
    _quantile.biased("x = (1, 3, 5, 7), two buckets: the output is (2, 2, 6, 6)"),
    _quantile.wire(
        n * index_bits(buckets) + buckets * itembits, "a bucket for every entry, and the mean of every bucket"
    ),
    _quantile.no_sign_symmetry(
        "two buckets: (1, 2, 2) has all entries in one, (-1, -2, -2) has not", (), "sign_symmetry"
    ),
    _quantile.scale_equivariance("Places among the sorted entries stay, and means of buckets scale."),
    _quantile.idempotence(
        "A border between two buckets lies between their means, and a border inside a bucket becomes its mean, with no "
        "entry of the bucket above it.",
        (EXACT_ARITHMETIC,),
    ),
)

CODES = (*ONEBIT, *THREELC, *UNIFORM, *QUANTILE)
