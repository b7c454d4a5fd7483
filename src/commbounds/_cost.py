"""The command ``cost``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from commbounds._count import WHOLE
from commbounds._index import one_of

if TYPE_CHECKING:
    from commbounds.theory.cost import Machine, Schedule


_SEARCHED = 1e9
_LONGEST = 100
"""Letters of a price, and decimal places before and behind the point."""
_AXES = ("k", "P", "n")


def _known() -> list[str]:
    from commbounds.theory.schedules import SCHEDULES

    return list(SCHEDULES)


_SCHEDULE_NAMES = one_of(_known)


def _number(value: Any) -> Any:
    """A sympy number: what was typed, exactly."""
    import sympy as sp

    return sp.Rational(str(value))


@click.command()
@click.argument("names", nargs=-1, shell_complete=_SCHEDULE_NAMES)
@click.option("--P", "-P", "ranks", type=WHOLE, default=16, show_default=True, help="Ranks.")
@click.option("--n", "-n", "entries", type=WHOLE, default=1_000_000, show_default=True, help="Words of a vector.")
@click.option("--k", "selected", type=WHOLE, default=None, help="Entries that a rank selects; default: 1 % of n.")
@click.option("--alpha", default="1e-6", show_default=True, help="Seconds a step.")
@click.option("--beta", default="3.2e-10", show_default=True, help="Seconds a word (4 bytes at 100 Gbit/s).")
@click.option("--gamma", default="0", show_default=True, help="Seconds an addition.")
@click.option("--teams", type=WHOLE, default=2, show_default=True, help="Teams of SparDL's R-SAG and B-SAG.")
@click.option("--kept", type=WHOLE, default=None, help="Entries of a block that B-SAG keeps; default: ceil(k/P).")
@click.option("--bits", type=WHOLE, default=8, show_default=True, help="Bits of a code of quantised all-reduces.")
@click.option(
    "--group", type=WHOLE, default=128, show_default=True, help="Entries that share a scale and a zero point."
)
@click.option("--nodes", type=WHOLE, default=None, help="Nodes: ranks of a node talk at the prices of the next two.")
@click.option("--alpha-intra", default="2e-7", show_default=True, help="Seconds a step within a node.")
@click.option("--beta-intra", default="2e-11", show_default=True, help="Seconds a word within a node.")
@click.option(
    "--crossover",
    nargs=2,
    metavar="A B",
    default=None,
    shell_complete=_SCHEDULE_NAMES,
    help="Where A beats B, over k, P and n.",
)
@click.option("--latex", is_flag=True, help="Print formulas as LaTeX.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line for every collective instead of a table.")
def cost(
    names: tuple[str, ...],
    ranks: int,
    entries: int,
    selected: int | None,
    alpha: str,
    beta: str,
    gamma: str,
    teams: int,
    kept: int | None,
    bits: int,
    group: int,
    nodes: int | None,
    alpha_intra: str,
    beta_intra: str,
    crossover: tuple[str, str] | None,
    latex: bool,
    as_json: bool,
) -> None:
    """Show what collectives cost in the alpha-beta model. NAMES select them (all without); the cheapest is named.

    A step costs alpha, a word on the critical path beta, an addition gamma. An entry of a sparse vector is two words.
    """
    sizes = _sizes(ranks, entries, selected, teams, kept, nodes) | {"width": bits, "group": group}
    if not 1 <= bits <= 8:
        raise click.UsageError(f"bits must be in [1, 8], got {bits}")
    if group < 1:
        raise click.UsageError(f"group must be at least 1, got {group}")
    typed = {"alpha": alpha, "beta": beta, "gamma": gamma, "alpha-intra": alpha_intra, "beta-intra": beta_intra}
    prices = {name: _price(name, value) for name, value in typed.items()}
    from commbounds.theory.cost import Machine
    from commbounds.theory.schedules import IN_NODES, SCHEDULES

    within = (prices["alpha-intra"], prices["beta-intra"]) if nodes is not None else (None, None)
    machine = Machine(prices["alpha"], prices["beta"], prices["gamma"], *within)
    known = IN_NODES if nodes is not None else SCHEDULES
    for name in (*names, *(crossover or ())):
        _check_name(name, tuple(known), nodes is not None)
    if as_json and crossover is not None:
        raise click.UsageError("--json prints costs; --crossover has no such form")
    if crossover is not None:
        _print_crossovers(known[crossover[0]], known[crossover[1]], machine, sizes)
        return
    chosen = {name: known[name] for name in dict.fromkeys(names or known)}
    (_print_json if as_json else _print_costs)(chosen, machine, sizes, latex)


# --- what was typed ----------------------------------------------------------------------------------------------


def _sizes(
    ranks: int, entries: int, selected: int | None, teams: int, kept: int | None, nodes: int | None
) -> dict[str, int]:
    """The value of every symbol."""
    for name, value in (("P", ranks), ("n", entries), ("teams", teams)):
        if value < 1:
            raise click.UsageError(f"{name} must be at least 1, got {value}")
    k = max(1, entries // 100) if selected is None else selected
    if not 1 <= k <= entries:
        raise click.UsageError(f"k must be in [1, n] = [1, {entries}], got {k}")
    h = -(-k // ranks) if kept is None else kept
    if not 1 <= h <= k:
        raise click.UsageError(f"kept must be in [1, k] = [1, {k}], got {h}")
    if nodes is not None and not (1 < nodes <= ranks and ranks % nodes == 0):
        raise click.UsageError(f"nodes must be at least 2 and divide P = {ranks}, got {nodes}")
    return {"P": ranks, "n": entries, "k": k, "teams": teams, "kept": h, "nodes": nodes or 1}


def _price(name: str, text: str) -> Any:
    """A price, exactly as typed."""
    from decimal import Decimal, InvalidOperation

    try:
        value = Decimal(text)
    except InvalidOperation:
        raise click.UsageError(f"{name} must be a number of seconds, got {text[:_LONGEST]!r}") from None
    if not value.is_finite() or value < 0:
        raise click.UsageError(f"{name} must be finite and not negative, got {text[:_LONGEST]}")
    if len(text) > _LONGEST or not (value == 0 or abs(value.adjusted()) <= _LONGEST):  # exact numbers have no exponent
        raise click.UsageError(
            f"{name} must be 0 or in [1e-{_LONGEST}, 1e{_LONGEST}], in {_LONGEST} letters, got {text[:_LONGEST]}"
        )
    return _number(value)


def _check_name(name: str, known: tuple[str, ...], in_nodes: bool) -> None:
    if name in known:
        return
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
    where = " in nodes" if in_nodes else ""
    raise click.UsageError(f"no schedule{where} is called {name!r}; {hint}")


# --- the table ---------------------------------------------------------------------------------------------------


def _print_costs(chosen: dict[str, Schedule], machine: Machine, sizes: dict[str, int], latex: bool) -> None:
    from rich.table import Table

    from commbounds import _terminal
    from commbounds.theory.cost import cost as closed
    from commbounds.theory.schedules import evaluated

    table = Table(box=None, pad_edge=False)
    within = ("words within nodes",) if sizes["nodes"] > 1 else ()
    for heading in ("collective", "steps", "words", *within, "steps at P", "words at P, n, k", "time"):
        table.add_column(heading, no_wrap=heading == "collective", justify="right" if "at" in heading else "left")
    rows, remarks = [], []
    for name, schedule in chosen.items():
        formula = closed(schedule)
        value, remark = evaluated(schedule, sizes)
        label = f"{name} ({schedule.end} end)" if schedule.end else name
        shown = ("-", "-", "-")
        if value is not None:
            seconds = value.time(machine)
            shown = (_count(value.latency), _count(value.words), duration(seconds))
            rows.append((name, schedule, value.words, seconds))
        if remark:
            remarks.append(f"{name}: {remark}")
        formulas = [formula.latency, formula.words]
        if within:
            formulas.append(formula.words * 0 if formula.intra is None else formula.intra.words)
        table.add_row(label, *(_formula(expression, latex) for expression in formulas), *shown)
    terminal = _terminal.console()
    terminal.print(table)
    setting = ", ".join(f"{name} = {sizes[name]}" for name in ("P", "n", "k"))
    prices = [f"{name} = {float(getattr(machine, name)):.3g} s" for name in ("alpha", "beta", "gamma")]
    if sizes["nodes"] > 1:
        prices += [f"{sizes['nodes']} nodes, within them alpha = {float(machine.alpha_intra):.3g} s"]
        prices += [f"beta = {float(machine.beta_intra):.3g} s"]
    click.echo(f"at {setting}, {', '.join(prices)}")
    _print_bounds(sizes, latex)
    for kind in ("dense", "sparse", "quantised"):
        _print_cheapest(kind, [row for row in rows if row[1].kind == kind and row[1].end != "lower"])
    for remark in remarks:
        click.echo(remark)


def _print_json(chosen: dict[str, Schedule], machine: Machine, sizes: dict[str, int], latex: bool) -> None:
    """One object a collective: formulas, and values where there are some at these sizes."""
    from commbounds.theory.cost import cost as closed
    from commbounds.theory.schedules import evaluated

    for name, schedule in chosen.items():
        formula = closed(schedule)
        value, remark = evaluated(schedule, sizes)
        told: dict[str, Any] = {"collective": name, "kind": schedule.kind, "end": schedule.end}
        told |= {"steps": _formula(formula.latency, latex), "words": _formula(formula.words, latex)}
        if value is not None:
            told["at"] = sizes | {
                "steps": float(value.latency),
                "words": float(value.words),
                "seconds": float(value.time(machine)),
            }
        click.echo(json.dumps(told | {"remark": remark}))


def _print_bounds(sizes: dict[str, int], latex: bool) -> None:
    from commbounds.theory.schedules import DENSE_LOWER_BOUND, SPARSE_LOWER_BOUND

    for kind, bound, who in (
        ("dense", DENSE_LOWER_BOUND, "sent by some rank, and received by some rank"),
        ("sparse", SPARSE_LOWER_BOUND, "received by a rank on average, if k generic entries are to reach all"),
    ):
        value = bound.xreplace({s: _number(sizes[s.name]) for s in bound.free_symbols})
        click.echo(f"lower bound, {kind}: {_formula(bound, latex)} = {_count(value)} words {who}")


def _print_cheapest(kind: str, rows: list[Any]) -> None:
    for what, position, shown in (("words", 2, _count), ("time", 3, duration)):
        if len(rows) > 1:
            least = min(row[position] for row in rows)
            best = ", ".join(row[0] for row in rows if row[position] == least)
            click.echo(f"cheapest {kind} all-reduce by {what}: {best} ({shown(least)})")


def _formula(expression: Any, latex: bool) -> str:
    from commbounds.theory.notation import latex as as_latex

    if latex:
        return as_latex(expression)
    return str(expression).replace("index_bits(P)", "ceil(log2(P))").replace("index_bits", "ceil_log2")


def _count(value: Any) -> str:
    if value.is_integer:
        return f"{int(value):,}"
    return f"{float(value):,.1f}"


def duration(seconds: Any) -> str:
    value = float(seconds)
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns"


# --- crossovers --------------------------------------------------------------------------------------------------


def _print_crossovers(first: Schedule, second: Schedule, machine: Machine, sizes: dict[str, int]) -> None:
    from commbounds.theory.cost import cost as closed

    costs = closed(first), closed(second)
    setting = {name: value for name, value in sizes.items() if name in _AXES}
    for what, pair in (("words", [c.words for c in costs]), ("time", [c.time(machine) for c in costs])):
        for axis in _AXES:
            if any(s.name == axis for expression in pair for s in expression.free_symbols):
                condition = _where(pair, axis, sizes, what == "words")
                held = ", ".join(f"{name} = {value}" for name, value in setting.items() if name != axis)
                click.echo(f"{first.name} beats {second.name} by {what}, over {axis} ({held}): {condition}")


def _where(pair: list[Any], axis: str, sizes: dict[str, int], general: bool) -> str:
    """Where the first of a pair is the smaller, over an axis; with the other sizes put in where need be."""
    import sympy as sp

    from commbounds.theory.crossover import crossover

    symbols = {s.name: s for expression in pair for s in expression.free_symbols}
    numbers = {s: sp.Integer(sizes[name]) for name, s in symbols.items() if name != axis}
    first, second = pair
    at_sizes = crossover(first.xreplace(numbers), second.xreplace(numbers), symbols[axis], 2.0, _SEARCHED)
    shown = _relation(at_sizes)
    if not general:
        return shown
    try:
        formula = crossover(first, second, symbols[axis])
    except ValueError:
        return shown
    if not formula.exact or formula.condition.free_symbols <= {symbols[axis]}:
        return shown
    return f"{formula.condition}, here {shown}"


def _relation(found: Any) -> str:
    import sympy as sp

    if not found.exact:
        ranges = [f"{low:.6g} < {found.symbol} < {high:.6g}" for low, high in found.intervals]
        return (" or ".join(ranges) or "nowhere") + f" (numerically, between 2 and {_SEARCHED:.0e})"
    if found.condition in (sp.S.true, sp.S.false):
        return "everywhere" if found.condition == sp.S.true else "nowhere"
    return _spelt(found.condition)


def _spelt(condition: Any) -> str:
    """A relation, or several, with numbers to six digits."""
    import sympy as sp

    if isinstance(condition, sp.And | sp.Or):
        word = " and " if isinstance(condition, sp.And) else " or "
        return word.join(sorted(_spelt(part) for part in condition.args))
    left, right = (f"{float(side):.6g}" if side.is_number else str(side) for side in (condition.lhs, condition.rhs))
    return f"{left} {condition.rel_op} {right}"
