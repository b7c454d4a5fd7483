"""What certificates about staleness and drift prove, where the book has an exact law."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import Draws, mean, over_all, over_histories, proved_by, uncorrelated
from commbounds.theory.model import Goal, Model, by_claim, recurrence, vectors
from commbounds.theory.packetloss.terms import (
    N,
    age,
    apart,
    discounted,
    driftbefore,
    fates,
    lagged,
    older,
    onesided,
    p,
    packets,
    pair_steps,
    receivers,
    sigma,
    stale,
    staleness_range,
    t,
)

_STEP_IN_WORDS = (
    "One step: a receiver's gap to the owner, x, becomes 0 where the packet arrives and x + u where it is lost, with "
    "probability p, independently of x and of the update u: histories are taken up one by one, each with both fates."
)
WHITE_IN_WORDS = (
    "Given all losses, updates are vectors whose inner products are means over the updates: white ones are orthogonal "
    "to the gap x of older ones. One has the weight 1 or -1, or 0 where both receivers have it, or neither, and adds "
    "weight^2 sigma^2; `weights` is the mean of those squares over the histories of losses, taken up one by one."
)
_EVERY = "every p < 1, every t, every sigma"

_m, _u, _x, _y, _z = vectors("m u x y z")
_size, _between, _cross, _variance = sp.symbols("size between cross variance", real=True)
_F, _before = sp.symbols("F before", nonnegative=True)
_one, _other = sp.symbols("one other", nonnegative=True)


ARRIVES = {"1 - p": 1 - p}


def missed(loss: Any, ages: Any) -> Any:
    """Probability that a receiver lacks the update of an age."""
    return loss ** (ages + 1)


def exactly_one(chance: Any) -> Any:
    """Probability that of two independent events of one chance exactly one happens."""
    return 1 - chance**2 - (1 - chance) ** 2


def _of_two(chance: Any) -> Draws:
    """Of two independent receivers each lacks an update with some chance: how often, squared, their gap has it."""
    has = 1 - chance
    return (chance * chance, 0), (chance * has, 1), (has * chance, 1), (has * has, 0)


def white_updates(chance: Any) -> tuple[Goal, ...]:
    """That a white update adds sigma^2, times the chance that exactly one of two receivers lacks it.

    Parameters
    ----------
    chance : sympy expression
        Of one receiver.
    """
    return (
        *uncorrelated(sigma**2),
        Goal("exactly one of two lacks it", mean(_of_two(chance)) - exactly_one(chance), equal=True),
    )


_LACKS = proved_by("one packet more is lost", recurrence(missed(p, t), t, p, lambda chance, _: p * chance))
_WHITE = (*_LACKS, *white_updates(missed(p, t)))

_GAP = over_histories(
    "a receiver's gap",
    ((1 - p, sp.S.Zero), (p, (_x + _u) ** 2)),
    {_size: _x**2, _cross: _x * _u, _variance: _u**2},
    p * (_size + 2 * _cross + _variance),
    vectors=(_x, _u),
)
_GAP_OF_TWO = over_histories(
    "two receivers' gap",
    ((p * p, (_x - _y) ** 2), (p * (1 - p), (_x + _u) ** 2), ((1 - p) * p, (_y + _u) ** 2), ((1 - p) ** 2, sp.S.Zero)),
    {_between: (_x - _y) ** 2, _size: _x**2 + _y**2, _cross: _x * _u + _y * _u, _variance: 2 * _u**2},
    p**2 * _between + p * (1 - p) * (_size + 2 * _cross + _variance),
    vectors=(_x, _y, _u),
)
_MEAN_GAP = over_histories(
    "the mean gap, along any vector z",
    ((1 - p, sp.S.Zero), (p, (_x + _u) * _z)),
    {_cross: _x * _z, _variance: _u * _z},
    p * (_cross + _variance),
    vectors=(_x, _u, _z),
)


def pair_drift(steps: Any) -> Any:
    """What `packetloss.drift.pair` says."""
    return sigma**2 * pair_steps(p, steps)


def _staleness(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, stale, 1 - p, lambda chance, _: p * chance)


def _never(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, t, 1, lambda chance, _: p * chance)


def versions_differ_goals(bound: Any) -> tuple[Goal, ...]:
    """That the bound is the chance that two receivers have different versions."""
    return recurrence(bound, t, 0, lambda chance, _: exactly_one(p) + p**2 * chance)


def _gap(bound: Any) -> tuple[Goal, ...]:
    more, later = sp.symbols("more later", nonnegative=True)

    def at(since: Any) -> Any:
        return bound.subs(apart, more + 1).subs(t, more + 1 + since)

    return (
        Goal("as many versions as steps", at(0) - exactly_one(p) * p**more, equal=True),
        Goal("step", at(later + 1) - p**2 * at(later) - exactly_one(p) * (1 - p) * p**more, equal=True),
    )


def pair_goals(bound: Any) -> tuple[Goal, ...]:
    """That the bound is the squared gap of two receivers after t white updates."""
    return (
        *_WHITE,
        *recurrence(
            bound, t, 0, lambda drift, steps: drift + sigma**2 * exactly_one(missed(p, steps)), positive=ARRIVES
        ),
    )


def owner_goals(bound: Any) -> tuple[Goal, ...]:
    """That the bound is a receiver's squared gap to the owner after t white updates."""
    return (*_GAP, *recurrence(bound, t, 0, lambda drift, _: p * (drift + sigma**2), positive=ARRIVES))


