"""Classical all-reduce, reduce-scatter and all-gather: the claims bound to their implementations."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.theory import Claim, claims
from commbounds.verify.experiment import Budget, bound_at
from commbounds.verify.experiments.dense.cases import (
    ALGORITHMS,
    bits_differing,
    digits,
    exact_error,
    halfway,
    hostile,
    in_rank_order,
    joined,
    lengths,
    lengths_drawn,
    lengths_of,
    nudged,
    sizes,
    sizes_drawn,
    stack_of,
    stacks_drawn,
    wrong_entries,
)
from commbounds.verify.finding import Series
from commbounds.verify.inputs import sampled_from
from commbounds.verify.study import Case, Curve, Outcome, Study, over, shared, studies

_SUBJECTS = {
    "ring": "ring_allreduce",
    "recursive_doubling": "recursive_doubling_allreduce",
    "rabenseifner": "rabenseifner_allreduce",
    "butterfly": "butterfly_allreduce",
    "allgather": "allgatherv",
    "reduce_scatter": "reduce_scatter",
    "allreduce": "recursive_doubling_allreduce",
    "gather_blocks": "gather_blocks",
}
_READ: dict[str, Callable[[Any], Any]] = {
    "critical_path": lambda traffic: traffic.critical_path,
    "steps": lambda traffic: traffic.steps,
    "messages": lambda traffic: int(traffic.messages.max()),
    "most_sent": lambda traffic: int(traffic.sent.max()),
    "most_received": lambda traffic: int(traffic.received.max()),
    "least_received": lambda traffic: int(traffic.received.min()),
    "mean_received": lambda traffic: Fraction(int(traffic.received.sum()), traffic.received.size),
}
"""What a claim measures, read off a traffic."""
_DRAWN_AT = 1000
"""Words of the vectors in the curves."""
_SIZES = "P = 1 to 16, and some up to 33 and beyond, each with vectors of 1 to 64 words"
_RANKS_DRAWN = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 24, 28, 31, 32)


def _outcome_of(case: Case, measured: Any, active: bool = True) -> Outcome:
    return Outcome(measured, {"P": case.settings["P"], "n": case.settings["n"]}, active=active)


def _vectors(_implementation: Any, case: Case) -> dict[str, Any]:
    """The stack, of cases that only tell how it is made too."""
    return {"x": case.once(stack_of)}


# --- traffic ----------------------------------------------------------------------------------------------------------


def _run(subject: str, implementation: Any, case: Case) -> Any:
    """Result and traffic of the collective on the case's stack; an all-gather gets the first row's blocks."""
    if subject == "gather_blocks":
        return None, implementation(lengths_of(case), case.settings["algorithm"])
    stack = case.once(stack_of)
    if subject == "allgatherv":
        return implementation(np.array_split(stack[0], len(stack)), case.settings["algorithm"])
    if subject == "reduce_scatter":
        return implementation(stack, case.settings["algorithm"])
    return implementation(stack)


def _traffic_trial(claim: Claim, implementation: Any, case: Case) -> Outcome:
    _, traffic = case.once(_run, _SUBJECTS[claim.subject], implementation)
    return _outcome_of(case, _READ[claim.quantity.name](traffic))


def _algorithms(claim: Claim) -> tuple[dict[str, str], ...]:
    """The settings that say by which algorithm."""
    if _SUBJECTS[claim.subject] not in ("allgatherv", "reduce_scatter", "gather_blocks"):
        return ({},)
    return tuple({"algorithm": name} for name in ALGORITHMS)


@shared
def _traffic_curve(settings: dict[str, str]) -> Curve:
    label = f"n = {_DRAWN_AT}" + "".join(f", {name}" for name in settings.values())
    return over("P", label, (Case({"P": P, "n": _DRAWN_AT, **settings}) for P in _RANKS_DRAWN))


@shared
def _traffic_grid(settings: tuple[dict[str, str], ...], untold: bool) -> Callable[[int], Iterator[Case]]:
    def grid(level: int) -> Iterator[Case]:
        for case in lengths(level) if untold else sizes(level):
            for more in settings:
                yield Case({**case.settings, **more})

    return grid


@shared
def _traffic_drawn(settings: tuple[dict[str, str], ...], untold: bool) -> Callable[[], Any]:
    return lambda: sampled_from(settings).flatmap(lambda more: (lengths_drawn if untold else sizes_drawn)(**more))


def _traffic(claim: Claim) -> Study:
    settings = _algorithms(claim)
    untold = claim.subject == "gather_blocks"

    def extremal(_budget: Budget) -> Iterator[Case]:
        for P in (2, 3):
            for more in settings:
                yield Case({"P": P, "n": 6, **more})

    return Study(
        claim=claim.name,
        subject=_SUBJECTS[claim.subject],
        trial=partial(_traffic_trial, claim),
        grid=_traffic_grid(settings, untold),
        cases=_traffic_drawn(settings, untold),
        extremal=extremal if claim.tightness is not None else None,
        curves=list(map(_traffic_curve, settings)),
        enumerated=_SIZES + (", and 2^31 + 1 times as many, cut in three ways" if untold else ""),
    )


# --- results ----------------------------------------------------------------------------------------------------------


def _sum_trial(claim: Claim, implementation: Any, case: Case) -> Outcome:
    """Entries that are not the exact sum, which is one of integers."""
    stack = case.once(stack_of)
    P, n = stack.shape
    expected = stack.astype(np.int64).sum(axis=0).astype(stack.dtype)
    result, _ = case.once(_run, _SUBJECTS[claim.subject], implementation)
    if claim.subject != "reduce_scatter":
        return _outcome_of(case, wrong_entries(result, expected, P), bool(stack.any()))
    blocks = np.array_split(expected, P)
    if [len(block) for block in result] != [block.size for block in blocks]:
        return _outcome_of(case, n)
    return _outcome_of(case, int((joined(result) != expected).sum()), bool(stack.any()))


def _contents_trial(_claim: Claim, implementation: Any, case: Case) -> Outcome:
    stack = case.once(stack_of)
    result, _ = case.once(_run, "allgatherv", implementation)
    return _outcome_of(case, wrong_entries(result, stack[0], len(stack)), bool(stack[0].any()))


def _agreement_trial(claim: Claim, implementation: Any, case: Case) -> Outcome:
    result, _ = case.once(_run, _SUBJECTS[claim.subject], implementation)
    return _outcome_of(case, bits_differing(result, result[0]), len(result) > 1)


def _order_trial(claim: Claim, implementation: Any, case: Case) -> Outcome:
    result, _ = case.once(_run, _SUBJECTS[claim.subject], implementation)
    return _outcome_of(case, bits_differing(result[0], in_rank_order(case.once(stack_of))), len(result) > 1)


def _rounding_trial(claim: Claim, implementation: Any, case: Case) -> Outcome:
    stack = case.once(stack_of)
    result, _ = case.once(_run, _SUBJECTS[claim.subject], implementation)
    unit = Fraction(1, 2**53 if stack.dtype == np.float64 else 2**24)
    return Outcome(exact_error(result, stack), {"P": len(stack), "unit": unit})


def _rounding_curves(claim: Claim, implementation: Any, seed: int) -> tuple[Series, ...]:
    """In float32, with the error of every entry of one stack of positive and one of signed terms."""
    unit, ranks = Fraction(1, 2**24), (2, 3, 4, 6, 8, 12, 16, 24, 32)
    columns: dict[str, list[float]] = {name: [] for name in ("bound", "worst", "low", "mid", "high")}
    for P in ranks:
        stack = np.random.default_rng([seed, P]).standard_normal((P, 40)).astype(np.float32)
        result, _ = implementation(stack)
        errors = [float(exact_error(result[:, [i]], stack[:, [i]])) for i in range(stack.shape[1])]
        columns["bound"].append(float(bound_at(claim, {"P": P, "unit": unit})))
        columns["worst"].append(max(errors))
        for name, share in (("low", 0.05), ("mid", 0.5), ("high", 0.95)):
            columns[name].append(float(np.quantile(errors, share)))
    axis = [float(P) for P in ranks]
    quantiles = (columns["low"], columns["mid"], columns["high"])
    return (Series("float32, normal entries", "P", axis, columns["bound"], columns["worst"], *quantiles),)


def _normal_stacks(seed: int) -> Iterator[tuple[float, list[Case]]]:
    for P in _RANKS_DRAWN:
        yield P, [Case({"P": P, "n": _DRAWN_AT, "family": "normal", "seed": seed, "dtype": "float32"})]


_NORMAL_STACKS = [Curve("P", f"float32, {_DRAWN_AT} normal entries", _normal_stacks)]


def _result(claim: Claim) -> Study:
    symbol, settings = claim.quantity.name, _algorithms(claim)
    if symbol == "misplaced_words":
        return Study(
            claim=claim.name,
            subject=_SUBJECTS[claim.subject],
            trial=partial(_contents_trial, claim),
            grid=_traffic_grid(settings, False),
            cases=_traffic_drawn(settings, False),
            enumerated=_SIZES,
        )
    if symbol == "wrong_sums":

        def grid(level: int) -> Iterator[Case]:
            for case in digits(level):
                for more in settings:
                    yield Case({**case.settings, **more}, case.x)

        return Study(
            claim=claim.name,
            subject=_SUBJECTS[claim.subject],
            trial=partial(_sum_trial, claim),
            grid=grid,
            cases=_traffic_drawn(settings, False),
            known=_vectors,
            enumerated=f"{_SIZES}; digits to base 4 tell every rank's share in every entry",
        )
    measured: dict[str, tuple[Any, Any]] = {
        "relative_sum_error": (_rounding_trial, partial(_rounding_curves, claim)),
        "differing": (_agreement_trial, ()),
        "out_of_order": (_order_trial, _NORMAL_STACKS),
    }
    trial, curves = measured[symbol]
    return Study(
        claim=claim.name,
        subject=_SUBJECTS[claim.subject],
        trial=partial(trial, claim),
        corpus=hostile,
        cases=stacks_drawn,
        mutate=nudged if trial is _rounding_trial else None,
        extremal=halfway if trial is _rounding_trial else None,
        curves=curves,
        known=_vectors,
    )


def _all() -> Sequence[Study]:
    listed = [claim for claim in claims().values() if claim.column == "dense" and not claim.asked_of_all]
    return [_traffic(claim) if claim.quantity.name in _READ else _result(claim) for claim in listed]


EXPERIMENTS = studies(*_all())
