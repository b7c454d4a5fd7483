"""What optimum-quanto's `quantize_weight` makes of rows, and what is read of it, on the CPU."""

import numpy as np
import torch
from optimum.quanto import AbsmaxOptimizer, qfloat8, qint8, quantize_weight

from commbounds.verify import conformance as cf

torch.set_num_threads(1)


def by_row(kind):
    """A scale a row: the largest magnitude over the type's."""

    def roundtrip(x, seed):
        return quantize_weight(x, kind, 0, AbsmaxOptimizer()(x, kind, 0), optimized=False).dequantize()

    return cf.on_torch(roundtrip)


def of_rows(share):
    """That share of the row's largest magnitude, for every entry."""
    return lambda x: share * np.repeat(np.abs(x.astype(np.float64)).max(axis=1)[:, None], x.shape[1], axis=1)


ROWS = {"shape": (6, 64), "magnitudes": (1e-6, 1e6), "effort": 0.2}
subjects = [
    cf.Codec(by_row(qint8), [cf.AbsoluteError(of_rows(1 / 254)), cf.SignSymmetric()], name="qint8", **ROWS),
    cf.Codec(
        by_row(qfloat8),
        [cf.AbsoluteError(of_rows(1 / 28)), cf.SignSymmetric()],
        name="qfloat8, no row of zeros",
        admits=lambda x: bool(x.any(axis=1).all()),
        **ROWS,
    ),
    cf.Codec(by_row(qfloat8), [], name="qfloat8", **ROWS),
]
