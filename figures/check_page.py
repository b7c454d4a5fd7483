"""Reports of ``commbounds check`` as one page of HTML that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from commbounds.verify.conformance.badge import summary
from commbounds.verify.conformance.baseline import Change
from commbounds.verify.conformance.report import Report, shortened


def page(reports: Sequence[Report], since: Sequence[Change] | None = None) -> str:
    """The page.

    Parameters
    ----------
    reports : sequence of Report
        In their order on the page.
    since : sequence of Change, or None
        What changed since a baseline; None where there is none to compare with.

    Returns
    -------
    str
        HTML; markup in names and messages is shown, not obeyed.
    """
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.get_template("check.html.j2")
    return template.render(reports=reports, since=since, summary=summary(reports)[0], shortened=shortened)
