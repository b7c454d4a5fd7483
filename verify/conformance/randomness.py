"""Whether a subject's output depends on its seed: on a few inputs, and on a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import Case
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.subject import Compressor

if TYPE_CHECKING:
    from commbounds.verify.conformance.bench import Bench

__all__ = ["depends_on_seed", "varies"]

_SEEDS = 16
"""Tried for an input; a subject that is random there and gives one output for all of them does so rarely: one that
moves one of n entries with probability q goes unseen with probability (1 - q)^(16 n)."""


def varies(bench: Bench, case: Case, seeds: int = _SEEDS) -> bool:
    """Whether `seeds` seeds gave more than one output at the case's input; False where it does not answer."""
    try:
        first = bench.output(Case(case.x, 0)).tobytes()
        return any(bench.output(Case(case.x, seed)).tobytes() != first for seed in range(1, seeds))
    except Unanswered:
        return False


def depends_on_seed(bench: Bench) -> bool:
    """Whether different seeds gave different outputs on any of a few inputs.

    Short, middling and long ones of all different magnitudes; one whose entries are equal, where ties may be broken
    at random; zeros, to which noise may be added.
    """
    subject = bench.subject
    if isinstance(subject, Compressor) and subject.injectable:
        return True
    rng = bench.rng("randomised")
    for size in (6, 50, 300, 4096):
        x = generic(subject, rng, size)
        if x is None:
            continue
        for row in (x, np.abs(x.ravel()[0]) * np.ones_like(x), np.zeros_like(x)):
            ranks = max(getattr(subject, "ranks", (2,)))
            stack = row if subject.leading == 0 else np.repeat(row[None], ranks, 0)
            # whatever is random for the whole input at once shows at any size: then seeds count, not entries
            seeds = 4 if size > 300 else 4 * _SEEDS if row is x and size == 50 else _SEEDS
            if subject.takes(stack) and varies(bench, Case(stack), seeds):
                return True
    return False
