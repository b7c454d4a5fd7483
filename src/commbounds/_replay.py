"""The command ``replay``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from commbounds._index import of_names
from commbounds._progress import progress
from commbounds._running import WORKER_OPTIONS, compiling, workers
from commbounds._terminal import console, row, width_of_output
from commbounds.verify.replays import replay_words

if TYPE_CHECKING:
    from commbounds.verify.replay import Table


@click.command()
@click.argument("name", required=False)
@click.option("--budget", type=click.Choice(("quick", "standard", "thorough")), default="quick", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of our own randomness.")
@WORKER_OPTIONS[0]
@WORKER_OPTIONS[1]
def replay(name: str | None, budget: str, seed: int, jobs: int | None, executor: str) -> None:
    """Run a published experiment again. Its table is beside the published numbers; without NAME, list experiments.

    Exits with 1 if something that the publication determines comes out differently.
    """
    known = replay_words()
    if name is None:
        widest = max(map(len, known), default=0)
        for each, about in known.items():
            click.echo(row([each], [widest], about, width_of_output()))
        return
    of_names(name, known, "replay")
    agrees = True
    with workers(executor, jobs) as pool, progress("tables") as shown:
        from importlib import import_module

        from commbounds.verify.replay import replayed
        from commbounds.verify.replays import REPLAYS

        published = import_module(REPLAYS[name]).replay
        shown.watch(compiling(pool))
        shown.expect(len(published(budget, seed)))
        for table in replayed(published, budget, seed, pool):
            shown.advance(table.title)
            shown.show(_printed(table))
            agrees &= table.agrees
    sys.exit(0 if agrees else 1)


def _printed(table: Table) -> str:
    """A table as text, with its title and how to read it, and an empty line."""
    from rich.markup import escape
    from rich.table import Table as Drawn

    terminal = console()
    drawn = Drawn(box=None, pad_edge=False)
    for heading in table.headings:
        drawn.add_column(escape(heading), no_wrap=True)
    for cells in table.rows:
        drawn.add_row(*map(escape, cells))
    with terminal.capture() as captured:
        terminal.print(f"[bold]{escape(table.title)}[/]")
        terminal.print(drawn)
        if table.note:
            terminal.print(escape(table.note))
    return str(captured.get())
