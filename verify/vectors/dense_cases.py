"""The cases of the classical collectives and of the sparse all-reduces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives import (
    COLLECTIVES,
    allgather,
    allgatherv,
    gather_blocks,
    gaussiank_allreduce,
    gtopk_allreduce,
    reduce_scatter,
    spardl_allreduce,
    topk_allgather,
    topk_dsa,
)
from commbounds.verify.vectors.case import Case, Subject
from commbounds.verify.vectors.collectives import SIZES, called, case_of, collective, full_sizes, ranks, special_stacks
from commbounds.verify.vectors.inputs import array
from commbounds.verify.vectors.numbers import Record

__all__ = ["subjects"]

Array = NDArray[Any]

ALLREDUCES = ("ring_allreduce", "recursive_doubling_allreduce", "rabenseifner_allreduce", "butterfly_allreduce")
ALGORITHMS = ("ring", "recursive-doubling", "bruck")


def _sums() -> list[Case]:
    cases = list(full_sizes())
    for number, (why, stack, flags) in enumerate(special_stacks()):
        refused = "refused" in flags
        cases.append(case_of(why, {"stack": stack}, about=f"special {number}", flags=flags, refused=refused))
    return cases


def _scattered() -> list[Case]:
    cases = [case for algorithm in ALGORITHMS for case in full_sizes({"algorithm": algorithm})]
    unknown = case_of("There is no such algorithm.", {"stack": ranks(2, 2, "float32")}, {"algorithm": "tree"},
                      refused=True)  # fmt: skip
    return [*cases, unknown]


def _gathered() -> list[Case]:
    return [
        case_of(why, {"blocks": ranks(P, max(1, n // 4), dtype)}, {"algorithm": algorithm})
        for algorithm in ALGORITHMS
        for P, n, dtype, why in SIZES
        if n != 3
    ]


_UNEVEN: tuple[tuple[tuple[int, ...], str], ...] = (
    ((3,), "One rank: nothing is sent."),
    ((2, 0), "One of two blocks is empty; its message is sent all the same."),
    ((0, 0, 0), "All blocks are empty."),
    ((1, 4, 0), "Three ranks with blocks of different lengths."),
    ((2, 1, 3, 1), "Four ranks."),
    ((1, 0, 2, 5, 1), "Five ranks, no power of two."),
    ((0, 3, 1, 0, 2, 1, 4, 1), "Eight ranks."),
)


def _gathered_uneven() -> list[Case]:
    cases = []
    for algorithm in ALGORITHMS:
        for sizes, why in _UNEVEN:
            blocks = [ranks(1, max(size, 1), "float32", 50 + r)[0, :size] for r, size in enumerate(sizes)]
            title = f"blocks of {'-'.join(map(str, sizes))}"
            flags = ("P=1",) if len(sizes) == 1 else ()
            cases.append(case_of(why, {"blocks": blocks}, {"algorithm": algorithm}, about=title, flags=flags))
    return cases


def _block_sizes() -> list[Case]:
    wide = ((2**31, 5, 2**40), "Sizes beyond 32 bits; counts beyond 2^53 would be text.")
    return [
        case_of(why, {"sizes": list(sizes)}, {"algorithm": algorithm}, about=f"sizes {list(sizes)}")
        for algorithm in ALGORITHMS
        for sizes, why in (*_UNEVEN, wide)
    ]


# --- sparse ------------------------------------------------------------------------------------------------------


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


def _sparse(**options: tuple[Any, ...]) -> list[Case]:
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


def _spardl() -> list[Case]:
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


def _gaussiank_run(case: Case) -> Any:
    result, traffic = gaussiank_allreduce(**case.inputs, **case.parameters)
    held = {"update": result.update, "residual": result.residual, "selected": result.selected}
    if case.parameters["k"] == case.inputs["stack"].shape[1]:  # the quantile is 0, and no library decides its last bit
        held["thresholds"] = result.thresholds
    return {"result": Record("GaussiankResult", held), "traffic": traffic}


def subjects() -> list[Subject]:
    """Classical and sparse collectives."""
    whole = ("result", "traffic")
    gathers = ("bruck", "ring", "recursive-doubling")
    return [
        *(collective(name, _sums, called(COLLECTIVES[name], *whole)) for name in ALLREDUCES),
        collective("reduce_scatter", _scattered, called(reduce_scatter, "blocks", "traffic")),
        collective("allgather", _gathered, called(allgather, *whole)),
        collective("allgatherv", _gathered_uneven, called(allgatherv, *whole)),
        collective("gather_blocks", _block_sizes, called(gather_blocks, "traffic")),
        collective("topk_allgather", lambda: _sparse(allgather=gathers), called(topk_allgather, *whole)),
        collective("topk_dsa", lambda: _sparse(switch=("model", "code", "never"), allgather=("ring", "bruck")),
                 called(topk_dsa, *whole)),
        collective("gtopk_allreduce", lambda: _sparse(putback=("conserving", "published")),
                 called(gtopk_allreduce, *whole)),
        collective("spardl_allreduce", _spardl, called(spardl_allreduce, *whole)),
        collective("gaussiank_allreduce", lambda: _sparse(adapt=("none", "vgg", "lstm"), allgather=gathers),
                 _gaussiank_run),
    ]  # fmt: skip
