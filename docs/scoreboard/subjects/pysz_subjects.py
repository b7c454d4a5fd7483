"""SZ3: every entry is off by no more than the bound, absolute or relative to the range."""

import numpy as np
from pysz import sz, szConfig, szErrorBoundMode

from commbounds.verify import conformance as cf


def bounded(mode, bound):
    """Compressed within the bound, and decompressed."""

    def roundtrip(x, seed):
        config = szConfig()
        config.errorBoundMode = mode
        if mode == szErrorBoundMode.ABS:
            config.absErrorBound = bound
        else:
            config.relErrorBound = bound
        data, _ = sz.compress(x, config)
        found, _ = sz.decompress(data, x.dtype, x.shape)
        return np.asarray(found).reshape(x.shape)

    return roundtrip


def share_of_range(x):
    """A hundredth of the range of the input."""
    return 0.01 * (float(x.max()) - float(x.min()))


subjects = [
    cf.Codec(
        bounded(szErrorBoundMode.ABS, 0.01),
        [cf.AbsoluteError(0.01)],
        name="ABS 0.01",
        magnitudes=(1e-6, 1e3),
        effort=0.2,
    ),
    cf.Codec(
        bounded(szErrorBoundMode.REL, 0.01),
        [cf.AbsoluteError(share_of_range)],
        name="REL 0.01",
        magnitudes=(1e-6, 1e3),
        effort=0.2,
    ),
]
