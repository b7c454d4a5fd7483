"""Where refuted claims about rounded sums are computed: the models of their smallest counterexamples."""

from typing import Any

import sympy as sp

from commbounds.theory.dense.terms import unit
from commbounds.theory.flashcomm.terms import first_width, second_width
from commbounds.theory.functions import nearest_float
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.precision.terms import addends
from commbounds.theory.quantities import P

_a, _b, _c, _j, _m = sp.symbols("a b c j m", integer=True, nonnegative=True)
_FLOAT32, _BFLOAT16, _E5M2, _E4M3 = 24, 8, 3, 4
_LARGE, _SMALL, _SMALLER = 2**_m, 2 ** (-_j), 2 ** (-_j - 1)
_NEAREST = {"to_nearest": "The collective runs this way."}
_AS_SENT = {"sums_as_sent": "The collective runs this way.", **_NEAREST}
_ONE = {"one_format": "The collective runs this way."}
_SHARES = {"shares_in_a_row": "The terms are dealt this way."}
_INPUTS = {
    **_ONE,
    **_NEAREST,
    "on_the_wire": "The entries are numbers of the format.",
    "room_for_sums": "They are far from its largest number.",
}


def _add(bits: int, *terms: Any) -> Any:
    """The sum of two numbers of so many bits, or of more, one after another."""
    total, *others = terms
    for term in others:
        total = nearest_float(total + term, bits)
    return total


