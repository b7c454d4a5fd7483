"""Bound against measurement over the claim's natural parameter, one figure a claim."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.style
import sympy as sp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatter, NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from commbounds.figures.status import number, status
from commbounds.figures.style import COLOURS, GRADIENTS, SETTINGS
from commbounds.theory import Claim, claims
from commbounds.verify.finding import Finding, Series

_PANEL = (5.6, 2.9)
"""Width and height of one panel in inches, its labels included."""
_HEADING = 0.4
"""Inches for the name and the verdict."""
_LINE = 0.19
"""Inches of one line of the legend."""


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's defaults with `SETTINGS` on top, whatever the user has set."""
    with matplotlib.style.context(["default", SETTINGS]):
        yield


def claim_of(finding: Finding, book: Mapping[str, Claim] | None) -> Claim:
    """The claim that `finding` is about.

    Raises
    ------
    ValueError
        It is not in the book.
    """
    book = claims() if book is None else book
    if finding.claim not in book:
        raise ValueError(f"the book has no claim called {finding.claim!r}")
    return book[finding.claim]


def draw(finding: Finding, book: Mapping[str, Claim] | None = None, *, heading: bool = True) -> Figure:
    """One figure: bound, worst case found, random inputs and real gradients over the claim's natural parameter.

    Parameters
    ----------
    finding : Finding
        One panel for each of its series; without any, its tightness alone.
    book : mapping of str to Claim or None
        Where to look its claim up; `theory.claims()` when None.
    heading : bool
        Whether the claim's name and the verdict stand above.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot. Values that are not finite sit as arrowheads on the upper edge.

    Raises
    ------
    ValueError
        The claim is not in the book, or a series has lists of different lengths.
    """
    claim = claim_of(finding, book)
    seen = status(finding, claim)
    panels = finding.series
    columns = 1 if len(panels) < 2 else 2
    rows = max(1, math.ceil(len(panels) / columns))
    with styled():
        figure = Figure()
        axes = list(figure.subplots(rows, columns, squeeze=False).flat)
        while len(axes) > max(1, len(panels)):
            axes.pop().remove()
        for ax, series in zip(axes, panels, strict=False):
            _panel(ax, series, finding, claim, seen.word)
        if not panels:
            _alone(axes[0], finding, claim, seen.word)
        for ax in axes:
            ax.tick_params(which="both", length=3)
        bottom = 0.5 + _LINE * _legend(figure, axes, ncols=3 * columns)
        top = 0.28 + _HEADING * heading
        width, height = _PANEL[0] * columns, (_PANEL[1] if panels else 1.6) * rows - 0.55 + top + bottom
        figure.set_size_inches(width, height)
        figure.subplots_adjust(
            left=0.82 / width,
            right=1 - 0.16 / width,
            top=1 - top / height,
            bottom=bottom / height,
            wspace=0.2,
            hspace=0.45,
        )
        if heading:
            place: dict[str, Any] = {"x": 0.14 / width, "weight": "bold", "va": "center"}
            figure.text(y=1 - 0.2 / height, s=finding.claim, fontsize=10, **place)
            figure.text(y=1 - 0.46 / height, s=seen.text, fontsize=11.5, color=COLOURS[seen.word], **place)
    return figure


def _legend(figure: Figure, axes: Sequence[Axes], ncols: int) -> int:
    """Add what the lines and markers mean; the number of lines of text it takes."""
    handles = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    texts = sorted(handles, key=lambda text: not text.startswith(("bound", "worst", "farthest")))
    figure.legend(
        [handles[text] for text in texts],
        texts,
        loc="lower center",
        ncols=ncols,
        columnspacing=1.0,
        handletextpad=0.5,
        borderaxespad=0.1,
    )
    return math.ceil(len(texts) / ncols)


