"""Figures about more than one claim: lines of several methods, or maps."""

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from commbounds.figures.axes import (
    KEY_WIDTH,
    Key,
    Plane,
    Scale,
    apart,
    legend,
    short,
    swatch,
    upright_ticks,
    value_ticks,
    widest,
)
from commbounds.figures.canvas import Area, Drawing, Item, Marks, Point, Stroke, Words, width_of, wrapped
from commbounds.figures.curves import FORBIDDEN, WIDTH
from commbounds.figures.style import SERIES, STEPS
from commbounds.verify.exhibit import Exhibit, Heat, Line, Panel

_TALL = 172.0
"""Points between the lowest and the highest value of a panel."""
_EDGE = 10.0
_MARKERS = "osD^vPX*<>"
_FEW = 12
_COLOURED = 4
"""Groups of lines that have a colour, of what was measured in an exhibit."""
_CLOSE = 40
"""Up to so many points of a line have a mark each."""
_SHADES = 16
"""How many shades a map of numbers has."""

_DASHES: dict[str, tuple[float, ...]] = {
    "measured": (),
    "bound": (8, 2.4),
    "lower": (1.6, 1.9),
    "exact": (),
    "printed": (6.4, 2.4, 1.6, 2.4),
    "corrected": (11.2, 2.4),
    "reference": (3.2, 3.2),
}
"""Dashes by role: what is measured is drawn through, what is claimed is broken; what is published has marks alone."""

