"""Claims about what ranks do with rotated vectors together."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.flashcomm.terms import width
from commbounds.theory.quantities import GLOBAL_ERROR, P, index_bits, itembits, s
from commbounds.theory.rotations.terms import (
    ALIKE,
    BLOCKS_DIVIDE,
    DRIVE_2021,
    EDEN_2022,
    EXACT_SUM_DEFECT,
    MEAN_BYTES,
    PRIVATE,
    SHARED,
    SUM_BYTES,
    SUM_ERROR,
    bias_share,
    d,
    rotated_top,
    single_error,
)
from commbounds.theory.sources import derived

MEANS: tuple[Claim, ...] = (
    Claim(
        name="rotations.rotated_mean.bytes",
        title="A mean of rotated codes: a rank passes on P - 1 messages, of b bits for every rotated entry and a scale",
        relation=Eq(MEAN_BYTES, (P - 1) * (sp.ceiling(width * d / 8) + itembits / 8)),
        source=derived("We count a ring of P - 1 steps; seeds are not sent."),
        axis="P",
    ),
    Claim(
        name="rotations.rotated_mean.averages",
        title="For equal vectors, the mean of P private estimates has at most a P-th of the error of one",
        relation=Le(GLOBAL_ERROR, single_error / P),
        kind=Kind.EXPECTED,
        assumes=(ALIKE, PRIVATE),
        source=DRIVE_2021.recalled(
            "independent rotations: the error of the mean is that of one over the number of clients; EDEN has the same",
            "Refuted by (3, 1): every estimate is (10/3, 0), and so is the mean of any number of them.",
            reading="It is read for the Hadamard rotation; for a uniform one the estimates are unbiased and it holds.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="rotations.rotated_mean.private",
        extremal="(3, 1) on every rank: 1/9 for any number of ranks",
        axis="P",
        note="The loss is bias, which no number of workers removes.",
    ),
    Claim(
        name="rotations.rotated_mean.private",
        title="The mean of private estimates of equal vectors has at most the squared bias and a P-th of the variance",
        relation=Le(GLOBAL_ERROR, bias_share + (single_error - bias_share) / P),
        kind=Kind.EXPECTED,
        assumes=(ALIKE, PRIVATE),
        source=derived(
            "The estimates are independent with one law: the variances add up and are divided by P^2. It is "
            "an equality."
        ),
        tightness=1,
        extremal="every vector",
        axis="P",
    ),
    Claim(
        name="rotations.rotated_mean.shared",
        title="For equal vectors, the mean of estimates by one rotation has at most the error of one",
        relation=Le(GLOBAL_ERROR, single_error),
        kind=Kind.EXPECTED,
        assumes=(ALIKE, SHARED),
        source=EDEN_2022.recalled(
            "every client has its own seed; one rotation for all is not analysed",
            "All messages are the same, and so is their mean.",
            reading="The statement is ours: the source has private seeds.",
        ),
        tightness=1,
        extremal="every vector",
        axis="P",
        note="A shared rotation can be undone once for all ranks, and then it does not average.",
    ),
)

SUMS: tuple[Claim, ...] = (
    Claim(
        name="rotations.rotated_sum.exact",
        title="A sum of rotated codes is the sum of the ranks' separately decoded vectors",
        relation=Eq(EXACT_SUM_DEFECT, 0),
        source=derived("D H is linear, codes are whole numbers, and the step is the same for all ranks."),
        axis="P",
        note="This is the benefit of a shared rotation: partial sums need no decoding.",
    ),
    Claim(
        name="rotations.rotated_sum.error",
        title=(
            "A sum of rotated codes has expected error at most P t^2/(4 s^2), t the largest rotated entry of all ranks"
        ),
        relation=Le(SUM_ERROR, P * rotated_top**2 / (4 * s**2)),
        kind=Kind.EXPECTED,
        source=derived(
            "Every rank rounds d entries with a variance of at most a quarter of the squared step, t/s; D H multiplies "
            "the squared norm by d, and the result is divided by d^2. Ranks round independently."
        ),
        axis="P",
        note="A shared step is that of the rank with the largest entry.",
    ),
    Claim(
        name="rotations.rotated_sum.bytes",
        title=(
            "A sum of rotated codes: a rank sends a number, its codes of all other blocks, and its own block's sums to "
            "all"
        ),
        relation=Eq(
            SUM_BYTES,
            (P - 1)
            * (
                itembits / 8
                + sp.ceiling(d / P * index_bits(2 * s + 1) / 8)
                + sp.ceiling(d / P * index_bits(2 * P * s + 1) / 8)
            ),
        ),
        assumes=(BLOCKS_DIVIDE,),
        source=derived("Counted: sums of P codes in [-s, s] are in [-P s, P s]."),
        axis="P",
        unpinned=(("10/9 times the term 1", "equivalent: the number of different values is whole"),),
        note="Sums take log2 P more bits than codes: the cost of homomorphic sums.",
    ),
)
