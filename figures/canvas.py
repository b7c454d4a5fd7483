"""Drawings as lists of lines, areas, marks and words in points, and what they are as files.

Matplotlib spends a tenth of a second on the ticks and boxes of a pair of axes. Here a scale is a function and a tick a
line: an SVG is written straight from the list, and matplotlib paints it where pixels or a PDF are asked for.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Transform

from commbounds.figures.style import COLOURS, DPI, FONTS, SETTINGS

Point = tuple[float, float]

_METADATA: dict[str, dict[str, Any]] = {
    "svg": {},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMS = tuple(_METADATA)
"""What a drawing can be written as."""


def _star() -> list[Point]:
    turns = [(math.pi * (i / 5 - 0.5), 0.5 if i % 2 == 0 else 0.2) for i in range(10)]
    return [(r * math.cos(a), r * math.sin(a)) for a, r in turns]


_PLUS = [(-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1)]
_CROSS = [(-1, -2), (0, -1), (1, -2), (2, -1), (1, 0), (2, 1), (1, 2), (0, 1), (-1, 2), (-2, 1), (-1, 0), (-2, -1)]
_OUTLINES: dict[str, list[Point]] = {
    "s": [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)],
    "D": [(0, -0.7071), (0.7071, 0), (0, 0.7071), (-0.7071, 0)],
    "^": [(0, -0.5), (0.5, 0.5), (-0.5, 0.5)],
    "v": [(0, 0.5), (0.5, -0.5), (-0.5, -0.5)],
    "<": [(-0.5, 0), (0.5, -0.5), (0.5, 0.5)],
    ">": [(0.5, 0), (-0.5, -0.5), (-0.5, 0.5)],
    "P": [(x / 6, y / 6) for x, y in _PLUS],
    "X": [(x / 4, y / 4) for x, y in _CROSS],
    "*": _star(),
}
"""Filled marks of diameter 1; y goes down."""
_STROKES: dict[str, list[list[Point]]] = {
    "x": [[(-0.5, -0.5), (0.5, 0.5)], [(-0.5, 0.5), (0.5, -0.5)]],
    "_": [[(-0.5, 0), (0.5, 0)]],
}
"""Marks that are lines."""


@dataclass(frozen=True)
class Stroke:
    """Lines through points, one for every run."""

    runs: tuple[tuple[Point, ...], ...]
    colour: str
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Area:
    """Polygons of one colour, which what lies below shines through."""

    outlines: tuple[tuple[Point, ...], ...]
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Marks:
    """One mark at every point: ``o``, or a shape of `_OUTLINES` or `_STROKES`; `edge` is the colour of its rim."""

    places: tuple[Point, ...]
    shape: str
    size: float
    colour: str
    filled: bool = True
    edge: str = ""
    width: float = 0.8


@dataclass(frozen=True)
class Words:
    """One line of text; `anchor` (start, middle or end) is at `place`, on the baseline; `upright` runs upwards."""

    place: Point
    text: str
    size: float = 9.5
    colour: str = "ink"
    anchor: str = "start"
    bold: bool = False
    upright: bool = False

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of what it covers."""
        long = width_of(self.text, self.size, self.bold)
        before = {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * long
        x, y = self.place
        if self.upright:
            return x - 0.76 * self.size, y - long + before, x + 0.24 * self.size, y + before
        return x - before, y - 0.76 * self.size, x - before + long, y + 0.24 * self.size


Item = Stroke | Area | Marks | Words


@cache
def _advance(letter: str, bold: bool) -> float:
    """Width of a letter of size 1 in the first of `FONTS`, which is wider than the fonts of most pages."""
    font = get_font(findfont(FontProperties(family=FONTS[0], weight="bold" if bold else "normal")))
    font.set_size(100.0, 72.0)
    return float(font.load_char(ord(letter)).linearHoriAdvance) / 65536 / 100


def width_of(text: str, size: float, bold: bool = False) -> float:
    """Points that `text` takes in a line of the given size."""
    return size * sum(_advance(letter, bold) for letter in text)


def wrapped(text: str, size: float, room: float, bold: bool = False) -> list[str]:
    """`text` in lines none of which is wider than `room` points, unless a single word is."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


@dataclass
class Drawing:
    """What is drawn, from back to front; places are points from the upper left corner, y goes down.

    Parameters
    ----------
    width, height : float
        In points, 1/72 inch.
    items : list of Stroke, Area, Marks or Words
        Colours are names of `COLOURS`.
    planes : list of commbounds.figures.axes.Plane
        The pairs of axes in it, in the order of the panels: where a pair of values is.
    """

    width: float
    height: float
    items: list[Item] = field(default_factory=list)
    planes: list[Any] = field(default_factory=list)

    def add(self, *items: Item) -> None:
        """Draw `items` over what is there."""
        self.items += items

    @property
    def words(self) -> list[str]:
        """All text in it."""
        return [item.text for item in self.items if isinstance(item, Words)]

    def svg(self) -> str:
        """The drawing as an SVG document; text is text, and no element needs another one's identifier."""
        size = f'width="{_short(self.width)}pt" height="{_short(self.height)}pt"'
        box = f'viewBox="0 0 {_short(self.width)} {_short(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="{", ".join(FONTS)}">'
        return "\n".join([head, *map(_element, self.items), "</svg>\n"])

    def figure(self) -> Figure:
        """The drawing as a matplotlib Figure of its size, not registered with pyplot."""
        with matplotlib.style.context(["default", SETTINGS]):
            figure = Figure(figsize=(self.width / 72, self.height / 72))
            for item in self.items:
                for artist in _artists(item, self.height):
                    artist.set_transform(_in_points(figure))
                    figure.add_artist(artist)
        return figure

    def rendered(self, form: str) -> bytes:
        """The contents of an "svg", "png" (192 pixels an inch) or "pdf" file, without a date.

        Raises
        ------
        ValueError
            Another format.
        """
        if form not in FORMS:
            raise ValueError(f"formats must be of {', '.join(FORMS)}, got {form}")
        if form == "svg":
            return self.svg().encode()
        buffer = io.BytesIO()
        figure = self.figure()
        with matplotlib.style.context(["default", SETTINGS]):
            figure.savefig(buffer, format=form, dpi=DPI if form == "png" else "figure", metadata=_METADATA[form])
        return buffer.getvalue()


# --- as SVG ------------------------------------------------------------------------------------------------------


def _short(value: float) -> str:
    """`value` to a hundredth, without zeros that say nothing."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _trail(points: Sequence[Point], closed: bool) -> str:
    x0, y0 = points[0]
    lines = "L".join(f"{_short(x)} {_short(y)}" for x, y in points[1:])
    return f"M{_short(x0)} {_short(y0)}" + (f"L{lines}" if lines else "") + ("z" if closed else "")


def _element(item: Item) -> str:
    colour = COLOURS[item.colour]
    match item:
        case Stroke():
            dash = f' stroke-dasharray="{" ".join(map(_short, item.dash))}"' if item.dash else ""
            trail = "".join(_trail(run, closed=False) for run in item.runs)
            return f'<path d="{trail}" fill="none" stroke="{colour}" stroke-width="{_short(item.width)}"{dash}/>'
        case Area():
            seen = f' fill-opacity="{_short(item.opacity)}"' if item.opacity < 1 else ""
            return f'<path d="{"".join(_trail(o, closed=True) for o in item.outlines)}" fill="{colour}"{seen}/>'
        case Marks():
            return _marks(item, colour)
        case Words():
            x, y = map(_short, item.place)
            turned = f' transform="translate({x} {y}) rotate(-90)"' if item.upright else f' x="{x}" y="{y}"'
            anchor = f' text-anchor="{item.anchor}"' if item.anchor != "start" else ""
            bold = ' font-weight="bold"' if item.bold else ""
            style = f'font-size="{_short(item.size)}" fill="{colour}"{anchor}{bold}'
            return f"<text{turned} {style}>{escape(item.text, quote=False)}</text>"


def _marks(marks: Marks, colour: str) -> str:
    size = marks.size
    if marks.shape in _STROKES:
        runs = [
            [(x + size * a, y + size * b) for a, b in run] for x, y in marks.places for run in _STROKES[marks.shape]
        ]
        trail = "".join(_trail(run, closed=False) for run in runs)
        return f'<path d="{trail}" fill="none" stroke="{colour}" stroke-width="{_short(marks.width)}"/>'
    if marks.shape == "o":
        r = _short(size / 2)
        d = _short(size)
        trail = "".join(
            f"M{_short(x - size / 2)} {_short(y)}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z" for x, y in marks.places
        )
    else:
        outline = _OUTLINES[marks.shape]
        trail = "".join(_trail([(x + size * a, y + size * b) for a, b in outline], True) for x, y in marks.places)
    rim = COLOURS[marks.edge] if marks.edge else colour
    fill = colour if marks.filled else "none"
    return f'<path d="{trail}" fill="{fill}" stroke="{rim}" stroke-width="{_short(marks.width)}"/>'


# --- as matplotlib paints it -------------------------------------------------------------------------------------


def _in_points(figure: Figure) -> Transform:
    return Affine2D().scale(1 / 72) + figure.dpi_scale_trans


def _artists(item: Item, height: float) -> list[Any]:
    colour = COLOURS[item.colour]
    match item:
        case Stroke():
            outline = _compound([[(x, height - y) for x, y in run] for run in item.runs], closed=False)
            style: Any = (0, tuple(v / item.width for v in item.dash)) if item.dash else "-"
            return [PathPatch(outline, fill=False, edgecolor=colour, lw=item.width, ls=style, capstyle="butt")]
        case Area():
            outline = _compound([[(x, height - y) for x, y in o] for o in item.outlines], closed=True)
            return [PathPatch(outline, facecolor=colour, alpha=item.opacity, lw=0)]
        case Marks():
            xs, ys = [x for x, _ in item.places], [height - y for _, y in item.places]
            rim = COLOURS[item.edge] if item.edge else colour
            look: dict[str, Any] = {"marker": item.shape, "ms": item.size, "mec": rim, "mew": item.width}
            return [Line2D(xs, ys, ls="none", color=colour, mfc=colour if item.filled else "none", **look)]
        case Words():
            x, y = item.place
            at = {"start": "left", "middle": "center", "end": "right"}[item.anchor]
            place: dict[str, Any] = {"ha": at, "va": "baseline"}
            if item.upright:
                place = {"rotation": 90, "rotation_mode": "anchor", **place}
            weight = "bold" if item.bold else "normal"
            return [Text(x, height - y, item.text, color=colour, fontsize=item.size, fontweight=weight, **place)]


def _compound(runs: Sequence[Sequence[Point]], closed: bool) -> Outline:
    outlines = [Outline([*run, run[0]] if closed else list(run), closed=closed) for run in runs]
    return Outline.make_compound_path(*outlines)
