"""The largest numbers of a dtype become infinite: rounded up, the mantissa carries into the exponent."""

import sys

import numcodecs
import numpy as np

infinite = False
for dtype in ("f2", "f4", "f8"):
    codec = numcodecs.BitRound(keepbits=7)
    largest = np.finfo(dtype).max
    x = np.array([largest, -largest], dtype=dtype)
    found = np.asarray(codec.decode(codec.encode(x))).view(dtype)
    print(f"{x.dtype}: {x.tolist()} become {found.tolist()}")
    infinite |= not np.isfinite(found).all()
x = np.array([np.float32(2.0**128 - 2.0**119), np.float32(2.0**128 - 2.0**119 - 2.0**104)])
codec = numcodecs.BitRound(keepbits=7)
found = np.asarray(codec.decode(codec.encode(x))).view("f4")
print(f"the first that does, and the last that does not: {x.tolist()} become {found.tolist()}")
sys.exit(infinite)
