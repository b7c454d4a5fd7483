"""Sequential tests of means of somebody else's draws: with a range that is learnt, or with a claimed variance.

No test refutes a mean of an unbounded law without assuming something: what comes back as zero a thousand times may
come back as a million once. Here it is assumed either that the variance is what the subject claims (`Catoni`), or that
the draws seen so far show how large a draw can be (`LearntRangeTest`).
"""

import math

import numpy as np
from numba import njit

from commbounds.array_types import Array
from commbounds.verify.sequential import BETS, SequentialTest, detectable_violation

BOLDEST = 0.9
"""The largest bet, as a share of the one that the end of the range would ruin."""

STEP = 64
"""After how many more draws the range is looked at again."""

SELDOM = 50.0
"""How seldom something may come, in draws, that makes up for all others."""

SEEN = 12
"""Draws in the outer half of the range that was seen, on a side, before its end counts as known. A law that visits
that half with probability q shows less than that in 24/q draws once in 1000 times, and then its range is still right
unless it has not been there at all."""


class Range:
    """What draws may be, judged by those seen.

    Parameters
    ----------
    seen : (t,) float64
        Finite, t >= 1.

    Notes
    -----
    Beyond the outermost draws by half of what lies between these; by a twentieth on a side where `SEEN` of them lie
    in the outermost fiftieth, so that there is an edge. An end is known once `SEEN` draws lay in the half towards it:
    tails that fall so slowly that the outermost draws stay alone are never known. Where zero, the mean of deviations,
    is out of sight, something that comes once in `SELDOM` draws may bring it back: then that much is left on its side.
    """

    def __init__(self, seen: Array) -> None:
        if not np.isfinite(seen).all():
            raise ValueError("draws must be finite")
        low, high = float(seen.min()), float(seen.max())
        width = high - low
        middle, edge = low + width / 2.0, width / 50.0
        below, above = int((seen <= middle).sum()), int((seen >= middle).sum())
        self.known = width > 0.0 and min(below, above) >= SEEN
        allowances = [width / (20.0 if (near <= edge).sum() >= SEEN else 2.0) for near in (seen - low, high - seen)]
        ends = [low - allowances[0], high + allowances[1]]
        if low - width > 0.0:
            ends[0] = -SELDOM * low
        elif high + width < 0.0:
            ends[1] = -SELDOM * high
        self.ends = ends[0], ends[1]


