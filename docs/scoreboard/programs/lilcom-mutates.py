"""compress writes into the array that it is given."""

import sys

import lilcom
import numpy as np

x = np.array([0.3, -1.7, 2.2], dtype=np.float32)
before = x.tolist()
lilcom.compress(x)
print(f"the caller's array was {before}, and is {x.tolist()} behind compress")
sys.exit(x.tolist() != before)
