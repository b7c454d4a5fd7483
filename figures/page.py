"""The report as one self-contained HTML page about a list of findings."""

import html
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from markupsafe import Markup

from commbounds.figures.curves import draw
from commbounds.figures.entries import entries_of, environment, facts, text_of
from commbounds.figures.exhibits import draw_exhibit
from commbounds.figures.publishing import published
from commbounds.figures.svg import inlined
from commbounds.theory import Claim, claims
from commbounds.verify.exhibit import Exhibit
from commbounds.verify.finding import Finding


def _drawing(finding: Finding, label: str, book: Mapping[str, Claim] | None = None) -> str:
    """The figure, as part of the page."""
    return inlined(draw(finding, book, heading=False).svg(), label)


def single(
    findings: Iterable[Finding],
    out: str | Path,
    book: Mapping[str, Claim] | None = None,
    exhibits: Sequence[Exhibit] = (),
    executor: Executor | None = None,
    dates: Mapping[str, str] | None = None,
    given: str = "",
) -> Path:
    """``index.html`` about `findings`: a summary, and a section with its figure for every claim.

    Parameters
    ----------
    findings : iterable of Finding
        At least one; of several on one claim the last counts.
    out : path
        The folder; made where it is missing. The page replaces an older one in one step.
    book : mapping of str to Claim or None
        Where to look claims up, and their order; `theory.claims()` when None.
    exhibits : sequence of Exhibit
        Figures about more than one claim; each stands at the head of its column, if that has a finding.
    executor : concurrent.futures.Executor or None
        Draws the figures, where `book` is None; by default this process does.
    dates : mapping of str to str or None
        When findings were made that were kept from earlier runs; their sections say so.
    given : str
        The file that findings were read from, where no run has made them; the page says so. Empty where one has.

    Returns
    -------
    Path
        The page. It loads nothing from anywhere; the same findings give the same bytes.

    Raises
    ------
    ValueError
        No finding, or a claim that is not in the book.
    """
    workers, own = executor if book is None else None, book
    book = claims() if book is None else book
    entries = entries_of(findings, book, dates)
    shown = [entry for entry in entries if not entry.claim.asked_of_all]
    labels = [html.escape(f"{e.claim.name}: {e.status.text}", quote=True) for e in shown]
    draws = map if workers is None else workers.map
    drawn_exhibits = draws(_drawn_exhibit, exhibits)
    drawn = draws(partial(_drawing, book=own), [e.finding for e in shown], labels)
    package = "commbounds.figures"
    page = (
        environment(package)
        .get_template("report.html.j2")
        .render(
            style=Markup(text_of(package, "palette.css") + text_of(package, "report.css")),
            exhibits=_by_column(exhibits, drawn_exhibits),
            drawings={e.id: Markup(drawing) for e, drawing in zip(shown, drawn, strict=True)},
            **facts(entries, book, given),
        )
    )
    published(out, {"index.html": page.encode()})
    return Path(out) / "index.html"


def _drawn_exhibit(exhibit: Exhibit) -> str:
    """The exhibit's figure, as part of the page."""
    svg = draw_exhibit(exhibit, heading=False).svg()
    return inlined(svg, html.escape(exhibit.title, quote=True))


def _by_column(exhibits: Sequence[Exhibit], drawings: Iterable[str]) -> dict[str, list[tuple[Exhibit, Markup]]]:
    """The exhibits of every column, with their drawings."""
    shown: dict[str, list[tuple[Exhibit, Markup]]] = {}
    for exhibit, drawing in zip(exhibits, drawings, strict=True):
        shown.setdefault(exhibit.column, []).append((exhibit, Markup(drawing)))
    return shown