class LearntRangeTest:
    """A two-sided test that deviations have mean zero, which learns their range from the first of them.

    Parameters
    ----------
    pilots : int
        Least number of deviations that only show the range.
    allowance : float
        How far from zero the mean may be by rounding alone.
    ends : (low, high) or None
        A range learnt elsewhere; the own one is then not waited for.

    Notes
    -----
    Assumed: a right subject's deviations lie in the `Range` of the pilots, which go on until it is known. A deviation
    beyond it ends the test: all deviations so far become pilots of a new one. Test number e has a part 2^-e of the
    false-alarm rate, e = 1, 2, ...
    """

    def __init__(self, pilots: int, allowance: float = 0.0, ends: tuple[float, float] | None = None) -> None:
        self._pilots, self._allowance, self.given = pilots, allowance, ends is not None
        self._seen: list[Array] = []
        self._tests: tuple[SequentialTest, SequentialTest] | None = None
        self.epochs, self.log_e = 0, 0.0
        self.count, self._sum = 0, 0.0
        if ends is not None:
            self._begin(ends)

    def _begin(self, ends: tuple[float, float]) -> None:
        # zero has to be inside
        nothing = 1e-9 * max(abs(ends[0]), abs(ends[1])) or 1e-300
        self._ends = min(ends[0], -nothing), max(ends[1], nothing)
        low, high = self._ends
        self._scale = high - low
        bounds = (low - self._allowance, -high - self._allowance)
        self._tests = tuple(SequentialTest(b / self._scale, math.inf, boldest=BOLDEST) for b in bounds)  # type: ignore[assignment]
        self.epochs += 1

    def feed(self, deviations: Array) -> None:
        """Take more deviations, in their order; finite."""
        rest = np.asarray(deviations, dtype=np.float64)
        self.count += rest.size
        self._sum += float(rest.sum())
        while rest.size:
            if self._tests is None:
                count = sum(part.size for part in self._seen)
                step = max(self._pilots - count, STEP, count // 8)
                self._seen.append(rest[:step])
                rest = rest[step:]
                seen = np.concatenate(self._seen)
                found = Range(seen)
                if seen.size >= self._pilots and found.known:
                    self._begin(found.ends)
                continue
            inside = (rest >= self._ends[0]) & (rest <= self._ends[1])
            stop = rest.size if inside.all() else int(np.argmin(inside))
            up, down = self._tests
            up.feed((rest[:stop] - self._allowance) / self._scale)
            down.feed((-rest[:stop] - self._allowance) / self._scale)
            # each has half of the capital
            self.log_e = max(self.log_e, max(up.log_e, down.log_e) - (self.epochs + 1) * math.log(2.0))
            self._seen.append(rest[: stop + 1])
            if stop < rest.size:
                self._tests = None
            rest = rest[stop + 1 :]

    @property
    def mean(self) -> float:
        """Of all deviations."""
        return self._sum / max(1, self.count)

    def detects(self, alpha: float) -> float:
        """Smallest mean that is found with probability 0.99, in the unit of the deviations."""
        if self._tests is None or self._tests[0].count == 0:
            return math.inf
        up, _ = self._tests
        limit = self._scale / (self._allowance + max(-self._ends[0], self._ends[1]))
        shift = detectable_violation(up.deviation, up.count, alpha * 0.5**self.epochs, limit, BOLDEST)
        return self._scale * shift + 2.0 * self._allowance


@njit(cache=True, nogil=True)
def _advance(deviations, bets, cost, log_wealth, peak):  # type: ignore[no-untyped-def]
    # log_wealth[j] = sum of phi(l_j d) - cost_j with phi(z) = sign(z) log(1 + |z| + z^2/2)
    for t in range(deviations.size):
        top = -np.inf
        for j in range(bets.size):
            z = bets[j] * deviations[t]
            log_wealth[j] += math.copysign(math.log1p(abs(z) + 0.5 * z * z), z) - cost[j]
            top = max(top, log_wealth[j])
        total = 0.0
        for j in range(bets.size):
            total += math.exp(log_wealth[j] - top)
        peak = max(peak, top + math.log(total / bets.size))
    return peak


class Catoni:
    """A two-sided test that deviations have mean zero, if their second moment is at most `variance`.

    Parameters
    ----------
    variance : float
        Positive.
    allowance : float
        How far from zero the mean may be by rounding alone.

    Notes
    -----
    With phi(z) = sign(z) log(1 + |z| + z^2/2) (Catoni 2012), E exp(phi(l D)) <= 1 + l E D + l^2 E D^2 / 2 <= exp(l^2
    variance / 2) where l E D <= 0: for z < 0 because (1 - z + z^2/2)(1 + z + z^2/2) = 1 + z^4/4 >= 1. So the product
    of exp(phi(l D_t) - l^2 variance / 2) is a supermartingale from 1, whatever the range of the deviations, and so is
    the average over a fixed grid of bets l. As phi is odd, a larger variance alone gives symmetric deviations no drift,
    only more noise. Moving a deviation by `allowance` moves the root of its second moment by at most that.
    """

    def __init__(self, variance: float, allowance: float = 0.0) -> None:
        self._sd, self._allowance = math.sqrt(variance) + allowance, allowance
        self._bets = 4.0 * 0.5 ** np.arange(BETS)  # in units of 1/sd, and so are deviations
        self._cost = self._bets**2 / 2.0
        self._sides = [(1.0, np.zeros(BETS)), (-1.0, np.zeros(BETS))]
        self.log_e, self.count, self._sum = 0.0, 0, 0.0

    def feed(self, deviations: Array) -> None:
        """Take more deviations, in their order; finite."""
        wide = np.asarray(deviations, dtype=np.float64)
        for sign, wealth in self._sides:
            scaled = np.ascontiguousarray((sign * wide - self._allowance) / self._sd)
            peak = float(_advance(scaled, self._bets, self._cost, wealth, 0.0))
            self.log_e = max(self.log_e, peak - math.log(2.0))  # each side has half of the capital
        self.count += wide.size
        self._sum += float(wide.sum())

    @property
    def mean(self) -> float:
        """Of all deviations."""
        return self._sum / max(1, self.count)

    def detects(self, alpha: float) -> float:
        """Smallest mean that is found with probability 0.99, in the unit of the deviations, if all have `variance`."""
        return self._sd * detectable_violation(1.0, self.count, alpha, 8.0) + 2.0 * self._allowance
