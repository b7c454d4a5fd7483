"""The first update of GRACE's EF-signSGD for PyTorch; TernGrad, clipped, of equal entries; DGC of all entries.

shipped.ef_signs.first_step, shipped.clippedterngrad.unbiased, shipped.dgc_steps.conserved_masked,
shipped.dgc_steps.dense_momentum
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


for name in ("grace_dl", "grace_dl.torch", "horovod", "horovod.torch"):
    sys.modules[name] = ModuleType(name)
sys.modules["horovod.torch"].allreduce_ = None  # DGC clips with it, where that is asked for
sys.modules["grace_dl.torch"].Compressor = sys.modules["grace_dl.torch"].Memory = Base
made = {
    name: runpy.run_path(str(folder / f"grace_dl/torch/{name}.py"))
    for name in ("compressor/efsignsgd", "memory/efsignsgd", "compressor/terngrad", "compressor/dgc", "memory/dgc")
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
memory, compressor = made["memory/dgc"]["DgcMemory"](0.5, False), made["compressor/dgc"]["DgcCompressor"](1.0)
weight = torch.zeros(1, requires_grad=True)
dense = torch.optim.SGD([weight], lr=1.0, momentum=0.5)
for step, gradient in enumerate((1.0, 0.0, 0.0)):
    before, weight.grad = weight.item(), torch.tensor([gradient])
    dense.step()
    tensor = memory.compensate(torch.tensor([gradient]), "w")
    message, ctx = compressor.compress(tensor, "w")
    memory.update(tensor, "w", compressor, message, ctx)
    update = compressor.decompress(message, ctx).item()
    print(f"DGC of one entry, momentum 1/2, gradient {gradient:.0f}: update {step + 1} is {update}, ", end="")
    print(f"of SGD with this momentum {before - weight.item()}")
