"""Test vectors of shipped collectives."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from commbounds.collectives import shipped_collectives as shipped
from commbounds.verify.experiments.shipped_collectives.definitions import stack_like

OTHER_SIZES = {
    "quickreduce": "1, 2, 4 or 8 ranks, which share out the registers of a thread",
    "torchcomms_reduce_scatter": "a multiple of the ranks, each of which ends with as many sums",
}
"""Collectives whose ranks and entries are not those of every vector, and what they take."""


def subjects() -> list[Any]:
    """What has test vectors here."""
    from commbounds.verify.vectors.collectives import called as calling
    from commbounds.verify.vectors.collectives import case_of, collective

    by_hand: dict[str, list[tuple[str, dict[str, Any], bool]]] = {
        "quickreduce": [
            *(("Codes of another width.", {"width": width, "tile": 512}, False) for width in (4, 6)),
            ("A width that there is not.", {"width": 5}, True),
        ],
        "flashinfer_allreduce": [("A block that is no multiple of the group.", {"group": 4, "block": 6}, True)],
        "torchft_allreduce": [
            ("Integers, and the mean.", {"columns": 5, "native": False, "mean": True}, False),
            ("Columns that do not divide.", {"columns": 3}, True),
        ],
        "quantization_hook": [("Channels, of which the last is filled.", {"channel": 4}, False)],
        "nccl_sum": [("Two bits of significand.", {"element": "e5m2"}, False)],
        "torchcomms_reduce_scatter": [
            ("A key of more than 32 bits.", {"key": 2**40 + 3}, False),
            ("A key of more than 64 bits.", {"key": 2**64}, True),
        ],
        "loongforge_hook": [
            ("Both errors fed back.", {"rounds": 5, "group": 2, "feedback": "both"}, False),
            ("A group that is no power of two.", {"group": 3}, True),
        ],
    }
    standard: dict[str, dict[str, Any]] = {
        "quickreduce": {"tile": 512},
        "flashinfer_allreduce": {"group": 5, "block": 20},
        "torchft_allreduce": {"columns": 1},
        "quantization_hook": {},
        "nccl_sum": {},
        "torchcomms_reduce_scatter": {"key": 1},
        "loongforge_hook": {"group": 4},
    }

    def sizes_of(name: str) -> tuple[tuple[int, int], ...]:
        if name == "torchcomms_reduce_scatter":
            return (1, 10), (2, 10), (4, 12), (5, 15)
        return (1, 10), (2, 10), (4, 10), (8, 5) if name == "quickreduce" else (5, 3)

    def cases(name: str) -> Iterator[Any]:
        plan = [("As by default.", standard[name], False), *by_hand[name]]
        for number, (why, given, refused) in enumerate(plan):
            for P, n in sizes_of(name) if not refused else ((2, 10),):
                if P in (1, 2) or given == standard[name]:
                    stack = stack_like("normal", P, n, number)
                    yield case_of(why if P > 1 else f"{why} One rank.", {"stack": stack}, given, refused=refused)
        ends = {"blocks of all sizes": "Blocks across the ends of float16.", "zeros": "Zeros of both signs."}
        for data, why in ends.items():
            yield case_of(why, {"stack": stack_like(data, 2, 20, 3)}, standard[name], about=data)

    return [
        collective(name, partial(cases, name), calling(function, "result", "traffic"), "bytes")
        for name, function in shipped.COLLECTIVES.items()
    ]
