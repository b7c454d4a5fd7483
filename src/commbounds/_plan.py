"""The command ``plan``."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commbounds._cost import duration
from commbounds._count import WHOLE
from commbounds._running import WORKER_OPTIONS, workers
from commbounds._terminal import RegularFile

if TYPE_CHECKING:
    from commbounds.theory.planning import Cluster, ClusterPlan, MethodCost

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_QUANTITY = re.compile(r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?) *(?P<unit>[A-Za-z/]*)")
_SWEPT = ("bandwidth", "latency", "compute", "density", "heterogeneity")
_FEW = 200
"""Settings that one process has planned before others have started."""
_ITEMS = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}


class WithUnit(click.ParamType):  # type: ignore[type-arg] # generic in some versions of click
    """A bandwidth or a time as people write it, in bytes a second or seconds."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = _QUANTITY.fullmatch(value.strip())
        scale = found and (_TIMES.get(found["unit"]) if self.name == "time" else _bandwidth(found["unit"]))
        if not found or not scale:
            example = "5us, 0.2ms or 1e-6s" if self.name == "time" else "400Gbit/s, 25GB/s or 100MB/s"
            self.fail(f"{self.name} must be a number with a unit, as {example}, got {value!r}", param, ctx)
        return float(found["number"]) * scale


def _bandwidth(unit: str) -> float | None:
    """Bytes a second of one such unit."""
    found = re.fullmatch(r"([kMGT]?)(bit/s|bps|B/s)", unit)
    return found and _PREFIXES[found[1]] * (1.0 if found[2] == "B/s" else 0.125)


_TIME, _BANDWIDTH = WithUnit("time"), WithUnit("bandwidth")


def _shapes(path: Path) -> tuple[tuple[int, ...], ...]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        shapes = found.values() if isinstance(found, dict) else found
        return tuple(tuple(shape) if isinstance(shape, list) else (shape,) for shape in shapes)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise click.UsageError(f"{path} must be JSON: a list of shapes, or names with shapes: {error}") from error