def _tree(bits: int, terms: tuple[Any, ...]) -> Any:
    """The sum of the two halves, which are added up likewise."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _add(bits, _tree(bits, terms[:half]), _tree(bits, terms[half:]))


def _differ(one: Any, other: Any) -> Any:
    return sp.Piecewise((0, sp.Eq(one, other)), (1, True))


def _ranks(*entries: Any, n: int = 1) -> tuple[tuple[Any, ...], ...]:
    """What the ranks hold: n times the same entry each."""
    return tuple((entry,) * n for entry in entries)


def _relative(sum_: Any, terms: tuple[int, ...]) -> Any:
    return sp.Abs(sum_ - sum(terms)) / sum(map(abs, terms))


_ROUNDED_BEFORE = nearest_float(_add(_FLOAT32, nearest_float(1 + _SMALL, _BFLOAT16), _SMALLER), _BFLOAT16)
_ROUNDED_AFTER = nearest_float(_add(_FLOAT32, 1 + _SMALL, _SMALLER), _BFLOAT16)
_RUNNING = (-1024, 640, 4096, 512, 640, 512, 1280, 1024)
_BALANCED = (10, 64, 32, 448, 64, 640, 256, 2560, 40, 256, 128, 1792, 160, 1024, 128, 1280)
_THIRD = nearest_float(_a * 2**13 / sp.Integer(3), _E5M2)

REFUTATIONS = by_claim(
    Refutation(
        claim="precision.running.sharp_beyond",
        words="Numbers of three bits, added up by a ring from the second rank on; the first comes last.",
        whole={},
        measured=_relative(_add(_E5M2, *_RUNNING[1:], _RUNNING[0]), _RUNNING),
        values={P: 8, unit: sp.Rational(1, 8)},
        x=_ranks(*_RUNNING),
        met={**_INPUTS, "running_sum": "A ring adds one after another."},
    ),
    Refutation(
        claim="precision.tree.sharp_beyond",
        words="Numbers of three bits, added up by a balanced tree.",
        whole={},
        measured=_relative(_tree(_E5M2, _BALANCED), _BALANCED),
        values={P: 16, unit: sp.Rational(1, 8)},
        x=_ranks(*_BALANCED),
        met={**_INPUTS, "balanced_tree": "Recursive doubling of sixteen ranks is one."},
    ),
    Refutation(
        claim="precision.per_hop.like_one_format_whatever",
        words="Two ranks hold c/16 and b/512, numbers of four bits. Their sum is rounded to eight bits and then to "
        "four; either rank ends with it.",
        whole={_c: 1, _b: 1},
        measured=2
        * _differ(nearest_float(nearest_float(32 * _c + _b, _BFLOAT16), _E4M3), nearest_float(32 * _c + _b, _E4M3)),
        x=_ranks(_c / sp.Integer(16), _b / sp.Integer(512)),
        given={"c has four bits": 15 - _c, "b has four bits": 15 - _b},
        met={
            "to_nearest": "The collective runs this way.",
            "on_the_wire": "c and b have four bits.",
            "room_for_sums": "The sum is small.",
            "rounded_at_every_hop": "The collective runs this way.",
        },
    ),
    Refutation(
        claim="precision.underflow.relative",
        words="One rank holds a 2^-150 in float64; float32 has the multiples of 2^-149 there, and halves go to the "
        "even one: of an odd a 2^-150 is lost.",
        whole={_a: 1},
        measured=sp.Mod(_a, 2) * sp.Integer(2) ** -150,
        values={P: 1, unit: sp.Integer(2) ** -24, addends: _a * sp.Integer(2) ** -150},
        x=_ranks(_a * sp.Integer(2) ** -150),
        met={**_ONE, **_NEAREST, "room_for_sums": "The entry is small."},
    ),
    Refutation(
        claim="precision.bits.owner_keeps",
        words="Two ranks hold 1 and 2^-j. The owner keeps the sum in float32, the other has it in bfloat16.",
        whole={_j: 1},
        measured=_differ(nearest_float(1 + _SMALL, _FLOAT32), nearest_float(1 + _SMALL, _BFLOAT16)),
        x=_ranks(1, _SMALL),
        met={"owners_keep": "The collective runs this way.", **_NEAREST},
    ),
    Refutation(
        claim="precision.bits.own_unrounded",
        words="Four ranks hold 1, 2^-j, 2^-(j+1) and 0. Neighbours have 1 + 2^-j and 2^-(j+1) in float32, and add the "
        "other's in bfloat16: two ranks round 1 + 2^-j before they add, and two do not.",
        whole={_j: 1},
        measured=2 * _differ(_ROUNDED_AFTER, _ROUNDED_BEFORE),
        x=_ranks(1, _SMALL, _SMALLER, 0),
        given={"1 + 2^-j is exact in float32": 22 - _j},
        met={"doubling_only": "It is recursive doubling.", "own_as_it_is": "The collective runs this way.", **_AS_SENT},
    ),
    Refutation(
        claim="precision.fused.ring",
        words="Three ranks hold 1, 2^m and -2^m in bfloat16, twice. In a buffer of its own an entry's sum begins at "
        "the second rank; behind another it begins at the third. All three end with it.",
        whole={_m: 1},
        measured=3 * _differ(_add(_BFLOAT16, _LARGE, -_LARGE, 1), _add(_BFLOAT16, -_LARGE, 1, _LARGE)),
        x=_ranks(1, _LARGE, -_LARGE, n=2),
        met={"round_the_block": "It is a ring.", **_AS_SENT, "fused_behind": "The entries are laid out this way."},
    ),
    Refutation(
        claim="precision.fused.rabenseifner_unrounded",
        words="Four ranks hold 1, 2^-(j+1), 2^-j and 0, twice. The first and the third have 1 + 2^-j in float32, the "
        "others 2^-(j+1). In a buffer of its own an entry is added up by the first, which adds the other's in "
        "bfloat16; behind another by the second, which has 1 + 2^-j in bfloat16. All four end with it.",
        whole={_j: 1},
        measured=4 * _differ(_ROUNDED_AFTER, _ROUNDED_BEFORE),
        x=_ranks(1, _SMALLER, _SMALL, 0, n=2),
        given={"1 + 2^-j is exact in float32": 22 - _j},
        met={
            "rabenseifner_only": "It is Rabenseifner's schedule.",
            "own_as_it_is": "The collective runs this way.",
            **_AS_SENT,
            "fused_behind": "The entries are laid out this way.",
        },
    ),
    Refutation(
        claim="precision.shards.ring",
        words="Terms 1, 2^m, -2^m and 1 in float32. Four ranks begin with the second; one rank adds neighbours first.",
        whole={_m: 1},
        measured=_differ(
            _add(_FLOAT32, _LARGE, -_LARGE, 1, 1), _tree(_FLOAT32, (sp.Integer(1), _LARGE, -_LARGE, sp.Integer(1)))
        ),
        x=_ranks(1, _LARGE, -_LARGE, 1),
        met={"round_the_block": "It is a ring.", **_ONE, **_NEAREST, **_SHARES},
    ),
    Refutation(
        claim="precision.shards.rabenseifner",
        words="Terms 1, 1, 2^m and -2^m in float32. Four ranks add the farthest first, one rank neighbours.",
        whole={_m: 1},
        measured=_differ(
            _add(_FLOAT32, _add(_FLOAT32, 1, _LARGE), _add(_FLOAT32, 1, -_LARGE)),
            _tree(_FLOAT32, (sp.Integer(1), sp.Integer(1), _LARGE, -_LARGE)),
        ),
        x=_ranks(1, 1, _LARGE, -_LARGE),
        met={"rabenseifner_only": "It is Rabenseifner's schedule.", **_ONE, **_NEAREST, **_SHARES},
    ),
    Refutation(
        claim="precision.shards.any_ranks",
        words="Terms 1, 0, 2^m, -2^m and 1 in float32. Five ranks have (1 + 0) + 2^m and -2^m + 1, one rank "
        "(1 + 0) + (2^m - 2^m) and 1.",
        whole={_m: 1},
        measured=_differ(
            _add(_FLOAT32, _add(_FLOAT32, 1, _LARGE), _add(_FLOAT32, -_LARGE, 1)),
            _add(_FLOAT32, _add(_FLOAT32, 1, _add(_FLOAT32, _LARGE, -_LARGE)), 1),
        ),
        x=_ranks(1, 0, _LARGE, -_LARGE, 1),
        met={
            "doubling_only": "It is recursive doubling.",
            **_ONE,
            **_NEAREST,
            "any_shares": "They are dealt one after another.",
        },
    ),
    Refutation(
        claim="precision.average.any_ranks",
        words="Three ranks hold 3, 3 2^m and 0 in float32. Divided before, 2^m + 1 is rounded; divided after, "
        "3 2^m + 3 is, and then a third of that.",
        whole={_m: 1},
        measured=_differ(
            _add(_FLOAT32, _LARGE, 1), nearest_float(_add(_FLOAT32, 3 * _LARGE, 3) / sp.Integer(3), _FLOAT32)
        ),
        x=_ranks(3, 3 * _LARGE, 0),
        met={**_NEAREST, "whole_shares": "They are 1, 2^m and 0.", "sum_has_room": "m is small."},
    ),
    Refutation(
        claim="precision.average.before_in_range",
        words="Three ranks hold a 2^13 in float8_e5m2, whose largest number is 7 2^13. A third of it is rounded, and "
        "three of these are added up, one after another.",
        whole={_a: 1},
        measured=sp.Piecewise((1, _add(_E5M2, _THIRD, _THIRD, _THIRD) > 7 * 2**13), (0, True)),
        x=_ranks(_a * 2**13, _a * 2**13, _a * 2**13),
        given={"a is at most 7": 7 - _a},
        met={
            **_ONE,
            **_NEAREST,
            "divided_before": "The collective runs this way.",
            "entries_finite": "a is at most 7.",
        },
    ),
    Refutation(
        claim="precision.overflow.exact_sum",
        words="Three ranks hold a 2^13, a 2^13 and -a 2^13 in float8_e5m2, whose largest number is 7 2^13. The first "
        "two are added first.",
        whole={_a: 1},
        measured=sp.Piecewise((1, nearest_float(2 * _a * 2**13, _E5M2) > 7 * 2**13), (0, True)),
        x=_ranks(_a * 2**13, _a * 2**13, -_a * 2**13),
        given={"a is at most 7": 7 - _a},
        met={"exact_sum_fits": "It is a 2^13.", **_NEAREST},
    ),
    Refutation(
        claim="precision.quantised.own_entries",
        words="One rank holds a group (-a, a, b), a > b, with one bit an entry: b is read as a, in both stages.",
        whole={_a: 1, _b: 1},
        measured=(_a - _b) / _b,
        values={first_width: 1, second_width: 1},
        x=((-_a, _a, _b),),
        positive={"a > b": _a - _b},
        met={"exact_metadata": "The scale is 2 a.", "some_groups": "There is one."},
    ),
    Refutation(
        claim="precision.overflow.nan",
        words="Two ranks hold 32 a and 32 b in float8_e4m3fn, whose largest number is 448 = 32 14; what is above it "
        "is no number.",
        whole={_a: 1, _b: 1},
        measured=sp.Piecewise((1, nearest_float(32 * (_a + _b), _E4M3) > 448), (0, True)),
        x=_ranks(32 * _a, 32 * _b),
        given={"a is at most 14": 14 - _a, "b is at most 14": 14 - _b},
        met={"one_sign": "Both are positive."},
    ),
)
