"""Gradient descent of P workers with error feedback, around a compressor or a collective that compresses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_count, checked_step_size
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.dense.gathering import gathered_blocks
from commbounds.collectives.dense.messages import ALGORITHMS
from commbounds.collectives.feedback.aggregators import Aggregated
from commbounds.collectives.feedback.steps import average_of_messages, message_words, moved
from commbounds.collectives.traffic import Traffic
from commbounds.compressors import Feedback, FeedbackState
from commbounds.compressors.base import (
    as_array,
    checked_array,
    checked_choice,
    checked_flag,
    checked_kind,
    checked_rng,
    hold_python_numbers,
    is_finite,
    shown,
)


@dataclass(frozen=True, eq=False)
class FeedbackSGDState:
    """Where the descent is.

    Parameters
    ----------
    weights : (n,) or (m, n) float32 or float64
        The same on all workers.
    P : int
        Workers.
    estimate : array like the weights
        What the server last took for the average gradient (times the step size for EF14).
    workers : tuple of P FeedbackState
        What every worker remembers; empty before the first step.
    aggregator : Any
        What the aggregator remembers.
    t : int
        Steps so far.
    """

    weights: Array
    P: int
    estimate: Array
    workers: tuple[FeedbackState, ...] = ()
    aggregator: Any = None
    t: int = 0


@dataclass(frozen=True)
class FeedbackSGD:
    """Gradient descent whose workers send compressed gradients, with or without error feedback.

    In a step every worker sends what its mechanism makes of its gradient at the weights; the average of what was sent
    becomes the server's estimate g, or is added to it (EF21, EF21M, EControl); and the weights move by -gamma g.

    Parameters
    ----------
    mechanism : Feedback
        `Plain`, `EF14`, `EF21`, `EF21M` or `EControl`; with a compressor exactly if there is no aggregator.
    step_size : float
        gamma; positive, finite.
    aggregator : callable or None
        (stack, its state, rng) -> Aggregated, for all workers together: `feedback_aggregators` has some.
    shared : bool
        Whether all workers draw from the same stream, as from a shared seed; else one after another.
    allgather : str
        How messages travel, as in `gather_blocks`.

    Notes
    -----
    The dense first step of EF21, EF21M and EControl is a ring all-reduce. Messages are gathered by all; a message's
    words are its bits over the width of a weight, rounded up. Averages are summed over the workers in their order, in
    float64. With ``shared``, one integer of 63 bits is drawn a step: it seeds a stream for every worker.

    Examples
    --------
    >>> from commbounds.compressors import EF21, TopK
    >>> sgd = FeedbackSGD(EF21(TopK(1)), 0.5)
    >>> state = sgd.start([4.0, 2.0], P=2)
    >>> for _ in range(3):
    ...     state, traffic = sgd.step(np.stack([state.weights, state.weights]), state)
    >>> state.weights, traffic.sent
    (array([0., 0.]), array([2, 2]))
    """

    mechanism: Feedback
    step_size: float
    aggregator: Callable[[Array, Any, np.random.Generator | None], Aggregated] | None = None
    shared: bool = False
    allgather: str = "bruck"

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        if not isinstance(self.mechanism, Feedback):
            raise TypeError(f"mechanism must be a Feedback, got {shown(self.mechanism)}")
        checked_step_size(self.step_size)
        checked_flag("shared", self.shared)
        checked_choice("allgather", self.allgather, ALGORITHMS)
        if self.aggregator is not None and not callable(self.aggregator):
            raise TypeError(f"aggregator must be callable, or None, got {shown(self.aggregator)}")
        if (self.mechanism.compressor is None) == (self.aggregator is None):
            raise ValueError(
                "either the mechanism must have a compressor or there must be an aggregator, got "
                + ("neither" if self.aggregator is None else "both")
            )

    def start(self, weights: ArrayLike, P: int) -> FeedbackSGDState:
        """The state before the first step of `P` workers.

        Parameters
        ----------
        weights : (n,) or (m, n) float32 or float64
            Finite; copied.
        P : int
            >= 1.
        """
        given = as_array(weights, "weights")
        if given.ndim not in (1, 2) or given.size == 0:
            raise ValueError(f"weights must be a vector or a matrix with entries, got shape {given.shape}")
        own = checked_array(given, given.ndim, name="weights").copy()
        return FeedbackSGDState(own, checked_count(P, "P"), np.zeros_like(own))

    def step(
        self, gradients: ArrayLike, state: FeedbackSGDState, rng: np.random.Generator | None = None
    ) -> tuple[FeedbackSGDState, Traffic]:
        """One step, from the gradients at ``state.weights``.

        Parameters
        ----------
        gradients : (P, n) or (P, m, n)
            Every worker's, in the dtype of the weights; finite.
        state : FeedbackSGDState
            Not mutated.
        rng : numpy.random.Generator or None
            Required where compressors or aggregators draw.

        Returns
        -------
        state : FeedbackSGDState
            After the step.
        traffic : Traffic
            Of this step, in words.

        Raises
        ------
        TypeError, ValueError
            `gradients` do not fit the state's P, shape and dtype; or as mechanisms and aggregators raise.
        """
        stack = self._checked(gradients, state)
        mechanism, given = self.mechanism, self.scaled(stack)
        workers = state.workers or tuple(mechanism.start(gradient) for gradient in given)
        remembered = state.aggregator
        if state.t == 0 and getattr(mechanism, "dense", False):
            sums, traffic = ring_allreduce(given.reshape(state.P, -1))
            mean = (sums[0] / stack.dtype.type(state.P)).reshape(state.weights.shape)
        elif self.aggregator is None:
            workers, mean, traffic = self._sent_one_by_one(given, workers, rng)
        else:
            offers = [mechanism.offered(w, g) for w, g in zip(workers, given, strict=True)]
            found = self.aggregator(np.array([vector for vector, _ in offers]), remembered, rng)
            workers = tuple(
                mechanism.after(w, vector, momentum, sent)
                for w, (vector, momentum), sent in zip(workers, offers, found.sent, strict=True)
            )
            mean, remembered, traffic = found.mean, found.state, found.traffic
        estimate, weights = moved(mechanism, self.step_size, state.weights, state.estimate, mean)
        return FeedbackSGDState(weights, state.P, estimate, workers, remembered, state.t + 1), traffic

    def scaled(self, gradients: Array) -> Array:
        """What the mechanism compresses: the gradients, times the step size where its errors are those of steps.

        Parameters
        ----------
        gradients : (n,), (m, n) or (P, ...)
            Of a worker or of all; finite.

        Returns
        -------
        as gradients
            The same memory where nothing is multiplied.

        Raises
        ------
        ValueError
            The product overflows.
        """
        if not self.mechanism.scaled:
            return gradients
        with np.errstate(over="ignore"):
            steps: Array = gradients.dtype.type(self.step_size) * gradients
        if not is_finite(steps):
            raise ValueError(
                f"step_size times gradients must be finite, got an overflow at step_size = {self.step_size}"
            )
        return steps

    def _sent_one_by_one(
        self, given: Array, workers: tuple[FeedbackState, ...], rng: np.random.Generator | None
    ) -> tuple[tuple[FeedbackState, ...], Array, Traffic]:
        """What every worker sends by itself: their states, the average of their messages, the all-gather."""
        mechanism, compressor = self.mechanism, self.mechanism.compressor
        if compressor is None:
            raise ValueError("mechanism must have a compressor where there is no aggregator")
        own = checked_rng(rng) if compressor.randomised else None
        seed = int(own.integers(2**63)) if own is not None and self.shared else None
        found = []
        for worker, gradient in zip(workers, given, strict=True):
            found.append(mechanism.step(worker, gradient, own if seed is None else np.random.default_rng(seed)))
        messages = [message for message, _ in found]
        mean = average_of_messages(messages, compressor, given.shape[1:], given.dtype)
        words = [message_words(message, given.dtype) for message in messages]
        return tuple(after for _, after in found), mean, gathered_blocks(tuple(words), self.allgather)

    def _checked(self, gradients: ArrayLike, state: FeedbackSGDState) -> Array:
        checked_kind("state", state, FeedbackSGDState)
        array = as_array(gradients, "gradients")
        if array.shape != (state.P, *state.weights.shape):
            raise ValueError(
                f"gradients must be (P, ...) = {(state.P, *state.weights.shape)}, as the state, got {array.shape}"
            )
        if array.dtype != state.weights.dtype:
            raise TypeError(f"gradients must be {state.weights.dtype}, as the weights, got {array.dtype}")
        return checked_array(array, array.ndim, name="gradients")
