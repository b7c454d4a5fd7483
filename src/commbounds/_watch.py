"""The command ``watch``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commbounds._terminal import RegularFile, escape, plain

if TYPE_CHECKING:
    from commbounds._watched import Watched


@click.group()
def watch() -> None:
    """Runs that a monitor watched: see `commbounds.watch`."""


@watch.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=RegularFile(), default=None, help="The page; default: FOLDER/watch.html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@click.option("--follow", is_flag=True, help="Show the run in the terminal as it goes on, until interrupted.")
@click.option("--every", type=click.FloatRange(0.1), default=2.0, show_default=True, help="Seconds, with --follow.")
@click.pass_context
def report(context: click.Context, folder: Path, out: Path | None, as_json: bool, follow: bool, every: float) -> None:
    """What the monitors of all ranks wrote to FOLDER: what was noticed, curves against bounds, the worst tensors.

    Exits with 1 if there is an alarm.
    """
    if sum((out is not None, as_json, follow)) > 1:
        raise click.UsageError("give one of --out, --json and --follow")
    if follow:
        _follow(folder, every)
        return
    found = _read(folder)
    from commbounds.figures import watch as drawn

    if as_json:
        click.echo(json.dumps(drawn.watched_facts(found), indent=1))
    else:
        from commbounds.folders import written

        out = out or folder / "watch.html"
        written(out, drawn.watched_page(found).encode())
        for rank, alarm in found.alarms:
            told = f"step {alarm.step}, rank {rank}, {alarm.tensor or 'all tensors'}: {alarm.check}: {alarm.message}"
            click.echo(plain(told))
        click.echo(f"{len(found.alarms)} alarms: {plain(str(out))}")
    context.exit(1 if found.alarms else 0)


def _read(folder: Path) -> Watched:
    from commbounds._watched import read

    try:
        return read(folder)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _follow(folder: Path, every: float) -> None:
    from rich.live import Live

    from commbounds._terminal import console

    with Live(console=console(), auto_refresh=False) as live:
        while True:
            live.update(_table(_read(folder)), refresh=True)
            time.sleep(every)


def _table(found: Watched) -> Any:
    """The latest look at every tensor, and all alarms."""
    from rich.console import Group
    from rich.table import Table

    from commbounds.theory import claims

    latest = {(look.tensor, rank): look for rank, look in found.looks()}
    table = Table(box=None, pad_edge=False)
    for heading in ("tensor", "rank", "step", "claim", "measured", "bound"):
        table.add_column(heading)
    for (tensor, rank), look in sorted(latest.items()):
        for name, bound in look.bounds.items():
            value = look.values[claims()[name].quantity.name]
            table.add_row(escape(tensor), str(rank), str(look.step), name, f"{value:.4g}", f"{bound:.4g}")
    alarms = [
        f"step {a.step}, rank {r}, {escape(a.tensor)}: [red]{a.check}[/]: {escape(a.message)}" for r, a in found.alarms
    ]
    return Group(table, *(alarms or ["no alarm"]))
