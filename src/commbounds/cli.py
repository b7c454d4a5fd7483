"""The command line. Every command imports what it needs when it runs, so that ``--help`` is quick."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from commbounds import __version__
from commbounds._certificates import certificates, certify
from commbounds._check import check
from commbounds._cost import cost
from commbounds._ranks import ranks
from commbounds._replay import replay
from commbounds._terminal import (
    WORKER_OPTIONS,
    console,
    exhibited,
    given_or_verified,
    print_claim,
    print_claims,
    print_deaf,
    print_findings,
    verified,
    workers,
)
from commbounds._tolerance import tolerance
from commbounds._vectors import vectors

_BUDGETS = ("quick", "standard", "thorough")
_FORMATS = ("svg", "png", "pdf")


def _cache_folder() -> Path:
    """The one folder besides ``--out`` that commands write to."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("COMMBOUNDS_CACHE") or Path(base) / "commbounds")


def _keep_caches_together() -> None:
    """Send the caches of Numba, Matplotlib and Hypothesis to the cache folder, unless the user has placed them."""
    for variable, name in (
        ("NUMBA_CACHE_DIR", "numba"),
        ("MPLCONFIGDIR", "matplotlib"),
        ("HYPOTHESIS_STORAGE_DIRECTORY", "hypothesis"),
    ):
        os.environ.setdefault(variable, str(_cache_folder() / name))


