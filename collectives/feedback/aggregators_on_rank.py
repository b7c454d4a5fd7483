"""What a rank does in collectives that compress for all workers together, in the form that error feedback needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.arctopk.allreduce import arctopk_allreduce
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.feedback.aggregators import ArcRows, GatheredTopK, OkTopK
from commbounds.collectives.oktopk.allreduce import oktopk_allreduce
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import Collective
from commbounds.collectives.sparse.topk_allgather import topk_allgather


@dataclass(frozen=True, eq=False)
class RankAggregated:
    """What an aggregator makes of a rank's vector and those of the others: its part of an `Aggregated`.

    Parameters
    ----------
    mean : array
        The average over the ranks of what it took of them.
    sent : array
        What it took of this rank's.
    state : Any
        What it remembers.
    """

    mean: Array
    sent: Array
    state: Any


def checked_aggregator(aggregator: Any) -> Any:
    """`aggregator` itself, if it runs rank by rank.

    Raises
    ------
    TypeError
        It is another than those of `_TWINS`.
    ValueError
        Ranks need not end with the same bits, or its all-reduce runs in one process only.
    """
    if type(aggregator) not in _TWINS:
        raise TypeError(f"aggregator must be one of {', '.join(t.__name__ for t in _TWINS)}, got {aggregator!r}")
    if isinstance(aggregator, ArcRows):
        if not aggregator.options.get("agree", True):
            raise ValueError("ArcRows must let the ranks agree, got agree=False: their weights would part")
        if not isinstance(aggregator.options.get("allreduce", ring_allreduce), Collective):
            raise ValueError(f"allreduce must be one that runs rank by rank, got {aggregator.options['allreduce']!r}")
    return aggregator


def aggregated_on_rank(
    comm: Communicator, aggregator: Any, vector: Array, state: Any, rng: np.random.Generator | None
) -> RankAggregated:
    """What `aggregator` makes of all ranks' vectors; the twin of calling it with their stack.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases of the collective.
    aggregator : ArcRows, GatheredTopK or OkTopK
        The same on all ranks.
    vector : (n,) or (m, n) float32 or float64
        This rank's.
    state : Any
        What it remembered; None at first.
    rng : numpy.random.Generator or None
        Where it draws: in the same state on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `checked_aggregator`, and as the collective; on all ranks.
    """
    checked = comm.agreed(lambda: checked_aggregator(aggregator))
    return _TWINS[type(checked)](comm, checked, vector, state, rng)


def _arc_rows(comm: Communicator, own: ArcRows, vector: Array, state: Any, rng: Any) -> RankAggregated:
    matrix = vector.reshape(len(vector), -1)
    result = arctopk_allreduce.on_rank(comm, matrix, own.K, own.rank, rng, **own.options)
    sent = np.zeros_like(matrix)
    sent[result.rows] = matrix[result.rows]
    return RankAggregated(result.mean.reshape(vector.shape), sent.reshape(vector.shape), None)


def _gathered_topk(comm: Communicator, own: GatheredTopK, vector: Array, state: Any, rng: Any) -> RankAggregated:
    result = topk_allgather.on_rank(comm, vector, own.k)
    return RankAggregated(result.update / vector.dtype.type(comm.size), vector - result.residual, None)


def _oktopk(comm: Communicator, own: OkTopK, vector: Array, state: Any, rng: Any) -> RankAggregated:
    result, after = oktopk_allreduce.on_rank(comm, vector, own.k, state, **own.options)
    sent = np.zeros_like(vector)
    sent[result.selected] = vector[result.selected]
    return RankAggregated(result.update / vector.dtype.type(comm.size), sent, after)


_TWINS: Mapping[type, Callable[..., RankAggregated]] = MappingProxyType(
    {ArcRows: _arc_rows, GatheredTopK: _gathered_topk, OkTopK: _oktopk}
)
