"""The report as a small static site: a page for every column, claim and hypothesis, and data beside them."""

from commbounds.figures.site.pages import report, versions

__all__ = ["report", "versions"]
