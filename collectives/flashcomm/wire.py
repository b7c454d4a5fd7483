"""What quantised collectives share: messages that are counted in bytes, quantisers at every stage."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from commbounds.array_types import Array, Integers
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer, message_from_bytes, wire_bytes
from commbounds.compressors.base import checked_rng, finite_reading, shown
from commbounds.compressors.flashcomm.wire import wire_sizes

Draw = Callable[[int, int], Array] | None
"""``draw(stage, rank)``: the uniforms of the rank's whole vector at this quantisation; None for the quantiser's own."""


@dataclass(frozen=True, eq=False)
class QuantisedSum:
    """What every rank ends with, and which way the bytes went.

    Parameters
    ----------
    values : (P, n) dtype of the stack
        The sum as each rank holds it.
    moves : (steps, P, P) int64
        Bytes from rank to rank in every step.
    """

    values: Array
    moves: Integers

    def bridge_bytes(self, first: int) -> tuple[int, int]:
        """Bytes over a bridge between the `first` ranks and the others: there, and back."""
        return int(self.moves[:, :first, first:].sum()), int(self.moves[:, first:, :first].sum())


class Coder:
    """One quantiser at one stage: codes parts of a rank's vector, each part by its own groups."""

    def __init__(self, quantiser: GroupQuantizer, stage: int, P: int, rng: Any, draw: Draw) -> None:
        self._quantiser, self._stage, self._draw = quantiser, stage, draw
        self.seeds: Array | None = None
        """(P, P): of every part of every rank; None where there are no random bits, or injected ones."""
        if quantiser.randomised and draw is None:
            self.seeds = checked_rng(rng).integers(0, 2**63, size=(P, P))

    def code(self, x: Array, rank: int, part: int, where: slice, as_bytes: bool) -> Array:
        """What is sent of part number `part` of a rank's vector, which lies at `where` in it.

        Its bytes; or, between ranks that have one caller, an object array: what they are read as, and their number.
        """
        if x.size == 0:
            return np.zeros(0, np.uint8) if as_bytes else _held(x, 0)
        quantiser = self._quantiser
        rng = None if self.seeds is None else np.random.default_rng(self.seeds[rank, part])
        if self._draw is not None and isinstance(quantiser, StochasticGroupQuantizer):
            message = quantiser.compress_with(x, self._draw(self._stage, rank)[where])
        elif as_bytes:
            message = quantiser.compress(x, rng)
        else:  # a call reads the same as by way of a message
            return _held(finite_reading(quantiser(x, rng)), sum(wire_sizes(quantiser, x.size)))
        sent = wire_bytes(message)
        return sent if as_bytes else _held(quantiser.read(message), sent.size)

    def read_code(self, code: Array, like: Array) -> Array:
        """The entries, as many as `like` has and in its dtype, that the code stands for; not to be changed."""
        if code.dtype == object:
            values: Array = code[0]
            return values
        if like.size == 0:
            return like[:0]
        return self._quantiser.read(message_from_bytes(code, self._quantiser, like.size, like.dtype))


def _held(values: Array, size: int) -> Array:
    held = np.empty(2, object)
    held[0], held[1] = values, size
    return held


def code_size(code: Array) -> int:
    """Bytes that a code counts."""
    return int(code[1]) if code.dtype == object else code.size


def blocks_of(n: int, parts: int) -> list[slice]:
    """Consecutive parts of a vector, the first n mod parts of them one entry longer."""
    ends = [n // parts * j + min(j, n % parts) for j in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def checked_quantiser(quantiser: Any, name: str) -> GroupQuantizer:
    """`quantiser`, if it is one of groups."""
    if not isinstance(quantiser, GroupQuantizer):
        raise TypeError(f"{name} must be a GroupQuantizer, got {shown(quantiser)}")
    return quantiser
