"""What Moshpit SGD minimises where it is measured: functions on the line, the same in every coordinate."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.space import rationals


@dataclass(frozen=True)
class BentFunction:
    """The convex f, with minimum 0 at 0, whose slope is c x, but at least -left and at most right, plus mu x."""

    c: Fraction
    left: Fraction
    right: Fraction
    mu: Fraction

    def __str__(self) -> str:
        bends = f"slopes of curvature {self.c} from -{self.left} to {self.right}" if self.c else ""
        return " and ".join(filter(None, (bends, f"{self.mu} x^2/2" if self.mu or not bends else "")))

    @property
    def smoothness(self) -> Fraction:
        """Largest curvature."""
        return self.c + self.mu

    def gradient(self, x: Array) -> Array:
        """The slope, coordinate by coordinate."""
        return np.asarray(np.clip(float(self.c) * x, -float(self.left), float(self.right)) + float(self.mu) * x)

    def value(self, x: Any) -> Any:
        """The value at a Fraction, or at floats."""
        exact = isinstance(x, Fraction)
        number: Any = Fraction if exact else float
        c, left, right, mu = map(number, (self.c, self.left, self.right, self.mu))
        total = mu * x * x / 2
        if c:
            within = min(max(x, -left / c), right / c) if exact else np.clip(x, -left / c, right / c)
            total += c * within * within / 2 + c * within * (x - within)
        return total


@dataclass(frozen=True)
class BoundedRatio:
    """x^2/(1 + x^2), which is not convex."""

    smoothness: Fraction = Fraction(2)
    mu: Fraction = Fraction(-1, 2)
    """Largest curvature, and the least: 2 (1 - 3 x^2)/(1 + x^2)^3 at 1."""

    def __str__(self) -> str:
        return "x^2/(1 + x^2)"

    def gradient(self, x: Array) -> Array:
        """The slope, coordinate by coordinate."""
        return np.asarray(2 * x / np.square(1 + np.square(x)))

    def value(self, x: Any) -> Any:
        """The value at a Fraction, or at floats."""
        return x * x / (1 + x * x)


SlopedObjective = BentFunction | BoundedRatio


def quadratic(h: str | int) -> BentFunction:
    """H x^2/2."""
    return BentFunction(*rationals(0, 0, 0, h))


def bent(left: str | int, right: str | int, mu: str | int = 0) -> BentFunction:
    """Of curvature 1 between its slopes -left and right, and mu x besides, which takes its part of the curvature."""
    return BentFunction(1 - Fraction(mu), *rationals(left, right, mu))
