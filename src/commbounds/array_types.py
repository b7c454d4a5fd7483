"""Types of arrays, for annotations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any type."""
Floats = NDArray[np.float64]
"""An array of float64."""
Mask = NDArray[np.bool_]
"""An array of truth values."""
Bytes = NDArray[np.uint8]
"""An array of bytes."""
Integers = NDArray[np.int64]
"""An array of int64."""
