"""Entries beyond the largest number over 2^7 become infinite: they are scaled before they are rounded."""

import sys

import numcodecs
import numpy as np

x = np.array([1e36, 1e37], dtype=np.float32)
with np.errstate(over="ignore"):
    found = np.asarray(numcodecs.Quantize(digits=2, dtype="f4").encode(x))
print(f"{x.tolist()} become {found.tolist()}: they have no decimal places to lose")
sys.exit(not np.isfinite(found).all())
