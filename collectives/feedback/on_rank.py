"""What a rank does in gradient descent with error feedback: the twin of `FeedbackSGD.start` and `FeedbackSGD.step`.

A message counts as many words as it claims: its bits over the width of a weight, rounded up.
"""

import pickle
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.dense.messages import gather_messages
from commbounds.collectives.dense.on_rank import Block, gathered
from commbounds.collectives.feedback.aggregators_on_rank import aggregated_on_rank, checked_aggregator
from commbounds.collectives.feedback.sgd import FeedbackSGD
from commbounds.collectives.feedback.steps import average_of_messages, message_words, moved
from commbounds.collectives.ranks._agreement import agreed_alike
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.compressors import Compressor, FeedbackState, Message
from commbounds.compressors.base import checked_array, checked_kind, checked_rng


@dataclass(frozen=True, eq=False)
class FeedbackSGDRankState:
    """Where the descent is, as one rank sees it.

    Parameters
    ----------
    weights, estimate : array
        As in `FeedbackSGDState`; the same on all ranks.
    worker : FeedbackState or None
        What this rank remembers; None before the first step.
    aggregator : Any
        What the aggregator remembers on this rank.
    t : int
        Steps so far.
    """

    weights: Array
    estimate: Array
    worker: FeedbackState | None = None
    aggregator: Any = None
    t: int = 0


def feedback_sgd_start(comm: Communicator, sgd: FeedbackSGD, weights: ArrayLike) -> FeedbackSGDRankState:
    """The state of this rank before the first step.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    sgd : FeedbackSGD
        The same on all ranks. An aggregator must be one that runs rank by rank: `ArcRows`, `GatheredTopK`, `OkTopK`.
    weights : (n,) or (m, n) float32 or float64
        Finite, the same on all ranks; copied.

    Raises
    ------
    TypeError, ValueError
        As `FeedbackSGD.start`, or the weights differ; on all ranks.
    """

    def checked() -> Array:
        if sgd.aggregator is not None:
            checked_aggregator(sgd.aggregator)
        gather_messages(comm.size, sgd.allgather)
        return sgd.start(weights, comm.size).weights

    own = comm.agreed(checked)
    _agreed_on(comm, sgd, own, 0)
    return FeedbackSGDRankState(own, np.zeros_like(own))


def feedback_sgd_step(
    comm: Communicator,
    sgd: FeedbackSGD,
    gradient: ArrayLike,
    state: FeedbackSGDRankState,
    rng: np.random.Generator | None = None,
) -> FeedbackSGDRankState:
    """One step of this rank, from its gradient at ``state.weights``.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases of the all-reduce or aggregator, none where messages are gathered.
    sgd : FeedbackSGD
        The same on all ranks.
    gradient : array like the weights
        This rank's, in their dtype; finite.
    state : FeedbackSGDRankState
        Not mutated.
    rng : numpy.random.Generator or None
        Required where compressors or aggregators draw; in the same state on all ranks, before the step and after it.

    Raises
    ------
    TypeError, ValueError
        As `FeedbackSGD.step`, or settings, weights or seeds differ between ranks; on all ranks.

    Notes
    -----
    Where workers do not share their randomness they draw from one stream, one after another, as they do in one process:
    the state of the stream is handed from rank to rank, which is not counted. With ``shared`` nobody waits.
    """
    mechanism = sgd.mechanism
    given = comm.agreed(lambda: _checked(sgd, gradient, state))
    _agreed_on(comm, sgd, state.weights, state.t)
    worker = state.worker or comm.agreed(lambda: mechanism.start(given))
    remembered = state.aggregator
    if state.t == 0 and getattr(mechanism, "dense", False):
        total = ring_allreduce.on_rank(comm, given.reshape(-1))
        mean = (total / given.dtype.type(comm.size)).reshape(given.shape)
    elif mechanism.compressor is not None:
        message, worker = _message(comm, sgd, given, worker, rng)
        messages = _gathered_messages(comm, sgd, message, given.dtype)
        mean = average_of_messages(messages, mechanism.compressor, given.shape, given.dtype)
    else:
        before = worker
        vector, momentum = comm.agreed(lambda: mechanism.offered(before, given))
        found = aggregated_on_rank(comm, sgd.aggregator, vector, remembered, rng)
        worker = mechanism.after(before, vector, momentum, found.sent)
        mean, remembered = found.mean, found.state
    estimate, weights = moved(mechanism, sgd.step_size, state.weights, state.estimate, mean)
    return replace(state, weights=weights, estimate=estimate, worker=worker, aggregator=remembered, t=state.t + 1)


