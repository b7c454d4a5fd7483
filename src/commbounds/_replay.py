"""The command ``replay``."""

from __future__ import annotations

import sys

import click

from commbounds._terminal import WORKER_OPTIONS, console, workers


@click.command()
@click.argument("name", required=False)
@click.option("--budget", type=click.Choice(("quick", "standard", "thorough")), default="quick", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of our own randomness.")
@WORKER_OPTIONS[0]
@WORKER_OPTIONS[1]
def replay(name: str | None, budget: str, seed: int, jobs: int | None, executor: str) -> None:
    """Run a published experiment again and print its table beside the published numbers; without NAME, list them.

    Exits with 1 if something that the publication determines comes out differently.
    """
    from importlib import import_module

    from rich.markup import escape
    from rich.table import Table

    from commbounds.verify.replay import replayed
    from commbounds.verify.replays import REPLAYS

    if name is None:
        for known in REPLAYS:
            click.echo(known)
        return
    if name not in REPLAYS:
        raise click.UsageError(f"no replay is called {name!r}; there are {', '.join(REPLAYS)}")
    agrees = True
    published = import_module(REPLAYS[name]).replay
    with workers(executor, jobs) as pool, console(stderr=True).status(f"replaying {name}"):
        for shown in replayed(published, budget, seed, pool):
            console().print(f"[bold]{escape(shown.title)}[/]")
            table = Table(box=None, pad_edge=False)
            for heading in shown.headings:
                table.add_column(escape(heading), no_wrap=True)
            for row in shown.rows:
                table.add_row(*map(escape, row))
            console().print(table)
            if shown.note:
                console().print(escape(shown.note))
            console().print()
            agrees &= shown.agrees
    sys.exit(0 if agrees else 1)
