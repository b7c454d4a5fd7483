"""Claims about sums in several formats, bound to the all-reduce that adds in one and sends in another."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.collectives.precision import SCHEDULES
from commbounds.theory import Claim, claims
from commbounds.theory.precision.formats import FORMATS, format_named
from commbounds.verify.experiment import Budget, bound_at
from commbounds.verify.experiments.precision import cases as made
from commbounds.verify.experiments.precision import chances
from commbounds.verify.experiments.precision.ordering import ORDERING
from commbounds.verify.experiments.precision.quantised import QUANTISED
from commbounds.verify.experiments.precision.split import SPLIT
from commbounds.verify.experiments.precision.worst import order_of, table_of, worst_input
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study, studies

_SUBJECT = "mixed_precision_allreduce"

# --- worst cases ------------------------------------------------------------------------------------------------------


def _worst_grid(level: int) -> Iterator[Case]:
    for wire, schedule in itertools.product(("float8_e5m2", "float8_e4m3fn"), SCHEDULES[:5]):
        for P in (*range(1, 10), *((12, 16) if level else ())):
            yield made.case_of(None, P, 1, schedule, wire, wire)


def _worst_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    """The largest error that dynamic programming finds in the implementation's sums, or a run of its input, if more."""
    schedule, wire, P = (case.settings[name] for name in ("schedule", "wire", "P"))
    ratio, terms = worst_input(table_of(implementation, schedule, wire), order_of(schedule, P))
    stack = np.array([[float(terms.get(rank, Fraction(0)))] for rank in range(P)])
    result, _ = made.ran(implementation, Case(case.settings, stack))
    return Outcome(max(ratio, made.relative(made.errors(result, stack))), made.symbols(case), active=P > 1)


# --- sources ----------------------------------------------------------------------------------------------------------


def _smallest(level: int) -> Iterator[Case]:
    """Two and three ranks with all multiples of the smallest number that add up to a normal one; each way to round."""
    for name in FORMATS:
        known = format_named(name)
        top = min(2 ** (known.digits - 1), 8 if level else 4)
        values = range(-top, top + 1)
        for P in (1, 2, 3):
            terms = [c for c in itertools.product(values, repeat=P) if sum(map(abs, c)) <= top]
            stack = np.array(terms, np.float64).T * float(known.smallest)
            for schedule, rounding in itertools.product(SCHEDULES, ("nearest", "stochastic")):
                for nodes in made.nodes_of(schedule, P):
                    wider = "float64" if rounding == "nearest" else name
                    more = {"nodes": nodes, "rounding": rounding, "seed": 0}
                    yield made.case_of(stack, P, stack.shape[1], schedule, name, name, **more)
                    yield made.case_of(stack, P, stack.shape[1], schedule, name, wider, per_hop=False, **more)


def _wider(_budget: Budget) -> Iterator[Case]:
    """Vectors with more digits than the format, and below its smallest number."""
    for name, P in itertools.product([name for name in FORMATS if name != "float64"], (1, 2, 3, 5, 8)):
        known = format_named(name)
        rng = np.random.default_rng([P, known.digits])
        unit, smallest = float(known.unit), float(known.smallest)
        stack = np.stack(
            [
                np.full(P, 1.0 + unit),
                np.full(P, smallest / 2),
                np.full(P, smallest * 0.75),
                np.where(np.arange(P) == 1 % P, 1.0 + unit, unit * (1 + unit)),
                rng.standard_normal(P),
                smallest * rng.uniform(-2.0, 2.0, P),
                float(known.normal) * rng.uniform(-2.0, 2.0, P),
            ],
            axis=1,
        )
        for schedule in ("ring", "direct", "recursive_doubling", "binomial"):
            yield made.case_of(stack, P, stack.shape[1], schedule, name, name, family="wider")


def _halfway(_budget: Budget) -> Iterator[Case]:
    """A rank that holds 1 + u, in formats whose smallest number is small beside u."""
    for name in ("float32", "float16", "bfloat16", "float8_e5m2"):
        stack = np.array([[1.0 + float(format_named(name).unit)]])
        for schedule in ("ring", "binomial"):
            yield made.case_of(stack, 1, 1, schedule, name, name, family="halfway")


