"""What a figure shows, in words: for readers who do not see it."""

import math
from collections import Counter
from collections.abc import Sequence

import sympy as sp

from commbounds.figures.status import number
from commbounds.theory import Claim
from commbounds.verify.exhibit import Exhibit, Heat, Line, Panel
from commbounds.verify.finding import Finding, Series

_SAME = 1e-9
"""Relative difference of two values of which one does not say that they differ."""
_ON = 1e-3
"""Relative distance at which a point lies on its line, for the eye."""


def course(values: Sequence[float]) -> str:
    """Whether a line rises, falls or stays, from where to where.

    Examples
    --------
    >>> course([1.0, 0.5, 0.25])
    'falls from 1.000 to 0.250'
    """
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return "has no finite value"
    low, high, first, last = min(finite), max(finite), finite[0], finite[-1]
    if high - low <= _SAME * max(abs(low), abs(high)):
        return f"stays at {number(first)}"
    if finite == sorted(finite):
        return f"rises from {number(first)} to {number(last)}"
    if finite == sorted(finite, reverse=True):
        return f"falls from {number(first)} to {number(last)}"
    return f"goes from {number(first)} to {number(last)}, between {number(low)} and {number(high)}"


def described(finding: Finding, claim: Claim) -> str:
    """The figure of `finding` in words: how the bound runs, and where the measurements lie.

    Parameters
    ----------
    finding : Finding
        With series, or without: then its figure is one number.
    claim : Claim
        The claim that it is about.
    """
    if finding.series:
        return f"{claim.name}. " + " ".join(_series(series, claim) for series in finding.series)
    example, reached = finding.counterexample, finding.tightness
    if example is not None:
        what = f"At the counterexample {number(example.measured)} was measured; the bound is {number(example.bound)}."
    elif reached is not None:
        what = f"Measured over bound reaches {number(reached)}."
    else:
        what = "There is no curve for this claim."
    return f"{claim.name}. {what}"


def _series(series: Series, claim: Claim) -> str:
    x = f"{series.axis} from {number(series.x[0])} to {number(series.x[-1])}"
    if len(series.x) == 1:
        x = f"{series.axis} = {number(series.x[0])}"
    line = "law" if isinstance(claim.relation, sp.Eq) else "bound"
    words = f"{series.label}: over {x}, the {line} {course(series.bound)}; {_against(series, claim)}."
    if series.random_mid:
        words += f" Random inputs: the median {course(series.random_mid)}."
    return words


def _against(series: Series, claim: Claim) -> str:
    """Where the discs lie, seen from the bound."""
    found = "the farthest value found" if isinstance(claim.relation, sp.Eq) else "the worst value found"
    beyond = [x for x, w in zip(series.x, series.worst, strict=True) if not math.isfinite(w)]
    pairs = [(x, w, b) for x, w, b in zip(series.x, series.worst, series.bound, strict=True) if math.isfinite(w - b)]
    if not pairs:
        return f"{found} is unbounded throughout"
    scale = max(abs(b) for _, _, b in pairs)
    above = [(x, w, b) for x, w, b in pairs if w - b > _ON * max(abs(b), _SAME * scale)]
    below = [(x, w, b) for x, w, b in pairs if b - w > _ON * max(abs(b), _SAME * scale)]
    if not above and not below:
        words = f"{found} lies on it"
    elif above and below:
        words = f"{found} lies on both sides of it"
    else:
        side, off = ("above", above) if above else ("below", below)
        words = f"{found} lies {side} it"
        if len(off) < len(pairs):
            words += f" at {len(off)} of {len(pairs)} places and on it at the others"
        else:
            x, w, b = min(pairs, key=lambda p: abs(p[1] - p[2]) / (abs(p[2]) or 1.0))
            words += f", closest at {series.axis} = {number(x)}: {number(w)} against {number(b)}"
    return words + (f", and is unbounded at {len(beyond)} places" if beyond else "")


def described_exhibit(exhibit: Exhibit) -> str:
    """An exhibit in words: its title, and how the lines of every panel run."""
    return " ".join([f"{exhibit.title}.", *map(_panel, exhibit.panels)])


def _panel(panel: Panel) -> str:
    head = f"{panel.title}: " if panel.title else ""
    if panel.heat is not None:
        return f"{head}{_heat(panel.heat, panel)}."
    return f"{head}{panel.ylabel} over {panel.xlabel}. " + "; ".join(map(_line, panel.lines)) + "."


def _line(line: Line) -> str:
    return f"{line.label} {course(line.y)}"


def _heat(heat: Heat, panel: Panel) -> str:
    cells = [v for row in heat.z for v in row if math.isfinite(v)]
    where = f"over {panel.xlabel} and {panel.ylabel}"
    if heat.labels:
        shares = Counter(heat.labels[int(v)] for v in cells)
        return f"a map {where}; " + ", ".join(
            f"{label} on {100 * count / len(cells):.0f} %" for label, count in shares.most_common()
        )
    if not cells:
        return f"a map of {heat.title or 'values'} {where}, empty"
    return f"a map of {heat.title or 'values'} {where}, from {number(min(cells))} to {number(max(cells))}"
