"""A row of zeros becomes NaN in float8."""

import sys

import torch
from optimum.quanto import AbsmaxOptimizer, qfloat8, qint8, quantize_weight

wrong = False
for kind in (qint8, qfloat8):
    x = torch.tensor([[1.0, -0.5, 0.25], [0.0, 0.0, 0.0]])
    read = quantize_weight(x, kind, 0, AbsmaxOptimizer()(x, kind, 0), optimized=False).dequantize()
    print(f"{kind.name}: a row of zeros becomes {read[1].tolist()}")
    wrong |= not bool(torch.isfinite(read).all())
sys.exit(wrong)
