"""Two quantisers to int8 in torch: ``commbounds check torch_quantiser.py:right`` and ``torch_quantiser.py:broken``."""

import numpy as np
import torch

from commbounds.verify import conformance as cf


def quantised(x, seed):
    """Codes from -127 to 127 and a scale for all of them."""
    scale = x.abs().max() / 127
    if scale == 0:  # nothing there, or so little that a 127th of it is no number of float32
        return torch.zeros_like(x)
    codes = torch.clamp(torch.round(x / scale), -127, 127).to(torch.int8)
    return codes * scale


def careless(x, seed):
    """The same as one writes it at first: 128 is no int8, it becomes -128, and a largest entry changes its sign."""
    scale = x.abs().max() / 128
    codes = torch.round(x / scale).to(torch.int8)
    return codes * scale


def half_step(x):
    """Half the distance of two levels; among subnormal numbers the scale may round by 2^-150, which 127 codes carry."""
    wide = np.abs(x.astype(np.float64)).max()
    return wide / 254 + 128 * 2.0**-150


CLAIMS = [cf.AbsoluteError(half_step), cf.ScaleEquivariant(), cf.SignSymmetric()]

right = cf.Compressor(cf.on_torch(quantised), CLAIMS, name="int8")
broken = cf.Compressor(cf.on_torch(careless), CLAIMS, name="int8, careless")
