"""What certificates prove of sums in block-scaled formats: bytes, two roundings, shared scales, correlated codes."""

from typing import Any

import sympy as sp

from commbounds.theory.blockformats.models_blocks import Goals, named
from commbounds.theory.blockformats.terms import (
    codebits,
    codetop,
    elementbits,
    fraction,
    fractionnoise,
    otherfraction,
    ownfraction,
)
from commbounds.theory.finite_laws import chebyshev, over_all, share_of_squares, square_with_noise
from commbounds.theory.model import Goal, in_range, recurrence
from commbounds.theory.quantities import P, block, index_bits, n

_scales, _codes, _sums, _whole, _bytes = sp.symbols("scales codes sums whole bytes", nonnegative=True)
_plus, _minus, _plus_sent, _minus_sent, _out = sp.symbols("plus minus plus_sent minus_sent out", nonnegative=True)
_top, _f, _cells, _left, _products, _before = sp.symbols("top f cells left products before", nonnegative=True)
_together = sp.Symbol("together", real=True)
_ranks = sp.Symbol("ranks", integer=True, positive=True)

_STEP = sp.ceiling(elementbits * n / (8 * P))
_PART_SCALES = sp.ceiling(n / (P * block))
_SUM_CODES = sp.ceiling(index_bits(2 * P * codetop + 1) * n / (8 * P))


