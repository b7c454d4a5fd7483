"""Packet loss: the stalest of many workers, and training on replicas that drift."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Claim, Ge, Kind, Le
from commbounds.theory.functions import harmonic_number
from commbounds.theory.packetloss.quantities import (
    BELOW_ONE,
    EQUAL_START,
    GRADIENT_ERROR,
    INDEPENDENT_LOSSES,
    LARGEST_STALENESS,
    LIPSCHITZ_GRADIENT,
    REPLICA_GAP,
    SOME_LOSS,
)
from commbounds.theory.packetloss.terms import (
    meandistance,
    missednorms,
    p,
    receivers,
    smooth,
    t,
)
from commbounds.theory.sources import derived

_LOSS = (INDEPENDENT_LOSSES, EQUAL_START, BELOW_ONE)

CLAIMS = (
    Claim(
        name="packetloss.workers.log_upper",
        title="The stalest of R receivers is at most H_R / ln(1/p) steps behind on average: it grows like log R.",
        relation=Le(LARGEST_STALENESS, harmonic_number(receivers) / sp.log(1 / p)),
        kind=Kind.EXPECTED,
        source=derived(
            "1 + L is the ceiling of an exponential variable of rate ln(1/p), so L is below it; the maximum of R of "
            "those has mean H_R / ln(1/p)."
        ),
        assumes=(*_LOSS, SOME_LOSS),
        axis="receivers",
    ),
    Claim(
        name="packetloss.workers.log_lower",
        title="The stalest of R receivers is at least H_R / ln(1/p) - 1 steps behind on average, in the long run.",
        relation=Ge(
            LARGEST_STALENESS,
            harmonic_number(receivers) / sp.log(1 / p) - 1 - receivers * p ** (t + 1) / (1 - p),
        ),
        kind=Kind.EXPECTED,
        source=derived(
            "L is above the exponential variable less one; cutting L at t takes at most the sum over s >= t of "
            "P(max L > s) <= R p^(s+1)."
        ),
        assumes=(*_LOSS, SOME_LOSS),
        axis="receivers",
    ),
    Claim(
        name="packetloss.training.replica_gap",
        title="Two replicas of a shard are never farther apart than the norms of the updates between their versions.",
        relation=Le(REPLICA_GAP, missednorms),
        source=derived("The gap is the sum of those updates: triangle inequality."),
        assumes=(EQUAL_START,),
        tightness=1,
        extremal="updates of one direction",
        axis="missednorms",
    ),
    Claim(
        name="packetloss.training.stale_gradients",
        title="Gradients at drifted replicas miss the gradient at a reference point by L times their mean "
        "distance at most.",
        relation=Le(GRADIENT_ERROR, smooth * meandistance),
        source=derived("Triangle inequality over the workers, then the Lipschitz constant for each."),
        assumes=(LIPSCHITZ_GRADIENT,),
        tightness=1,
        extremal="a quadratic of one curvature, all replicas on one side of the reference point",
        axis="meandistance",
        note="Unbiased aggregation is unbiased for the mean of gradients at the workers' own replicas; this is "
        "what may "
        "be missing to the gradient at any one point.",
    ),
)
