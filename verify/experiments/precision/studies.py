"""Claims about sums in several formats, bound to the all-reduce that adds in one and sends in another."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.precision import SCHEDULES
from commbounds.theory.precision.formats import FORMATS, format_named
from commbounds.verify.experiments.precision import cases as made
from commbounds.verify.experiments.precision.chances import CHANCES
from commbounds.verify.experiments.precision.ordering import ORDERING
from commbounds.verify.experiments.precision.quantised import QUANTISED
from commbounds.verify.experiments.precision.split import SPLIT
from commbounds.verify.family import FamilyStudy
from commbounds.verify.space import RANKS, Settings, nothing
from commbounds.verify.study import Case, Curve, Outcome, studies

# --- one run, and the exact sum ---------------------------------------------------------------------------------------

_TWICE = made.SPACE.at(P=2, formats="float8_e4m3fn, added in bfloat16", data="rounded twice")
_SUMS = made.family_of(made.SPACE.including(_TWICE, *made.WORST), exact=False)
_EVERY: dict[str, Any] = {"formats": FORMATS, "schedule": SCHEDULES, "nodes": made.nodes_of}


def _ranks(schedule: str) -> dict[str, Any]:
    """Of a curve over the ranks, in two nodes if in some: how they are made."""
    in_nodes = schedule == "hierarchical"
    ranks = [P for P in (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64) if P % (1 + in_nodes) == 0]
    return {"axis": "P", "values": ranks, "schedule": schedule, "nodes": 2 if in_nodes else None}


def _curves(schedule: str, *formats: str) -> list[Curve]:
    labels = {name: f"{schedule.replace('_', ' ')}, {name.removesuffix(', rounded once')}" for name in formats}
    return [_SUMS.over(**_ranks(schedule), label=label, formats=name) for name, label in labels.items()]


def _of_sums(claim: str, curves: Sequence[Curve] = (), **options: Any) -> tuple[FamilyStudy, ...]:
    return _SUMS.studies(made.relative_error, claim, curves=curves, **options)


_ONCE = tuple(name for name in made.PAIRS if name.endswith("once"))
_WIDEST = ("float32", "float16", "bfloat16")
_RING, _TREE, _NODES = (_curves(name, *_WIDEST) for name in ("ring", "recursive_doubling", "hierarchical"))
_HALFWAY: dict[str, Any] = {"extremal": _SUMS.every(P=[2], **_EVERY, data=["1 and u"])}
_LOST: dict[str, Any] = {
    "extremal": _SUMS.every(P=(2, 3, 4, 5, 8, 9), formats=FORMATS, schedule=SCHEDULES[:5], data=["lost"])
}
_RELATIVE = (
    *_of_sums("any.sure", _RING, **_HALFWAY),
    *_of_sums("running.sure", _RING, **_HALFWAY),
    *_of_sums("running.sharp", _RING, **_LOST),
    *_of_sums("running.sharp_beyond", _RING),
    *_of_sums("tree.sure", _TREE, **_HALFWAY),
    *_of_sums("tree.sharp", _TREE, **_LOST),
    *_of_sums("tree.sharp_beyond", _TREE),
    *_of_sums("tree.no_more_than_the_magnitudes", _TREE),
    *_of_sums("hierarchical.sure", _NODES, **_HALFWAY),
    *_of_sums("once.sure", _curves("ring", *_ONCE), mutate=made.nudged),
    *_SUMS.studies(made.rounded_otherwise, "per_hop.like_one_format", "per_hop.like_one_format_whatever"),
)

# --- worst cases ------------------------------------------------------------------------------------------------------


_SIZED = made.family_of(replace(made.SPACE.replaced(n=(1,)), make=nothing), run=None, searched=False)


def _worst(implementation: Any, settings: Settings, schedule: str, wire: str, P: int) -> Outcome:
    """The largest error that dynamic programming finds in the implementation's sums, or a run of its input, if more."""
    ratio, stack = made.worst_stack(implementation, schedule, wire, P)
    result, _ = made.ran(implementation, Case(settings, stack))
    return Outcome(max(ratio, made.relative(made.errors(result, stack))), {}, active=P > 1)


