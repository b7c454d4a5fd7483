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
    """Report on training runs that were watched. See `commbounds.watch`."""


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
        context.exit(int(_follow(folder, every)))
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
        click.echo(f"{_summary(found)}: {plain(str(out))}")
    context.exit(1 if found.alarms else 0)


@watch.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--openmetrics", type=RegularFile(), help="A file for Prometheus: the latest looks, and alarms.")
@click.option("--tensorboard", type=click.Path(file_okay=False, path_type=Path), help="A folder: all looks by step.")
def export(folder: Path, openmetrics: Path | None, tensorboard: Path | None) -> None:
    """What the monitors of all ranks wrote to FOLDER, for other programs: see the extra ``watch``."""
    if not (openmetrics or tensorboard):
        raise click.UsageError("give --openmetrics, --tensorboard or both")
    found = _read(folder)
    try:
        if openmetrics:
            from commbounds.folders import written

            written(openmetrics, _open_metrics(found))
            click.echo(f"the latest looks: {plain(str(openmetrics))}")
        if tensorboard:
            click.echo(f"{_events(found, tensorboard)} values: {plain(str(tensorboard))}")
    except ImportError as error:
        raise click.UsageError(f"this needs the extra watch, pip install 'commbounds[watch]': {error}") from error


def _open_metrics(found: Watched) -> bytes:
    """OpenMetrics text by the library of Prometheus."""
    from prometheus_client import CollectorRegistry, Gauge
    from prometheus_client.openmetrics.exposition import generate_latest

    registry, place = CollectorRegistry(), ("rank", "tensor")
    step = Gauge("commbounds_watch_step", "Step of the latest look.", place, registry=registry)
    measured = Gauge("commbounds_watch_measured", "What was measured.", (*place, "quantity"), registry=registry)
    bounds = Gauge("commbounds_watch_bound", "What a claim bounds it by.", (*place, "claim"), registry=registry)
    alarms = Gauge("commbounds_watch_alarms", "What was noticed.", (*place, "check"), registry=registry)
    for (tensor, rank), look in found.latest().items():
        step.labels(rank, tensor).set(look.step)
        for gauge, values in ((measured, look.values), (bounds, look.bounds)):
            for name, value in values.items():
                gauge.labels(rank, tensor, name).set(value)
    for who, alarm in found.alarms:
        alarms.labels(who, alarm.tensor, alarm.check).inc()
    text: bytes = generate_latest(registry)
    return text


def _events(found: Watched, folder: Path) -> int:
    """TensorBoard's events, a run a rank; how many."""
    from tensorboardX import SummaryWriter

    count = 0
    for rank, file in found.ranks.items():
        with SummaryWriter(str(folder / f"rank-{rank:05d}")) as writer:
            for look in file.looks:
                for name, value in (look.values | {f"bound {name}": b for name, b in look.bounds.items()}).items():
                    writer.add_scalar(f"{look.tensor}/{name}", value, look.step)
                    count += 1
            for alarm in file.alarms:
                writer.add_text(f"alarm/{alarm.check}", f"{alarm.tensor}: {alarm.message}", alarm.step)
    return count


def _summary(found: Watched) -> str:
    """How many alarms there are, and the time that watching took."""
    shares, alarms = found.shares.values(), len(found.alarms)
    taken = f", watching took up to {100 * max(shares):.2g} % of a rank's time" if shares else ""
    return f"{alarms or 'no'} alarm{'s' if alarms > 1 else ''}{taken}"


def _read(folder: Path) -> Watched:
    from commbounds._watched import read

    try:
        return read(folder)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _follow(folder: Path, every: float) -> bool:
    """Show the run until interrupted; whether it has an alarm by then."""
    from rich.live import Live

    from commbounds._terminal import console

    terminal = console()
    with Live(console=terminal, auto_refresh=False) as live:
        try:
            while True:
                found = _read(folder)
                live.update(_shown(found, terminal.height), refresh=True)
                time.sleep(every)
        except KeyboardInterrupt:
            return bool(found.alarms)


def _shown(found: Watched, height: int) -> Any:
    """What was noticed, and of every tensor and claim the latest look of the rank that is nearest to its bound."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from commbounds._watched import nearness
    from commbounds.theory import claims

    nearest: dict[tuple[str, str], tuple[float, int, int, float, float]] = {}
    for (tensor, rank), look in found.latest().items():
        for name, bound in look.bounds.items():
            value = look.values[claims()[name].quantity.name]
            row = (nearness(name, value, bound), rank, look.step, value, bound)
            nearest[tensor, name] = max(nearest.get((tensor, name), row), row)
    table = Table(box=None, pad_edge=False)
    for heading in ("tensor", "claim", "of bound", "measured", "bound", "rank", "step"):
        table.add_column(heading, no_wrap=True)
    noticed = found.alarms[-(height // 3) :]
    rows = sorted(nearest.items(), key=lambda row: row[1], reverse=True)
    fitting = max(height - len(noticed) - 5, 1)
    for (tensor, name), (ratio, rank, step, value, bound) in rows[:fitting]:
        numbers = (f"{100 * ratio:.3g} %", f"{value:.4g}", f"{bound:.4g}", str(rank), str(step))
        table.add_row(escape(tensor), name, *numbers)
    more = len(rows) - fitting
    words = [
        Text.assemble((alarm.check, "red"), f" {alarm.tensor}, step {alarm.step}, rank {rank}: {alarm.message}")
        for rank, alarm in noticed
    ]
    for line in words:
        line.no_wrap, line.overflow = True, "ellipsis"
    end = [f"and {more} more that are farther from their bounds"] if more > 0 else []
    return Group(table, *end, "", *words, _summary(found))
