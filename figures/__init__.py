"""Bound against measurement, drawn; and the report, a site or a page.

Reads findings, exhibits and the book, and nothing else: drawing never measures.
"""

from commbounds.figures.curves import draw
from commbounds.figures.exhibits import draw_exhibit
from commbounds.figures.files import save, save_exhibits
from commbounds.figures.page import single
from commbounds.figures.plotting import plot
from commbounds.figures.site import report, versions

__all__ = ["draw", "draw_exhibit", "plot", "report", "save", "save_exhibits", "single", "versions"]
