"""Packet loss: drift under bursts, shared fates, certain loss and packets, and averaged over the steps."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing, for_one_reason
from commbounds.theory.packetloss.quantities import (
    ALL_LOST,
    ALL_STALE,
    AVERAGE_DIFFER,
    AVERAGE_DRIFT,
    AVERAGE_OWNER_DRIFT,
    BELOW_ONE,
    DRIFT,
    EQUAL_START,
    INDEPENDENT_LOSSES,
    LONG_BURSTS,
    LOSSY_LINKS,
    NOTHING_LOST,
    OWNER_DRIFT,
    SHARED_FATE,
    TWO_STATE_LOSSES,
    WHITE_UPDATES,
)
from commbounds.theory.packetloss.terms import lossrate, owner_steps, p, packets, pair_steps, recovery, sigma, t
from commbounds.theory.sources import derived

_LOSS = (INDEPENDENT_LOSSES, EQUAL_START)
_DRAWN = (
    "trials are drawn only, and resolve changes of some percent; this is the mean over the steps of a formula that all "
    "histories of losses test"
)
_MEAN_OF_STEPS = for_one_reason(_DRAWN, "0.9 times the term *", "10/9 times the term *")
_SIZE_ONE = for_one_reason(
    "updates of the trials have variance 1", "exponent 1 of sigma", "exponent 3 of sigma", "without the factor sigma**2"
)
_WHITE = (*_LOSS, WHITE_UPDATES, BELOW_ONE)

_stays = 1 - recovery
_bursts = 2 * lossrate / recovery - 2 * lossrate**2 / (recovery * (2 - recovery))

CLAIMS = (
    Claim(
        name="packetloss.bursts.pair",
        title="Losses in bursts, white updates: the pair's exact expected squared gap after t steps",
        relation=Eq(
            DRIFT,
            2
            * sigma**2
            * lossrate
            * ((1 - _stays**t) / recovery - lossrate * (1 - _stays ** (2 * t)) / (recovery * (2 - recovery))),
        ),
        kind=Kind.EXPECTED,
        source=derived(
            "P(L > s) = pi (1-b)^s for s < t: bad at the first of s + 1 steps, and never recovered; "
            "insert in 2 sum F (1-F)."
        ),
        assumes=(TWO_STATE_LOSSES, EQUAL_START, WHITE_UPDATES),
        axis="recovery",
    ),
    Claim(
        name="packetloss.bursts.owner",
        title="Losses in bursts, white updates: a receiver's exact expected squared gap to the owner",
        relation=Eq(OWNER_DRIFT, sigma**2 * lossrate * (1 - _stays**t) / recovery),
        kind=Kind.EXPECTED,
        source=derived("Sum over s < t of P(L > s) = pi (1-b)^s."),
        assumes=(TWO_STATE_LOSSES, EQUAL_START, WHITE_UPDATES),
        axis="recovery",
    ),
    Claim(
        name="packetloss.bursts.average",
        title="Losses in bursts, white updates: the pair's expected squared gap, averaged over the first t steps",
        relation=Eq(
            AVERAGE_DRIFT,
            2
            * lossrate
            * sigma**2
            * (
                (1 - _stays * (1 - _stays**t) / (t * recovery)) / recovery
                - lossrate
                * (1 - _stays**2 * (1 - _stays ** (2 * t)) / (t * recovery * (2 - recovery)))
                / (recovery * (2 - recovery))
            ),
        ),
        kind=Kind.EXPECTED,
        source=derived("Geometric sums of the exact gap after s = 1 ... t steps."),
        assumes=(TWO_STATE_LOSSES, EQUAL_START, WHITE_UPDATES),
        axis="recovery",
        unpinned=(
            *_MEAN_OF_STEPS,
            *_SIZE_ONE,
            *for_one_reason(
                _DRAWN,
                "exponent -2 of 2 - recovery",
                "exponent 1 of 1 - recovery",
                "exponent 3 of 1 - recovery",
                "without the factor 1 - (1 - recovery)**(2*elapsed)",
                "without the term -recovery",
                "without the term 1",
            ),
        ),
    ),
    Claim(
        name="packetloss.average.pair",
        title="White updates: the pair's squared gap, averaged over the first t steps",
        relation=Eq(
            AVERAGE_DRIFT,
            2
            * sigma**2
            * (
                p / (1 - p**2)
                - p**2 * (1 - p**t) / (t * (1 - p) ** 2)
                + p**4 * (1 - p ** (2 * t)) / (t * (1 - p**2) ** 2)
            ),
        ),
        kind=Kind.EXPECTED,
        source=derived("Geometric sums of the exact gap after s = 1 ... t steps."),
        assumes=_WHITE,
        axis="p",
        unpinned=(
            *_MEAN_OF_STEPS,
            *_SIZE_ONE,
            *for_one_reason(
                _DRAWN,
                "exponent -1 of 1 - p**2",
                "exponent -3 of 1 - p**2",
                "without the factor (1 - p**2)**(-2)",
                "exponent -2 of elapsed",
                "exponent ? of p",
                "without the factor 1 - p**elapsed",
                "without the factor 1 - p**(2*elapsed)",
                "without the term p**4*",
                "without the term 1",
            ),
        ),
    ),
    Claim(
        name="packetloss.average.owner",
        title="White updates: a receiver's squared gap to the owner, averaged over the first t steps",
        relation=Eq(AVERAGE_OWNER_DRIFT, sigma**2 * (p / (1 - p) - p**2 * (1 - p**t) / (t * (1 - p) ** 2))),
        kind=Kind.EXPECTED,
        source=derived("Geometric sums of the exact gap after s = 1 ... t steps."),
        assumes=_WHITE,
        axis="p",
        unpinned=(
            *_MEAN_OF_STEPS,
            *_SIZE_ONE,
            *for_one_reason(_DRAWN, "without the factor 1 - p**elapsed", "elapsed ? 1 for elapsed"),
        ),
    ),
    Claim(
        name="packetloss.average.differ",
        title="The share of the first t steps after which two receivers hold different versions",
        relation=Eq(AVERAGE_DIFFER, 2 * p / (1 + p) * (1 - p**2 * (1 - p ** (2 * t)) / (t * (1 - p**2)))),
        kind=Kind.EXPECTED,
        source=derived("Geometric sum of 2p/(1+p) (1 - p^(2s)) over s = 1 ... t."),
        assumes=(*_LOSS, BELOW_ONE),
        axis="p",
        unpinned=(
            *_MEAN_OF_STEPS,
            *for_one_reason(
                _DRAWN,
                "elapsed ? 1 for elapsed",
                "exponent -2 of 1 - p**2",
                "exponent 3 of p",
                "without the factor 1 - p**(2*elapsed)",
                "without the factor 1/(1 - p**2)",
            ),
        ),
    ),
    Claim(
        name="packetloss.shared.pair",
        title="If all receivers share a packet's fate, they never differ from one another",
        relation=Eq(DRIFT, 0),
        source=derived("All receivers have one staleness."),
        assumes=(SHARED_FATE, EQUAL_START),
        axis="p",
    ),
    Claim(
        name="packetloss.shared.owner",
        title="A shared fate does not change a receiver's gap to the owner: sigma^2 p (1-p^t)/(1-p)",
        relation=Eq(OWNER_DRIFT, sigma**2 * owner_steps(p, t)),
        kind=Kind.EXPECTED,
        source=derived("Each receiver's own losses have the same law as before."),
        assumes=(SHARED_FATE, EQUAL_START, WHITE_UPDATES, BELOW_ONE),
        axis="p",
    ),
    Claim(
        name="packetloss.corners.no_loss",
        title="Without loss there is no drift",
        relation=Eq(DRIFT, 0),
        source=derived("Every receiver holds the owner's version."),
        assumes=(NOTHING_LOST, EQUAL_START),
        axis="p",
    ),
    Claim(
        name="packetloss.corners.pair_at_certain_loss",
        title="If everything is lost, receivers never move and never differ",
        relation=Eq(DRIFT, 0),
        source=derived("All hold the first version."),
        assumes=(ALL_LOST, EQUAL_START),
        axis="p",
        note="The limit 2p/(1-p^2) for t to infinity grows without bound as p tends to 1: the two limits do not "
        "commute.",
    ),
    Claim(
        name="packetloss.corners.owner_at_certain_loss",
        title="If everything is lost, white updates move the owner t sigma^2 away from every receiver",
        relation=Eq(OWNER_DRIFT, t * sigma**2),
        kind=Kind.EXPECTED,
        source=derived("The gap is the sum of all t updates."),
        assumes=(ALL_LOST, EQUAL_START, WHITE_UPDATES),
        axis="elapsed",
    ),
    Claim(
        name="packetloss.packets.drift",
        title="Losing packets instead of whole shards does not change the expected squared gap",
        relation=Eq(DRIFT, sigma**2 * pair_steps(p, t)),
        kind=Kind.EXPECTED,
        source=derived(
            "Every coordinate travels in one packet a step, lost with probability p: linearity over coordinates."
        ),
        assumes=_WHITE,
        axis="p",
    ),
    Claim(
        name="packetloss.packets.all_lost",
        title="A shard in q packets is lost as a whole with probability p^q: packets are lost independently",
        relation=Eq(ALL_STALE, p**packets),
        kind=Kind.LAW,
        source=derived("q independent packets. Only correlations between coordinates depend on how a shard is cut."),
        assumes=(INDEPENDENT_LOSSES,),
        axis="p",
    ),
    Claim(
        name="packetloss.bursts.pair_limit",
        title="Losses in bursts, white updates: the gap stays below sigma^2 (2 pi/b - 2 pi^2/(b(2-b)))",
        relation=Le(DRIFT, sigma**2 * _bursts),
        kind=Kind.EXPECTED,
        source=derived("2 sum over all s of F(s)(1-F(s)) with 1 - F(s) = pi (1-b)^s."),
        assumes=(TWO_STATE_LOSSES, EQUAL_START, WHITE_UPDATES),
        tightness=1,
        extremal="links that always recover after one step; many steps",
        axis="recovery",
    ),
    Claim(
        name="packetloss.bursts.as_if_independent",
        title="Losses in bursts cause no more drift than independent losses of the same rate",
        relation=Le(DRIFT, sigma**2 * 2 * lossrate / (1 - lossrate**2)),
        kind=Kind.EXPECTED,
        source=derived(
            "It fails: only the rate is the same. With 10 % loss and bursts of ten steps the limit is 1.895 sigma^2, "
            "not 0.202 sigma^2.",
            "the formula for independent losses, applied to bursts; the paper names correlated losses as open",
        ),
        assumes=(TWO_STATE_LOSSES, LONG_BURSTS, EQUAL_START, WHITE_UPDATES, LOSSY_LINKS),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="packetloss.bursts.pair_limit",
        tightness=sp.oo,
        extremal="rare recoveries, many steps",
        axis="recovery",
        note="A loss rate does not determine the drift without the length of the bursts.",
    ),
)
