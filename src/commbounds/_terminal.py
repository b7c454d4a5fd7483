"""What commands print: claims, findings, and words that a terminal does not take for orders."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commbounds.verify.contents import ClaimEntry, claim_entries, of_claim, unread

if TYPE_CHECKING:
    from commbounds.theory import Claim, Hypothesis
    from commbounds.verify import Finding


class RegularFile(click.Path):
    """A file that is read, or written in one step: no folder, and no pipe or device, which would be replaced."""

    def __init__(self, exists: bool = False) -> None:
        super().__init__(exists=exists, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if path.exists() and not path.is_file():
            self.fail(f"{path} must be a regular file: no pipe, no device", param, ctx)
        return path


_COLOURS = {
    "proved": "green",
    "enumerated": "green",
    "survived": "green",
    "consistent": "green",
    "refuted": "red",
    "error": "magenta",
}


_WIDTH_OF_A_PIPE = 200
"""A pipe gets whole lines, whatever the width of the terminal behind it."""
_ROOM_BESIDE = 40
"""Letters that a text needs beside the cells of its line: with fewer it goes below them."""
_INDENT = "    "
"""What a text below its cells begins with."""


def console(stderr: bool = False) -> Any:
    """Where tables and progress bars go."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDTH_OF_A_PIPE
    return Console(stderr=stderr, highlight=False, soft_wrap=False, width=width)


def plain(text: str) -> str:
    """`text` without what a terminal would obey: what is not printed is spelled out, but for ends of lines and tabs."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def escape(text: str) -> str:
    """`plain` text in which rich sees no markup."""
    from rich.markup import escape

    return escape(plain(text))


def width_of_output() -> int:
    """Letters on a line of standard output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_A_PIPE


def row(cells: Sequence[str], widths: Sequence[int], text: str, width: int, *colours: str | None) -> str:
    """A line of cells with `text` behind them, which goes on below where it is too long; without rich, which is slow.

    Parameters
    ----------
    cells : sequence of str
        All but the last cell.
    widths : sequence of int
        Of their columns.
    text : str
        The last cell; below the others, where there is no room beside them.
    width : int
        Letters on a line, as far as the cells leave room.
    colours : str or None
        Of cells, from the first; and then of the text.
    """
    from textwrap import wrap

    margin = sum(widths) + 2 * len(widths)
    beside = width - margin >= _ROOM_BESIDE
    start = " " * margin if beside else _INDENT
    lines = wrap(text, max(width - len(start), _ROOM_BESIDE), break_on_hyphens=False)
    padded = [cell.ljust(size) for cell, size in zip(cells, widths, strict=True)]
    shown = [
        click.style(cell, fg=colour) if colour else cell for cell, colour in zip_longest(padded, colours[: len(padded)])
    ]
    colour = colours[len(padded)] if len(colours) > len(padded) else None
    lines = [click.style(line, fg=colour) if colour else line for line in lines]
    head = "  ".join(shown)
    if beside:
        return "  ".join([head, f"\n{start}".join(lines)]) if lines else head.rstrip()
    return "\n".join([head.rstrip(), *(start + line for line in lines)])


def print_claims(claims: Sequence[ClaimEntry]) -> None:
    """Print a line a claim, or two where the terminal is narrow, and how many there are."""
    headings = ("claim", "kind", "stands", "source")
    cells = [(c.name, c.kind, c.stands, c.tag) for c in claims]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    width = width_of_output()
    click.echo(click.style(row(headings, widths, "statement", width), bold=True))
    for entry, words in zip(claims, cells, strict=True):
        colour = "green" if entry.stands == "holds" else "red"
        click.echo(row(words, widths, entry.title, width, None, None, colour))
    click.echo(f"{len(claims)} claims")


def print_claim(name: str, as_json: bool = False) -> None:
    """Print everything that the book says of a claim, in lines or as one JSON object.

    Raises
    ------
    click.ClickException
        Its column cannot be imported.
    """
    if unread(name):
        raise click.ClickException(plain(unread(name)))
    lines = of_claim(name, _lines_of, ("columns", "_terminal", "verify.certify"))
    if as_json:
        click.echo(json.dumps({label: text.strip("\n") for label, text in lines}, ensure_ascii=False))
        return
    for label, text in lines:
        click.echo(f"{click.style(label, bold=True)}: {text}")


