"""The command ``cost``."""

from __future__ import annotations

import click

__all__ = ["cost"]


@click.command()
@click.argument("names", nargs=-1)
def cost(names: tuple[str, ...]) -> None:
    """Symbolic alpha-beta cost of the collectives NAMES (all without), and the cheapest."""
    raise click.UsageError(f"no schedule is called {', '.join(names)!r}")
