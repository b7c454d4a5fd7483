"""Claims that packages make about compressors of other columns, and about sizes."""

import sympy as sp

from commbounds.theory.claim import Claim, Kind, Le, Standing
from commbounds.theory.hypotheses import NONZERO, NORM_FITS
from commbounds.theory.quantities import BITS, SECOND_MOMENT, index_bits, itembits, k, n, s
from commbounds.theory.shipped.terms import FLPYTORCH, FLPYTORCH_AT, HIVEMIND, HIVEMIND_AT

_LEVELS = "compressVector, standard dithering: 1 + d (1 + ceil(log2 s))/32 floats, for levels 0 to s and a sign"
_HALF = "estimate_compression_ratio: 8 bits over those of the tensor's dtype"
_DITHERING = FLPYTORCH_AT.at("fl_pytorch/utils/compressors.py", "297-299")


def _ratio(subject: str, title: str) -> Claim:
    return Claim(
        name=f"shipped.{subject}.ratio",
        title=f"{title} take eight bits an entry",
        relation=Le(BITS, 8 * n),
        source=HIVEMIND.official_code(
            f"quantization.py, {_HALF}",
            "The table of 256 means is part of the message: 8 n + 256 32 bits, more than 32 n below 342 entries.",
            "It is read as a bound for any length; by its name the method estimates.",
            HIVEMIND_AT.at("hivemind/compression/quantization.py", "48-49"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=f"shipped.{subject}.wire",
        tightness=sp.oo,
        extremal="one entry and a table of 256 means",
        note="The share vanishes for long tensors, for which the estimate is meant; tensors of fewer than 342 entries "
        "grow. hivemind also sends eight bytes for the length of the table, which neither count has.",
    )


SIZES: tuple[Claim, ...] = (
    _ratio("uniformbuckets", "Means of uniform buckets"),
    _ratio("quantilebuckets", "Means of quantile buckets"),
    Claim(
        name="shipped.terngrad.variance_zero",
        title="TernGrad is unbiased with omega = 0",
        relation=Le(SECOND_MOMENT, 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=FLPYTORCH.official_code(
            "makeTernGrad: w = 0.0, where the docstring of Compressor has E|C(x)|^2 <= (w + 1) |x|^2",
            "x = (2, 1): the second entry is 0 or 2, with probability 1/2 each: (4 + 2)/5.",
            "We read the zero as intended; the code marks the omega of dithering as still to be specified.",
            code=FLPYTORCH_AT.at("fl_pytorch/utils/compressors.py", "103-107"),
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="x = (2, 1): 6/5; one entry sqrt(n) times as large as n - 1 equal ones: about sqrt(n)/2",
        note="The variance is that of quantizers.terngrad.variance, (sqrt(n) - 1)/2. The code marks the omega of "
        "dithering, of which this is a case, as still to be specified, so that the zero may mean that; a step size "
        "from w = 0 is that of SGD without compression.",
    ),
    Claim(
        name="shipped.terngrad.code_bits",
        title="A sign and ceil(log2 s) bits per entry suffice for TernGrad, s = 1",
        relation=Le(BITS, itembits + n),
        source=FLPYTORCH.official_code(_LEVELS, "Three values per entry: one bit distinguishes two.", code=_DITHERING),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.terngrad.wire",
        extremal="any x: 2 n bits, and 8/5 n in the best packing by five",
        note="Three values need at least log2(3) = 1.58 bits.",
    ),
    Claim(
        name="shipped.qsgd.code_bits",
        title="A sign and ceil(log2 s) bits per entry suffice for QSGD",
        relation=Le(BITS, itembits + n * (1 + index_bits(s))),
        assumes=(NORM_FITS,),
        source=FLPYTORCH.official_code(
            _LEVELS,
            "2 s + 1 values: if s is a power of two they are one more than 1 + log2 s bits can distinguish.",
            code=_DITHERING,
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="quantizers.qsgd.wire",
        extremal="s = 4: nine values in three bits",
        note="Holds if s is no power of two, as in FL_PyTorch's test, 10. Else a bit short: three at s = 4.",
    ),
    Claim(
        name="shipped.topk.code_bits",
        title="Top-K sends k values and no indices, like Rand-K",
        relation=Le(BITS, k * itembits),
        source=FLPYTORCH.official_code(
            "compressVector, Top-K: a comment, we assume that indices need not be sent, as for Rand-K",
            "The receiver does not know which entries are largest: k = 1, n = 2 takes one bit more.",
            "It is read as a count of the bits that have to be sent; the comment assumes that indices need not be.",
            FLPYTORCH_AT.at("fl_pytorch/utils/compressors.py", "334-335"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sparsifiers.topk.wire",
        extremal="k = 1 of two entries: 33 bits",
        axis="k",
        note="Rand-K's set follows from a seed; Top-K's follows from data that only the sender has.",
    ),
)
