"""Anytime-valid tests by betting: e-processes for bounds and equalities of expectations.

For observations X >= 0 with E[X_t | past] <= 1, every product of (1 + lambda (X_t - 1)) with lambda in [0, 1] is a
nonnegative supermartingale that starts at 1, and so is every average of such products. By Ville's inequality it
passes 1 / alpha with probability at most alpha, whenever one looks.
"""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from commbounds import _kernel_cache as _kernel_cache  # first: it is for the kernels that are defined after it
from commbounds.array_types import Floats

BETS = 16
"""Bets on a side: lambda = boldest limit 2^-j, j = 0 .. BETS - 1; one lies between 2/3 and 4/3 of the best."""


@njit(cache=True, nogil=True)
def _advance(deviations, bets, log_wealth, peak):  # type: ignore[no-untyped-def]
    # log_wealth[j] = sum over t of log(1 + bets[j] deviations[t]); peak = largest log of the mean wealth so far
    for t in range(deviations.size):
        top = -np.inf
        for j in range(bets.size):
            log_wealth[j] += math.log1p(bets[j] * deviations[t])
            top = max(top, log_wealth[j])
        total = 0.0
        for j in range(bets.size):
            total += math.exp(log_wealth[j] - top)
        peak = max(peak, top + math.log(total / bets.size))
    return peak