def _around(each: Any, known: Any) -> Goals:
    """That the bound is `each` for every step round a ring."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        sent = bound.xreplace(known).subs(P, _ranks)
        return recurrence(sent, _ranks, 0, lambda so_far, _: so_far + each, start=1)

    return goals


def _price(bound: Any) -> tuple[Goal, ...]:
    sent = 2 * (P - 1) * (_bytes + _whole)
    return (
        Goal(
            "bits an entry",
            bound - 8 * sent * P / (2 * (P - 1) * n),
            equal=True,
            positive={"P - 1": P - 1, "n": n, "block": block},
            zero={
                "whole bytes of elements": sp.Integer(8) * P * _bytes - elementbits * n,
                "whole blocks": P * block * _whole - n,
            },
        ),
    )


_ONCE = {"at most 6/5": sp.Rational(6, 5), "at least 3/4": sp.Rational(3, 4)}


def _between(name: str, before: Any, after: Any) -> dict[str, Any]:
    """That a rounding multiplies by at least 3/4 and at most 6/5."""
    return {
        f"{name} at most 6/5": sp.Rational(6, 5) * before - after,
        f"{name} at least 3/4": after - sp.Rational(3, 4) * before,
    }


def _two_roundings(bound: Any) -> tuple[Goal, ...]:
    ends = ((4, 4, 5), (6, 5, 8))
    given = {
        **_between("the terms of its sign", _plus, _plus_sent),
        **_between("the others", _minus, _minus_sent),
        **_between("the sum", _plus_sent - _minus_sent, _out),
        "plus": _plus,
        "minus": _minus,
    }
    moved = _out - (_plus - _minus)
    return (
        *share_of_squares("terms, no more"),
        *over_all(
            lambda sent, sizes: sent - sp.Rational(3, 4) * sizes, sp.symbols("sent size"), case="terms, no less: "
        ),
        *(
            Goal(f"becomes {element}, {name}", show, given=in_range(_top, low, high))
            for element, low, high in ends
            for name, show in _between("", _top, sp.Integer(element)).items()
        ),
        Goal("above", bound * (_plus + _minus) - moved, given=given),
        Goal("below", bound * (_plus + _minus) + moved, given=given),
    )


def _rounded_codes(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, P, 0, lambda off, _: off + sp.Rational(1, 2), start=0)


def _cell_mean(bound: Any) -> tuple[Goal, ...]:
    """`cells` cells below the fraction f = (cells + left)/P, and one of which `left` is."""
    up = _cells * (1 / P) + (1 / P) * _left
    return (
        Goal("a rank alone", bound - (up - _f), equal=True, positive={"P": P}, zero={"f": P * _f - _cells - _left}),
    )


def _added(bound: Any) -> tuple[Goal, ...]:
    own = _f * (1 - _f) ** 2 + (1 - _f) * _f**2
    more = bound.subs(fractionnoise, fractionnoise + _f * (1 - _f)) - bound
    return (
        *square_with_noise(),
        Goal("no rank", bound.subs(fractionnoise, 0), equal=True),
        Goal("one more rank", more - own, equal=True),
    )


def _equal(bound: Any) -> tuple[Goal, ...]:
    at = bound.xreplace({sp.Mod(P * fraction, 1): _left})
    variance = _left * (1 - _left) ** 2 + (1 - _left) * _left**2
    below = over_all(lambda ups, cells: ups - cells, (sp.S.One, sp.S.One), case="cells below: ", equal=True)
    return *below, Goal("a code and the next", at - variance, equal=True)


def _pair(bound: Any) -> tuple[Goal, ...]:
    """Two cells, of chances 2 f and 0 below one half, 1 and 2 f - 1 above."""
    goals = []
    for own, first in (("below", (2 * ownfraction, 0)), ("above", (1, 2 * ownfraction - 1))):
        for other, second in (("below", (2 * otherfraction, 0)), ("above", (1, 2 * otherfraction - 1))):
            least = {
                sp.Min(f, 1 - f): f if side == "below" else 1 - f
                for f, side in ((ownfraction, own), (otherfraction, other))
            }
            both = (first[0] * second[1] + first[1] * second[0]) / sp.Integer(2)
            variance = (
                ownfraction * (1 - ownfraction)
                + otherfraction * (1 - otherfraction)
                + 2 * (both - ownfraction * otherfraction)
            )
            goals.append(Goal(f"{own}, {other}", bound.xreplace(least) - variance, equal=True))
    return tuple(goals)


def _never_worse(bound: Any) -> tuple[Goal, ...]:
    both = (P**2 * ownfraction * otherfraction - _products) / (P * (P - 1))
    pairs, a, b, all_a, all_b = sp.symbols("pairs a b all_a all_b", nonnegative=True)
    return (
        *chebyshev(),
        Goal("different cells, one more", pairs + a * all_b + all_a * b - (all_a + a) * (all_b + b) + _products + a * b,
             equal=True, zero={"pairs before": pairs - (all_a * all_b - _products)}),
        *over_all(lambda together: -together, (_together,), case="pairs of ranks: "),
        Goal(
            "a pair",
            ownfraction * otherfraction - both,
            given={"Chebyshev": _products - P * ownfraction * otherfraction},
            positive={"P": P, "P - 1": P - 1},
        ),
        Goal("all of them", bound - (fractionnoise + _together), given={"pairs": -_together}),
    )  # fmt: skip


_PARTS = "every n that P divides, every P, every block"
_CELLS = "every P, every entries between two codes each"

SUMS = (
    named(
        "requantised.bytes",
        "A rank sends P - 1 messages of a part in either half: `codes` = ceil(elementbits n/(8 P)) bytes of elements, "
        "and `scales` = ceil(n/(P block)).",
        _PARTS + ", every element format",
        _around(2 * (_codes + _scales), {_STEP: _codes, _PART_SCALES: _scales}),
    ),
    named(
        "requantised.bits_an_entry_of_whole_blocks",
        "A part has `whole` = n/(P block) blocks, and `bytes` = elementbits n/(8 P); of 2 (P - 1) messages.",
        "every P >= 2, every n that P blocks divide, where P bytes divide the elements, every element format",
        _price,
    ),
    named(
        "requantised.direct_error",
        "In quarters of its power of two an entry alone in its block is from 4 to 8, and becomes 4 or 6: between 3/4 "
        "and 6/5 of itself. `plus` and `minus` are the sums of the magnitudes of the terms with the sign of what they "
        "add up to once they are rounded, `plus_sent` - `minus_sent`, and of the others; `out` is that, rounded.",
        "every P, every numbers in blocks of one entry whose scales E8M0 has, E2M1, in real arithmetic",
        _two_roundings,
    ),
    named(
        "homomorphic.error",
        "Each code is off by half of the scale at most, and sums are exact: induction on the ranks.",
        "every P, every x_i of which no code is cut off, in real arithmetic",
        _rounded_codes,
    ),
    named(
        "homomorphic.bytes",
        "In each of P - 1 steps two numbers of ceil(n/block) bytes, and messages of `codes` = ceil(codebits n/(8 P)) "
        "and of `sums` bytes, ceil of so many bits of a sum n/(8 P).",
        _PARTS + ", every number of bits of a code",
        _around(
            2 * _scales + _codes + _sums,
            {sp.ceiling(n / block): _scales, sp.ceiling(codebits * n / (8 * P)): _codes, _SUM_CODES: _sums},
        ),
    ),
    named(
        "correlated.unbiased",
        "P f = `cells` + `left` for the fraction f, 0 <= left < 1. A rank's cell is one of P with equal chances: in "
        "`cells` of them it goes up, in another with probability `left`, in the others not. Independent uniforms are "
        "the case P = 1, cells = 0.",
        _CELLS,
        _cell_mean,
    ),
    named(
        "correlated.independent",
        "Variances of independent ranks add up, and one that goes up with probability f has f (1 - f)^2 + (1 - f) f^2: "
        "induction on the ranks.",
        _CELLS,
        _added,
    ),
    named(
        "correlated.equal",
        "P f is whole but for `left`: the uniforms of so many cells are below f, and one more with probability `left`, "
        "for any owner of that cell. The sum is one of two neighbours.",
        "every P, equal entries between two codes",
        _equal,
    ),
    named(
        "correlated.pair",
        "Two cells, of which each rank has one: in the lower a rank goes up with probability 2 f, or surely from one "
        "half on, in the upper with probability 2 f - 1, or not below one half. Both with the mean product over the "
        "two ways; the variances, and twice the covariance, for every side of one half.",
        "two ranks, every entries between two codes each",
        _pair,
    ),
    named(
        "correlated.never_worse",
        "Chances of two ranks to go up fall from cell to cell, and add up to P f over them; `products` is the sum of "
        "the products in equal cells, at least P times those of the means, as goals of Chebyshev's sum inequality "
        "show. In different cells both go up with the mean of the other products: no more than independently. "
        "`together` is the sum of all covariances.",
        _CELLS,
        _never_worse,
    ),
)
