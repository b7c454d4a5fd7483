"""Test vectors: ARC-Top-K."""

from collections.abc import Iterator
from fractions import Fraction

from commbounds.verify.experiments.arctopk.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import case_of, held_to
from commbounds.verify.vectors.inputs import array, ordinary


def _arc_cases() -> Iterator[VectorCase]:
    for P, m, n, K, rank, dtype, more, why in (
        (1, 4, 2, 2, 1, "float32", {}, "One rank: nothing is sent."),
        (2, 4, 3, 2, 2, "float32", {}, "Two ranks."),
        (3, 5, 2, 1, 1, "float64", {}, "Three ranks, one row."),
        (4, 6, 4, 3, 4, "float32", {}, "Four columns of the sketch."),
        (5, 3, 1, 3, 1, "float32", {}, "All rows: the mean."),
        (3, 6, 2, 2, 2, "float32", {"sketch_format": "bfloat16"}, "Sketches are rounded to bfloat16 when sent."),
        (3, 6, 2, 2, 2, "float32", {"agree": False}, "Every rank adds the sketches in an order of its own."),
        (8, 7, 1, 2, 1, "float32", {}, "Vectors: the sketch is one number."),
    ):
        stack, sketch = ordinary(40 + P, P * m * n, dtype).reshape(P, m, n), ordinary(90 + P, n * rank, "float64")
        parameters = {"K": K, "rank": rank, **more}
        title = f"P={P}, m={m}, n={n}, {dtype}"
        given = case_of(why, {"gradients": stack}, parameters, {"sketch": sketch.reshape(n, rank)})
        yield VectorCase(f"{title}, {given.name}", why, given.inputs, parameters, given.randomness, given.flags)
    ties = array([[[1.0], [-1.0], [1.0]], [[1.0], [-1.0], [1.0]]], "float32")
    yield case_of("Equal scores: the lowest rows.", {"gradients": ties}, {"K": 2, "rank": 1}, {"sketch": [[2.0]]},
                  about="ties")  # fmt: skip
    gone = array([[[3.0], [1.0], [-2.0]], [[-3.0], [1.0], [-2.0]]], "float32")
    yield case_of("The ranks' largest rows cancel, and are not taken.", {"gradients": gone}, {"K": 1, "rank": 1},
                  {"sketch": [[1.0]]}, about="cancellation")  # fmt: skip


def _row_counts() -> Iterator[VectorCase]:
    for m, share, rule, why in (
        (9, 0.2, "ceil", "Rounded up."),
        (9, 0.2, "floor", "Rounded down."),
        (3, 0.1, "floor", "At least one row."),
        (10, Fraction(1, 5), "ceil", "An exact share of an exact number."),
        (5, 0.2, "ceil", "The float 0.2 lies above 1/5, and its product with 5 is rounded to 1."),
        (7, 1, "ceil", "All rows."),
        (1, 0.5, "ceil", "One row."),
        (30, 0.1, "ceil", "The float 0.1 times 30 is rounded to 3."),
    ):
        yield case_of(why, {}, {"m": m, "share": share, "rule": rule}, about=f"{share} of {m}")
    yield case_of("A share of zero is refused.", {}, {"m": 3, "share": 0}, about="zero", refused=True)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    arcs = held_to(DEFINITIONS, arctopk_allreduce=_arc_cases)
    return [*arcs, *held_to(DEFINITIONS, "", row_count=_row_counts)]


OTHER_SIZES = {"arctopk_allreduce": "matrices"}
"""Collectives whose ranks and entries are not those of every vector, and what they take."""
