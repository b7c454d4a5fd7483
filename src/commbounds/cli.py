"""The command line. Every command imports what it needs when it runs, so that ``--help`` is quick."""

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from commbounds import __version__
from commbounds._certificates import certificates, certify
from commbounds._check import check
from commbounds._column import check_column, new_column
from commbounds._cost import cost
from commbounds._count import Count
from commbounds._demo import demo
from commbounds._dossier import dossier
from commbounds._ending import Commands
from commbounds._fingerprint import fingerprint
from commbounds._index import check_patterns, claim_names, current, known_claim, one_of
from commbounds._plan import plan
from commbounds._progress import compiling_here, progress
from commbounds._ranks import ranks
from commbounds._recheck import recheck
from commbounds._replay import replay
from commbounds._running import WORKER_OPTIONS, GivenFindings, ShownRun, alone_in, check_run, of_few, workers
from commbounds._scoreboard import scoreboard
from commbounds._terminal import (
    RegularFile,
    console,
    plain,
    print_claim,
    print_claims,
    print_findings,
    print_summary,
    print_unpinned,
)
from commbounds._tolerance import tolerance
from commbounds._vectors import vectors
from commbounds._watch import watch
from commbounds.columns import columns
from commbounds.folders import cache_folder, require_private
from commbounds.verify.contents import claim_entries

_BUDGETS = ("quick", "standard", "thorough")
_FORMATS = ("svg", "png", "pdf")


def _keep_caches_together() -> None:
    """Send the caches of Numba, Matplotlib and Hypothesis to the cache folder, unless the user has placed them."""
    for variable, name in (
        ("NUMBA_CACHE_DIR", "numba"),
        ("MPLCONFIGDIR", "matplotlib"),
        ("HYPOTHESIS_STORAGE_DIRECTORY", "hypothesis"),
    ):
        os.environ[variable] = os.environ.get(variable) or str(cache_folder() / name)
    for folder in (cache_folder(), Path(os.environ["NUMBA_CACHE_DIR"])):
        with suppress(OSError):  # where none can be made, no code is loaded from it
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _require_private(folder)


def _require_private(folder: Path) -> None:
    """Refuse to load compiled kernels, which are code, from where others may have put them."""
    try:
        require_private(folder)
    except ValueError as error:
        raise click.UsageError(
            f"{error}: compiled kernels in {folder} may be theirs, and are code; see to it that only you can write "
            "there (chmod go-w), or choose another folder with COMMBOUNDS_CACHE or NUMBA_CACHE_DIR"
        ) from error


