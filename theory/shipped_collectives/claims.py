"""Shipped collectives: the claims."""

from fractions import Fraction
from typing import Any

from commbounds.theory.blockformats.terms import element_unit
from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Standing, for_one_reason
from commbounds.theory.flashcomm.terms import BYTES_SENT, DISAGREEING, SUM_ERROR, group, ranges, width
from commbounds.theory.implementations import defined
from commbounds.theory.precision.bounds import any_order
from commbounds.theory.precision.ordering_terms import NOT_FINITE, SEVERAL
from commbounds.theory.quantities import P, Quantity, n
from commbounds.theory.sources import Repository, derived
from commbounds.theory.symbols import Symbol

VLLM = Repository("vllm-project/vllm", "0bf6342edb9fe2d6e2d19cad409f6743540fc308")
FLASHINFER = Repository("flashinfer-ai/flashinfer", "fb28d7242b3506a2348265962041acc1fb56cca4")
TORCHFT = Repository("meta-pytorch/torchft", "7eb7087885f7ffaf51148a9df3289d73b8709fbd")
PYTORCH = Repository("pytorch/pytorch", "06d06f80cd6c7ad55edf9d20f7669b4c81e82235")
NCCL = Repository("NVIDIA/nccl", "0180f9abe2ccbee8666c44685d1bd4c3dfafaaab")
TORCHCOMMS = Repository("meta-pytorch/torchcomms", "59426ba4bfee75800b2909274d200401c4d5d2df")
LOONGFORGE = Repository("baidu-baige/LoongForge", "46b8d617414049d0b31dd32a3ec8e16734d67a47")

_CODEC = VLLM.at(
    "csrc/quickreduce/quick_reduce_impl.cuh",
    default="QuickReduce is off until a regime is chosen; bfloat16 is then cast to float16 by default",
    upstream="open: sglang issue 40084 and pull request 40198 report the low end, vLLM issue 55345 and pull request "
    "55346 the high one; sglang repaired the latter in pull request 34484 after issue 34473",
)
_FLASHINFER = FLASHINFER.at("flashinfer/comm/quantized_allreduce.py", "190-388")
_TORCHFT = TORCHFT.at("torchft/quantization.py", "45-428")
_ROWS = TORCHFT.at(
    "torchft/quantization.py",
    "431-528",
    default="should_quantize is off by default; DiLoCo with buckets passes vectors (torchft/local_sgd.py, 498-540)",
)
_NCCL = NCCL.at("src/device/reduce_kernel.h", default="for data of float8, on processors of capability 9.0 on")
_HOOK = PYTORCH.at("torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py", default="to be registered")
_DRAWN = TORCHCOMMS.at(
    "comms/utils/kernels/stochastic_rounding/stochastic_rounding.cuh",
    default="for reduce_scatter_quantized, on processors before Blackwell",
)
_FED_BACK = LOONGFORGE.at(
    "loongforge/embodied/distributed/ddp_utils/fp8_a2a_comm.py",
    default="the hook is to be registered; error_feedback is none by default",
)

