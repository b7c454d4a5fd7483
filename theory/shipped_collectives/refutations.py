"""Where refuted claims about shipped collectives are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.blockformats.terms import element_unit
from commbounds.theory.flashcomm.terms import ranges, width
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, n
from commbounds.theory.shipped_collectives.claims import divisor, maxima, sizes, total

_a = sp.Symbol("a", integer=True, nonnegative=True)
_SMALL, _CUT = sp.Integer(2) ** -27, sp.floor(_a / 4)
_M = sp.Integer(2) ** -10

REFUTATIONS = by_claim(
    Refutation(
        claim="shipped_collectives.quickreduce.error_of_any",
        words="One rank, one entry m = 2^-10 at 8 bits. The scale is -2^-17, whose reciprocal is clamped to -65504: "
        "the code is -64, where -128 stands for m, and m/2 is read. The sum's scale is half as large: of 65504/2^18 of "
        "128 steps 32 are left, which are read as m/8.",
        whole={},
        measured=_M * sp.Rational(7, 8),
        values={P: 1, width: 8, maxima: _M, total: _M / 2},
        x=((_M,),),
        met={"float16": "It is a number of float16.", "saturates": "The mode is set."},
    ),
    Refutation(
        claim="shipped_collectives.quickreduce.finite",
        words="One rank, one entry above 65504, which float16 rounds to infinity: every 16 a from 65520 on.",
        whole={_a: 1},
        measured=sp.Integer(1),
        x=((16 * _a,),),
        given={"65520 is rounded up": _a - 4095},
    ),
    Refutation(
        claim="shipped_collectives.flashinfer.agreement",
        words="Two ranks, groups of two entries. The sum (448, 17) has the scale 1; 17 lies between the codes 16 and "
        "18, and its owner keeps it.",
        whole={},
        measured=sp.Integer(1),
        x=((448, 16), (0, 1)),
    ),
    Refutation(
        claim="shipped_collectives.torchft.half_a_step",
        words="Two ranks' rows (127, a/4) and (127, a/4 + 1) have the step 1, and are cut to whole numbers. Their sum "
        "has the step 2, and is cut to an even one.",
        whole={_a: 1},
        measured=_a / 2 + 1 - 2 * sp.floor((2 * _CUT + 1) / 2),
        values={maxima: 254, total: 254, divisor: 1},
        x=((127, _a / 4), (127, _a / 4 + 1)),
        given={"below a step": 3 - _a},
        met={"integers": "The processor has no float8.", "rescaled": "127 and 254 are above 2^-110."},
    ),
    Refutation(
        claim="shipped_collectives.torchft.never_more",
        words="Two ranks, two entries: each is a row, a scale and a code of four bytes each, in place of four bytes.",
        whole={},
        measured=sp.Integer(2),
        values={P: 2, n: 2},
        met={"several": "There are two."},
    ),
    Refutation(
        claim="shipped_collectives.hook.error_of_any",
        words="One rank, one entry a 2^-27. The scale is not below 2^-23: less than half of it becomes zero.",
        whole={_a: 1},
        measured=_a * _SMALL,
        values={P: 1, ranges: _a * _SMALL},
        x=((_a * _SMALL,),),
        given={"less than half a scale": 7 - _a},
    ),
    Refutation(
        claim="shipped_collectives.nccl.error_of_any",
        words="Two ranks, one entry of E4M3 each: 448, the largest, and 32 a. The sum stays 448.",
        whole={_a: 1},
        measured=32 * _a,
        values={P: 2, element_unit: sp.Rational(1, 16), sizes: 448 + 32 * _a},
        x=((448,), (32 * _a,)),
        given={"a number of E4M3": 14 - _a},
    ),
)
"""The smallest counterexamples to what one expects of all inputs."""
