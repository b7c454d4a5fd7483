"""Precision and the order of sums: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import defined
from commbounds.theory.precision import ordering, quantised, split
from commbounds.theory.precision.sums import SUMS

_DEFINITIONS = defined(
    "precision",
    {
        "mixed_precision_allreduce": "Written from the documented schedules, message by message, with every rounding "
        "and every sum in fractions: to nearest, ties to even, or by uniform numbers, which are given or drawn. The "
        "result of every rank and the bytes of every phase.",
        "simulated_allreduce": "Written from the documented schedules, sum by sum, with every rounding in fractions: "
        "what every rank holds. Of stochastic rounding, that it lies between what is rounded down and up everywhere: "
        "operations are monotone; the law of the roundings is judged by other claims.",
        "split_computation": "Written operation by operation, with every sum, product and quotient in fractions. What "
        "is made of exponentials, and what is not rounded to a format, within an allowance for those of the machine.",
    },
)

CLAIMS: tuple[Claim, ...] = (*SUMS, *ordering.CLAIMS, *quantised.CLAIMS, *split.CLAIMS, *_DEFINITIONS)
