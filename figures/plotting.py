"""One series of a finding on axes of matplotlib, for notebooks and for figures of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commbounds.figures.curves import axis_words, claim_of, extreme, forbids, relation_words, scale_kinds
from commbounds.figures.style import COLOURS, GRADIENTS
from commbounds.theory import Claim
from commbounds.verify.finding import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(finding: Finding, ax: Axes | None = None, series: int = 0, book: Mapping[str, Claim] | None = None) -> Axes:
    """Bound, worst case found, random inputs and real gradients over the claim's natural parameter.

    Parameters
    ----------
    finding : Finding
        It has at least one series.
    ax : matplotlib.axes.Axes or None
        Where to draw; new axes of pyplot if None.
    series : int
        Which of the finding's series.
    book : mapping of str to Claim or None
        Where to look its claim up; `theory.claims()` when None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, labelled; the side that an inequality forbids is shaded.

    Raises
    ------
    ValueError
        The finding has no such series, or its claim is not in the book.
    """
    claim = claim_of(finding, book)
    if not 0 <= series < len(finding.series):
        raise ValueError(
            f"series must be below the number of series of {finding.claim}, {len(finding.series)}, got {series}"
        )
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(layout="constrained").gca()
    drawn = finding.series[series]
    drawn.check()
    along, upright, threshold = scale_kinds(drawn, forbids(claim))
    ax.set_xscale(along)
    upright_options: dict[str, Any] = {"linthresh": threshold} if upright == "symlog" else {}
    ax.set_yscale(upright, **upright_options)
    if drawn.random_mid:
        if drawn.random_low and drawn.random_high:
            ax.fill_between(
                drawn.x, drawn.random_low, drawn.random_high, color=COLOURS["band"], alpha=0.3, label="random 5–95 %"
            )
        ax.plot(drawn.x, drawn.random_mid, color=COLOURS["band"], label="random median")
    for kind, values in drawn.gradients.items():
        shape, colour, filled = GRADIENTS.get(kind, ("D", "ink", True))
        fill = COLOURS[colour] if filled else "none"
        ax.plot(drawn.x, values, shape, color=COLOURS[colour], markerfacecolor=fill, label=f"gradients {kind}")
    ax.plot(drawn.x, drawn.bound, color=COLOURS["ink"], label=relation_words(claim)[2:], marker="_")
    finite = [value if math.isfinite(value) else math.nan for value in drawn.worst]
    ax.plot(drawn.x, finite, "o", color=COLOURS["refuted" if finding.counterexample else "tight"], label=extreme(claim))
    if side := forbids(claim):
        low, high = ax.get_ylim()
        ax.fill_between(
            drawn.x, drawn.bound, high if side == "above" else low, color=COLOURS["refuted"], alpha=0.1, linewidth=0
        )
        ax.set_ylim(low, high)
    ax.set_xlabel(axis_words(drawn.axis, claim))
    ax.set_ylabel("measured / bound" if drawn.relative else claim.quantity.name.replace("_", " "))
    ax.set_title(f"{claim.name} ({drawn.label})" if drawn.label else claim.name)
    ax.legend()
    return ax
