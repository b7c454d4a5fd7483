"""Claims about sums: rounded at every hop or twice, added as codes that share a scale, correlated roundings."""

import sympy as sp

from commbounds.theory.blockformats.terms import (
    A_PAIR_OF_RANKS,
    CODE_ERROR,
    CODE_SUM_BIAS,
    CODE_SUM_BITS,
    CODE_SUM_VARIANCE,
    CORRELATED_CODES,
    DRAWN_CODES,
    E2M1_ELEMENTS,
    EQUAL_FRACTIONS,
    FLOOR_SCALE,
    HOMOMORPHIC_DEFECT,
    IN_TWO_STEPS,
    INDEPENDENT_CODES,
    LI_2024,
    NOTEBOOK,
    NOTHING_CLIPPED,
    OCP_OR_EVEN,
    ONE_ENTRY_BLOCKS,
    PARTS_ALIKE,
    PARTS_OF_BLOCKS,
    PRICE,
    ROUND_A_RING,
    SEVERAL_OF_RANKS,
    SUMS_FIT,
    SURESH_2022,
    TO_NEAREST_CODE,
    TOTAL_BIAS,
    TOTAL_ERROR,
    WIRE_BYTES,
    codebits,
    codetop,
    elementbits,
    fraction,
    fractionnoise,
    otherfraction,
    ownfraction,
)
from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing, for_one_reason
from commbounds.theory.quantities import P, block, index_bits, n
from commbounds.theory.sources import derived

_R, _H, _C = "blockformats.requantised.", "blockformats.homomorphic.", "blockformats.correlated."
_WHOLE = for_one_reason(
    "Equivalent: the number of different values is whole, and a ninth more of it takes no further bit.",
    "10/9 times the term 1",
)
_PART = sp.ceiling(elementbits * n / (8 * P)) + sp.ceiling(n / (P * block))

