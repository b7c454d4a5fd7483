"""With warm start and an epsilon, one step without gradient is the end: Q is zero, and M Q = 0 from then on."""

import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    layer = torch.nn.Linear(5, 5, bias=False)
    model = DistributedDataParallel(layer)
    state = PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1, orthogonalization_epsilon=1e-8)
    model.register_comm_hook(state, powerSGD_hook)
    norms = []
    for step in range(13):
        layer.zero_grad()
        model(torch.full((1, 5), float(step != 2))).sum().backward()
        norms.append(round(float(layer.weight.grad.norm()), 6))
    kept = float(state.error_dict[0].norm())
    dist.destroy_process_group()
print(f"gradients of norm 5, but none in step 2, come out with norms {norms}")
print(f"and the memory has grown to {kept:g}")
sys.exit(norms[-1] == 0.0)
