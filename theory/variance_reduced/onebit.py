"""Claims about the compression stage of 1-bit Adam."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Le, Standing
from commbounds.theory.majority.terms import BUSIEST_BYTES
from commbounds.theory.quantities import P, n, norm1, norm2
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.variance_reduced import terms as t

_BACKEND = "comm/nccl.py, compressed_allreduce: "
_ADAM = "onebit/adam.py, step: "

ONEBIT_CLAIMS = (
    Claim(
        name="variance_reduced.onebit.error",
        title="1-bit Adam's signs times the root mean square lose 2 (1 - ||p||_1/(sqrt(n) ||p||)) of the square",
        relation=Eq(t.SIGN_ERROR, 2 * (1 - norm1 / (sp.sqrt(n) * norm2))),
        assumes=(t.NORM_SCALE, t.OFFERED),
        source=t.ONEBIT_ADAM_2021.official_code(
            _BACKEND + "the scale is the norm over the root of the length, at the worker and at the server",
            "||p||^2 - 2 s ||p||_1 + n s^2 with n s^2 = ||p||^2.",
            "The error is ours; the code has the scale.",
            code=t.DEEPSPEED_AT.at("deepspeed/runtime/comm/nccl.py", "69-118", upstream=t.REMOVED),
        ),
        axis="n",
        note="The mean magnitude as scale loses least, 1 - ||p||_1^2/(n ||p||^2): see quantizers.scaledsign.error.",
    ),
    Claim(
        name="variance_reduced.onebit.contracts",
        title="Signs times the root mean square lose at most the vector's square",
        relation=Le(t.SIGN_ERROR, 1),
        assumes=(t.NORM_SCALE, t.OFFERED),
        source=FOLKLORE.recalled(
            "error feedback assumes a contraction, as with signs times the mean magnitude",
            "Refuted by a unit vector from n = 5 on: 2 (1 - 1/sqrt(5)) = 1.106.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.onebit.worst",
        extremal="a unit vector of five entries or more",
        axis="n",
        note="Error feedback has its guarantees for contractions. The recorded gradients, with a third of zero "
        "entries, also lose more than their square: see the figure. The scale is not bad for that: for a constant unit "
        "vector error feedback has a smaller residual with it than with the mean magnitude.",
    ),
    Claim(
        name="variance_reduced.onebit.worst",
        title="Signs times the root mean square lose at most 2 (1 - 1/sqrt(n)) of the square",
        relation=Le(t.SIGN_ERROR, 2 * (1 - 1 / sp.sqrt(n))),
        assumes=(t.NORM_SCALE, t.OFFERED),
        source=derived("variance_reduced.onebit.error with ||p||_1 >= ||p||."),
        tightness=1,
        extremal="a unit vector",
        axis="n",
    ),
    Claim(
        name="variance_reduced.onebit.silent_entry",
        title="If gradients are always zero, 1-bit Adam's residual stays below the largest scale, without momentum",
        relation=Le(t.ZERO_ENTRY_ERROR, t.largest_scale),
        assumes=(t.SILENT_ENTRIES, t.NO_MOMENTUM),
        source=derived("|e+| = | |e| - s| <= max(|e|, s), for any other entries."),
        tightness=1,
        extremal="the first step",
        axis="onebit_steps",
        note="But the entry sent is never zero: it is plus or minus the scale. It also holds with momentum and one "
        "worker: the offer, beta u + e, is the last offer less (1 - beta) u, and never above the largest (1 - beta) s.",
    ),
    Claim(
        name="variance_reduced.onebit.silent_momentum",
        title=(
            "If gradients are always zero, 1-bit Adam's residual stays below the worker's largest scale, also with "
            "momentum"
        ),
        relation=Le(t.ZERO_ENTRY_ERROR, t.largest_scale),
        assumes=(t.SILENT_ENTRIES,),
        source=derived(
            "Refuted by two workers, beta = 1/2 and nine entries: the first has no gradient, and then one that makes "
            "up for the momentum but in the last entry, where it is silent. It offers that alone: a scale of a third "
            "of it, and a residual of two thirds.",
            "the same with a hypothesis left out",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.onebit.silent_entry",
        tightness=sp.oo,
        extremal="a worker whose gradient makes up for all of the others' momentum but a silent entry",
        axis="onebit_steps",
        note="The momentum comes back in all entries with the servers' scale, which may be larger than a worker's.",
    ),
    Claim(
        name="variance_reduced.onebit.accumulates",
        title="If an entry's gradients are always zero, 1-bit Adam's compression error keeps accumulating",
        relation=Ge(t.ZERO_ENTRY_ERROR, t.onebit_steps * t.smallest_scale_sent),
        assumes=(t.SILENT_ENTRIES,),
        source=t.DEEPSPEED_DOCS.read(
            "on the momentum mask, and the same words in a comment of onebit/adam.py",
            "Refuted by two steps: zero's sign is +1 and leaves -s, which the next step sends.",
            "It is read as: every step adds at least a scale; printed in words, for a constant zero gradient.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.onebit.silent_entry",
        tightness=sp.oo,
        extremal="two steps of one gradient",
        axis="onebit_steps",
        note="The mask is still useful: momentum is noise there, of the size of the scale, and Adam divides it by the "
        "root of a zero variance.",
    ),
    Claim(
        name="variance_reduced.onebit.nothing_lost",
        title=(
            "With a frozen variance, 1-bit Adam's weights are those of uncompressed momentum, up to the last errors "
            "over 1 - beta"
        ),
        relation=Eq(t.ONEBIT_DEFECT, 0),
        assumes=(t.FROZEN,),
        source=t.ONEBIT_ADAM_2021.official_code(
            _ADAM + "compressed momentum takes the place of the momentum; errors at worker and server",
            "u+ = beta u + (1 - beta) mean g + (errors before - errors after): sum over the steps.",
            "The identity is ours; the code has the step.",
            code=t.DEEPSPEED_AT.at("deepspeed/runtime/fp16/onebit/adam.py", "206-214", upstream=t.REMOVED),
        ),
        axis="onebit_steps",
        note="Errors enter the weights 1/(1 - beta) times, ten times at beta = 0.9: compressed momentum accumulates.",
    ),
    Claim(
        name="variance_reduced.onebit.moving_variance",
        title=(
            "With a changing variance, 1-bit Adam's weights are those of uncompressed momentum, up to the last errors "
            "over 1 - beta"
        ),
        relation=Eq(t.ONEBIT_DEFECT, 0),
        assumes=(t.MOVING,),
        source=FOLKLORE.recalled(
            "error feedback under Adam without a warm-up",
            "Refuted by two steps whose variances differ: the first step's error is divided by another root.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.onebit.nothing_lost",
        extremal="two steps with variances 1 and 1/4",
        axis="onebit_steps",
        note="This is why 1-bit Adam freezes the variance.",
    ),
    Claim(
        name="variance_reduced.onebit.bytes",
        title=(
            "In 1-bit Adam every rank sends 2 (P - 1)(n/(8 P) + w) bytes: one bit per entry each way, and 2 (P - 1) "
            "scales of w bytes"
        ),
        relation=Eq(BUSIEST_BYTES, 2 * (P - 1) * (n / (8 * P) + t.scalebytes)),
        assumes=(t.BYTE_BLOCKS,),
        source=t.ONEBIT_ADAM_2021.official_code(
            _BACKEND + "an all-to-all of packed signs and an all-gather of scales, then all-gathers of both",
            "Counted.",
            "The sum is ours.",
            code=t.DEEPSPEED_AT.at("deepspeed/runtime/comm/nccl.py", "97-151", upstream=t.REMOVED),
        ),
        axis="P",
    ),
    Claim(
        name="variance_reduced.onebit.thirty_two",
        title="1-bit Adam's all-reduce sends 1/32 of the bytes of a float32 ring all-reduce",
        relation=Le(BUSIEST_BYTES, 2 * (P - 1) * 4 * n / P / 32),
        assumes=(t.BYTE_BLOCKS, t.SINGLE_PRECISION),
        source=FOLKLORE.recalled("a bit for 32", "Refuted by P = 2, n = 16: scales are sent as well."),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.onebit.bytes",
        tightness=1 + 32 * P / n,
        extremal="n = 8 P, where a block is a byte and its scale four",
        axis="P",
        note="It is more by 32 P/n: almost nothing for a million entries, and five times as much for blocks of one "
        "byte.",
    ),
)
