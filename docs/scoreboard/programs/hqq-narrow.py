"""The scale is cut off at 20000, and is 1 where the range is at most 0.0001."""

import sys

import torch
from hqq.core.quantize import Quantizer

wrong = False
for width in (1.5, 1.5e-3, 1.5e-4, 9e-5):
    x = torch.linspace(0, width, 128).reshape(2, 64)
    codes, about = Quantizer.quantize(x, nbits=4, axis=1, group_size=64, optimize=False, device="cpu")
    read = Quantizer.dequantize(codes, {**about, "compute_dtype": torch.float32})
    half_step = float((x.max(dim=1).values - x.min(dim=1).values).max()) / 30
    error = float((read - x).abs().max())
    print(f"ranges of {width / 2:.3g}: half a step is {half_step:.3g}, the largest error {error:.3g}")
    wrong |= error > 1.01 * half_step
sys.exit(wrong)
