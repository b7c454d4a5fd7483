"""The command ``ranks``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from commbounds._count import integer
from commbounds._progress import compiling_here, progress
from commbounds._terminal import console, escape

if TYPE_CHECKING:
    from commbounds.collectives.ranks import World
    from commbounds.verify.pairing import Agreement


def _numbers(_context: Any, _parameter: Any, value: str) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",") if part.strip()]
    numbers = [integer(part) for part in parts]
    whole = [number for number in numbers if number is not None and number >= 1]
    if not whole or len(whole) < len(numbers):
        raise click.BadParameter(f"numbers of ranks are 1 or more, with commas between them, got {value!r}")
    return tuple(dict.fromkeys(whole))


@click.command()
@click.argument("patterns", nargs=-1)
@click.option("--ranks", "sizes", default="1,2,3,4", show_default=True, callback=_numbers, help="Numbers of ranks.")
@click.option("--mpi", is_flag=True, help="Ranks are the processes of mpirun, under which the command then runs.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line for every case instead of a table.")
def ranks(patterns: tuple[str, ...], sizes: tuple[int, ...], mpi: bool, as_json: bool) -> None:
    """Run collectives rank by rank. PATTERNS select them; bits and traffic are compared with one process.

    In threads, or with processes: mpirun -n 4 commbounds ranks --mpi. Exits with 0 if all is the same, 1 if something
    is not, 2 for wrong usage.
    """
    if not mpi:
        from commbounds.collectives.ranks import ThreadWorld

        found = _compared(ThreadWorld(), _chosen(patterns), sizes, quiet=False)
        _print(found, as_json, "in threads")
        sys.exit(any(agreement.difference for agreement in found))

    from commbounds.collectives.ranks import MpiWorld

    try:
        world = MpiWorld()
    except ImportError as error:
        raise click.UsageError(str(error)) from error
    first = world.rank == 0
    try:
        names = _chosen(patterns)
        fitting = _fitting(sizes, world.size, first)
    except click.UsageError:
        if first:
            raise
        sys.exit(2)
    with world.guarded():
        found = _compared(world, names, fitting, quiet=not first)
        if first:
            _print(found, as_json, f"under mpirun, {world.size} processes")
            sys.stdout.flush()
    sys.exit(any(agreement.difference for agreement in found))


def _chosen(patterns: tuple[str, ...]) -> list[str]:
    """Names of the pairings that match, in their order."""
    import fnmatch

    from commbounds.verify.pairings import PAIRINGS

    for pattern in patterns:
        if not fnmatch.filter(PAIRINGS, pattern):
            raise click.UsageError(f"no collective matches {pattern!r}; there are {', '.join(PAIRINGS)}")
    return [name for name in PAIRINGS if any(fnmatch.fnmatch(name, pattern) for pattern in patterns or ("*",))]


def _fitting(sizes: tuple[int, ...], processes: int, says: bool) -> tuple[int, ...]:
    """Those of `sizes` for which there are enough processes."""
    fitting = tuple(size for size in sizes if size <= processes)
    if not fitting:
        raise click.UsageError(f"{min(sizes)} ranks need as many processes, there are {processes}: mpirun -n N ...")
    missing = [str(size) for size in sizes if size > processes]
    if missing and says:
        click.echo(f"left out, as there are {processes} processes: {', '.join(missing)} ranks", err=True)
    return fitting


def _compared(world: World, names: list[str], sizes: tuple[int, ...], quiet: bool) -> list[Agreement]:
    from commbounds.verify.pairing import compared
    from commbounds.verify.pairings import PAIRINGS

    found = []
    with progress("pairs of a collective and a number of ranks", quiet) as shown:
        shown.watch(compiling_here())
        shown.expect(len(names) * len(sizes))
        for name in names:
            for P in sizes:
                shown.doing(f"{name}, {P} ranks")
                found += compared(PAIRINGS[name], P, world)
                shown.advance()
    return found


def _print(found: list[Agreement], as_json: bool, where: str) -> None:
    """A JSON line for every case; or a row for every collective and number of ranks, and how many differ."""
    if as_json:
        for one in found:
            line = {"name": one.name, "P": one.P, "case": one.case, "bits": one.bits, "traffic": one.traffic}
            click.echo(json.dumps(line))
        return
    from rich.table import Table

    rows: dict[tuple[str, int], list[Agreement]] = {}
    for one in found:
        rows.setdefault((one.name, one.P), []).append(one)
    table = Table(box=None, pad_edge=False)
    for heading in ("collective", "P", "cases", "same bits", "same traffic", "first difference"):
        justify: Any = "right" if heading in ("P", "cases") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading == "collective")
    for (name, P), cases in rows.items():
        standings = [
            "[green]yes[/]" if not any(differences) else "[red]no[/]"
            for differences in ([one.bits for one in cases], [one.traffic for one in cases])
        ]
        wrong = next((one for one in cases if one.difference), None)
        first = "" if wrong is None else escape(f"{wrong.case}: {wrong.difference}")
        table.add_row(name, str(P), str(len(cases)), *standings, first)
    console().print(table)
    differing = sum(bool(one.difference) for one in found)
    verdict = "all the same bits and traffic" if not differing else f"[bold red]{differing} differ[/]"
    console().print(f"{len({one.name for one in found})} collectives, {len(found)} cases, {where}: {verdict}")
