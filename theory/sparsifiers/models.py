"""What certificates about sparsifiers prove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from commbounds.theory.model import Goal, Model, Step, by_claim, extents
from commbounds.theory.quantities import (
    P,
    block,
    chunk,
    e,
    index_bits,
    itembits,
    k,
    mu,
    n,
    norm1,
    norm2,
    norm2bar,
    norm3,
    sumsq,
    threshold,
)

_kept, _rest, _lost = sp.symbols("kept rest lost", nonnegative=True)
_blocks, _length, _full = sp.symbols("blocks length full", nonnegative=True)
_count = sp.Symbol("count", nonnegative=True)
_x, _sum, _squares, _mean_error = sp.symbols("x sum squares mean_error", real=True)
_magnitude, _first, _second, _third = sp.symbols("magnitude first second third", nonnegative=True)
_codebits = sp.Symbol("codebits", nonnegative=True)

_LARGEST = {"each kept square >= each other": (n - k) * _kept - k * _rest}
_p = k / n
_BY_SYMMETRY = "All n entries are kept with one probability p, by symmetry, and n p = k are kept in all: p = k/n. "


def _topk(bound: Any) -> tuple[Goal, ...]:
    return (Goal("contraction", bound * (_kept + _rest) - _rest, given=_LARGEST, positive={"n": n}),)


def _ceil_k(bound: Any) -> tuple[Goal, ...]:
    given = {**_LARGEST, "k - mu n": k - mu * n, "kept": _kept, "rest": _rest}
    return (Goal("contraction, times n", n * (bound * (_kept + _rest) - _rest), given=given),)


def _global_error(bound: Any) -> tuple[Goal, ...]:
    given = {
        "locally, each kept square >= each other": (n - k) * (sumsq - _lost) - k * _lost,
        "the errors' squared distances from their mean": _lost - P * _mean_error,
    }
    show = bound * norm2bar**2 - _mean_error
    return (Goal("average", show, given=given, positive={"n": n, "P": P, "norm2bar": norm2bar}),)


def _two_workers(bound: Any) -> tuple[Goal, ...]:
    largest, mean, sent = 1 + e, e / 2, (1 + e) / 2
    return (
        Goal("the largest entry is 1 + e", largest**2 - 1, given={"e": e}),
        Goal("ratio", bound - 2 * (sent - mean) ** 2 / (2 * mean**2), equal=True),
    )


def _blocktopk(bound: Any) -> tuple[Goal, ...]:
    bound = bound.xreplace({sp.ceiling(n / block): _blocks})
    given = {"each kept block's squares >= each other's": (_blocks - k) * _kept - k * _rest}
    return (Goal("contraction", bound * (_kept + _rest) - _rest, given=given, positive={"blocks": _blocks}),)


def _branch(bound: Any, zero: bool) -> Any:
    """The bound with every Max in it replaced by its branch 0, or by the other: no larger than the bound."""
    return bound.replace(
        lambda e: isinstance(e, sp.Max), lambda e: next((a for a in e.args if bool(a.is_zero) is zero), e.args[0])
    )


def _chunktopk(bound: Any) -> tuple[Goal, ...]:
    some, none = (bound.xreplace({sp.Min(chunk, n): least}) for least in (chunk, n))
    larger = {"each kept square of the chunk >= each other": (_length - k) * _kept - k * _rest, "kept": _kept}
    short = {**larger, "chunk >= length": chunk - _length}
    whole = {"kept": _kept}

    def ratio(factor: Any, name: str, given: Any, rest: Any = _rest) -> Goal:
        return Goal(name, factor * (_kept + rest) - rest, given=given, positive={"n": n, "chunk": chunk})

    larger_alone = {name: condition.subs(_length, n) for name, condition in larger.items()}
    return (
        ratio(_branch(some, False), "a chunk of k entries or more", short),
        ratio(_branch(some, True), "a chunk of fewer than k", whole, sp.S.Zero),
        ratio(_branch(none, False), "one short chunk of k entries or more", larger_alone),
        ratio(_branch(none, True), "one short chunk of fewer than k", whole, sp.S.Zero),
    )


def _chunk_wire(bound: Any) -> tuple[Goal, ...]:
    rest = n - chunk * sp.floor(n / chunk)
    bound = bound.xreplace({index_bits(chunk): _codebits})
    goals = []
    for name, least in (("all of a short chunk", _length), ("k of a short chunk", k)):
        closed = bound.xreplace({sp.Min(k, rest): least}).xreplace({sp.floor(n / chunk): _full})
        goals += [
            Goal(f"no full chunk, {name}", closed.subs(_full, 0) - least * (itembits + _codebits), equal=True),
            Goal(f"one more, {name}", closed.subs(_full, _full + 1) - closed - k * (itembits + _codebits), equal=True),
        ]
    return tuple(goals)


def _absolute_error(bound: Any) -> tuple[Goal, ...]:
    given = {
        "each lost entry is below the threshold": _count * threshold**2 - _lost,
        "n - count": n - _count,
        "threshold**2": threshold**2,
    }
    return (Goal("error", bound - _lost, given=given),)


def _nonexpansive(bound: Any) -> tuple[Goal, ...]:
    return (Goal("error", bound * (_kept + _rest) - _rest, given={"kept": _kept, "rest": _rest}),)


def _adaptive_error(bound: Any) -> tuple[Goal, ...]:
    total = bound.xreplace({norm3**3: _third}) * norm1 * norm2**2
    more = total.subs({norm1: norm1 + _magnitude, _third: _third + _magnitude**3}, simultaneous=True)
    one = total.subs({norm1: _magnitude, _third: _magnitude**3}, simultaneous=True)
    entry = _magnitude * (norm2**2 - _magnitude**2)
    return Goal("first entry", one - entry, equal=True), Goal("one more entry", more - total - entry, equal=True)


def _adaptive_contraction(bound: Any) -> tuple[Goal, ...]:
    claim = (bound - 1) * _first * _second + _third
    more = {_first: _first + _magnitude, _second: _second + _magnitude**2, _third: _third + _magnitude**3, n: n + 1}
    one = {_first: _magnitude, _second: _magnitude**2, _third: _magnitude**3, n: 1}
    others = _third - _magnitude * _second - _magnitude**2 * _first + n * _magnitude**3
    return (
        Goal("one entry", claim.subs(one, simultaneous=True), given={"magnitude": _magnitude}),
        Goal(
            "one more entry",
            claim.subs(more, simultaneous=True),
            given={"n times the claim for n entries": sp.expand(n * claim), "sum of (a_i - a)**2 (a_i + a)": others},
            positive={"n": n, "n + 1": n + 1},
        ),
    )


def _expected(measured: Any) -> Callable[[Any], tuple[Goal, ...]]:
    """The goal that a claim's equality holds for what one entry of square 1 contributes."""
    return lambda bound: (Goal("entry", bound - measured, equal=True),)


