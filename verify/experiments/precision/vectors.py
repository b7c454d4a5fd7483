"""Test vectors of the all-reduce that adds in one format and sends in another."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds.collectives.precision import SCHEDULES, mixed_precision_allreduce, uniforms_shape

_FORMATS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"wire": "bfloat16"}, "Added and sent in bfloat16."),
    ({"wire": "bfloat16", "accumulate": "float32"}, "Added in float32, sent in bfloat16 at every hop."),
    ({"wire": "float16", "accumulate": "float32", "per_hop": False}, "Partial sums travel in float32."),
    ({"wire": "float8_e4m3fn", "accumulate": "bfloat16"}, "An accumulator in which some sums are rounded twice."),
    ({"wire": "float8_e5m2", "average": "before"}, "Terms are divided before they are added."),
    ({"wire": "float8_e5m2", "average": "after"}, "The sum is divided."),
)


def subjects() -> list[Any]:
    """What has test vectors here."""
    from commbounds.verify.vectors import collectives as made  # it asks this module what it holds
    from commbounds.verify.vectors.inputs import array

    def cases() -> Iterator[Any]:
        for schedule in SCHEDULES:
            for (options, why), (P, n) in zip(_FORMATS, ((1, 3), (2, 5), (3, 7), (4, 8), (5, 3), (6, 5)), strict=True):
                nodes = {"nodes": 1 if P % 2 else 2} if schedule == "hierarchical" else {}
                stack = made.ranks(P, n, "float32", 85)
                yield made.case_of(why, {"stack": stack}, {"schedule": schedule, **nodes, **options})
        halfway = array([[1.0, 1.0, 0.0625, 1.5], [0.0625, 0.1875, 0.001953125, -0.0625]], "float32")
        why = "Sums that lie halfway between neighbours, and below the normal range."
        plain = {"schedule": "ring", "wire": "float8_e4m3fn"}
        yield made.case_of(why, {"stack": halfway}, plain, about="halfway")
        yield made.case_of(
            "Owners that keep their unrounded sums disagree with the others.",
            {"stack": halfway},
            {**plain, "accumulate": "float32", "rounds_own": False},
            about="owners keep theirs",
        )
        uniforms = np.random.default_rng(86).random(uniforms_shape("binomial", 2, 4))
        yield made.case_of(
            "Stochastic roundings by the uniform numbers that are given.",
            {"stack": halfway},
            {"schedule": "binomial", "wire": "float8_e4m3fn"},
            {"uniforms": uniforms},
            about="stochastic",
        )
        yield made.case_of("There is no such schedule.", {"stack": halfway}, {"schedule": "star"}, refused=True)

    run = made.called(mixed_precision_allreduce, "result", "traffic")
    return [made.collective("mixed_precision_allreduce", cases, run, unit="bytes")]
