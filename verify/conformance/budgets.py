"""How much work a check may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["BUDGETS", "FALSE_ALARM", "CheckBudget"]

FALSE_ALARM = 1e-6
"""Probability, at most, that a report on a right implementation holds a failure from a sequential test."""


@dataclass(frozen=True)
class CheckBudget:
    """How much work a check may do.

    Parameters
    ----------
    sizes : tuple of int
        Lengths at which all hostile inputs are taken.
    long : tuple of int
        Lengths at which a few are.
    examples : int
        Generated cases a claim.
    draws : int
        Calls of a sequential test.
    steps : tuple of int
        Lengths of runs of a stateful subject.
    """

    sizes: tuple[int, ...]
    long: tuple[int, ...]
    examples: int
    draws: int
    steps: tuple[int, ...]


BUDGETS: Mapping[str, CheckBudget] = MappingProxyType(
    {
        "quick": CheckBudget((1, 2, 3, 8, 33), (65_537,), 60, 4_000, (3, 8, 64)),
        "standard": CheckBudget((1, 2, 3, 5, 8, 33, 257), (4_099, 65_537), 600, 40_000, (3, 8, 64, 512)),
        "thorough": CheckBudget(
            (1, 2, 3, 4, 5, 7, 8, 16, 33, 257, 4_099), (65_537, 2**24), 5_000, 400_000, (3, 8, 64, 4096)
        ),
    }
)
"""Budgets by name."""
