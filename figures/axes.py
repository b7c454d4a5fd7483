"""Scales, their ticks, and the pair of axes that lines are drawn between."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from commbounds.figures.canvas import Area, Item, Point, Stroke, Words, width_of

TICK = 9.0
"""Size of the labels of ticks."""
_GAP = 7.0
"""Least distance of two labels beside one another, in points."""
_FEW = 12
"""Up to so many different values are the ticks of their axis."""
_SHORT = 6
"""Letters of such a value at most, on a linear scale."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """Where values are, in points.

    Parameters
    ----------
    kind : str
        linear, log, or symlog: linear up to `threshold`, logarithmic above, a decade as long as the linear part.
    low, high : float
        Limits; what lies beyond is drawn at them.
    start, end : float
        Places of the limits.
    threshold : float
        Of symlog.
    """

    kind: str
    low: float
    high: float
    start: float
    end: float
    threshold: float = 1.0

    def _along(self, value: float) -> float:
        if self.kind == "linear":
            return value
        if self.kind == "log":
            return math.log10(value)
        if abs(value) <= self.threshold:
            return value / self.threshold
        return math.copysign(1 + math.log10(abs(value) / self.threshold), value)

    def place(self, value: float) -> float:
        """Where `value` is; infinite values are at the limits.

        Raises
        ------
        ValueError
            `value` is NaN.
        """
        if math.isnan(value):
            raise ValueError("NaN has no place on a scale")
        first, last = self._along(self.low), self._along(self.high)
        at = self._along(min(max(value, self.low), self.high))
        return self.start + (self.end - self.start) * (at - first) / (last - first)

    def within(self, value: float) -> bool:
        """Whether `value` lies between the limits, up to rounding."""
        reach = 1e-9 * (self.high - self.low)
        return self.low - reach <= value <= self.high + reach

    def ticks(self, most: int) -> list[float]:
        """Round values between the limits, about `most` of them, ascending."""
        if self.kind == "linear":
            return round_values(self.low, self.high, most)
        if self.kind == "symlog":
            return [0.0, *powers(self.threshold, self.high, most)]
        found = powers(self.low, self.high, most)
        if len(found) < 3:
            found = [v * s for v in powers(self.low / 10, self.high, 99) for s in (1.0, 2.0, 5.0) if self.within(v * s)]
        return found if len(found) > 1 else [v for v in round_values(self.low, self.high, most) if v > 0]


def round_values(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, `most` at most, or two more."""
    rough = (high - low) / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1.0, 2.0, 5.0, 10.0) if s * power >= rough * (1 - 1e-9))
    digits = max(0, 1 - math.floor(math.log10(step)))
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(number * step, digits) for number in numbers]


