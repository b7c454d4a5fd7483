"""Packet loss: bound against measurement over a claim's natural parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from commbounds.theory import claims
from commbounds.verify.experiment import bound_at
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome

LOSSES = tuple(Fraction(i, 20) for i in (0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18))
"""Loss probabilities that curves run over."""


def swept(
    claim: str,
    trial: Callable[[Any, Case], Outcome],
    label: str,
    axis: str,
    points: Iterable[tuple[float, dict[str, Any]]],
) -> Callable[[Any, int], list[Series]]:
    """A maker of curves: `trial` on the settings of every point, at its place on the axis.

    Parameters
    ----------
    claim : str
        Name in the book.
    trial : callable
        Of the claim's study.
    label, axis : str
        What is held, and what varies.
    points : iterable of (float, settings)
        Ascending, and admitted by the claim's hypotheses.
    """
    listed = list(points)

    def curves(implementation: Any, _seed: int) -> list[Series]:
        x, bound, measured = [], [], []
        for place, settings in listed:
            outcome = trial(implementation, Case(settings))
            x.append(float(place))
            bound.append(float(bound_at(claims()[claim], outcome.values)))
            measured.append(float(outcome.measured))
        return [Series(label, axis, x, bound, measured)]

    return curves
