"""What every worker of a descent with error feedback computes alike: the average of messages, and the next weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Array
from commbounds.compressors import Compressor, Feedback, Message, Sparse


@njit(cache=True, nogil=True)
def _add_at(total, indices, values):  # type: ignore[no-untyped-def]
    # adds the values to the total at their indices
    for j in range(indices.size):
        total[indices[j]] += values[j]


def message_words(message: Message, dtype: np.dtype[Any]) -> int:
    """The bits of a message over the width of a weight, rounded up."""
    return -(-message.bits // (8 * dtype.itemsize))


def average_of_messages(
    messages: Sequence[Any], compressor: Compressor, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """The average of what `messages` of `compressor` stand for: summed in their order, in float64, rounded once."""
    total = np.zeros(shape)
    for message in messages:
        if isinstance(message, Sparse):
            _add_at(total, message.indices, message.values)
        else:
            total += compressor.decompress(message)
    mean: Array = total / len(messages)
    if dtype == mean.dtype:
        return mean
    with np.errstate(over="ignore"):
        return mean.astype(dtype)


def moved(mechanism: Feedback, step_size: float, weights: Array, before: Array, mean: Array) -> tuple[Array, Array]:
    """The server's estimate after a step, and the weights."""
    size = weights.dtype.type(1 if mechanism.scaled else step_size)
    with np.errstate(over="ignore", invalid="ignore"):
        estimate = before + mean if mechanism.adds_up else mean
        return estimate, weights - size * estimate
