"""Drawings as parts of a page: colours become variables, the size and the font the page's."""

import re

from commbounds.figures.style import COLOURS

_SIZE = re.compile(r'width="([\d.]+)pt" height="[\d.]+pt"')
_FONT = re.compile(r' font-family="[^"]*"')
_HEX = re.compile("|".join(COLOURS.values()), re.IGNORECASE)
_NAMES = {colour: name for name, colour in COLOURS.items()}


def inlined(svg: str, label: str) -> str:
    """`svg` as an element of an HTML page.

    Parameters
    ----------
    svg : str
        A whole file, as `Drawing.svg` gives it.
    label : str
        What the drawing shows, for readers who do not see it; escaped already.

    Returns
    -------
    str
        An ``<svg>`` element without identifiers that shrinks with the page, takes its font, and whose colours are
        ``var(--NAME)`` for the names in `COLOURS`.
    """
    svg = _SIZE.sub(lambda found: f'role="img" aria-label="{label}" style="width: {found[1]}pt"', svg, count=1)
    svg = _FONT.sub("", svg, count=1)
    return _HEX.sub(lambda found: f"var(--{_NAMES[found[0].lower()]})", svg).strip()