def _independent(mean: Any, second: Any) -> Callable[[Any], tuple[Goal, ...]]:
    """Induction on the workers; an error has expectation `mean` x and second moment `second` x^2."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        # What the claim says of one entry: the second moment of the sum of the workers' errors.
        total = sp.expand(bound.xreplace({sumsq: _squares}).subs(norm2bar, _sum / P) * _sum**2)
        one = total.subs({_sum: _x, _squares: _x**2}, simultaneous=True)
        more = total.subs({_sum: _sum + _x, _squares: _squares + _x**2}, simultaneous=True)
        new = 2 * (mean * _sum) * (mean * _x) + second * _x**2
        return (
            Goal("one worker", one - second * _x**2, equal=True),
            Goal("one more worker", more - total - new, equal=True),
        )

    return goals


def _randk(statement: str, measured: Any, words: str) -> Model:
    name = f"sparsifiers.randk.{statement}"
    return Model(name, _BY_SYMMETRY + words, "every x in R^n, every n >= k >= 1", _expected(measured), (name,))


_scaled = n / k

MODELS = by_claim(
    Model(
        claim="sparsifiers.topk.contraction",
        words="`kept` is the sum of the k largest squares, `rest` that of the n - k others, which is the squared "
        "error. Each of the k is at least each of the others: summed over all k (n - k) pairs, (n - k) kept >= k rest. "
        "The claim, times the squared norm kept + rest > 0.",
        scope="every x in R^n, every n >= k >= 1",
        goals=_topk,
        checked_by=("sparsifiers.topk.contraction",),
    ),
    Model(
        claim="sparsifiers.topk.ceil_k",
        words="As for sparsifiers.topk.contraction, with k = ceil(mu n) >= mu n.",
        scope="every x in R^n, every n >= 1 and every 0 < mu <= 1",
        goals=_ceil_k,
        checked_by=("sparsifiers.topk.ceil_k",),
    ),
    Model(
        claim="sparsifiers.topk.local_contraction",
        words="`kept` and `rest` are summed over the workers as well, and so is the inequality between them.",
        scope="every number of workers, every x_i in R^n, every n >= k >= 1",
        goals=_topk,
        checked_by=("sparsifiers.topk.local_contraction",),
    ),
    Model(
        claim="sparsifiers.topk.global_error",
        words="`lost` is the sum over the P workers of their squared errors, `sumsq` - `lost` that of the squares that "
        "they keep, `mean_error` the squared norm of the average error. The workers' errors have squared distances "
        "from their average that sum to lost - P mean_error. The claim, times the squared norm of the average input.",
        scope="every P >= 1, every x_i in R^n, every n >= k >= 1",
        goals=_global_error,
        checked_by=("sparsifiers.topk.global_error",),
    ),
    Model(
        claim="sparsifiers.topk.two_workers",
        words="Both entries of the average are e/2, and both of the average of the outputs are (1 + e)/2, since either "
        "worker's entry 1 + e is larger than 1 in magnitude.",
        scope="every e > 0",
        goals=_two_workers,
        checked_by=("sparsifiers.topk.two_workers",),
    ),
    Model(
        claim="sparsifiers.blocktopk.contraction",
        words="As for sparsifiers.topk.contraction, of the squared norms of `blocks` blocks, the last of which may be "
        "short. There are ceil(n/block) of them, for which the model writes `blocks`.",
        scope="every x in R^n, every n and block, every k from 1 to ceil(n/block)",
        goals=_blocktopk,
        checked_by=("sparsifiers.blocktopk.contraction",),
    ),
    Model(
        claim="sparsifiers.chunktopk.contraction",
        words="The claim for every chunk, `length` entries of which the k largest squares sum to `kept`, the others to "
        "`rest`; summed over the chunks it is the claim. A chunk of fewer than k entries is kept whole: rest = 0. "
        "Either n >= chunk, and a chunk has length <= chunk entries; or n < chunk, and the only one has n. The bound "
        "is at least each branch of its Max.",
        scope="every x in R^n, every n and every chunk >= k >= 1",
        goals=_chunktopk,
        checked_by=("sparsifiers.chunktopk.contraction",),
    ),
    Model(
        claim="sparsifiers.chunktopk.wire",
        words="Induction on the number `full` of full chunks, each of which sends k values with an index of "
        "`codebits` = index_bits(chunk) bits. The remaining `length` < chunk entries send Min(k, length): each of its "
        "branches.",
        scope="every n, every chunk >= k >= 1, every dtype",
        goals=_chunk_wire,
        checked_by=("sparsifiers.chunktopk.wire",),
    ),
    Model(
        claim="sparsifiers.hardthreshold.absolute_error",
        words="`count` <= n entries are lost, each with a square of at most threshold^2; `lost` is their sum.",
        scope="every x in R^n, every n >= 1 and every threshold > 0",
        goals=_absolute_error,
        checked_by=("sparsifiers.hardthreshold.absolute_error",),
    ),
    Model(
        claim="sparsifiers.hardthreshold.nonexpansive",
        words="`kept` is the sum of the squares that are sent as they are, `rest` of the others, the squared error. "
        "The claim, times the squared norm kept + rest > 0.",
        scope="every x in R^n, every n >= 1 and every threshold > 0",
        goals=_nonexpansive,
        checked_by=("sparsifiers.hardthreshold.nonexpansive",),
    ),
    Model(
        claim="sparsifiers.adaptivesparsification.error",
        words="The claim, times norm1 norm2^2: the sum over the entries of |x_i| (norm2^2 - x_i^2), probability times "
        "norm1 and squared error, norm2 being what it is at the end. Induction on the entries: `magnitude` is that of "
        "the next, norm1 and `third` are sums of magnitudes and of their cubes.",
        scope="every x in R^n but zero, every n >= 1, in real arithmetic",
        goals=_adaptive_error,
        checked_by=("sparsifiers.adaptivesparsification.error",),
    ),
    Model(
        claim="sparsifiers.adaptivesparsification.contraction",
        words="The claim, times norm1 norm2^2, with the error of sparsifiers.adaptivesparsification.error: "
        "(bound - 1) first second + third >= 0 for the sums of magnitudes, squares and cubes. Induction on the "
        "entries: with a the magnitude of the next, the sum of (a_i - a)^2 (a_i + a) over those before is not "
        "negative.",
        scope="every x in R^n but zero, every n >= 1, in real arithmetic",
        goals=_adaptive_contraction,
        checked_by=("sparsifiers.adaptivesparsification.contraction",),
    ),
    _randk("contraction", 1 - _p, "An entry that is not kept contributes its square to the error."),
    _randk("bias", 1 - _p, "An entry is x_i with probability p, else 0: expected p x_i, off by (1 - p) |x_i|."),
    _randk("unbiased", _p * _scaled - 1, "An entry is (n/k) x_i with probability p, else 0."),
    _randk(
        "variance",
        _p * (_scaled - 1) ** 2 + 1 - _p,
        "An entry is (n/k) x_i with probability p, else 0: its expected squared error, over x_i^2.",
    ),
    _randk("second_moment", _p * _scaled**2, "An entry is (n/k) x_i with probability p, else 0: its expected square."),
    _randk(
        "shrunk_contraction",
        _p * (_scaled / (1 + (_scaled - 1)) - 1) ** 2 + 1 - _p,
        "One plus the variance factor is 1 + (n/k - 1), by which (n/k) x_i is divided.",
    ),
    Model(
        claim="sparsifiers.randk.global_contraction_shared",
        words=_BY_SYMMETRY + "All workers keep the same entries, so an entry of the average of the outputs is that of "
        "the average of the inputs with probability p, else 0.",
        scope="every number of workers, every x_i in R^n, every n >= k >= 1",
        goals=_expected(1 - _p),
        checked_by=("sparsifiers.randk.global_contraction_shared",),
    ),
    Model(
        claim="sparsifiers.randk.global_error_independent",
        words=_BY_SYMMETRY + "Induction on the workers, for one entry; the claim's two sides are linear in the "
        "squares, so that they add up over the entries. A worker's error of this entry is 0 with probability p, else "
        "-x: mean -(1 - p) x and second moment (1 - p) x^2. Those before have errors that sum to something of mean "
        "-(1 - p) `sum`, independent of the next; `squares` is the sum of their x^2.",
        scope="every P >= 1, every x_i in R^n, every n >= k >= 1",
        goals=_independent(_p - 1, 1 - _p),
        checked_by=("sparsifiers.randk.global_error_independent",),
    ),
    Model(
        claim="sparsifiers.randk.global_error_scaled",
        words=_BY_SYMMETRY + "As for sparsifiers.randk.global_error_independent. An error is (n/k - 1) x with "
        "probability p, else -x: mean 0, second moment p (n/k - 1)^2 x^2 + (1 - p) x^2.",
        scope="every P >= 1, every x_i in R^n, every n >= k >= 1",
        goals=_independent(_p * _scaled - 1, _p * (_scaled - 1) ** 2 + 1 - _p),
        checked_by=("sparsifiers.randk.global_error_scaled",),
    ),
)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "sparsifiers.adaptivesparsification.contraction": {"n times the claim for n entries": "one entry"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "sparsifiers",
    {
        (): "topk.two_workers",
        (Step.EXPECTATION,): "adaptivesparsification.error",
        (Step.SUM,): "topk.contraction topk.ceil_k topk.local_contraction topk.global_error blocktopk.contraction "
        "chunktopk.contraction hardthreshold.absolute_error",
        (Step.CLAIM,): "adaptivesparsification.contraction",
        (Step.SYMMETRY, Step.SUM): "randk.variance",
        (Step.SYMMETRY, Step.INDEPENDENCE, Step.SUM): "randk.global_error_independent randk.global_error_scaled",
    },
    by_definition="chunktopk.wire",
)
