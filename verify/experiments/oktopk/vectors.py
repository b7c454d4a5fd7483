"""Test vectors: Ok-Topk, and descents around it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import CONTROLLERS
from commbounds.verify.experiments.oktopk.definitions import DEFINITIONS
from commbounds.verify.stack_families import stack as built
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, descent_case, held_to, ranks
from commbounds.verify.vectors.inputs import array


def _oktopk_descents() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        yield descent_case(P, n, dtype, why, k=2, step_size=0.5)
    yield descent_case(
        3, 6, "float32", "Residuals are kept without the step size.", k=2, step_size=0.5, accumulate="raw"
    )
    options = {"boundaries": "even", "tau_prime": 2}
    yield descent_case(3, 6, "float32", "Thresholds are found anew every second step.", k=2, step_size=0.25,
                   options=options)  # fmt: skip


def _one(P: int, n: int, k: int, dtype: str, why: str, **more: Any) -> VectorCase:
    stack = ranks(P, n, dtype, 20)
    case = case_of(why, {"acc": stack}, {"k": k, **more})
    return VectorCase(case.name, why, {"iterations": [stack]}, case.parameters, {}, case.flags)


def _several(about: str, why: str, stacks: list[Array], k: int, **more: Any) -> VectorCase:
    case = case_of(why, {"acc": stacks[0]}, {"k": k, **more}, about=about)
    return VectorCase(case.name, why, {"iterations": stacks}, case.parameters, {}, case.flags)


def _oktopk_cases() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        yield _one(P, n, min(2, n), dtype, why)
    for name, values in {
        "boundaries": ("global-count", "even"),
        "balance": ("never", "4x-mean"),
        "allgather": ("ring", "recursive-doubling"),
        "threshold": ("strict",),
        "rotation": (False,),
        "bucket": (2,),
    }.items():
        for value in values:
            yield _one(5, 12, 3, "float32", f"The option {name}={value}.", **{name: value})
    turning = [ranks(4, 12, "float32", 21 + t) for t in range(4)]
    yield _several("four iterations", "Thresholds of the first iteration decide in the next ones.", turning, 3)
    yield _several("renewed", "Thresholds are found anew every second time, boundaries every third.", turning, 3,
                   tau=3, tau_prime=2)  # fmt: skip
    yield _several("controlled", "Thresholds follow the counts.", turning, 3, controller=CONTROLLERS["bert"])
    yield _several("raised at once", "A threshold that lets too many pass is raised within the iteration.",
                   [turning[0], 4 * turning[1], turning[2]], 3, controller=CONTROLLERS["vgg"])  # fmt: skip
    for family, P, n, k in (
        ("tight6k", 4, 16, 4), ("worst received", 3, 16, 3), ("crowded cut", 3, 12, 3), ("own regions", 4, 16, 4),
        ("one rank", 3, 9, 2),
    ):  # fmt: skip
        yield _several(family, f"The construction {family!r} of extremal traffic.", [built(family, P, n, k)], k)
    flat = array([[1, -1, 1, -1], [1, 1, 1, 1]], "float32")
    yield _several("ties", "All magnitudes are equal, and all of them pass.", [flat], 2)
    yield _several("ties, strict", "All magnitudes are equal, and none of them passes.", [flat], 2, threshold="strict")
    yield _several("cancellation", "A sum that is zero is no winner.", [array([[4, 0, 1], [-4, 2, 0]], "float32")], 1)
    zero = [np.zeros((3, 5), np.float32)]
    yield _several("zeros", "Nothing passes, and even the boundaries are made up.", zero, 2)


def _boundary_cases() -> Iterator[VectorCase]:
    chosen: tuple[tuple[str, list[list[int]], int], ...] = (
        ("One rank: one region.", [[1, 4]], 6),
        ("Two ranks.", [[0, 1, 2, 9], [4, 5, 6, 7]], 12),
        ("A rank that selected nothing proposes even regions.", [[], [3, 5, 6], [0, 1, 8]], 10),
        ("Nobody selected anything.", [[], [], []], 7),
        ("Fewer entries than ranks: some regions are empty.", [[0], [1], [0], [2], [2]], 3),
        ("All entries lie in one corner.", [[0, 1, 2, 3]] * 4, 40),
    )
    for rule in ("mean-of-quantiles", "global-count", "even"):
        for why, selected, n in chosen:
            given = [np.array(indices, np.int64) for indices in selected]
            about = f"P={len(selected)}, {sum(map(len, selected))} selected"
            flags = ("P=1",) if len(selected) == 1 else ()
            yield case_of(why, {"selected": given}, {"n": n, "rule": rule}, about=about, flags=flags)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return held_to(
        DEFINITIONS, OkTopkSGD=_oktopk_descents, oktopk_allreduce=_oktopk_cases, oktopk_boundaries=_boundary_cases
    )


OTHER_SIZES = {"oktopk_boundaries": "indices"}
"""Collectives whose ranks and entries are not those of every vector, and what they take."""
