"""A layer of exactly dim_threshold entries is sent as it is, and decoded as if it were compressed."""

import sys

import numpy as np
from openfl.pipelines import EdenPipeline

pipeline = EdenPipeline(n_bits=8)  # dim_threshold is 100
wrong = False
for size in (99, 100, 101):
    x = np.arange(size, dtype=np.float32)
    try:
        found = pipeline.backward(*pipeline.forward(x))
        close = float(np.abs(found - x).max()) < 2.0  # its rotation is random; the entries go up to 100
        print(f"{size} entries: {'decoded' if close else 'something else'}")
        wrong |= not close
    except KeyError as error:
        print(f"{size} entries: KeyError {error}")
        wrong = True
sys.exit(wrong)
