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


def affine(x):
    """A scale and a zero point for codes from -128 to 127, over all entries and zero."""
    low, high = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale > 0, scale, 1)
    return scale, torch.round(-128 - low / scale).to(torch.int32)


def fake_per_tensor(x, seed):
    """Fake quantisation as in training."""
    scale, zero_point = affine(x)
    return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, -128, 127)


def fake_per_channel(x, seed):
    """The same, through the function for channels."""
    scale, zero_point = affine(x)
    row = torch.fake_quantize_per_channel_affine(x[None], scale[None], zero_point[None], 0, -128, 127)
    return row[0]


def per_tensor(x, seed):
    """Real codes and back."""
    scale, zero_point = affine(x)
    return torch.quantize_per_tensor(x, float(scale), int(zero_point), torch.qint8).dequantize()


def half_step(x):
    """Half the distance of two levels; among subnormal numbers the scale may round by 2^-150, which 127 codes carry."""
    wide = np.abs(x.astype(np.float64)).max()
    return wide / 254 + 128 * 2.0**-150


def one_step(x):
    """The distance of two levels: half of it for the entry, half for the zero point."""
    wide = x.astype(np.float64)
    return (max(wide.max(), 0.0) - min(wide.min(), 0.0)) / 255


CLAIMS = [cf.AbsoluteError(half_step), cf.ScaleEquivariant(), cf.SignSymmetric()]

right = cf.Codec(cf.on_torch(quantised), CLAIMS, magnitudes=(0.0, 3e38), name="int8")
broken = cf.Codec(cf.on_torch(careless), CLAIMS, magnitudes=(0.0, 3e38), name="int8, careless")

AFFINE = (fake_per_tensor, fake_per_channel, per_tensor)
STEP = [cf.AbsoluteError(one_step)]
theirs = [
    *(cf.Codec(cf.on_torch(f), STEP, magnitudes=(1e-30, 1e30)) for f in AFFINE),
    *(cf.Codec(cf.on_torch(f), STEP, name=f"{f.__name__}, all of float32") for f in AFFINE),
]
