"""Omega of TernGrad, sizes of dithering, and switching, as FL_PyTorch's compressors have them.

shipped.terngrad.variance_zero, shipped.terngrad.code_bits, shipped.qsgd.code_bits, shipped.switched.variance
"""

import math
import runpy

import numpy as np
import torch
from checkout import checkout

folder = checkout("burlachenkok/flpytorch", "23a201b7c0e6788ec84c56d903aa01759a1d69d9")
theirs = runpy.run_path(str(folder / "fl_pytorch/utils/compressors.py"))
Compressor, Switch = theirs["Compressor"], theirs["ProbabilisticSwitchingCompressor"]


def second_moment(made, x, draws):
    """The mean of |C(x)|^2/|x|^2, each entry rounded by each of `draws` evenly spaced uniforms."""
    total = 0.0
    for u in (np.arange(draws) + 0.5) / draws:
        for v in (np.arange(draws) + 0.5) / draws:
            made.testp = torch.tensor([u, v])
            total += float((made.compressVector(x) ** 2).sum() / (x**2).sum())
    return total / draws**2


x = torch.tensor([2.0, 1.0])
ternary = Compressor()
ternary.makeTernGrad(2)
print(f"TernGrad of (2, 1): w is {ternary.getW()}, so that 1 + w bounds |C(x)|^2/|x|^2; its mean is", end=" ")
print(f"{second_moment(ternary, x, 64):.4f}, and 6/5 exactly")
for levels, name in ((1, "TernGrad"), (4, "QSGD, s = 4")):
    made = Compressor()
    made.makeQSGD_FP32(100, levels)
    made.testp = torch.full((100,), 0.5)
    made.compressVector(torch.linspace(-1, 1, 100))
    bits = (made.last_need_to_send_advance - 1) * 32 / 100
    values = 2 * levels + 1
    print(f"{name}: {bits:.0f} bits an entry are counted, for {values} values; log2 is {math.log2(values):.2f}")
switch = Switch()
for w in (0.0, 3.0):
    made = Compressor()
    made.makeIdenticalCompressor()
    made.w = w
    switch.addCompressor(made, 1.0)
chosen = []
for compressor in switch.c:
    compressor.compressVector = lambda x, compressor=compressor: chosen.append(compressor.w)
rng = np.random.default_rng(0)
for _ in range(1000):
    switch.compressVector(x, rng)
print(f"Switching between w = 0 and w = 3, with probability 1 each: w is {switch.getW()};", end=" ")
print(f"of 1000 draws {chosen.count(3.0)} take the second, a mean of {sum(chosen) / 1000}")
