"""Refuted claims of oktopk at their smallest counterexamples: what the cases there are made with."""

import numpy as np
from refutation_cases import rows

from commbounds.verify.experiments.oktopk.cases import given
from commbounds.verify.study import Case


def quarter_of_owners(at):
    """A winner on every rank, all in the region of the first quarter of the ranks, and small entries in all others."""
    P, i = 4 * 2 ** at["j"], at["i"]
    stack = np.zeros((P, 4 * P * i * P))
    width = stack.shape[1] // P
    for rank in range(P):
        for owner in range(P // 4):
            stack[rank, owner * width + rank : owner * width + 4 * i : P] = 1.0
    return stack


CASES = {
    "oktopk.balance.quarter_as_read": (
        {"cuts": "even", "balance": "4x-mean", "allgather": "recursive-doubling"},
        quarter_of_owners,
    ),
    "oktopk.sgd.assumption": (lambda at: {"P": 2, "n": 2, "k": 1, "steps": at["t"], "B": 1024, "tau_prime": 1}, None),
    "oktopk.sgd.iterate_raw": (
        {"P": 1, "n": 2, "k": 1, "steps": 2, "tau_prime": 1, "tau": 2, "accumulate": "raw", "halved": True},
        None,
    ),
    "oktopk.sent.unconditional": ({"cuts": (0, 2, 4)}, rows([0, 0, 0.25, 0.125], [-1, -0.5, 0, 0])),
    "oktopk.received.unconditional": ({}, rows([0, 0, 1], [0.5, 0, 0])),
    "oktopk.both.as_read": ({"cuts": (0, 2, 4)}, rows([1, 0, 0.25, 0], [0, 1, 0, 0.125])),
    "oktopk.sent.reused_threshold": ({"cuts": "even", "thresholds": (0.4, 0.9)}, lambda at: np.ones((2, at["n"]))),
    "oktopk.boundaries.mean_of_quantiles": ({}, rows([0, 0, 1], [0.5, 0, 0])),
    "oktopk.lower.any_vectors": ({}, lambda at: np.zeros((at["P"], 3))),
    "oktopk.lower.every_rank": ({"k": 1, "cuts": (0, 1, 3), "balance": "never"}, rows([1, 0, 0], [0, -0.5, 0])),
    "oktopk.threshold.ties": ({}, lambda at: np.ones((1, at["n"]))),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""


def case_of(name, settings, more, stack):
    """The case of a claim about one all-reduce, of float32 with cuts of its own; or about descents, as anywhere."""
    if stack is None or name.startswith("oktopk.sgd"):
        return Case({**settings, **more}, stack)
    case = given(tuple(map(tuple, stack.tolist())), **{"k": settings.get("k"), **more})
    return Case(case.settings, stack.astype(np.float32))
