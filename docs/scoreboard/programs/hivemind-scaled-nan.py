"""Finite entries of float32 become NaN: the norm, or the mean, is infinite."""

import sys

import torch
from hivemind.compression import ScaledFloat16Compression
from hivemind.compression.base import CompressionInfo

codec = ScaledFloat16Compression()
wrong = False
for entries in ([1e20, 0.0], [3e38, -3e38, 3e38]):
    x = torch.tensor(entries)
    y = codec.extract(codec.compress(x, CompressionInfo.from_tensor(x)))
    print(f"{entries} arrives as {y.tolist()}")
    wrong |= not bool(torch.isfinite(y).all())
sys.exit(wrong)
