"""The first update of GRACE's EF-signSGD for PyTorch, and TernGrad, clipped, of equal entries.

shipped.ef_signs.first_step, shipped.clippedterngrad.unbiased
"""

import runpy
import sys
from types import ModuleType

import torch
from checkout import checkout

folder = checkout("sands-lab/grace", "fd3a7f42e71570aa6aecf368a2515388593bfb00")


class Base:
    """In place of GRACE's base classes, which need horovod."""

    def __init__(self, average=True, tensors_size_are_same=True):
        """Keep nothing."""


for name in ("grace_dl", "grace_dl.torch"):
    sys.modules[name] = ModuleType(name)
sys.modules["grace_dl.torch"].Compressor = sys.modules["grace_dl.torch"].Memory = Base
made = {
    name: runpy.run_path(str(folder / f"grace_dl/torch/{name}.py"))
    for name in ("compressor/efsignsgd", "memory/efsignsgd", "compressor/terngrad")
}
rate = 0.1
compressor = made["compressor/efsignsgd"]["EFSignSGDCompressor"](rate)
memory = made["memory/efsignsgd"]["EFSignSGDMemory"](rate)
for step in range(2):
    tensor = memory.compensate(torch.ones(4), "w")
    message, ctx = compressor.compress(tensor, "w")
    memory.update(tensor, "w", compressor, message, ctx)
    update = compressor.aggregate([compressor.decompress(message, ctx)])
    print(f"EF-signSGD, gradient of ones, learning rate {rate}: update {step + 1} is {update[0].item():.2f}")
ternary = made["compressor/terngrad"]["TernGradCompressor"]()
sent, shape = ternary.compress(torch.ones(4), "w")
print(f"TernGrad of ones: {ternary.decompress(sent, shape).tolist()}")
