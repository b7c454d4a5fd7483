"""``commbounds check``: somebody's implementation, judged by what it claims."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commbounds._terminal import console, escape, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from commbounds.verify.conformance import CheckFinding, Report
    from commbounds.verify.conformance.subject import Subject


_COLOURS = {"pass": "green", "fail": "red", "not judged": "yellow"}


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="MODULE:SUBJECT...")
@click.option("--budget", type=click.Choice(("quick", "standard", "thorough")), default="quick", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness.")
@click.option("--only", multiple=True, metavar="CLAIM", help="Judge this claim alone; may be given several times.")
@click.option("--json", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write reports as JSON lines.")
@click.option(
    "--expected-failures",
    "expected",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of lines 'SUBJECT: CLAIM  # reason' that are known to fail; one that passes is a failure.",
)
@click.option("--here", is_flag=True, help="Call the subject in this process: faster; a crash takes the run with it.")
@click.option("--mpi", is_flag=True, help="Ranks are the processes of mpirun, under which the command then runs.")
def check(
    targets: tuple[str, ...],
    budget: str,
    seed: int,
    only: tuple[str, ...],
    out: Path | None,
    expected: Path | None,
    here: bool,
    mpi: bool,
) -> None:
    """Judge subjects by what they claim: Codec, Stateful or AllReduce of commbounds.verify.conformance.

    MODULE:SUBJECT names one, or a list of them, in an importable module or a file (path/to/file.py:subject). It runs in
    a process of its own, which is killed when it hangs and started again when it dies. Programs of ranks run under
    mpirun: mpirun -n 3 commbounds check --mpi MODULE:SUBJECT; there the first call that hangs ends the job.

    Exits with 0 if nothing failed but what was expected to, 1 if something did, 2 for wrong usage.
    """
    from commbounds._check_mpi import gathered, leading
    from commbounds.verify import conformance as cf
    from commbounds.verify.conformance.executable import isolated
    from commbounds.verify.conformance.loading import loaded
    from commbounds.verify.conformance.mpi import cut_short, needs_mpi

    reports: list[Report] = []
    known: dict[tuple[str, str], str] = {}

    def finished() -> int:
        """The exit code, when there are no more reports to come."""
        if out is not None:
            from commbounds.verify.writing import replaced

            replaced(out, [report.to_json() for report in reports])
        return 1 if wrong(reports, known, print_unmatched=not only) else 0

    def hung(subject: Subject, found: list[CheckFinding], stdout: Any, *hang: Any) -> None:
        """Finish in the middle of a call: the job is about to end."""
        sys.stdout = stdout  # a program's own prints go elsewhere
        reports.append(cut_short(subject, found, hang, budget, seed, only or None))
        print_report(reports[-1], known)
        for other in subjects[len(reports) :]:
            click.echo(f"{other.name}: not judged, as the job ended", err=True)
        finished()

    with ExitStack() as stack:
        try:
            if mpi:
                job, subjects = gathered(targets)
                end = stack.enter_context(leading(job))
            else:
                subjects = [subject for target in targets for subject in loaded(target)]
            known.update(read_expected(expected) if expected else {})
            for subject in subjects:
                if needs_mpi(subject) and not mpi:
                    raise ValueError(f"{subject.name} runs under mpirun: mpirun -n 3 commbounds check --mpi ...")
                judged = subject if here or mpi else isolated(subject)
                found: list[CheckFinding] = []
                if mpi:
                    job.on_hang = partial(hung, subject, found, sys.stdout)
                with console(stderr=True).status(f"judging {subject.name}") as status:
                    report = cf.check(
                        judged, budget, seed, only=only or None, progress=partial(_noted, found, status.update)
                    )
                if stop := getattr(getattr(judged.outside, "process", None), "stop", None):
                    stop()  # its processes would last as long as the list of subjects
                reports.append(report)
                print_report(report, known)
        except (ValueError, TypeError) as error:
            raise click.UsageError(str(error)) from error
        code = finished()
        if mpi:
            sys.stdout.flush()
            end(code)
    sys.exit(code)


def _noted(found: list[CheckFinding], show: Callable[[str], None], finding: CheckFinding) -> None:
    """Keep a finding as it becomes known, and show that it is."""
    found.append(finding)
    show(f"judged {finding.claim}")


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
            raise ValueError(f"{path}, line {number}: must be 'SUBJECT: CLAIM  # reason', got {line!r}")
        if not reason.strip():
            raise ValueError(f"{path}, line {number}: an expected failure must give its reason")
        known[subject.strip(), claim.strip()] = reason.strip()
    return known


def wrong(reports: list[Report], known: dict[tuple[str, str], str], print_unmatched: bool = True) -> bool:
    """Whether a report holds a failure that was not expected, or a pass of what was expected to fail."""
    judged = {(report.subject, finding.claim): finding for report in reports for finding in report.findings}
    unexpected = [key for key, finding in judged.items() if finding.verdict == "fail" and key not in known]
    passing = [key for key in known if key in judged and judged[key].verdict == "pass"]
    for subject, claim in passing:
        click.echo(f"{subject}: {claim} was expected to fail, and passes: remove the line", err=True)
    unmatched = [key for key in known if key not in judged] if print_unmatched else []
    for subject, claim in unmatched:
        click.echo(f"{subject}: {claim} was expected to fail, but there is no such finding", err=True)
    return bool(unexpected or passing or unmatched)


def print_report(report: Report, known: dict[tuple[str, str], str]) -> None:
    """Print one line a finding, and what is needed to understand and repeat every failure."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=escape(report.subject), title_justify="left", title_style="bold")
    for heading in ("verdict", "claim", "what was found"):
        table.add_column(heading, no_wrap=heading == "verdict")
    for finding in report.findings:
        table.add_row(*_row(finding, known.get((report.subject, finding.claim), "")))
    terminal = console()
    terminal.print(table)
    for finding in report.failures:
        if finding.reproduce:
            terminal.print(f"\n[bold]to see {escape(finding.claim)} fail[/]")
            click.echo("\n".join(f"    {line}" for line in plain(finding.reproduce).splitlines()))
    counts = ", ".join(
        f"{sum(f.verdict == verdict for f in report.findings)} {verdict}" for verdict in ("pass", "fail", "not judged")
    )
    terminal.print(f"\n{escape(report.subject)}: {counts} (budget {report.budget}, seed {report.seed})\n")


def _row(finding: CheckFinding, reason: str) -> tuple[Any, ...]:
    from commbounds.verify.conformance.report import shortened

    lines = [finding.message or finding.evidence]
    if finding.verdict == "fail" and finding.counterexample is not None:
        lines.append(f"at {shortened(finding.counterexample)}, seed {finding.seed}")
    if finding.verdict == "pass" and finding.detects is not None:
        lines.append(f"violations above {finding.detects:.2g} would be seen")
    if finding.waived:
        lines.append(f"waived: {finding.waived}")
    if reason:
        lines.append(f"expected: {reason}")
    colour = _COLOURS[finding.verdict] if not (reason and finding.verdict == "fail") else "yellow"
    return f"[{colour}]{finding.verdict}[/]", escape(finding.claim), escape("\n".join(lines))
