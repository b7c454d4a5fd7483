"""What certificates about packet loss prove."""

from __future__ import annotations

from typing import Any

from commbounds.theory.model import Goal, Model, by_claim, recurrence
from commbounds.theory.packetloss.terms import p, pair_steps, sigma, t


def _pair(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, t, 0, lambda drift, age: drift + sigma**2 * 2 * p ** (age + 1) * (1 - p ** (age + 1)))


def _pair_limit(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal(
            "limit",
            bound - sigma**2 * pair_steps(p, t),
            given={"p": p, "p**t": p**t, "1 - p**t": 1 - p**t, "sigma**2": sigma**2},
            positive={"1 - p": 1 - p, "1 + p": 1 + p},
        ),
    )


MODELS = by_claim(
    Model(
        claim="packetloss.drift.pair",
        words="The update of age a lies between the two versions iff exactly one receiver has missed it; white "
        "updates add up their variances over a = 0, ..., t - 1. Induction on t.",
        scope="every p < 1, every t, every sigma",
        goals=_pair,
        tie=("packetloss.drift.two_updates",),
    ),
    Model(
        claim="packetloss.drift.pair_limit",
        words="The exact drift after t steps, packetloss.drift.pair, against the bound.",
        scope="every p < 1, every t, every sigma",
        goals=_pair_limit,
        tie=("packetloss.drift.pair",),
    ),
)
