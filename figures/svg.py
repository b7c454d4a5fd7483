"""Drawings as parts of a page: colours become variables, identifiers become unique."""

from __future__ import annotations

import re

from commbounds.figures.style import COLOURS

_DROPPED = re.compile(
    r"^.*?(?=<svg)|<!--.*?-->|<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>|font-family: [^;]*; ",
    re.DOTALL,
)
_SIZE = re.compile(r'(<svg\b[^>]*?) (?:xmlns:xlink="[^"]*" )?width="([\d.]+)pt" height="[\d.]+pt"')
_ID = re.compile(r' id="([^"]+)"')
_USED = re.compile(r'(?:href="#|url\(#)([^")]+)')
_HEX = re.compile("|".join(COLOURS.values()), re.IGNORECASE)
_NAMES = {colour: name for name, colour in COLOURS.items()}


def inlined(svg: str, prefix: str, label: str) -> str:
    """`svg` as an element of an HTML page.

    Parameters
    ----------
    svg : str
        A whole file, as `files.rendered` gives it.
    prefix : str
        Unique in the page; put before every identifier. Identifiers that nothing refers to are dropped.
    label : str
        What the drawing shows, for readers who do not see it; escaped already.

    Returns
    -------
    str
        An ``<svg>`` element that shrinks with the page, takes its font, and whose colours are ``var(--NAME)`` for the
        names in `COLOURS`.
    """
    svg = _DROPPED.sub("", svg)
    used = set(_USED.findall(svg))
    svg = _ID.sub(lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", svg)
    svg = _USED.sub(lambda found: found[0][: -len(found[1])] + prefix + found[1], svg)
    svg = svg.replace("xlink:href", "href")
    svg = _HEX.sub(lambda found: f"var(--{_NAMES[found[0].lower()]})", svg)
    svg = _SIZE.sub(rf'\1 role="img" aria-label="{label}" style="width: \2pt"', svg, count=1)
    return re.sub(r"\n\s*", "\n", svg).strip()
