"""What certificates prove of compressors that draw: with replacement, all or nothing, ATOMO, TernGrad clipped."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_all, over_histories, proved_by, share_of_squares, square_of_mean
from commbounds.theory.model import Goal, Model, recurrence
from commbounds.theory.quantities import entries, index_bits, itembits, k, n, norm1, norm2, norminf
from commbounds.theory.shipped.terms import budget, clip, deviation, keep

_ALL = "every x in R^n but zero, every n >= 1 and k >= 1, in real arithmetic"
_count, _place = sp.symbols("countbits placebits", nonnegative=True)
_a, _sum, _squares, _level, _certain = sp.symbols("a sum squares level certain", nonnegative=True)
_total, _slack, _root = sp.symbols("total slack root", nonnegative=True)
_x, _mean, _off = sp.symbols("x mean off", real=True)
_p = sp.Symbol("p", positive=True)

Goals = Callable[[Any], tuple[Goal, ...]]


def expected(measured: Any, **known: Any) -> Goals:
    """That the bound is what is measured of one entry, whose square is one."""
    return lambda bound: (Goal("entry", bound - measured, equal=True, **known),)


def in_the_mean(measured: Any, *more: Goal, **known: Any) -> Goals:
    """The same, of the expected squared error: over all entries it is that share of all squares."""
    return lambda bound: (*more, *share_of_squares("entries", equal=True), *expected(measured, **known)(bound))


def counted(fields: Any, each: Any, goal: str = "one more entry") -> Goals:
    """That the bound is the bits of the fields, and those of each value: induction on the values."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        bits = bound.xreplace({index_bits(n + 1): _count, index_bits(n): _place})
        return (
            Goal("no entry", bits.subs(entries, 0) - fields, equal=True),
            Goal(goal, bits.subs(entries, entries + 1) - bits - each, equal=True),
        )

    return goals


def branch(bound: Any, zero: bool) -> Any:
    """The bound with its Max, of zero and something, replaced by one of them."""
    return bound.replace(
        lambda e: isinstance(e, sp.Max), lambda e: next((a for a in e.args if bool(a.is_zero) is zero), e.args[0])
    )


def model_of(name: str, words: str, scope: str, goals: Goals) -> Model:
    """The model of a claim of the column, tied to the claim's own cases and to tests."""
    claim = f"shipped.{name}"
    return Model(claim, words, scope, goals)


# --- draws with replacement ------------------------------------------------------------------------------------------

_drawn = 1 - (1 - 1 / n) ** k
_gain = n / k
_MISSED = (
    "A draw misses a place with probability 1 - 1/n, and k independent draws with the k-th power of it; a place that "
    "is drawn is sent, times n/k. "
)
_TIMES = (
    "A draw takes a place with probability 1/n, and adds n/k of the entry: mean 1/n times n/k, variance (1/n)(1 - 1/n) "
    "times its square; k independent draws add up. "
)
_drawn_size, _draws = sp.symbols("drawn_size draws", nonnegative=True)
_DRAWN = over_histories(
    "one more draw",
    ((1 / n, (_off + _gain * (1 - 1 / n)) ** 2), (1 - 1 / n, (_off - _gain / n) ** 2)),
    {_drawn_size: _off**2, _draws: sp.S.One},
    _drawn_size + _gain**2 * (1 / n) * (1 - 1 / n) * _draws,
    positive={"n": n, "k": k},
)
_variance = k * _gain**2 * (1 / n) * (1 - 1 / n)
_omega = (n - 1) / k

