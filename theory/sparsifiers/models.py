"""What certificates about sparsifiers prove."""

from __future__ import annotations

from typing import Any

import sympy as sp

from commbounds.theory.model import Goal, Model, by_claim
from commbounds.theory.quantities import k, n

_kept, _rest = sp.symbols("kept rest", nonnegative=True)


def _topk(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal(
            "contraction",
            bound * (_kept + _rest) - _rest,
            given={"each kept square >= each other": (n - k) * _kept - k * _rest},
            positive={"n": n},
        ),
    )


MODELS = by_claim(
    Model(
        claim="sparsifiers.topk.contraction",
        words="`kept` is the sum of the k largest squares, `rest` that of the n - k others, which is the squared "
        "error. Each of the k is at least each of the others: summed over all k (n - k) pairs, (n - k) kept >= k rest. "
        "The claim, times the squared norm kept + rest > 0.",
        scope="every x in R^n, every n >= k >= 1",
        goals=_topk,
        tie=("sparsifiers.topk.contraction",),
    ),
)