maxima = Symbol("maxima", r"\left(\sum_p m_p\right)", Fraction(5, 2), nonnegative=True)
"""Sum over the ranks of the largest magnitudes of their blocks, groups or rows at an entry."""
total = Symbol("total", "M", Fraction(2), nonnegative=True)
"""Largest magnitude of the block, group or row of what the owner adds up."""
sizes = Symbol("sizes", r"\left(\sum_p |x_{p,i}|\right)", Fraction(5, 2), nonnegative=True)
"""Sum over the ranks of an entry's magnitudes."""
channel_scales = Symbol("channel_scales", r"\left(\sum_p \max(R_p/255, 2^{-23})\right)", Fraction(1, 16), positive=True)
"""Sum over the ranks of the scales of their channels at an entry."""
divisor = Symbol("divisor", "d", 3, integer=True, positive=True)
"""What the sum is divided by: 1, or the number of ranks."""
tiles = Symbol("tiles", "T", 3, integer=True, positive=True)
"""Tiles of a vector, the last one filled with zeros."""
tile = Symbol("tile", "t", 1024, integer=True, positive=True)
"""Entries of a tile."""
rows = Symbol("rows", "r", 5, integer=True, positive=True)
"""Rows that a rank owns: those of the tensor over P, rounded up."""
words = Symbol("words", "w", 2, integer=True, positive=True)
"""Four bytes that the codes of a row take, rounded up."""
channels = Symbol("channels", "C", 3, integer=True, positive=True)
"""Channels of a vector."""
channel = Symbol("channel", "c", 4, integer=True, positive=True)
"""Entries of a channel."""
others = Symbol("others", "X", Fraction(3, 2), nonnegative=True)
"""Sum of an entry's magnitudes over the ranks that do not own it."""
sent_squares = Symbol("sent_squares", r"\left(\sum_{p} x_{p,i}^2\right)", Fraction(5, 2), nonnegative=True)
"""Sum of an entry's squares over the ranks that do not own it."""
turns = Symbol("turns", "T", 2, integer=True, positive=True)
"""Rounds in which gradients are averaged."""
eights = Symbol("eights", "e", 2, integer=True, positive=True)
"""Eight groups of which a rank's part is made, the last ones filled with zeros."""

WORD_BIAS = Quantity(
    "word_bias",
    r"\max_i\left|\mathbb{E}\,y_i-\sum_p x_{p,i}\right|",
    "largest error of an entry's mean over all words",
)
WORD_VARIANCE = Quantity(
    "word_variance",
    r"\mathbb{E}\left(y_i-\sum_p x_{p,i}\right)^2",
    "mean squared error of an entry over all words of all ranks",
)
BYTES_OVER_PLAIN = Quantity(
    "bytes_over_plain", r"\mathrm{bytes}/\mathrm{bytes}_{32}", "bytes sent over those of a ring of float32"
)

FLOAT16 = Hypothesis(
    "float16",
    "Entries are numbers of float16, and neither the sum of the blocks' largest magnitudes nor any sum exceeds 65000.",
    lambda fits: fits,
)
REACHED = Hypothesis(
    "reached",
    "The largest magnitude of every block, of the ranks' vectors and of the sum, is zero or at least 2^(b - 1)/65000: "
    "0.0000616, 0.000124, 0.000493 and 0.00197 at 3, 4, 6 and 8 bits.",
    lambda reached: reached,
)
SATURATES = Hypothesis(
    "saturates", "Finite results that overflow become 65504: FP16_OVFL is set.", lambda saturates: bool(saturates)
)
RESCALED = Hypothesis(
    "rescaled",
    "Row maxima, of the sum too, are zero or at least 2^-110: the scale does not overflow.",
    lambda rescaled: rescaled,
)
GROUPS_ABOVE = Hypothesis(
    "groups_above",
    "Every group's largest magnitude, of the sum too, is zero or at least 10^-12, below which the source takes that.",
    lambda above: above,
)
BFLOAT16 = Hypothesis("bfloat16", "Entries are numbers of bfloat16.", ensured="The inputs are rounded to it.")
BELOW = Hypothesis(
    "below",
    "Entries are numbers of float8, and their magnitudes, times (1 + u/(1 + u))^(P - 1), add up to at most the "
    "largest: 448 or 57344.",
    lambda below: below,
)
DIVIDED = Hypothesis("divided", "P divides n.", lambda n, P: n % P == 0)
NATIVE = Hypothesis("native", "Codes are float8: the processor has it.", lambda native: bool(native))
INTEGERS = Hypothesis("integers", "Codes are integers: the processor has no float8.", lambda native: not native)
WHOLE = Hypothesis(
    "whole", "P blocks of whole groups divide n: all ranks own equally much.", lambda n, P, block: n % (P * block) == 0
)
NORMAL = Hypothesis(
    "normal",
    "Entries of ranks that do not own them are zero or at least 2^-126 in magnitude.",
    lambda normal: normal,
)
WITHIN = Hypothesis(
    "within",
    "No entry exceeds bfloat16's largest number, 255/256 2^128, and the magnitudes add up to at most half of that.",
    lambda within: within,
)
SUMS_HELD = Hypothesis(
    "sums_held",
    "Float32 holds the sums of what is read.",
    ensured="Entries are multiples of a step, of which no sum has 2^24.",
)
ANY_WORD = Hypothesis(
    "any_word", "Words are independent, all equally probable.", ensured="All words are run, or all of their upper bits."
)
FIRST = Hypothesis("first", "One round: nothing has been fed back.", lambda rounds: rounds == 1)
FED = Hypothesis("fed", "Both errors are fed back.", lambda feedback: feedback == "both")
ABOVE_LEAST = Hypothesis(
    "above_least",
    "The largest magnitude of every group, of the mean too, is zero or at least 2^-117: a scale is above 2^-126.",
    lambda above_least: above_least,
)
FAR_ABOVE_LEAST = Hypothesis(
    "far_above_least",
    "A group's largest magnitude in all rounds is zero or at least 2^-100, and there are at most 4096 ranks.",
    lambda far_above_least: far_above_least,
)