def _checked(sgd: FeedbackSGD, gradient: ArrayLike, state: FeedbackSGDRankState) -> Array:
    """What the mechanism compresses of the gradient."""
    array = np.asarray(gradient)
    if array.shape != state.weights.shape:
        raise ValueError(f"gradient must have the shape of the weights, {state.weights.shape}, got {array.shape}")
    if array.dtype != state.weights.dtype:
        raise TypeError(f"gradient must be {state.weights.dtype}, as the weights, got {array.dtype}")
    return sgd.scaled(checked_array(array, array.ndim))


def _agreed_on(comm: Communicator, sgd: FeedbackSGD, weights: Array, t: int) -> None:
    """Nothing, if all ranks are at the same place of the same descent."""
    agreed_alike(
        comm,
        {
            "mechanism": sgd.mechanism,
            "the kind of aggregator": type(sgd.aggregator).__name__,
            "step_size": sgd.step_size,
            "shared": sgd.shared,
            "allgather": sgd.allgather,
            "the number of steps so far": t,
            "the shape and dtype of weights": (weights.shape, weights.dtype.name),
            "the checksum of weights": zlib.crc32(np.ascontiguousarray(weights).tobytes()),
        },
    )


def _message(
    comm: Communicator, sgd: FeedbackSGD, given: Array, worker: FeedbackState, rng: np.random.Generator | None
) -> tuple[Any, FeedbackState]:
    """What this rank sends, and its state after that."""
    compressor = sgd.mechanism.compressor
    own = (
        comm.agreed(lambda: checked_rng(rng)) if isinstance(compressor, Compressor) and compressor.randomised else None
    )
    if own is None:
        return comm.agreed(lambda: sgd.mechanism.step(worker, given))
    if sgd.shared:
        seed = int(own.integers(2**63))
        agreed_alike(comm, {"the shared seed": seed})
        return comm.agreed(lambda: sgd.mechanism.step(worker, given, np.random.default_rng(seed)))
    sent: Any = None
    for turn in range(comm.size):
        mine = turn == comm.rank
        done = comm.agreed(lambda mine=mine: sgd.mechanism.step(worker, given, own) if mine else None)  # type: ignore[misc]
        sent = done if mine else sent
        own.bit_generator.state = comm.allgather_object(own.bit_generator.state if mine else None)[turn]
    message, after = sent
    return message, after


def _gathered_messages(comm: Communicator, sgd: FeedbackSGD, message: Message, dtype: np.dtype[Any]) -> list[Any]:
    """All ranks' messages, in the order of the ranks: each is sent as its record, beside the words that it counts."""
    record = np.frombuffer(pickle.dumps(message), np.uint8)
    block = (record, np.array([message_words(message, dtype)], np.int64))
    forms = (np.uint8, (None,)), (np.int64, (1,))
    blocks = gathered(comm, block, sgd.allgather, _claimed_words, lambda _: forms)
    return [_unpickled(comm, rank, sent, type(message)) for rank, (sent, _) in enumerate(blocks)]


def _unpickled(comm: Communicator, source: int, sent: Array, kind: type[Message]) -> Message:
    try:
        message: Message = pickle.loads(sent.tobytes())
        checked_kind("what was sent", message, kind)
        message.check()
    except Exception as error:  # what was altered may raise anything
        raise ValueError(f"rank {comm.rank_of(source)} must send a message of {kind.__name__}: {error}") from error
    return message


def _claimed_words(block: Block) -> int:
    return int(block[1][0])