_WORST = _SIZED.studies(
    _worst,
    "worst.running",
    "worst.tree",
    grid=_SIZED.every(
        formats=("float8_e5m2", "float8_e4m3fn"),
        schedule=SCHEDULES[:5],
        P=lambda level: (*RANKS, *((12, 16) if level else ())),
    ),
    corpus=None,
    enumerated="all inputs of float8_e4m3fn and float8_e5m2, up to nine ranks, five schedules",
)

# --- underflow --------------------------------------------------------------------------------------------------------


def _multiples(P: int, wire: str, most: int) -> Array:
    """All multiples of the smallest number that add up to `most` of it, or to a normal number."""
    known = format_named(wire)
    top = min(2 ** (known.digits - 1), most)
    terms = [c for c in itertools.product(range(-top, top + 1), repeat=P) if sum(map(abs, c)) <= top]
    return np.array(terms, np.float64).T * float(known.smallest)


_SMALLEST = made.family_of(replace(made.SPACE.replaced(most=(4,)), make=_multiples), searched=False)
_WIDER = made.family_of(
    made.SPACE.replaced(
        formats=[name for name in FORMATS if name != "float64"],
        schedule=("ring", "direct", "recursive_doubling", "binomial"),
        data=("wider", "telling"),
    ).search(formats=["float64"], schedule=SCHEDULES),
    exact=False,
)
_UNDERFLOW = (
    *_SMALLEST.studies(
        made.wrong_sums,
        "underflow.sums_are_exact",
        grid=_SMALLEST.every(
            P=(1, 2, 3),
            most=lambda level: [8 if level else 4],
            **_EVERY,
            rounding=("nearest", "stochastic"),
            per_hop=(True, False),
            accumulate=lambda formats, rounding, per_hop: [
                formats if per_hop or rounding == "stochastic" else "float64"
            ],
        ),
        corpus=None,
        enumerated="up to three ranks, all multiples of the smallest number up to four of them",
    ),
    *_WIDER.studies(
        partial(made.entry_error, "precision.underflow.wider_input"),
        "underflow.wider_input",
        # in formats whose smallest number is small beside u
        extremal=_WIDER.every(
            P=[1], formats=("float32", "float16", "bfloat16", "float8_e5m2"), schedule=("ring", "binomial"),
            data=["1 + u"],
        ),
    ),
    *_WIDER.studies(partial(made.entry_error, "precision.underflow.relative"), "underflow.relative"),
)  # fmt: skip

# --- stochastic, and bytes --------------------------------------------------------------------------------------------

_TOSSED = made.family_of(
    made.SPACE.replaced(rounding=("stochastic",), formats=tuple(FORMATS), draws=("up", "drawn")),
    exact=False,
    searched=False,
)
_STOCHASTIC = (
    *CHANCES,
    *_TOSSED.studies(
        made.relative_error,
        "stochastic.running_sure",
        extremal=_TOSSED.every(
            P=[2], formats=[name for name in FORMATS if name != "float8_e4m3fn"], schedule=("ring", "direct"),
            data=["1 and the smallest"],
        ),
    ),
)  # fmt: skip
_THREE = ("bfloat16, added in float32", *_ONCE[:2])
_SIZES: dict[str, Any] = {
    "grid": _SIZED.every(
        P=lambda level: (*RANKS, 12, 16, *((17, 24) if level else ())),
        n=(1, 3, 8, 13, 31, 48),
        **{**_EVERY, "formats": _THREE},
    ),
    "corpus": None,
    "enumerated": "up to 16 ranks and 48 entries, every schedule, three pairs of formats",
}


def _of_bytes(claim: str, schedule: str) -> tuple[FamilyStudy, ...]:
    curves = [
        _SIZED.over(**_ranks(schedule), label=f"n = 960, bfloat16, sums sent in {sent}", n=960, formats=formats)
        for sent, formats in zip(("bfloat16", "float32"), _THREE, strict=False)
    ]
    return _SIZED.studies(made.critical_bytes, f"bytes.{claim}", curves=curves, **_SIZES)


_BYTES = itertools.chain.from_iterable(
    _of_bytes("tree" if schedule == "binomial" else schedule, schedule) for schedule in SCHEDULES
)
EXPERIMENTS = studies(*_RELATIVE, *_WORST, *_UNDERFLOW, *_STOCHASTIC, *_BYTES, *ORDERING, *QUANTISED, *SPLIT)
