"""Colours and settings of every figure.

Each colour stands for one thing and has a name; the page replaces it by the variable ``--NAME``, so that the same
drawing reads on light and dark. The hues are told apart in all common forms of colour blindness, and never alone:
a word, a sign or a marker's shape says the same.
"""

from typing import Any

COLOURS = {
    "ink": "#1b1f24",
    "muted": "#57606a",
    "rule": "#d8dee4",
    "paper": "#ffffff",
    "band": "#8c959f",
    "iid": "#9b3f86",
    "label": "#8a6a00",
    "tight": "#00705a",
    "exact": "#00715b",
    "holds": "#00725c",
    "loose": "#0b60ad",
    "refuted": "#c23c00",
    "error": "#c33d01",
    "blue": "#0c62b2",
    "orange": "#c2440d",
    "green": "#00785f",
    "purple": "#8a3d9c",
    "ochre": "#946300",
    "slate": "#4b5661",
    "pink": "#b8286c",
    "teal": "#1f809f",
    "step1": "#b07d12",
    "step2": "#c25a3c",
    "step3": "#a53269",
    "step4": "#662a86",
    "step5": "#2a2160",
}
"""Name to colour on light paper; no two are equal, so that they can be told apart in a finished drawing."""

GRADIENTS = {
    "iid, early": ("^", "iid", False),
    "iid, late": ("^", "iid", True),
    "by label, early": ("s", "label", False),
    "by label, late": ("s", "label", True),
}
"""Kind of gradient to marker, colour name, and whether it is filled."""

STEPS = ("step1", "step2", "step3", "step4", "step5")
"""Colours of what has an order, from least to most; the lightness rises or falls with it on either paper."""

SERIES = ("blue", "orange", "green", "purple", "ochre", "slate", "pink", "teal")
"""Colours of the methods in a figure about several, in their order."""

FONTS = ("DejaVu Sans", "Arial", "Helvetica", "sans-serif")
"""Fonts of a file, the first one that there is; what takes room is measured in the first."""

DPI = 192
"""Pixels per inch of bitmaps: twice the 96 of a plain screen."""

SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": list(FONTS),
    "figure.facecolor": COLOURS["paper"],
    "savefig.facecolor": COLOURS["paper"],
    "pdf.fonttype": 42,
}
"""What differs from matplotlib's own defaults, which a user's settings never reach."""