def both_in_the_gap(younger: Any, elder: Any) -> Any:
    """What `packetloss.drift.two_updates` says."""
    return 2 * missed(p, elder) * (1 - missed(p, younger))


def two_updates_goals(bound: Any) -> tuple[Goal, ...]:
    """That the bound is the chance that updates of two ages both lie in the gap of two receivers."""
    return (
        Goal("the last update and another", bound.subs(age, 0) - exactly_one(p) * missed(p, older - 1), equal=True),
        Goal(
            "both a step older",
            bound.subs({age: age + 1, older: older + 1}, simultaneous=True)
            - p**2 * bound
            - exactly_one(p) * missed(p, older),
            equal=True,
        ),
    )


def _given_updates(bound: Any) -> tuple[Goal, ...]:
    before = bound.subs({discounted: _m**2})
    beside = lagged + 2 * _m * _u + _u**2
    after = bound.subs({lagged: p * beside, discounted: p**2 * (_m + _u) ** 2}, simultaneous=True)
    return (
        *_GAP,
        *_GAP_OF_TWO,
        *_MEAN_GAP,
        Goal("first", bound.subs({lagged: 0, discounted: 0}), equal=True),
        Goal("step", after - p**2 * before - exactly_one(p) * beside, equal=True, vectors=(_m, _u)),
    )


def _one_step(bound: Any) -> tuple[Goal, ...]:
    return (Goal("three cases", bound - p**2 * driftbefore - exactly_one(p) * onesided, equal=True),)


def _relaxation(bound: Any) -> tuple[Goal, ...]:
    limit = 2 * p / (1 - p**2)
    positive = {"p": p, **ARRIVES}
    return (
        *_WHITE,
        *recurrence(bound, t, 1, lambda share, steps: share - exactly_one(missed(p, steps)) / limit, positive=positive),
    )


def whole_vector_goals(bound: Any) -> tuple[Goal, ...]:
    """That the bound is the squared gap of two copies of all shards, over one update's."""
    return (
        *_WHITE,
        *recurrence(
            bound,
            t,
            0,
            lambda drift, steps: drift + ((N - 2) * exactly_one(missed(p, steps)) + 2 * missed(p, steps)) / N,
            positive=ARRIVES,
        ),
    )


