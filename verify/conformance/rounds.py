"""Collectives with memory, such as error feedback, judged by what comes out of several rounds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.subject import AllReduce, AllReduceResult, _require_call

WEIGHTS = (1.0, 1.0, -0.5, 0.0, 0.5)
"""What every rank's array is multiplied by in the rounds; they add up to two."""


def in_rounds(factory: Callable[[int], Any], claims: Sequence[SubjectClaim] = (), **options: Any) -> AllReduce:
    """An all-reduce with memory as a subject: five rounds of a new one, and half the sum of what they give.

    The rounds bring 1, 1, -1/2, 0 and 1/2 times the stack, so that half the sum of their sums is the stack's. Where
    what is lost in a round is brought in the next one, the result is off by half of what is held back in the end;
    where it is forgotten, by half the errors of all rounds.

    Parameters
    ----------
    factory : callable (seed) -> step
        A new one, without memory. ``step(stack)`` is what `AllReduce` has of ``run``: a (P, n) array, or an
        AllReduceResult, whose residuals of the last round are halved as well.
    claims, **options
        As of `AllReduce`.
    """
    _require_call("factory", factory, "seed")

    def run(stack: Array, seed: int) -> AllReduceResult:
        step, total = factory(seed), np.zeros(stack.shape)
        for weight in WEIGHTS:
            answer = AllReduceResult.of(step(stack * stack.dtype.type(weight)))
            total = total + np.asarray(answer.result).astype(np.float64) / 2.0
        held = None if answer.residual is None else np.asarray(answer.residual) / 2.0
        return AllReduceResult(total.astype(stack.dtype), residual=held)

    options.setdefault("name", str(getattr(factory, "__name__", "rounds")))
    return AllReduce(run, claims, **options)
