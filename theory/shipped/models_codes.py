"""What certificates prove of compressors without randomness: means of groups, and 3LC's three values."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import about_means, over_all, share_of_squares
from commbounds.theory.model import Goal
from commbounds.theory.quantities import index_bits, itembits, n, norm1, norm2
from commbounds.theory.shipped.models_draws import Goals, model_of
from commbounds.theory.shipped.terms import buckets, captured, larger, sparsity

_q, _s, _count = sp.symbols("q s count", nonnegative=True)
_squares, _codebits = sp.symbols("squares codebits", nonnegative=True)
_low, _high, _negative, _others = sp.symbols("low high negative others", nonnegative=True)
_a, _bytes, _runs, _zeros, _full = sp.symbols("a bytes runs zeros full", nonnegative=True)
_sum = sp.Symbol("sum", real=True)


# --- means of groups -------------------------------------------------------------------------------------------------

_mean = _sum / _count
_error = _q - 2 * _mean * _sum + _count * _mean**2
_SOME = {"count": _count}
_GROUPED = (
    "A group of `count` entries has the sum `sum` and squares that sum to `q`; all become the mean sum/count, so that "
    "the group's error is q - 2 mean sum + count mean^2. "
)


def _projected(bound: Any) -> tuple[Goal, ...]:
    total = bound.xreplace({norm2**2: _squares})
    more = total.subs({_squares: _squares + _q, captured: captured + _count * _mean**2}, simultaneous=True)
    return (
        Goal("no group", total.subs({_squares: 0, captured: 0}), equal=True),
        Goal("one more group", more - total - _error, equal=True, positive=_SOME),
    )


def _kept_sum(bound: Any) -> tuple[Goal, ...]:
    return (Goal("a group", bound - (_count * _mean - _sum), equal=True, positive=_SOME),)


def _no_worse(bound: Any) -> tuple[Goal, ...]:
    group = Goal("a group", bound * _q - _error, given={"sum^2": _sum**2}, positive=_SOME)
    return *share_of_squares("groups"), group


def _of_one_sign(most: Any) -> Goals:
    """The claim for a group of at most so many entries, none of which has another sign."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        given = {"products of its entries": _sum**2 - _q, "no more than these": most - _count, "q": _q}
        more = {"entries before": _sum**2 - _q, "sum": _sum, "entry": _a}
        return (
            *share_of_squares("groups"),
            Goal("products, one more entry", (_sum + _a) ** 2 - (_q + _a**2), given=more),
            Goal("a group", bound * _q - _error, given=given, positive={**_SOME, "most": most}),
        )

    return goals


def _below_signs(bound: Any) -> tuple[Goal, ...]:
    """Two groups with sums of magnitudes `low` and `high`."""
    off = _squares - _low**2 / _negative - _high**2 / _others
    both = bound.xreplace({norm2**2: _squares, norm2 ** (-2): 1 / _squares, norm1**2: (_low + _high) ** 2})
    one = bound.xreplace({norm2 ** (-2): 1 / _squares})
    return (
        *about_means("a group"),
        Goal(
            "two groups",
            both.subs(n, _negative + _others) * _squares - off,
            positive={"negative": _negative, "others": _others, "both": _negative + _others, "squares": _squares},
            hints=(_low * _others - _high * _negative,),
        ),
        Goal("one group", one * _squares - (_squares - norm1**2 / n), equal=True,
             positive={"n": n, "squares": _squares}),
    )  # fmt: skip


def _tabled(bound: Any) -> tuple[Goal, ...]:
    bits = bound.xreplace({index_bits(buckets): _codebits})
    return (
        Goal("a table", bits.subs(n, 0) - buckets * itembits, equal=True),
        Goal("one more entry", bits.subs(n, n + 1) - bits - _codebits, equal=True),
    )


_ANY = "every x in R^n, every n >= 1, in real arithmetic"
_NOT_ZERO = "every x in R^n but zero, every n >= 1, in real arithmetic"
_SIGNED = _GROUPED + "Its entries have one sign, so that sum^2 - q, twice the sum of their products, is not negative. "

GROUPS = (
    *(
        model_of(f"{name}.{statement}", _GROUPED + words, _ANY if statement != "nonexpansive" else _NOT_ZERO, goals)
        for name in ("twomeans", "uniformbuckets", "quantilebuckets")
        for statement, words, goals in (
            ("error", "Induction on the groups; `squares` is norm2^2.", _projected),
            ("sum", "The sum of the means, less that of the entries.", _kept_sum),
            ("nonexpansive", "Summed over the groups.", _no_worse),
        )
        if (name, statement) != ("twomeans", "nonexpansive")
    ),
    model_of(
        "twomeans.contraction",
        _SIGNED + "It has at most n entries. Summed over both groups, which are the claim times the squared norm.",
        _NOT_ZERO,
        _of_one_sign(n),
    ),
    model_of(
        "twomeans.contraction_halves",
        _SIGNED + "It has at most as many as the larger one. Summed over both groups.",
        _NOT_ZERO,
        _of_one_sign(larger),
    ),
    model_of(
        "twomeans.below_scaledsign",
        "`negative` and `others` entries with the sums of magnitudes `low` and `high`, norm1 = low + high; a group's "
        "error is its squares less sum^2/count. Where one group is empty, the other has all entries. Times `squares`, "
        "which is norm2^2.",
        _NOT_ZERO,
        _below_signs,
    ),
    model_of(
        "twomeans.wire",
        "Two means, and a bit for every entry: induction on the entries.",
        "every x in R^n, every n, every dtype",
        lambda bound: (
            Goal("the means", bound.subs(n, 0) - 2 * itembits, equal=True),
            Goal("one more entry", bound.subs(n, n + 1) - bound - 1, equal=True),
        ),
    ),
    *(
        model_of(
            f"{name}.wire",
            "A mean of every bucket, and `codebits` = index_bits(buckets) bits for every entry: induction on these.",
            "every x in R^n, every n, every number of buckets, every dtype",
            _tabled,
        )
        for name in ("uniformbuckets", "quantilebuckets")
    ),
    model_of(
        "clippedterngrad.wire",
        "A scale, and two bits for every entry: induction on the entries.",
        "every x in R^n, every n, every dtype",
        lambda bound: (
            Goal("the scale", bound.subs(n, 0) - itembits, equal=True),
            Goal("one more entry", bound.subs(n, n + 1) - bound - 2, equal=True),
        ),
    ),
)

