"""What mechanisms of error feedback share: the state of a worker, and how a step goes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import FLOATS, Compressor, as_array, checked_array, checked_kind, shown
from commbounds.compressors.sparsifiers.message import Sparse


@dataclass(frozen=True, eq=False)
class FeedbackState:
    """What a worker remembers; arrays have the shape and dtype of its gradients.

    Parameters
    ----------
    memory : array
        EF14: the residual e. EF21, EF21M and EControl: the estimate g, which the server knows too. Unused by `Plain`.
    momentum : array or None
        EF21M: the averaged gradient h. None for the others.
    error : array or None
        EControl: the error e, what the gradients came to less what the estimates came to. None for the others.
    """

    memory: Array
    momentum: Array | None = None
    error: Array | None = None


@njit(cache=True, nogil=True)
def _scattered(base, sign, indices, values, out):  # type: ignore[no-untyped-def]
    # base, and sign times the values at their indices
    for i in range(base.size):
        out[i] = base[i]
    for j in range(indices.size):
        out[indices[j]] += sign * values[j]


def plus(base: Array, sign: int, sent: Any) -> Array:
    """`base` plus or minus what was sent: a sparse message, or an array."""
    if not isinstance(sent, Sparse):
        return np.asarray(base + sent if sign > 0 else base - sent)
    sparse = np.empty_like(base)  # as many additions as entries; the others would add zero
    _scattered(np.ascontiguousarray(base), base.dtype.type(sign), sent.indices, sent.values, sparse)
    return sparse


@dataclass(frozen=True)
class Feedback(ABC):
    """A way to compress gradients with a memory: a frozen record; all that changes is in the state.

    Parameters
    ----------
    compressor : Compressor or None
        What vectors are compressed with in `step`. None where an aggregator compresses for all workers together.

    Attributes
    ----------
    adds_up : bool
        Whether the server adds what is sent to what it already has (EF21, EF21M, EControl), or forgets that.
    scaled : bool
        Whether `step` is meant to be given the gradient times the step size (EF14).

    Notes
    -----
    Formulas are computed entry by entry, in the order in which they are written. Every operation is rounded to the
    dtype of the gradients, and so are the weights eta and 1 - eta. Of a sparse message only the entries that are sent
    are added to a state: the others keep their bits, and zeros their signs.
    """

    compressor: Compressor | None = None
    adds_up: ClassVar[bool] = False
    scaled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.compressor is not None and not isinstance(self.compressor, Compressor):
            raise TypeError(f"compressor must be a Compressor or None, got {shown(self.compressor)}")

    @abstractmethod
    def start(self, gradient: ArrayLike) -> FeedbackState:
        """The state before the first step, made for the shape and dtype of the first `gradient`."""

    @abstractmethod
    def offered(self, state: FeedbackState, gradient: Array) -> tuple[Array, Array | None]:
        """The vector to compress, a fresh array, and what `after` needs: EF21M's momentum, EControl's error."""

    @abstractmethod
    def after(self, state: FeedbackState, offered: Array, beside: Array | None, sent: Any) -> FeedbackState:
        """The state after the worker `sent` (a sparse message, or an array) of what it `offered`."""

    def checked_for(self, state: FeedbackState, gradient: ArrayLike) -> Array:
        """`gradient` as an array, if `state` is one of its shape and dtype; whether it is finite shows later."""
        checked_kind("state", state, FeedbackState)
        kind, shape = state.memory.dtype, state.memory.shape
        if (
            type(gradient) is np.ndarray
            and gradient.dtype == kind in FLOATS
            and gradient.shape == shape
            and gradient.flags.carray
        ):
            return gradient  # as most are
        given = _floats(gradient, finite=False)
        if state.memory.shape != given.shape:
            raise ValueError(f"state must be one of gradients of shape {given.shape}, got one of {state.memory.shape}")
        if state.memory.dtype != given.dtype:
            raise TypeError(f"state must be one of {given.dtype} gradients, got one of {state.memory.dtype}")
        return given

    def step(
        self, state: FeedbackState, gradient: ArrayLike, rng: np.random.Generator | None = None
    ) -> tuple[Any, FeedbackState]:
        """What a worker sends for its `gradient`, and its state after that.

        Parameters
        ----------
        state : FeedbackState
            Of `start`, or of the step before; not mutated.
        gradient : (n,) or (m, n) float32 or float64
            Finite; in the shape and dtype of the state.
        rng : numpy.random.Generator
            Required by randomised compressors.

        Returns
        -------
        message
            Of the compressor.
        FeedbackState
            After the step.

        Raises
        ------
        TypeError, ValueError
            There is no compressor; `gradient` does not fit the state; or as the compressor raises.
        """
        if self.compressor is None:
            raise ValueError("compressor must be given for single steps, got None")
        given = self.checked_for(state, gradient)
        vector, beside = self.offered(state, given)
        try:
            message = self.compressor.compress(vector, rng)
        except ValueError:
            checked_gradient(given)  # the compressor looks at what is offered, and would not name the gradient
            raise
        sent = message if isinstance(message, Sparse) else self.compressor.decompress(message)
        return message, self.after(state, vector, beside, sent)


def checked_gradient(gradient: ArrayLike) -> Array:
    """The gradient as a finite float array of one dimension or two."""
    return _floats(gradient)


def _floats(gradient: ArrayLike, *, finite: bool = True) -> Array:
    array = as_array(gradient, "gradient")
    return checked_array(array, 2 if array.ndim == 2 else 1, finite=finite, name="gradient")
