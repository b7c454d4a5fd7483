"""The scale that is applied has a floor; the scale that is returned, and decodes, has none."""

import sys

import torch
from torchao.prototype.quantized_training.int8 import quantize_int8_rowwise

wrong = False
for size in (1e-8, 1e-10, 1e-12, 1e-20):
    codes, scale = quantize_int8_rowwise(torch.tensor([[size, -size / 2]]))
    decoded = (codes.float() * scale[:, None])[0].tolist()
    print(f"{[size, -size / 2]} has codes {codes[0].tolist()}, and becomes {decoded}")
    wrong |= abs(decoded[0] - size) > size / 127
sys.exit(wrong)
