"""Colours and settings of every figure.

Each colour stands for one thing and has a name; the page replaces it by the variable ``--NAME``, so that the same
drawing reads on light and dark. The hues are told apart in all common forms of colour blindness, and never alone:
a word, a sign or a marker's shape says the same.
"""

from __future__ import annotations

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
}
"""Name to colour on light paper; no two are equal, so that they can be told apart in a finished drawing."""

GRADIENTS = {
    "iid, early": ("^", "iid", False),
    "iid, late": ("^", "iid", True),
    "by label, early": ("s", "label", False),
    "by label, late": ("s", "label", True),
}
"""Kind of gradient to marker, colour name, and whether it is filled."""

SERIES = ("blue", "orange", "green", "purple", "ochre", "slate", "pink", "teal")
"""Colours of the methods in a figure about several, in their order."""

DPI = 192
"""Pixels per inch of bitmaps: twice the 96 of a plain screen."""

SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 10.5,
    "mathtext.fontset": "dejavusans",
    "figure.facecolor": COLOURS["paper"],
    "savefig.facecolor": COLOURS["paper"],
    "axes.facecolor": "none",
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["rule"],
    "grid.linewidth": 0.6,
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.labelcolor": COLOURS["ink"],
    "ytick.labelcolor": COLOURS["ink"],
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "commbounds",
    "pdf.fonttype": 42,
}
"""What differs from matplotlib's own defaults, which a user's settings never reach."""