def _one_thread_of_blas() -> None:
    """Let BLAS use one thread, unless the user says otherwise: with more, sums come out in other bits."""
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(variable, "1")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Check what papers claim about gradient compression and all-reduce."""
    _keep_caches_together()
    if context.invoked_subcommand not in ("bench", "check"):  # all that there is races; what is judged is not ours
        _one_thread_of_blas()


# --- claims ------------------------------------------------------------------------------------------------------


@main.command()
@click.argument("pattern", default="*")
@click.option("--show", metavar="NAME", help="Show one claim whole.")
def claims(pattern: str, show: str | None) -> None:
    """List the claims in the book that match PATTERN (shell style)."""
    import fnmatch

    from commbounds import theory

    book = theory.claims()
    if show is not None:
        if show not in book:
            raise click.UsageError(f"no claim is called {show!r}; `commbounds claims` lists them")
        print_claim(book[show])
        return
    names = fnmatch.filter(book, pattern)
    if not names:
        raise click.UsageError(f"no claim matches {pattern!r}")
    print_claims([book[name] for name in names])


# --- verify ------------------------------------------------------------------------------------------------------


def _run_options(command: Any) -> Any:
    """The options of every command that verifies."""
    for option in (
        *WORKER_OPTIONS,
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness."),
        click.option("--budget", type=click.Choice(_BUDGETS), default="quick", show_default=True),
    ):
        command = option(command)
    return command


@main.command()
@click.argument("patterns", nargs=-1)
@_run_options
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON-lines file; an interrupted run goes on from it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print findings as JSON lines instead of a table.")
@click.option("--deaf", is_flag=True, help="Print what no case tested: parts of formulas, regimes of bounds.")
def verify(
    patterns: tuple[str, ...],
    budget: str,
    seed: int,
    jobs: int | None,
    executor: str,
    out: Path | None,
    as_json: bool,
    deaf: bool,
) -> None:
    """Confront the claims that match PATTERNS with their implementations.

    Exits with 0 if every finding is as the book says, 1 if one is not, 2 for wrong usage.
    """
    with workers(executor, jobs) as pool:
        findings = verified(patterns, budget, seed, pool, out)
    if as_json:
        for finding in findings:
            click.echo(finding.to_json())
    elif deaf:
        print_deaf(findings)
    else:
        print_findings(findings)
    sys.exit(0 if all(f.as_stated for f in findings) else 1)


# --- figures and report ------------------------------------------------------------------------------------------


def _formats(_context: Any, _parameter: Any, value: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    unknown = [part for part in chosen if part not in _FORMATS]
    if unknown or not chosen:
        raise click.BadParameter(f"formats are {', '.join(_FORMATS)}, got {value!r}")
    return chosen


_FINDINGS = click.option(
    "--findings", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Draw these instead of verifying."
)


@main.command()
@click.argument("patterns", nargs=-1)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("figures"), show_default=True)
@click.option("--format", "formats", default="svg,png", show_default=True, callback=_formats, help="Of svg, png, pdf.")
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
) -> None:
    """Draw bound against measurement for the claims that match PATTERNS, and what is drawn about several of them."""
    from commbounds.verify.writing import ready

    with workers(executor, jobs) as pool:
        try:
            ready(out)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        chosen = given_or_verified(findings, patterns, budget, seed, pool, None)
        shown = exhibited(findings, patterns, budget, seed, pool, None)
    from commbounds import figures as drawing

    paths = [*drawing.save(chosen, out, formats), *drawing.save_exhibits(shown, out, formats)]
    click.echo(f"{len(paths)} files in {out}")


@main.command()
@click.argument("patterns", nargs=-1)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("report"), show_default=True)
@_FINDINGS
@_run_options
def report(
    patterns: tuple[str, ...],
    out: Path,
    findings: Path | None,
    budget: str,
    seed: int,
    jobs: int | None,
    executor: str,
) -> None:
    """Verify, draw and write one page with every claim; exits with 1 if a finding is not as the book says."""
    from commbounds.verify import engine

    stream = out / "findings.jsonl"
    with workers(executor, jobs) as pool:
        if findings is None:
            try:
                if engine.dropped(stream, budget, seed):
                    click.echo(f"{stream} is from another run: starting anew", err=True)
            except ValueError as error:
                raise click.UsageError(str(error)) from error
        chosen = given_or_verified(findings, patterns, budget, seed, pool, stream)
        shown = exhibited(findings, patterns, budget, seed, pool, out / "exhibits.jsonl")
        from commbounds import figures as drawing

        page = drawing.report(chosen, out, exhibits=shown, executor=pool if len(chosen) > 1 else None)
    wrong = [f.claim for f in chosen if not f.as_stated]
    click.echo(
        f"{page}: {len(chosen)} claims, "
        + (f"not as the book says: {', '.join(wrong)}" if wrong else "all as the book says")
    )
    sys.exit(1 if wrong else 0)


# --- bench -------------------------------------------------------------------------------------------------------


@main.command()
@click.option("--quick", is_flag=True, help="Three rounds instead of nine.")
@click.option("--n", "entries", type=click.IntRange(1000), default=25_000_000, show_default=True, help="Vector length.")
@click.argument("parts", nargs=-1)
def bench(quick: bool, entries: int, parts: tuple[str, ...]) -> None:
    """Time PARTS (all without) beside numpy, and torch and MPI where they are installed, and print the ratios."""
    from rich.table import Table

    from commbounds.verify import bench as timing

    for part in parts:
        if part not in timing.PARTS:
            raise click.UsageError(f"there is nothing called {part!r} to time; there are {', '.join(timing.PARTS)}")

    table = Table(box=None, pad_edge=False)
    for heading in ("case", "ours", "peer's", "unit", "peer", "ratio", "floor", "goal", "reached"):
        table.add_column(
            heading, justify="right" if heading in ("ours", "peer's", "ratio", "floor", "goal") else "left"
        )
    colours = {"goal": "green", "floor": "green", "missed": "red", "": "white"}
    with console(stderr=True).status("timing") as status:
        for row in timing.run(entries, 3 if quick else 9, parts or timing.PARTS):
            targets = ["" if v is None else f"{v:.3g}" for v in (row.floor, row.goal)]
            standing = f"[{colours[row.standing]}]{row.standing}[/]"
            figures = (f"{row.ours:.3g}", f"{row.theirs:.3g}", row.unit, row.peer, f"{row.ratio:.3g}")
            table.add_row(row.case, *figures, *targets, standing)
            status.update(f"timed {row.case}")
    console().print(table)
    differing = timing.differing_compressors()
    console().print(
        "a ratio is the peer's time over ours, median over rounds; the best peer is shown\n"
        f"same bits on 1 and 2 threads: {'all compressors' if not differing else 'not ' + ', '.join(differing)}"
    )


main.add_command(certificates)
main.add_command(certify)
main.add_command(check)
main.add_command(cost)
main.add_command(ranks)
main.add_command(replay)
main.add_command(tolerance)
main.add_command(vectors)
