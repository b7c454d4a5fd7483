"""Laws read off kernels that take a coin."""

import numpy as np

from commbounds.verify.kernel_law import Outcomes, restored


def _both_sides(compressor, x):
    y = np.array([restored(compressor, compressor.compress_with(x, coin)) for coin in (0, 1)])
    return Outcomes(np.full(2, 0.5), y)


INJECTIONS = {"coin": _both_sides}
