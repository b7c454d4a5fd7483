"""The claims of a column with their hypotheses and corrections, drawn as a graph whose boxes are links."""

from collections.abc import Container, Sequence
from html import escape

from markupsafe import Markup

from commbounds.figures.entries import Chapter, Entry

_ROW, _GAP, _BOX = 22, 14, 17
"""Pixels from one claim to the next, more between subjects, and the height of a box."""
_LEFT, _BETWEEN, _CLAIMS, _ARCS = 190, 150, 330, 90
"""Pixels: width of the hypotheses' boxes, of the space for edges, of the claims' boxes, and of the corrections."""
_OUT = 26
"""Pixels: length of the arrow to a correction that has no box."""
_LETTER = 6.6
"""Pixels that a letter takes, about."""


def graph(chapter: Chapter, pages: Container[str]) -> Markup:
    """An ``<svg>`` element: hypotheses on the left, claims in their order, corrections as arrows on the right.

    What is asked of every compressor alike is left out, unless nothing else is there. A correction that has no box, but
    one of the `pages`, is named where its arrow ends. The border of a claim's box says how its source is known, its
    fill what was found; classes name both. Links are those of a page in a folder of the site.
    """
    entries = [e for e in chapter.entries if not e.claim.asked_of_all] or chapter.entries
    places = _claim_places(entries)
    hypotheses = _hypothesis_places(entries, places)
    height = max([*places.values(), *hypotheses.values()]) + _ROW
    away = {
        e.id: e.claim.corrected_by
        for e in entries
        if e.claim.corrected_by not in places and e.claim.corrected_by in pages
    }
    width = _LEFT + _BETWEEN + _CLAIMS + max([_ARCS, *(_OUT + 8 + _LETTER * len(name) for name in away.values())])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" width="{width:g}" height="{height}" '
        f'viewBox="0 0 {width:g} {height}" role="group" aria-label="{escape(chapter.name)}: claims and hypotheses">',
        f'<defs><marker id="to-{chapter.name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    parts += [_edge(hypotheses[h.name], places[e.id]) for e in entries for h in e.claim.assumes]
    parts += [
        _correction(places[e.id], places[e.claim.corrected_by], chapter.name)
        for e in entries
        if e.claim.corrected_by in places
    ]
    parts += [_correction_away(places[name], holding, chapter.name) for name, holding in away.items()]
    parts += [_hypothesis(name, y) for name, y in hypotheses.items()]
    parts += [_claim(e, places[e.id]) for e in entries]
    return Markup("\n".join([*parts, "</svg>"]))


def _claim_places(entries: Sequence[Entry]) -> dict[str, float]:
    """Upper edges of the claims' boxes."""
    places: dict[str, float] = {}
    y, subject = 4.0, ""
    for e in entries:
        y += _GAP * (bool(subject) and e.claim.subject != subject)
        subject = e.claim.subject
        places[e.id] = y
        y += _ROW
    return places


def _hypothesis_places(entries: Sequence[Entry], places: dict[str, float]) -> dict[str, float]:
    """Upper edges of the hypotheses' boxes: each near the mean of its claims, one below another."""
    users: dict[str, list[float]] = {}
    for e in entries:
        for h in e.claim.assumes:
            users.setdefault(h.name, []).append(places[e.id])
    wanted = {name: sum(ys) / len(ys) for name, ys in users.items()}
    order = sorted(wanted, key=lambda name: (wanted[name], name))
    bottom = max(max(places.values()), 4.0 + _ROW * (len(order) - 1))
    found: dict[str, float] = {}
    latest = bottom
    for name in reversed(order):
        found[name] = min(wanted[name], latest)
        latest = found[name] - _ROW
    earliest = 4.0
    for name in order:
        found[name] = max(found[name], earliest)
        earliest = found[name] + _ROW
    return {name: found[name] for name in order}


def _edge(hypothesis: float, claim: float) -> str:
    left, right = _LEFT, _LEFT + _BETWEEN
    a, b = hypothesis + _BOX / 2, claim + _BOX / 2
    middle = (left + right) / 2
    return f'<path class="assumes" d="M{left} {a:g}C{middle:g} {a:g} {middle:g} {b:g} {right} {b:g}"/>'


def _correction(failing: float, holding: float, name: str) -> str:
    x = _LEFT + _BETWEEN + _CLAIMS
    a, b = failing + _BOX / 2, holding + _BOX / 2
    reach = x + min(_ARCS - 8, 24 + abs(a - b) / 4)
    way = f"M{x} {a:g}C{reach:g} {a:g} {reach:g} {b:g} {x} {b:g}"
    return f'<path class="corrects" marker-end="url(#to-{name})" d="{way}"/>'


def _correction_away(failing: float, holding: str, name: str) -> str:
    x, y = _LEFT + _BETWEEN + _CLAIMS, failing + _BOX / 2
    return (
        f'<path class="corrects" marker-end="url(#to-{name})" d="M{x} {y:g}H{x + _OUT - 4}"/>'
        f'<a href="../c/{holding}.html"><title>{holding} corrects it</title>'
        f'<text x="{x + _OUT}" y="{y + 4:g}">{holding}</text></a>'
    )


def _box(x: float, y: float, width: float, text: str) -> str:
    shown = text if len(text) * _LETTER <= width - 8 else text[: int((width - 8) / _LETTER) - 1] + "…"
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_BOX}" rx="3"/>'
        f'<text x="{x + 6:g}" y="{y + 12.5:g}">{escape(shown)}</text>'
    )


def _hypothesis(name: str, y: float) -> str:
    text = name.replace("_", " ")
    return f'<a class="h" href="../h/{name}.html"><title>{escape(text)}</title>{_box(1, y, _LEFT - 1, text)}</a>'


def _claim(e: Entry, y: float) -> str:
    tag = str(e.claim.source.tag).replace(" ", "-")
    title = escape(f"{e.claim.title}: {e.status.text}; {e.claim.source.tag}")
    box = _box(_LEFT + _BETWEEN, y, _CLAIMS, e.id.partition(".")[2])
    return f'<a class="v-{e.finding.verdict} t-{tag}" href="../c/{e.id}.html"><title>{title}</title>{box}</a>'