def _lines_of(name: str) -> list[tuple[str, str]]:
    """What the book says of a claim, line by line, under labels."""
    from sympy import Symbol, pretty

    from commbounds.theory import claims
    from commbounds.theory.definitions import definitions
    from commbounds.theory.mutation import regimes

    claim = claims()[name]
    # a word with an underscore would be printed as one with a subscript
    measured = Symbol(claim.quantity.name.replace("_", " "))
    relation = claim.relation.xreplace({claim.quantity: measured})
    lines = [
        ("claim", claim.name),
        ("statement", claim.title),
        ("relation", "\n" + pretty(relation, use_unicode=True)),
        ("measured", f"{claim.quantity}: {claim.quantity.meaning}"),
        ("kind", str(claim.kind)),
        ("where", "".join(f"\n  {name}: {meaning}" for name, meaning in definitions(claim).items())),
        ("assumes", "".join(f"\n  {_hypothesis(h)}" for h in claim.assumes) or "nothing"),
        ("regimes", "".join(f"\n  {regime.name}" for regime in regimes(claim.relation.rhs))),
        ("not tested", "".join(f"\n  {pattern}: {reason}" for pattern, reason in (*claim.unpinned, *claim.unentered))),
        ("certificate", _proved(claim)),
        ("refuted", _refuted(claim)),
        ("stands", str(claim.stands) + (f", by {claim.corrected_by}" if claim.corrected_by else "")),
        ("tight", "" if claim.tightness is None else f"{claim.tightness}, at: {claim.extremal}"),
        ("source", f"{claim.source.work}; {claim.source.place} [{claim.source.tag}]"),
        ("link", claim.source.link),
        ("code", f"{claim.source.code.words}\n  {claim.source.code.link}" if claim.source.code else ""),
        ("our reading", claim.source.reading),
        ("proof", claim.source.proof),
        ("note", claim.note),
    ]
    return [(label, text) for label, text in lines if text]


def _hypothesis(hypothesis: Hypothesis) -> str:
    """The hypothesis, and how it is seen to be met."""
    if hypothesis.ensured:
        return f"{hypothesis.name}: {hypothesis.statement} (ensured: {hypothesis.ensured})"
    return f"{hypothesis.name}: {hypothesis.statement}"


def _certified(claim: Claim) -> bool:
    """Whether a certificate lies beside the claim; what reads it takes seconds to import."""
    from commbounds.columns import part

    folders = getattr(part("theory", claim.name.partition(".")[0]), "__path__", ())
    return any((Path(folder) / "certificates" / f"{claim.name}.json").exists() for folder in folders)


def _proved(claim: Claim) -> str:
    """Grade, scope, model and tie of the claim's certificate; empty without one."""
    if not _certified(claim):
        return ""
    from commbounds.verify import certify

    if claim.name not in certify.models():
        return ""
    model, certificate = certify.models()[claim.name], certify.load(claim.name)
    lines = [f"{certify.told(certify.record(certificate))}: {certify.proved_for(certificate)}", f"model: {model.words}"]
    if model.checked_by:
        lines.append(f"tied to the implementation by {', '.join(model.checked_by)}")
    if claim.name in certify.seen():
        lines.append(str(certify.seen()[claim.name]))
    return "\n  ".join(lines)


def _refuted(claim: Claim) -> str:
    """The smallest counterexample, its model and tie; empty where no certificate holds one."""
    if not _certified(claim):
        return ""
    from commbounds.verify import certify

    if claim.name not in certify.refutations():
        return ""
    refutation, certificate = certify.refutations()[claim.name], certify.load(claim.name)
    found = certificate.scope.removeprefix("refuted ")
    return f"{found}\n  model: {refutation.words}\n  tied to the implementation by {refutation.checked_by}"


