"""The report as a small static site: a page for every column, claim and hypothesis, and data beside them."""

from commbounds.figures.site.pages import report

__all__ = ["report"]
