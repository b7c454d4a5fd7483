"""A plan as a picture: what a step of each method takes, and the slow-down that is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.style
from matplotlib.figure import Figure

from commbounds.figures.style import COLOURS, SETTINGS

if TYPE_CHECKING:
    from commbounds.theory.planning import ClusterPlan


def plan_picture(plan: ClusterPlan) -> Figure:
    """One line a method: seconds a step on the left, steps over those with an exact sum on the right.

    Parameters
    ----------
    plan : ClusterPlan
        Of `commbounds.theory.planning.plan`.

    Returns
    -------
    matplotlib Figure
        On logarithmic axes. Where no slow-down is proved, an arrow marks the largest that would be worth it.
    """
    rows, best = (*plan.ranked, *plan.listed), plan.pareto()
    places = range(len(rows))
    with matplotlib.style.context(["default", SETTINGS]):
        figure = Figure(figsize=(9, 1.2 + 0.22 * len(rows)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for place, row in zip(places, rows, strict=True):
            colour = COLOURS["blue" if row.method in best else "slate"]
            filled = "none" if row.slowdown is None else "full"
            left.plot(plan.cluster.compute + row.seconds, place, "o", color=colour, fillstyle=filled)
            if row.slowdown is None:
                right.plot(plan.worth(row), place, "<", color=colour, fillstyle="none")
            else:
                right.plot([1.0, row.slowdown], [place, place], "-", color=COLOURS["rule"])
                right.plot(row.slowdown, place, "o", color=colour)
        left.set_yticks(places, [row.method for row in rows], fontsize=8)
        left.invert_yaxis()
        left.set(xscale="log", xlabel="seconds a step: computing and messages")
        right.set(
            xscale="log",
            xlabel="steps over those with an exact sum: proved (dot),\nworth it up to here (arrow, nothing proved)",
        )
        for axes in (left, right):
            axes.grid(axis="x", color=COLOURS["rule"], linewidth=0.5)
            axes.set_axisbelow(True)
        figure.suptitle("Blue: no other method has both a shorter step and fewer steps proved", fontsize=10)
    return figure
