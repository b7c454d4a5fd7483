"""A quantiser in C, judged: ``cc -O2 -o nibble nibble.c -lm`` first, then ``commbounds check nibble.py:right``."""

from pathlib import Path

import numpy as np

from commbounds.verify import conformance as cf

PROGRAM = str(Path(__file__).with_name("nibble"))


def half_step(x):
    """Half the distance of two levels."""
    return np.abs(x.astype(np.float64)).max() / 14


CLAIMS = [cf.AbsoluteError(half_step), cf.Bits(at_most=lambda n: 4 * n + 32), cf.SignSymmetric(), cf.Idempotent()]

right = cf.executable([PROGRAM], CLAIMS, bits=True, name="nibble")
wrapped = cf.executable([PROGRAM, "wrapped"], CLAIMS, bits=True, name="nibble, wrapped")
