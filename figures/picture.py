"""Drawings as files of their own that pages load: they know light and dark, and no font but the reader's."""

import re
from functools import cache

from commbounds.figures.entries import text_of
from commbounds.figures.svg import inlined

_DEFINED = re.compile(r"--([\w-]+): (#[0-9a-f]{6})")
_ASKED = re.compile(r"var\(--([\w-]+)\)")
_START = re.compile(r'(<svg\b[^>]*?)\s*style="width: ([\d.]+)pt"([^>]*>)')
_BOX = re.compile(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"')
_PIXELS = 96 / 72
"""CSS pixels of a point."""


@cache
def palette() -> tuple[dict[str, str], dict[str, str]]:
    """The colours of every page by name, on light paper and on dark."""
    light, _, dark = text_of("commbounds.figures", "palette.css").partition("@media")
    return dict(_DEFINED.findall(light)), dict(_DEFINED.findall(dark))


def picture(svg: str, label: str) -> str:
    """`svg` as a file that an ``<img>`` shows in the colours of the page around it.

    Parameters
    ----------
    svg : str
        A whole file, as `Drawing.svg` gives it.
    label : str
        What it shows, for readers who do not see it; escaped already.
    """
    text = inlined(svg, label)
    used = sorted(set(_ASKED.findall(text)))
    light, dark = (";".join(f"--{name}:{colours[name]}" for name in used) for colours in palette())
    style = f"<style>:root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    style += 'text{font-family:system-ui,"Segoe UI",Helvetica,Arial,sans-serif}</style>'
    width, height = size(text)
    return _START.sub(rf'\1 width="{width}" height="{height}"\3{style}', text, count=1) + "\n"


def size(svg: str) -> tuple[int, int]:
    """Width and height of a drawing in CSS pixels.

    Raises
    ------
    ValueError
        It does not say.
    """
    box = _BOX.search(svg)
    if box is None:
        raise ValueError("a drawing must have a viewBox")
    return round(float(box[1]) * _PIXELS), round(float(box[2]) * _PIXELS)