def _binomial(chance: Any) -> tuple[Goal, ...]:
    """The mean and the mean square of how many of `others` receivers lack an update: one more at a time."""
    others, many, square, all_ = sp.symbols("others many square all_", nonnegative=True)
    lack = sp.Symbol("lack", nonnegative=True)
    fates, means = ((chance, lack + 1), (1 - chance, lack)), {many: lack, square: lack**2, all_: sp.S.One}
    squares = tuple((share, value**2) for share, value in fates)
    first, second = others * chance, (others * chance) ** 2 + others * chance * (1 - chance)
    return (
        *over_histories("how many lack it", fates, means, many + chance * all_),
        *over_histories("their number squared", squares, means, square + chance * (2 * many + all_)),
        *proved_by("their mean", recurrence(first, others, 0, lambda known, _: known + chance)),
        *proved_by(
            "their mean square",
            recurrence(second, others, 0, lambda known, index: known + chance * (2 * first.subs(others, index) + 1)),
        ),
        Goal(
            "distance to the mean copy",
            (lack * (1 - lack / N) ** 2 + (N - lack) * (lack / N) ** 2) / N - (N * lack - lack**2) / N**2,
            equal=True,
            positive={"N": N},
        ),
    )


def consensus_goals(bound: Any) -> tuple[Goal, ...]:
    """That the bound is the mean squared distance to the mean copy after t white updates."""

    def step(spread: Any, steps: Any) -> Any:
        many = (N - 1) * missed(p, steps)
        square = many**2 + (N - 1) * missed(p, steps) * (1 - missed(p, steps))
        return spread + sigma**2 * (N * many - square) / N**2

    return (*_WHITE, *_binomial(missed(p, t)), *recurrence(bound, t, 0, step, positive=ARRIVES))


def _any_losses(bound: Any) -> tuple[Goal, ...]:
    more = bound.subs(fates, fates + _F * (1 - _F))
    return (
        *white_updates(_F),
        Goal("no step", bound.subs(fates, 0), equal=True),
        Goal("an update more", more - bound - sigma**2 * exactly_one(_F), equal=True),
    )


def _range(bound: Any) -> tuple[Goal, ...]:
    """A receiver is staler than some steps with chance q: `none` and `all_` are the chances of R receivers."""
    q, none, all_, chance, before, flag = sp.symbols("q none all_ chance before flag", nonnegative=True)
    R = receivers

    def summed(count: Any, loss: Any, steps: Any) -> Any:
        if steps == 0:
            return sp.S.Zero
        if (count, loss) != (R, p) or steps not in (t, t + 1):
            return staleness_range(count, loss, steps)
        return _before + (0 if steps == t else staleness_range.widens(count, loss, steps))

    wider = bound.subs(t, t + 1).replace(staleness_range, summed) - bound.replace(staleness_range, summed)
    at = {"q": q - p ** (t + 1), "none is staler": none - (1 - q) ** R, "all are": all_ - p ** (R * (t + 1))}
    return (
        Goal("no step", bound.subs(t, 0).replace(staleness_range, summed), equal=True),
        *proved_by("one packet more is lost", recurrence(p**t, t, 1, lambda lost, _: p * lost)),
        *over_histories("none is staler", ((q, 0), (1 - q, _one)), {none: _one}, (1 - q) * none),
        *over_histories("all are staler", ((q, _one), (1 - q, 0)), {all_: _one}, q * all_),
        *proved_by("none of R", recurrence((1 - q) ** R, R, 1, lambda so_far, _: (1 - q) * so_far)),
        *proved_by("all of R", recurrence(p ** (R * t), R, 1, lambda so_far, _: p**t * so_far)),
        *over_all(
            lambda ranges, before, wider: ranges - before - wider,
            (chance * (before + flag), chance * before, chance * flag),
            case="histories: ",
            equal=True,
        ),
        Goal("as the range widens", (wider - (1 - none - all_)).subs(p ** (t + 1), q), equal=True, zero=at),
    )


def _packets(bound: Any) -> tuple[Goal, ...]:
    split, alone = bound.subs(sigma**2, _one + _other), bound.subs(sigma**2, _one)
    return (
        Goal("no packet", bound.subs(sigma**2, 0), equal=True),
        Goal("one packet more", split - alone - bound.subs(sigma**2, _other), equal=True, positive=ARRIVES),
        *proved_by("one packet", pair_goals(bound)),
    )


