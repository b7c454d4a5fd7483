"""Test vectors: classical all-reduce, reduce-scatter and all-gather."""

from commbounds.verify.experiments.dense.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, full_sizes, held_to, ranks, special_stacks

ALLREDUCES = ("ring_allreduce", "recursive_doubling_allreduce", "rabenseifner_allreduce", "butterfly_allreduce")


ALGORITHMS = ("ring", "recursive-doubling", "bruck")


def _sums() -> list[VectorCase]:
    cases = list(full_sizes())
    for number, (why, stack, flags) in enumerate(special_stacks()):
        refused = "refused" in flags
        cases.append(case_of(why, {"stack": stack}, about=f"special {number}", flags=flags, refused=refused))
    return cases


def _scattered() -> list[VectorCase]:
    cases = [case for algorithm in ALGORITHMS for case in full_sizes({"algorithm": algorithm})]
    unknown = case_of("There is no such algorithm.", {"stack": ranks(2, 2, "float32")}, {"algorithm": "tree"},
                      refused=True)  # fmt: skip
    return [*cases, unknown]


def _gathered() -> list[VectorCase]:
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


def _gathered_uneven() -> list[VectorCase]:
    cases = []
    for algorithm in ALGORITHMS:
        for sizes, why in _UNEVEN:
            blocks = [ranks(1, max(size, 1), "float32", 50 + r)[0, :size] for r, size in enumerate(sizes)]
            title = f"blocks of {'-'.join(map(str, sizes))}"
            flags = ("P=1",) if len(sizes) == 1 else ()
            cases.append(case_of(why, {"blocks": blocks}, {"algorithm": algorithm}, about=title, flags=flags))
    return cases


def _block_sizes() -> list[VectorCase]:
    wide = ((2**31, 5, 2**40), "Sizes beyond 32 bits; counts beyond 2^53 would be text.")
    return [
        case_of(why, {"sizes": list(sizes)}, {"algorithm": algorithm}, about=f"sizes {list(sizes)}")
        for algorithm in ALGORITHMS
        for sizes, why in (*_UNEVEN, wide)
    ]


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    cases = {
        **dict.fromkeys(ALLREDUCES, _sums),
        "reduce_scatter": _scattered,
        "allgather": _gathered,
        "allgatherv": _gathered_uneven,
        "gather_blocks": _block_sizes,
    }
    return held_to(DEFINITIONS, **cases)


OTHER_SIZES = {"allgather": "blocks, one a rank", "allgatherv": "blocks of lengths of their own"}
"""Collectives whose ranks and entries are not those of every vector, and what they take."""
