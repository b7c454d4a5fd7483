"""float16 ends at 65504; what is rounded beyond it is infinite."""

import sys

import numpy as np
from pychop import Chop

x = np.array([65519.0, 65520.0, 65537.0, 131071.0, 131072.0], dtype=np.float32)
found, wanted = np.asarray(Chop(5, 10, rmode=1)(x)), x.astype(np.float16).astype(np.float32)
for given, ours, theirs in zip(x, wanted, found, strict=True):
    print(f"{given:g}: float16 has {ours:g}, Chop(5, 10) gives {theirs:g}")
sys.exit(not (found == wanted).all())
