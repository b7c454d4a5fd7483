"""What certificates about the estimate of a mean, and about words moved, prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_all, over_histories, proved_by, uncorrelated
from commbounds.theory.model import Goal, Model, by_claim, recurrence
from commbounds.theory.packetloss.terms import N, S, arrived, coordinates, inverse_arrivals, onefewer, p, sigma, squares
from commbounds.theory.subset_laws import over_pairs_of_subsets, over_subsets

_sum, _own, _words, _weight = sp.symbols("sum own words weight")
_inside, _both, _deviations, _some, _inverse = sp.symbols("inside both deviations some inverse", nonnegative=True)
_here, _chosen, _fewer, _less = sp.symbols("here chosen fewer less", positive=True)
_q = 1 - p
_one, _deviation = sp.symbols("one deviation", real=True)
_received_words, _all = sp.symbols("received_words all_", nonnegative=True)

_UNIFORM = proved_by("sample", over_subsets(lambda n, k: k / n, sp.S.One, sp.S.Zero))
_PAIRS = proved_by("sample", over_pairs_of_subsets())
_ADDED_UP = over_all(
    lambda added, chance: N * added - chance, sp.symbols("added chance"), case="numbers of arrivals: ", equal=True
)
_OWNERS_ADDED_UP = over_all(
    lambda added, chance: N * _q * added - chance, sp.symbols("added chance"), case="numbers of arrivals: ", equal=True
)
_NOTHING = proved_by("nothing arrives", recurrence(p**N, N, p, lambda chance, _: p * chance, start=1))
_SAMPLE = {
    "a sample's size": N * _inside - arrived,
    "a sample's size squared": N * (N - 1) * _both + N * _inside - arrived**2,
    "deviations": _deviations - (N - 1) * S**2,
}
_SAMPLE_IN_WORDS = (
    "Given K = k, exchangeable losses make the sample a uniform one: `inside` is the probability of a worker, `both` "
    "that of two; the mean of the sample's size and of its square, which are k and k^2, give them. The goals about "
    "samples show the same of all subsets of k of n workers, worker by worker."
)
_SOMETHING = {"something arrives, or nothing does": _some + p**N - 1}
_WEIGHT = {"mean of 1/K": N * _q * _weight - 1 + p**N}
_WEIGHT_IN_WORDS = (
    "K - 1 is binomial: K = `here` has the probability `fewer` (1 - p)^(here - 1) p^(N - here), with `fewer` "
    "C(N - 1, here - 1) and `chosen` C(N, here). Divided by `here` it is the probability that `here` of N workers get "
    "through, over N (1 - p); those sum to 1 - p^N over here >= 1. So N (1 - p) times `weight`, the mean of 1/K, is "
    "1 - p^N; for p = 0 by continuity."
)


def _unbiased(bound: Any) -> tuple[Goal, ...]:
    shown = bound - _inside * _sum / arrived + _sum / N
    return (*_UNIFORM, Goal("mean of a sample", shown, equal=True, positive={"N": N, "k": arrived}, zero=_SAMPLE))


def _conditional(bound: Any) -> tuple[Goal, ...]:
    variance = (_inside * _deviations - _both * _deviations) / arrived**2
    return (
        *_PAIRS,
        Goal(
            "variance of a sample",
            bound - variance,
            equal=True,
            positive={"N": N, "N - 1": N - 1, "k": arrived},
            zero=_SAMPLE,
        ),
        Goal("one worker", bound.subs({N: 1, arrived: 1}), equal=True),
    )


def _variance(bound: Any) -> tuple[Goal, ...]:
    known = bound.xreplace({inverse_arrivals(N, p): _inverse})
    given_number = S**2 / arrived * (1 - arrived / N)
    return (
        *proved_by("given k", _conditional(given_number)),
        *proved_by("mean of 1/K", _inverse_sum(inverse_arrivals(N, p))),
        *over_histories(
            "numbers of arrivals",
            ((sp.S.One, given_number * _one),),
            {_inverse: _one / arrived, _some: _one},
            S**2 * _inverse - S**2 * _some / N,
            positive={"N": N, "k": arrived},
        ),
        Goal(
            "mean of the variances",
            known - (S**2 * _inverse - S**2 * _some / N) / _some,
            equal=True,
            positive={"something arrives": _some, "1 - p**N": 1 - p**N, "N": N},
            zero=_SOMETHING,
        ),
    )


def _term(chosen: Any, count: Any, size: Any) -> Any:
    return chosen * _q**count * p ** (size - count)


_PASCAL = {"Pascal": _chosen - _less - _fewer, "absorption": _here * _chosen - N * _fewer}


_NUMBERS_IN_WORDS = (
    "K is binomial. `here` is a number k >= 1 of arrivals, `chosen` is C(N, k), `less` C(N - 1, k), `fewer` "
    "C(N - 1, k - 1): chosen = less + fewer, and k chosen = N fewer. What k adds to E[1/K], less p times what it "
    "adds with one worker fewer, is P(K = k)/N; over k >= 1, one after another, that adds up to `some`/N, "
    "P(K >= 1)/N. For p = 0 by continuity."
)


def _numbers() -> Goal:
    """What a number of arrivals adds to the mean of 1/K, less p times that with one worker fewer."""
    change = _term(_chosen, _here, N) / _here - p * _term(_less, _here, N - 1) / _here
    positive = {"k": _here, "N": N, "p": p, "p**k": p**_here}
    return Goal(
        "a number of arrivals", change - _term(_chosen, _here, N) / N, equal=True, positive=positive, zero=_PASCAL
    )


def _inverse_recurrence(bound: Any) -> tuple[Goal, ...]:
    return (
        _numbers(),
        *_ADDED_UP,
        *_NOTHING,
        Goal("sum", bound - p * onefewer - _some / N, equal=True, positive={"N": N}, zero=_SOMETHING),
    )


def _inverse_sum(bound: Any) -> tuple[Goal, ...]:
    def summed(size: Any, loss: Any) -> Any:
        before = onefewer if (size, loss) == (N, p) else inverse_arrivals(size - 1, loss)
        return loss * before + (1 - loss**size) / size

    def of_one(size: Any, loss: Any) -> Any:
        return 1 - loss if size == 1 else inverse_arrivals(size, loss)

    return (
        Goal("one worker", bound.subs(N, 1).replace(inverse_arrivals, of_one) - _q, equal=True),
        _numbers(),
        *_ADDED_UP,
        *_NOTHING,
        Goal(
            "sum",
            bound.replace(inverse_arrivals, summed) - p * onefewer - _some / N,
            equal=True,
            positive={"N": N},
            zero=_SOMETHING,
        ),
    )


def _empty(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, N, p, lambda chance, _: p * chance, start=1)


def zero_fill_goals(bound: Any) -> tuple[Goal, ...]:
    """That the mean of what arrives, or zero, is `bound` of the mean of all."""
    return (
        *proved_by("given arrivals", _unbiased(sp.S.Zero)),
        *recurrence(bound, N, _q, lambda share, _: share + (1 - share) * _q, start=1),
    )


def _weights(bound: Any) -> tuple[Goal, ...]:
    return (Goal("weights", bound - arrived * _weight, equal=True, zero={"a weight": arrived * _weight - 1}),)


def _owners_numbers() -> Goal:
    own = _fewer * _q ** (_here - 1) * p ** (N - _here) / _here
    return Goal(
        "a number of arrivals",
        own - _term(_chosen, _here, N) / (N * _q),
        equal=True,
        positive={"k": _here, "N": N, "1 - p": _q, "p**k": p**_here},
        zero=_PASCAL,
    )


_OWNERS = (_owners_numbers(), *_OWNERS_ADDED_UP, *_NOTHING)


def _pull(bound: Any) -> tuple[Goal, ...]:
    mean = _sum / N
    estimate = _weight * _own + (1 - _weight) / (N - 1) * (_sum - _own)
    positive = {"1 - p": _q, "N": N, "N - 1": N - 1}
    shown = bound * (_own - mean) - (estimate - mean)
    return (*_OWNERS, *_UNIFORM, Goal("estimate", shown, equal=True, positive=positive, zero=_WEIGHT))


def _iid(bound: Any) -> tuple[Goal, ...]:
    positive = {"1 - p": _q, "N": N}
    return (
        *_OWNERS,
        *uncorrelated(sigma**2),
        Goal("variance", bound - sigma**2 * _weight, equal=True, positive=positive, zero=_WEIGHT),
    )


def _inflation(bound: Any) -> tuple[Goal, ...]:
    return (
        *_OWNERS,
        *uncorrelated(sigma**2),
        Goal(
            "variance",
            bound - sigma**2 * _weight,
            given={"sigma**2": sigma**2, "p**N": p**N},
            positive={"1 - p": _q, "N": N},
            zero=_WEIGHT,
        ),
    )


def _expected(bound: Any) -> tuple[Goal, ...]:
    return (Goal("mean", bound - _q * _sum / (_q * N) + _sum / N, equal=True),)


def _expected_variance(bound: Any) -> tuple[Goal, ...]:
    arrives, lost = (_deviation + p * _own) ** 2, (_deviation - _q * _own) ** 2
    return (
        *over_histories(
            "one more worker",
            ((_q, arrives), (p, lost)),
            {_some: _deviation**2, _all: sp.S.One},
            _some + (_q - _q**2) * _own**2 * _all,
        ),
        Goal(
            "independent indicators", bound - (_q - _q**2) * squares / (_q * N) ** 2, equal=True, positive={"1 - p": _q}
        ),
    )


def _sent(bound: Any) -> tuple[Goal, ...]:
    return (Goal("two halves", bound.subs(coordinates, N * _words) - 2 * (N - 1) * _words, equal=True),)


def _received(bound: Any) -> tuple[Goal, ...]:
    shown = bound.subs(coordinates, N * _words) - 2 * (N - 1) * _q * _words
    count = sp.Symbol("count", integer=True, nonnegative=True)
    return (
        *over_histories(
            "one more packet",
            ((_q, _some + _words), (p, _some)),
            {_received_words: _some, _all: sp.S.One},
            _received_words + _q * _words * _all,
        ),
        *proved_by("packets", recurrence(count * _q * _words, count, 0, lambda words, _: words + _q * _words)),
        Goal("two halves", shown, equal=True),
    )


_GRADIENTS = "all gradients"

MODELS = by_claim(
    Model(
        claim="packetloss.arrivals.unbiased",
        words=f"{_SAMPLE_IN_WORDS} `sum` is that of all gradients: k ghat has the mean inside sum.",
        scope=f"{_GRADIENTS}, every N, every k in 1..N, every law of exchangeable losses",
        goals=_unbiased,
    ),
    Model(
        claim="packetloss.arrivals.conditional_variance",
        words=f"{_SAMPLE_IN_WORDS} With d_i = g_i - gbar, whose squares sum to `deviations`, (N - 1) S^2, and whose "
        "products of two different workers to minus that: k (ghat - gbar) is the sum of the sample's d_i, and has the "
        "mean square inside deviations - both deviations. One worker alone has no variance.",
        scope=f"{_GRADIENTS}, every N, every k in 1..N",
        goals=_conditional,
    ),
    Model(
        claim="packetloss.arrivals.variance",
        words="Given K, the mean is gbar and the variance (S^2/K)(1 - K/N) = S^2/K - S^2/N, by "
        "the goals given k: so is the variance given K >= 1 the mean of that, "
        "(S^2 E[1/K; K >= 1] - S^2 P(K >= 1)/N) / P(K >= 1). `inverse` is E[1/K; K >= 1], which is `inverse_arrivals` "
        "by the goals about it; `some` is P(K >= 1).",
        scope=f"{_GRADIENTS}, every p < 1, every N",
        goals=_variance,
    ),
    Model(
        claim="packetloss.arrivals.mean_inverse",
        words="`inverse_arrivals` at N is p times itself at N - 1 plus (1 - p^N)/N, as its sum says. So is the mean: "
        f"{_NUMBERS_IN_WORDS} Induction on N from one worker.",
        scope="every p in [0, 1], every N",
        goals=_inverse_sum,
    ),
    Model(
        claim="packetloss.arrivals.mean_inverse_recurrence",
        words=_NUMBERS_IN_WORDS,
        scope="every p in [0, 1], every N",
        goals=_inverse_recurrence,
    ),
    Model(
        claim="packetloss.arrivals.empty",
        words="Nothing arrives from N + 1 workers iff nothing does from N and the next packet is lost, independently.",
        scope="every p in [0, 1], every N",
        goals=_empty,
    ),
    Model(
        claim="packetloss.arrivals.zero_fill",
        words="Given K >= 1 the estimate is unbiased, by the goals given arrivals, and 0 otherwise: its mean over gbar "
        "is the probability that something arrives. With one more worker something arrives if it did before, or else "
        "if the new packet does. Induction on N.",
        scope=f"{_GRADIENTS} that do not cancel, every p in [0, 1], every N",
        goals=zero_fill_goals,
    ),
    Model(
        claim="packetloss.owner.unbiased",
        words="K contributions have the weight 1/K each; the owner's own is among them, so K >= 1.",
        scope="every set of arrivals, every N",
        goals=_weights,
    ),
    Model(
        claim="packetloss.owner.bias",
        words=f"{_WEIGHT_IN_WORDS} The owner's gradient, `own`, has the weight 1/K, the others share the rest alike; "
        "`sum` is that of all gradients. The claim, times the owner's deviation from the mean, which is not 0.",
        scope=f"{_GRADIENTS}, every p < 1, every N >= 2",
        goals=_pull,
    ),
    Model(
        claim="packetloss.owner.variance_iid",
        words=f"{_WEIGHT_IN_WORDS} K squared weights 1/K^2 sum to 1/K; independent gradients have no inner "
        "product in the mean.",
        scope="every p < 1, every N, every sigma",
        goals=_iid,
    ),
    Model(
        claim="packetloss.owner.inflation",
        words=f"{_WEIGHT_IN_WORDS} K squared weights 1/K^2 sum to 1/K; independent gradients have no inner "
        "product in the mean.",
        scope="every p < 1, every N, every sigma",
        goals=_inflation,
    ),
    Model(
        claim="packetloss.expected.unbiased",
        words="Every gradient is in the sum with probability 1 - p, and the sum is divided by (1 - p) N; `sum` is "
        "that of all gradients.",
        scope=f"{_GRADIENTS}, every p < 1, every N",
        goals=_expected,
    ),
    Model(
        claim="packetloss.expected.variance",
        words="Independent indicators whose squares are themselves: mean square 1 - p, squared mean (1 - p)^2. Each "
        "goes with g_i/((1 - p) N), `own`; `deviation` is that of the workers before, in one history of losses.",
        scope=f"{_GRADIENTS}, every p < 1, every N",
        goals=_expected_variance,
    ),
    Model(
        claim="packetloss.volume.sent",
        words="`words` is the size of a shard, n = N words. A worker sends, first, its values of N - 1 foreign shards, "
        "then its own shard to N - 1 others.",
        scope="every N, every n that N divides",
        goals=_sent,
    ),
    Model(
        claim="packetloss.volume.received",
        words="`words` is the size of a shard, n = N words. A worker is sent its own shard by N - 1 others, then N - 1 "
        "foreign shards; each arrives whole with probability 1 - p, and else not at all. With several packets per "
        "shard the same holds packet by packet.",
        scope="every p in [0, 1], every N, every n that N divides",
        goals=_received,
    ),
)
"""By claim."""
