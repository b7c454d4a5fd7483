"""Figures as files: the same findings give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from commbounds.figures.curves import claim_of, draw, styled
from commbounds.figures.exhibits import draw_exhibit
from commbounds.figures.style import DPI
from commbounds.theory import Claim
from commbounds.verify.exhibit import Exhibit
from commbounds.verify.finding import Finding
from commbounds.verify.writing import written

_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_TAG = re.compile(r"<[^>]+>")
_DECIMALS = re.compile(r"(\.\d\d)\d+")


def rendered(figure: Figure, form: str) -> bytes:
    """`figure` as the contents of an "svg", "png" or "pdf" file, without a date.

    The coordinates of an SVG are cut to a hundredth of a point.
    """
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format=form, dpi=DPI if form == "png" else "figure", metadata=_METADATA[form])
    if form != "svg":
        return buffer.getvalue()
    text = buffer.getvalue().decode()
    return _TAG.sub(lambda tag: _DECIMALS.sub(r"\1", tag[0]), text).encode()


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


def _saved(named: Iterable[tuple[str, Callable[[], Figure]]], out: str | Path, formats: Sequence[str]) -> list[Path]:
    unknown = [f for f in formats if f not in _METADATA]
    if unknown or not formats:
        raise ValueError(f"formats must be of {', '.join(_METADATA)}, got {', '.join(unknown) or 'none'}")
    paths = []
    for name, drawn in named:
        figure = drawn()
        for form in formats:
            path = Path(out) / f"{name}.{form}"
            written(path, rendered(figure, form))
            paths.append(path)
    return paths
