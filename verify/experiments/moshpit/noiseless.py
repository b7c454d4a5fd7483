"""Runs of Moshpit SGD without noise: gradient descent by all peers."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from commbounds.verify.experiments.moshpit.averaging import settings
from commbounds.verify.study import Case

STEPS = "up to nine peers and six steps without noise; quadratics, and functions that bend"
"""What is gone through."""
LINES = {
    bounded: [
        settings(
            objective=objective, **bend, gamma="1/4", period=1, N=2, r=1, K=K, start="4", noise="none"
        )
        for K in (1, 2, 4, 8, 16, 32)
    ]
    for bounded, objective, bend in (
        ("convex", "bent", {"left": "1", "right": "1", "mu": "0"}), ("nonconvex", "ratio", {})
    )
}  # fmt: skip
"""Longer and longer runs, by what is claimed."""


def noiseless(bounded: str, level: int) -> Iterator[Case]:
    """Every number of peers up to nine, of steps up to six; quadratics, and functions that are steep on one side."""
    of_one = {"left": "1/4", "right": "1/2", "mu": "0"}
    objectives = [{"objective": "quadratic", "h": h} for h in ("1", "1/2", "4")] + [{"objective": "bent", **of_one}]
    objectives += [{"objective": "ratio"}] * (bounded == "nonconvex")
    for N, K in itertools.product(range(1, 10), range(1, 5 + 2 * level)):
        for number, objective in enumerate(objectives):
            gamma = ("1", "1/2", "1/4", "1/8", "3/2")[(N + K + number) % 5]
            given = {
                "gamma": gamma,
                "period": 1 + (N + number) % 3,
                "N": N,
                "r": 1,
                "K": K,
                "start": ("2", "-3")[K % 2],
            }
            yield settings(**objective, **given, noise="none")
    yield from on_a_tangent(None)


def on_a_tangent(_budget: Any) -> Iterator[Case]:
    """Points of slope one before the last, as many as there are steps."""
    for gamma, K, N in itertools.product(("1", "1/2", "1/4"), (1, 2, 3, 5, 9), (1, 2, 3)):
        start = str(float(Fraction(gamma) * (K - 1) + 1))
        yield settings(
            objective="bent", left="1", right="1", mu="0", gamma=gamma, period=2, N=N, r=1, K=K, start=start,
            noise="none",
        )  # fmt: skip


def at_once(_budget: Any) -> Iterator[Case]:
    """A first step that ends at the minimiser."""
    for h, gamma in (("1", "1"), ("2", "1/2"), ("4", "1/4")):
        for K, N in itertools.product((1, 2, 3, 8), (1, 2, 5)):
            yield settings(objective="quadratic", h=h, gamma=gamma, period=1, N=N, r=1, K=K, start="3", noise="none")
