"""The block-wise quantiser of bitsandbytes to 8 bits, on the CPU."""

import numpy as np
import torch
from bitsandbytes import functional

from commbounds.verify import conformance as cf

BLOCK = 64
torch.set_num_threads(1)


def eight_bits(x, seed):
    """The dynamic map of 256 values, scaled by each block's largest magnitude."""
    codes, state = functional.quantize_blockwise(x, blocksize=BLOCK)
    return functional.dequantize_blockwise(codes, state)


def half_gap(values):
    """Half of the widest gap between neighbouring values, times the block's largest magnitude, for every entry."""
    widest = float(np.diff(np.sort(np.asarray(values, dtype=np.float64))).max())

    def bound(x):
        flat = np.abs(x.astype(np.float64)).ravel()
        largest = [flat[start : start + BLOCK].max() for start in range(0, flat.size, BLOCK)]
        return widest / 2 * np.repeat(largest, BLOCK)[: flat.size]

    return bound


EIGHT = functional.create_dynamic_map().numpy()
ORDINARY = {"effort": 0.2, "magnitudes": (1e-30, 1e30)}

subjects = [
    cf.Codec(cf.on_torch(eight_bits), [cf.AbsoluteError(half_gap(EIGHT))], name="blockwise, 8 bits", **ORDINARY),
    cf.Codec(cf.on_torch(eight_bits), [], name="blockwise, 8 bits, all of float32", effort=0.2),
]
