"""One round of torchft's first DiLoCo with one worker, its manager replaced by one that sums over that worker.

lowcomm.diloco.reversed
"""

import runpy
import sys
from types import ModuleType, SimpleNamespace

import torch
from checkout import checkout

folder = checkout("pytorch/torchft", "2e2a3cba28f10daf73344655782bd9ea8e62badd")
for name in ("torchft", "torchft.manager"):
    sys.modules[name] = ModuleType(name)
sys.modules["torchft.manager"].Manager = object
theirs = runpy.run_path(str(folder / "torchft/local_sgd.py"))


class Alone:
    """A manager of one worker: its sums and averages are the worker's."""

    _use_async_quorum = False

    def start_quorum(self):
        """Nothing: there is one worker."""

    def should_commit(self):
        """Always."""
        return True

    def allreduce(self, tensor):
        """The tensor stays as it is."""
        return SimpleNamespace(wait=lambda: None)


model = torch.nn.Linear(1, 1, bias=False)
model.weight.data.fill_(1.0)
inner = torch.optim.SGD(model.parameters(), lr=0.5)
outer = torch.optim.SGD(model.parameters(), lr=0.7, momentum=0.9, nesterov=True)
with theirs["DiLoCo"](Alone(), model, inner, outer, sync_every=2, pin_memory=False):
    for _ in range(2):
        before = model.weight.item()
        inner.zero_grad()
        (model.weight**2 / 2).sum().backward()
        inner.step()
        print(f"inner step on x^2/2: from {before} to {before - 0.5 * before}")
print(f"the outer step, 0.7 with momentum 0.9, goes from 1.0 to {model.weight.item():.4f}")
print(f"towards the worker's 0.25 it would go to {1 + 0.7 * 1.9 * (0.25 - 1):.4f}")