def _panel(ax: Axes, series: Series, finding: Finding, claim: Claim, word: str) -> None:
    curves = [series.bound, series.worst, series.random_low, series.random_mid, series.random_high]
    curves += list(series.gradients.values())
    try:
        series.check()
    except ValueError as error:
        raise ValueError(f"{finding.claim}, {error}") from error
    low, high = _scales(ax, series, curves)
    colour = COLOURS[word]
    x = series.x
    extreme = _extreme(claim)
    if series.random_mid:
        if series.random_low and series.random_high:
            ax.fill_between(
                x, series.random_low, series.random_high, color=COLOURS["band"], alpha=0.3, lw=0, label="random 5–95 %"
            )
        ax.plot(x, series.random_mid, color=COLOURS["band"], lw=1.4, marker="_", ms=7, label="random median")
    if word in ("loose", "refuted"):
        ax.fill_between(x, [_clipped(v, high) for v in series.worst], series.bound, color=colour, alpha=0.12, lw=0)
    if len(x) == 1:
        ax.axhline(series.bound[0], color=COLOURS["ink"], lw=1.8, label="bound")
    else:
        ax.plot(x, series.bound, color=COLOURS["ink"], lw=1.8, label="bound")
    finite = [(a, v) for a, v in zip(x, series.worst, strict=True) if math.isfinite(v)]
    beyond = [a for a, v in zip(x, series.worst, strict=True) if not math.isfinite(v)]
    style: dict[str, Any] = {"ls": "none", "color": colour, "mec": COLOURS["paper"], "mew": 0.8, "clip_on": False}
    ax.plot([a for a, _ in finite], [v for _, v in finite], "o", ms=8, label=extreme, zorder=3, **style)
    if beyond:
        ax.plot(beyond, [high] * len(beyond), "^", ms=10, label=f"{extreme}: unbounded", zorder=3, **style)
    for place, (kind, values) in enumerate(sorted(series.gradients.items(), key=lambda item: _order(item[0]))):
        marker, name, filled = GRADIENTS.get(kind, ("D", "ink", True))
        shift = ScaledTranslation((place - (len(series.gradients) - 1) / 2) * 4 / 72, 0, _dpi_scale(ax))
        ax.plot(
            x,
            values,
            ls="none",
            marker=marker,
            ms=5,
            color=COLOURS[name],
            mfc=COLOURS[name] if filled else "none",
            mew=1.1,
            label=f"gradients {kind}",
            transform=ax.transData + shift,
            zorder=4,
        )
    ax.set_ylim(low, high)
    ax.set_xlabel(series.axis)
    ax.set_ylabel("measured / bound" if series.relative else claim.quantity.name.replace("_", " "))
    # places are given: matplotlib would look for them among all tick labels
    ax.xaxis.set_label_coords(0.5, 0.0, ax.transAxes + ScaledTranslation(0.0, -0.24, _dpi_scale(ax)))
    ax.yaxis.set_label_coords(0.0, 0.5, ax.transAxes + ScaledTranslation(-0.6, 0.0, _dpi_scale(ax)))
    ax.set_title(series.label, loc="right", fontsize=9, color=COLOURS["muted"], y=1.0, pad=6)


def _extreme(claim: Claim) -> str:
    """What the discs are: an equality has no worst side."""
    return "farthest found" if isinstance(claim.relation, sp.Eq) else "worst found"


def _order(kind: str) -> tuple[int, str]:
    names = list(GRADIENTS)
    return (names.index(kind) if kind in names else len(names), kind)


def _dpi_scale(ax: Axes) -> Any:
    figure = ax.get_figure(root=True)
    return figure.dpi_scale_trans if figure is not None else None


def _clipped(value: float, high: float) -> float:
    return value if math.isfinite(value) else high


