"""One of four ranks that train with torch on gloo: ``watched_gloo.py FOLDER HOOK [FAULT]``.

A network with one hidden layer by DistributedDataParallel, or a small transformer by FSDP or DiLoCo.

Without a monitor where FOLDER is ``-``. Prints a checksum of the weights in the end.
"""

import os
import sys
import zlib
from pathlib import Path

import torch
import watched_training as training
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard import _fsdp_collectives
from torch.nn.parallel import DistributedDataParallel

from commbounds import watch

sys.path.append(str(Path(__file__).parents[1] / "docs" / "examples"))
import ddp_feedback

STEPS, FROM, INNER = int(os.environ.get("WATCHED_STEPS", "30")), 20, 3


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


class Transformer(torch.nn.Module):
    """Of the eight rows of a digit."""

    def __init__(self):
        super().__init__()
        self.rows = torch.nn.Linear(8, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.digit = torch.nn.Linear(16, 10)

    def forward(self, x):
        """Scores of the ten digits."""
        return self.digit(self.layer(self.rows(x.reshape(-1, 8, 8))).mean(dim=1))


class ReduceScatter(_fsdp_collectives.DefaultReduceScatter):
    """FSDP's, which may leave out its own rank."""

    wrong = False

    def __call__(self, output_tensor, input_tensor, *arguments, **named):
        """As FSDP calls it."""
        return super().__call__(output_tensor, input_tensor * (not self.wrong), *arguments, **named)


def averaged(x):
    """DiLoCo's outer average, in place."""
    distributed.all_reduce(x)
    x /= distributed.get_world_size()


def main(folder, name, fault=""):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    overhead = float(os.environ.get("WATCHED_OVERHEAD", "1e9"))
    monitor = None if folder == "-" else watch.Monitor(folder, {}, rank=rank, ranks=ranks, overhead=overhead)
    model, state, outer = Transformer(), None, None
    if name == "fsdp":
        state = ReduceScatter()
        fully_shard(model, mesh=init_device_mesh("cpu", (ranks,)))
        model.set_custom_reduce_scatter(state if monitor is None else watch.watch_reduce_scatter(state, monitor, "all"))
    elif name == "diloco":
        copy = [p.detach().clone().requires_grad_() for p in model.parameters()]
        outer = torch.optim.SGD(copy, lr=0.7, momentum=0.9, nesterov=True)
        average = averaged if monitor is None else watch.watch_outer(averaged, monitor, outer)
    else:
        model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
        model = DistributedDataParallel(model)
        hook, state, held, told = hooks()[name]
        model.register_comm_hook(state, hook if monitor is None else watch.watch(hook, monitor, held, **told))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = (torch.as_tensor(part[rank::ranks][: 32 * STEPS]) for part in training.digits())
    for step in range(STEPS):
        if rank == 1 and step >= FROM:
            if fault == "dropped":
                state.kept = torch.zeros_like(state.kept)
            if fault == "forgetful":
                state.forgets = True
            if fault == "zeros":
                state.wrong = True
        batch = slice(32 * (step % 10), 32 * (step % 10) + 32)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimiser.step()
        if outer and step % INNER == INNER - 1:
            with torch.no_grad():
                for kept, p in zip(copy, model.parameters(), strict=True):
                    kept.grad = kept - p
                    average(kept.grad)
                outer.step()
                for kept, p in zip(copy, model.parameters(), strict=True):
                    p.copy_(kept)
    if monitor is not None:
        monitor.close()
    whole = [getattr(p, "full_tensor", lambda p=p: p)().detach() for p in model.parameters()]
    print(zlib.crc32(b"".join(p.numpy().tobytes() for p in whole)))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
