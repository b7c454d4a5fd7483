"""Bound against measurement over the claim's natural parameter, one figure a claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from commbounds.figures.axes import (
    KEY_WIDTH,
    Key,
    Plane,
    Scale,
    legend,
    short,
    swatch,
    tick_words,
    upright_ticks,
    value_ticks,
    widest,
)
from commbounds.figures.canvas import Area, Drawing, Item, Marks, Point, Stroke, Words, width_of, wrapped
from commbounds.figures.status import number, status
from commbounds.figures.style import GRADIENTS
from commbounds.theory import Claim, claims
from commbounds.theory.definitions import definitions
from commbounds.verify.finding import Finding, Series, Verdict

WIDTH = 403.0
"""Points of one panel, its labels included: 5.6 inches."""
_TALL = 160.0
"""Points between the lowest and the highest value."""
_STRIP = 48.0
"""The same, where a single number is drawn."""
_EDGE = 10.0
_SMALL, _LINE = 8.5, 11.5
_SAME = 1e-3
"""Relative distance from its bound at which a value lies on it, for the eye."""
_CROWD = 20
"""From so many points on discs are small and without a rim."""
FORBIDDEN = 0.1
"""How much of its colour the forbidden side has."""


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


def draw(finding: Finding, book: Mapping[str, Claim] | None = None, *, heading: bool = True) -> Drawing:
    """One figure: bound, worst case found, random inputs and real gradients over the claim's natural parameter.

    Parameters
    ----------
    finding : Finding
        One panel for each of its series. Without any, its counterexample or its tightness beside the bound; where
        there is neither, and for series that are zero throughout as a law of zero has it, a sentence.
    book : mapping of str to Claim or None
        Where to look its claim up; `theory.claims()` when None.
    heading : bool
        Whether the claim's name and the verdict stand above.

    Returns
    -------
    Drawing
        The line says what the claim says of it (``≤ bound``, ``≥ bound``, ``= law``), and the side that an inequality
        forbids is shaded. Values that are not finite sit as arrowheads on the edge.

    Raises
    ------
    ValueError
        The claim is not in the book, or a series has lists of different lengths.
    """
    claim = claim_of(finding, book)
    for series in finding.series:
        try:
            series.check()
        except ValueError as error:
            raise ValueError(f"{finding.claim}, {error}") from error
    seen = status(finding, claim)
    zero = [series for series in finding.series if _vanishes(series)]
    panels = [_Curves(series, claim, seen.word) for series in finding.series if series not in zero]
    columns = 1 if len(panels) < 2 else 2
    drawing = Drawing(WIDTH * columns, 0.0)
    top = 6.0
    if heading:
        drawing.add(Words((_EDGE, top + 11), finding.claim, 10, bold=True))
        drawing.add(Words((_EDGE, top + 29), seen.text, 11.5, seen.word, bold=True))
        top += 38
    sentences = [f"{claim.quantity.name.replace('_', ' ')}: {claim.quantity.meaning}"]
    sentences += [_all_zero(series, claim) for series in zero]
    sentences += _elsewhere(finding, claim, panels)
    strip = None
    if not finding.series:
        strip = _strip(finding, claim, seen.word)
        sentences += [] if strip else [_in_words(finding)]
    top = _paragraphs(drawing, sentences, top)
    keys: dict[str, Key] = {}
    for first in range(0, len(panels), columns):
        row = panels[first : first + columns]
        titles = [wrapped(panel.series.label, _SMALL, WIDTH - 60) for panel in row]
        top += 5 + _LINE * max(map(len, titles))
        for place, (panel, title) in enumerate(zip(row, titles, strict=True)):
            for line, text in enumerate(reversed(title)):
                at = ((place + 1) * WIDTH - _EDGE, top - 5 - _LINE * line)
                drawing.add(Words(at, text, _SMALL, "muted", anchor="end"))
            keys |= {key.text: key for key in panel.draw(drawing, place * WIDTH, top)}
        top += _TALL + 36
    if strip:
        keys |= {key.text: key for key in strip(drawing, top + 4)}
        top += _STRIP + 40
    items, height = legend(list(keys.values()), _EDGE, top, drawing.width - 2 * _EDGE)
    drawing.add(*items)
    drawing.height = top + height + 5
    return drawing


def _paragraphs(drawing: Drawing, sentences: Sequence[str], top: float) -> float:
    """Write `sentences`, the first one small; where the next line would begin."""
    for place, sentence in enumerate(sentences):
        size, line, colour = (_SMALL, _LINE, "muted") if place == 0 else (9.5, 13.0, "ink")
        for text in wrapped(sentence, size, drawing.width - 2 * _EDGE):
            top += line
            drawing.add(Words((_EDGE, top), text, size, colour))
    return top + 4


# --- what the relation says --------------------------------------------------------------------------------------


def relation_words(claim: Claim) -> str:
    """What stands at the end of the line: ``≤ bound``, ``≥ bound`` or ``= law``."""
    for kind, words in ((sp.Le, "≤ bound"), (sp.Lt, "< bound"), (sp.Ge, "≥ bound"), (sp.Gt, "> bound")):
        if isinstance(claim.relation, kind):
            return words
    return "= law"


def forbids(claim: Claim) -> str:
    """The side of the line on which the claim fails: ``above``, ``below``, or empty for an equality."""
    return {"≤": "above", "<": "above", "≥": "below", ">": "below"}.get(relation_words(claim)[0], "")


def extreme(claim: Claim) -> str:
    """What the discs are: an equality has no worst side."""
    return "worst found" if forbids(claim) else "farthest found"


def axis_words(name: str, claim: Claim) -> str:
    """The label along x: the parameter, and what it is, where the book says so in a few words."""
    meaning = definitions(claim).get(name, "").split(". ")[0].rstrip(".").split(":")[0].split(";")[0]
    return f"{name}: {meaning[0].lower()}{meaning[1:]}" if 0 < len(meaning) <= 60 else name


# --- curves ------------------------------------------------------------------------------------------------------


def _every(series: Series) -> list[float]:
    curves = [series.bound, series.worst, series.random_low, series.random_mid, series.random_high]
    return [v for curve in (*curves, *series.gradients.values()) for v in curve if not math.isnan(v)]


def _vanishes(series: Series) -> bool:
    """Whether there is nothing to see: a law of zero, and zero up to rounding everywhere."""
    return not any(series.bound) and all(0 <= v < 1e-6 for v in _every(series))


def _all_zero(series: Series, claim: Claim) -> str:
    most = max(_every(series))
    found = "zero" if most == 0 else f"at most {number(most)}"
    x = series.x
    where = f"at {series.axis} = {short(x[0])}"
    if len(x) > 1:
        where = f"at all {len(x)} values of {series.axis} from {short(x[0])} to {short(x[-1])}"
    return f"No curve: measured was {found} {where}{f' ({series.label})' if series.label else ''}; the bound is zero."


def _elsewhere(finding: Finding, claim: Claim, panels: Sequence[_Curves]) -> list[str]:
    """Where the counterexample is, if the claim fails and no point of its curves shows it."""
    example = finding.counterexample
    if not panels or example is None or finding.verdict is not Verdict.REFUTED or any(p.fails for p in panels):
        return []
    sides = f"{number(example.measured)} was measured, the {relation_words(claim)[2:]} is {number(example.bound)}"
    return [f"The claim fails off these curves: {sides}, at {example.subject}."]


@dataclass(frozen=True)
class _Curves:
    """One panel."""

    series: Series
    claim: Claim
    word: str

    @property
    def fails(self) -> bool:
        """Whether a point lies, to be seen, where the claim has none."""
        side = forbids(self.claim)
        for bound, worst in zip(self.series.bound, self.series.worst, strict=True):
            over = worst - bound if side == "above" else bound - worst if side else abs(worst - bound)
            if over > _SAME * abs(bound) + 1e-9 * max(map(abs, self.series.bound)):
                return True
        return False

    def draw(self, drawing: Drawing, left: float, top: float) -> list[Key]:
        """Draw it with its upper left corner there; what its lines and marks mean."""
        series, claim = self.series, self.claim
        words = relation_words(claim)
        foot = top + _TALL
        y = _upright(series, foot, top, forbids(claim))
        yticks = upright_ticks(y)
        start = left + max(52.0, widest(yticks) + 28)
        end = left + WIDTH - width_of(words, 9.0) - 14
        x = _along(series.x, start, end)
        plane = Plane(x, y, value_ticks(x, series.x), yticks)
        drawing.planes.append(plane)
        drawing.add(*plane.grid())
        keys = self._forbidden(drawing, plane)
        keys = [*self._measured(drawing, plane), *keys]
        drawing.add(*plane.frame())
        drawing.add(Words(((start + end) / 2, foot + 29), axis_words(series.axis, claim), 9.5, anchor="middle"))
        quantity = "measured / bound" if series.relative else claim.quantity.name.replace("_", " ")
        drawing.add(Words((left + 14, (foot + top) / 2), quantity, 9.5, anchor="middle", upright=True))
        if y.kind == "symlog":
            keys.append(Key(f"upright axis: logarithmic down to {short(y.threshold)}, linear to 0"))
        return keys

    def _line(self, plane: Plane) -> list[Point]:
        """The bound from edge to edge of what is drawn; level where there is one value."""
        series = self.series
        if len(series.x) == 1:
            return [(end, plane.y.place(series.bound[0])) for end in (plane.x.start, plane.x.end)]
        return [plane.at(a, b) for a, b in zip(series.x, series.bound, strict=True)]

    def _forbidden(self, drawing: Drawing, plane: Plane) -> list[Key]:
        line, words = self._line(plane), relation_words(self.claim)
        side = forbids(self.claim)
        keys = []
        if side:
            edge = plane.y.end if side == "above" else plane.y.start
            # the shade goes on to both ends of the axis, as the claim does
            level = [(plane.x.start, line[0][1]), *line, (plane.x.end, line[-1][1])]
            outline = (*level, (plane.x.end, edge), (plane.x.start, edge))
            drawing.add(Area((outline,), "refuted", FORBIDDEN))
            keys.append(Key(f"{side} the bound the claim fails", swatch("refuted", 2 * FORBIDDEN)))
        drawing.add(Stroke((tuple(line),), "ink", 1.8))
        middle = min(max(line[-1][1], plane.y.end + 4), plane.y.start - 2)
        drawing.add(Words((plane.x.end + 5, middle + 3), words, 9.0))
        return keys

    def _measured(self, drawing: Drawing, plane: Plane) -> list[Key]:
        series, x, y = self.series, plane.x, plane.y
        keys = []
        found_word = extreme(self.claim)
        if series.random_mid:
            band: list[Item] = []
            if series.random_low and series.random_high:
                band = [Area(plane.band(series.x, series.random_low, series.random_high), "band", 0.3)]
                keys.append(Key("random 5–95 %", swatch("band", 0.3)))
            runs = tuple(plane.runs(series.x, series.random_mid))
            middle = tuple(place for run in runs for place in run)
            drawing.add(*band, Stroke(runs, "band", 1.4), Marks(middle, "_", 7, "band", width=1.0))
            keys.append(Key("random median", _sample("band", 1.4)))
        crowded = len(series.x) >= _CROWD
        size, rim = (4.5, self.word) if crowded else (7.5, "paper")
        finite = [(a, v) for a, v in zip(series.x, series.worst, strict=True) if math.isfinite(v)]
        beyond = [(a, v) for a, v in zip(series.x, series.worst, strict=True) if math.isinf(v)]
        found = []
        if finite:
            drawing.add(Marks(tuple(plane.at(a, v) for a, v in finite), "o", size, self.word, edge=rim))
            found.append(Key(found_word, _mark("o", size, self.word, edge=rim)))
        if beyond:
            drawing.add(Marks(tuple((x.place(a), y.end) for a, _ in beyond), "^", 9, self.word, edge="paper"))
            found.append(Key(f"{found_word}: unbounded", _mark("^", 9, self.word, edge="paper")))
        kinds = sorted(series.gradients, key=_order)
        for place, kind in enumerate(kinds):
            shape, name, filled = GRADIENTS.get(kind, ("D", "ink", True))
            aside = (place - (len(kinds) - 1) / 2) * 4
            values = zip(series.x, series.gradients[kind], strict=True)
            places = tuple((x.place(a) + aside, y.place(v)) for a, v in values if not math.isnan(v))
            drawing.add(Marks(places, shape, 4.8, name, filled, width=1.1))
            keys.append(Key(f"gradients {kind}", _mark(shape, 4.8, name, filled=filled, width=1.1)))
        return [*found, *keys]


def _order(kind: str) -> tuple[int, str]:
    names = list(GRADIENTS)
    return (names.index(kind) if kind in names else len(names), kind)


def scale_kinds(series: Series, side: str) -> tuple[str, str, float]:
    """The kinds of the scales along x and upright, and from where on the latter is logarithmic if it is symlog."""
    upright = _upright(series, 0.0, 1.0, side)
    return _along(series.x, 0.0, 1.0).kind, upright.kind, upright.threshold


def _along(values: Sequence[float], start: float, end: float) -> Scale:
    """The scale along x, with a little room at both ends."""
    low, high = min(values), max(values)
    if low > 0 and len(values) > 2 and high / low >= 6:
        reach = (high / low) ** 0.04
        return Scale("log", low / reach, high * reach, start, end)
    reach = 0.04 * (high - low) or 0.5
    return Scale("linear", low - reach, high + reach, start, end)


def _upright(series: Series, start: float, end: float, side: str) -> Scale:
    """The scale of what is measured, with room for what the claim forbids."""
    values = [v for v in _every(series) if math.isfinite(v)]
    low, high = min(values), max(values)
    # what is smaller is zero up to rounding
    floor = 1e-9 * (max(map(abs, series.bound)) or 1.0)
    judged = [v for curve in (series.bound, series.worst) for v in curve if math.isfinite(v) and v > floor]
    more = {"above": (0.06, 0.14), "below": (0.14, 0.06)}.get(side, (0.06, 0.06))
    if low >= 0 and judged and max(judged) / min(judged) > 40:
        lowest = max(min(v for v in values if v > floor), 1e-4 * min(judged))
        if low >= lowest:
            reach = high / low
            return Scale("log", low / reach ** more[0], high * reach ** more[1], start, end)
        return Scale("symlog", -0.3 * lowest, high * (high / lowest) ** more[1], start, end, lowest)
    if low >= 0 and low < 0.5 * high:
        return Scale("linear", -0.02 * high, (1 + more[1]) * high, start, end)
    # what differs by less than two per cent is drawn as equal
    span = high - low if high - low > 0.02 * abs(high) else abs(high) or 1.0
    return Scale("linear", low - more[0] * span, high + more[1] * span, start, end)


# --- one number --------------------------------------------------------------------------------------------------


def _strip(finding: Finding, claim: Claim, word: str) -> Callable[[Drawing, float], list[Key]] | None:
    """What draws one number beside the bound: the counterexample, or measured / bound; None where there is neither."""
    example, ratio = finding.counterexample, finding.tightness
    if example is not None and math.isfinite(example.measured) and math.isfinite(example.bound):
        bound, value = example.bound, example.measured
        what, axis = f"counterexample, {example.subject}", claim.quantity.name.replace("_", " ")
    elif ratio is not None and math.isfinite(ratio) and forbids(claim):
        bound, value = 1.0, ratio
        what, axis = extreme(claim), "bound / measured" if forbids(claim) == "below" else "measured / bound"
    else:
        return None
    side, words = (forbids(claim), relation_words(claim)) if example is not None else ("above", "bound")
    low, high = min(0.0, bound, value), max(bound, value)
    reach = (high - low) or 1.0

    def strip(drawing: Drawing, top: float) -> list[Key]:
        foot = top + _STRIP
        x = Scale("linear", low - 0.08 * reach, high + 0.2 * reach, _EDGE + 8, WIDTH - _EDGE)
        values = x.ticks(6)
        ticks = list(zip(values, tick_words(x, values), strict=True))
        middle, line = (top + foot) / 2 + 6, x.place(bound)
        if side:
            edge = x.end if side == "above" else x.start
            drawing.add(Area((((line, top), (edge, top), (edge, foot), (line, foot)),), "refuted", FORBIDDEN))
        marks = tuple(((x.place(v), foot), (x.place(v), foot + 3)) for v, _ in ticks)
        drawing.add(Stroke((((x.start, foot), (x.end, foot)), *marks), "muted", 0.8))
        drawing.add(*(Words((x.place(v), foot + 13), text, 9, anchor="middle") for v, text in ticks))
        drawing.add(Words(((x.start + x.end) / 2, foot + 28), axis, 9.5, anchor="middle"))
        drawing.add(Stroke((((line, top), (line, foot)),), "ink", 1.8))
        before = bound <= value and line - x.start > width_of(words, 9) + 5
        place = (line - 5 if before else line + 5, top + 9)
        drawing.add(Words(place, words, 9, anchor="end" if before else "start"))
        drawing.add(Marks(((x.place(value), middle),), "o", 9, word, edge="paper"))
        drawing.add(Words((x.place(value) + 8, middle + 3), number(value), 9.5))
        lines = wrapped(what, 9, WIDTH - 50)
        keys = [Key(lines[0], _mark("o", 9, word, edge="paper")), *map(Key, lines[1:])]
        return [*keys, *([Key("here the claim fails", swatch("refuted", 2 * FORBIDDEN))] if side else [])]

    return strip


def _in_words(finding: Finding) -> str:
    """What there is to say of a finding without a number to draw."""
    example = finding.counterexample
    if finding.verdict is Verdict.ERROR:
        return f"No curve: the implementation raised {finding.message or 'an error'}."
    if example is not None:
        return f"No curve: {number(example.measured)} was measured, the bound is {number(example.bound)}."
    if finding.tightness is not None and math.isinf(finding.tightness):
        return "No curve: measured / bound is unbounded."
    if finding.verdict is Verdict.REFUTED:
        return "No curve: a counterexample was found, whose sides are not numbers."
    cases = sum(evidence.cases for evidence in finding.evidence)
    grouped = f"{cases:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    judged = f"{grouped} cases were judged, and none" if cases else "nothing"
    return f"No curve over a parameter: {judged} speaks against the claim."


# --- keys --------------------------------------------------------------------------------------------------------


def _sample(colour: str, width: float) -> Callable[[float, float], list[Item]]:
    return lambda x, y: [Stroke((((x - KEY_WIDTH / 2, y), (x + KEY_WIDTH / 2, y)),), colour, width)]


def _mark(
    shape: str, size: float, colour: str, *, filled: bool = True, edge: str = "", width: float = 0.8
) -> Callable[[float, float], list[Item]]:
    return lambda x, y: [Marks(((x, y),), shape, size, colour, filled, edge, width)]
