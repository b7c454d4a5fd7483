"""The command ``tolerance``."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from commbounds._count import WHOLE
from commbounds._index import one_of

if TYPE_CHECKING:
    from commbounds.theory.precision.tolerance import Tolerance


def _schedules() -> tuple[str, ...]:
    from commbounds.theory.precision.roundings import SCHEDULE_NAMES

    return SCHEDULE_NAMES


@click.command()
@click.argument("op", default="allreduce")
@click.option("--P", "-P", "ranks", type=WHOLE, required=True, help="Ranks.")
@click.option(
    "-n", "--n", "entries", type=WHOLE, default=1, show_default=True, help="Entries that share --probability."
)
@click.option("--dtype", default="float32", show_default=True, help="Format of what is sent, and of the result.")
@click.option("--accumulate", default=None, help="Format of the additions; default: --dtype.")
@click.option(
    "--schedule",
    default="ring",
    show_default=True,
    shell_complete=one_of(_schedules),
    help="ring, tree, direct, any ...: the order of additions.",
)
@click.option("--nodes", type=WHOLE, default=None, help="Nodes of the hierarchical schedule.")
@click.option("--between", default=None, help="Of the hierarchical schedule: the format that is sent between nodes.")
@click.option(
    "--average",
    default=None,
    help="Of a mean: divided before, after, by halving, or any (before or after, or times 1/P).",
)
@click.option("--bits", type=WHOLE, default=None, help="Bits of the codes of a quantised all-reduce.")
@click.option("--group", type=WHOLE, default=None, help="Entries that share a scale, with --bits.")
@click.option(
    "--codes", default="asymmetric", show_default=True, help="With --bits: symmetric, signed, or a float8 format, too."
)
@click.option("--scale", default=None, help="With --bits: the format of scales; default: exact.")
@click.option("--rounding", default="nearest", show_default=True, help="nearest, stochastic, or either-neighbour.")
@click.option("--subnormals", default="kept", show_default=True, help="kept, or flushed to zero.")
@click.option(
    "--probability", type=float, default=1e-9, show_default=True, help="Of a false alarm of the probable bound."
)
@click.option(
    "--per-hop/--once",
    default=True,
    show_default=True,
    help="What is sent on the way is rounded to --dtype, or the result alone.",
)
@click.option("--wider-input", is_flag=True, help="Ranks hold wider numbers, rounded to --dtype first.")
@click.option("--terms", type=WHOLE, default=None, help="Inner dimension, classes, hidden entries or micro-batches.")
@click.option(
    "--inputs", default=None, help="Of matmul, linear, accumulate: the format of what is added or multiplied."
)
@click.option("--tf32", is_flag=True, help="Of matmul and linear: operands are rounded to tf32.")
@click.option("--additions", type=WHOLE, default=None, help="That a term passes at its rank; default: in any order.")
@click.option("--replicas", type=WHOLE, default=1, show_default=True, help="Of accumulate: HSDP's, which divide P.")
@click.option("--divisions", type=WHOLE, default=1, show_default=True, help="Of accumulate: before and behind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tolerance(
    op: str,
    ranks: int,
    entries: int,
    dtype: str,
    accumulate: str | None,
    schedule: str,
    nodes: int | None,
    between: str | None,
    average: str | None,
    bits: int | None,
    group: int | None,
    codes: str,
    scale: str | None,
    rounding: str,
    subnormals: str,
    probability: float,
    per_hop: bool,
    wider_input: bool,
    terms: int | None,
    inputs: str | None,
    tf32: bool,
    additions: int | None,
    replicas: int,
    divisions: int,
    as_json: bool,
) -> None:
    """Show by how much a correct OP may be off. It prints bounds, their reasons, and lines for a test.

    OP is allreduce, reduce_scatter or reduce; or, of --terms that are split over ranks, matmul, linear, cross-entropy,
    norm, accumulate or adam.

    Exits with 2 where nothing is derived for what is asked, and says what; with 3 where the bound says nothing.
    """
    from commbounds._tolerance_plans import PLANS, printed
    from commbounds.theory.precision.tolerance import tolerance as derived

    if op.replace("_", "-") in PLANS:
        _require_unused(
            nodes=nodes, between=between, average=average, bits=bits, group=group, scale=scale, once=not per_hop,
            wider_input=wider_input,
        )  # fmt: skip
        by_default = click.get_current_context().get_parameter_source("schedule") is click.core.ParameterSource.DEFAULT
        try:
            words, vacuous = printed(
                op.replace("_", "-"), ranks, terms, dtype, accumulate or "float32",
                None if by_default else schedule, rounding, inputs or "float32", tf32, additions, replicas, divisions,
                as_json,
            )  # fmt: skip
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        click.echo(words)
        click.get_current_context().exit(3 if vacuous else 0)
    _require_unused(terms=terms, inputs=inputs, tf32=tf32, additions=additions)
    try:
        found = derived(
            op,
            P=ranks,
            n=entries,
            dtype=dtype,
            accumulate=accumulate,
            schedule=schedule,
            nodes=nodes,
            between=between,
            average=average,
            bits=bits,
            group=group,
            codes=codes,
            scale=scale,
            rounding=rounding,
            subnormals=subnormals,
            probability=probability,
            per_hop=per_hop,
            wider_input=wider_input,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    click.echo(json.dumps(_data(found)) if as_json else _text(found))
    if found.vacuous:
        click.get_current_context().exit(3)


def _require_unused(**options: Any) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise click.UsageError(f"{names}: not for this operation")


def _data(found: Tolerance) -> dict[str, Any]:
    """What is printed as JSON."""
    from commbounds.theory.precision.tolerance import rounded_up

    return {
        "op": found.op,
        "P": found.P,
        "n": found.n,
        "dtype": found.dtype,
        "accumulate": found.accumulate,
        "schedule": found.schedule,
        "average": found.average,
        "rounding": found.rounding,
        "reference": found.reference,
        "sure": rounded_up(found.sure),
        "probable": rounded_up(found.probable),
        "probability": float(found.probability),
        "relative_to_sum_abs": found.relative_to_sum_abs,
        "absolute": rounded_up(found.absolute),
        "last_rounding": {"of_exact": rounded_up(found.last), "of_reference": rounded_up(found.rest)},
        "largest": None if found.largest is None else _down(float(found.largest)),
        "reason": list(found.reason),
        "claims": list(found.claims),
        "lines": found.lines,
    }


def _down(value: float) -> float:
    """A float that is surely not above what `value` was rounded from."""
    return math.nextafter(value, 0.0)


def _text(found: Tolerance) -> str:
    """What is printed for readers."""
    from commbounds._tolerance_plans import digits_up
    from commbounds.theory.precision.tolerance import OPERATIONS, rounded_up

    formats = found.dtype if found.accumulate == found.dtype else f"{found.accumulate}, sent as {found.dtype}"
    result = "mean" if found.average else "sum"
    plus = f" + {digits_up(rounded_up(found.absolute))}" if found.absolute else ""
    lines = [
        f"{OPERATIONS[found.op]} of {found.P} ranks ({result}), {found.schedule}, {formats}",
        f"|result - exact| at every entry is at most, with S the {found.reference}:",
        f"  surely    {digits_up(rounded_up(found.sure))} S{plus}",
    ]
    if found.probable < found.sure:
        assumed = "" if found.rounding == "stochastic" else ", for drawn data: if roundings have mean zero"
        lines.append(
            f"  probably  {digits_up(rounded_up(found.probable))} S{plus}, in all of {found.n} entries but for a "
            f"chance of {float(found.probability):.3g}{assumed}"
        )
    if found.last:
        lines.append(
            f"  and also  {digits_up(rounded_up(found.last))} |exact| + {digits_up(rounded_up(found.rest))} S{plus}"
        )
    lines += ["", *found.reason]
    if found.largest is not None:
        lines.append(f"Nothing overflows where S is at most {_down(float(found.largest)):.4g}.")
    if found.claims:
        lines.append(f"Rests on {', '.join(found.claims)}.")
    for line in found.lines.values():
        lines += ["", *line.splitlines()]
    return "\n".join(lines)
