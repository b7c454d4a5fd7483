"""What optimum-quanto's `quantize_weight` makes of rows and groups, and what is read of it, on the CPU."""

import numpy as np
import torch
from optimum.quanto import AbsmaxOptimizer, MaxOptimizer, qfloat8, qint2, qint4, qint8, quantize_weight

from commbounds.verify import conformance as cf

GROUP = 64
torch.set_num_threads(1)


def by_row(kind):
    """A scale a row: the largest magnitude over the type's."""

    def roundtrip(x, seed):
        return quantize_weight(x, kind, 0, AbsmaxOptimizer()(x, kind, 0), optimized=False).dequantize()

    return cf.on_torch(roundtrip)


def by_group(kind):
    """A scale and a shift for 64 entries."""

    def roundtrip(x, seed):
        scale, shift = MaxOptimizer()(x, kind, 0, GROUP)
        return quantize_weight(x, kind, 0, scale, shift, GROUP, optimized=False).dequantize()

    return cf.on_torch(roundtrip)


def of_rows(share):
    """That share of the row's largest magnitude, for every entry."""
    return lambda x: share * np.repeat(np.abs(x.astype(np.float64)).max(axis=1)[:, None], x.shape[1], axis=1)


def of_groups(bits):
    """Half of a step of the group's range, for every entry."""

    def bound(x):
        groups = x.astype(np.float64).reshape(-1, GROUP)
        return np.repeat((groups.max(axis=1) - groups.min(axis=1)) / (2**bits - 1) / 2, GROUP).reshape(x.shape)

    return bound


ROWS = {"shape": (6, 64), "magnitudes": (1e-6, 1e6), "effort": 0.2}
subjects = [
    cf.Codec(by_row(qint8), [cf.AbsoluteError(of_rows(1 / 254)), cf.SignSymmetric()], name="qint8", **ROWS),
    cf.Codec(by_row(qfloat8), [cf.AbsoluteError(of_rows(1 / 28)), cf.SignSymmetric()], name="qfloat8", **ROWS),
    cf.Codec(by_group(qint4), [cf.AbsoluteError(of_groups(4))], name="qint4, groups of 64", **ROWS),
    cf.Codec(by_group(qint2), [cf.AbsoluteError(of_groups(2))], name="qint2, groups of 64", **ROWS),
    cf.Codec(by_row(qint8), [], name="qint8, all of float32", shape=(6, 64), effort=0.2),
    cf.Codec(by_group(qint4), [], name="qint4, all of float32", shape=(6, 64), effort=0.2),
]
