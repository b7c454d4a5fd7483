"""Entries beyond 65504 are infinite behind fp16_compress_hook, for any mean."""

import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel

with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    layer = torch.nn.Linear(2, 1, bias=False)
    model = DistributedDataParallel(layer)
    model.register_comm_hook(None, fp16_compress_hook)
    model(torch.tensor([[70000.0, 1.0]])).sum().backward()
    print(f"the gradient [70000, 1] of the only rank becomes {layer.weight.grad.tolist()[0]}")
    dist.destroy_process_group()
sys.exit(not bool(torch.isfinite(layer.weight.grad).all()))