def _rounded_up(_budget: Budget) -> Iterator[Case]:
    """1 and the smallest number, which stochastic rounding may round up."""
    for name in ("float64", "float32", "float16", "bfloat16", "float8_e5m2"):
        stack = np.array([[1.0], [float(format_named(name).smallest)]])
        for schedule in ("ring", "direct"):
            more = {"rounding": "stochastic", "draws": "up", "family": "rounded up"}
            yield made.case_of(stack, 2, 1, schedule, name, name, **more)


def _tossed(_budget: Budget) -> Iterator[Case]:
    """Stochastic roundings: all up, and drawn; terms that gain by it."""
    for name, P, schedule in itertools.product(FORMATS, (1, 2, 3, 4, 8), SCHEDULES):
        known = format_named(name)
        gain = np.where(np.arange(P) == 1 % P, 1.0, float(known.smallest))[:, None]
        stack = np.concatenate([made.columns(known, P, np.random.default_rng([5, P])), gain], axis=1)
        for nodes in made.nodes_of(schedule, P)[:2]:
            for draws in ({"draws": "up"}, {"seed": 1}):
                more = {"rounding": "stochastic", "nodes": nodes, "family": "telling", **draws}
                yield made.case_of(stack, P, stack.shape[1], schedule, name, name, **more)


def _sizes(level: int) -> Iterator[Case]:
    """Ranks and entries, every schedule, formats of one, two and four bytes."""
    pairs = (("float32", "bfloat16", True), ("float32", "bfloat16", False), ("float16", "float8_e5m2", False))
    for P in (*range(1, 10), 12, 16, *((17, 24) if level else ())):
        for n, (accumulate, wire, per_hop), schedule in itertools.product((1, 3, 8, 13, 31, 48), pairs, SCHEDULES):
            for nodes in made.nodes_of(schedule, P):
                more = {"per_hop": per_hop, "nodes": nodes}
                yield made.case_of(None, P, n, schedule, wire, accumulate, **more)


# --- curves -----------------------------------------------------------------------------------------------------------

_RANKS = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64)


def _admits(claim: Claim, case: Case) -> bool:
    known = {"x": case.x, **made.symbols(case), **case.settings}
    return all(h.admits(**{name: known[name] for name in h.needs}) for h in claim.assumes)


def _error_curves(claim: Claim, trial: Any, implementation: Any, seed: int) -> Iterator[Series]:
    """The largest error of telling entries, in two formats or pairs of them that the claim is about."""
    shown = 0
    for schedule, (accumulate, wire, per_hop) in itertools.product(SCHEDULES, made.PAIRS[1:]):
        axis, bounds, measured = [], [], []
        for P in _RANKS:
            nodes = 2 if schedule == "hierarchical" else None
            if nodes and P % nodes:
                continue
            known = format_named(wire)
            stacks = (made.columns(known, P, np.random.default_rng([seed, P])), made.lost_stack(schedule, known, P))
            more = {"per_hop": per_hop, "nodes": nodes}
            cases = [made.case_of(x, P, x.shape[1], schedule, wire, accumulate, **more) for x in stacks]
            outcomes = [trial(claim, implementation, case) for case in cases if _admits(claim, case)]
            if not outcomes:
                continue
            axis.append(float(P))
            bounds.append(float(bound_at(claim, outcomes[0].values)))
            measured.append(max(float(outcome.measured) for outcome in outcomes))
        if len(axis) > 2:
            formats = wire if wire == accumulate else f"{wire}, added in {accumulate}"
            yield Series(f"{schedule.replace('_', ' ')}, {formats}", "P", axis, bounds, measured)
            shown += 1
        if shown == 3:
            return


def _bytes_curves(claim: Claim, trial: Any, implementation: Any, _seed: int) -> Iterator[Series]:
    schedule = claim.name.rpartition(".")[2]
    ranks = [P for P in _RANKS if schedule != "hierarchical" or P % 2 == 0]
    for per_hop in (True, False):
        n = 960
        outcomes = [
            trial(
                claim,
                implementation,
                made.case_of(
                    None, P, n, schedule, "bfloat16", "float32", per_hop=per_hop,
                    nodes=2 if schedule == "hierarchical" else None,
                ),
            )
            for P in ranks
        ]  # fmt: skip
        label = f"n = {n}, bfloat16, sums sent in {'bfloat16' if per_hop else 'float32'}"
        bounds = [float(bound_at(claim, outcome.values)) for outcome in outcomes]
        yield Series(label, "P", [float(P) for P in ranks], bounds, [float(o.measured) for o in outcomes])


