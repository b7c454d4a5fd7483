"""What quantised collectives share: messages that are counted in bytes, quantisers at every stage."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from commbounds.array_types import Array, Integers
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer, message_from_bytes, wire_bytes
from commbounds.compressors.base import checked_rng, shown

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

    def coded(self, x: Array, rank: int, part: int, where: slice) -> Any:
        """The message for part number `part` of a rank's vector, which lies at `where` in it; None if it is empty."""
        if x.size == 0:
            return None
        if self._draw is not None and isinstance(self._quantiser, StochasticGroupQuantizer):
            return self._quantiser.compress_with(x, self._draw(self._stage, rank)[where])
        rng = None if self.seeds is None else np.random.default_rng(self.seeds[rank, part])
        return self._quantiser.compress(x, rng)

    def read(self, message: Any, like: Array) -> Array:
        """The entries that `message` stands for."""
        return like[:0] if message is None else self._quantiser.read(message)

    def code(self, x: Array, rank: int, part: int, where: slice, as_bytes: bool) -> Array:
        """As `coded`, in the form in which it is sent: its bytes, or an object array that holds the message."""
        message = self.coded(x, rank, part, where)
        if as_bytes:
            return np.zeros(0, np.uint8) if message is None else wire_bytes(message)
        held = np.empty(1, object)
        held[0] = message
        return held

    def read_code(self, code: Array, like: Array) -> Array:
        """The entries, as many as `like` has and in its dtype, that the code stands for."""
        if code.dtype == object:
            return self.read(code[0], like)
        return self.read(message_from_bytes(code, self._quantiser, like.size, like.dtype) if like.size else None, like)


def code_size(code: Array) -> int:
    """Bytes that a code counts."""
    if code.dtype == object:
        return 0 if code[0] is None else int(-(-code[0].bits // 8))
    return code.size


def blocks_of(n: int, parts: int) -> list[slice]:
    """Consecutive parts of a vector, the first n mod parts of them one entry longer."""
    ends = [n // parts * j + min(j, n % parts) for j in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def checked_quantiser(quantiser: Any, name: str) -> GroupQuantizer:
    """`quantiser`, if it is one of groups."""
    if not isinstance(quantiser, GroupQuantizer):
        raise TypeError(f"{name} must be a GroupQuantizer, got {shown(quantiser)}")
    return quantiser
