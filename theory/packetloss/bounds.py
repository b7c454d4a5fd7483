"""Packet loss: bounds of the drift after any number of steps, and the reported constant."""

from commbounds.theory.claim import Claim, Kind, Le, Standing
from commbounds.theory.packetloss.quantities import (
    AUTOREGRESSIVE,
    BELOW_ONE,
    BOUNDED_UPDATES,
    CONSENSUS,
    DIFFER,
    DRIFT,
    EQUAL_START,
    INDEPENDENT_LOSSES,
    MATCHING_CORRELATION,
    MEAN_DRIFT,
    MEAN_VERSION_GAP,
    NONNEGATIVE_AUTOCOVARIANCE,
    OWNER_DRIFT,
    PACKET_LOSS,
    SOME_LOSS,
    SQUARE_VERSION_GAP,
    TWO_WORKERS_OR_MORE,
    WHITE_UPDATES,
    WHOLE_DRIFT,
)
from commbounds.theory.packetloss.terms import G, N, autocov, p, rho, sigma
from commbounds.theory.sources import derived

_LOSS = (INDEPENDENT_LOSSES, EQUAL_START, BELOW_ONE)
_WHITE = (*_LOSS, WHITE_UPDATES)
_STATED = "Drift result, lim E[D_t^2] = 2p/(1+p) sigma^2, as one public review reports it; the theorem was not read"
_MANY = "many steps"

