"""Top-k with error feedback as a DDP hook: ``commbounds check ddp_feedback.py:right``; ``:wrong`` are two mistakes."""

import torch
from torch import distributed

from commbounds.verify import conformance as cf


class Memory:
    """What this rank holds back; nothing at first."""

    def __init__(self, seed, dtype=torch.float32):
        self.kept, self.dtype, self.forgets = None, dtype, False


def topk_hook(memory, bucket):
    """Every rank sends a quarter of the entries of its gradient and what it held back, the largest."""
    gradient = bucket.buffer()
    corrected = gradient if memory.kept is None else gradient + memory.kept.to(gradient.dtype)
    indices = corrected.abs().topk(-(-corrected.numel() // 4)).indices
    left = gradient.clone() if memory.forgets else corrected.clone()
    left[indices] = 0
    memory.kept = left.to(memory.dtype)
    return mean_of(corrected[indices], indices, gradient)


def mean_of(values, indices, gradient):
    """The mean of all ranks' messages, added in their order."""
    ranks = distributed.get_world_size()
    all_indices = [torch.empty_like(indices) for _ in range(ranks)]
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    distributed.all_gather(all_indices, indices)
    distributed.all_gather(all_values, values)
    mean = torch.zeros_like(gradient)
    for places, parts in zip(all_indices, all_values, strict=True):
        mean[places] += parts
    future = torch.futures.Future()
    future.set_result(mean / ranks)
    return future


def in_half(seed):
    """A memory in half the bytes."""
    return Memory(seed, torch.float16)


def forgetful(seed):
    """Of the gradient alone, not of what had been held back before."""
    memory = Memory(seed)
    memory.forgets = True
    return memory


def kept(memory):
    """What the kit may look at: zero before the first step."""
    return 0.0 if memory.kept is None else memory.kept.float()


def judged(make_memory, name):
    """The hook with its memory, on two ranks."""
    claims = [cf.Telescopes(), cf.MemoryBounded()]
    return cf.torch_ddp_hook(topk_hook, make_memory, claims, stateful=True, residual=kept, ranks=(2,), name=name)


right = judged(Memory, "top-k with feedback")
wrong = [judged(forgetful, "forgets what it held back"), judged(in_half, "memory in float16")]
