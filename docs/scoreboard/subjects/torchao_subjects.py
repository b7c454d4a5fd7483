"""What torchao rounds: by chance to bfloat16 and int8, to the nearest for the states of 8- and 4-bit optimisers."""

import numpy as np
import torch
from torchao.optim.quant_utils import _fp32_to_bf16_sr, create_dynamic_map
from torchao.optim.subclass_4bit import OptimState4bit
from torchao.optim.subclass_8bit import OptimState8bit
from torchao.prototype.quantized_training.int8 import quantize_int8_rowwise

from commbounds.verify import conformance as cf

BLOCK = 64
torch.set_num_threads(1)


def to_bfloat16(x, seed):
    """Stochastic rounding of the optimisers' weights, ``bf16_stochastic_round=True``."""
    torch.manual_seed(seed)
    return _fp32_to_bf16_sr(x).float()


def to_int8(x, seed):
    """Stochastic rounding of quantised training, one scale a row."""
    torch.manual_seed(seed)
    codes, scale = quantize_int8_rowwise(x[None], stochastic_rounding=True)
    return (codes.float() * scale[:, None])[0]


def to_int8_nearest(x, seed):
    """The same, to the nearest."""
    codes, scale = quantize_int8_rowwise(x[None])
    return (codes.float() * scale[:, None])[0]


def state_8bit(x, seed):
    """A tensor that is copied into an 8-bit optimiser state and read again."""
    state = OptimState8bit.zeros(x.shape, signed=True, block_size=BLOCK)
    state.copy_(x)
    return state.dequantize()


def state_4bit(x, seed):
    """The same with 4 bits."""
    state = OptimState4bit.zeros(x.shape, signed=True, block_size=BLOCK)
    state.copy_(x)
    return state.dequantize()


def half_step(x):
    """Half a 127th of the largest entry."""
    return np.abs(x.astype(np.float64)).max() / 254


def half_gap(values):
    """Half of the widest gap of the map, times the block's largest magnitude, for every entry."""
    widest = float(np.diff(np.sort(np.asarray(values, dtype=np.float64))).max())

    def bound(x):
        blocks = np.abs(x.astype(np.float64)).reshape(-1, BLOCK)
        return (widest / 2 * np.repeat(blocks.max(axis=1), BLOCK)).reshape(x.shape)

    return bound


DRAWN = {"global generators untouched": "it draws from torch's global generator, which is seeded for every call"}
ORDINARY = {"effort": 0.2, "magnitudes": (1e-30, 1e30)}
MAP8, MAP4 = create_dynamic_map(), create_dynamic_map(True, 3, 4)

subjects = [
    cf.Codec(
        cf.on_torch(to_bfloat16),
        [cf.Unbiased(), cf.AbsoluteError(lambda x: np.abs(x.astype(np.float64)) * 2.0**-7), cf.Idempotent()],
        name="stochastic rounding to bfloat16",
        waivers=DRAWN,
        magnitudes=(1e-30, 1e30),
        effort=0.2,
    ),
    cf.Codec(
        cf.on_torch(to_int8),
        [cf.Unbiased()],
        name="stochastic rounding to int8",
        waivers=DRAWN,
        magnitudes=(1e-6, 1e6),
        effort=0.2,
    ),
    cf.Codec(
        cf.on_torch(to_int8_nearest),
        [cf.AbsoluteError(half_step)],
        name="int8, nearest",
        magnitudes=(1e-6, 1e6),
        effort=0.2,
    ),
    cf.Codec(
        cf.on_torch(to_int8_nearest),
        [cf.AbsoluteError(half_step)],
        name="int8, nearest, small entries",
        magnitudes=(1e-30, 1e6),
        effort=0.2,
    ),
    cf.Codec(
        cf.on_torch(state_8bit),
        [cf.AbsoluteError(half_gap(MAP8))],
        name="8-bit optimiser state",
        multiple_of=BLOCK,
        magnitudes=(1e-6, 1e6),
        effort=0.2,
    ),
    cf.Codec(
        cf.on_torch(state_4bit),
        [cf.AbsoluteError(half_gap(MAP4))],
        name="4-bit optimiser state",
        multiple_of=BLOCK,
        magnitudes=(1e-6, 1e6),
        effort=0.2,
    ),
]