@click.command()
@click.option("--P", "-P", "ranks", type=WHOLE, default=16, show_default=True, help="Ranks.")
@click.option("-n", "--n", "entries", type=WHOLE, default=None, help="Entries of a square matrix, for --tensors.")
@click.option("--tensors", type=RegularFile(exists=True), help="JSON: the shapes of the model's tensors.")
@click.option("--dtype", type=click.Choice(list(_ITEMS)), default="float32", show_default=True, help="Of an entry.")
@click.option(
    "--bandwidth", type=_BANDWIDTH, default="100Gbit/s", show_default=True, help="Of a rank's link, each way."
)
@click.option("--latency", type=_TIME, default="5us", show_default=True, help="Of a step of messages.")
@click.option("--nodes", type=WHOLE, default=1, show_default=True, help="Nodes, of equally many ranks.")
@click.option("--bandwidth-within", type=_BANDWIDTH, default="300GB/s", show_default=True, help="Within a node.")
@click.option("--latency-within", type=_TIME, default="1us", show_default=True, help="Within a node.")
@click.option("--compute", type=_TIME, default="0s", show_default=True, help="That a rank computes in a step.")
@click.option(
    "--density", type=float, default=0.01, show_default=True, help="Share of entries that sparse methods keep."
)
@click.option("--rank", type=WHOLE, default=4, show_default=True, help="Of low-rank methods.")
@click.option("--period", type=WHOLE, default=16, show_default=True, help="Steps between averages of local SGD.")
@click.option("--heterogeneity", type=float, default=1.0, show_default=True, help="L~/L of the workers' functions.")
@click.option("--loss", type=float, default=None, help="Probability that a message of a training step is lost.")
@click.option("--times", type=RegularFile(exists=True), help="CSV: step, worker, seconds of every micro-batch.")
@click.option(
    "--over", multiple=True, metavar="NAME=VALUES", help="Sweep an option: values with commas, or FROM..TO:COUNT."
)
@WORKER_OPTIONS[0]
@WORKER_OPTIONS[1]
@click.option("--picture", type=RegularFile(), help="Draw the table into this file: svg, png or pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    entries: int | None,
    tensors: Path | None,
    dtype: str,
    loss: float | None,
    times: Path | None,
    picture: Path | None,
    as_json: bool,
    over: tuple[str, ...],
    jobs: int | None,
    executor: str,
    **numbers: Any,
) -> None:
    """Compare methods of communication for a cluster. Costs are beside what the book proves of their steps.

    Ranked are methods whose slow-down is proved for every smooth function: steps over those of gradient descent with an
    exact sum. It is a bound on the worst function, and often far above what is seen. All others are listed.

    With --over, which may be given several times, a line of CSV for every setting.
    """
    if (entries is None) == (tensors is None):
        raise click.UsageError("give either --n or --tensors")
    if picture and picture.suffix not in (".svg", ".png", ".pdf"):
        raise click.UsageError(f"picture must end in .svg, .png or .pdf, got {picture}")
    from commbounds.theory import planning
    from commbounds.theory.packetloss.plans import loss as under_loss

    shapes = _shapes(tensors) if tensors else (_square(entries or 0),)
    try:
        cluster = planning.Cluster(shapes=shapes, item=_ITEMS[dtype], **numbers)
        lost = None if loss is None else under_loss(loss, cluster)
        if over:
            _sweep(cluster, dict(_swept(text, click.get_current_context()) for text in over), executor, jobs)
            return
        found = planning.plan(cluster)
        messages = min(row.seconds for row in found.ranked if row.slowdown == 1)
        drops = None if times is None else _threshold(times, messages)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if picture:
        _draw(found, picture)
    if as_json:
        told = json.loads(found.as_json()) | {"loss": lost, "dropcompute": drops}
        click.echo(json.dumps(told, indent=1))
        return
    _print_plan(found)
    first, stays = found.ranked[0].method, []
    for name, best in planning.sensitivities(cluster).items():
        if best == (first, first):
            stays.append(name)
        else:
            click.echo(f"half the {name}: {best[0]} is quickest; twice: {best[1]}")
    if stays:
        click.echo(f"{first} stays the quickest at half and at twice the {', '.join(stays)}")
    if lost:
        click.echo(
            f"at loss {loss:g} replicas drift apart by up to {lost['drift']:.4g} variances of an update "
            f"(packetloss.drift.pair_limit), and {lost['received']:,.0f} entries of a step arrive "
            "(packetloss.volume.received)"
        )
    if drops:
        click.echo(
            f"DropCompute on these times and {duration(messages)} of messages: with a threshold of "
            f"{duration(drops['threshold'])} {drops['gain']:.4g} times as many micro-batches a second "
            "(dropcompute.threshold.optimal)"
        )


def _swept(text: str, context: click.Context) -> tuple[str, list[Any]]:
    """An option's name in `Cluster`, and its values."""
    name, _, values = text.partition("=")
    kinds = {p.opts[0].removeprefix("--"): p for p in context.command.params}
    names = ("P", "nodes", "rank", "period", *(o for o in kinds if (o.split("-")[0]) in _SWEPT))
    if name not in names or not values:
        raise click.UsageError(f"over must be NAME=VALUES, NAME one of {', '.join(names)}, got {text!r}")
    option = kinds[name]

    def value(one: str) -> Any:
        return option.type.convert(one, option, context)

    ends, _, count = values.partition(":")
    low, dots, high = ends.partition("..")
    if not dots:
        return str(option.name), [value(one) for one in values.split(",")]
    first, last, steps = value(low), value(high), WHOLE.convert(count or "10", None, context)
    if steps < 2 or not 0 < first < last:
        raise click.UsageError(f"over must be FROM..TO:COUNT with 0 < FROM < TO and COUNT at least 2, got {text!r}")
    found = [first * (last / first) ** (i / (steps - 1)) for i in range(steps - 1)]
    return str(option.name), [*dict.fromkeys(map(round, found) if option.type is WHOLE else found), last]


