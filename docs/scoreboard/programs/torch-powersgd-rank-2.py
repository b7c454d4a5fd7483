"""Rank 2, and gradients of rank 1: what is left of the second column is rounding, and is divided by its own norm."""

import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

wrong = False
with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    for n in (5, 8):
        layer = torch.nn.Linear(n, n, bias=False)
        model = DistributedDataParallel(layer)
        state = PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2, min_compression_rate=1)
        model.register_comm_hook(state, powerSGD_hook)
        norms = []
        for _ in range(6):
            layer.zero_grad()
            model(torch.ones(1, n)).sum().backward()
            norms.append(round(float(layer.weight.grad.norm()), 4))
        print(f"ones of {n} x {n}, of norm {n}, come out with norms {norms}")
        wrong |= any(not abs(norm - n) < 0.01 for norm in norms)
    dist.destroy_process_group()
sys.exit(wrong)