# --- all --------------------------------------------------------------------------------------------------------------

_RELATIVE = {"corpus": made.hostile, "cases": made.drawn}
_LAW = {"grid": chances.laws, "enumerated": "up to four ranks, all ways that their roundings may go, with their shares"}
_EIGHT = "all inputs of float8_e4m3fn and float8_e5m2, up to nine ranks, five schedules"
_SOURCES: dict[str, dict[str, Any]] = {
    "precision.any.sure": {**_RELATIVE, "extremal": made.lost},
    "precision.running.sure": {**_RELATIVE, "extremal": made.lost},
    "precision.running.sharp": {**_RELATIVE, "extremal": made.all_lost},
    "precision.running.sharp_beyond": _RELATIVE,
    "precision.tree.sure": {**_RELATIVE, "extremal": made.lost},
    "precision.tree.sharp": {**_RELATIVE, "extremal": made.all_lost},
    "precision.tree.sharp_beyond": _RELATIVE,
    "precision.tree.no_more_than_the_magnitudes": _RELATIVE,
    "precision.hierarchical.sure": {**_RELATIVE, "extremal": made.lost},
    "precision.worst.running": {"grid": _worst_grid, "enumerated": _EIGHT},
    "precision.worst.tree": {"grid": _worst_grid, "enumerated": _EIGHT},
    "precision.once.sure": {**_RELATIVE, "mutate": made.nudged},
    "precision.per_hop.like_one_format": {"corpus": made.hostile, "cases": made.drawn},
    "precision.per_hop.like_one_format_whatever": {"corpus": made.hostile, "cases": made.drawn},
    "precision.underflow.sums_are_exact": {
        "grid": _smallest,
        "enumerated": "up to three ranks, all multiples of the smallest number up to four of them",
    },
    "precision.underflow.wider_input": {"corpus": _wider, "cases": made.drawn, "extremal": _halfway},
    "precision.underflow.relative": {"corpus": _wider, "cases": made.drawn},
    "precision.stochastic.unbiased": _LAW,
    "precision.stochastic.few_bits": {
        "grid": chances.few_bits,
        "enumerated": "up to four ranks and three random bits, all ways that roundings may go",
        "extremal": chances.negligible,
    },
    "precision.stochastic.running_variance": {**_LAW, "extremal": chances.halves},
    "precision.stochastic.tree_variance": {**_LAW, "extremal": chances.halves},
    "precision.stochastic.running_sure": {"corpus": _tossed, "extremal": _rounded_up},
    "precision.stochastic.likely": _LAW,
}
_TRIALS: dict[str, Callable[[Claim, Any, Case], Outcome]] = {
    "relative_sum_error": made.relative_trial,
    "worst_case": _worst_trial,
    "rounded_otherwise": made.otherwise_trial,
    "wrong_sums": made.wrong_trial,
    "entry_error": made.entry_trial,
    "mean_sum_error": chances.mean_trial,
    "sum_variance": chances.variance_trial,
    "likely_error": chances.likely_trial,
    "critical_bytes": made.bytes_trial,
}


def _known(_implementation: Any, case: Case) -> dict[str, Any]:
    """What conditions ask for: the symbols, before anything is run."""
    return {**made.symbols(case), "x": case.x, **case.settings}


def _study(claim: Claim) -> Study:
    trial = partial(_TRIALS[claim.quantity.name], claim)
    of_bytes = claim.subject == "bytes"
    sources = (
        {"grid": _sizes, "enumerated": "up to 16 ranks and 48 entries, every schedule, three pairs of formats"}
        if of_bytes
        else _SOURCES[claim.name]
    )
    drawing = _bytes_curves if of_bytes else _error_curves if claim.quantity.name == "relative_sum_error" else None
    curves = (
        ()
        if drawing is None
        else lambda implementation, seed: tuple(drawing(claim, _TRIALS[claim.quantity.name], implementation, seed))
    )
    return Study(claim=claim.name, subject=_SUBJECT, trial=trial, curves=curves, known=_known, **sources)


def _all() -> Sequence[Study]:
    return [
        _study(claim)
        for claim in claims().values()
        if claim.name in _SOURCES or claim.name.startswith("precision.bytes.")
    ]


EXPERIMENTS = studies(*_all(), *ORDERING, *QUANTISED, *SPLIT)
