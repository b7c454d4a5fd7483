"""Laws of the latency of one micro-batch: moments, distribution functions, and how a kernel draws from them."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Floats, Integers
from commbounds.collectives.dropcompute.latency_draws import EXPONENTIAL, GAMMA, LOGNORMAL, NORMAL, UNIFORM
from commbounds.compressors.base import as_numbers, checked_real, hold_python_numbers, shown


@dataclass(frozen=True, eq=False)
class Plan:
    """What the kernel needs to draw: the family, its numbers, and the tables of the alias method."""

    family: int
    numbers: Floats
    keep: Floats
    alias: Integers


def plan_of(family: int, *numbers: float, weights: Floats | None = None) -> Plan:
    """How a kernel draws from a family with these numbers; `weights` are those of a lattice."""
    keep, alias = (np.ones(1), np.zeros(1, np.int64)) if weights is None else _alias(weights)
    return Plan(family, np.array((*numbers, 0.0, 0.0)[:3], dtype=np.float64), keep, alias)


def _alias(weights: Floats) -> tuple[Floats, Integers]:
    """Walker's tables: cell i is kept with probability keep[i], else exchanged for alias[i]."""
    keep = weights * (weights.size / weights.sum())
    alias = np.arange(weights.size, dtype=np.int64)
    small, large = [int(i) for i in np.flatnonzero(keep < 1)], [int(i) for i in np.flatnonzero(keep >= 1)]
    while small and large:
        i, j = small.pop(), large[-1]
        alias[i] = j
        keep[j] -= 1.0 - keep[i]
        if keep[j] < 1.0:
            small.append(large.pop())
    for i in small + large:
        keep[i] = 1.0  # left over by rounding
    return keep, alias


def checked_numbers(law: Any, positive: tuple[str, ...] = (), nonnegative: tuple[str, ...] = ("base",)) -> None:
    """Refuse a law whose numbers are none, not finite, or negative where that is not meant."""
    hold_python_numbers(law)
    for name in positive + nonnegative:
        value = getattr(law, name)
        if not math.isfinite(checked_real(name, value)):
            raise ValueError(f"{name} must be finite, got {value}")
        if name in positive and value <= 0:
            raise ValueError(f"{name} must be positive, got {value}")
        if value < 0:
            raise ValueError(f"{name} must not be negative: latencies are not, got {value}")


def checked_at(x: ArrayLike) -> Floats:
    """Where a distribution function is asked for, as float64: any numbers but NaN."""
    at = as_numbers(x, "x", np.float64)
    if np.isnan(at).any():
        raise ValueError(f"x must be numbers, got {shown(x)}")
    return at


class LatencyLaw(ABC):
    """A law of the latency of one micro-batch, t >= 0, in seconds.

    Attributes
    ----------
    mean, variance, skewness : float
        Moments.
    low, high : float
        Ends of the support; `high` may be infinite.
    increasing_failure_rate : bool or None
        Whether the law is IFR (sums of such stay IFR); None where it is not known.
    new_better_than_used : bool or None
        Whether it is NBUE, new better than used in expectation; None where it is not known.
    plan : Plan
        How the kernel draws.
    """

    mean: float
    variance: float
    skewness: float
    low: float
    high: float
    increasing_failure_rate: bool | None = None
    new_better_than_used: bool | None = None

    @property
    @abstractmethod
    def plan(self) -> Plan: ...

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """P(t <= x)."""

    def excess(self, x: float) -> float:
        """E max(t - x, 0), where there is a closed form."""
        raise TypeError(f"{type(self).__name__} has no closed form of E max(t - {x}, 0)")

    @property
    def coefficient_of_variation(self) -> float:
        """Standard deviation over mean."""
        return math.sqrt(self.variance) / self.mean


@dataclass(frozen=True)
class Normal(LatencyLaw):
    """Normal latencies, the idealisation in which T_n is normal.

    A normal latency can be negative, with probability Phi(-average/deviation). That is no latency; as an idealisation
    the law is admitted up to deviation = average/3, where that probability is 0.13 %. Closed forms and draws are those
    of the normal law itself.
    """

    average: float
    deviation: float

    low, high, skewness = -math.inf, math.inf, 0.0
    increasing_failure_rate = True
    new_better_than_used = True

    def __post_init__(self) -> None:
        checked_numbers(self, ("average", "deviation"), ())
        if self.deviation > self.average / 3:
            raise ValueError(
                f"deviation must be at most a third of average, or latencies would often be negative: "
                f"got {self.deviation} and {self.average}"
            )

    @property
    def mean(self) -> float:  # type: ignore[override]
        return self.average

    @property
    def variance(self) -> float:  # type: ignore[override]
        return self.deviation**2

    @property
    def plan(self) -> Plan:
        return plan_of(NORMAL, self.average, self.deviation)

    def cdf(self, x: ArrayLike) -> Floats:
        from scipy.special import ndtr

        result: Floats = ndtr((checked_at(x) - self.average) / self.deviation)
        return result


