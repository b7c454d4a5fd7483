"""`Exhibit`: a figure's data about more than one claim, measured here and drawn elsewhere."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from commbounds.theory import claims
from commbounds.verify.reading import line_of, parsed, record

ROLES = ("measured", "bound", "lower", "exact", "printed", "corrected", "published", "reference")


@dataclass(frozen=True)
class Line:
    """One curve.

    Parameters
    ----------
    label : str
        For the legend.
    x, y : list of float
        Points, x ascending; NaN leaves a gap.
    role : str
        measured, bound (an upper bound), lower (a lower bound), exact (a law), printed (a formula as a paper has it),
        corrected (ours in its place), published (numbers that a paper reports) or reference.
    low, high : list of float
        Ends of a band around y; empty for none.
    """

    label: str
    x: list[float]
    y: list[float]
    role: str = "measured"
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {self.role!r}")
        lengths = {len(values) for values in (self.x, self.y, self.low, self.high) if values}
        if len(lengths) > 1:
            raise ValueError(f"the lists of {self.label!r} must have one length, got {sorted(lengths)}")


def line(label: str, x: Any, y: Any, role: str = "measured", low: Any = (), high: Any = ()) -> Line:
    """A `Line` of numbers of any kind: integers, Fractions, arrays.

    Parameters
    ----------
    label, role
        As for `Line`.
    x, low, high : sequence of numbers
        As for `Line`.
    y : sequence of numbers, number, or function of an x
        A number makes a level line.
    """
    values = [y(v) for v in x] if callable(y) else y if hasattr(y, "__len__") else [y] * len(x)
    return Line(label, _floats(x), _floats(values), role, _floats(low), _floats(high))


def _floats(values: Any) -> list[float]:
    return [float(v) for v in values]


def bound_of(name: str, **values: Any) -> float:
    """The bound of the claim `name` where its symbols have these values."""
    return float(claims()[name].bound(**values))


def law(label: str, x: Any, name: str, axis: str, role: str = "exact", **values: Any) -> Line:
    """The bound of the claim `name` over its symbol `axis`, where its other symbols have these values."""
    return line(label, x, lambda v: bound_of(name, **{axis: v}, **values), role)


@dataclass(frozen=True)
class Heat:
    """A map: one category or number for every cell of a grid.

    Parameters
    ----------
    x, y : list of float
        Centres of the cells, ascending.
    z : list of list of float
        z[j][i] at (x[i], y[j]); with `labels`, the index of a category.
    labels : list of str
        Names of the categories; empty where z is a number.
    title : str
        What z is.
    names : list of str
        What the rows are, where y only numbers them; empty where y says it.
    """

    x: list[float]
    y: list[float]
    z: list[list[float]]
    labels: list[str] = field(default_factory=list)
    title: str = ""
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.names and len(self.names) != len(self.y):
            raise ValueError("names must have one for every y")
        if len(self.z) != len(self.y) or any(len(row) != len(self.x) for row in self.z):
            raise ValueError("z must have one row for every y and one column for every x")


@dataclass(frozen=True)
class Panel:
    """One pair of axes: lines, or a map.

    Parameters
    ----------
    title, xlabel, ylabel : str
        In words, with units.
    lines : tuple of Line
        Curves.
    heat : Heat or None
        A map in place of curves.
    xscale, yscale : str
        linear or log.
    """

    title: str
    xlabel: str
    ylabel: str
    lines: tuple[Line, ...] = ()
    heat: Heat | None = None
    xscale: str = "linear"
    yscale: str = "linear"


@dataclass(frozen=True)
class Exhibit:
    """A figure's data.

    Parameters
    ----------
    name : str
        ``column.what``; unique.
    title : str
        What it shows, in one sentence: the finding, not the axes.
    caption : str
        How it was measured, and what to look at.
    panels : tuple of Panel
        At least one.
    seed : int
        Root of its randomness.
    budget : str
        quick, standard or thorough.
    versions : dict of str to str
        Versions of what computed it.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    seed: int = 0
    budget: str = "quick"
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def column(self) -> str:
        """The first part of the name."""
        return self.name.partition(".")[0]

    def to_json(self) -> str:
        """One line of JSON; NaN is null."""
        return self._line

    @cached_property
    def _line(self) -> str:
        return line_of(self, lambda number: None if math.isnan(number) else number)


Maker = Callable[[str, int], Exhibit]
"""(budget, seed) -> the exhibit."""


def exhibit_from_json(line: str) -> Exhibit:
    """The exhibit that `Exhibit.to_json` wrote.

    Raises
    ------
    ValueError
        `line` is not one; the message names the field.
    """
    return record(Exhibit, parsed(line), lambda value: math.nan if value is None else value)
