"""A badge that says how reports came out: an endpoint for shields.io, or a picture."""

import json
from collections.abc import Sequence
from html import escape

from commbounds.verify.conformance.report import CheckVerdict, Report

_LABEL = "commbounds"
_COLOURS = {"brightgreen": "#4c1", "yellow": "#dfb317", "red": "#e05d44"}
_LETTER, _MARGIN = 6.5, 10.0
"""Pixels a letter of 11 pixels is wide, about, and left beside a text."""


def summary(reports: Sequence[Report]) -> tuple[str, str]:
    """What a badge says, and its colour.

    Green where every claim that was judged passes, yellow where some fail as expected or none was judged, red for any
    other failure.
    """
    verdicts = [finding.verdict for report in reports for finding in report.findings]
    failed, expected, held = (verdicts.count(v) for v in (CheckVerdict.FAIL, CheckVerdict.EXPECTED, CheckVerdict.PASS))
    if failed:
        return f"{failed} of {failed + expected + held} claims fail", "red"
    if not held + expected:
        return "no claim judged", "yellow"
    known = f", {expected} known to fail" if expected else ""
    return f"{held} claim{'s' * (held != 1)} hold{'s' * (held == 1)}{known}", "yellow" if expected else "brightgreen"


def endpoint(reports: Sequence[Report]) -> str:
    """JSON as https://shields.io/badges/endpoint-badge takes it."""
    message, colour = summary(reports)
    badge = {"schemaVersion": 1, "label": _LABEL, "message": message, "color": colour}
    return json.dumps(badge, sort_keys=True) + "\n"


def picture(reports: Sequence[Report]) -> str:
    """The same as SVG, to be put beside a page."""
    message, colour = summary(reports)
    left, right = (_MARGIN + _LETTER * len(text) for text in (_LABEL, message))
    title = escape(f"{_LABEL}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:g}" height="20" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left:g}" height="20" fill="#555"/>'
        f'<rect x="{left:g}" width="{right:g}" height="20" fill="{_COLOURS[colour]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{_LABEL}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(message)}</text></g></svg>\n'
    )
