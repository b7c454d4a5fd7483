"""How much work a check may do."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from commbounds.verify.experiment import budgets

FALSE_ALARM = 1e-6
"""Probability, at most, that a report on a right implementation holds a failure from a sequential test."""


_MULTIPLES = (5760, 6720)
"""Of all tiles that are multiples of 32 up to 160, and of 192, 224, 320 and 384 entries, among others."""
TILES = (*(n + off for n in (64, 128, 256, 512, 1024, 4096) for off in (-1, 0, 1)), *_MULTIPLES)
"""What kernels take at a time, and one off; what many others divide."""
FEW_TILES = tuple(
    n for n in TILES if n in (128, 512, 4096, *_MULTIPLES) or min(abs(n - m) for m in (64, 256, 1024)) <= 1
)


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
        Lengths of runs of a stateful subject; hostile inputs take turns.
    longest : int
        Steps of a run that is repeated until a memory has levelled off.
    tiles : tuple of int
        Lengths at which two hostile inputs are taken; of subjects with memory none.
    """

    sizes: tuple[int, ...]
    long: tuple[int, ...]
    examples: int
    draws: int
    steps: tuple[int, ...]
    longest: int = 2048
    tiles: tuple[int, ...] = TILES


def _budget(name: str, long: tuple[int, ...], draws: int, steps: tuple[int, ...], **options: Any) -> CheckBudget:
    """As many sizes and generated cases as the book's budget of that name has."""
    return CheckBudget(budgets[name].sizes, long, budgets[name].examples, draws, steps, **options)


BUDGETS: Mapping[str, CheckBudget] = MappingProxyType(
    {
        "quick": _budget("quick", (65_537,), 4_000, (3, 8, 64, 3, 8, 3, 8), longest=1024, tiles=FEW_TILES),
        "standard": _budget("standard", (4_099, 65_537), 40_000, (3, 8, 64, 512)),
        "thorough": _budget("thorough", (65_537, 2**24), 400_000, (3, 8, 64, 4096)),
    }
)
"""Budgets by name."""
