"""Packet loss: exact laws of staleness and drift, t steps after the replicas were equal."""

from commbounds.theory.claim import Claim, Eq, Kind
from commbounds.theory.packetloss.quantities import (
    AGES_IN_ORDER,
    ANY_INDEPENDENT_LOSSES,
    APART_WITHIN_STEPS,
    BELOW_ONE,
    BOTH_MISSED,
    CONSENSUS,
    DIFFER,
    DRIFT,
    EQUAL_START,
    GIVEN_UPDATES,
    INDEPENDENT_LOSSES,
    OWNER_DRIFT,
    RANGE,
    SHORTFALL,
    SOME_LOSS,
    STALE_BELOW_STEPS,
    STALENESS_LAW,
    TWO_WORKERS_OR_MORE,
    VERSION_GAP_LAW,
    WHITE_UPDATES,
    WHOLE_DRIFT,
)
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
    owner_steps,
    p,
    pair_steps,
    receivers,
    sigma,
    stale,
    staleness_range,
    t,
)
from commbounds.theory.sources import derived

_LOSS = (INDEPENDENT_LOSSES, EQUAL_START)
_WHITE = (*_LOSS, WHITE_UPDATES, BELOW_ONE)

CLAIMS = (
    Claim(
        name="packetloss.staleness.law",
        title="A receiver's staleness is geometric: P(L = l) = (1-p) p^l for l < t",
        relation=Eq(STALENESS_LAW, (1 - p) * p**stale),
        kind=Kind.LAW,
        source=derived("L = l < t iff the last l packets were lost and the one before arrived."),
        assumes=(*_LOSS, STALE_BELOW_STEPS),
        axis="p",
    ),
    Claim(
        name="packetloss.staleness.never_updated",
        title="A receiver has received nothing in t steps with probability p^t",
        relation=Eq(STALENESS_LAW, p**t),
        kind=Kind.LAW,
        source=derived("All t packets were lost."),
        assumes=_LOSS,
        axis="p",
    ),
    Claim(
        name="packetloss.versions.differ",
        title="Two receivers hold different versions with probability 2p/(1+p) (1 - p^(2t))",
        relation=Eq(DIFFER, 2 * p / (1 + p) * (1 - p ** (2 * t))),
        kind=Kind.LAW,
        source=derived(
            "They differ if exactly one receives, probability 2p(1-p), or neither does and they differed before: "
            "q_t = 2p(1-p) + p^2 q_(t-1) from q_0 = 0."
        ),
        assumes=_LOSS,
        axis="p",
    ),
    Claim(
        name="packetloss.versions.gap",
        title="Two receivers are m >= 1 versions apart with probability 2(1-p) p^m (1 + p^(2(t-m)+1))/(1+p)",
        relation=Eq(VERSION_GAP_LAW, 2 * (1 - p) * p**apart * (1 + p ** (2 * (t - apart) + 1)) / (1 + p)),
        kind=Kind.LAW,
        source=derived(
            "2 sum over l of P(L = l) P(L = l + m): the terms with l + m < t sum to (1-p)^2 p^m (1 - "
            "p^(2(t-m)))/(1-p^2), the one with l + m = t is (1-p) p^(t-m) p^t. Tends to 2(1-p)/(1+p) p^m."
        ),
        assumes=(*_LOSS, APART_WITHIN_STEPS),
        axis="p",
    ),
    Claim(
        name="packetloss.drift.pair",
        title="White updates: the exact expected squared gap of two receivers after t steps",
        relation=Eq(DRIFT, sigma**2 * pair_steps(p, t)),
        kind=Kind.EXPECTED,
        source=derived(
            "The update of age a lies between the two versions iff exactly one receiver has missed it, probability "
            "2 p^(a+1) (1 - p^(a+1)); sum over a < t, as white updates add up their variances."
        ),
        assumes=_WHITE,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.owner",
        title="White updates: a receiver's expected squared gap to the owner is sigma^2 p (1-p^t)/(1-p)",
        relation=Eq(OWNER_DRIFT, sigma**2 * owner_steps(p, t)),
        kind=Kind.EXPECTED,
        source=derived("The update of age a is missed with probability p^(a+1); sum over a < t."),
        assumes=_WHITE,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.two_updates",
        title="Updates of ages a <= b both lie between two receivers' versions with probability 2 p^(b+1) (1 - "
        "p^(a+1))",
        relation=Eq(BOTH_MISSED, 2 * p ** (older + 1) * (1 - p ** (age + 1))),
        kind=Kind.LAW,
        source=derived(
            "One receiver has missed the older one, and with it both; the other has missed neither: L <= a."
        ),
        assumes=(*_LOSS, AGES_IN_ORDER),
        axis="p",
        note="This is the drift under any autocovariance: E||D_t||^2 is the sum over all pairs of ages of this "
        "probability times E<u_a, u_b>.",
    ),
    Claim(
        name="packetloss.drift.given_updates",
        title="Any given updates: the pair's squared gap is twice the variance of one receiver's gap to the owner",
        relation=Eq(DRIFT, 2 * (lagged - discounted)),
        kind=Kind.EXPECTED,
        source=derived(
            "Two receivers' gaps x_1, x_2 to the owner are independent and alike, so E||x_1 - x_2||^2 = "
            "2 (E||x||^2 - ||E x||^2); P(both ages a, b missed) = p^(max(a, b) + 1) gives the two terms."
        ),
        assumes=(*_LOSS, GIVEN_UPDATES),
        axis="p",
        note="It holds for any sequence of vectors, including recorded gradients of a training run.",
    ),
    Claim(
        name="packetloss.drift.one_step",
        title="The squared gap follows E' = p^2 E + 2p(1-p) V, with V its mean when exactly one of the two receives",
        relation=Eq(DRIFT, p**2 * driftbefore + 2 * p * (1 - p) * onesided),
        kind=Kind.EXPECTED,
        source=derived(
            "Both receive: no gap. Neither: the old gap. Exactly one, probability 2p(1-p): V by definition."
        ),
        assumes=(*_LOSS, GIVEN_UPDATES),
        axis="p",
        note="With V constant the fixed point is 2p/(1+p) V: the reported constant is right if sigma^2 means V, the "
        "squared gap when one receives and the other does not. For white updates V is sigma^2/(1-p) in the long run, "
        "because the other is 1 + L updates behind, not one.",
    ),
    Claim(
        name="packetloss.drift.relaxation",
        title="After t steps the pair's squared gap is a share p^t (1 + p - p^(t+1)) below its limit",
        relation=Eq(SHORTFALL, p**t * (1 + p - p ** (t + 1))),
        kind=Kind.EXPECTED,
        source=derived("1 - (1-p^2)/(2p) times the exact gap after t steps."),
        assumes=(*_WHITE, SOME_LOSS),
        axis="p",
        note="The share is of order p^t. With a constant V the recursion would give p^(2t), as for P(versions differ).",
    ),
    Claim(
        name="packetloss.drift.whole_vector",
        title="Over all N shards a pair's squared gap adds up N-2 shards of others and the two that the pair owns",
        relation=Eq(WHOLE_DRIFT, ((N - 2) * pair_steps(p, t) + 2 * owner_steps(p, t)) / N),
        kind=Kind.EXPECTED,
        source=derived(
            "Add up the shards: of 2 the pair's members are owner and receiver, of N - 2 both are receivers."
        ),
        assumes=(*_WHITE, TWO_WORKERS_OR_MORE),
        axis="p",
    ),
    Claim(
        name="packetloss.drift.consensus",
        title="White updates: the exact mean squared distance of the copies to their mean",
        relation=Eq(CONSENSUS, sigma**2 * (N - 1) * (owner_steps(p, t) + (N - 2) * pair_steps(p, t) / 2) / N**2),
        kind=Kind.EXPECTED,
        source=derived(
            "(1/N) sum_i ||x_i - xbar||^2 = (1/N^2) sum_(i<j) ||x_i - x_j||^2: N - 1 pairs with the owner, "
            "(N-1)(N-2)/2 without."
        ),
        assumes=_WHITE,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.any_losses",
        title="Any losses, independent over receivers: the pair's squared gap is 2 sigma^2 sum_s F(s) (1 - F(s))",
        relation=Eq(DRIFT, 2 * sigma**2 * fates),
        kind=Kind.EXPECTED,
        source=derived("The update of age s lies in the gap iff exactly one receiver's staleness exceeds s."),
        assumes=(ANY_INDEPENDENT_LOSSES, EQUAL_START, WHITE_UPDATES),
        axis="fates",
    ),
    Claim(
        name="packetloss.workers.range",
        title="The range of the receivers' staleness has an exact mean that grows with their number",
        relation=Eq(RANGE, staleness_range(receivers, p, t)),
        kind=Kind.EXPECTED,
        source=derived(
            "E max L - E min L = sum over s < t of P(max L > s) - P(min L > s), with P(L > s) = p^(s+1) for s < t."
        ),
        assumes=_LOSS,
        axis="receivers",
        note="A pair's gap does not depend on the number of workers; the largest gap among all of them does.",
    ),
)