@dataclass
class SequentialTest:
    """A test that deviations have mean at most zero (or exactly zero), fed in any number of batches.

    Parameters
    ----------
    low, high : float
        Sure range of the deviations, low < 0 < high; ``high = inf`` for the one-sided test.
    two_sided : bool
        Whether a mean below zero is a violation too; needs a finite `high`.
    boldest : float
        The largest bet, as a share of the one that the worst deviation in the range would ruin; in (0, 1). A bold one
        finds large shifts sooner.

    Notes
    -----
    The wealth is the average over a fixed geometric grid of bets, hence predictable. A deviation outside
    [low, high] is a violation of what the test was told and raises.
    """

    low: float
    high: float
    two_sided: bool = False
    boldest: float = 0.5

    def __post_init__(self) -> None:
        if not (self.low < 0.0 < self.high):
            raise ValueError(f"the range must contain zero inside, got [{self.low}, {self.high}]")
        if self.two_sided and not math.isfinite(self.high):
            raise ValueError("a two-sided test needs a finite high")
        if not 0.0 < self.boldest < 1.0:
            raise ValueError(f"boldest must be in (0, 1), got {self.boldest}")
        shares = self.boldest * 0.5 ** np.arange(BETS)
        up = -1.0 / self.low * shares
        down = -1.0 / self.high * shares if self.two_sided else np.empty(0)
        self._bets = np.concatenate([up, down])
        self._log_wealth = np.zeros(self._bets.size)
        self._peak = 0.0
        self.count = 0
        self._sum = 0.0
        self._squares = 0.0

    def feed(self, deviations: Floats) -> None:
        """Take more observations, in their order.

        Parameters
        ----------
        deviations : (t,) float64
            Observations minus their claimed mean.

        Raises
        ------
        ValueError
            One lies outside the declared range by more than rounding.
        """
        allowance = 1e-9 * max(-self.low, self.high if math.isfinite(self.high) else -self.low)
        if deviations.size and (deviations.min() < self.low - allowance or deviations.max() > self.high + allowance):
            raise ValueError(
                f"an observation lies outside its sure range [{self.low:g}, {self.high:g}]: "
                f"got [{deviations.min():g}, {deviations.max():g}]"
            )
        self._peak = float(_advance(np.ascontiguousarray(deviations), self._bets, self._log_wealth, self._peak))
        self.count += deviations.size
        self._sum += float(deviations.sum())
        self._squares += float(np.square(deviations).sum())

    @property
    def log_e(self) -> float:
        """Natural logarithm of the largest wealth so far."""
        return self._peak

    @property
    def e_value(self) -> float:
        """The largest wealth so far, capped at 1e300."""
        return math.exp(min(self._peak, math.log(1e300)))

    @property
    def mean(self) -> float:
        """Mean of the observations, 0 without any."""
        return self._sum / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of the observations."""
        if self.count == 0:
            return 0.0
        return math.sqrt(max(self._squares / self.count - (self._sum / self.count) ** 2, 0.0))

    def refutes(self, alpha: float) -> bool:
        """Whether the wealth has passed 1 / alpha."""
        return self._peak >= -math.log(alpha)


def detectable_violation(deviation: float, count: int, alpha: float, limit: float, boldest: float = 0.5) -> float:
    """Smallest shift of the mean that `count` observations detect with probability 0.99.

    Parameters
    ----------
    deviation : float
        Standard deviation sd of one observation.
    count : int
        Number of observations.
    alpha : float
        False-alarm rate of the test.
    limit : float
        Largest admissible bet: one over the distance from the claimed mean to the far end of the range.
    boldest : float
        Largest bet made, as a share of `limit`.

    Returns
    -------
    float
        Shift d in the unit of the observations; infinite if none is detected.

    Notes
    -----
    A bet l earns count (log(1 + l d) - l^2 sd^2 / 2) on average, with standard deviation sqrt(count) l sd (small bets).
    The wealth averages over at most 2 BETS bets, so the best of the grid has to earn log(2 BETS / alpha).
    """
    if count == 0:
        return math.inf
    needed, z = math.log(2 * BETS / alpha), 2.3263478740408408
    bets = limit * boldest * 0.5 ** np.arange(BETS)

    def detected(shift: float) -> bool:
        earned = np.log1p(bets * shift) - bets**2 * deviation**2 / 2
        earned = count * earned - z * math.sqrt(count) * bets * deviation
        return bool(earned.max() >= needed)

    high = 1.0
    while not detected(high):
        high *= 2.0
        if high > 1e12:
            return math.inf
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if detected(middle) else (middle, high)
    return high


class SecondMomentTest:
    """A test that observations have mean zero, if their mean square is at most one, whatever their range.

    Notes
    -----
    For E[z] = 0 and E[z^2] <= 1, given the past, (1 + l z + l^2 z^2/2)/(1 + l^2/2) is positive and has mean at most 1
    for every l: a bet without a range (the two-sided form of Catoni's influence function, used so by Wang and Ramdas,
    2022, arXiv:2202.01250, recalled). The wealth averages over l = +-2^-j, j = 0 .. 11.
    """

    def __init__(self) -> None:
        shares = 0.5 ** np.arange(12)
        self._bets = np.concatenate([shares, -shares])
        self._log_wealth = np.zeros(self._bets.size)
        self.log_e = 0.0
        """Natural logarithm of the largest wealth so far."""
        self.count = 0

    def feed(self, value: float) -> None:
        """Take one more observation, over the root of the most that its mean square may be."""
        stakes = self._bets * value
        self._log_wealth += np.log1p(stakes + stakes**2 / 2) - np.log1p(self._bets**2 / 2)
        top = float(self._log_wealth.max())
        self.log_e = max(self.log_e, top + math.log(float(np.exp(self._log_wealth - top).mean())))
        self.count += 1

    def refutes(self, alpha: float) -> bool:
        """Whether the wealth has passed 1 / alpha."""
        return self.log_e >= -math.log(alpha)


class WeightedSum:
    """A test that nonnegative observations each have mean at most one, however they depend on one another.

    Notes
    -----
    The sum of w_t x_t with w_t = 1/(t (t + 1)) has mean at most 1 and never falls: by Markov's inequality for its
    limit it ever passes 1 / alpha with probability at most alpha. It sees large violations, early ones best.
    """

    def __init__(self) -> None:
        self._sum = 0.0
        self.count = 0

    def feed(self, value: float) -> None:
        """Take one more observation."""
        self.count += 1
        self._sum += value / (self.count * (self.count + 1))

    def refutes(self, alpha: float) -> bool:
        """Whether the sum has passed 1 / alpha."""
        return self._sum >= 1.0 / alpha
