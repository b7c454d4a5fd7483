"""One of four ranks that train with torch's DistributedDataParallel on gloo: ``watched_gloo.py FOLDER HOOK [FAULT]``.

Without a monitor where FOLDER is ``-``. Prints a checksum of the weights in the end.
"""

import sys
import zlib
from pathlib import Path

import torch
import watched_training as training
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from commbounds import watch

sys.path.append(str(Path(__file__).parents[1] / "docs" / "examples"))
import ddp_feedback

STEPS, FROM = 30, 20


def hooks():
    """Name -> hook, its state, what it keeps, and what the monitor is told besides."""
    half = {"roundoff": 2.0**-11, "result_rounding": 4 * 2.0**-25}  # of float16, which has no numbers below 2^-24
    power = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1)
    kept = {
        "topk": lambda state, bucket: state.kept,
        "power": lambda state, bucket: state.error_dict.get(bucket.index()),
    }
    return {
        "allreduce": (default_hooks.allreduce_hook, None, None, {}),
        "fp16": (default_hooks.fp16_compress_hook, None, None, half),
        "topk": (ddp_feedback.topk_hook, ddp_feedback.Memory(0), kept["topk"], {}),
        "powersgd": (powerSGD_hook.powerSGD_hook, power, kept["power"], {}),
    }


def main(folder, name, fault=""):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    model = DistributedDataParallel(model)
    hook, state, held, told = hooks()[name]
    monitor = None if folder == "-" else watch.Monitor(folder, {}, rank=rank, ranks=ranks, overhead=1e9)
    model.register_comm_hook(state, hook if monitor is None else watch.watch(hook, monitor, held, **told))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = (torch.as_tensor(part[rank::ranks][: 32 * STEPS]) for part in training.digits())
    for step in range(STEPS):
        if rank == 1 and step >= FROM:
            if fault == "dropped":
                state.kept = torch.zeros_like(state.kept)
            if fault == "forgetful":
                state.forgets = True
        batch = slice(32 * (step % 10), 32 * (step % 10) + 32)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimiser.step()
    if monitor is not None:
        monitor.close()
    print(zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in model.parameters())))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
