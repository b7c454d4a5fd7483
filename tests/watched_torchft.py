"""Two replica groups of torchft train with DiLoCo on gloo: FOLDER or - [sum]; prints the checksums of their weights."""

import sys
import zlib
from datetime import timedelta
from multiprocessing import get_context

import torch
from torch.distributed import ReduceOp, TCPStore
from torchft import Manager, ProcessGroupGloo
from torchft._torchft import LighthouseServer
from torchft.local_sgd import DiLoCo

from commbounds import watch

STEPS, LIMIT = 8, timedelta(seconds=60)


def replica(number, lighthouse, folder, fault, answers):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    inner = torch.optim.SGD(model.parameters(), lr=0.05)
    outer = torch.optim.SGD(model.parameters(), lr=0.7, momentum=0.9, nesterov=True)
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        pg=ProcessGroupGloo(timeout=LIMIT),
        min_replica_size=2,
        use_async_quorum=False,
        load_state_dict=lambda state: model.load_state_dict(state["model"]),
        state_dict=lambda: {"model": model.state_dict()},
        replica_id=str(number),
        store_addr="localhost",
        store_port=store.port,
        rank=0,
        world_size=1,
        lighthouse_addr=lighthouse,
        timeout=LIMIT,
    )
    if fault == "sum":  # of what are to be averaged
        average = manager.allreduce
        manager.allreduce = lambda x, *given, **named: average(x, *given, **{**named, "reduce_op": ReduceOp.SUM})
    monitor = None
    if folder != "-":
        monitor = watch.Monitor(folder, {}, rank=number, ranks=2)
        manager.allreduce = watch.watch_outer(manager.allreduce, monitor, outer)
    draws = torch.Generator().manual_seed(100 + number)
    with DiLoCo(manager, [model], inner, outer, sync_every=4):
        while manager.current_step() < STEPS:
            x, y = torch.randn(32, 8, generator=draws), torch.randn(32, 4, generator=draws)
            inner.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            inner.step()
    if monitor is not None:
        monitor.close()
    answers.put((number, zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))))
    manager.shutdown(wait=False)


def main(folder, fault=""):
    context = get_context("spawn")
    lighthouse, answers = LighthouseServer(bind="[::]:0", min_replicas=2, join_timeout_ms=10_000), context.Queue()
    replicas = [
        context.Process(target=replica, args=(number, lighthouse.address(), folder, fault, answers), daemon=True)
        for number in range(2)
    ]
    for process in replicas:
        process.start()
    found = sorted(answers.get(timeout=200) for _ in replicas)
    for process in replicas:
        process.join(20)
    lighthouse.shutdown()
    print(*(checksum for _, checksum in found))


if __name__ == "__main__":
    main(*sys.argv[1:])
