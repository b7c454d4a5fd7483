"""Precision and the order of sums: the claims."""

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
        "what every rank holds. Stochastic rounding has to lie between rounding down and up everywhere, as operations "
        "are monotone; other claims test the law of the roundings.",
        "split_computation": "Written operation by operation, with every sum, product and quotient in fractions. "
        "Results of exponentials, and results not rounded to a format, agree within an allowance for the machine's.",
    },
)

CLAIMS: tuple[Claim, ...] = (*SUMS, *ordering.CLAIMS, *quantised.CLAIMS, *split.CLAIMS, *_DEFINITIONS)