@dataclass(frozen=True)
class Lognormal(LatencyLaw):
    """base + exp(location + shape Z), Z standard normal."""

    location: float
    shape: float
    base: float = 0.0

    high = math.inf

    def __post_init__(self) -> None:
        checked_numbers(self, ("shape",))
        if not math.isfinite(checked_real("location", self.location)):
            raise ValueError(f"location must be finite, got {self.location}")

    @property
    def _noise(self) -> float:
        return math.exp(self.location + self.shape**2 / 2)

    @property
    def mean(self) -> float:  # type: ignore[override]
        return self.base + self._noise

    @property
    def variance(self) -> float:  # type: ignore[override]
        return math.expm1(self.shape**2) * self._noise**2

    @property
    def skewness(self) -> float:  # type: ignore[override]
        spread = math.expm1(self.shape**2)
        return (spread + 3) * math.sqrt(spread)

    @property
    def low(self) -> float:  # type: ignore[override]
        return self.base

    @property
    def plan(self) -> Plan:
        return plan_of(LOGNORMAL, self.base, self.shape, self.location)

    def cdf(self, x: ArrayLike) -> Floats:
        from scipy.special import ndtr

        above = np.maximum(checked_at(x) - self.base, 0.0)
        with np.errstate(divide="ignore"):
            result: Floats = ndtr((np.log(above) - self.location) / self.shape)
        return result

    def excess(self, x: float) -> float:
        from scipy.special import ndtr

        x = checked_real("x", x)
        if not math.isfinite(x):
            raise ValueError(f"x must be finite, got {x}")
        if x <= self.base:
            return self.mean - x
        z = (self.location - math.log(x - self.base)) / self.shape
        return float(self._noise * ndtr(z + self.shape) - (x - self.base) * ndtr(z))


@dataclass(frozen=True)
class Gamma(LatencyLaw):
    """base + a gamma variable of the given shape and scale; sums are of the same family."""

    shape: float
    scale: float
    base: float = 0.0

    high = math.inf

    def __post_init__(self) -> None:
        checked_numbers(self, ("shape", "scale"))

    @property
    def mean(self) -> float:  # type: ignore[override]
        return self.base + self.shape * self.scale

    @property
    def variance(self) -> float:  # type: ignore[override]
        return self.shape * self.scale**2

    @property
    def skewness(self) -> float:  # type: ignore[override]
        return 2 / math.sqrt(self.shape)

    @property
    def low(self) -> float:  # type: ignore[override]
        return self.base

    @property
    def increasing_failure_rate(self) -> bool | None:  # type: ignore[override]
        return True if self.shape >= 1 else (False if self.base == 0 else None)

    @property
    def new_better_than_used(self) -> bool | None:  # type: ignore[override]
        return True if self.shape >= 1 else (False if self.base == 0 else None)

    @property
    def plan(self) -> Plan:
        if self.shape == 1.0:
            return plan_of(EXPONENTIAL, self.base, self.scale)
        return plan_of(GAMMA, self.base, self.scale, self.shape)

    def cdf(self, x: ArrayLike) -> Floats:
        from scipy.special import gammainc

        result: Floats = gammainc(self.shape, np.maximum(checked_at(x) - self.base, 0.0) / self.scale)
        return result


def Exponential(scale: float, base: float = 0.0) -> Gamma:
    """The law of base + an exponential variable of mean `scale`."""
    return Gamma(1.0, scale, base)


@dataclass(frozen=True)
class Uniform(LatencyLaw):
    """Uniform on [low, high]."""

    low: float
    high: float

    skewness = 0.0
    increasing_failure_rate = True
    new_better_than_used = True

    def __post_init__(self) -> None:
        checked_numbers(self, ("high",), ("low",))
        if self.low >= self.high:
            raise ValueError(f"high must be larger than low, got {self.high} and {self.low}")

    @property
    def mean(self) -> float:  # type: ignore[override]
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:  # type: ignore[override]
        return (self.high - self.low) ** 2 / 12

    @property
    def plan(self) -> Plan:
        return plan_of(UNIFORM, self.low, self.high - self.low)

    def cdf(self, x: ArrayLike) -> Floats:
        return np.clip((checked_at(x) - self.low) / (self.high - self.low), 0.0, 1.0)
