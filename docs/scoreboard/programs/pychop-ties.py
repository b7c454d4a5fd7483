"""Ties of float16: rmode 7 says ties to zero, rmode 8 ties away from it."""

import sys

import numpy as np
from pychop import Chop

tie = 1 + 2.0**-11
wrong = False
for mode, name, magnitude in ((7, "ties to zero", 1.0), (8, "ties away", 1 + 2.0**-10)):
    for x in (tie, -tie):
        found, wanted = float(Chop(5, 10, rmode=mode)(np.array([x]))[0]), float(np.copysign(magnitude, x))
        print(f"rmode {mode} ({name}): {x!r} becomes {found!r}, {name} is {wanted!r}")
        wrong |= found != wanted
sys.exit(wrong)
