"""What certificates about sparsifiers prove."""

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import of_the_largest, over_all, proved_by
from commbounds.theory.model import Goal, Model, by_claim, extents, vectors
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
from commbounds.theory.subset_laws import over_subsets

_kept, _rest, _lost = sp.symbols("kept rest lost", nonnegative=True)
_blocks, _length, _full = sp.symbols("blocks length full", nonnegative=True)
_count = sp.Symbol("count", nonnegative=True)
_x, _sum, _squares, _mean_error = sp.symbols("x sum squares mean_error", real=True)
_own_kept, _own_rest = sp.symbols("own_kept own_rest", nonnegative=True)
_magnitude, _first, _second, _third = sp.symbols("magnitude first second third", nonnegative=True)
_codebits = sp.Symbol("codebits", nonnegative=True)

_IN_ORDER = {"k": k, "n - k": n - k}
_p = k / n
_OF_ALL = (n - k) * _kept - k * _rest
_LEVEL = (
    "No kept square is below some `level` and no other above it: inductions on either give kept >= k level and "
    "(n - k) level >= rest. "
)
_SUBSETS = (
    "Every subset of k of the n entries is drawn with the same probability. Induction on the entries: the subsets "
    "either have the last or not, and the others are those of k, or of k - 1, of the entries before. So a sum over "
    "the kept entries is in the mean k/n of that over all. "
)


def _topk(bound: Any) -> tuple[Goal, ...]:
    largest, shown = of_the_largest(k, n - k, _kept, _rest)
    given = {**largest, **_IN_ORDER}
    return *shown, Goal("contraction", bound * (_kept + _rest) - _rest, given=given, positive={"n": n})


def _of_workers() -> tuple[Goal, ...]:
    """That what is so of every worker's `own_kept` and `own_rest` is so of their sums."""
    own = _OF_ALL.subs({_kept: _own_kept, _rest: _own_rest}, simultaneous=True)
    more = _OF_ALL.subs({_kept: _kept + _own_kept, _rest: _rest + _own_rest}, simultaneous=True)
    largest, shown = of_the_largest(k, n - k, _own_kept, _own_rest)
    return (
        *shown,
        Goal("one worker", own, given={**largest, **_IN_ORDER}),
        Goal("one more worker", more, given={"workers before": _OF_ALL, "this worker": own}),
    )


def _local(bound: Any) -> tuple[Goal, ...]:
    given = {"all workers": _OF_ALL}
    return *_of_workers(), Goal("contraction", bound * (_kept + _rest) - _rest, given=given, positive={"n": n})


def _ceil_k(bound: Any) -> tuple[Goal, ...]:
    largest, shown = of_the_largest(k, n - k, _kept, _rest)
    given = {**largest, **_IN_ORDER, "k - mu n": k - mu * n, "kept": _kept, "rest": _rest}
    return *shown, Goal("contraction, times n", n * (bound * (_kept + _rest) - _rest), given=given)


def _global_error(bound: Any) -> tuple[Goal, ...]:
    total, error = vectors("total error")
    squares, distances = sp.symbols("squares distances", nonnegative=True)
    count = sp.Symbol("count", positive=True)
    spread = count * squares - total**2
    more = (count + 1) * (squares + error**2) - (total + error) ** 2
    apart = distances + squares - 2 * total * error + count * error**2
    given = {
        "all workers": _OF_ALL.subs(_kept, sumsq - _rest),
        "the errors' squared distances from each other": P * _rest - P**2 * _mean_error,
    }
    show = bound * norm2bar**2 - _mean_error
    return (
        *_of_workers(),
        Goal(
            "one more error's squared distances from those before",
            more - apart,
            equal=True,
            zero={"squared distances of those before": distances - spread},
            vectors=(total, error),
        ),
        Goal("average", show, given=given, positive={"n": n, "P": P, "norm2bar": norm2bar}),
    )


def _two_workers(bound: Any) -> tuple[Goal, ...]:
    largest, mean, sent = 1 + e, e / 2, (1 + e) / 2
    return (
        Goal("the largest entry is 1 + e", largest**2 - 1, given={"e": e}),
        Goal("ratio", bound - 2 * (sent - mean) ** 2 / (2 * mean**2), equal=True),
    )


def _blocktopk(bound: Any) -> tuple[Goal, ...]:
    bound = bound.xreplace({sp.ceiling(n / block): _blocks})
    largest, shown = of_the_largest(k, _blocks - k, _kept, _rest)
    given = {**largest, "k": k, "blocks - k": _blocks - k}
    return *shown, Goal("contraction", bound * (_kept + _rest) - _rest, given=given, positive={"blocks": _blocks})