# --- 3LC -------------------------------------------------------------------------------------------------------------

_below = {"below half the scale": sparsity / 2 - _a, "a": _a}
_above = {"not below half the scale": _a - sparsity / 2, "1 - a": 1 - _a, "s - 1": sparsity - 1}


def _entry_error(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("becomes zero", bound - _a, given=_below),
        Goal("becomes the scale", bound - (sparsity - _a), given=_above),
        Goal("is not above it", sparsity - _a, given=_above),
    )


def _contraction(bound: Any) -> tuple[Goal, ...]:
    each = (1 - bound) * sparsity**2 / 4
    known = {"n - 1": n - 1, "2 - s": 2 - sparsity, "s - 1": sparsity - 1}
    positive = {"4 + (n - 1) s^2": 4 + (n - 1) * sparsity**2, "s": sparsity}
    share, allowed, square, error = sp.symbols("share_of_each allowed square error", nonnegative=True)
    return (
        *over_all(
            lambda squares, errors, many: share * squares - errors + allowed * many,
            (square, error, sp.S.One),
            case="other entries: ",
        ),
        Goal("an entry below", bound * _a**2 - _a**2 + each, given={**known, **_below}, positive=positive),
        Goal(
            "an entry not below",
            bound * _a**2 - (sparsity - _a) ** 2 + each,
            given={**known, **_above, "(s - 1)^2": (sparsity - 1) ** 2},
            positive=positive,
        ),
        Goal("the largest", bound - (sparsity - 1) ** 2 - (n - 1) * each, equal=True, positive=positive),
    )


def _quartic(bound: Any) -> tuple[Goal, ...]:
    bits = bound.xreplace({sp.ceiling(n / 5): _bytes})
    return (
        Goal("the scale", bits.subs(_bytes, 0) - itembits, equal=True),
        Goal("one more byte", bits.subs(_bytes, _bytes + 1) - bits - 8, equal=True),
    )


def _zero_runs(bound: Any) -> tuple[Goal, ...]:
    bits = bound.xreplace({sp.ceiling(sp.ceiling(n / 5) / 14): _runs})
    return (
        Goal("the scale", bits.subs(_runs, 0) - itembits, equal=True),
        Goal("one more run", bits.subs(_runs, _runs + 1) - bits - 8, equal=True),
    )


def _shorter(bound: Any) -> tuple[Goal, ...]:
    bits = bound.xreplace({sp.ceiling(n / 5): _full + _zeros})
    return (
        Goal("bits", bits - (itembits + 8 * (_full + _runs)), given={"a run is of one byte or more": _zeros - _runs}),
    )


_PRODUCTS = "every x in R^n but zero, every n >= 1, every 1 <= s < 2, in real arithmetic"

THREE_VALUES = (
    model_of(
        "threelc.entry_error",
        "In units of the largest magnitude an entry is a <= 1 and the scale s: a becomes zero below s/2, else s.",
        _PRODUCTS,
        _entry_error,
    ),
    model_of(
        "threelc.contraction",
        "In units of the largest magnitude, of which one entry is: it becomes s. Each of n - 1 others, a, becomes zero "
        "below s/2 and s else, with the error at most bound a^2 + (1 - bound) s^2/4; summed over them, with the "
        "largest entry's (s - 1)^2, that is the bound times 1 and all a^2.",
        _PRODUCTS,
        _contraction,
    ),
    model_of(
        "threelc.quartic",
        "`bytes` = ceil(n/5), of five entries each, and the scale: induction on the bytes.",
        "every x in R^n, every n, every dtype, without zero-run encoding",
        _quartic,
    ),
    model_of(
        "threelc.zeros",
        "All of ceil(n/5) bytes are zero, fourteen of which are a run, of one byte, and what is left is another: "
        "`runs` = ceil(ceil(n/5)/14). Induction on the runs.",
        "every n, every dtype, x = 0, with zero-run encoding",
        _zero_runs,
    ),
    model_of(
        "threelc.wire",
        "Among ceil(n/5) bytes `zeros` are zero, in `runs` runs of one byte or more each, which take a byte; `full` "
        "are not, and stay.",
        "every x in R^n, every n, every dtype",
        _shorter,
    ),
)
