"""Bound against measurement, drawn; and the report page.

Reads findings and the book, and nothing else: drawing never measures.
"""

from commbounds.figures.curves import draw
from commbounds.figures.files import save
from commbounds.figures.page import report

__all__ = ["draw", "report", "save"]
