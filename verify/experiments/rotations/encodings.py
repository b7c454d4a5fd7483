"""Rotated vectors as bits, and what a receiver makes of them: signs and places follow from a seed that both have."""

from dataclasses import replace
from typing import Any

import numpy as np

from commbounds.compressors.rotations.message import Rotated
from commbounds.verify.encoding import Bits, Reader, fixed, raw


def _rotated(message: Rotated) -> Bits:
    return np.concatenate([raw(message.numbers), fixed(message.codes.astype(np.int64), message.count)])


def _read_rotated(known: Rotated, wire: Reader) -> Rotated:
    numbers = wire.floats(known.numbers.size, known.dtype)
    codes = wire.numbers(known.codes.size, known.count).astype(known.codes.dtype)
    return replace(known, codes=codes, numbers=numbers)


ENCODINGS: dict[str, Any] = {"Rotated": (_rotated, _read_rotated)}
"""By the class of the message: how it is encoded, and how it is read."""
