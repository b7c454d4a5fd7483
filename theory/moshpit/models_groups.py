"""What certificates about averaging in random groups prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import (
    after_draw,
    independent_of,
    mean,
    over_all,
    over_histories,
    proved_by,
    uncorrelated,
)
from commbounds.theory.model import Goal, Model, by_claim, recurrence, vectors
from commbounds.theory.moshpit.terms import (
    M,
    N,
    blocks,
    deaf,
    failure,
    mean_blocks,
    r,
    regrouped,
    rounds,
    spread,
    survivors,
)
from commbounds.theory.subset_laws import over_pairs_of_subsets, two_seats

_a, _b = sp.symbols("a b", real=True)
_groups = sp.Symbol("groups", integer=True, positive=True)
_several = {"N - 1": N - 1}


def projection(expected: Any) -> dict[str, Any]:
    """What E A = a I + b J meets, by the expected number of groups: its rows add up to one, and its trace."""
    return {"a row of A adds up to 1": _a + _b * N - 1, "the trace of A is E R": N * (_a + _b) - expected}


def made(factor: Any) -> Any:
    """The expected number of groups with which one round has such a factor."""
    return factor * (N - 1) + 1


def per_group(factor: Any) -> Any:
    """The expected number of blocks that a group of M becomes, of those with which one round has such a factor."""
    return (made(factor) / _groups).subs(N, _groups * M)


def blocks_of_skipped(became: Any) -> tuple[Goal, ...]:
    """That M members make so many blocks if each of them fails, and is then by itself: induction on M."""
    further = (failure, 1), ((1 - failure) * failure**M, 1), ((1 - failure) * (1 - failure**M), 0)
    more = after_draw(became, 1, further)
    return (
        Goal("one member", became.subs(M, 1) - 1, equal=True),
        Goal("one more member", became.subs(M, M + 1) - more, equal=True),
    )


def seated() -> tuple[Goal, ...]:
    """That E A = a I + b J with `projection`, and what it does to a sum of squares, over groupings and seats.

    A grouping has seats, and peers take them in any order. What a group's mean leaves of the squares is what the
    vectors have as products with it: the squares after a round are <x, A x>.
    """
    trace, whole, members, groups, size = sp.symbols("trace whole members groups size", positive=True)
    chance, chances = sp.symbols("chance chances", positive=True)
    diagonal, other, traces, expected = sp.symbols("diagonal other traces expected", real=True)
    squares, pairs, sums, products, after = sp.symbols("squares pairs sums products after", real=True)
    own_after, own_products = sp.symbols("own_after own_products", real=True)
    x, average, deviations = vectors("x average deviations")
    of_members = {"members": products - after - deviations * average}
    one, two, known = 1 / N, 1 / (N * (N - 1)), {"N": N, **_several}
    before = {"diagonal before": diagonal - traces * one, "other entries before": other - (N * chances - traces) * two}
    a, b = (expected - (N - expected) / (N - 1)) * one, (N - expected) * two
    return (
        *two_seats(N),
        Goal("trace, one more group", trace + size / size**2 * size - (groups + 1), equal=True,
             positive={"size": size}, zero={"groups before": trace - groups}),
        Goal("all entries, one more group", whole + size**2 / size - (members + size), equal=True,
             positive={"size": size}, zero={"members before": whole - members}),
        Goal("diagonal, one more grouping", diagonal + chance * trace * one - (traces + chance * trace) * one,
             equal=True, positive=known, zero=before),
        Goal("other entries, one more grouping",
             other + chance * (N - trace) * two - (N * (chances + chance) - (traces + chance * trace)) * two,
             equal=True, positive=known, zero=before),
        Goal("a row adds up to 1", a + b * N - 1, equal=True, positive=known),
        Goal("the trace is E R", N * (a + b) - expected, equal=True, positive=known),
        Goal("squares after and products, one more member",
             products + x * average - (after + average**2) - (deviations + x - average) * average,
             equal=True, vectors=(x, average, deviations), zero=of_members),
        Goal("squares after are products with the vectors before", products - after, equal=True,
             vectors=(average, deviations), zero={**of_members, "about the mean": deviations * average}),
        *over_all(lambda after, products: after - products, (own_after, own_products), case="squares and products, "
                  "group by group: ", equal=True),
        Goal("one round takes a of the squares", (_a + _b) * squares + _b * pairs - _a * squares, equal=True,
             zero={"products": pairs - (sums - squares), "the sum is zero": sums}),
    )  # fmt: skip


def _histories() -> tuple[Goal, ...]:
    """That one more round takes the factor a of what any rounds leave, summed over all outcomes of these."""
    left, after, own, chance = sp.symbols("left after own chance", nonnegative=True)
    before = {"of the outcomes before": after - _a * left}
    more = (after + chance * _a * own) - _a * (left + chance * own)
    return (Goal("one more outcome of the rounds before", more, equal=True, positive=_several, zero=before),)


def _all_groups() -> Goal:
    """That N/M groups, each of which becomes so many blocks in the mean, become N/M times as many."""
    became = sp.Symbol("became", nonnegative=True)
    blocks = sp.Symbol("blocks_before", nonnegative=True)
    more = after_draw(blocks, 1, ((1, became),)) - (_groups + 1) * became
    return Goal("one more group of members", more, equal=True, zero={"groups before": blocks - _groups * became})


def second_moment(probability: Any) -> Goal:
    """That p (1 - p) squares + p^2 total^2 is the second moment of a sum of vectors, each there with probability p.

    One more vector is there after an outcome of the others, or is not; their sum has the mean p total.
    """
    x, total = vectors("x total")
    squares = sp.Symbol("squares")
    moment = probability * (1 - probability) * squares + probability**2 * total**2
    longer = probability * (1 - probability) * (squares + x**2) + probability**2 * (total + x) ** 2
    there = moment + 2 * probability * total * x + x**2
    after = probability * there + (1 - probability) * moment
    return Goal("one more vector", longer - after, equal=True, positive=_several, vectors=(x, total))


def _general(bound: Any) -> tuple[Goal, ...]:
    one = Goal("one round", bound - _a, equal=True, positive=_several, zero=projection(blocks))
    return *seated(), one


def _factor(bound: Any) -> tuple[Goal, ...]:
    start, step = recurrence(bound, rounds, 1, lambda factor, _: _a * factor)
    more = Goal("step", step.show, equal=True, positive=_several, zero=projection(r))
    return *seated(), *_histories(), start, more


def _upper(bound: Any) -> tuple[Goal, ...]:
    exact = sp.Symbol("exact", nonnegative=True)
    given = {"r >= 1": r - 1, "N >= r": N - r, "exact": exact, "the bound of these rounds": bound - exact}
    more = bound.subs(rounds, rounds + 1) - (r - 1) / (N - 1) * exact
    return (
        *proved_by("exact factor", _factor(((r - 1) / (N - 1)) ** rounds)),
        Goal("first", bound.subs(rounds, 0) - 1, equal=True),
        Goal("step", more, given=given, positive={"N": N, **_several}),
    )


def _labels(bound: Any) -> tuple[Goal, ...]:
    one = bound.subs(rounds, 1)
    occupied = made(one)
    sure, mean_labels, labels = sp.symbols("sure mean_labels labels", nonnegative=True)
    fates = (labels / r, labels), (1 - labels / r, labels + 1)
    after = sure + (1 - 1 / r) * mean_labels
    return (
        *seated(),
        *_histories(),
        *recurrence(bound, rounds, 1, lambda factor, _: factor * one, positive=_several),
        Goal("two peers", occupied.subs(N, 2) - (1 + (1 - 1 / r)), equal=True),
        *over_histories("one more peer", fates, {mean_labels: labels, sure: 1}, after, positive={"r": r}),
        Goal("all draws", occupied.subs(N, N + 1) - after.subs({sure: 1, mean_labels: occupied}), equal=True),
    )


def _all_partitions(bound: Any) -> tuple[Goal, ...]:
    partitions, following, total = sp.symbols("partitions following total", positive=True)
    bound = bound.subs(mean_blocks(N), following / partitions - 1)
    one = bound.subs(rounds, 1)
    return (
        *seated(),
        *_histories(),
        *recurrence(bound, rounds, 1, lambda factor, _: factor * one, positive=_several),
        Goal(
            "blocks",
            made(one) - total / partitions,
            equal=True,
            positive={"partitions": partitions},
            zero={"a further peer joins one of the blocks, or none": following - (total + partitions)},
        ),
    )


def _with_replacement(bound: Any) -> tuple[Goal, ...]:
    slots, weights, summed = sp.symbols("slots weights summed", positive=True)
    known = {"slots": slots}
    shares = {"draws before": summed - weights / slots**2}
    return (
        *uncorrelated(sp.Symbol("distortion", nonnegative=True)),
        *independent_of("a draw's distance from the mean"),
        Goal("weights, one more draw", summed + 1 / slots**2 - (weights + 1) / slots**2, equal=True,
             positive=known, zero=shares),
        Goal("all draws", summed - 1 / slots, equal=True, positive=known,
             zero={**shares, "all": weights - slots}),
        *recurrence(bound, r, 0, lambda left, _: left + slots / N * (1 / slots)),
    )  # fmt: skip


def _skip(bound: Any) -> tuple[Goal, ...]:
    return *seated(), *blocks_of_skipped(per_group(bound)), _all_groups()


def _abort(bound: Any) -> tuple[Goal, ...]:
    became = per_group(bound)
    whole = (M - became) / (M - 1)
    all_there = sp.Symbol("all_there", nonnegative=True)
    draws = (all_there, 1), (1 - all_there, M)
    return (
        *seated(),
        _all_groups(),
        Goal("one block, or M", (M - mean(draws)) / (M - 1) - all_there, equal=True, positive={"M - 1": M - 1}),
        Goal("one member", became.subs(M, 1) - 1, equal=True),
        Goal("two members", whole.subs(M, 2) - (1 - failure) ** 2, equal=True),
        Goal("one more member", whole.subs(M, M + 1) - (1 - failure) * whole, equal=True, positive={"M - 1": M - 1}),
    )


def _regrouping(bound: Any) -> tuple[Goal, ...]:
    there, further = sp.Symbol("there", nonnegative=True), ((failure, 1), (1 - failure, 0))
    alone = made(bound.subs(regrouped(N, M, failure), there)) - there
    ways, fewer, more, groups = sp.symbols("ways fewer more groups", nonnegative=True)
    present, absent = sp.symbols("present absent", integer=True, nonnegative=True)
    peers, chance = present + absent + 1, regrouped.chance
    before = (1 - failure) * chance(peers, present, failure, fewer), failure * chance(peers, present + 1, failure, ways)
    sums = ways * (groups + absent), ways * groups, ways * absent
    return (
        *seated(),
        Goal("how many are present, one more peer", chance(peers + 1, present + 1, failure, more) - sum(before),
             equal=True, zero={"ways": more - ways - fewer}),
        *over_all(lambda expected, there, alone: expected - there - alone, sums, case="numbers present: ", equal=True),
        *recurrence(alone, N, 0, lambda peers, _: after_draw(peers, 1, further)),
    )  # fmt: skip


def _one_way(bound: Any) -> tuple[Goal, ...]:
    after, squares, held = sp.symbols("after squares held", positive=True)
    total, group = vectors("total group")
    shift = (deaf * (1 - deaf) * squares + deaf**2 * total**2) / N**2
    zero = {
        **projection(r),
        "what is left is a of what there was": after - _a * spread,
        "squared distances from the groups' means": squares - N * (spread - after),
        "they add up to zero": total**2,
    }
    return (
        *seated(),
        second_moment(deaf),
        Goal("distances in one more group", (total + (group - held * (group * (1 / held)))) ** 2, equal=True,
             positive={"held": held}, zero={"groups before": total**2}, vectors=(total, group)),
        Goal("shift of the mean", bound - shift, equal=True, positive={"N": N, **_several}, zero=zero,
             vectors=(total,)),
    )  # fmt: skip


def _leaving(bound: Any) -> tuple[Goal, ...]:
    one, both = survivors / N, survivors * (survivors - 1) / (N * (N - 1))
    x, total = vectors("x total")
    squares = sp.Symbol("squares")
    step = recurrence(bound, rounds, 0, lambda shift, _: _a * shift)[1]
    moment, more = (one - both) * squares + both * total**2, (one - both) * x**2 + both * (2 * total * x + x**2)
    longer = (one - both) * (squares + x**2) + both * (total + x) ** 2
    return (
        *seated(),
        *_histories(),
        *proved_by("those that stay", over_pairs_of_subsets()),
        Goal("one more vector", longer - (moment + more), equal=True, positive=_several, vectors=(x, total)),
        Goal("first", bound.subs(rounds, 0) - (one - both) * N * spread / survivors**2, equal=True, positive=_several),
        Goal("step", step.show, equal=True, positive={"n'": survivors, **_several}, zero=projection(r)),
    )


_COUNTING = (
    "A grouping has seats, which peers take in any order, all with one probability. Averaging within groups is a "
    "matrix A whose entries are 1/size between members of one group: its trace is the number R of groups, peers by "
    "themselves included, all entries add up to N. An Nth of all `orders` has a peer in a seat, and one of N - 1 of "
    "these another peer in another seat. Over all groupings and orders an entry of the diagonal is in the mean "
    "`diagonal`, any other `other`: E A = a I + b J. The squared norm of A x is <x, A x>, the mean over a group being "
    "orthogonal to what it leaves; its mean is that of the squares and of the products of two peers, of which x "
    "without a mean has minus as much: a is the factor of a round. "
)
_INVERSE = _COUNTING + "So E R = 1 + (N - 1) a, and the goals are about that. "
_ROUNDS = (
    "Induction on T: every outcome of the rounds before, of `chance` and leaving `own`, is followed by all outcomes of "
    "the next, with the product of the chances. "
)
_LAW = "every stack of vectors, real arithmetic"

GROUP_MODELS = by_claim(
    Model(
        claim="moshpit.random_groups.general",
        words=_COUNTING + "Solved for a.",
        scope=f"every N >= 2, every law of groups that does not change if peers are renamed, {_LAW}",
        goals=_general,
    ),
    Model(
        claim="moshpit.random_groups.factor",
        words=_COUNTING + "R = r. " + _ROUNDS,
        scope=f"every N >= 2, every r <= N, every T, {_LAW}",
        goals=_factor,
    ),
    Model(
        claim="moshpit.random_groups.upper",
        words="`exact` is the factor of T rounds, which the next multiplies by (r - 1)/(N - 1), as "
        "the goals about it show; by induction it is no more than the bound. " + _COUNTING,
        scope=f"every N >= 2, every r <= N, every T, {_LAW}",
        goals=_upper,
        checked_by=("moshpit.random_groups.factor", "moshpit.random_groups.upper"),
    ),
    Model(
        claim="moshpit.random_groups.labels",
        words=_INVERSE + "R counts the labels that occur. A further peer has a new one with probability 1 - R/r, "
        "for any draws of the others: induction on N, from two peers, whose labels are equal with probability 1/r. "
        + _ROUNDS,
        scope=f"every N >= 2, every r >= 1, every T, {_LAW}",
        goals=_labels,
    ),
    Model(
        claim="moshpit.random_groups.all_partitions",
        words=_INVERSE + "`partitions` is the number B(N) of set partitions, `total` that of their blocks, `following` "
        "is B(N + 1): a further peer joins one of the R blocks or is by itself, so that every partition is followed by "
        "R + 1. " + _ROUNDS,
        scope=f"every N >= 2, every T, {_LAW}",
        goals=_all_partitions,
    ),
    Model(
        claim="moshpit.random_groups.with_replacement",
        words="A group of `slots` slots, of N, holds the mean of as many independent draws from the peers: its squared "
        "distance from the initial mean is D_0/slots in the mean: `weights` draws of weight 1/slots each, whose "
        "distances have no products in the mean. Induction on the draws, and on the number of groups.",
        scope=f"every N >= 2, every r, every size of groups, {_LAW}",
        goals=_with_replacement,
    ),
    Model(
        claim="moshpit.random_groups.skip",
        words=_INVERSE + "There are N/M groups. A further member of a group fails, and is one more block; or is "
        "present, and makes a block if all others fail, p^M: each outcome of the others has three successors. "
        "Induction on M, and on the groups.",
        scope=f"every M >= 1 that divides N >= 2, every p, {_LAW}",
        goals=_skip,
    ),
    Model(
        claim="moshpit.random_groups.abort",
        words=_INVERSE + "There are N/M groups. A group becomes one block with the probability w that all are present, "
        "else M blocks: M - (M - 1) w, solved for w; a further member is present with probability 1 - p. A group of "
        "one is one block. Induction on M, from two.",
        scope=f"every M >= 1 that divides N >= 2, every p, {_LAW}",
        goals=_abort,
    ),
    Model(
        claim="moshpit.random_groups.regrouping",
        words=_INVERSE + "`there` is the expected number of groups of the peers present, which the claim's function "
        "sums up over their number: one more peer is present or not, which `fewer` and as many were in so many `ways` "
        "before. Every absent one is a group, `absent` of them: p for each of the N peers, by induction.",
        scope=f"every N >= 2, every M, every p, {_LAW}",
        goals=_regrouping,
    ),
    Model(
        claim="moshpit.trials.random",
        words=_INVERSE + "As in moshpit.random_groups.skip: induction on the members M of a group.",
        scope=f"every M >= 1 that divides N >= 2, every p, {_LAW}; the law that trials draw from",
        goals=_skip,
        checked_by=("moshpit.random_groups.skip", "moshpit.trials.random"),
    ),
    Model(
        claim="moshpit.mean.one_way",
        words="The mean moves by the sum of the deaf peers' x_i - (their groups' means), over N; these vectors add up "
        "to zero over all peers, group by group. The second moment of a sum of vectors x_i, each there with "
        "probability q, is q (1 - q) sum ||x_i||^2 + q^2 ||sum x_i||^2: one more vector adds 2 q <x, q total> + q "
        "||x||^2, by independence. `squares` is what the sum of the squares is in the mean: N times the distortion "
        "that a round takes away. " + _COUNTING,
        scope=f"every N >= 2, every r <= N, every q, {_LAW}",
        goals=_one_way,
    ),
    Model(
        claim="moshpit.mean.leaving",
        words="n' of N vectors that add up to zero are drawn without replacement: each with probability n'/N, two of "
        "them with n' (n' - 1)/(N (N - 1)). The second moment of the drawn ones' sum is (one - both) sum ||x_i||^2 + "
        "both ||sum x_i||^2, by induction over the vectors, of all subsets of n'; the sum of the squares is N V with "
        "no round, V the distortion, and every round multiplies the mean by a. " + _COUNTING,
        scope=f"every N >= 2, every n' <= N, every r <= N, every T, {_LAW}",
        goals=_leaving,
    ),
)