_REPLACED = (
    model_of(
        "replacementrandk.bias", _MISSED + "All entries shrink by one factor.", _ALL, expected(1 - _drawn * _gain)
    ),
    model_of(
        "replacementrandk.error",
        _MISSED + "Expected squared error of an entry of square one.",
        _ALL,
        in_the_mean(
            _drawn * (_gain - 1) ** 2 + 1 - _drawn,
            *proved_by("missed", recurrence((1 - 1 / n) ** k, k, 1, lambda missed, _: missed * (1 - 1 / n))),
        ),
    ),
    model_of(
        "replacementrandk.support",
        _MISSED + "No entry is zero: n places, each of which is sent with that probability.",
        "every x in R^n without zeros, every n >= 1 and k >= 1",
        expected(n * _drawn),
    ),
    model_of(
        "replacementrandk.unbiased_added",
        _TIMES + "The mean, less the entry.",
        "every x in R^n, every n >= 1 and k >= 1, in real arithmetic",
        expected(k * (1 / n) * _gain - 1),
    ),
    model_of("replacementrandk.variance", _TIMES, _ALL, in_the_mean(_variance, *_DRAWN)),
    model_of(
        "replacementrandk.shrunk_contraction",
        _TIMES + "Divided by 1 + (n - 1)/k: its variance by the square of that, and what the mean is short of.",
        _ALL,
        in_the_mean(
            _variance / (1 + _omega) ** 2 + (1 - 1 / (1 + _omega)) ** 2, *_DRAWN, positive={"n + k - 1": n + k - 1}
        ),
    ),
)

# --- everything or nothing -------------------------------------------------------------------------------------------

_lazy = "every x in R^n but zero, every n >= 1, every 0 < keep <= 1, in real arithmetic"
_ONCE = "All of x is sent with probability keep, over keep, else zero: an entry of square one. "
_both = keep * k / n

_LAZY = (
    model_of("bernoullilazy.unbiased", _ONCE + "The mean, less the entry.", _lazy, expected(keep / keep - 1)),
    model_of("bernoullilazy.variance", _ONCE, _lazy, in_the_mean(keep * (1 / keep - 1) ** 2 + 1 - keep)),
    model_of("bernoullilazy.second_moment", _ONCE, _lazy, expected(keep * (1 / keep) ** 2)),
    model_of(
        "bernoullilazy.composed",
        "An entry is kept by Rand-K with probability k/n, and then sent with probability keep, independently; it is "
        "sent over the product of both.",
        "every x in R^n but zero, every n >= k >= 1, every 0 < keep <= 1, in real arithmetic",
        in_the_mean(
            _both * (1 / _both - 1) ** 2 + 1 - _both,
            *over_histories(
                "kept, then sent",
                ((keep, (1 / _both - 1) ** 2 * _level + (1 - _level)), (1 - keep, sp.S.One)),
                {_drawn_size: _level, _draws: sp.S.One},
                keep * (1 / _both - 1) ** 2 * _drawn_size + keep * (_draws - _drawn_size) + (1 - keep) * _draws,
                positive={"n": n, "k": k, "keep": keep},
            ),
        ),
    ),
    model_of(
        "bernoullilazy.shrunk_contraction",
        _ONCE + "One plus the variance is 1/keep: divided by that, what is sent is x.",
        _lazy,
        expected(keep * (1 / keep / (1 + (1 / keep - 1)) - 1) ** 2 + 1 - keep),
    ),
    model_of(
        "bernoullilazy.wire",
        "One bit, and `entries` values, all or none.",
        "every x in R^n, every n, every dtype",
        counted(1, itembits, "one more value"),
    ),
)

# --- ATOMO -----------------------------------------------------------------------------------------------------------


def _balanced(bound: Any) -> tuple[Goal, ...]:
    def total(magnitudes: Any, squares: Any) -> Any:
        return magnitudes * norm1 / budget - squares

    up = budget * _a / norm1
    entry = up * (_a / up - _a) ** 2 + (1 - up) * _a**2
    more = total(_sum + _a, _squares + _a**2) - total(_sum, _squares)
    return (
        *over_histories(
            "an entry's draw", ((up, (_a / up - _a) ** 2), (1 - up, _a**2)), {_squares: total(_a, _a**2)}, _squares
        ),
        Goal("no entry", total(0, 0), equal=True),
        Goal("one more entry", more - entry, equal=True),
        Goal("all of them", bound * norm2**2 - total(norm1, norm2**2), equal=True),
    )


