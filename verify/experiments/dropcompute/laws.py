"""DropCompute: latency laws that studies share, small laws enumerated in rationals, and exact laws in floats."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from commbounds.collectives import (
    Exponential,
    Gamma,
    Histogram,
    LatencyLaw,
    Lattice,
    Lognormal,
    Normal,
    StepLaw,
    Uniform,
    bernoulli,
    released_noise,
)
from commbounds.collectives.dropcompute.worker_times import ClosedTimes
from commbounds.verify.family import Family
from commbounds.verify.space import Space, nothing

LAWS: dict[str, LatencyLaw] = {
    "exponential": Exponential(1.0),
    "normal, cv 0.2": Normal(1.0, 0.2),
    "uniform": Uniform(0.0, 2.0),
    "Bernoulli": bernoulli(2 / 3, 4 / 3, 0.5),
    "gamma, shape 4": Gamma(4.0, 0.25),
    "gamma, shape 16": Gamma(16.0, 1 / 16),
    "gamma, shape 1/4": Gamma(0.25, 4.0),
    "lognormal, width 0.1": Lognormal(-0.005, 0.1),
    "lognormal, width 0.5": Lognormal(-0.125, 0.5),
    "lognormal, width 1": Lognormal(-0.5, 1.0),
    "released delay": released_noise(2 / 3),
    "histogram": Histogram(0.5, 0.125, (1, 3, 6, 4, 2, 1, 0, 1)),
    "exponential, mean 3": Exponential(3.0),
    "exponential, mean 1/4": Exponential(0.25),
    "normal, mean 2": Normal(2.0, 0.5),
    "1/2 or 4 (1/4)": bernoulli(0.5, 4.0, 0.25),
}
"""Laws by name; with mean 1, or nearly, where it does not say otherwise."""

MAPPED: dict[str, LatencyLaw] = {
    **LAWS,
    "normal, cv 1/3": Normal(1.0, 1 / 3),
    "mu/2 or 3 mu/2": bernoulli(0.5, 1.5, 0.5),
    "gamma, shape 1/20": Gamma(0.05, 20.0),
    "1/5 or 1 (9/10)": bernoulli(0.2, 1.0, 0.9),
    "1 (9/10) or 100": bernoulli(1.0, 100.0, 0.1),
    "10 or 11": bernoulli(10.0, 11.0, 0.5),
    "gamma, shape 10^6": Gamma(1e6, 1e-6),
    "lognormal, width 0.1, median e^-5": Lognormal(-5.0, 0.1),
    "constant": Lattice(1.0, 1.0, (1.0,)),
    "constant 3": Lattice(3.0, 1.0, (1.0,)),
    "constant 1/8": Lattice(1 / 8, 1.0, (1.0,)),
}
"""The same, and those at which formulas fail or nearly do, or bounds are attained."""

NEW_BETTER = tuple(name for name, law in LAWS.items() if law.new_better_than_used)
"""Names of the laws that are known to be new better than used in expectation."""

_FAMILIES: dict[type, str] = {Normal: "normal", Lognormal: "lognormal", Gamma: "gamma", Uniform: "uniform"}


@cache
def law_facts(name: str) -> dict[str, Any]:
    """What hypotheses ask of a law in `MAPPED`: its family, its numbers, and how it ages as far as that is known."""
    law = MAPPED[name]
    family = "released" if name == "released delay" else _FAMILIES.get(type(law), "other")
    if isinstance(law, Lattice) and law.weights.tolist() == [0.5, 0.5]:
        family = "two, alike"
    known = law.increasing_failure_rate
    rate = "not known" if known is None else ("increasing" if known else "decreasing")
    if isinstance(law, Gamma) and law.shape == 1 and law.base == 0:
        rate = "constant"
    return {
        "family": family,
        "shape": law.shape if isinstance(law, Gamma) else 0.0,
        "gammascale": law.scale if isinstance(law, Gamma) else 0.0,
        "logwidth": law.shape if isinstance(law, Lognormal) else 0.0,
        "location": law.location if isinstance(law, Lognormal) else 0.0,
        "failure_rate": rate,
        "new_better": law.new_better_than_used is True,
        "new_worse": rate in ("decreasing", "constant"),
        "latency": law.mean,
        "jitter": math.sqrt(law.variance),
        "skewness": law.skewness,
        "longest": law.high,
        "shortest": max(law.low, 0.0),
        "preemption": "A",
    }


class SmallLaw:
    """Latencies with a few whole values and rational probabilities: everything about them by enumeration.

    Parameters
    ----------
    values : sequence of int
        Seconds.
    weights : sequence of int
        Probabilities, up to their sum.
    """

    def __init__(self, values: Sequence[int], weights: Sequence[int]) -> None:
        self.values, total = tuple(values), sum(weights)
        self.probabilities = tuple(Fraction(w, total) for w in weights)
        self.mean = sum((p * v for v, p in self.atoms), Fraction(0))
        self.variance = sum((p * v * v for v, p in self.atoms), Fraction(0)) - self.mean**2

    @property
    def atoms(self) -> list[tuple[int, Fraction]]:
        """Values with their probabilities."""
        return list(zip(self.values, self.probabilities, strict=True))

    def __str__(self) -> str:
        return " or ".join(f"{v} ({p})" for v, p in self.atoms)

    @property
    def new_better_than_used(self) -> bool:
        """E[t - x | t > x] <= E[t] for all x >= 0; the left side is largest at atoms, and at 0."""
        for x in {0, *self.values}:
            above = [(v - x, p) for v, p in self.atoms if v > x]
            alive = sum((p for _, p in above), Fraction(0))
            if alive and sum((p * v for v, p in above), Fraction(0)) > self.mean * alive:
                return False
        return True

    @cache  # noqa: B019 - a handful of laws that live as long as the module
    def sums(self, m: int) -> dict[int, Fraction]:
        """The law of the sum of m latencies."""
        if m == 0:
            return {0: Fraction(1)}
        law: dict[int, Fraction] = {}
        for s, p in self.sums(m - 1).items():
            for v, q in self.atoms:
                law[s + v] = law.get(s + v, Fraction(0)) + p * q
        return law

    def expect(self, m: int, value: Callable[[int], Any]) -> Fraction:
        """E of a function of the sum of m latencies."""
        return sum((p * value(s) for s, p in self.sums(m).items()), Fraction(0))

    def largest(self, N: int, M: int, value: Callable[[int], Any]) -> Fraction:
        """E of a function of T, the largest of N sums: by the distribution function to the N-th power."""
        total, before, below = Fraction(0), Fraction(0), Fraction(0)
        for s in sorted(self.sums(M)):
            below += self.sums(M)[s]
            total += (below**N - before) * value(s)
            before = below**N
        return total

    def outcomes(self, N: int, M: int) -> Iterator[tuple[Any, Fraction]]:
        """Every (N, M) array of latencies with its probability."""
        for atoms in itertools.product(self.atoms, repeat=N * M):
            weight = math.prod((p for _, p in atoms), start=Fraction(1))
            yield np.array([v for v, _ in atoms], dtype=np.float64).reshape(N, M), weight


SMALL_LAWS = {
    str(law): law
    for law in (
        SmallLaw((2,), (1,)),
        SmallLaw((1, 2), (1, 1)),
        SmallLaw((1, 3), (2, 1)),
        SmallLaw((0, 1), (1, 3)),
        SmallLaw((1, 2, 4), (2, 1, 1)),
        SmallLaw((1, 9), (9, 1)),
    )
}
"""By name; the first is constant, the last has a coefficient of variation above 1."""

NAMED_LAWS = {
    **SMALL_LAWS,
    **{
        str(law): law
        for law in (
            SmallLaw((0, 1), (3, 1)),
            SmallLaw((0, 64), (3, 1)),
            SmallLaw((0, 4), (1, 3)),
            SmallLaw((0, 1), (1, 99)),
        )
    },
}
"""The same, and those that a single bound needs."""


@cache
def step_law(name: str, N: int, M: int) -> StepLaw:
    """The exact law of a step with latencies of a name in `MAPPED`."""
    return StepLaw(MAPPED[name], N, M)


@lru_cache(maxsize=4096)
def rounding(step: StepLaw) -> float:
    """Slack of an expected time of `step`, in seconds.

    Some thousand additions of numbers no larger than the time at which the integral ends; and the error of F, which
    for convolutions by FFT is some dozens of units of rounding: F^N moves by N F^(N-1) times that, integrated here.
    Closed forms know the tail 1 - F to its own precision, and a grid adds a sure error that is far above all this.
    """
    top = float(step.times.top(step.N))
    below = step.times.at_most(np.linspace(0.0, top, 4097))
    moved = 0.0 if isinstance(step.times, ClosedTimes) else float(np.mean(step.N * below ** (step.N - 1) * (below < 1)))
    return step.error + (4096 + 64 * moved) * float(np.finfo(float).eps) * top


def law_values(law: str, N: int, M: int, share: float, overhead: float) -> dict[str, Any]:
    """The symbols of bounds on a law in `MAPPED`, and what hypotheses ask; threshold and overhead in units of M mu."""
    mean = M * MAPPED[law].mean
    return {**law_facts(law), "N": float(N), "M": float(M), "tau": share * mean, "overhead": overhead * mean}


def _of_law(implementation: Any, settings: Mapping[str, Any]) -> StepLaw:
    step: StepLaw = implementation(MAPPED[settings["law"]], settings["N"], settings["M"])
    return step


_WIDER: dict[str, Sequence[Any]] = {
    "N": (1, 2, 3, 8, 64, 200, 10_000),
    "M": (1, 2, 4, 12),
    "share": tuple(sixteenths / 16 for sixteenths in range(1, 41)),
    "overhead": (0.0, 0.2, 1.0),
}


def law_family(law: Sequence[str] = tuple(LAWS), **axes: Sequence[Any]) -> Family:
    """Claims about the exact law of steps: laws by name, N, M, tau/(M mu) and T_c/(M mu); `run` gives the step.

    Axes of one value have no other; those that are not given are drawn from more.
    """
    held = {"law": law, "N": (2, 1, 1000), "M": (12, 1, 4), "share": (1.0, 0.5), "overhead": (0.2,), **axes}
    more = {name for name in _WIDER if name not in axes} | ({"share"} if len(held["share"]) > 1 else set())
    space = Space(nothing, held).search(**{name: _WIDER[name] for name in more})
    return Family("dropcompute", "StepLaw", space, law_values, _of_law, exact=False)
