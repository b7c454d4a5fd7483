"""Messages of the column as bits, and what a receiver makes of them."""

from dataclasses import replace
from typing import Any

import numpy as np

from commbounds.compressors.shipped.message import Maybe, Quartic, Tabled
from commbounds.verify.encoding import Bits, Reader, fixed, raw

_ZEROS, _FIRST_RUN, _MOST = 5, 243, 256


def _tabled(message: Tabled) -> Bits:
    return np.concatenate([raw(message.table), fixed(message.codes.astype(np.int64), message.table.size)])


def _read_tabled(known: Tabled, wire: Reader) -> Tabled:
    table = wire.floats(known.table.size, known.dtype)
    codes = wire.numbers(known.shape[0], table.size).astype(known.codes.dtype)
    return replace(known, codes=codes, table=table)


def _quartic(message: Quartic) -> Bits:
    scale = raw(np.array([message.scale], message.dtype))
    return np.concatenate([scale, fixed(message.packed.astype(np.int64), _MOST)])


def _read_quartic(known: Quartic, wire: Reader) -> Quartic:
    """Bytes are read until they stand for as many entries as there are."""
    scale, missing, packed = wire.floats(1, known.dtype)[0], known.shape[0], []
    while missing > 0:
        byte = int(wire.numbers(1, _MOST)[0])
        packed.append(byte)
        missing -= _ZEROS * (byte - _FIRST_RUN + 2 if byte >= _FIRST_RUN else 1)
    return replace(known, packed=np.array(packed, np.uint8), scale=scale)


def _maybe(message: Maybe) -> Bits:
    return np.concatenate([fixed(np.array([int(message.values.size > 0)]), 2), raw(message.values)])


def _read_maybe(known: Maybe, wire: Reader) -> Maybe:
    present = bool(wire.numbers(1, 2)[0])
    return replace(known, values=wire.floats(known.shape[0] * present, known.dtype))


ENCODINGS: dict[str, Any] = {
    "Tabled": (_tabled, _read_tabled),
    "Quartic": (_quartic, _read_quartic),
    "Maybe": (_maybe, _read_maybe),
}
"""By the class of the message: how it is encoded, and how it is read."""