def _capped(bound: Any) -> tuple[Goal, ...]:
    """`certain` entries above the level have the squares `total`, the others magnitudes `sum` and squares `squares`."""
    error = _level * _sum - _squares
    given = {
        "Cauchy": (n - _certain) * _squares - _sum**2,
        "those above the level": _total - _certain * _level**2,
        "certain": _certain,
        "n - B": n - budget,
    }
    a, chance = sp.Symbol("magnitude", nonnegative=True), sp.Symbol("magnitude", nonnegative=True) / _level
    off = chance * (_level - a) ** 2 + (1 - chance) * a**2
    return (
        *square_of_mean(),
        *over_all(lambda error, sums, squares: error - (_level * sums - squares), (off, a, a**2), case="entries: ",
                  positive={"level": _level}, equal=True),
        *over_all(lambda squares, count: squares - _level**2 * count, (_total, sp.S.One), case="entries above: "),
        Goal("as many as there are nonzero entries", bound * (_total + _squares), given={"total": _total,
             "squares": _squares, "n - B": n - budget}, positive={"B": budget}),
        Goal(
            "fewer",
            bound * (_total + _squares) - error,
            given=given,
            positive={"others": n - _certain, "B": budget},
            zero={"the budget": _sum - _level * (budget - _certain)},
            hints=(n - budget, _level * (n - budget)),
        ),
    )  # fmt: skip


def _shrunk(bound: Any) -> tuple[Goal, ...]:
    omega = n / budget - 1
    error = (omega - _slack) / (1 + omega) ** 2 + (omega / (1 + omega)) ** 2
    return (
        *proved_by("variance", _capped(omega)),
        Goal("shrunk", bound - error, given={"slack": _slack}, positive={"n": n, "B": budget}),
    )


def _support(bound: Any) -> tuple[Goal, ...]:
    level = sp.Symbol("level", positive=True)
    return (
        *over_all(
            lambda sent, sums: level * sent - sums,
            (_a / level, _a),
            case="entries: ",
            positive={"level": level},
            equal=True,
        ),
        Goal("all are sent", bound - _certain, given={"no more than the budget": budget - _certain}),
        Goal(
            "some are drawn",
            bound - _certain - _sum / level,
            equal=True,
            positive={"level": level},
            zero={"the budget": _sum - level * (budget - _certain)},
        ),
    )


_DRAWN_ALONE = (
    "Magnitudes up to the level are sent as the level with probability magnitude/level, the others as they are. "
    "`certain` entries are above it, with squares that sum to `total`, at least its square each; the others have the "
    "sum of magnitudes `sum` and of squares `squares`, and have the error level |x| - x^2. Probabilities add up to the "
    "budget B: certain + sum/level = B. Where B is at least the number of nonzero entries, nothing is lost. "
)
_some = "every x in R^n but zero, every n >= 1, every budget 0 < B <= n, in real arithmetic"

_ATOMIC = (
    model_of(
        "atomic.unbiased",
        "An entry that is not zero is sent over its probability p > 0: its mean, less itself.",
        "every x in R^n, every n >= 1, every budget > 0, in real arithmetic",
        expected(_p / _p - 1),
    ),
    model_of(
        "atomic.variance_balanced",
        "An entry of magnitude a is sent over p = B a/||x||_1 with that probability. The claim, times the squared "
        "norm: induction on the entries, ||x||_1 being what it is at the end; `sum` and `squares` are sums so far.",
        "every x in R^n but zero with B max |x_i| <= ||x||_1, every n >= 1, in real arithmetic",
        _balanced,
    ),
    model_of("atomic.variance", _DRAWN_ALONE + "The claim, times the squared norm.", _some, _capped),
    model_of(
        "atomic.shrunk_contraction",
        "Unbiased, with the variance omega - slack, omega = n/B - 1 and slack >= 0 as goals of shipped.atomic.variance "
        "show: divided by 1 + omega it has the variance over its square, and the bias omega/(1 + omega).",
        _some,
        _shrunk,
    ),
    model_of(
        "atomic.support", _DRAWN_ALONE, "every x in R^n, every n >= 1, every budget > 0, in real arithmetic", _support
    ),
    *(
        model_of(
            f"{name}.wire",
            "The number of entries sent takes `countbits` = index_bits(n + 1) bits; each of `entries` an index of "
            "`placebits` = index_bits(n), and a value.",
            "every x in R^n, every n, every dtype",
            counted(_count, _place + itembits),
        )
        for name in ("replacementrandk", "atomic")
    ),
)