def _scales(ax: Axes, series: Series, curves: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Set the scales of both axes; limits of the vertical one."""
    x = series.x
    if min(x) > 0 and len(x) > 2 and max(x) / min(x) >= 6:
        ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(spaced(x, ax.get_xscale())))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    values = [v for curve in curves for v in curve if math.isfinite(v)]
    low, high = min(values), max(values)
    # what is smaller is zero up to rounding
    floor = 1e-9 * (max(map(abs, series.bound)) or 1.0)
    if not any(series.bound) and low >= 0 and high < 1e-6:
        return -0.06, 1.0  # a defect of zero, on the scale of the largest defect that there can be
    judged = [v for curve in (series.bound, series.worst) for v in curve if math.isfinite(v) and v > floor]
    if low >= 0 and judged and max(judged) / min(judged) > 40:
        lowest = max(min(v for v in values if v > floor), 1e-4 * min(judged))
        if low >= lowest:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(Powers())
            ax.yaxis.set_minor_formatter(Powers())
            reach = (high / low) ** 0.06
            return low / reach, high * reach
        return _from_zero(ax, lowest, high)
    if low >= 0 and low < 0.5 * high:
        return -0.02 * high, 1.06 * high
    # what differs by less than two per cent is drawn as equal
    reach = 0.06 * (high - low) if high - low > 0.02 * abs(high) else 0.1 * abs(high)
    return low - reach, high + reach


def _from_zero(ax: Axes, lowest: float, high: float) -> tuple[float, float]:
    """Set a vertical scale that is linear up to `lowest` and logarithmic above; its limits."""
    ax.set_yscale("symlog", linthresh=lowest)
    first, last = math.ceil(math.log10(lowest)), math.floor(math.log10(high))
    step = max(1, math.ceil((last - first + 1) / 6))
    ax.yaxis.set_major_locator(FixedLocator([0.0, *(10.0**power for power in range(last, first - 1, -step))]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    ax.yaxis.set_minor_locator(NullLocator())
    return -0.3 * lowest, high * 2


def spaced(x: Sequence[float], scale: str) -> list[float]:
    """The values of `x` that have room for a label: both ends, and from the left whatever is far enough from others."""
    places = [math.log(v) for v in x] if scale == "log" else list(x)
    width = (places[-1] - places[0]) or 1.0
    kept, last = [x[0]], places[0]
    for value, place in zip(x[1:-1], places[1:-1], strict=True):
        if place - last >= 0.08 * width and places[-1] - place >= 0.08 * width:
            kept.append(value)
            last = place
    return [*kept, x[-1]]


class Powers(LogFormatter):
    """Labels of a logarithmic axis as plain text; matplotlib's own are formulas, each of which it has to set."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label of the tick at `x`; empty where there is no room for one."""
        return short(x) if super().__call__(x, pos) else ""


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def short(value: float) -> str:
    """`value` as the label of a tick: powers as powers, small binary fractions as fractions."""
    if value >= 10_000 and value == int(value):
        for base in (2, 10):
            power = round(math.log(value, base))
            if base**power == value:
                return f"{base}{str(power).translate(_RAISED)}"
    if 0 < value < 0.1 and (1 / value).is_integer() and (int(1 / value) & (int(1 / value) - 1)) == 0:
        return f"1/{int(1 / value)}"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value)}"
    if 0 < value < 1e-3 and math.isclose(value, 10.0 ** round(math.log10(value)), rel_tol=4 * sys.float_info.epsilon):
        return f"10{str(round(math.log10(value))).translate(_RAISED)}"
    rounded = f"{value:.2g}"
    return rounded if math.isclose(float(rounded), value, rel_tol=0.01) else f"{value:.4g}"


def _alone(ax: Axes, finding: Finding, claim: Claim, word: str) -> None:
    """Draw one number against the bound, for findings without a curve: the counterexample, or measured / bound."""
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    example, ratio = finding.counterexample, finding.tightness
    if example is not None and math.isfinite(example.measured) and math.isfinite(example.bound):
        bound, value = example.bound, example.measured
        what, axis = f"counterexample, {example.subject}", claim.quantity.name.replace("_", " ")
    else:
        bound, value = 1.0, math.inf if ratio is None else ratio
        what, axis = _extreme(claim), "measured / bound"
    ax.axvline(bound, color=COLOURS["ink"], lw=1.8, label="bound")
    if math.isfinite(value):
        ax.plot([value], [0], "o", ms=10, color=COLOURS[word], mec=COLOURS["paper"], label=what, clip_on=False)
        ax.annotate(number(value), (value, 0), xytext=(8, 8), textcoords="offset points")
        low, high = min(0.0, bound, value), max(bound, value)
    else:
        text = "no curve for this claim" if ratio is None else "unbounded"
        ax.text(0.5, 0.75, text, transform=ax.transAxes, ha="center", color=COLOURS["muted"])
        low, high = 0.0, 1.0
    reach = (high - low) or 1.0
    ax.set_xlim(low - 0.05 * reach * (low < 0 or bound == low), high + 0.2 * reach)
    ax.set_ylim(-1, 1)
    ax.set_xlabel(axis)
    ax.xaxis.set_minor_formatter(NullFormatter())
