"""Messages of the column as bits, and what a receiver makes of them."""

from dataclasses import replace

import numpy as np

from commbounds.verify.encoding import fixed, raw


def _every_other(message):
    return np.concatenate([fixed(np.array([message.coin]), 2), raw(message.values)])


def _read_every_other(known, wire):
    return replace(known, coin=int(wire.numbers(1, 2)[0]), values=wire.floats(known.values.size, known.dtype))


ENCODINGS = {"EveryOther": (_every_other, _read_every_other)}