def _branch(bound: Any, zero: bool) -> Any:
    """The bound with every Max in it replaced by its branch 0, or by the other: no larger than the bound."""
    return bound.replace(
        lambda e: isinstance(e, sp.Max), lambda e: next((a for a in e.args if bool(a.is_zero) is zero), e.args[0])
    )


def _chunktopk(bound: Any) -> tuple[Goal, ...]:
    some, none = (bound.xreplace({sp.Min(chunk, n): least}) for least in (chunk, n))
    largest, shown = of_the_largest(k, _length - k, _kept, _rest)
    larger = {**largest, "k": k, "length - k": _length - k, "kept": _kept}
    short = {**larger, "chunk >= length": chunk - _length}
    whole = {"kept": _kept}

    def ratio(factor: Any, name: str, given: Any, rest: Any = _rest) -> Goal:
        return Goal(name, factor * (_kept + rest) - rest, given=given, positive={"n": n, "chunk": chunk})

    larger_alone = {name: condition.subs(_length, n) for name, condition in larger.items()}
    share = sp.Symbol("share_of_all", nonnegative=True)
    return (
        *shown,
        *over_all(lambda squares, errors: share * squares - errors, sp.symbols("square error"), case="chunks: "),
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
        "entries lost before": _count * threshold**2 - _lost,
        "below the threshold": threshold - _magnitude,
        "magnitude": _magnitude,
        "threshold": threshold,
    }
    whole = {"all lost entries": _count * threshold**2 - _lost, "n - count": n - _count, "threshold**2": threshold**2}
    return (
        Goal("one more entry is lost", (_count + 1) * threshold**2 - (_lost + _magnitude**2), given=given),
        Goal("error", bound - _lost, given=whole),
    )


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
        *proved_by("error", _adaptive_error(1 - norm3**3 / (norm1 * norm2**2))),
        Goal("one entry", claim.subs(one, simultaneous=True), given={"magnitude": _magnitude}),
        Goal(
            "one more entry",
            claim.subs(more, simultaneous=True),
            given={"n times the claim for n entries": sp.expand(n * claim), "sum of (a_i - a)**2 (a_i + a)": others},
            positive={"n": n, "n + 1": n + 1},
        ),
    )


def _share(kept: Any, left: Any) -> Callable[[Any, Any], Any]:
    """Of n and k: what an entry adds in the mean, which adds `kept` where it is kept and `left` where not."""
    return lambda n, k: k / n * kept + (1 - k / n) * left


