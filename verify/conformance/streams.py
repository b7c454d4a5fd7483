"""Sequential tests of means of somebody else's draws: with a range that is learnt, or with a claimed variance.

No test refutes a mean of an unbounded law without assuming something: what comes back as zero a thousand times may
come back as a million once. Here it is assumed either that the variance is what the subject claims (`Catoni`), or that
the draws seen so far show how large a draw can be (`Stream`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds.verify.sequential import BETS, SequentialTest, detectable_violation

__all__ = ["Catoni", "Range", "Stream", "known_range"]

Array = NDArray[Any]

BOLDEST = 0.9
"""The largest bet, as a share of the one that the end of the range would ruin."""

SEEN = 12
"""Draws in the outer half of the range that was seen, on a side, before its end counts as known. A law that visits
that half with probability q shows less than that in 24/q draws once in 1000 times, and then its range is still right
unless it has not been there at all."""


class Range:
    """What draws may be, judged by those seen: beyond the outermost ones by half of what lies between these.

    Parameters
    ----------
    low, high : float
        Smallest and largest number seen.
    known_low, known_high : bool
        Whether at least `SEEN` draws lay in the half towards that end. Tails that fall so slowly that the outermost
        draws stay alone are never known.
    """

    def __init__(self, seen: Array) -> None:
        self.low, self.high = float(seen.min()), float(seen.max())
        middle = self.low + (self.high - self.low) / 2.0
        spread = self.high > self.low
        self.known_low = bool(spread and (seen <= middle).sum() >= SEEN)
        self.known_high = bool(spread and (seen >= middle).sum() >= SEEN)

    @property
    def ends(self) -> tuple[float, float]:
        """Between which numbers the next draws are taken to lie."""
        room = (self.high - self.low) / 2.0
        return self.low - room, self.high + room


def known_range(seen: Array) -> Range | None:
    """The range of the numbers `seen`, or None while one of its ends is not known."""
    if seen.size == 0 or not np.isfinite(seen).all():
        return None
    found = Range(seen)
    return found if found.known_low and found.known_high else None


class Stream:
    """A two-sided test that deviations have mean zero, which learns their range from the first of them.

    Parameters
    ----------
    pilots : int
        Least number of deviations that only show the range.
    ends : (low, high) or None
        A range learnt elsewhere; the own one is then not waited for.

    Notes
    -----
    Assumed: a right subject's deviations lie within the range of the pilots and half of its width beyond either end.
    The pilots go on until both halves of what they span have been visited `SEEN` times. A deviation beyond it ends the
    test: all deviations so far become pilots of a new one. Test number e has a part 2^-(e + 1) of the false-alarm rate.
    """

    def __init__(self, pilots: int, ends: tuple[float, float] | None = None) -> None:
        self._pilots, self._given = pilots, ends
        self._seen: list[Array] = []
        self._count = 0
        self._test: SequentialTest | None = None
        self._epochs = 0
        self.log_e = 0.0
        if ends is not None:
            self._begin(ends)

    def _begin(self, ends: tuple[float, float]) -> None:
        # a mean of zero has to be inside; where it is not, the end is moved there
        room = 1e-9 * max(abs(ends[0]), abs(ends[1])) or 1e-300
        low, high = min(ends[0], -room), max(ends[1], room)
        self._test, self._scale = SequentialTest(low / (high - low), high / (high - low), True, BOLDEST), high - low
        self._ends = low, high
        self._epochs += 1

    def feed(self, deviations: Array) -> None:
        """Take more deviations, in their order; finite."""
        rest = np.asarray(deviations, dtype=np.float64)
        while rest.size:
            if self._test is None:
                self._seen.append(rest)
                self._count += rest.size
                seen = np.concatenate(self._seen)
                found = known_range(seen) if self._count >= self._pilots else None
                if found is not None:
                    self._begin(found.ends)
                return
            inside = (rest >= self._ends[0]) & (rest <= self._ends[1])
            stop = rest.size if inside.all() else int(np.argmin(inside))
            if stop:
                self._test.feed(rest[:stop] / self._scale)
                self.log_e = max(self.log_e, self._test.log_e - self._epochs * math.log(2.0))
                self._seen.append(rest[:stop])
                self._count += stop
            if stop < rest.size:
                self._test, self._given = None, None
                self._seen.append(rest[stop : stop + 1])
                self._count += 1
                stop += 1
            rest = rest[stop:]

    @property
    def judged(self) -> bool:
        """Whether there was ever a test."""
        return self._epochs > 0

    def detects(self, alpha: float) -> float:
        """Smallest mean that is found with probability 0.99, in the unit of the deviations."""
        if self._test is None or self._test.count == 0:
            return math.inf
        limit = self._scale / max(-self._ends[0], self._ends[1])
        part = alpha * 0.5**self._epochs
        return self._scale * detectable_violation(self._test.deviation, self._test.count, part, limit, BOLDEST)


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

    Notes
    -----
    With phi(z) = sign(z) log(1 + |z| + z^2/2) (Catoni 2012), E exp(phi(l D)) <= 1 + l E D + l^2 E D^2 / 2 <= exp(l^2
    variance / 2) where E D = 0: for z < 0 because (1 - z + z^2/2)(1 + z + z^2/2) = 1 + z^4/4 >= 1. So the product of
    exp(phi(l D_t) - l^2 variance / 2) is a supermartingale from 1, whatever the range of the deviations, and so is the
    average over a fixed grid of bets l of both signs. As phi is odd, a larger variance alone raises no alarm where
    deviations are symmetric.
    """

    def __init__(self, variance: float) -> None:
        self._sd = math.sqrt(variance)
        bets = 4.0 * 0.5 ** np.arange(BETS)
        self._bets = np.concatenate([bets, -bets])  # in units of 1/sd, and so are deviations
        self._cost = self._bets**2 / 2.0
        self._log_wealth = np.zeros(self._bets.size)
        self.log_e = 0.0
        self.count = 0

    def feed(self, deviations: Array) -> None:
        """Take more deviations, in their order; finite."""
        scaled = np.ascontiguousarray(np.asarray(deviations, dtype=np.float64) / self._sd)
        self.log_e = float(_advance(scaled, self._bets, self._cost, self._log_wealth, self.log_e))
        self.count += scaled.size

    def detects(self, alpha: float) -> float:
        """Smallest mean that is found with probability 0.99, in the unit of the deviations, if all have `variance`."""
        return self._sd * detectable_violation(1.0, self.count, alpha, 8.0)