class FindingRows:
    """Findings as lines of a table, whose widths are known before any of them is.

    Parameters
    ----------
    names : sequence of str
        The claims that there will be findings of.
    dates : mapping of str to str
        When findings were made that come from the store.
    """

    _HEADINGS = ("claim", "verdict", "the book", "tightness", "pinned")

    def __init__(self, names: Sequence[str], dates: Mapping[str, str]) -> None:
        self._dates = dates
        wanted = set(names)
        self._stands = {entry.name: entry.stands for entry in claim_entries() if entry.name in wanted}
        longest = [max((len(name) for name in names), default=0), max(map(len, _COLOURS))]
        longest += [max((len(stands) for stands in self._stands.values()), default=0), 0, 0]
        self._widths = [max(size, len(heading)) for size, heading in zip(longest, self._HEADINGS, strict=True)]
        self._width = width_of_output()

    def heading(self) -> str:
        """What the columns are."""
        return click.style(row(self._HEADINGS, self._widths, "evidence", self._width), bold=True)

    def short(self, finding: Finding) -> str:
        """Verdict and name of a finding; and why it is not as the book says, where it is not."""
        verdict = str(finding.verdict)
        wrong = "" if finding.as_stated else click.style(f"  {plain(finding.message)}", fg="red")
        return click.style(verdict.ljust(self._widths[1]), fg=_COLOURS[verdict]) + f"  {finding.claim}{wrong}"

    def line(self, finding: Finding) -> str:
        """A finding; why it is not as the book says, where it is not, before its evidence."""
        tightness = "" if finding.tightness is None else f"{finding.tightness:.4g}"
        told = [] if finding.as_stated else [plain(finding.message)]
        told += [finding.refuted_at] if finding.refuted_at else []
        told += [f"{finding.graded}: {finding.shown_for}"] if finding.grade else []
        told += [", ".join(f"{e.method} {e.cases}" for e in finding.evidence)]
        told += [f"from the store, {self._dates[finding.claim]}"] if finding.claim in self._dates else []
        verdict = str(finding.verdict)
        colours = (None, _COLOURS[verdict], None if finding.as_stated else "red", None, None)
        text = "; ".join(part for part in told if part)
        numbers = (tightness.rjust(self._widths[3]), _pinned([finding]).rjust(self._widths[4]))
        cells = (finding.claim, verdict, self._stands[finding.claim], *numbers)
        return row(cells, self._widths, text, self._width, *colours, None if finding.as_stated else "red")


def print_findings(findings: list[Finding], dates: Mapping[str, str] | None = None) -> None:
    """Print one line a finding, with its date where it comes from the store, and how many of each verdict there are."""
    rows = FindingRows([finding.claim for finding in findings], dates or {})
    click.echo(rows.heading())
    for finding in findings:
        click.echo(rows.line(finding))
    print_summary(findings)


def print_summary(findings: list[Finding]) -> None:
    """Print how many findings of each verdict there are, by column where there are several."""
    from collections import Counter

    terminal = console()
    if len({f.claim.partition(".")[0] for f in findings}) > 1:
        terminal.print()
        terminal.print(_by_column(findings))
    counts = Counter(str(f.verdict) for f in findings)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    wrong = sum(not f.as_stated for f in findings)
    if any(f.mutants for f in findings):
        terminal.print(f"formulas pinned down: {_pinned(findings)} of their stronger neighbours refuted by some case")
    terminal.print(
        f"{len(findings)} claims: {summary}; "
        + ("all as the book says" if not wrong else f"[bold red]{wrong} not as the book says[/]")
    )


def _pinned(findings: Sequence[Finding]) -> str:
    """Formula mutants that some case refutes, of those that are not explained: ``7/8``; empty without any."""
    refuted, asked = (sum(counts) for counts in zip(*(f.pinned for f in findings), strict=True))
    return f"{refuted}/{asked}" if asked else ""


def _by_column(findings: Sequence[Finding]) -> Any:
    """A table of how many claims of each column have which verdict."""
    from collections import Counter

    from rich.table import Table

    from commbounds.verify import Verdict

    verdicts = [v for v in Verdict if any(f.verdict is v for f in findings)]
    table = Table(box=None, pad_edge=False)
    table.add_column("column")
    for heading in ("claims", *map(str, verdicts), "pinned"):
        table.add_column(heading, justify="right")
    for column in dict.fromkeys(f.claim.partition(".")[0] for f in findings):
        of_column = [f for f in findings if f.claim.partition(".")[0] == column]
        counts = Counter(f.verdict for f in of_column)
        table.add_row(column, str(len(of_column)), *(str(counts[v]) for v in verdicts), _pinned(of_column))
    return table


def print_unpinned(findings: Sequence[Finding]) -> None:
    """Print what no case tested, one line each, with the reason where one is known: parts of formulas, and regimes."""
    from commbounds import theory
    from commbounds.theory.claim import reason

    told = []
    for finding in findings:
        unentered = theory.claims()[finding.claim].unentered
        told += [(finding.claim, f"formula: {name}", "") for name in finding.untested]
        told += [(finding.claim, f"formula: {name}", why) for name, why in finding.explained.items()]
        empty = [name for name, cases in finding.regimes.items() if not cases]
        told += [(finding.claim, f"regime: {name}", reason(name, unentered)) for name in empty]
    for claim, what, why in told:
        click.echo(f"{claim}  {what}  " + (f"[{why}]" if why else click.style("no reason", fg="red")))
    click.echo(f"{len(told)} things that no case tested")
