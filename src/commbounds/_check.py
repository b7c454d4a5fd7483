"""``commbounds check``: somebody's implementation, judged by what it claims."""

from __future__ import annotations

import math
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commbounds._progress import Progress, compiling_here, progress
from commbounds._terminal import RegularFile, console, escape, plain

T = TypeVar("T", bound="Callable[..., Any] | click.Command")

if TYPE_CHECKING:
    from commbounds.verify.conformance import CheckFinding, Report
    from commbounds.verify.conformance.subject import Subject


_SHOWN = {
    "pass": "[green]pass[/]",
    "fail": "[red]fail[/]",
    "expected failure": "[yellow]expected[/]",
    "not judged": "[yellow]not judged[/]",
}
"""Verdicts, in rich's markup."""
_WIDEST_CLAIM = 60
"""Letters of a claim's name that fit on a line beside what was found."""


def _file(name: str, parameter: str, told: str, **options: Any) -> Callable[[T], T]:
    return click.option(name, parameter, type=RegularFile(**options), help=told)


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="MODULE[:SUBJECT]...")
@click.option("--budget", type=click.Choice(("quick", "standard", "thorough")), default="quick", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=math.inf,
    help="That a subject may take, about; what is left out is said. No limit by default.",
)
@click.option("--only", multiple=True, metavar="CLAIM", help="Judge this claim alone; may be given several times.")
@click.option("--json", "as_json", is_flag=True, help="Print reports as JSON lines; the table goes to standard error.")
@_file("--out", "out", "Write reports as JSON lines.")
@_file("--junit", "as_junit", "Write them as JUnit XML, for CI services.")
@_file("--html", "as_page", "Write them as a page.")
@_file("--badge", "as_badge", "Write a badge: a picture (FILE.svg), or an endpoint for shields.io (any other name).")
@_file("--baseline", "baseline", "Say what changed since these reports of --out.", exists=True)
@_file(
    "--expected-failures",
    "expected",
    "File of lines 'SUBJECT: CLAIM  # reason' that are known to fail; one that passes is a failure.",
    exists=True,
)
@click.option("--here", is_flag=True, help="Call the subject in this process: faster; a crash takes the run with it.")
@click.option("--mpi", is_flag=True, help="Ranks are the processes of mpirun, under which the command then runs.")
@click.option("--verbose", is_flag=True, help="Show the traceback of a subject that cannot be loaded.")
def check(
    targets: tuple[str, ...],
    budget: str,
    seed: int,
    seconds: float,
    only: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    as_junit: Path | None,
    as_page: Path | None,
    as_badge: Path | None,
    baseline: Path | None,
    expected: Path | None,
    here: bool,
    mpi: bool,
    verbose: bool,
) -> None:
    """Judge implementations by what they claim. Each is a Codec, Stateful or AllReduce of the conformance kit.

    MODULE:SUBJECT names one, or a list of them, in an importable module or a file (path/to/file.py:subject); a module
    or a file alone stands for all subjects that have names in it. A subject runs in a process of its own, which is
    killed when it hangs and started again when it dies. Programs of ranks run under mpirun: mpirun -n 3 commbounds
    check --mpi MODULE:SUBJECT; there the first call that hangs ends the job.

    Exits with 0 if nothing failed but what was expected to, 1 if something did, 2 for wrong usage and for subjects that
    cannot be loaded.
    """
    from commbounds._check_mpi import gathered, leading
    from commbounds.verify import conformance as cf
    from commbounds.verify.conformance.calls import START_LIMIT, Hopeless, Unanswered
    from commbounds.verify.conformance.check import chosen
    from commbounds.verify.conformance.duration import expected_seconds
    from commbounds.verify.conformance.executable import isolated
    from commbounds.verify.conformance.loading import Unloadable, loaded, require_survivable
    from commbounds.verify.conformance.mpi import cut_short, needs_mpi
    from commbounds.verify.conformance.offspring import adopt
    from commbounds.verify.conformance.report import reports_from
    from commbounds.verify.conformance.universal import UNIVERSAL

    if as_json and targets[0].endswith((".json", ".jsonl")):
        raise click.UsageError(f"--json prints; --out {targets[0]} writes reports to a file")
    outputs = _Outputs(out, as_junit, as_page, as_badge)
    printed = sys.stdout
    reports: list[Report] = []
    known: dict[tuple[str, str], str] = {}
    before: list[Report] | None = None

    def finished() -> int:
        """The exit code, when there are no more reports to come."""
        from commbounds.verify.conformance.baseline import changes

        since = None if before is None else changes(before, reports)
        outputs.write(reports, since)
        if as_json:
            for report in reports:
                print(report.to_json(), file=printed)
        if since is not None:
            click.echo("\n".join(["since the baseline:", *(f"    {plain(str(c))}" for c in since)]) if since else _SAME)
        return 1 if wrong(reports, known, print_unmatched=not only) else 0

    def hung(subject: Subject, found: list[CheckFinding], stdout: Any, *hang: Any) -> None:
        """Finish in the middle of a call: the job is about to end."""
        sys.stdout = stdout  # a program's own prints go elsewhere
        reports.append(expecting(cut_short(subject, found, hang, budget, seed, only or None), known))
        print_report(reports[-1])
        for other in subjects[len(reports) :]:
            click.echo(f"{other.name}: not judged, as the job ended", err=True)
        finished()

    with ExitStack() as stack:
        if as_json:
            stack.enter_context(redirect_stdout(sys.stderr))
        try:
            outputs.ready()
            before = None if baseline is None else reports_from(baseline)
            known.update(read_expected(expected) if expected else {})
            if mpi:
                job, subjects = gathered(targets)
                end = stack.enter_context(leading(job))
            else:
                require_survivable(targets, math.inf if here else START_LIMIT)
                adopt()
                subjects = [subject for target in targets for subject in loaded(target)]
            for subject in subjects:
                if needs_mpi(subject) and not mpi:
                    raise ValueError(f"{subject.name} runs under mpirun: mpirun -n 3 commbounds check --mpi ...")
                judged = subject if here or mpi else isolated(subject)
                if judged is not subject:
                    try:
                        judged.outside.process.started()
                    except (Unanswered, Hopeless) as error:
                        raise Unloadable(
                            f"{subject.origin} cannot be loaded in a process of its own: {error}"
                        ) from error
                found: list[CheckFinding] = []
                rows = _Rows(judged, known, outputs.seconds, found)
                duration = None
                if mpi:
                    job.on_hang = partial(hung, subject, found, sys.stdout)
                else:
                    duration = expected_seconds(judged, budget, only=only or None)
                    told = "no call is answered" if duration is None else f"about {_rounded(min(duration, seconds))}"
                    click.echo(f"{plain(subject.name)}: {told}, budget {budget}", err=True)
                with rows.shown(len(chosen([*UNIVERSAL, *subject.claims], only or None)), duration):
                    report = cf.check(judged, budget, seed, only=only or None, progress=rows.show, seconds=seconds)
                rows.again(report)
                if stop := getattr(getattr(judged.outside, "process", None), "stop", None):
                    stop()  # its processes would last as long as the list of subjects
                reports.append(expecting(report, known))
                print_end(reports[-1])
        except Unloadable as error:
            if verbose and error.__cause__ is not None:
                click.echo(plain("".join(traceback.format_exception(error.__cause__))), err=True)
            raise click.UsageError(plain(str(error))) from error
        except (ValueError, TypeError) as error:
            raise click.UsageError(plain(str(error))) from error
        code = finished()
        if mpi:
            sys.stdout.flush()
            end(code)
    sys.exit(code)


