"""Collectives that compress for all workers together, in the one form that error feedback needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_options
from commbounds.collectives.arctopk.allreduce import arctopk_allreduce
from commbounds.collectives.arctopk.steps import checked_rank
from commbounds.collectives.oktopk.allreduce import oktopk_allreduce
from commbounds.collectives.sparse.topk_allgather import topk_allgather
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import checked_count, hold_python_numbers


@dataclass(frozen=True, eq=False)
class Aggregated:
    """What an aggregator makes of the workers' vectors.

    Parameters
    ----------
    mean : array
        The average over the workers of what it took of them.
    sent : (P, ...) array
        What it took of every worker.
    state : Any
        What it remembers.
    traffic : Traffic
        In words.
    """

    mean: Array
    sent: Array
    state: Any
    traffic: Traffic


@dataclass(frozen=True)
class ArcRows:
    """ARC-Top-K: the K rows whose average is largest, as a sketch of `rank` columns sees it.

    Parameters
    ----------
    K, rank : int
        As in `arctopk_allreduce`. A vector of n weights is n rows of one column.
    options : mapping
        Further options of it.
    """

    K: int
    rank: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        checked_count("K", self.K)
        checked_rank(self.rank)
        checked_options(self.options, arctopk_allreduce, ("K", "rank", "rng"))

    def __call__(self, stack: Array, state: Any, rng: np.random.Generator | None) -> Aggregated:
        """Of the workers' vectors or matrices."""
        matrices = stack.reshape(*stack.shape[:2], -1)
        result, traffic = arctopk_allreduce(matrices, self.K, self.rank, rng, **self.options)
        sent, ranks = np.zeros_like(matrices), np.arange(len(matrices))[:, None]
        sent[ranks, result.rows] = matrices[ranks, result.rows]
        return Aggregated(result.mean[0].reshape(stack.shape[1:]), sent.reshape(stack.shape), None, traffic)


@dataclass(frozen=True)
class GatheredTopK:
    """Every worker's k largest entries, gathered by all.

    Parameters
    ----------
    k : int
        As in `topk_allgather`.
    """

    k: int

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        checked_count("k", self.k)

    def __call__(self, stack: Array, state: Any, rng: np.random.Generator | None) -> Aggregated:
        """Of the workers' vectors."""
        result, traffic = topk_allgather(stack, self.k)
        return Aggregated(result.update / stack.dtype.type(len(stack)), stack - result.residual, None, traffic)


@dataclass(frozen=True)
class OkTopK:
    """Ok-Topk: about k entries of the sum, each from the workers whose entries passed their thresholds.

    Parameters
    ----------
    k : int
        As in `oktopk_allreduce`.
    options : mapping
        Further options of it.
    """

    k: int
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        checked_count("k", self.k)
        checked_options(self.options, oktopk_allreduce, ("k", "state"))

    def __call__(self, stack: Array, state: Any, rng: np.random.Generator | None) -> Aggregated:
        """Of the workers' vectors."""
        result, after, traffic = oktopk_allreduce(stack, self.k, state, **self.options)
        sent = np.zeros_like(stack)
        for row, vector, indices in zip(sent, stack, result.selected, strict=True):
            row[indices] = vector[indices]
        return Aggregated(result.update / stack.dtype.type(len(stack)), sent, after, traffic)