# --- TernGrad, clipped -----------------------------------------------------------------------------------------------

_bound = clip * deviation


def _clipped_bias(bound: Any) -> tuple[Goal, ...]:
    top = {"||x||_inf": norminf}
    return (
        Goal("clipped", branch(bound, False) - (norminf - _bound) / norminf, equal=True, positive=top),
        Goal("another entry", branch(bound, False) * norminf - (_a - _bound), given={"largest": norminf - _a},
             positive=top),
        Goal("not clipped", branch(bound, True), equal=True),
    )  # fmt: skip


def _one_sparse(bound: Any) -> tuple[Goal, ...]:
    at = bound.xreplace({sp.sqrt(n - 1): _root})
    others = (_a - _a / n) ** 2 + (n - 1) * (_a / n) ** 2
    limit, root = clip * _a * _root / n, {"root of n - 1": _root**2 - n + 1}
    return (
        Goal("deviation", n * (_a * _root / n) ** 2 - others, equal=True, positive={"n": n}, zero=root),
        Goal("clipped", branch(at, False) * _a**2 - (_a - limit) ** 2, equal=True, positive={"n": n}),
        Goal("not clipped", branch(at, True), equal=True),
    )


_CLIPPED = (
    model_of(
        "clippedterngrad.bias",
        "Entries are clipped to [-c, c], c = clip deviation, and what is drawn has that as its mean. The largest entry "
        "is off by norminf - c, where that is positive, another of magnitude a by a - c at most.",
        "every x in R^n but zero, every n >= 1, every clip > 0, in real arithmetic",
        _clipped_bias,
    ),
    model_of(
        "clippedterngrad.unbiased_unclipped",
        "An entry of magnitude a is sent as `level`, the largest magnitude, with probability a/level: its mean, less "
        "itself. Zero stays.",
        "every x in R^n of which nothing is clipped, every n >= 1, in real arithmetic",
        lambda bound: (
            Goal("entry", bound - (_a / _level * _level - _a), equal=True, positive={"level": _level}),
        ),
    ),
    model_of(
        "clippedterngrad.equal_entries",
        "n deviations `off` from the mean of entries x, where n times the mean is n x: zero, and so is the bound to "
        "which entries are clipped. Each loses its whole square.",
        "every x in R^n with equal entries but zero, every n >= 1, every clip > 0",
        lambda bound: (
            Goal("deviation", _off, equal=True, positive={"n": n},
                 zero={"deviation": _off - (_x - _mean), "mean": _mean - _x}),
            Goal("error", bound * _x**2 - (0 - _x) ** 2, equal=True),
        ),
    ),
    model_of(
        "clippedterngrad.one_sparse",
        "`root` is that of n - 1; the entry is a, the mean a/n and the deviation a root/n, by which times clip the "
        "entry is replaced, where that is less. It is then the largest, and sent for sure.",
        "every x in R^n with one nonzero entry, every n >= 1, every clip > 0, in real arithmetic",
        _one_sparse,
    ),
)  # fmt: skip

DRAWS = (*_REPLACED, *_LAZY, *_ATOMIC, *_CLIPPED)
