"""What certificates prove of the randomised Hadamard transform, of messages' sizes, and of several ranks."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import at_most_each, drawn_next, independent_of, kept_products, uncorrelated
from commbounds.theory.flashcomm.terms import width
from commbounds.theory.model import Goal, Model, recurrence
from commbounds.theory.quantities import P, index_bits, itembits, k, n, norm2, s
from commbounds.theory.rotations.terms import bias_share, d, rotated_top, single_error, spectrum

length = sp.Symbol("length", positive=True)
"""The length of the rotated vector."""
halvings = sp.Symbol("halvings", integer=True, nonnegative=True)
"""Its logarithm."""
_a, _b, _u, _v, _x, _sum, _other, _row = sp.symbols("a b u v x sum other row", real=True)
_sign, _h, _g, _first, _second = sp.symbols("sign h g first second", real=True)
_f, _square, _codes, _codebits, _sumbytes = sp.symbols("f square codes codebits sumbytes", nonnegative=True)

Goals = Callable[[Any], tuple[Goal, ...]]
HALF_WAY = Goal("half-way", sp.Rational(1, 4) - _f * (1 - _f), hints=(2 * _f - 1,))
"""That a share of one has no larger variance than a half."""


def named(name: str, words: str, scope: str, goals: Goals) -> Model:
    """The model of a claim of the column, tied to the claim's own cases and to tests."""
    claim = f"rotations.{name}"
    return Model(claim, words, scope, goals)


def of_length(bound: Any) -> Any:
    """The bound in the length of the rotated vector."""
    return bound.xreplace({d: length, 1 / d: 1 / length})


# --- the transform ---------------------------------------------------------------------------------------------------


def _norm(bound: Any) -> tuple[Goal, ...]:
    growth = bound.xreplace({index_bits(n): halvings})
    return *kept_products(), *recurrence(growth, halvings, 1, lambda so_far, _: 2 * so_far)


def _inverse(bound: Any) -> tuple[Goal, ...]:
    twice = {"u is d times a": _u - length * _a, "v is d times b": _v - length * _b}
    return (
        Goal("the first half", (_u + _v) + (_u - _v) - 2 * length * _a, equal=True, zero=twice),
        Goal("the second half", (_u + _v) - (_u - _v) - 2 * length * _b, equal=True, zero=twice),
        Goal(
            "an entry",
            bound - (_sign * (length * _sign * _x) / length - _x),
            equal=True,
            positive={"length": length},
            zero={"a sign": _sign**2 - 1},
        ),
    )


def _additions(bound: Any) -> tuple[Goal, ...]:
    counted = bound.xreplace({index_bits(n): halvings})
    return recurrence(counted, halvings, 0, lambda so_far, steps: 2 * so_far + 2 * 2**steps)


def _coordinate(bound: Any) -> tuple[Goal, ...]:
    free = {"the sign is drawn alone": _sum * _sign, "a sign": _sign**2 - 1, "an entry of H": _h**2 - 1}
    return (
        *independent_of("signs"),
        Goal("one more entry", (_sum + _h * _sign * _x) ** 2 - _sum**2 - _x**2, equal=True, zero=free),
        Goal("all of them", bound * _square - _square, equal=True),
    )


def _correlation(bound: Any) -> tuple[Goal, ...]:
    free = {
        "the sign is drawn alone": _sum * _sign,
        "the sign is drawn alone, the other entry": _other * _sign,
        "a sign": _sign**2 - 1,
    }
    both = (_sum + _g * _sign * _x) * (_other + _h * _sign * _x)
    return (
        *independent_of("signs"),
        Goal("one more entry", both - _sum * _other - _g * _h * _x**2, equal=True, zero=free),
        Goal(
            "all of them",
            bound * norm2**2 - _row,
            equal=True,
            zero={"the largest row of H on the squares": _row - spectrum * norm2**2},
        ),
    )


_LENGTHS = "every n, every x in R^n but zero"

TRANSFORM = (
    named(
        "randomised_hadamard.norm",
        "Signs change no square, and each of log2 d = `halvings` steps takes pairs (a, b) to (a + b, a - b): twice the "
        "square. Induction on the steps.",
        _LENGTHS,
        _norm,
    ),
    named(
        "randomised_hadamard.inverse",
        "Induction on the length: of twice the length, H takes the halves a and b to H a + H b and H a - H b. Applied "
        "twice it gives (u + v) + (u - v) and (u + v) - (u - v), u = H H a = length a and v = H H b = length b. The "
        "signs cancel.",
        _LENGTHS,
        _inverse,
    ),
    named(
        "randomised_hadamard.additions",
        "For twice the length there are two transforms of the halves, and one sum or difference per entry. Induction "
        "on log2 d = `halvings`.",
        "every n",
        _additions,
    ),
    named(
        "randomised_hadamard.coordinate",
        "Induction on the entries of x: `sum` is that of those before, each times a sign and an entry of H, and the "
        "next one's sign is independent of it, so that their product has no mean. `square` is ||x||^2.",
        _LENGTHS,
        _coordinate,
    ),
    named(
        "randomised_hadamard.correlation",
        "Induction on the entries of x as for rotations.randomised_hadamard.coordinate, for rows with entries g and h: "
        "their mean product is the sum of g h x^2, and g h is an entry of a row of H, which is not the first. The "
        "largest of these sums is `row`, `spectrum` times ||x||^2 by definition; variances are ||x||^2.",
        _LENGTHS,
        _correlation,
    ),
)

