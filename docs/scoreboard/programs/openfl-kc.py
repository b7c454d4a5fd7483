"""A table from integers to floats is undone by replacing one integer after the other, in the array that holds both."""

import sys

import numpy as np
from openfl.pipelines import KCPipeline

pipeline = KCPipeline(n_clusters=6)
wrong = False
for x in ([1.0, 2.0], [2.0, 1.0, 5.0], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0]):
    found = pipeline.backward(*pipeline.forward(np.array(x, dtype=np.float32)))
    print(f"{x}, of no more than 6 values, comes back as {found.tolist()}")
    wrong |= found.tolist() != x
sys.exit(wrong)