def _one_thread_of_blas() -> None:
    """Let BLAS use one thread, unless the user says otherwise: with more, sums come out in other bits."""
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(variable, "1")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Check what papers claim about gradient compression and all-reduce.

    Tab completes names after  eval "$(_COMMBOUNDS_COMPLETE=bash_source commbounds)"  (or zsh_source, fish_source).
    Output has no colours where NO_COLOR is set.
    """
    if not hasattr(os, "geteuid"):
        raise click.UsageError("commands need a POSIX system: Linux, macOS, or WSL on Windows; the library needs none")
    if os.environ.get("NO_COLOR"):
        context.color = False
    try:
        _keep_caches_together()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if context.invoked_subcommand != "new-column":  # whose folder may not be there yet
        try:
            columns()
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        except OSError as error:
            raise click.UsageError(f"COMMBOUNDS_COLUMNS names no folder of columns: {error}") from error
    if context.invoked_subcommand not in (
        "bench",
        "check",
        "scoreboard",
    ):  # all that there is races; what is judged is not ours
        _one_thread_of_blas()


# --- claims ------------------------------------------------------------------------------------------------------


@main.command()
@click.argument("pattern", default="*", callback=current, shell_complete=claim_names)
@click.option("--show", metavar="NAME", callback=current, shell_complete=claim_names, help="Show one claim whole.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of a table.")
def claims(pattern: str, show: str | None, as_json: bool) -> None:
    """List the claims that match PATTERN (shell style). Exits with 1 if a column cannot be imported."""
    import fnmatch
    import json
    from dataclasses import asdict

    if show is not None:
        known_claim(show)
        print_claim(show, as_json)
        return
    check_patterns([pattern])
    matching = [claim for claim in claim_entries() if fnmatch.fnmatch(claim.name, pattern)]
    if as_json:
        click.echo("\n".join(json.dumps(asdict(claim)) for claim in matching))
    else:
        print_claims(matching)
    sys.exit(1 if any(claim.stands == "error" for claim in matching) else 0)


# --- verify ------------------------------------------------------------------------------------------------------


def _run_options(command: Any) -> Any:
    """The options of every command that verifies."""
    for option in (
        *WORKER_OPTIONS,
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness."),
        click.option("--budget", type=click.Choice(_BUDGETS), default="quick", show_default=True),
        click.option("--fresh", is_flag=True, help="Forget what was found before; without, only what changed is run."),
    ):
        command = option(command)
    return command


@main.command()
@click.argument("patterns", nargs=-1, callback=current, shell_complete=claim_names)
@_run_options
@click.option("--out", type=RegularFile(), help="JSON-lines file; an interrupted run goes on from it.")
@click.option("--json", "as_json", is_flag=True, help="Print findings as JSON lines instead of a table.")
@click.option("--unpinned", is_flag=True, help="Print what no case tested: parts of formulas, regimes of bounds.")
@click.option("--deaf", "unpinned", is_flag=True, hidden=True)  # its old name
def verify(
    patterns: tuple[str, ...],
    budget: str,
    seed: int,
    jobs: int | None,
    executor: str,
    out: Path | None,
    as_json: bool,
    unpinned: bool,
    fresh: bool,
) -> None:
    """Compare the claims that match PATTERNS with the code.

    Exits with 0 if every finding is as the book says, 1 if one is not, 2 for wrong usage.
    """
    if out is not None and not out.parent.exists():
        raise click.UsageError(f"there is no folder {out.parent}: make it first, or choose another file")
    check_run(patterns, executor, jobs, None if out is None else out.parent)
    table = not as_json and not unpinned
    with workers(executor, of_few(patterns, executor, jobs)) as pool:
        running = ShownRun(patterns, budget, seed, pool, fresh, executor)
        findings = running.findings(out, rows=table)
    if as_json:
        for finding in findings:
            click.echo(finding.to_json())
    elif unpinned:
        print_unpinned(findings)
    elif sys.stdout.isatty():
        print_summary(findings)  # its rows were shown as they came
    else:
        print_findings(findings, running.dates)
    sys.exit(0 if all(f.as_stated for f in findings) else 1)


# --- figures and report ------------------------------------------------------------------------------------------


def _formats(_context: Any, _parameter: Any, value: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    unknown = [part for part in chosen if part not in _FORMATS]
    if unknown or not chosen:
        raise click.BadParameter(f"formats are {', '.join(_FORMATS)}, got {value!r}")
    return chosen


def _require_a_book() -> None:
    """See that every column's book can be imported, all of which what is drawn refers to.

    Raises
    ------
    click.ClickException
        One's cannot.
    """
    torn = [f"{entry.name}: {entry.title}" for entry in claim_entries() if entry.stands == "error"]
    if torn:
        raise click.ClickException(f"nothing is drawn without the book: {'; '.join(torn)}")


_FINDINGS = click.option("--findings", type=RegularFile(exists=True), help="Draw these instead of verifying.")


@main.command()
@click.argument("patterns", nargs=-1, callback=current, shell_complete=claim_names)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("figures"), show_default=True)
@click.option(
    "--format",
    "formats",
    default="svg,png",
    show_default=True,
    callback=_formats,
    shell_complete=one_of(lambda: _FORMATS),
    help="Of svg, png, pdf.",
)
@_FINDINGS
@_run_options
def figures(
    patterns: tuple[str, ...],
    out: Path,
    formats: tuple[str, ...],
    findings: Path | None,
    budget: str,
    seed: int,
    jobs: int | None,
    executor: str,
    fresh: bool,
) -> None:
    """Draw bound against measurement. PATTERNS select the claims; figures about several of them are drawn, too."""
    check_run(patterns, executor, jobs, out)
    whole = True
    if findings is not None:
        given = GivenFindings(findings, patterns)
        chosen, shown, whole = given.findings, given.exhibits, given.whole()
    else:
        with workers(executor, jobs) as pool:
            chosen, shown = ShownRun(patterns, budget, seed, pool, fresh, executor).findings_and_exhibits(None, None)
    _require_a_book()
    with progress("figures") as drawn:
        from commbounds import figures as drawing

        drawn.expect(len(chosen) + len(shown))
        paths = []
        for finding in chosen:
            paths += drawing.save([finding], out, formats)
            drawn.advance(finding.claim)
        for exhibit in shown:
            paths += drawing.save_exhibits([exhibit], out, formats)
            drawn.advance(exhibit.name)
    click.echo(f"{len(paths)} files in {plain(str(out))}")
    sys.exit(0 if whole else 1)


@main.command()
@click.argument("patterns", nargs=-1, callback=current, shell_complete=claim_names)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("report"), show_default=True)
@click.option("--single", is_flag=True, help="One page that holds everything, in place of a site.")
@click.option("--address", default="", metavar="URL", help="Where the site will be found, for its citations.")
@click.option("--versioned", is_flag=True, help="Write to a folder of this version in it; its first page lists all.")
@_FINDINGS
@_run_options
def report(
    patterns: tuple[str, ...],
    out: Path,
    single: bool,
    address: str,
    versioned: bool,
    findings: Path | None,
    budget: str,
    seed: int,
    jobs: int | None,
    executor: str,
    fresh: bool,
) -> None:
    """Verify, draw and write a site about every claim. Exits with 1 if a finding is not as the book says."""
    if re.search(r"[^!-~]|[{}\\]", address):
        raise click.UsageError(f"--address must be a URL, got {plain(address[:100])}")
    all_versions = out
    if versioned:
        out = out / __version__
        address = address and f"{address.rstrip('/')}/{__version__}"
    check_run(patterns, executor, jobs, out)
    stream, whole = out / "findings.jsonl", True
    dates: Mapping[str, str] = {}
    told = "" if findings is None else findings.name
    with workers(executor, jobs) as pool, alone_in(out):
        if findings is not None:
            given = GivenFindings(findings, patterns)
            chosen, shown, whole = given.findings, given.exhibits, given.whole()
        else:
            running = ShownRun(patterns, budget, seed, pool, fresh, executor)
            chosen, shown = running.findings_and_exhibits(stream, out / "exhibits.jsonl")
            dates = running.dates
        _require_a_book()
        with progress("pages") as drawn:
            drawn.doing("drawing what was found")
            from commbounds import figures as drawing

            several = pool if len(chosen) > 1 else None
            if single:
                page = drawing.single(chosen, out, exhibits=shown, executor=several, dates=dates, given=told)
            else:
                page = drawing.report(
                    chosen, out, exhibits=shown, executor=several, address=address, dates=dates, given=told
                )
            if versioned:
                drawing.versions(all_versions)
    wrong = [f.claim for f in chosen if not f.as_stated]
    click.echo(
        f"{plain(str(page))}: {len(chosen)} claims, "
        + (f"not as the book says: {', '.join(wrong)}" if wrong else "all as the book says")
    )
    sys.exit(1 if wrong or not whole else 0)


# --- bench -------------------------------------------------------------------------------------------------------


@main.command()
@click.option("--quick", is_flag=True, help="Three rounds instead of nine.")
@click.option("--n", "-n", "entries", type=Count(1000), default=25_000_000, show_default=True, help="Vector length.")
@click.argument("parts", nargs=-1)
def bench(quick: bool, entries: int, parts: tuple[str, ...]) -> None:
    """Measure speed beside numpy, torch and MPI, as ratios. PARTS select what is timed (all without)."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("case", "ours", "peer's", "unit", "peer", "ratio", "floor", "goal", "reached"):
        table.add_column(
            heading, justify="right" if heading in ("ours", "peer's", "ratio", "floor", "goal") else "left"
        )
    colours = {"goal": "green", "floor": "green", "missed": "red", "": "white"}
    with progress("parts") as shown:
        from commbounds.verify import bench as timing

        unknown = [part for part in parts if part not in timing.PARTS]
        if unknown:
            raise click.UsageError(
                f"there is nothing called {unknown[0]!r} to time; there are {', '.join(timing.PARTS)}"
            )
        chosen = list(dict.fromkeys(parts)) or list(timing.PARTS)
        shown.watch(compiling_here())
        shown.expect(len(chosen))  # cases are not counted: that would make all their vectors
        for part in chosen:
            shown.doing(part)
            for row in timing.run(entries, 3 if quick else 9, [part]):
                targets = ["" if v is None else f"{v:.3g}" for v in (row.floor, row.goal)]
                standing = f"[{colours[row.standing]}]{row.standing}[/]"
                figures = (f"{row.ours:.3g}", f"{row.theirs:.3g}", row.unit, row.peer, f"{row.ratio:.3g}")
                table.add_row(row.case, *figures, *targets, standing)
                shown.doing(f"{row.case}: ratio {row.ratio:.3g}")
            shown.advance()
    console().print(table)
    differing = timing.differing_compressors()
    console().print(
        "a ratio is the peer's time over ours, median over rounds; the best peer is shown\n"
        f"same bits on 1 and 2 threads: {'all compressors' if not differing else 'not ' + ', '.join(differing)}"
    )


main.add_command(certificates)
main.add_command(certify)
main.add_command(check)
main.add_command(check_column)
main.add_command(cost)
main.add_command(demo)
main.add_command(dossier)
main.add_command(fingerprint)
main.add_command(new_column)
main.add_command(plan)
main.add_command(ranks)
main.add_command(recheck)
main.add_command(replay)
main.add_command(scoreboard)
main.add_command(tolerance)
main.add_command(vectors)
main.add_command(watch)