def _sweep(cluster: Cluster, over: dict[str, list[Any]], executor: str, jobs: int | None) -> None:
    """A line for every setting, in order; planned wherever `workers` are."""
    from commbounds.theory import planning

    settings = [dict(zip(over, values, strict=True)) for values in itertools.product(*over.values())]
    clusters = [replace(cluster, **setting) for setting in settings]
    with workers(executor, 1 if executor == "process" and len(clusters) < _FEW else jobs) as pool:
        click.echo(",".join((*over, "quickest", "seconds_a_step", "second", "times_as_long", "worth_a_trial")))
        each = -(-len(clusters) // 64)
        parts = [clusters[i : i + each] for i in range(0, len(clusters), each)]
        rows = itertools.chain.from_iterable((pool.map if pool else map)(planning.bests, parts))
        for setting, row in zip(settings, rows, strict=True):
            click.echo(",".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in (*setting.values(), *row)))


def _square(entries: int) -> tuple[int, int]:
    """The most nearly square matrix of so many entries."""
    if entries < 1:
        raise click.UsageError(f"n must be at least 1, got {entries}")
    from sympy import divisors

    known = divisors(entries)
    side: int = known[(len(known) - 1) // 2]
    return side, entries // side


def _threshold(path: Path, overhead: float) -> dict[str, float]:
    """DropCompute's best threshold on measured times, beside so many seconds of messages a step."""
    import numpy as np

    from commbounds.collectives.dropcompute import best_threshold

    try:
        lines = [line.partition("#")[0] for line in path.read_text("utf-8").splitlines()]
        table = np.array([line.split(",") for line in lines if line.strip()], float)
    except ValueError as error:
        raise ValueError(f"{path} must be numbers in columns of step, worker, seconds...: {error!s:.99}") from error
    if table.ndim != 2 or table.shape[1] < 3:
        raise ValueError(f"{path} must be numbers in columns of step, worker, seconds..., got shape {table.shape}")
    steps, workers = (np.unique(table[:, column]) for column in (0, 1))
    if len(table) != len(steps) * len(workers):
        raise ValueError(f"{path} must have one line for every step and worker, got {len(table)} lines")
    ordered = table[np.lexsort((table[:, 1], table[:, 0]))]
    found = best_threshold(ordered[:, 2:].reshape(len(steps), len(workers), -1), overhead)
    return {"threshold": found.tau, "gain": found.gain}


def _draw(found: ClusterPlan, path: Path) -> None:
    import io

    from commbounds.figures.plan import plan_picture
    from commbounds.folders import written

    drawn = io.BytesIO()
    plan_picture(found).savefig(drawn, format=path.suffix[1:], dpi=150)
    written(path, drawn.getvalue())


def _print_plan(found: ClusterPlan) -> None:
    from rich.table import Table

    from commbounds import _terminal

    cluster, best = found.cluster, found.pareto()
    terminal = _terminal.console()
    for rows, headings in (
        (found.ranked, ("method", "sent", "messages take", "slow-down", "time to target", "memory", "rests on")),
        (found.listed, ("not ranked", "sent", "messages take", "worth up to", "memory", "why")),
    ):
        table = Table(box=None, pad_edge=False)
        for heading in headings:
            table.add_column(heading, no_wrap=heading not in ("rests on", "why"))
        for row in rows:
            table.add_row(*_cells(found, row, row.method in best))
        terminal.print(table)
        click.echo()
    click.echo(_setting(cluster))
    click.echo(
        "sent: by the busiest rank in a step. slow-down: of the number of steps, proved. time to target: (compute + "
        "messages) times slow-down, over the quickest exact sum's. worth up to: the slow-down at which that is 1.\n"
        "*: no other method has both a shorter step and fewer steps."
    )


def _cells(found: ClusterPlan, row: MethodCost, best: bool) -> list[str]:
    costs = [row.method + ("*" if best else ""), _bytes(row.bytes), duration(row.seconds)]
    if row.slowdown is None:
        return [*costs, f"{found.worth(row):.4g}", _bytes(row.memory), row.why]
    return [*costs, f"{row.slowdown:.4g}", f"{found.target(row):.4g}", _bytes(row.memory), ", ".join(row.claims)]


def _setting(cluster: Cluster) -> str:
    nodes = f" in {cluster.nodes} nodes" if cluster.nodes > 1 else ""
    return (
        f"{cluster.ranks} ranks{nodes}, {cluster.entries:,} entries of {cluster.item} bytes, "
        f"{_bytes(cluster.bandwidth)}/s, {duration(cluster.latency)} a step, compute {duration(cluster.compute)}"
    )


def _bytes(value: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.4g} B"
