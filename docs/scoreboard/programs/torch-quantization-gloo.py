"""quantization_pertensor_hook on gloo, which its documentation does not exclude."""

import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.quantization_hooks import quantization_pertensor_hook
from torch.nn.parallel import DistributedDataParallel

wrong = False
with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(5, 5, bias=False))
    model.register_comm_hook(dist.group.WORLD, quantization_pertensor_hook)
    try:
        model(torch.rand(3, 5)).sum().backward()
        print("done")
    except (IndexError, RuntimeError) as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        wrong = True
    dist.destroy_process_group()
sys.exit(wrong)