# --- sizes -----------------------------------------------------------------------------------------------------------


def _entrywise(fields: Any, each: Any, known: Any = None) -> Goals:
    def goals(bound: Any) -> tuple[Goal, ...]:
        bits = of_length(bound).xreplace(known or {})
        return (
            Goal("numbers beside", bits.subs(length, 0) - fields, equal=True),
            Goal("one more rotated entry", bits.subs(length, length + 1) - bits - each, equal=True),
        )

    return goals


def _padded(bound: Any) -> tuple[Goal, ...]:
    given = {"half of the length is below n": 2 * (n - 1) - length}
    return (Goal("bits", bound - (itembits + length), given=given),)


def _values(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("nothing beside", bound.subs(k, 0), equal=True),
        Goal("one more value", bound.subs(k, k + 1) - bound - itembits, equal=True),
    )


_MESSAGES = "every x in R^n, every n, every dtype"

SIZES = (
    named("drive.wire", "A scale, and a bit for each of `length` rotated entries: induction on these.", _MESSAGES,
          _entrywise(itembits, 1)),
    named("eden.wire", "A scale, and `width` bits for each of `length` rotated entries: induction on these.",
          _MESSAGES + ", every width", _entrywise(itembits, width)),
    named(
        "rotateddithering.wire",
        "Two numbers, and `codebits` = index_bits(s + 1) bits for each of `length` rotated entries: induction on "
        "these.",
        _MESSAGES + ", every s >= 1",
        _entrywise(2 * itembits, _codebits, {index_bits(s + 1): _codebits}),
    ),
    named("hadamardsketch.wire", "k values: induction on k.", _MESSAGES + ", every k", _values),
    named(
        "drive.wire_padded",
        "A scale, and a bit for each of `length` rotated entries. As the least power of two that is not below n, n >= "
        "2, it is even, and half of it is below n: at most n - 1.",
        "every x in R^n, every n >= 2, every dtype",
        _padded,
    ),
)  # fmt: skip

# --- several ranks ---------------------------------------------------------------------------------------------------


def _around(each: Any, known: Any) -> Goals:
    """That the bound is `each` for every step round a ring."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        ranks = sp.Symbol("ranks", integer=True, positive=True)
        sent = bound.xreplace(known).subs(P, ranks)
        return recurrence(sent, ranks, 0, lambda so_far, _: so_far + each, start=1)

    return goals


def _private(bound: Any) -> tuple[Goal, ...]:
    total = single_error * P + bias_share * P * (P - 1)
    more = total.subs(P, P + 1) - total - single_error - 2 * P * bias_share
    return (
        *drawn_next("an entry of a product", sp.Symbol("mean_of_entry")),
        Goal("no rank", total.subs(P, 0), equal=True),
        Goal("one more rank", more, equal=True),
        Goal("their mean", bound - total / P**2, equal=True, positive={"P": P}),
    )


def _sum_error(bound: Any) -> tuple[Goal, ...]:
    rank = length * (rotated_top / s) ** 2 / 4
    each, total = sp.symbols("variance_of_one total", nonnegative=True)
    return (
        HALF_WAY,
        *uncorrelated(each),
        *at_most_each("entries of all ranks", each, P * length, total),
        *kept_products(),
        Goal("ranks", bound - P * (length * rank) / length**2, equal=True, positive={"length": length, "s": s}),
    )


_own, _part = sp.ceiling(d * width / 8), d / P

TOGETHER = (
    named(
        "rotated_mean.bytes",
        "In each of P - 1 steps round a ring a message is passed on: `codes` bytes of codes, ceil(length width/8), and "
        "a number.",
        "every P and n, every width, every dtype",
        _around(_codes + itembits / 8, {_own: _codes}),
    ),
    named(
        "rotated_mean.private",
        "The squared norm of the sum of P errors, in units of that of x: an error's own is `single_error`, and the "
        "product of two independent ones that of their means, bias_share. Induction on the ranks; then over P^2.",
        "every P, every x in R^n but zero on all ranks",
        _private,
    ),
    named(
        "rotated_mean.shared",
        "All estimates are one, and so is their mean.",
        "every P, every x in R^n but zero on all ranks",
        lambda bound: (Goal("mean", bound - P * single_error / P, equal=True, positive={"P": P}),),
    ),
    named(
        "rotated_sum.error",
        "A rotated entry lies f of the way between two multiples of the step t/s, and has the variance f (1 - f) of "
        "its square, a quarter at most: `length` entries of P independent ranks. D H multiplies the squared norm by "
        "`length`, and the result is divided by it squared. Entries that were padded are dropped.",
        "every P and n, all x_i in R^n, every s >= 1, in real arithmetic",
        _sum_error,
    ),
    named(
        "rotated_sum.bytes",
        "A rank sends P - 1 times a number, `codebits` bytes of codes of a block, and `sumbytes` of sums: three rounds "
        "of a ring.",
        "every P that divides the padded length, every s >= 1, every dtype",
        _around(
            itembits / 8 + _codebits + _sumbytes,
            {
                sp.ceiling(_part * index_bits(2 * s + 1) / 8): _codebits,
                sp.ceiling(_part * index_bits(2 * P * s + 1) / 8): _sumbytes,
            },
        ),
    ),
)
