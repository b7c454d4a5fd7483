"""Packet loss: curves over the loss probability."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from commbounds.verify.study import Case, Curve

LOSSES = tuple(Fraction(i, 20) for i in (0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18))
"""Loss probabilities that curves run over."""


def over_losses(label: str, held: dict[str, Any], losses: Sequence[Fraction] = LOSSES) -> list[Curve]:
    """The curve of cases that differ in the loss probability `p` alone."""
    return [Curve("p", label, [(float(p), Case({**held, "p": p})) for p in losses])]
