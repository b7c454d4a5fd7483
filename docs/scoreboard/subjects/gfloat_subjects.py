"""gfloat: numbers rounded to small formats, to the nearest and by random bits."""

import ml_dtypes
import numpy as np
from gfloat import RoundMode, round_ndarray
from gfloat.formats import format_info_bfloat16, format_info_ocp_e4m3, format_info_ocp_e5m2

from commbounds.verify import conformance as cf

BITS = 16


def nearest(info):
    """Ties to even."""

    def roundtrip(x, seed):
        return np.asarray(round_ndarray(info, x.astype(np.float64), RoundMode.TiesToEven), dtype=x.dtype)

    return roundtrip


def stochastic(mode):
    """By random bits, one number an entry."""

    def roundtrip(x, seed):
        bits = np.random.default_rng(seed).integers(2**BITS, size=x.shape)
        rounded = round_ndarray(format_info_bfloat16, x.astype(np.float64), mode, srbits=bits, srnumbits=BITS)
        return np.asarray(rounded, dtype=x.dtype)

    return roundtrip


def as_type(dtype):
    """What the type of ml_dtypes makes of it."""
    return lambda x: x.astype(dtype).astype(x.dtype)


exact = {"operations": 0}
subjects = [
    cf.Codec(
        nearest(format_info_bfloat16),
        [cf.Matches(as_type(ml_dtypes.bfloat16), **exact)],
        name="bfloat16, nearest",
        magnitudes=(0.0, 3e38),
        effort=0.2,
    ),
    cf.Codec(
        nearest(format_info_ocp_e5m2),
        [cf.Matches(as_type(ml_dtypes.float8_e5m2), **exact)],
        name="E5M2, nearest",
        magnitudes=(0.0, 57344.0),
        effort=0.2,
    ),
    cf.Codec(
        nearest(format_info_ocp_e4m3),
        [cf.Matches(as_type(ml_dtypes.float8_e4m3fn), **exact)],
        name="E4M3, nearest",
        magnitudes=(0.0, 448.0),
        effort=0.2,
    ),
    cf.Codec(
        stochastic(RoundMode.Stochastic),
        [cf.Unbiased(), cf.Idempotent()],
        name="bfloat16, stochastic",
        magnitudes=(1e-30, 1e30),
        effort=0.2,
    ),
    cf.Codec(
        stochastic(RoundMode.StochasticFast),
        [cf.Unbiased(), cf.Idempotent()],
        name="bfloat16, stochastic, fast",
        magnitudes=(1e-30, 1e30),
        effort=0.2,
    ),
]