_SAME = "since the baseline: nothing changed"


def _rounded(seconds: float) -> str:
    """A duration to one digit, as an estimate deserves."""
    if seconds < 1.0:
        return "a second"
    if seconds < 90.0:
        return f"{float(f'{seconds:.1g}'):.0f} s"
    return f"{float(f'{seconds / 60:.1g}'):.0f} min"


# --- what is written ---------------------------------------------------------------------------------------------


@dataclass
class _Outputs:
    """Files that reports go to, each written in one step when all is known."""

    as_lines: Path | None
    as_junit: Path | None
    as_page: Path | None
    as_badge: Path | None
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    """How long claims took, by subject and claim."""

    def ready(self) -> None:
        """See that all can be written, before any work is done for them."""
        from commbounds.folders import ready

        for path in (self.as_lines, self.as_junit, self.as_page, self.as_badge):
            if path is not None:
                ready(path.parent)

    def write(self, reports: Sequence[Report], since: Any) -> None:
        from commbounds.verify.conformance import badge
        from commbounds.verify.conformance.junit import junit
        from commbounds.verify.writing import replaced, written

        if self.as_lines is not None:
            replaced(self.as_lines, [report.to_json() for report in reports])
        if self.as_junit is not None:
            written(self.as_junit, junit(reports, self.seconds).encode())
        if self.as_page is not None:
            from commbounds.figures.check_page import page

            written(self.as_page, page(reports, since).encode(errors="backslashreplace"))
        if self.as_badge is not None:
            made = badge.picture if self.as_badge.suffix == ".svg" else badge.endpoint
            written(self.as_badge, made(reports).encode())