def _all_lost(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, packets, p, lambda chance, _: p * chance, start=1)


def _alike(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("equal copies", bound.subs(t, 0), equal=True),
        Goal("both receive", bound.subs(t, t + 1), equal=True),
        Goal("neither receives", bound.subs(t, t + 1) - bound, equal=True),
    )


def _no_loss(bound: Any) -> tuple[Goal, ...]:
    return (Goal("both receive", bound, equal=True),)


def _kept(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, t, 0, lambda drift, _: drift)


def _certain(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, t, 0, lambda drift, _: drift + sigma**2)


MODELS = by_claim(
    Model(
        claim="packetloss.staleness.law",
        words="The staleness is 0 iff the last packet arrived, and l + 1 iff it was lost and the staleness before was "
        "l. Induction on l: P(L = 0) = 1 - p, and P(L = l + 1) is p times P(L = l) a step earlier.",
        scope="every p in [0, 1], every l < t",
        goals=_staleness,
    ),
    Model(
        claim="packetloss.staleness.never_updated",
        words="Nothing arrived in t + 1 steps iff nothing did in t and the next packet is lost. Induction on t.",
        scope="every p in [0, 1], every t",
        goals=_never,
    ),
    Model(
        claim="packetloss.versions.differ",
        words="Two receivers differ after a step iff exactly one of the two receives, or neither and they differed "
        "before. Induction on t.",
        scope="every p in [0, 1], every t",
        goals=versions_differ_goals,
    ),
    Model(
        claim="packetloss.versions.gap",
        words="Both receive: no version apart. Neither: as many as before. Exactly one: one more than the other's "
        "staleness before, which is l with probability (1 - p) p^l for l below the number of steps, and all steps with "
        "the p^steps that is left. Induction on t from t = m, where the gap before cannot have been m.",
        scope="every p in [0, 1], every m in 1..t",
        goals=_gap,
    ),
    Model(
        claim="packetloss.drift.pair",
        words=f"{WHITE_IN_WORDS} The update of age a lies between the two versions iff exactly one receiver has missed "
        "it, and each has with probability p^(a + 1), a packet more for every step of age. Induction on t.",
        scope=_EVERY,
        goals=pair_goals,
        checked_by=("packetloss.drift.pair", "packetloss.drift.two_updates"),
    ),
    Model(
        claim="packetloss.drift.owner",
        words=f"{_STEP_IN_WORDS} White updates are uncorrelated with x, `cross` = 0: E x'^2 = p (E x^2 + sigma^2). "
        "Induction on t.",
        scope=_EVERY,
        goals=owner_goals,
    ),
    Model(
        claim="packetloss.shared.owner",
        words=f"{_STEP_IN_WORDS} The packet's other receivers do not matter. White updates are uncorrelated with x: E "
        "x'^2 = p (E x^2 + sigma^2). Induction on t.",
        scope=_EVERY,
        goals=owner_goals,
    ),
    Model(
        claim="packetloss.drift.two_updates",
        words="Ages 0 and b: exactly one receives, and the other lacked, a step earlier, the update that was then of "
        "age b - 1, with probability p^b. A step later: neither receives and both updates lay in the gap, or exactly "
        "one receives and the other lacked the older one, of age b, and with it both. Induction on a, b - a held.",
        scope="every p in [0, 1], all ages a <= b",
        goals=two_updates_goals,
    ),
    Model(
        claim="packetloss.drift.given_updates",
        words=f"{_STEP_IN_WORDS} With m = E x: `lagged` = E||x||^2 becomes p (lagged + 2 <m, u> + ||u||^2) and "
        "`discounted` = ||m||^2 becomes p^2 ||m + u||^2, in step with their sums over the ages. The squared gap of two "
        "receivers is kept where neither receives, and is ||x + u||^2 where exactly one does. Induction on t.",
        scope="every p in [0, 1], every t, every sequence of updates in R^n, every n",
        goals=_given_updates,
    ),
    Model(
        claim="packetloss.drift.one_step",
        words="Both receive: no gap. Neither, probability p^2: the gap before, which the step's losses do not depend "
        "on. Exactly one, with what is left of probability: V by definition.",
        scope="every p in [0, 1], every t, every sequence of updates",
        goals=_one_step,
    ),
    Model(
        claim="packetloss.drift.relaxation",
        words=f"{WHITE_IN_WORDS} The update of age t is one of the gap iff exactly one receiver has missed it: by "
        "so much, over the limit 2p/(1 - p^2), the shortfall of 1 shrinks in step t + 1. Induction on t.",
        scope="every p in (0, 1), every t",
        goals=_relaxation,
    ),
    Model(
        claim="packetloss.drift.whole_vector",
        words=f"{WHITE_IN_WORDS} In N - 2 of N shards both are receivers, "
        "and the update of age a is one of their gap iff exactly one has missed it; in two shards one is the owner, "
        "and it is iff the other has missed it. Induction on t.",
        scope="every p < 1, every t, every N >= 2",
        goals=whole_vector_goals,
    ),
    Model(
        claim="packetloss.drift.consensus",
        words=f"{WHITE_IN_WORDS} If j of the N - 1 receivers have missed an update, `lack`, it counts j/N less in the "
        "mean copy, and so adds sigma^2 (N j - j^2)/N^2 to the mean squared distance to it. For age a, receivers lack "
        "it with probability p^(a + 1) each: mean and mean square of j, receiver by receiver. Induction on t.",
        scope="every p < 1, every t, every N, every sigma",
        goals=consensus_goals,
    ),
    Model(
        claim="packetloss.drift.any_losses",
        words=f"{WHITE_IN_WORDS} `F` is the probability that a receiver's staleness is at most s. "
        "The update of age s is one of the gap iff exactly one of two independent receivers' staleness exceeds s. "
        "Induction on the number of updates.",
        scope="every law of the losses over time, every t, every sigma",
        goals=_any_losses,
    ),
    Model(
        claim="packetloss.workers.range",
        words="The range of L is the sum over s of 1 where the stalest is staler than s and the freshest is not: step "
        "by step, history by history. A receiver is with chance q = p^(s + 1), one packet more, independently of the "
        "others; none of R is with (1 - q)^R, all are with q^R, receiver by receiver. `before` is the sum of the first "
        "up to t, and 0 at t = 0.",
        scope="every p < 1, every t, every number R of receivers",
        goals=_range,
    ),
    Model(
        claim="packetloss.shared.pair",
        words="Two receivers of one fate: both receive, and are equal; or neither, and their gap is kept. Induction on "
        "t, for every history.",
        scope="every p in [0, 1], every t, every update",
        goals=_alike,
    ),
    Model(
        claim="packetloss.corners.no_loss",
        words="Both receive in every step, and are equal.",
        scope="p = 0, every t, every update",
        goals=_no_loss,
    ),
    Model(
        claim="packetloss.corners.pair_at_certain_loss",
        words="Neither receives: the gap is kept. Induction on t.",
        scope="p = 1, every t, every update",
        goals=_kept,
    ),
    Model(
        claim="packetloss.corners.owner_at_certain_loss",
        words="A receiver misses every update: its gap to the owner grows by u, and white updates add up their "
        "variances. Induction on t.",
        scope="p = 1, every t, every sigma",
        goals=_certain,
    ),
    Model(
        claim="packetloss.packets.drift",
        words="`one` is an update's variance in a packet, `other` that in the packets before. Every coordinate travels "
        "in one packet a step, and lies in the gap as if the shard were one. Induction on the packets. "
        f"{WHITE_IN_WORDS}",
        scope=_EVERY,
        goals=_packets,
    ),
    Model(
        claim="packetloss.packets.all_lost",
        words="A packet more, lost independently of the others. Induction on q.",
        scope="every p in [0, 1], every q >= 1",
        goals=_all_lost,
    ),
)
"""By claim."""