_RELATIONS = {"bound": " (≤)", "lower": " (≥)", "exact": " (=)"}
"""What a role says of what is measured; a printed formula may say either."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:/\d+)?")


def draw_exhibit(exhibit: Exhibit, heading: bool = True) -> Drawing:
    """The exhibit, drawn.

    Parameters
    ----------
    exhibit : Exhibit
        Two panels beside one another. Lines whose labels agree up to a colon share a colour: ``ring: bound``. Labels
        that differ in an ascending or descending number alone have colours in that order. Of more than four methods
        those that stand out are coloured, the others are grey, told apart by their marks.
    heading : bool
        Whether its title stands above.

    Returns
    -------
    Drawing
        An upper bound has ``(≤)`` behind its name in the legend, a lower one ``(≥)``, a law ``(=)``. Where a panel
        has one bound only, and that not one of the methods', the side of it that it forbids is shaded.
    """
    panels = exhibit.panels
    columns = 1 if len(panels) == 1 else 2
    drawing = Drawing(WIDTH * columns, 0.0)
    colours = _colours(panels, exhibit.title)
    top = 4.0
    if heading:
        for text in wrapped(exhibit.title, 10, drawing.width - 2 * _EDGE, bold=True):
            top += 14
            drawing.add(Words((_EDGE, top), text, 10, bold=True))
        top += 4
    for first in range(0, len(panels), columns):
        row = panels[first : first + columns]
        titles = [wrapped(panel.title, 9.5, WIDTH - 70) for panel in row]
        top += 6 + 12 * max(1, *map(len, titles))
        below = 0.0
        for place, (panel, title) in enumerate(zip(row, titles, strict=True)):
            left = place * WIDTH
            plane = _plane(panel, left, top)
            drawing.planes.append(plane)
            for line, text in enumerate(reversed(title)):
                drawing.add(Words((plane.x.start, top - 6 - 12 * line), text, 9.5, "muted"))
            keys = _map(drawing, plane, panel.heat) if panel.heat else _lines(drawing, plane, panel, colours)
            _labels(drawing, plane, panel, left)
            items, height = legend(keys, left + _EDGE, top + _TALL + 36, WIDTH - 2 * _EDGE)
            drawing.add(*items)
            below = max(below, height)
        top += _TALL + 38 + below
    drawing.height = top + 4
    return drawing


# --- colours -----------------------------------------------------------------------------------------------------


def _group(label: str) -> str:
    """What lines of one colour share of their labels."""
    return label.partition(":")[0]


def _colours(panels: Sequence[Panel], title: str) -> dict[str, str]:
    """A colour for every group of lines, in order of appearance.

    Where a number tells the groups of a panel apart, their colours have its order. Of the others that were measured
    four have colours: those that the title names, then those that come nearest to what bounds them; the rest is grey. A
    formula that is no method's is black
    where its dashes tell it apart. The rest has another colour than what is beside it, if there is one left.
    """
    beside = [list(dict.fromkeys(_group(line.label) for line in panel.lines)) for panel in panels]
    everywhere = [group for groups in beside for group in groups]
    colours: dict[str, str] = {}
    for groups in beside:
        if in_order(groups):
            colours |= zip(groups, steps(len(groups)), strict=True)
    colours |= dict.fromkeys((group for group in _grey(panels, title) if group not in colours), "band")
    colours |= dict.fromkeys((group for group in _formulas(panels) if group not in colours), "ink")
    for group in everywhere:
        if group not in colours:
            near = [colours.get(other) for groups in beside if group in groups for other in groups]
            start = sum(colour not in ("band", "ink") for colour in colours.values())
            turned = [SERIES[(start + i) % len(SERIES)] for i in range(len(SERIES))]
            colours[group] = min(turned, key=near.count)
    return {group: colours[group] for group in everywhere}


def _grey(panels: Sequence[Panel], title: str) -> list[str]:
    """The groups that were measured and have no formula, without those that the title names or that stand out."""
    said = {_group(line.label) for panel in panels for line in panel.lines if line.role != "measured"}
    place: dict[str, int] = {}
    for panel in panels:
        upwards = all(line.role != "lower" for line in panel.lines)
        ends = {
            _group(line.label): (max if upwards else min)((v for v in line.y if math.isfinite(v)), default=0.0)
            for line in panel.lines
            if line.role == "measured"
        }
        for rank, group in enumerate(sorted(ends, key=ends.__getitem__, reverse=upwards)):
            place[group] = min(rank, place.get(group, rank))
    free = max(0, _COLOURED - len(said & place.keys()))
    others = sorted(place.keys() - said, key=lambda group: (group not in title, place[group], list(place).index(group)))
    return others[free:] if len(place) > _COLOURED else []


def _formulas(panels: Sequence[Panel]) -> list[str]:
    """The groups that are a formula alone, and the only one with their dashes in every panel that has them."""
    roles: dict[str, set[str]] = {}
    for line in (line for panel in panels for line in panel.lines):
        roles.setdefault(_group(line.label), set()).add(line.role)
    alone = [group for group, found in roles.items() if len(found) == 1 and not found & {"measured", "published"}]
    drawn = [[line.role for line in panel.lines if _group(line.label) in alone] for panel in panels]
    return [group for group in alone if all(of_panel.count(*roles[group]) <= 1 for of_panel in drawn)]


def in_order(labels: Sequence[str]) -> bool:
    """Whether `labels`, three or more, are the same words with one number that rises or falls from each to the next.

    The last one may be without a number, as in ``within 1 %, within 5 %, worse``.

    Examples
    --------
    >>> in_order(["P = 2", "P = 8", "P = 32"]), in_order(["ring", "tree", "star"])
    (True, False)
    """
    numbered = [label for label in labels if _NUMBER.search(label)]
    if len(numbered) < 3 or len(labels) > len(STEPS) or list(labels[: len(numbered)]) != numbered:
        return False
    if len(labels) - len(numbered) > 1 or any(len(_NUMBER.findall(label)) != 1 for label in numbered):
        return False
    if len({_NUMBER.sub("#", label) for label in numbered}) > 1:
        return False
    values = [_value(_NUMBER.findall(label)[0]) for label in numbered]
    steps_between = [b - a for a, b in pairwise(values)]
    return all(step > 0 for step in steps_between) or all(step < 0 for step in steps_between)


def _value(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def steps(count: int) -> list[str]:
    """`count` colours from the least to the most, the ends of `STEPS` among them."""
    return [STEPS[round(place * (len(STEPS) - 1) / max(1, count - 1))] for place in range(count)]


# --- axes --------------------------------------------------------------------------------------------------------


def _plane(panel: Panel, left: float, top: float) -> Plane:
    heat = panel.heat
    foot = top + _TALL
    if heat is not None:
        ys = _edges(heat.y, panel.yscale)
        y = Scale(panel.yscale, ys[0], ys[-1], foot, top)
        yticks = tuple(zip(heat.y, heat.names, strict=True)) if heat.names else _few(y, heat.y)
        xs = _edges(heat.x, panel.xscale)
        start = left + max(52.0, widest(yticks) + 28)
        x = Scale(panel.xscale, xs[0], xs[-1], start, left + WIDTH - (_EDGE if heat.labels else 66))
        return Plane(x, y, value_ticks(x, heat.x), yticks)
    given = [v for line in panel.lines for v in line.x]
    values = [v for line in panel.lines for curve in (line.y, line.low, line.high) for v in curve if math.isfinite(v)]
    y = _padded(panel.yscale, values, foot, top, 0.06)
    yticks = upright_ticks(y)
    x = _padded(panel.xscale, given, left + max(52.0, widest(yticks) + 28), left + WIDTH - _EDGE - 4, 0.03)
    return Plane(x, y, value_ticks(x, given), yticks)


def _few(scale: Scale, values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """Ticks at the rows of a map, where they are few."""
    if len(values) > _FEW:
        return upright_ticks(scale)
    return tuple((v, short(v)) for v in apart(values, scale.place, lambda _: 2.7))


def _padded(kind: str, values: Sequence[float], start: float, end: float, share: float) -> Scale:
    if kind == "log":
        values = [v for v in values if v > 0]
        reach = (max(values) / min(values)) ** share
        reach = reach if reach > 1 else 2.0
        return Scale("log", min(values) / reach, max(values) * reach, start, end)
    low, high = min(values), max(values)
    reach = share * (high - low) or 0.5
    return Scale("linear", low - reach, high + reach, start, end)


def _labels(drawing: Drawing, plane: Plane, panel: Panel, left: float) -> None:
    x, y = plane.x, plane.y
    drawing.add(*plane.frame())
    drawing.add(Words(((x.start + x.end) / 2, y.start + 29), panel.xlabel, 9.5, anchor="middle"))
    size = 9.5 * min(1.0, (_TALL + 20) / max(1.0, width_of(panel.ylabel, 9.5)))
    drawing.add(Words((left + 14, (y.start + y.end) / 2), panel.ylabel, size, anchor="middle", upright=True))


# --- lines -------------------------------------------------------------------------------------------------------


def _lines(drawing: Drawing, plane: Plane, panel: Panel, colours: dict[str, str]) -> list[Key]:
    explained = {_group(line.label) for line in panel.lines if line.role == "exact"}
    groups = list(colours)
    drawing.add(*plane.grid())
    bounds = [line for line in panel.lines if line.role in ("bound", "lower")]
    names = {_group(line.label) for line in panel.lines if line not in bounds}
    keys: list[Key] = []
    shaded: list[Key] = []
    if len(bounds) == 1 and not any(name in bounds[0].label for name in names):
        (bound,) = bounds
        edge = plane.y.end if bound.role == "bound" else plane.y.start
        beyond = [((run[0][0], edge), *run, (run[-1][0], edge)) for run in _runs(plane, bound.x, bound.y)]
        drawing.add(Area(tuple(beyond), "muted", FORBIDDEN))
        side = "above" if bound.role == "bound" else "below"
        others = any(line.role in ("printed", "corrected") for line in panel.lines)
        shaded.append(Key(f"{side} {bound.label if others else 'the bound'}", swatch("muted", 2 * FORBIDDEN)))
    for line in panel.lines:
        group = _group(line.label)
        if line.low:
            drawing.add(Area(plane.band(line.x, line.low, line.high), colours[group], 0.18))
    for line in sorted(panel.lines, key=lambda line: colours[_group(line.label)] != "band"):  # the grey ones below
        group = _group(line.label)
        joined = line.role != "measured" or group not in explained
        draws = _look(line, colours[group], _MARKERS[groups.index(group) % len(_MARKERS)], joined)
        runs = _runs(plane, line.x, line.y)
        drawing.add(*draws(runs) if runs else [])
        keys.append(Key(line.label + _RELATIONS.get(line.role, ""), _short_sample(draws)))
    grey = sum(colours[_group(line.label)] == "band" for line in panel.lines)
    return [*keys[grey:], *shaded, *keys[:grey]]


def _runs(plane: Plane, xs: Sequence[float], ys: Sequence[float]) -> tuple[tuple[Point, ...], ...]:
    """Places of a curve; on a logarithmic scale what is not positive is a gap, as NaN is."""
    seen = [math.nan if plane.y.kind == "log" and v <= 0 else v for v in ys]
    return tuple(plane.runs(xs, seen))


Look = Callable[[tuple[tuple[Point, ...], ...]], list[Item]]


def _look(line: Line, colour: str, shape: str, joined: bool) -> Look:
    """How the line is drawn; marks where something was measured or published, unless points lie close."""

    def draws(runs: tuple[tuple[Point, ...], ...]) -> list[Item]:
        places = tuple(place for run in runs for place in run)
        if line.role == "published":
            return [Marks(places, "x", 6.5, colour, width=1.8)]
        items: list[Item] = []
        if joined:
            items.append(Stroke(runs, colour, 1.6, _DASHES[line.role]))
        if line.role == "measured" and (len(line.x) <= _CLOSE or not joined):
            items.append(Marks(places, shape, 4.8, colour, edge="paper", width=0.5))
        return items

    return draws


def _short_sample(draws: Look) -> Callable[[float, float], list[Item]]:
    """The same look on a piece of line; its mark once, in the middle."""

    def symbol(x: float, y: float) -> list[Item]:
        ends, middle = ((x - KEY_WIDTH / 2, y), (x + KEY_WIDTH / 2, y)), (((x, y),),)
        return [
            item
            for runs, kind in (((ends,), Stroke), (middle, Marks))
            for item in draws(runs)
            if isinstance(item, kind)
        ]

    return symbol


# --- maps --------------------------------------------------------------------------------------------------------


def _map(drawing: Drawing, plane: Plane, heat: Heat) -> list[Key]:
    xs, ys = _edges(heat.x, plane.x.kind), _edges(heat.y, plane.y.kind)
    cells: dict[int, list[tuple[Point, ...]]] = {}
    finite = [v for row in heat.z for v in row if math.isfinite(v)]
    low, high = (0.0, 1.0) if heat.labels or not finite else (min(finite), max(finite))
    for (y0, y1), row in zip(pairwise(ys), heat.z, strict=True):
        for (x0, x1), value in zip(pairwise(xs), row, strict=True):
            if math.isfinite(value):
                shade = int(value) if heat.labels else round((_SHADES - 1) * (value - low) / ((high - low) or 1.0))
                corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
                cells.setdefault(shade, []).append(tuple(plane.at(*corner) for corner in corners))
    if heat.labels:
        colours = _categories(heat.labels)
        drawing.add(*(Area(tuple(cells[shade]), colours[shade]) for shade in sorted(cells)))
        return [Key(label, swatch(colour, 1.0)) for label, colour in zip(heat.labels, colours, strict=True)]
    drawing.add(*(Area(tuple(cells[shade]), "blue", _opacity(shade)) for shade in sorted(cells)))
    drawing.add(*_bar(plane, low, high, heat.title))
    return []


def _categories(labels: Sequence[str]) -> list[str]:
    return steps(len(labels)) if in_order(labels) else [SERIES[i % len(SERIES)] for i in range(len(labels))]


def _opacity(shade: int) -> float:
    return 0.06 + 0.94 * shade / (_SHADES - 1)


def _bar(plane: Plane, low: float, high: float, title: str) -> list[Item]:
    """What the shades of a map mean, to its right."""
    left, foot, top = plane.x.end + 8, plane.y.start, plane.y.end
    long = (foot - top) / _SHADES
    items: list[Item] = []
    for shade in range(_SHADES):
        y = foot - long * shade
        corners = ((left, y), (left + 9, y), (left + 9, y - long), (left, y - long))
        items.append(Area((corners,), "blue", _opacity(shade)))
    scale = Scale("linear", low, high if high > low else low + 1, foot, top)
    items += [Words((left + 12, scale.place(v) + 3), short(v), 8.5) for v in scale.ticks(5)]
    return [*items, Words((left + 52, (foot + top) / 2), title, 9, anchor="middle", upright=True)]


def _edges(centres: Sequence[float], scale: str) -> list[float]:
    """Ends of the cells: half-way between the centres, on the axis' own scale."""
    values = [math.log(v) for v in centres] if scale == "log" else list(centres)
    if len(values) == 1:
        edges = [values[0] - 0.5, values[0] + 0.5]
    else:
        middle = [(a + b) / 2 for a, b in pairwise(values)]
        edges = [2 * values[0] - middle[0], *middle, 2 * values[-1] - middle[-1]]
    return [math.exp(v) for v in edges] if scale == "log" else edges
