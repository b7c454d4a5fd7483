"""The first step that batched_powerSGD_hook compresses."""

import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, batched_powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

wrong = False
with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(5, 5, bias=False))
    model.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=2), batched_powerSGD_hook)
    for step in range(4):
        try:
            model(torch.rand(3, 5)).sum().backward()
            print(f"step {step}: done")
        except AssertionError as error:
            print(f"step {step}: AssertionError {error}")
            wrong = True
            break
    dist.destroy_process_group()
sys.exit(wrong)
