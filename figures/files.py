"""Figures as files: the same findings give the same bytes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from commbounds.figures.canvas import FORMS, Drawing
from commbounds.figures.curves import claim_of, draw
from commbounds.figures.exhibits import draw_exhibit
from commbounds.theory import Claim
from commbounds.verify.exhibit import Exhibit
from commbounds.verify.finding import Finding
from commbounds.verify.writing import written


def save(
    findings: Iterable[Finding],
    out: str | Path,
    formats: Sequence[str] = ("svg", "png"),
    book: Mapping[str, Claim] | None = None,
) -> list[Path]:
    """Files of one figure for every finding but those on what is asked of every compressor, named after its claim.

    Parameters
    ----------
    findings : iterable of Finding
        At least one.
    out : path
        The folder; made where it is missing.
    formats : sequence of str
        Of "svg", "png" (192 pixels per inch) and "pdf".
    book : mapping of str to Claim or None
        As in `draw`.

    Returns
    -------
    list of Path
        In the order of the findings, then of the formats. The same findings give the same bytes.

    Raises
    ------
    ValueError
        No finding, an unknown format, or a claim that is not in the book.
    """
    findings = list(findings)
    if not findings:
        raise ValueError("findings must not be empty: there is nothing to draw")
    shown = [finding for finding in findings if not claim_of(finding, book).asked_of_all]
    return _saved(((finding.claim, partial(draw, finding, book)) for finding in shown), out, formats)


def save_exhibits(exhibits: Iterable[Exhibit], out: str | Path, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Files of every exhibit, named after it; as `save` does for findings, but there may be none."""
    return _saved(((exhibit.name, partial(draw_exhibit, exhibit)) for exhibit in exhibits), out, formats)


def _saved(named: Iterable[tuple[str, Callable[[], Drawing]]], out: str | Path, formats: Sequence[str]) -> list[Path]:
    unknown = [f for f in formats if f not in FORMS]
    if unknown or not formats:
        raise ValueError(f"formats must be of {', '.join(FORMS)}, got {', '.join(unknown) or 'none'}")
    paths = []
    for name, drawn in named:
        drawing = drawn()
        for form in formats:
            path = Path(out) / f"{name}.{form}"
            written(path, drawing.rendered(form))
            paths.append(path)
    return paths