def powers(low: float, high: float, most: int) -> list[float]:
    """Powers of ten from `low` to `high`, equally far apart, `most` at most; the largest is one of them."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    return [10.0**power for power in range(last, first - 1, -step)][::-1]


def short(value: float) -> str:
    """`value` as the label of a tick: powers as powers, small binary fractions as fractions."""
    if value < 0:
        return f"−{short(-value)}"
    if value >= 10_000 and value == int(value):
        for base in (2, 10):
            power = round(math.log(value, base))
            if base**power == value:
                return f"{base}{str(power).translate(_RAISED)}"
    if 0 < value < 0.1 and (1 / value).is_integer() and (int(1 / value) & (int(1 / value) - 1)) == 0:
        return f"1/{int(1 / value)}"
    if value == int(value) and value < 1e5:
        return f"{int(value)}"
    if value >= 1e5 or value < 1e-4 or (value < 1e-3 and _power_of_ten(value)):
        return _scientific(value)
    if round(value, 3) == value:
        return f"{value:g}"
    rounded = f"{value:.2g}"
    text = rounded if math.isclose(float(rounded), value, rel_tol=0.01) else f"{value:.4g}"
    return f"{float(text):.0f}" if "e" in text else text


def _scientific(value: float) -> str:
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    if _power_of_ten(value):
        return power
    return f"{mantissa.rstrip('0').removesuffix('.')}·{power}"


def tick_words(scale: Scale, values: Sequence[float]) -> list[str]:
    """Labels of round values: with equally many decimals on a linear scale, and not as powers beside other numbers."""
    largest = max(map(abs, values), default=0.0)
    if scale.kind == "linear":
        digits = next((d for d in range(5) if all(math.isclose(round(v, d), v, abs_tol=1e-9) for v in values)), None)
        if digits is not None and 1e-4 <= largest < 1e5:
            return [f"{v:.{digits}f}".replace("-", "−") if v else "0" for v in values]
        return ["−" * (v < 0) + _scientific(abs(v)) if v else "0" for v in values]
    plain = any(not _power_of_ten(v) for v in values if v) and all(1e-4 <= v < 1e5 for v in values if v)
    return [f"{v:g}" if plain else short(v) for v in values]


def _power_of_ten(value: float) -> bool:
    return math.isclose(value, 10.0 ** round(math.log10(value)), rel_tol=1e-9)


def apart(values: Sequence[float], place: Callable[[float], float], reach: Callable[[float], float]) -> list[float]:
    """Those of the ascending `values` whose labels have room: both ends, and from the first whatever is far enough.

    Parameters
    ----------
    values : sequence of float
        Ticks.
    place, reach : function of a float
        Where the label of a value is, and half of what it takes, in points.
    """

    def clear(a: float, b: float) -> bool:
        return abs(place(a) - place(b)) >= reach(a) + reach(b) + _GAP

    if len(values) < 2:
        return list(values)
    first, last = values[0], values[-1]
    if not clear(first, last):
        return [first]
    kept = [first]
    for value in values[1:-1]:
        if clear(kept[-1], value) and clear(value, last):
            kept.append(value)
    return [*kept, last]


@dataclass(frozen=True)
class Plane:
    """A pair of axes: values to places, and the frame around them.

    Parameters
    ----------
    x, y : Scale
        Along and up.
    xticks, yticks : tuple of (float, str)
        Values, and what stands beside them.
    """

    x: Scale
    y: Scale
    xticks: tuple[tuple[float, str], ...]
    yticks: tuple[tuple[float, str], ...]

    def at(self, x: float, y: float) -> Point:
        """The place of a pair of values."""
        return self.x.place(x), self.y.place(y)

    def runs(self, xs: Sequence[float], ys: Sequence[float]) -> Iterator[tuple[Point, ...]]:
        """The places of a curve, without those where y is NaN: a run ends there."""
        run: list[Point] = []
        for x, y in zip(xs, ys, strict=True):
            if not math.isnan(y):
                run.append(self.at(x, y))
            elif run:
                yield tuple(run)
                run = []
        if run:
            yield tuple(run)

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> tuple[tuple[Point, ...], ...]:
        """The outlines of what lies between two curves, without where either is NaN."""
        both = [math.nan if math.isnan(a) or math.isnan(b) else a for a, b in zip(low, high, strict=True)]
        ends = [math.nan if math.isnan(a) else b for a, b in zip(both, high, strict=True)]
        pairs = zip(self.runs(xs, both), self.runs(xs, ends), strict=True)
        return tuple((*upper, *reversed(lower)) for lower, upper in pairs)

    def grid(self) -> list[Item]:
        """Lines through the ticks."""
        left, right, foot, top = self.x.start, self.x.end, self.y.start, self.y.end
        lines = [((self.x.place(v), foot), (self.x.place(v), top)) for v, _ in self.xticks]
        lines += [((left, self.y.place(v)), (right, self.y.place(v))) for v, _ in self.yticks]
        return [Stroke(tuple(lines), "rule", 0.6)]

    def frame(self, size: float = TICK) -> list[Item]:
        """The two axes with their ticks and labels; two strokes cross the upright one where it stops being a log."""
        left, right, foot, top = self.x.start, self.x.end, self.y.start, self.y.end
        lines: list[tuple[Point, ...]] = [((left, top), (left, foot), (right, foot))]
        lines += [((self.x.place(v), foot), (self.x.place(v), foot + 3)) for v, _ in self.xticks]
        lines += [((left - 3, self.y.place(v)), (left, self.y.place(v))) for v, _ in self.yticks]
        if self.y.kind == "symlog":
            middle = (self.y.place(0.0) + self.y.place(self.y.threshold)) / 2
            lines += [((left - 4, middle + d + 2), (left + 4, middle + d - 2)) for d in (-1.5, 1.5)]
        items: list[Item] = [Stroke(tuple(lines), "muted", 0.8)]
        items += [Words((self.x.place(v), foot + 4 + size), text, size, anchor="middle") for v, text in self.xticks]
        items += [Words((left - 6, self.y.place(v) + 0.35 * size), text, size, anchor="end") for v, text in self.yticks]
        return items


def value_ticks(scale: Scale, values: Sequence[float], size: float = TICK) -> tuple[tuple[float, str], ...]:
    """Ticks along x: at the values themselves where these are few and shortly said, at round ones else.

    As many as have room.
    """
    ticks = sorted(set(values))
    words = [short(v) for v in ticks]
    if len(ticks) > _FEW or (scale.kind == "linear" and max(map(len, words), default=0) > _SHORT):
        ticks = scale.ticks(7)
        words = tick_words(scale, ticks)
    labels = dict(zip(ticks, words, strict=True))
    return tuple((v, labels[v]) for v in apart(ticks, scale.place, lambda v: width_of(labels[v], size) / 2))


def upright_ticks(scale: Scale, most: int = 6, size: float = TICK) -> tuple[tuple[float, str], ...]:
    """Ticks up y, as many as have room."""
    ticks = apart(scale.ticks(most), scale.place, lambda _: 0.3 * size)
    return tuple(zip(ticks, tick_words(scale, ticks), strict=True))


def widest(ticks: Sequence[tuple[float, str]], size: float = TICK) -> float:
    """Points that the longest label takes."""
    return max((width_of(text, size) for _, text in ticks), default=0.0)


@dataclass(frozen=True)
class Key:
    """An entry of a legend: its words, and what is drawn before them around a point, `KEY_WIDTH` points wide."""

    text: str
    symbol: Callable[[float, float], list[Item]] | None = None


KEY_WIDTH = 22.0
KEY_LINE = 13.5
_KEY_SIZE = 9.0


def swatch(colour: str, opacity: float) -> Callable[[float, float], list[Item]]:
    """The symbol of an area."""
    half = KEY_WIDTH / 2

    def symbol(x: float, y: float) -> list[Item]:
        return [Area((((x - half, y - 4), (x + half, y - 4), (x + half, y + 4), (x - half, y + 4)),), colour, opacity)]

    return symbol


def legend(keys: Sequence[Key], left: float, top: float, room: float) -> tuple[list[Item], float]:
    """Entries one after another in lines `room` points wide, and the height that they take."""
    items: list[Item] = []
    x, line = 0.0, 0
    for key in keys:
        indent = KEY_WIDTH + 4 if key.symbol else 0.0
        long = indent + width_of(key.text, _KEY_SIZE)
        if x and x + long > room:
            x, line = 0.0, line + 1
        middle = top + KEY_LINE * (line + 0.5)
        items += key.symbol(left + x + KEY_WIDTH / 2, middle) if key.symbol else []
        items.append(Words((left + x + indent, middle + 0.35 * _KEY_SIZE), key.text, _KEY_SIZE))
        x += long + 14
    return items, KEY_LINE * (line + 1) if keys else 0.0
