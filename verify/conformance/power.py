"""What the statistical claims can see: ``python -m commbounds.verify.conformance.power`` prints the table.

A violation's size is what the finding of a right subject calls `detects`; by simulation, subjects that violate by that
much are then found in so many of the runs.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.budgets import BUDGETS, FALSE_ALARM
from commbounds.verify.conformance.check import check
from commbounds.verify.conformance.claims.expected import Unbiased, Variance
from commbounds.verify.conformance.claims.projections import HARD, HARDEST, SHARES
from commbounds.verify.conformance.report import CheckVerdict
from commbounds.verify.conformance.streams import LearntRangeTest
from commbounds.verify.conformance.subject import Codec

_SHORT = 50


@dataclass(frozen=True)
class Noise:
    """An unbiased subject whose E||C(x) - x||^2 is omega ||x||^2 exactly, for every input.

    Parameters
    ----------
    label : str
        In words.
    omega : float
        Its variance over ||x||^2.
    draw : callable (rng, n) -> (n,) array
        Independent or common factors of the entries, with mean 1 and variance omega.
    """

    label: str
    omega: float
    draw: Callable[[np.random.Generator, int], Array]

    def subject(self, scale: float, claims: Sequence[Any]) -> Codec:
        """C(x) = scale x draw(...)."""

        def noisy(x: Array, seed: int) -> Array:
            factors = self.draw(np.random.default_rng(seed), x.size)
            return (x * (scale * factors)).astype(x.dtype)

        return Codec(noisy, claims, magnitudes=(1e-15, 1e15))


NOISES: tuple[Noise, ...] = (
    Noise("each entry 0.9 or 1.1 times itself", 0.01, lambda rng, n: 1.0 + 0.1 * rng.choice((-1.0, 1.0), n)),
    Noise("each entry 0 or twice itself", 1.0, lambda rng, n: 2.0 * (rng.random(n) < 0.5)),
    Noise("each entry 10 times itself, 1 in 10", 9.0, lambda rng, n: 10.0 * (rng.random(n) < 0.1)),
    Noise("all entries 0 or twice themselves", 1.0, lambda rng, n: np.full(n, 2.0 * (rng.random() < 0.5))),
)
"""Levels of noise, by entries and of the whole."""


def smallest(noise: Noise, budget: str) -> tuple[float, float]:
    """What `Unbiased` and `Variance` say that they detect: d where E C(x) = (1 - d) x, or E|.|^2 = (1 + d) omega."""
    found = []
    for claim in (Unbiased(), Variance(noise.omega)):
        subject = noise.subject(1.0, [claim])
        finding = check(subject, budget, only=[str(claim)])[str(claim)]
        if finding.verdict is not CheckVerdict.PASS or finding.detects is None:
            raise RuntimeError(f"{noise.label}: a right subject gave {finding}")
        found.append(finding.detects)
    return found[0], found[1]


def found_of(noise: Noise, bias: float, excess: float, runs: int) -> tuple[int, int]:
    """How many of so many checks at quick find a bias of that size, and a variance above the claim by that much."""
    biased = noise.subject(1.0 - bias, [Unbiased()])
    loud = noise.subject(1.0, [Variance(noise.omega / (1.0 + excess))])
    counts = [0, 0]
    for seed in range(runs):
        for place, (subject, name) in enumerate(((biased, "Unbiased"), (loud, "Variance"))):
            counts[place] += check(subject, "quick", seed + 1, only=[name]).findings[0].verdict is CheckVerdict.FAIL
    return counts[0], counts[1]


def table(budgets: Sequence[str], runs: int) -> str:
    """Markdown: a row for every level of noise, columns for claims and budgets, and what was found of `runs`."""
    heads = [f"{claim}, {budget}" for claim in ("Unbiased", "Variance") for budget in budgets]
    lines = [f"| noise | omega | {' | '.join(heads)} | found at quick, of {runs} |", "|---" * (len(heads) + 3) + "|"]
    for noise in NOISES:
        sizes = {budget: smallest(noise, budget) for budget in budgets}
        shown = [f"{sizes[budget][place]:.2g}" for place in (0, 1) for budget in budgets]
        found = found_of(noise, *sizes["quick"], runs) if runs else (0, 0)
        lines.append(f"| {noise.label} | {noise.omega:g} | {' | '.join(shown)} | {found[0]}, {found[1]} |")
    return "\n".join(lines)


def always_off(budget: str) -> float:
    """Smallest share of the reach by which an entry of a structured input, always off by that, is found.

    By draws, of a subject that claims `Unbiased` alone, at an input of `_SHORT` entries that is among the worst.
    """
    part, usual = HARD / HARDEST, sum(part for _, part in SHARES)
    draws = int(BUDGETS[budget].draws * part / usual)
    limit = math.log(_SHORT * (usual + HARD) / part / FALSE_ALARM)
    low, high = 0.0, 1.0
    while high - low > 1e-3 * high:
        off = (low + high) / 2.0
        test = LearntRangeTest(0, 0.0, (-1.0, 1.0))
        test.feed(np.full(draws, off))
        low, high = (low, off) if test.log_e >= limit else (off, high)
    return high


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What the statistical claims of the conformance kit can see.")
    parser.add_argument("--budgets", nargs="+", default=["quick", "standard"], help="which columns")
    parser.add_argument("--runs", type=int, default=200, help="simulated checks at quick, of each claim and noise")
    options = parser.parse_args()
    print(table(options.budgets, options.runs))
    print("\n| budget | always off, of the reach |\n|---|---|")
    for budget in options.budgets:
        print(f"| {budget} | {always_off(budget):.2g} |")


if __name__ == "__main__":
    main()