_LOOSE = "loose: float16's roundings are not largest in all stages at once; cases reach 96, 99, 99.7 and 99.8 %"
_RECURSIVE = any_order(P, element_unit) * sizes
"""Of float8, whose unit is 1/16 (E4M3) or 1/8 (E5M2)."""
_Q, _F, _T, _H, _N, _C, _L = (
    f"shipped_collectives.{name}."
    for name in ("quickreduce", "flashinfer", "torchft", "hook", "nccl", "torchcomms", "loongforge")
)
_STEP = 2 ** (1 - width)
_QUICK = (_STEP + Fraction(1, 2048)) * (maxima + total) + (P - 1) * Fraction(1, 2000) * maxima + P * 2 ** (width - 24)
_E4M3 = (maxima + total) / 28


def _claim(
    name: str, title: str, relation: Any, why: str, code: Any, assumes: tuple[Hypothesis, ...] = (), **more: Any
) -> Claim:
    return Claim(name, title, relation, source=derived(why, code=code), assumes=assumes, **{"axis": "P", **more})


CLAIMS: tuple[Claim, ...] = (
    _claim(
        _Q + "error",
        "QuickReduce's error is at most a step of the ranks' blocks and one of the sum's",
        Le(SUM_ERROR, _QUICK),
        "A block's scale is m/2^(b - 1), and codes end at 2^(b - 1) - 1 on one side: there an entry's error is a step, "
        "elsewhere half of one plus float16's roundings: product, reciprocal and reading 3/2048 m, and 2^-24 that is "
        "added to the scale before its reciprocal is taken, 2^(b - 25). At the end the reading rounds once more, "
        "1/2048 m. P - 1 sums in float16 round by 1/2048 of what they have, at most 129/128 of the maxima for P <= 8: "
        "less than 1/2000.",
        _CODEC,
        (FLOAT16, REACHED, SATURATES),
        unpinned=for_one_reason(
            _LOOSE,
            "*2000*",
            "without the factor maxima",
            "width - 1 for width",
            "*2**(width - 24)*",
            "without the factor P",
            "exponent width - 25 of 2",
            "0.9 times the term 1/2048",
            "P - 1 for P",
        ),
        extremal="rank blocks that hold m and -m, whose sum's block holds M and -M",
        note="The processor's reciprocals may have an error of 0.51 ulp, ours are rounded correctly: that is half of "
        "the allowance. Three bits are those of ROCm/aiter at e4048607, csrc/include/quick_all_reduce.cuh, only "
        "between two ranks.",
    ),
    _claim(
        _Q + "error_of_any",
        "QuickReduce's error is at most a step of the ranks' blocks and one of the sum's, for any blocks",
        Le(SUM_ERROR, _QUICK),
        "One expects it of blocks with separate scales. Refuted if the scale's reciprocal exceeds float16, m below "
        "2^(b - 1)/65504: it is clamped, codes are too small, and a block is read as 65504 m/2^(b - 1) of itself.",
        _CODEC,
        (FLOAT16, SATURATES),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_Q + "error",
        extremal="one rank, all entries 0.0009765625, 8 bits: 7/8 of them are lost, half and then three quarters",
        note="At 8 bits, 55 % of entries of 0.0015 in one rank are lost; 0.0001 is read as -0.0000076, as the second "
        "stage's scale is -2^-24, to which the source adds 2^-24.",
    ),
    _claim(
        _Q + "finite",
        "QuickReduce of finite vectors is finite",
        Eq(NOT_FINITE, 0),
        "One expects it of an all-reduce of bfloat16. Refuted by a number beyond 65504, which becomes infinite in "
        "float16, and with it the scale: so does its block. vLLM's base.h (read at 1e8e8604) sets the mode for gfx942 "
        "alone; so does ROCm/aiter's quick_all_reduce_base.h at e4048607, whose quick_all_reduce.py takes gfx95 as "
        "well.",
        _CODEC,
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_Q + "finite_saturated",
        extremal="one entry of 10^5, as it is without FP16_OVFL",
        note="Without the mode small blocks fail, too: their reciprocal is infinite, and every entry of the block, "
        "zeros among them, is read as the largest with one sign or the other.",
    ),
    _claim(
        _Q + "finite_saturated",
        "QuickReduce of finite vectors is finite if overflows become 65504",
        Eq(NOT_FINITE, 0),
        "No operation makes an infinity of finite numbers but the reciprocal of a step of zero, and what is multiplied "
        "by that is clipped.",
        _CODEC,
        (SATURATES,),
        note="Sums beyond 65504 are then 65504: finite, but with an unbounded error.",
    ),
    _claim(
        _Q + "agreement",
        "All ranks of QuickReduce end with the same bits",
        Eq(DISAGREEING, 0),
        "Owners also read their own codes.",
        _CODEC,
    ),
    _claim(
        _Q + "bytes",
        "Bytes of QuickReduce",
        Eq(BYTES_SENT, 2 * (P - 1) / P * tiles * tile / 64 * (8 * width + 4)),
        "Counted: 64 codes and two scales of two bytes, 28, 36, 52 or 68 bytes; a rank's part of every tile, twice, to "
        "P - 1 others. A tile of the source has 16384 entries.",
        _CODEC,
    ),
    _claim(
        _F + "error",
        "FlashInfer's sum: error at most 1/28 of the groups' largest magnitudes and the sum's, plus bfloat16's "
        "rounding",
        Le(SUM_ERROR, _E4M3 + total * Fraction(29, 28) / 256),
        "The largest number is coded as 448, and below 448 neighbours are at most 32 apart: half of that over 448 is "
        "1/28. The result is rounded to bfloat16, half of 2^-7 of it at most.",
        _FLASHINFER,
        (BFLOAT16, GROUPS_ABOVE),
        extremal="ranks that hold 1.109375 and 1.0703125, 1.1015625 and 0.984375: 0.98 of it",
        note="The rank that owns an entry has it more accurately: see the agreement.",
    ),
    _claim(
        _F + "agreement",
        "All ranks of FlashInfer's all-reduce end with the same bits",
        Eq(DISAGREEING, 0),
        "One expects it of an all-reduce, and tensor-parallel ranks that sample separately rely on it. Refuted: the "
        "owner of a stripe writes its exact sum, the others its decoded float8 code.",
        FLASHINFER.at("flashinfer/comm/quantized_allreduce.py", "270-311", upstream="no report of it was found"),
        stands=Standing.REFUTED,
        extremal="two ranks, a group whose sum does not lie on a code",
        note="They differ by at most 1/28 of the largest magnitude of the sum's group, and bfloat16's rounding.",
    ),
    _claim(
        _F + "bytes",
        "Bytes of FlashInfer's all-reduce",
        Eq(BYTES_SENT, 2 * (P - 1) / P * n * (1 + 4 / group)),
        "Counted: a byte an entry and four a group, a rank's part to P - 1 others, twice.",
        _FLASHINFER,
        (WHOLE,),
        note="In the source the group lies in symmetric memory, where others read and write it; here it is sent.",
    ),
    _claim(
        _T + "error",
        "With float8, the error of torchft's sum is at most 1/28 of the rows' largest magnitudes and the sum's",
        Le(SUM_ERROR, _E4M3 / divisor),
        "As FlashInfer's, row by row; the mean is that of the sum, divided.",
        _TORCHFT,
        (NATIVE, RESCALED),
        tightness=1,
        extremal="ranks that hold 448 and 432, 64 and 304/7 in a row",
    ),
    _claim(
        _T + "error_cut",
        "With integers, the error of torchft's sum is at most a step of the rows and one of the sum's",
        Le(SUM_ERROR, (maxima + total) / 127 / divisor),
        "Conversion to an integer truncates the fraction: less than a step, m/127, towards zero.",
        _TORCHFT,
        (INTEGERS, RESCALED),
        tightness=1,
        extremal="two ranks, whose steps are 1 and 0.5, with entries just below 1 and 4 of them: "
        "the sum is just below a step",
    ),
    _claim(
        _T + "half_a_step",
        "With integers, the error of torchft's sum is at most half a step of the rows and half a step of the sum's",
        Le(SUM_ERROR, (maxima + total) / 254 / divisor),
        "One expects it of codes rounded to nearest. Refuted: Triton's conversion of float32 to int8 truncates.",
        TORCHFT.at(
            "torchft/quantization.py",
            "34-156",
            default="where the processor has no float8: before compute capability 9.0",
            upstream="no report of it was found",
        ),
        (INTEGERS, RESCALED),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_T + "error_cut",
        extremal="entries just below a step",
        note="All errors are towards zero, so that they add up over steps: the sum shrinks.",
    ),
    _claim(
        _T + "bytes",
        "Bytes of torchft's all-reduce",
        Eq(BYTES_SENT, 8 * (P - 1) * rows * (1 + words)),
        "Counted: a row is four bytes of scale and its codes, filled to a multiple of four; a rank's rows to P - 1 "
        "others, twice.",
        _ROWS,
    ),
    _claim(
        _T + "never_more",
        "torchft's coded all-reduce sends at most as much as a ring of float32",
        Le(BYTES_OVER_PLAIN, 1),
        "One expects it of a compression. Refuted by vectors, whose entries each become a row: eight bytes in place of "
        "four. DiLoCo with buckets, in the same repository, passes such vectors.",
        _ROWS,
        (SEVERAL,),
        stands=Standing.REFUTED,
        extremal="any vector whose size P divides: twice as much",
        note="Rows of 2 entries take the bytes of plain float32, rows of 4 half of them, rows of 64 just over a "
        "quarter.",
    ),
    _claim(
        _H + "error",
        "The error of the mean by torch's hooks is at most half the ranks' scales, which are at least 2^-23",
        Le(SUM_ERROR, channel_scales / 2 / P),
        "Codes are rounded to nearest; the zero point is rounded too, and where its rounding pushes the ends out of "
        "[0, 255], what is clipped is less than half a step.",
        _HOOK,
        tightness=1,
        extremal="all ranks hold entries half-way between two codes",
    ),
    _claim(
        _H + "error_of_any",
        "The error of the mean by torch's hooks is at most half of a 255th of the ranks' ranges, zero included",
        Le(SUM_ERROR, ranges / 510 / P),
        "One expects it of scales that follow the data. Refuted by ranges below 255 2^-23 = 0.0000304: the observers "
        "take no scale below the eps of float32, and entries below 2^-24 are lost.",
        PYTORCH.at(
            "torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py",
            default="to be registered; the eps is the default of torch/ao/quantization/observer.py, read at 004ebd57",
            upstream="no report of it was found",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_H + "error",
        extremal="entries of 2^-25, all of which are lost",
        note="The scale then gives an error of 2^-24 for any entries.",
    ),
    _claim(
        _H + "bytes",
        "Bytes of torch's hooks",
        Eq(BYTES_SENT, (P - 1) * channels * (8 + channel)),
        "Counted: a scale, a zero point and the codes of every channel to P - 1 others.",
        _HOOK,
        note="With channels, a vector that they divide gets one more channel, of zeros.",
    ),
    _claim(
        _N + "error",
        "The error of NCCL's sum of float8 is at most (P - 1)u/(1 + u) of the sum of the magnitudes",
        Le(SUM_ERROR, _RECURSIVE),
        "A sum of two numbers of float8 that float16 does not hold is not half-way between two of float8: they are 2^8 "
        "apart at least, so that the larger one is next to it. So every hop rounds once, correctly, as in "
        "precision.any.sure.",
        _NCCL,
        (BELOW,),
        tightness=1,
        extremal="two ranks, which hold one and u: half-way, and one again",
        note="(P - 1)u/(1 + (P - 1)u) holds for P <= 1 + 1/(2u), not beyond: see precision.running.sharp_beyond. Sums "
        "of ones stop at 16 (E4M3) and 8 (E5M2), from 17 and from 9 ranks on. There is no scale; the caller has to "
        "leave headroom.",
    ),
    _claim(
        _N + "error_of_any",
        "The error of NCCL's sum of float8 is at most (P - 1)u/(1 + u) of the sum of any magnitudes",
        Le(SUM_ERROR, _RECURSIVE),
        "One expects it of a sum of finite numbers. Refuted beyond 448 (E4M3) and 57344 (E5M2), where conversions "
        "saturate: a sum is clipped without an infinity or a NaN.",
        _NCCL,
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_N + "error",
        extremal="two ranks of 448: 448 in place of 896, where 1/17 of the magnitudes would be 53",
        note="All ranks get the same clipped number: comparing them shows nothing.",
    ),
    _claim(
        _N + "agreement",
        "All ranks of NCCL's sum of float8 end with the same bits",
        Eq(DISAGREEING, 0),
        "The sums are passed on unchanged.",
        _NCCL,
    ),
    _claim(
        _N + "bytes",
        "Bytes of NCCL's sum of float8",
        Eq(BYTES_SENT, 2 * (P - 1) / P * n),
        "Counted: a byte an entry, and no scale.",
        _NCCL,
        (DIVIDED,),
    ),
    _claim(
        _C + "error",
        "The error of torchcomms' sum is less than a step of bfloat16 for every other rank: 2^-7 of its entry",
        Le(SUM_ERROR, others / 128),
        "What is cut off behind the addition of a word is the number below or above it: less than a step off, and a "
        "step is at most 2^-7 of a normal number. The owner's entry is not rounded.",
        _DRAWN,
        (NORMAL, WITHIN),
        tightness=1,
        extremal="one rank that sends just more than a power of two, rounded up",
        note="Words of 2^15 would round to nearest, with half of this error; other words do not. Above bfloat16's "
        "largest number 65535 of 65536 words, at float32's largest, make an infinity: nothing saturates.",
    ),
    _claim(
        _C + "unbiased",
        "The mean of torchcomms' sums over all words is the sum",
        Eq(WORD_BIAS, 0),
        "Bfloat16 has the upper 16 bits of float32, subnormal numbers too. As many of 2^16 words carry into them as "
        "the lower 16 bits say: 16 random bits are all that are cut off.",
        _DRAWN,
        (WITHIN, SUMS_HELD, ANY_WORD),
        kind=Kind.EXPECTED,
        note="Additions in float32 that are rounded may add a bias of their own. With r < 16 random bits it would be "
        "up to 2^-r of a step: see precision.stochastic.few_bits.",
    ),
    _claim(
        _C + "variance",
        "The variance of torchcomms' sum is at most 1/66048 of the squares of the other ranks' entries",
        Le(WORD_VARIANCE, sent_squares / 66048),
        "A number (128 + f) steps from zero, or more, is off by a variance of f (1 - f) squared steps; "
        "(128 + f)^2 - 66048 f (1 - f) = (257 f - 128)^2. Words of different ranks are independent: variances add up.",
        _DRAWN,
        (NORMAL, WITHIN, SUMS_HELD, ANY_WORD),
        kind=Kind.EXPECTED,
        tightness=1,
        extremal="one rank that sends 128 + 128/257 steps, as nearly as float32 has them",
    ),
    _claim(
        _C + "bytes",
        "Bytes of torchcomms' reduce-scatter",
        Eq(BYTES_SENT, 2 * (P - 1) / P * n),
        "Counted: two bytes an entry, a rank's part to every other.",
        TORCHCOMMS.at("comms/prims/collectives/ReduceScatterDirectIb.cu"),
    ),
    _claim(
        _L + "error",
        "The error of LoongForge's mean in a round is at most 1/28 of the groups' largest magnitudes and the mean's",
        Le(SUM_ERROR, _E4M3 / P),
        "As torchft's, group by group; the mean is that of the sum, divided.",
        _FED_BACK,
        (FIRST, ABOVE_LEAST),
        tightness=1,
        extremal="ranks that hold 448 and 432, 64 and 304/7 in a group",
        note="A group below 448 2^-126 = 5.3e-36 is read as zeros.",
    ),
    _claim(
        _L + "kept",
        "With both errors fed back, the sum of LoongForge's means over any number of rounds is off by at most 55/729 "
        "of the groups' largest magnitudes in all rounds, on average over the ranks",
        Le(SUM_ERROR, Fraction(55, 729) * maxima / P),
        "Behind every round the sum of what was read is that of what was due, less what is kept now. If a group's "
        "largest gradient is m, |e'| <= (m + |e|)/28 gives |e| <= m/27, and 28/27 m is due and read at most; the "
        "mean's |f'| <= (28/27 m + |f|)/28 gives |f| <= 28/729 m. 1/27 + 28/729 = 55/729.",
        _FED_BACK,
        (FED, FAR_ABOVE_LEAST),
        extremal="two rounds of two ranks: what is lost of 432 and 304/7 beside 448 and 64 makes the groups of the "
        "second round larger",
        note="Without feedback errors of one sign add up: of T rounds, T times that of one. With allgather those of "
        "the ranks' codes still do. A group that has become less than 5.3e-36 is kept, not lost.",
    ),
    _claim(
        _L + "agreement",
        "All ranks of LoongForge's hook end with the same bits",
        Eq(DISAGREEING, 0),
        "Owners also read their own codes.",
        _FED_BACK,
    ),
    _claim(
        _L + "bytes",
        "Bytes of LoongForge's hook",
        Eq(BYTES_SENT, 16 * (P - 1) * turns * eights * (group + 4)),
        "Counted: a byte an entry and four a group, a rank's part to P - 1 others, twice a round. A part is filled to "
        "whole eights of groups.",
        _FED_BACK,
    ),
    *defined(
        "shipped_collectives",
        {
            "torchcomms_reduce_scatter": "Written from philox_rng.cuh, stochastic_rounding.cuh, QuantCopyOp.cuh and "
            "ReduceScatterDirectIb.cu at 59426ba4: one channel, the rounding in software.",
            "loongforge_hook": "Written from loongforge/embodied/distributed/ddp_utils/fp8_a2a_comm.py at 46b8d617; "
            "divisions are rounded correctly, products and sums are not contracted.",
            "nccl_sum": "Written from src/device/reduce_kernel.h at 0180f9ab and all_reduce.h at 0e35f5d3: the ring in "
            "one channel; conversions end at the largest number, as the documentation of CUDA's types says.",
            "quickreduce": "Written from csrc/quickreduce of vllm-project/vllm, quick_reduce_impl.cuh at 0bf6342e and "
            "base.h at 1e8e8604, the instructions by their documented meaning; reciprocals are rounded correctly.",
            "flashinfer_allreduce": "Written from flashinfer/comm/quantized_allreduce.py at fb28d724; divisions are "
            "rounded correctly, and nothing is contracted.",
            "torchft_allreduce": "Written from torchft/quantization.py and collectives.py at 7eb70878; divisions are "
            "rounded correctly.",
            "quantization_hook": "Written from torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py at "
            "06d06f80, and observer.py at 004ebd57, whose defaults it takes.",
        },
    ),
)