REQUANTISED: tuple[Claim, ...] = (
    Claim(
        name=_R + "bytes",
        title=(
            "An all-reduce that requantises at every hop: the busiest rank's bytes, equal on a ring and in two steps"
        ),
        relation=Eq(WIRE_BYTES, 2 * (P - 1) * _PART),
        assumes=(PARTS_ALIKE,),
        source=derived(
            "Either way a rank sends P - 1 messages of a part in the reduce-scatter, and passes P - 1 on in the "
            "all-gather."
        ),
        unpinned=for_one_reason(
            "Equivalent under the scales: P divides n, and n/P less a P-th has as many blocks.", "n - 1 for n"
        ),
        axis="P",
    ),
    Claim(
        name=_R + "bits_an_entry",
        title="An all-reduce in an MX format sends the format’s bits for an entry",
        relation=Eq(PRICE, elementbits + 8 / block),
        assumes=(PARTS_ALIKE, SEVERAL_OF_RANKS),
        source=derived(
            "Parts have scales of their own: where n/P is no multiple of the block, a block is cut, and has two scales."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_R + "bits_an_entry_of_whole_blocks",
        extremal="P = 4, n = 32, MXFP4: parts of 8 entries with a scale each, 5 bits an entry and not 4.25",
        axis="n",
        note="Scales cost more for many ranks or short vectors, such as test buckets.",
    ),
    Claim(
        name=_R + "bits_an_entry_of_whole_blocks",
        title="An all-reduce in an MX format sends the format’s bits for an entry where parts have whole blocks",
        relation=Eq(PRICE, elementbits + 8 / block),
        assumes=(PARTS_OF_BLOCKS, SEVERAL_OF_RANKS),
        source=derived("Every block takes the bits of its elements and a byte."),
        axis="n",
    ),
    Claim(
        name=_R + "direct_error",
        title="In two steps, MXFP4's error is below 11/25 of the ranks’ magnitudes, for entries with separate scales",
        relation=Le(TOTAL_ERROR, sp.Rational(11, 25)),
        assumes=(IN_TWO_STEPS, FLOOR_SCALE, E2M1_ELEMENTS, ONE_ENTRY_BLOCKS, SUMS_FIT),
        source=derived(
            "Each rounding multiplies by a number in (3/4, 6/5): clipped from below 8 to 6, or rounded from above 5 to "
            "6. For two, with terms of either sign, the sum moves by (6/5)^2 - 1 = 11/25 of the magnitudes, or by 1 - "
            "(3/4)^2 less."
        ),
        tightness=1,
        extremal="terms just above 5 times a power of two, whose rounded sum again is so",
        axis="P",
    ),
    Claim(
        name=_R + "ring_error",
        title="On a ring, MXFP4's error is below 11/25 of the ranks’ magnitudes, for entries with separate scales",
        relation=Le(TOTAL_ERROR, sp.Rational(11, 25)),
        assumes=(ROUND_A_RING, FLOOR_SCALE, E2M1_ELEMENTS, ONE_ENTRY_BLOCKS, SUMS_FIT),
        source=derived(
            "Terms below a quarter of a partial sum’s gap are lost one by one: 4 plus 9/10 is rounded to 4, at "
            "every hop."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_R + "direct_error",
        extremal="one rank has 4, P - 1 have 7/8: the ring ends with 4; at P = 5, 7/15 are lost, at P = 8, 49/81",
        axis="P",
        note="As P grows all other entries are lost: rounding to nearest stagnates.",
    ),
    Claim(
        name=_R + "unbiased",
        title="Requantised stochastically with scales without clipping, the sum is unbiased for any number of hops",
        relation=Eq(TOTAL_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NOTHING_CLIPPED, SUMS_FIT),
        source=derived(
            "Given the earlier messages, the mean of a message is the partial sum: conditional expectations hop by hop."
        ),
        axis="P",
    ),
    Claim(
        name=_R + "unbiased_by_specification",
        title=(
            "Requantised stochastically with the specification’s scales, the sum is unbiased for any number of hops"
        ),
        relation=Eq(TOTAL_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(OCP_OR_EVEN, SUMS_FIT),
        source=derived("Partial sums that reach beyond the largest element are clipped, as 7 is to 6."),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_R + "unbiased",
        extremal="P = 2, both hold 7 in E2M1: each is read as 6",
        axis="P",
        note="Every hop clips again: stochastic rounding alone does not correct it.",
    ),
)

HOMOMORPHIC: tuple[Claim, ...] = (
    Claim(
        name=_H + "sums",
        title="Codes of one shared scale: the sum of the codes is the code of the sum",
        relation=Eq(HOMOMORPHIC_DEFECT, 0),
        source=LI_2024.read(
            "abstract: the direct aggregation of compressed values",
            "With one scale 2^e for all ranks, sum_p q_p 2^e = (sum_p q_p) 2^e; integers add without rounding, in "
            "any order.",
            reading="THC’s own quantiser has a range and a table: here it is a power of two.",
        ),
        axis="P",
    ),
    Claim(
        name=_H + "error",
        title="Codes of one shared scale, rounded to nearest: the sum is off by at most P/2 of the scale",
        relation=Le(CODE_ERROR, P / 2),
        assumes=(TO_NEAREST_CODE,),
        source=derived("Every rank rounds once, by half of the scale at most, and nothing is rounded after."),
        tightness=1,
        extremal="all ranks half-way, above an even code",
        axis="P",
    ),
    Claim(
        name=_H + "sum_bits",
        title="Sums of P codes need exactly ceil(log2(2 P L + 1)) bits",
        relation=Eq(CODE_SUM_BITS, index_bits(2 * P * codetop + 1)),
        source=derived("Sums are all the integers from -P L to P L, and each is reached."),
        unpinned=_WHOLE,
        axis="P",
    ),
    Claim(
        name=_H + "sum_bits_added",
        title="A sum of P codes needs ceil(log2 P) bits more than a code",
        relation=Eq(CODE_SUM_BITS, codebits + index_bits(P)),
        source=LI_2024.recalled(
            "sums of codes need more bits than codes: the logarithm of the workers",
            "P (2^w - 2) + 1 numbers, fewer than P 2^w: for few bits, and P just above a power of two, one bit fewer.",
            reading="It is read as exactly this number.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_H + "sum_bits",
        extremal="P = 5 and two bits, codes -1, 0, 1: sums are 11 numbers, four bits and not five",
        axis="P",
        note="The number suffices, and is sometimes one too large.",
    ),
    Claim(
        name=_H + "bytes",
        title=(
            "Codes of one shared scale: the busiest rank's bytes, two a block, codes to their owners, and sums round "
            "the ring"
        ),
        relation=Eq(
            WIRE_BYTES,
            (P - 1)
            * (
                2 * sp.ceiling(n / block)
                + sp.ceiling(codebits * n / (8 * P))
                + sp.ceiling(index_bits(2 * P * codetop + 1) * n / (8 * P))
            ),
        ),
        assumes=(PARTS_ALIKE,),
        source=derived("Counted from the program: P - 1 messages in each of three phases."),
        unpinned=_WHOLE,
        axis="P",
    ),
)

CORRELATED: tuple[Claim, ...] = (
    Claim(
        name=_C + "unbiased",
        title="Codes rounded by uniforms that are spread evenly over the ranks are unbiased",
        relation=Eq(CODE_SUM_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(DRAWN_CODES,),
        source=SURESH_2022.official_code(
            "correlated_stochastic_quantize, (permutation + uniform)/clients: an order of the clients, drawn once a "
            "round and turned by a shared draw for every entry",
            "For one rank, a uniform order in P equal cells and a uniform place in the cell are a uniform number.",
            code=NOTEBOOK,
        ),
        axis="P",
    ),
    Claim(
        name=_C + "independent",
        title="Rounded independently, the sum of the codes has the variance sum f (1 - f)",
        relation=Eq(CODE_SUM_VARIANCE, fractionnoise),
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT_CODES,),
        source=derived("Variances of independent Bernoulli variables add up."),
        axis="fractionnoise",
    ),
    Claim(
        name=_C + "equal",
        title="For equal entries, correlated codes have the variance of a single rounding of their sum",
        relation=Eq(CODE_SUM_VARIANCE, sp.Mod(P * fraction, 1) * (1 - sp.Mod(P * fraction, 1))),
        kind=Kind.EXPECTED,
        assumes=(CORRELATED_CODES, EQUAL_FRACTIONS),
        source=SURESH_2022.official_code(
            "correlated_stochastic_quantize, as in blockformats.correlated.unbiased",
            "P f = k + r: the uniforms of k cells are below f, one cell is cut at r, the others are above. The sum is "
            "k, or k + 1 with probability r.",
            reading="The notebook has no proof; the law is ours.",
            code=NOTEBOOK,
        ),
        axis="fraction",
        note="It is zero if P f is whole; independent codes have P f (1 - f).",
    ),
    Claim(
        name=_C + "pair",
        title="Two ranks’ correlated codes: the variance for any two fractions",
        relation=Eq(
            CODE_SUM_VARIANCE,
            ownfraction * (1 - ownfraction)
            + otherfraction * (1 - otherfraction)
            - 2 * sp.Min(ownfraction, 1 - ownfraction) * sp.Min(otherfraction, 1 - otherfraction),
        ),
        kind=Kind.EXPECTED,
        assumes=(CORRELATED_CODES, A_PAIR_OF_RANKS),
        source=derived(
            "In the two cells a code goes up with the chances g0 = min(2 f, 1) and g1 = max(2 f - 1, 0), and one rank "
            "has the one cell, the other the other: the covariance is -(g0 - g1)(h0 - h1)/4, and g0 - g1 = 2 min(f, 1 "
            "- f)."
        ),
        axis="ownfraction",
    ),
    Claim(
        name=_C + "never_worse",
        title="Correlated codes are never worse than independent ones, for any entries",
        relation=Le(CODE_SUM_VARIANCE, fractionnoise),
        kind=Kind.EXPECTED,
        assumes=(CORRELATED_CODES,),
        source=SURESH_2022.second_hand(
            "its abstract and reviews: the error depends on the mean deviation of the data, not on their range alone",
            "The chance to go up falls from cell to cell, for all ranks; two different cells, drawn without "
            "repetition, make such chances negatively correlated (Chebyshev’s sum inequality).",
            reading="That it is never worse, also for entries far apart, is our claim.",
        ),
        tightness=1,
        extremal="all ranks but one on a code: nothing is correlated with one",
        axis="P",
    ),
)
