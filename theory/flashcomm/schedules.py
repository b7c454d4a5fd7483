"""Schedules of the quantised all-reduces, in words of 32 bits; a group has a scale and a zero point of 16 bits each."""

from dataclasses import replace
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis
from commbounds.theory.cost import Phase, Schedule
from commbounds.theory.flashcomm.terms import FULL_BLOCKS, group, width
from commbounds.theory.quantities import P, n
from commbounds.theory.sources import derived

_SOURCE = derived("A block is sent as its codes, in planes of whole bytes, with a scale and a zero point a group.")


def _coded(entries: Any) -> Any:
    """Words of so many entries: all bytes and groups whole."""
    return entries * (width / sp.Integer(32) + 1 / group)


def _padded(entries: Any) -> Any:
    """Words of so many entries: the width as planes of 8, 4, 2 and 1 bits, of whole bytes, and whole groups."""
    widths = [sp.Integer(d) for d in (8, 4, 2, 1)]
    planes = [sp.Mod(sp.floor(width / d), 2) * sp.ceiling(entries * d / 8) for d in widths]
    return sp.Add(*planes) / 4 + sp.ceiling(entries / group)


_BLOCK, _LARGEST = _coded(n / P), _padded(sp.ceiling(n / P))


def _schedules(block: Any, vector: Any, once: Any) -> tuple[Schedule, ...]:
    kind = "quantised"
    return (
        Schedule(
            "twostep",
            "two-step quantised all-reduce",
            (Phase("all-to-all", once, (P - 1) * block), Phase("all-gather", once, (P - 1) * block)),
            _SOURCE,
            kind=kind,
        ),
        Schedule(
            "ring_quantised",
            "ring all-reduce that quantises in every step",
            (Phase("ring", 2 * (P - 1), block),),
            _SOURCE,
            kind=kind,
        ),
        Schedule(
            "oneshot",
            "one-shot quantised all-reduce",
            (Phase("all-to-all", once, (P - 1) * vector),),
            _SOURCE,
            kind=kind,
        ),
    )


# conditions of schedules, in tuples: the book's are those that claims make
_SEVERAL = (Hypothesis("several_ranks", "There are at least two ranks.", P >= 2),)
_VECTOR = (Hypothesis("whole_groups", "8 and the group divide n.", Eq(sp.Mod(n, group), 0) & Eq(sp.Mod(n, 8), 0)),)
_WHOLE = (FULL_BLOCKS, FULL_BLOCKS, *_VECTOR)
PRINTED = tuple(
    replace(s, assumes=(h, *_SEVERAL)) for s, h in zip(_schedules(_BLOCK, _coded(n), 1), _WHOLE, strict=True)
)
EXACT = tuple(
    replace(s, title=f"{s.title} of blocks and groups as they come")
    for s in _schedules(_LARGEST, _padded(n), sp.Min(1, P - 1))
)