# --- expected failures -------------------------------------------------------------------------------------------


def read_expected(path: Path) -> dict[tuple[str, str], str]:
    """(subject, claim) -> reason, from lines ``SUBJECT: CLAIM  # reason``; empty lines and lines of comment are none.

    Raises
    ------
    ValueError
        A line has another form, or gives no reason.
    """
    known = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry, _, reason = line.partition("  #")
        subject, colon, claim = entry.partition(": ")
        if not colon or not claim.strip():
            raise ValueError(f"{path}, line {number}: must be 'SUBJECT: CLAIM  # reason', got {line[:80]!r}")
        if not reason.strip():
            raise ValueError(f"{path}, line {number}: an expected failure must give its reason")
        known[subject.strip(), claim.strip()] = reason.strip()
    return known


def _expected(subject: str, finding: CheckFinding, known: dict[tuple[str, str], str]) -> CheckFinding:
    """The finding, where its failure is expected; one that the subject itself expects stays as it is."""
    reason = "" if finding.expected else known.get((subject, finding.claim), "")
    return finding.expecting(reason) if reason else finding


def expecting(report: Report, known: dict[tuple[str, str], str]) -> Report:
    """The report, with the failures that are expected."""
    return replace(report, findings=tuple(_expected(report.subject, f, known) for f in report.findings))


def wrong(reports: list[Report], known: dict[tuple[str, str], str], print_unmatched: bool = True) -> bool:
    """Whether a report holds a failure, or an expected one has no finding."""
    judged = {(report.subject, finding.claim) for report in reports for finding in report.findings}
    unmatched = [key for key in known if key not in judged] if print_unmatched else []
    for subject, claim in unmatched:
        click.echo(f"{subject}: {claim} was expected to fail, but there is no such finding", err=True)
    return bool(unmatched or not all(report.passed for report in reports))


# --- what is printed ---------------------------------------------------------------------------------------------


