"""Classical all-reduce, reduce-scatter and all-gather: the claims bound to their implementations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.theory import Claim, claims
from commbounds.verify.experiments.dense.cases import (
    ALGORITHMS,
    BLOCKS,
    LENGTHS,
    SMALL,
    STACKS,
    TEXTBOOK,
    WINDOW,
    bits_differing,
    exact_error,
    in_rank_order,
    joined,
    nudged,
    ranks,
    units,
    words,
    wrong_entries,
)
from commbounds.verify.family import Family
from commbounds.verify.study import Case, Curve, Outcome, Study, studies

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


_RUNS: dict[str, Callable[..., Any]] = {
    "gather_blocks": lambda implementation, P, n, lengths, algorithm: (
        None, implementation(LENGTHS[lengths](P, n), algorithm),
    ),
    "allgatherv": lambda implementation, x, algorithm: implementation(np.array_split(x[0], len(x)), algorithm),
    "reduce_scatter": lambda implementation, x, algorithm: implementation(x, algorithm),
}  # fmt: skip
"""Result and traffic; an all-gather gets the first row's blocks, the others the stack."""


@cache
def _family(subject: str) -> Family:
    """The stacks that a collective is run with, up to 70 ranks and 400 words."""
    space = BLOCKS if subject == "gather_blocks" else STACKS.search(P=(1, 70), n=(1, 400))
    if subject in _RUNS:
        space = space.replaced(algorithm=ALGORITHMS)
    return Family("dense", subject, space, run=_RUNS.get(subject, lambda implementation, x: implementation(x)))


@cache
def _small(subject: str) -> Family:
    return replace(_family(subject), space=SMALL, exact=False)


def _algorithms(subject: str) -> dict[str, Sequence[str]]:
    """By all algorithms, where there are several."""
    return {"algorithm": ALGORITHMS} if subject in _RUNS else {}


# --- traffic ----------------------------------------------------------------------------------------------------------


@cache
def _counted(subject: str) -> dict[str, Any]:
    """What is enumerated for traffic, which depends on sizes alone, and the curves."""
    family, more = _family(subject), _algorithms(subject)
    if subject == "gather_blocks":
        grid = family.every(P=ranks, n=units, lengths=LENGTHS, **more)
    else:
        grid = family.every(P=ranks, n=words, family=["places"], **more)
    untold = ", and 2^31 + 1 times as many, cut in three ways" if subject == "gather_blocks" else ""
    curves = [_over_ranks(subject, name) for name in more.get("algorithm", ("",))]
    return {"grid": grid, "corpus": None, "enumerated": _SIZES + untold, "curves": curves}


def _over_ranks(subject: str, algorithm: str) -> Curve:
    space, more = _family(subject).space, {"algorithm": algorithm} if algorithm else {}
    kind = {} if subject == "gather_blocks" else {"family": "places"}

    def points(_seed: int) -> Iterator[tuple[float, list[Case]]]:
        return ((P, [_family(subject).case(space.at(P=P, n=_DRAWN_AT, **kind, **more))]) for P in _RANKS_DRAWN)

    return Curve("P", f"n = {_DRAWN_AT}" + f", {algorithm}" * bool(algorithm), points)


def _traffic(claim: Claim) -> tuple[Study, ...]:
    subject, read = _SUBJECTS[claim.subject], _READ[claim.quantity.name]
    family = _family(subject)
    tight = {} if claim.tightness is None else {"extremal": family.every(P=(2, 3), n=[6], family=["places"])}
    return family.studies(
        lambda found: read(found[1]),
        claim.name.removeprefix("dense."),
        **tight,
        **_counted(subject),
    )


# --- results ----------------------------------------------------------------------------------------------------------


def _wrong_sums(found: Any, x: Array) -> Outcome:
    """Entries that are not the exact sum, which is one of integers; of blocks of the sum, or of all of it."""
    result, (P, n) = found[0], x.shape
    expected = x.astype(np.int64).sum(axis=0).astype(x.dtype)
    if isinstance(result, np.ndarray):
        return Outcome(wrong_entries(result, expected, P), {}, active=bool(x.any()))
    if [len(block) for block in result] != [block.size for block in np.array_split(expected, P)]:
        return Outcome(n, {})
    return Outcome(int((joined(result) != expected).sum()), {}, active=bool(x.any()))


def _misplaced(found: Any, x: Array) -> Outcome:
    return Outcome(wrong_entries(found[0], x[0], len(x)), {}, active=bool(x[0].any()))


def _differing(found: Any) -> Outcome:
    return Outcome(bits_differing(found[0], found[0][0]), {}, active=len(found[0]) > 1)


def _out_of_order(found: Any, x: Array) -> Outcome:
    return Outcome(bits_differing(found[0][0], in_rank_order(x)), {}, active=len(found[0]) > 1)


def _relative_error(found: Any, x: Array) -> Outcome:
    unit = Fraction(1, 2**53 if x.dtype == np.float64 else 2**24)
    return Outcome(exact_error(found[0], x), {"unit": unit})


@cache
def _normal(subject: str, entries: int, draws: int, label: str, at: Sequence[int]) -> Curve:
    """Of so many stacks of normal entries in float32."""

    def points(seed: int) -> Iterator[tuple[float, list[Case]]]:
        family, seeds = _small(subject), range(seed, seed + draws)
        fixed: dict[str, Any] = {"n": [entries], "family": ["normal"], "dtype": ["float32"], "seed": seeds}
        return ((P, [family.case(row) for row in family.space.every(P=[P], **fixed)]) for P in at)

    return Curve("P", label, points, draws if draws > 1 else 0)


def _result(claim: Claim) -> tuple[Study, ...]:
    subject, symbol = _SUBJECTS[claim.subject], claim.quantity.name
    family, small, name = _family(subject), _small(subject), claim.name.removeprefix("dense.")
    sizes: dict[str, Any] = {"P": ranks, "n": words, **_algorithms(subject)}
    if symbol == "misplaced_words":
        grid = family.every(**sizes, family=["places"])
        return family.studies(_misplaced, name, grid=grid, corpus=None, enumerated=_SIZES)
    if symbol == "wrong_sums":
        return family.studies(
            _wrong_sums,
            name,
            grid=family.every(**sizes, family=["digits"], first=lambda P: range(0, P, WINDOW)),
            corpus=None,
            enumerated=f"{_SIZES}; digits to base 4 tell every rank's share in every entry",
        )
    if symbol == "relative_sum_error":
        return small.studies(
            _relative_error,
            name,
            mutate=nudged,
            extremal=small.of([row for row in TEXTBOOK if row["family"] == "halfway"]),
            curves=[_normal(subject, 1, 12, "float32, normal entries", (2, 3, 4, 6, 8, 12, 16, 24, 32))],
        )
    if symbol == "differing":
        return small.studies(_differing, name)
    curve = _normal(subject, _DRAWN_AT, 1, f"float32, {_DRAWN_AT} normal entries", _RANKS_DRAWN)
    return small.studies(_out_of_order, name, curves=[curve])


_CLAIMS = [claim for claim in claims().of_column("dense").values() if not claim.asked_of_all]
EXPERIMENTS = studies(
    *(study for claim in _CLAIMS for study in (_traffic if claim.quantity.name in _READ else _result)(claim))
)