def _expected(kept: Any, left: Any) -> Callable[[Any], Any]:
    """The goals that the mean over all subsets is the claim's, where an entry adds so much."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        share = _share(kept, left)(n, k).subs(_gain, n / k)
        return (*over_subsets(_share(kept, left), kept, left), Goal("claim", bound - share, equal=True))

    return goals


def _independent(kept: Any, left: Any) -> Callable[[Any], tuple[Goal, ...]]:
    """Induction on the workers; an entry errs by `kept` times itself where it is kept, else by `left` times itself."""
    chances, known = ((k / n, kept.subs(_gain, n / k)), (1 - k / n, left)), {"n": n, "k": k}

    def goals(bound: Any) -> tuple[Goal, ...]:
        # What the claim says of one entry: the second moment of the sum of the workers' errors.
        total = sp.expand(bound.xreplace({sumsq: _squares}).subs(norm2bar, _sum / P) * _sum**2)
        one = total.subs({_sum: _x, _squares: _x**2}, simultaneous=True)
        more = total.subs({_sum: _sum + _x, _squares: _squares + _x**2}, simultaneous=True)
        first, second, outcomes = sp.symbols("first second outcomes", real=True)
        off = sp.cancel(sum(chance * error for chance, error in chances))
        zero = {"all outcomes before": outcomes - 1, "mean error before": first - off * _sum}
        moment = sum(c * (second + 2 * error * _x * first + outcomes * (error * _x) ** 2) for c, error in chances)
        mean_error = sum(c * (first + outcomes * error * _x) for c, error in chances)
        all_squares, all_sums = sp.symbols("all_squares all_sums", nonnegative=True)
        entry = {_squares: all_squares, _sum**2: all_sums}
        claim = bound.subs({sumsq: all_squares, norm2bar: sp.sqrt(all_sums) / P}) * all_sums
        return (
            *over_subsets(_share(1, 0), sp.S.One, sp.S.Zero),
            Goal("one worker", one - sum(c * (error * _x) ** 2 for c, error in chances), equal=True, positive=known),
            Goal("mean, one more worker", mean_error - off * (_sum + _x), equal=True, positive=known, zero=zero),
            Goal(
                "one more worker",
                more - moment,
                equal=True,
                positive=known,
                zero={**zero, "moment before": second - total},
            ),
            Goal(
                "summed over the entries",
                claim - total.subs(entry),
                equal=True,
                positive={**known, "the average is not zero": all_sums},
            ),
        )

    return goals


def _randk(statement: str, kept: Any, left: Any, words: str) -> Model:
    name = f"sparsifiers.randk.{statement}"
    return Model(name, _SUBSETS + words, "every x in R^n, every n >= k >= 1", _expected(kept, left))


_gain = sp.Symbol("gain", positive=True)
_scaled = n / k
_GAIN = "`gain` is n/k. "
_WORKERS = (
    "Induction on the workers, for one entry. An outcome of those before is followed by both of the next worker, with "
    "the product of the chances: `first` and `second` are the mean and the second moment of the sum of the errors "
    "before, `outcomes` the sum of the chances, `sum` and `squares` those of the inputs. The second moment is linear "
    "in the squares and in the square of the sum, so it is added up over the entries. "
)

MODELS = by_claim(
    Model(
        claim="sparsifiers.topk.contraction",
        words="`kept` is the sum of the k largest squares, `rest` that of the n - k others, which is the squared "
        "error. " + _LEVEL + "The claim, times the squared norm kept + rest > 0.",
        scope="every x in R^n, every n >= k >= 1",
        goals=_topk,
    ),
    Model(
        claim="sparsifiers.topk.ceil_k",
        words="As for sparsifiers.topk.contraction, with k = ceil(mu n) >= mu n.",
        scope="every x in R^n, every n >= 1 and every 0 < mu <= 1",
        goals=_ceil_k,
    ),
    Model(
        claim="sparsifiers.topk.local_contraction",
        words="`own_kept` and `own_rest` are one worker's, `kept` and `rest` the sums over the workers. "
        + _LEVEL
        + "So (n - k) kept >= k rest, by induction on the workers.",
        scope="every number of workers, every x_i in R^n, every n >= k >= 1",
        goals=_local,
    ),
    Model(
        claim="sparsifiers.topk.global_error",
        words="`rest` is the sum over the P workers of their squared errors, `sumsq` - `rest` that of the squares that "
        "they keep, as for sparsifiers.topk.local_contraction; `mean_error` is the squared norm of the average error. "
        "The squared distances of the workers' errors from each other add up to P rest - P^2 mean_error: induction on "
        "the workers, `distances` being those before, `squares` and `total` the sums of squares and of errors. The "
        "claim, times the squared norm of the average input.",
        scope="every P >= 1, every x_i in R^n, every n >= k >= 1",
        goals=_global_error,
    ),
    Model(
        claim="sparsifiers.topk.two_workers",
        words="Both entries of the average are e/2, and both of the average of the outputs are (1 + e)/2, since either "
        "worker's entry 1 + e is larger than 1 in magnitude.",
        scope="every e > 0",
        goals=_two_workers,
    ),
    Model(
        claim="sparsifiers.blocktopk.contraction",
        words="As for sparsifiers.topk.contraction, of the squared norms of `blocks` blocks, the last of which may be "
        "short. There are ceil(n/block) of them, for which the model writes `blocks`.",
        scope="every x in R^n, every n and block, every k from 1 to ceil(n/block)",
        goals=_blocktopk,
    ),
    Model(
        claim="sparsifiers.chunktopk.contraction",
        words="The claim for every chunk, `length` entries of which the k largest squares sum to `kept`, the others to "
        "`rest`; summed over the chunks it is the claim. "
        + _LEVEL
        + "A chunk of fewer than k entries is kept whole: rest = 0. "
        "Either n >= chunk, and a chunk has length <= chunk entries; or n < chunk, and the only one has n. The bound "
        "is at least each branch of its Max.",
        scope="every x in R^n, every n and every chunk >= k >= 1",
        goals=_chunktopk,
    ),
    Model(
        claim="sparsifiers.chunktopk.wire",
        words="Induction on the number `full` of full chunks, each of which sends k values with an index of "
        "`codebits` = index_bits(chunk) bits. The remaining `length` < chunk entries send Min(k, length): each of its "
        "branches.",
        scope="every n, every chunk >= k >= 1, every dtype",
        goals=_chunk_wire,
    ),
    Model(
        claim="sparsifiers.hardthreshold.absolute_error",
        words="`count` <= n entries are lost, each of a `magnitude` of at most the threshold; `lost` is the sum of "
        "their squares: induction on them.",
        scope="every x in R^n, every n >= 1 and every threshold > 0",
        goals=_absolute_error,
    ),
    Model(
        claim="sparsifiers.hardthreshold.nonexpansive",
        words="`kept` is the sum of the squares of the entries sent, `rest` that of the others, the squared error. The "
        "claim, times the squared norm kept + rest > 0.",
        scope="every x in R^n, every n >= 1 and every threshold > 0",
        goals=_nonexpansive,
    ),
    Model(
        claim="sparsifiers.adaptivesparsification.error",
        words="One entry is kept, x_i with probability |x_i|/norm1, so the error is norm2^2 - x_i^2. The claim, times "
        "norm1 norm2^2: the sum over the n outcomes of norm1 times probability times squared error, norm2 being what "
        "it is at the end. Induction on the entries: `magnitude` is that of the next, norm1 and `third` are sums of "
        "magnitudes and of their cubes.",
        scope="every x in R^n but zero, every n >= 1, in real arithmetic",
        goals=_adaptive_error,
    ),
    Model(
        claim="sparsifiers.adaptivesparsification.contraction",
        words="The claim, times norm1 norm2^2, with the error as its own goals have it: "
        "(bound - 1) first second + third >= 0 for the sums of magnitudes, squares and cubes. Induction on the "
        "entries: with a the magnitude of the next, the sum of (a_i - a)^2 (a_i + a) over those before is not "
        "negative.",
        scope="every x in R^n but zero, every n >= 1, in real arithmetic",
        goals=_adaptive_contraction,
    ),
    _randk("contraction", 0, 1, "An entry that is not kept adds its square to the error."),
    _randk(
        "bias",
        0,
        1,
        "x less what is sent has a product with any vector y to which an entry that is not kept adds x_i y_i: in the "
        "mean it is 1 - k/n times <x, y>, for every y.",
    ),
    _randk(
        "unbiased",
        _gain - 1,
        -1,
        _GAIN + "What is sent less x has a product with any vector y to which a kept entry adds (gain - 1) x_i y_i, "
        "any other - x_i y_i.",
    ),
    _randk(
        "variance",
        (_gain - 1) ** 2,
        1,
        _GAIN + "A kept entry adds (gain - 1)^2 x_i^2 to the squared error, any other x_i^2.",
    ),
    _randk("second_moment", _gain**2, 0, _GAIN + "A kept entry adds gain^2 x_i^2 to the square of what is sent."),
    _randk(
        "shrunk_contraction",
        (_gain / (1 + (_gain - 1)) - 1) ** 2,
        1,
        _GAIN + "One plus the variance factor is 1 + (gain - 1), by which gain x_i is divided.",
    ),
    Model(
        claim="sparsifiers.randk.global_contraction_shared",
        words=_SUBSETS + "All workers keep the same entries, so an entry of the average of the inputs adds its square "
        "to the error of the average where it is not kept.",
        scope="every number of workers, every x_i in R^n, every n >= k >= 1",
        goals=_expected(0, 1),
    ),
    Model(
        claim="sparsifiers.randk.global_error_independent",
        words=_SUBSETS + _WORKERS + "An error of an entry x is 0 where it is kept, else -x.",
        scope="every P >= 1, every x_i in R^n, every n >= k >= 1",
        goals=_independent(sp.S.Zero, -sp.S.One),
    ),
    Model(
        claim="sparsifiers.randk.global_error_scaled",
        words=_SUBSETS + _GAIN + _WORKERS + "An error of an entry x is (gain - 1) x where it is kept, else -x.",
        scope="every P >= 1, every x_i in R^n, every n >= k >= 1",
        goals=_independent(_gain - 1, -sp.S.One),
    ),
)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "sparsifiers.randk.global_error_independent": {"moment before": "one worker"},
    "sparsifiers.randk.global_error_scaled": {"moment before": "one worker"},
    "sparsifiers.adaptivesparsification.contraction": {"n times the claim for n entries": "one entry"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "sparsifiers",
    {
        (): "topk.two_workers topk.contraction topk.ceil_k topk.local_contraction topk.global_error "
        "blocktopk.contraction adaptivesparsification.error randk.contraction randk.bias randk.unbiased "
        "randk.variance randk.second_moment randk.shrunk_contraction randk.global_contraction_shared "
        "randk.global_error_independent randk.global_error_scaled hardthreshold.absolute_error chunktopk.contraction "
        "chunktopk.wire adaptivesparsification.contraction"
    },
)
