"""Figures about more than one claim: lines of several methods, or maps."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from commbounds.figures.curves import Powers, short, spaced, styled
from commbounds.figures.style import COLOURS, SERIES
from commbounds.verify.exhibit import Exhibit, Heat, Line, Panel

_WIDTH, _HEIGHT = 5.6, 3.3
"""Inches of one panel, its labels included and its legend not."""
_LINE = 0.19
"""Inches of one line of a legend."""
_HEADING = 0.3
_LETTERS = 62
"""Letters of a title that fit above a panel."""
_UPRIGHT = 34
"""Letters of a label that fit beside an axis."""
_FEW = 12
"""Up to so many different values are the ticks of their axis."""
_MARKERS = "osD^vPX*<>"

_DASHES: dict[str, Any] = {
    "measured": "-",
    "bound": (0, (5, 1.5)),
    "lower": (0, (1, 1.2)),
    "exact": "-",
    "printed": (0, (4, 1.5, 1, 1.5)),
    "corrected": (0, (7, 1.5)),
    "reference": (0, (2, 2)),
    "published": "none",
}
"""Line style by role: what is measured is drawn through, what is claimed is broken."""


def draw_exhibit(exhibit: Exhibit, heading: bool = True) -> Figure:
    """The exhibit, drawn.

    Parameters
    ----------
    exhibit : Exhibit
        Two panels beside one another. Lines whose labels agree up to a colon share a colour: ``ring: bound``.
    heading : bool
        Whether its title stands above.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot.
    """
    panels = exhibit.panels
    columns = 1 if len(panels) == 1 else 2
    rows = math.ceil(len(panels) / columns)
    places = _places(panels)
    legends = [_entries(panel) for panel in panels]
    below = [max(map(_lines_of_legend, legends[row * columns : (row + 1) * columns])) * _LINE for row in range(rows)]
    heights = [_HEIGHT + extra for extra in below]
    titles = textwrap.wrap(exhibit.title, round(_LETTERS * columns)) if heading else []
    above = _HEADING * bool(titles) + _LINE * max(0, len(titles) - 1)
    width, height = _WIDTH * columns, sum(heights) + above
    with styled():
        figure = Figure(figsize=(width, height))
        for number, panel in enumerate(panels):
            row, column = divmod(number, columns)
            top = sum(heights[:row]) + above
            names = panel.heat.names if panel.heat is not None else []
            indent = 0.85 if not names else 0.55 + 0.075 * max(map(len, names))
            left = column * _WIDTH + indent
            right = 0.2 if panel.heat is None or panel.heat.labels else 0.1
            box = (left / width, 1 - (top + _HEIGHT - 0.55) / height)
            size = ((_WIDTH - indent - right) / width, (_HEIGHT - 0.9) / height)
            ax = figure.add_axes((*box, *size))
            _panel(ax, panel, places, figure)
            _legend(ax, panel, places)
        for line, text in enumerate(titles):
            place = 1 - (0.2 + _LINE * line) / height
            figure.text(0.14 / width, place, text, fontsize=10, weight="bold", va="center")
    return figure


def _group(label: str) -> str:
    """What lines of one colour share of their labels."""
    return label.partition(":")[0]


def _places(panels: Sequence[Panel]) -> dict[str, int]:
    """A number for every group of lines, in order of appearance."""
    groups = dict.fromkeys(_group(line.label) for panel in panels for line in panel.lines)
    return {group: place for place, group in enumerate(groups)}


def _entries(panel: Panel) -> list[str]:
    if panel.heat is not None:
        return panel.heat.labels
    return [line.label for line in panel.lines]


def _per_row(texts: Sequence[str]) -> int:
    """How many entries of a legend fit beside one another."""
    longest = max(map(len, texts), default=1)
    return max(1, min(len(texts), int(62 / (longest + 7))))


def _lines_of_legend(texts: Sequence[str]) -> int:
    return math.ceil(len(texts) / _per_row(texts)) if texts else 0


def _panel(ax: Axes, panel: Panel, places: dict[str, int], figure: Figure) -> None:
    ax.set_xscale(panel.xscale)
    ax.set_yscale(panel.yscale)
    if panel.heat is not None:
        _heat(ax, panel.heat, figure)
    explained = {_group(line.label) for line in panel.lines if line.role == "exact"}
    for line in panel.lines:
        _line(ax, line, places[_group(line.label)], alone=_group(line.label) not in explained)
    ax.set_title(panel.title, loc="left", fontsize=9.5, color=COLOURS["muted"], y=1.0, pad=6)
    ax.set_xlabel(panel.xlabel, labelpad=2)
    ax.set_ylabel(panel.ylabel, fontsize=9.5 * min(1.0, _UPRIGHT / max(1, len(panel.ylabel))))
    ax.tick_params(which="both", length=3)
    heat = panel.heat
    xs = sorted({v for line in panel.lines for v in line.x}) if heat is None else heat.x
    for axis, scale, given in ((ax.xaxis, panel.xscale, xs), (ax.yaxis, panel.yscale, [] if heat is None else heat.y)):
        if heat is not None and heat.names and axis is ax.yaxis:
            axis.set_major_locator(FixedLocator(heat.y))
            axis.set_major_formatter(FixedFormatter(heat.names))
            ax.tick_params(axis="y", labelsize=8.5)
        elif 1 < len(given) <= _FEW:
            axis.set_major_locator(FixedLocator(spaced(given, scale)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            axis.set_minor_locator(NullLocator())
        elif scale == "linear":
            axis.set_major_locator(MaxNLocator(7))
        elif _decades(axis.get_view_interval()) > 1.2:
            axis.set_major_locator(LogLocator(numticks=8))
            axis.set_major_formatter(Powers())
            axis.set_minor_formatter(NullFormatter())
        else:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            axis.set_minor_locator(NullLocator())


def _decades(interval: Any) -> float:
    low, high = sorted(float(v) for v in interval)
    return math.log10(high / low) if low > 0 else math.inf


def _line(ax: Axes, line: Line, place: int, alone: bool) -> None:
    """Draw one line; points that an exact law goes through are not joined."""
    colour = COLOURS[SERIES[place % len(SERIES)]]
    if line.low:
        ax.fill_between(line.x, line.low, line.high, color=colour, alpha=0.18, lw=0)
    style = _style(line, place, colour)
    if line.role == "measured" and not alone:
        style["ls"] = "none"
    ax.plot(line.x, line.y, **style)


def _style(line: Line, place: int, colour: str) -> dict[str, Any]:
    """How the line is drawn; markers where something was measured or published, unless points lie close."""
    style: dict[str, Any] = {"color": colour, "ls": _DASHES[line.role], "lw": 1.6, "label": line.label}
    if line.role == "published":
        return {**style, "marker": "x", "ms": 7, "mew": 1.8}
    if line.role == "measured" and len(line.x) <= 40:
        return {**style, "marker": _MARKERS[place % len(_MARKERS)], "ms": 4.5, "mec": COLOURS["paper"], "mew": 0.5}
    return style


def _heat(ax: Axes, heat: Heat, figure: Figure) -> None:
    ax.grid(visible=False)
    if heat.labels:
        colours = ListedColormap([COLOURS[SERIES[i % len(SERIES)]] for i in range(len(heat.labels))])
        norm = BoundaryNorm([i - 0.5 for i in range(len(heat.labels) + 1)], len(heat.labels))
        ax.pcolormesh(_edges(heat.x, ax.get_xscale()), _edges(heat.y, ax.get_yscale()), heat.z, cmap=colours, norm=norm)
        return
    shades = LinearSegmentedColormap.from_list("shades", ["#eef4fa", "#0b60ad", "#06294a"])
    mesh = ax.pcolormesh(_edges(heat.x, ax.get_xscale()), _edges(heat.y, ax.get_yscale()), heat.z, cmap=shades)
    bar = figure.colorbar(mesh, ax=ax, pad=0.02)
    bar.set_label(heat.title)


def _edges(centres: Sequence[float], scale: str) -> list[float]:
    """Ends of the cells: half-way between the centres, on the axis' own scale."""
    values = [math.log(v) for v in centres] if scale == "log" else list(centres)
    if len(values) == 1:
        edges = [values[0] - 0.5, values[0] + 0.5]
    else:
        middle = [(a + b) / 2 for a, b in pairwise(values)]
        edges = [2 * values[0] - middle[0], *middle, 2 * values[-1] - middle[-1]]
    return [math.exp(v) for v in edges] if scale == "log" else edges


def _legend(ax: Axes, panel: Panel, places: dict[str, int]) -> None:
    """What the colours mean, below the panel."""
    if panel.heat is not None:
        handles: list[Any] = [
            Patch(color=COLOURS[SERIES[i % len(SERIES)]], label=label) for i, label in enumerate(panel.heat.labels)
        ]
    else:
        handles = list(ax.get_lines())
    if not handles:
        return
    texts = _entries(panel)
    ax.legend(
        handles,
        texts,
        loc="upper left",
        bbox_to_anchor=(-0.12, -0.17),
        ncols=_per_row(texts),
        columnspacing=1.0,
        handletextpad=0.5,
        borderaxespad=0.0,
        handlelength=2.6,
    )
