"""Test vectors: sparse all-reduces."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.sparse.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, held_to, ranks
from commbounds.verify.vectors.inputs import array


def _sparse_stacks() -> Iterator[tuple[str, str, Array, int]]:
    """Name, why, stack and k."""
    for P, n, dtype, why in SIZES:
        yield "", why, ranks(P, n, dtype, 7), min(2, n)
    yield "ties", "All magnitudes are equal: the lowest indices win everywhere.", array(
        [[1, -1, 1, -1, 1], [-1, -1, 1, 1, 1], [1, 1, 1, 1, -1]], "float32"), 2  # fmt: skip
    yield "cancellation", "The ranks' largest entries cancel: the sum is zero where both selected.", array(
        [[5, 1, 0, 0], [-5, 0, 2, 0], [0, 0, 2, 1], [0, 1, 0, 1]], "float32"), 1  # fmt: skip
    yield "few nonzeros", "Fewer nonzeros than k: zeros fill up, or do not, by the method.", array(
        [[0, 0, 3, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, -2, 0, 0, 0, -0.0]], "float32"), 3  # fmt: skip
    yield "k = n", "Everything is selected.", ranks(3, 4, "float32", 8), 4
    small = float(np.finfo(np.float32).smallest_subnormal)
    yield "subnormals", "Magnitudes below the smallest normal number are compared all the same.", array(
        [[small, -2 * small, 0, 0], [0, small, -small, 0]], "float32"), 1  # fmt: skip


def _sparse(**options: tuple[Any, ...]) -> list[VectorCase]:
    """Every stack with the first of all options, and two sizes with every option."""
    first = {name: values[0] for name, values in options.items()}
    cases = [case_of(why, {"stack": stack}, {"k": k, **first}, about=about)
             for about, why, stack, k in _sparse_stacks()]  # fmt: skip
    for name, values in options.items():
        for value in values[1:]:
            for P, n, k in ((3, 7, 2), (8, 13, 3)):
                why = f"The option {name}={value}."
                cases.append(case_of(why, {"stack": ranks(P, n, "float32", 9)}, {"k": k, **first, name: value}))
    bad = case_of("k must not exceed n.", {"stack": ranks(2, 2, "float32")}, {"k": 3}, refused=True)
    return [*cases, bad]


def _spardl() -> list[VectorCase]:
    cases = _sparse(synchronise=("r-sag",))
    for P, n, k, more, why in (
        (4, 12, 6, {"teams": 2}, "Two teams of two agree by recursive doubling."),
        (8, 16, 6, {"teams": 4}, "Four teams of two."),
        (6, 12, 6, {"teams": 3, "synchronise": "b-sag"}, "Three teams gather whole blocks."),
        (6, 12, 6, {"teams": 3, "synchronise": "b-sag", "sag_entries": 1}, "Three teams gather one entry of a block."),
        (4, 4, 1, {}, "k is below the number of blocks: nothing is sent, and the update is zero."),
    ):
        cases.append(case_of(why, {"stack": ranks(P, n, "float32", 10)}, {"k": k, **more}))
    odd = case_of("Two teams do not divide three ranks.", {"stack": ranks(3, 6, "float32")}, {"k": 2, "teams": 2},
                  refused=True)  # fmt: skip
    return [*cases, odd]


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    gathers = ("bruck", "ring", "recursive-doubling")
    cases = {
        "topk_allgather": lambda: _sparse(allgather=gathers),
        "topk_dsa": lambda: _sparse(switch=("model", "code", "never"), allgather=("ring", "bruck")),
        "gtopk_allreduce": lambda: _sparse(putback=("conserving", "published")),
        "spardl_allreduce": _spardl,
        "gaussiank_allreduce": lambda: _sparse(adapt=("none", "vgg", "lstm"), allgather=gathers),
    }
    return held_to(DEFINITIONS, **cases)