CLAIMS = (
    Claim(
        name="packetloss.versions.as_reviewed",
        title="After any number of steps two receivers hold different versions with probability at most 2p/(1+p)",
        relation=Le(DIFFER, 2 * p / (1 + p)),
        kind=Kind.LAW,
        source=PACKET_LOSS.second_hand(
            f"{_STATED}. Here the constant without sigma^2 is read as a probability",
            "q_t = 2p/(1+p) (1 - p^(2t)), from q_t = 2p(1-p) + p^2 q_(t-1).",
            reading="The constant is read as a probability.",
        ),
        assumes=_LOSS,
        tightness=1,
        extremal=_MANY,
        axis="p",
        note="The reported constant is exactly the limit of this probability.",
    ),
    Claim(
        name="packetloss.versions.mean_gap",
        title="Two receivers are at most 2p/(1-p^2) versions apart on average, after any number of steps",
        relation=Le(MEAN_VERSION_GAP, 2 * p / (1 - p**2)),
        kind=Kind.EXPECTED,
        source=derived(
            "M_t = |min(L_1, t) - min(L_2, t)| <= |L_1 - L_2| for geometric L, and E|L_1 - L_2| = sum 2 F (1-F) = "
            "2p/(1-p) - 2p^2/(1-p^2)."
        ),
        assumes=_LOSS,
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
    Claim(
        name="packetloss.versions.mean_square_gap",
        title="The squared number of versions between two receivers is at most 2p/(1-p)^2 on average",
        relation=Le(SQUARE_VERSION_GAP, 2 * p / (1 - p) ** 2),
        kind=Kind.EXPECTED,
        source=derived("M_t <= |L_1 - L_2| as before; E(L_1 - L_2)^2 = 2 Var L = 2p/(1-p)^2."),
        assumes=_LOSS,
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.pair_limit",
        title="White updates: two receivers' expected squared gap stays below sigma^2 2p/(1-p^2) at all times",
        relation=Le(DRIFT, sigma**2 * 2 * p / (1 - p**2)),
        kind=Kind.EXPECTED,
        source=derived(
            "The exact gap after t steps grows with t, its increments 2 sigma^2 p^t (1 - p^t) being positive, and "
            "tends to 2p/(1-p) - 2p^2/(1-p^2)."
        ),
        assumes=_WHITE,
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.as_reviewed",
        title="White updates of variance sigma^2: two receivers' expected squared gap stays below sigma^2 2p/(1+p)",
        relation=Le(DRIFT, sigma**2 * 2 * p / (1 + p)),
        kind=Kind.EXPECTED,
        source=PACKET_LOSS.second_hand(
            f"{_STATED}; the meaning of sigma^2 is not known, here it is the variance of one update",
            "It fails: when exactly one of two receives, the other is 1 + L updates behind, 1/(1-p) on average, not "
            "one. With that, the recursion E' = p^2 E + 2p(1-p) V gives 2p/(1-p^2).",
            reading="It is read for white updates of variance sigma^2; the paper's definition of sigma^2 was not read.",
        ),
        assumes=(*_WHITE, SOME_LOSS),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="packetloss.drift.pair_limit",
        tightness=1 / (1 - p),
        extremal="many steps: too small by the factor 1 - p, whether read as a bound or as the limit itself",
        axis="p",
        note="The constant is known second-hand. We tried these readings: sigma^2 is the variance of one update "
        "(fails, here); of the gap when exactly one receives (holds, packetloss.drift.one_step); the probability that "
        "two replicas differ (holds, packetloss.versions.as_reviewed); updates with correlation -1/(2-p) (holds, "
        "packetloss.drift.as_reviewed_with_correlated_updates).",
    ),
    Claim(
        name="packetloss.drift.as_reviewed_with_correlated_updates",
        title="Updates with autocovariance sigma^2 rho^h, rho = -1/(2-p): the gap stays below sigma^2 2p/(1+p)",
        relation=Le(DRIFT, sigma**2 * 2 * p / (1 + p)),
        kind=Kind.EXPECTED,
        source=PACKET_LOSS.second_hand(
            f"{_STATED}; it is right under this law of updates",
            "Insert rho = -1/(2-p) in 2p (1 + p rho)/((1-p^2)(1 - p rho)); rho >= -(1+p)/2, so that the gap grows "
            "with t.",
            reading="It is read for one law of updates under which the constant is right.",
        ),
        assumes=(*_LOSS, MATCHING_CORRELATION),
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.autoregressive",
        title="Updates with autocovariance sigma^2 rho^h: the gap stays below 2p (1 + p rho)/((1-p^2)(1 - p "
        "rho)) sigma^2",
        relation=Le(DRIFT, sigma**2 * 2 * p * (1 + p * rho) / ((1 - p**2) * (1 - p * rho))),
        kind=Kind.EXPECTED,
        source=derived(
            "Limit: sum the autocovariance law. Increments over a step are 2 sigma^2 p^t S_t with S_(t+2) = "
            "(1-p)(1 + p + 2 rho) + (1 - p^t)(p + rho)^2 + rho^2 S_t for every rho, S_0 = 0, S_1 = 1 - p: not negative "
            "if rho >= -(1+p)/2. S_2 = (1-p)(1 + p + 2 rho) shows that the condition cannot be left out."
        ),
        assumes=(*_LOSS, AUTOREGRESSIVE),
        tightness=1,
        extremal=_MANY,
        axis="rho",
    ),
    Claim(
        name="packetloss.drift.autocovariance",
        title="Any nonnegative autocovariance r: the gap stays below 2p/(1-p^2) (r(0) + 2 sum p^h r(h))",
        relation=Le(DRIFT, 2 * p / (1 - p**2) * autocov),
        kind=Kind.EXPECTED,
        source=derived(
            "Sum 2 p^(a+h+1) (1 - p^(a+1)) r(h) over ages a < t - h and both orders: p^h times the white sum of t - h "
            "steps for every h; each grows with t. For any sign of r the same is the limit."
        ),
        assumes=(*_LOSS, NONNEGATIVE_AUTOCOVARIANCE),
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.sure_norm",
        title="Any updates of norm at most G, also dependent ones: the squared gap is at most G^2 2p/(1-p)^2",
        relation=Le(DRIFT, G**2 * 2 * p / (1 - p) ** 2),
        kind=Kind.EXPECTED,
        source=derived("||D|| <= G M by the triangle inequality, M versions apart; E M^2 <= 2p/(1-p)^2."),
        assumes=(*_LOSS, BOUNDED_UPDATES),
        tightness=1,
        extremal="constant updates, many steps",
        axis="p",
    ),
    Claim(
        name="packetloss.drift.owner_sure_norm",
        title="Any updates of norm at most G: the squared gap to the owner is at most G^2 p(1+p)/(1-p)^2",
        relation=Le(OWNER_DRIFT, G**2 * p * (1 + p) / (1 - p) ** 2),
        kind=Kind.EXPECTED,
        source=derived("The gap is at most G L; E L^2 = p(1+p)/(1-p)^2 for geometric L."),
        assumes=(*_LOSS, BOUNDED_UPDATES),
        tightness=1,
        extremal="constant updates, many steps",
        axis="p",
    ),
    Claim(
        name="packetloss.drift.mean_norm",
        title="Any updates of norm at most G: two receivers' copies are at most G 2p/(1-p^2) apart on average",
        relation=Le(MEAN_DRIFT, G * 2 * p / (1 - p**2)),
        kind=Kind.EXPECTED,
        source=derived("||D|| <= G M and E M <= 2p/(1-p^2)."),
        assumes=(*_LOSS, BOUNDED_UPDATES),
        tightness=1,
        extremal="constant updates, many steps",
        axis="p",
    ),
    Claim(
        name="packetloss.drift.owner_limit",
        title="White updates: a receiver's squared gap to the owner stays below sigma^2 p/(1-p)",
        relation=Le(OWNER_DRIFT, sigma**2 * p / (1 - p)),
        kind=Kind.EXPECTED,
        source=derived("sigma^2 p (1 - p^t)/(1-p) grows with t."),
        assumes=_WHITE,
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.consensus_limit",
        title="White updates: the mean squared distance to the mean copy stays below (N-1)(N-1+p)/N^2 p/(1-p^2) "
        "sigma^2",
        relation=Le(CONSENSUS, sigma**2 * (N - 1) * (N - 1 + p) / N**2 * p / (1 - p**2)),
        kind=Kind.EXPECTED,
        source=derived("N - 1 pairs with the owner and (N-1)(N-2)/2 without, each at its limit, over N^2."),
        assumes=_WHITE,
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
    Claim(
        name="packetloss.drift.whole_vector_limit",
        title="White updates: two whole replicas' squared gap is at most [(N-2) 2p/(1-p^2) + 2p/(1-p)]/N updates' "
        "squares",
        relation=Le(WHOLE_DRIFT, ((N - 2) * 2 * p / (1 - p**2) + 2 * p / (1 - p)) / N),
        kind=Kind.EXPECTED,
        source=derived("The exact gap grows with t in every shard."),
        assumes=(*_WHITE, TWO_WORKERS_OR_MORE),
        tightness=1,
        extremal=_MANY,
        axis="p",
    ),
)