class _Rows:
    """Prints findings one by one, as they become known, and keeps them."""

    def __init__(
        self,
        subject: Subject,
        known: dict[tuple[str, str], str],
        seconds: dict[tuple[str, str], float],
        found: list[CheckFinding],
    ) -> None:
        from commbounds.verify.conformance.universal import UNIVERSAL

        self._name, self._known, self._seconds, self._found = subject.name, known, seconds, found
        claims = (*UNIVERSAL, *subject.claims)
        self._width = min(_WIDEST_CLAIM, max(len(plain(str(c))) for c in claims))
        self._shown: Progress | None = None
        self._weight: float | None = None
        self._since = 0.0

    @contextmanager
    def shown(self, claims: int, seconds: float | None) -> Iterator[None]:
        """Say how far it is, as long as it is open.

        Parameters
        ----------
        claims : int
            That there will be findings of.
        seconds : float or None
            That they take, about.
        """
        print_heading(self._name, self._width)
        with progress(f"claims of {plain(self._name)}") as self._shown:
            self._shown.watch(compiling_here())
            self._shown.expect(claims, seconds)
            self._weight = None if seconds is None else seconds / claims
            self._since = time.monotonic()
            yield

    def show(self, finding: CheckFinding) -> None:
        """Print it; on a terminal the line that says what goes on stays below."""
        now = time.monotonic()
        self._found.append(finding)
        self._seconds[self._name, finding.claim] = now - self._since
        self._since = now
        if self._shown is None:
            raise RuntimeError("findings are shown while it is open")
        with self._shown.paused():
            print_row(_expected(self._name, finding, self._known), self._width)
        self._shown.advance(finding.claim, weight=self._weight)

    def again(self, report: Report) -> None:
        """Print those of which more became known since: what the first one left behind shows when the process ends."""
        for earlier, finding in zip(self._found, report.findings, strict=True):
            if finding != earlier:
                print_row(_expected(self._name, finding, self._known), self._width)


def print_report(report: Report) -> None:
    """Print one line a finding, and what is needed to understand and repeat every failure."""
    width = min(_WIDEST_CLAIM, max((len(plain(f.claim)) for f in report.findings), default=0))
    print_heading(report.subject, width)
    for finding in report.findings:
        print_row(finding, width)
    print_end(report)


def print_heading(subject: str, width: int) -> None:
    """Print what the columns are, for claims of up to `width` letters."""
    terminal = console()
    terminal.print(f"[bold]{escape(subject)}[/]")
    terminal.print(_table(width, "[bold]verdict[/]", "[bold]claim[/]", "[bold]what was found[/]"))


def print_row(finding: CheckFinding, width: int) -> None:
    """Print one finding."""
    claim, found = escape(finding.claim), escape("\n".join(_lines(finding)))
    console().print(_table(width, _SHOWN[finding.verdict], claim, found))
    sys.stdout.flush()  # who reads a pipe sees it now


def print_end(report: Report) -> None:
    """Print how failures are seen again, and how many findings there are of each kind."""
    terminal = console()
    for finding in (*report.failures, *report.expected):
        if finding.reproduce:
            terminal.print(f"\n[bold]to see {escape(finding.claim)} fail[/]")
            click.echo("\n".join(f"    {line}" for line in plain(finding.reproduce).splitlines()))
    terminal.print(f"\n{escape(report.subject)}: {report.counts} (budget {report.budget}, seed {report.seed})\n")


def _table(width: int, *cells: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(width=len("not judged"))
    table.add_column(width=width)
    table.add_column()
    table.add_row(*cells)
    return table


def _lines(finding: CheckFinding) -> list[str]:
    from commbounds.verify.conformance.report import CheckVerdict, shortened

    lines = [finding.message or finding.evidence]
    if finding.verdict in (CheckVerdict.FAIL, CheckVerdict.EXPECTED) and finding.counterexample is not None:
        lines.append(f"at {shortened(finding.counterexample)}, seed {finding.seed}")
    lines += finding.next_steps
    if finding.verdict is CheckVerdict.PASS and finding.detects is not None:
        lines.append(f"violations above {finding.detects:.2g} would be seen")
    if finding.waived:
        lines.append(f"waived: {finding.waived}")
    if finding.expected:
        lines.append(f"expected: {finding.expected}")
    return lines
