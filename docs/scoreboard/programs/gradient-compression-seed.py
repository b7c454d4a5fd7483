"""The seed sets numpy's generator; the signs are drawn from Python's."""

import sys

import numpy as np
from gradient_compression import rp_compression

matrices = [rp_compression.gen_random_matrix(8, 8, seed=1) for _ in range(20)]
same = sum(bool(np.array_equal(matrices[0], matrix)) for matrix in matrices)
print(f"gen_random_matrix(8, 8, seed=1), called 20 times, gives the first matrix {same} times")
sys.exit(same != 20)
