"""The cases of Ok-Topk, of ARC-Top-K and of quantised all-reduces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives import (
    CONTROLLERS,
    OkTopkState,
    arctopk_allreduce,
    hierarchical_quantised_allreduce,
    oktopk_allreduce,
    oktopk_boundaries,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    row_count,
    twostep_quantised_allreduce,
)
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer
from commbounds.verify.stack_families import stack as built
from commbounds.verify.vectors.case import Case, Subject
from commbounds.verify.vectors.collectives import SIZES, called, case_of, collective, every_round, ranks
from commbounds.verify.vectors.inputs import array, ordinary, uniforms

__all__ = ["subjects"]

Array = NDArray[Any]

# --- Ok-Topk -----------------------------------------------------------------------------------------------------


def _one(P: int, n: int, k: int, dtype: str, why: str, **more: Any) -> Case:
    stack = ranks(P, n, dtype, 20)
    case = case_of(why, {"acc": stack}, {"k": k, **more})
    return Case(case.name, why, {"iterations": [stack]}, case.parameters, {}, case.flags)


def _several(about: str, why: str, stacks: list[Array], k: int, **more: Any) -> Case:
    case = case_of(why, {"acc": stacks[0]}, {"k": k, **more}, about=about)
    return Case(case.name, why, {"iterations": stacks}, case.parameters, {}, case.flags)


def _oktopk_cases() -> Iterator[Case]:
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


def _iterated(case: Case) -> Mapping[str, Any]:
    state: OkTopkState | None = None
    done = []
    for stack in case.inputs["iterations"]:
        result, state, traffic = oktopk_allreduce(stack, state=state, **case.parameters)
        done.append({"result": result, "state": state, "traffic": traffic})
    return every_round(done)


def _boundary_cases() -> Iterator[Case]:
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


# --- ARC-Top-K ---------------------------------------------------------------------------------------------------


def _arc_cases() -> Iterator[Case]:
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
        yield Case(f"{title}, {given.name}", why, given.inputs, parameters, given.randomness, given.flags)
    ties = array([[[1.0], [-1.0], [1.0]], [[1.0], [-1.0], [1.0]]], "float32")
    yield case_of("Equal scores: the lowest rows.", {"gradients": ties}, {"K": 2, "rank": 1}, {"sketch": [[2.0]]},
                  about="ties")  # fmt: skip
    gone = array([[[3.0], [1.0], [-2.0]], [[-3.0], [1.0], [-2.0]]], "float32")
    yield case_of("The ranks' largest rows cancel, and are not taken.", {"gradients": gone}, {"K": 1, "rank": 1},
                  {"sketch": [[1.0]]}, about="cancellation")  # fmt: skip


def _row_counts() -> Iterator[Case]:
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


# --- quantised ---------------------------------------------------------------------------------------------------


def _quantised(**more: Any) -> Iterator[Case]:
    for P, n, dtype, why in SIZES:
        quantiser = GroupQuantizer(4, group=3, metadata=dtype)
        yield case_of(why, {"stack": ranks(P, n, dtype, 30)}, {"quantiser": quantiser, **more})
    for about, quantiser, why in (
        ("bfloat16", GroupQuantizer(8, group=4, metadata="bfloat16"), "Scales and zero points in bfloat16."),
        ("spikes", GroupQuantizer(2, group=4, metadata="bfloat16", spikes=True), "The ends of a group go apart."),
        ("one bit", GroupQuantizer(1, group=8), "Two levels."),
    ):
        yield case_of(why, {"stack": ranks(3, 8, "float32", 31)}, {"quantiser": quantiser, **more}, about=about)
    yield case_of("All zero.", {"stack": np.zeros((2, 5), np.float32)}, {"quantiser": GroupQuantizer(4, 4), **more},
                  about="zeros")  # fmt: skip


def _twostep_cases() -> Iterator[Case]:
    yield from _quantised()
    second = {"quantiser": GroupQuantizer(3, 4), "second": GroupQuantizer(6, 2)}
    yield case_of("Two quantisers.", {"stack": ranks(3, 8, "float32", 32)}, second, about="two quantisers")
    own = {"quantiser": GroupQuantizer(3, 4), "owner_reads_its_code": False}
    yield case_of("Owners keep their sums: ranks disagree.", {"stack": ranks(3, 8, "float32", 32)}, own)
    drawn = {"uniforms": uniforms(33, 2 * 3 * 8, "float32").reshape(2, 3, 8)}
    yield case_of("Injected uniforms: first those of the inputs, then those of the sums, by rank.",
                  {"stack": ranks(3, 8, "float32", 32)}, {"quantiser": StochasticGroupQuantizer(3, 4)}, drawn,
                  about="stochastic")  # fmt: skip


def _twostep(case: Case) -> Mapping[str, Any]:
    if not case.randomness:
        return _twostep_as_it_is(case)
    drawn = case.randomness["uniforms"]
    found = twostep_quantised_allreduce(**case.inputs, **case.parameters, draw=lambda stage, rank: drawn[stage, rank])
    return dict(zip(("result", "traffic"), found, strict=True))


_twostep_as_it_is = called(twostep_quantised_allreduce, "result", "traffic")


def _hierarchical_cases() -> Iterator[Case]:
    quantiser = GroupQuantizer(4, group=3)
    for P, n, node, why in (
        (1, 4, 1, "One rank."),
        (2, 6, 1, "Nodes of one rank: only the exchange."),
        (3, 7, 3, "One node: no exchange."),
        (4, 8, 2, "Two nodes of two."),
        (6, 3, 3, "Fewer entries than ranks."),
        (8, 13, 2, "Four nodes of two."),
        (6, 13, 2, "Three nodes of two."),
    ):
        yield case_of(why, {"stack": ranks(P, n, "float32", 34)}, {"quantiser": quantiser, "node": node})
    apart = {"quantiser": quantiser, "node": 2, "both_read_both": False}
    yield case_of("A side keeps its own sum: nodes disagree.", {"stack": ranks(4, 8, "float32", 34)}, apart)
    yield case_of("Two does not divide three.", {"stack": ranks(3, 4, "float32")}, {"quantiser": quantiser, "node": 2},
                  refused=True)  # fmt: skip


def subjects() -> list[Subject]:
    """Ok-Topk, ARC-Top-K, and quantised all-reduces."""
    whole = ("result", "traffic")
    return [
        collective("oktopk_allreduce", _oktopk_cases, _iterated),
        collective("oktopk_boundaries", _boundary_cases, called(oktopk_boundaries, "boundaries", "traffic")),
        collective("arctopk_allreduce", _arc_cases, called(arctopk_allreduce, *whole)),
        collective("row_count", _row_counts, called(row_count, "rows"), ""),
        collective("twostep_quantised_allreduce", _twostep_cases, _twostep, "bytes"),
        collective("ring_quantised_allreduce", _quantised, called(ring_quantised_allreduce, *whole), "bytes"),
        collective("oneshot_quantised_allreduce", _quantised, called(oneshot_quantised_allreduce, *whole), "bytes"),
        collective("hierarchical_quantised_allreduce", _hierarchical_cases,
                   called(hierarchical_quantised_allreduce, *whole), "bytes"),
    ]  # fmt: skip
