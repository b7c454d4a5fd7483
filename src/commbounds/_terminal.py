"""What the commands share: running claims with a progress bar, and showing claims and findings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from commbounds.theory import Claim, Hypothesis
    from commbounds.verify import Finding
    from commbounds.verify.exhibit import Exhibit


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


def print_claims(claims: Sequence[Claim]) -> None:
    """Print one line a claim, and how many there are; without rich, which takes a second for the whole book."""
    import shutil
    from textwrap import wrap

    rows = [("claim", "kind", "stands", "source", "statement")]
    rows += [(c.name, str(c.kind), str(c.stands), str(c.source.tag), c.title) for c in claims]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:4]
    margin = sum(widths) + 2 * len(widths)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_A_PIPE
    for place, (*words, statement) in enumerate(rows):
        cells = [word.ljust(size) for word, size in zip(words, widths, strict=True)]
        if place:
            cells[2] = click.style(cells[2], fg="green" if words[2] == "holds" else "red")
        lines = ("\n" + " " * margin).join(wrap(statement, max(width - margin, 40)))
        line = "  ".join([*cells, lines])
        click.echo(line if place else click.style(line, bold=True))
    click.echo(f"{len(claims)} claims")


def print_claim(claim: Claim) -> None:
    """Print everything that the book says of a claim."""
    from sympy import Symbol, pretty

    from commbounds.theory.definitions import definitions
    from commbounds.theory.mutation import regimes

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
        ("proved", _proved(claim)),
        ("stands", str(claim.stands) + (f", by {claim.corrected_by}" if claim.corrected_by else "")),
        ("tight", "" if claim.tightness is None else f"{claim.tightness}, at: {claim.extremal}"),
        ("source", f"{claim.source.work}; {claim.source.place} [{claim.source.tag}]"),
        ("our reading", claim.source.reading),
        ("proof", claim.source.proof),
        ("note", claim.note),
    ]
    for label, text in lines:
        if text:
            click.echo(f"{click.style(label, bold=True)}: {text}")


def _hypothesis(hypothesis: Hypothesis) -> str:
    """The hypothesis, and how it is seen to be met."""
    if hypothesis.ensured:
        return f"{hypothesis.name}: {hypothesis.statement} (ensured: {hypothesis.ensured})"
    return f"{hypothesis.name}: {hypothesis.statement}"


def _proved(claim: Claim) -> str:
    """Scope, model and tie of the claim's certificate; empty without one."""
    from commbounds.verify import certify

    if claim.name not in certify.files():
        return ""
    model, certificate = certify.models()[claim.name], certify.load(claim.name)
    return f"for {certificate.scope}\n  model: {model.words}\n  tied to the implementation by {', '.join(model.tie)}"


def print_findings(findings: list[Finding]) -> None:
    """Print one line a finding, and how many of each verdict there are."""
    from collections import Counter

    from rich.table import Table

    from commbounds import theory

    table = Table(box=None, pad_edge=False)
    for heading in ("claim", "verdict", "the book", "tightness", "pinned", "evidence"):
        right = heading in ("tightness", "pinned")
        table.add_column(heading, no_wrap=heading in ("claim", "verdict"), justify="right" if right else "left")
    for finding in findings:
        stands = theory.claims()[finding.claim].stands
        tightness = "" if finding.tightness is None else f"{finding.tightness:.4g}"
        evidence = ", ".join(f"{e.method} {e.cases}" for e in finding.evidence)
        if finding.proved_for:
            evidence = f"proved for {finding.proved_for}; {evidence}"
        agrees = str(stands) if finding.as_stated else f"[bold red]{stands}: {escape(finding.message)}[/]"
        verdict = f"[{_COLOURS[finding.verdict]}]{finding.verdict}[/]"
        table.add_row(finding.claim, verdict, agrees, tightness, _pinned([finding]), escape(evidence))
    terminal = console()
    terminal.print(table)
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


def print_deaf(findings: Sequence[Finding]) -> None:
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


WORKER_OPTIONS = (
    click.option("--jobs", type=click.IntRange(1), default=None, help="Processes; default: one a processor."),
    click.option(
        "--executor",
        default="process",
        show_default=True,
        metavar="WHERE",
        help="process, dask:ADDRESS, dask:local, or mpi under mpirun.",
    ),
)
"""What a command passes on to `workers`."""


@contextmanager
def workers(where: str, jobs: int | None) -> Iterator[Executor | None]:
    """The executor of a command; under ``mpirun`` only the first rank comes back from here, and goes on."""
    from commbounds.verify.executors import TaskLost, executor

    with ExitStack() as stack:
        try:
            chosen = stack.enter_context(executor(where, jobs))
        except (ValueError, ImportError, ConnectionError) as error:
            raise click.UsageError(str(error)) from error
        try:
            yield chosen
        except (TaskLost, CancelledError) as error:
            raise _Stopped(str(error) or "the cluster has given up its tasks") from error


class _Stopped(click.ClickException):
    """Neither the findings nor the usage are wrong: the workers failed."""

    exit_code = 3


def verified(
    patterns: tuple[str, ...], budget: str, seed: int, executor: Executor | None, out: Path | None
) -> list[Finding]:
    """Findings of a run with a progress bar on standard error."""
    from commbounds.verify import engine

    patterns = patterns or ("*",)
    try:
        names = engine.select(patterns)
        with _interruptible(out), _progress(len(names)) as advance:
            several = executor if len(names) > 1 else None  # one is made here sooner than elsewhere
            return engine.run(patterns, budget, seed, several, out=out, progress=lambda f: advance(f.claim))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def exhibited(
    findings: Path | None,
    patterns: tuple[str, ...],
    budget: str,
    seed: int,
    executor: Executor | None,
    out: Path | None,
) -> list[Exhibit]:
    """The matching exhibits: those that lie beside a file of findings, or new ones with a progress bar."""
    from commbounds.verify import exhibition

    patterns = patterns or ("*",)
    try:
        if findings is not None:
            beside = findings.with_name("exhibits.jsonl")
            loaded = exhibition.load_exhibits(beside) if beside.exists() else []
            wanted = set(exhibition.select_exhibits(patterns))
            return [exhibit for exhibit in loaded if exhibit.name in wanted]
        names = exhibition.select_exhibits(patterns)
        with _interruptible(out), _progress(len(names)) as advance:
            several = executor if len(names) > 1 else None
            return exhibition.exhibit_all(patterns, budget, seed, several, out=out, progress=advance)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@contextmanager
def _interruptible(out: Path | None) -> Iterator[None]:
    """Ctrl-C ends the program with a word on how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        where = f"; the same command goes on from {out}" if out else ""
        click.echo(f"interrupted{where}", err=True)
        sys.exit(130)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar on standard error; what moves it takes the name of what is done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)


def given_or_verified(
    findings: Path | None,
    patterns: tuple[str, ...],
    budget: str,
    seed: int,
    executor: Executor | None,
    out: Path | None,
) -> list[Finding]:
    """The matching findings of a file, or of a new run."""
    import fnmatch

    from commbounds.verify import engine

    if findings is None:
        return verified(patterns, budget, seed, executor, out)
    try:
        loaded = engine.load(findings)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    chosen = [f for f in loaded if any(fnmatch.fnmatch(f.claim, p) for p in patterns or ("*",))]
    if not chosen:
        raise click.UsageError(f"{findings} holds no finding that matches")
    return chosen
