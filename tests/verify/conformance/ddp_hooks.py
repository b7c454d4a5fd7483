"""Communication hooks, right and broken, which the processes of a group import."""

import os
import time

import torch
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from commbounds.verify import conformance as cf

MEAN = [cf.Averages(), cf.RanksAgree()]
FEEDBACK = [cf.Telescopes(), cf.MemoryBounded(), cf.RecoversAfterZero()]


def no_state(seed):
    return None


def done(tensor):
    future = torch.futures.Future()
    future.set_result(tensor)
    return future


def sums(state, bucket):
    """Forgets to divide."""
    return distributed.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda f: f.value()[0])


def first_alone(state, bucket):
    """Everybody gets the gradient of rank 0."""
    distributed.broadcast(bucket.buffer(), 0)
    return done(bucket.buffer())


def own_last_bit(state, bucket):
    """The mean, but rank 1 adds one unit in the last place."""
    result = allreduce_hook(None, bucket)
    result.wait()
    if distributed.get_rank() == 1:
        return done(torch.nextafter(bucket.buffer(), torch.full_like(bucket.buffer(), torch.inf)))
    return done(bucket.buffer())


def in_eight_bits(bucket, dtype):
    """The mean of codes of eight bits, which are added in `dtype`."""
    tensor, P = bucket.buffer(), distributed.get_world_size()
    top = tensor.abs().max().reshape(1)
    distributed.all_reduce(top, distributed.ReduceOp.MAX)
    scale = torch.where(top > 0, top / 127, 1)
    codes = torch.clamp(torch.round(tensor / scale), -127, 127).to(dtype)
    distributed.all_reduce(codes)
    return done(codes.to(tensor.dtype) * scale / P)


def wraps(state, bucket):
    """The sum of int8 codes is formed in int8."""
    return in_eight_bits(bucket, torch.int8)


def does_not_wrap(state, bucket):
    """It is formed in int32."""
    return in_eight_bits(bucket, torch.int32)


def half_a_step(stack):
    return float(abs(stack).max()) / 254


def common_step(P):
    """What half a step of the largest entry of all may add to a rank's own, of each."""
    return 1 + P / 254


def raises(state, bucket):
    if distributed.get_rank() == 1:
        raise ValueError("not today")
    return allreduce_hook(None, bucket)


def all_raise(state, bucket):
    if bucket.buffer().numel() > 2:
        raise ValueError("too long")
    return allreduce_hook(None, bucket)


def hangs(state, bucket):
    if distributed.get_rank() == 1:
        time.sleep(1e6)
    return allreduce_hook(None, bucket)


def dies(state, bucket):
    if distributed.get_rank() == 1:
        os._exit(7)
    return allreduce_hook(None, bucket)


class Memory:
    """Error feedback: what every rank holds back."""

    def __init__(self):
        self.held = None


def memory(seed):
    return Memory()


def held(state):
    return 0.0 if state.held is None else state.held


def every_other(state, bucket, kept=1.0):
    """Sends the largest entry of the mean of gradients and memories, and holds back the others."""
    tensor = bucket.buffer()
    if state.held is not None:
        tensor.add_(state.held)
    distributed.all_reduce(tensor)
    tensor /= distributed.get_world_size()
    sent = torch.zeros_like(tensor)
    place = tensor.abs().argmax()
    sent[place] = tensor[place]
    state.held = kept * (tensor - sent)
    return done(sent)


def forgets(state, bucket):
    """Half of what is held back is lost."""
    return every_other(state, bucket, kept=0.5)


right = cf.torch_ddp_hook(allreduce_hook, no_state, MEAN)
halved = cf.torch_ddp_hook(allreduce_hook, no_state, MEAN, dtype="bfloat16", ranks=(2,))
broken = {
    "sums": cf.torch_ddp_hook(sums, no_state, MEAN, ranks=(2,)),
    "first alone": cf.torch_ddp_hook(first_alone, no_state, MEAN, ranks=(3,)),
    "own last bit": cf.torch_ddp_hook(own_last_bit, no_state, MEAN, ranks=(2,), magnitudes=(1.0, 1e6)),
    "wraps": cf.torch_ddp_hook(wraps, no_state, MEAN, ranks=(2,)),
    "raises": cf.torch_ddp_hook(raises, no_state, MEAN, ranks=(2,)),
    "all raise": cf.torch_ddp_hook(all_raise, no_state, MEAN, ranks=(2,)),
    "hangs": cf.torch_ddp_hook(hangs, no_state, MEAN, ranks=(2,), time_limit=2.0),
    "dies": cf.torch_ddp_hook(dies, no_state, MEAN, ranks=(2,)),
}
LOSSY = {"op": "mean", "ranks": (2, 3), "magnitudes": (1e-30, 1e30)}
CODED = [cf.AbsoluteError(half_a_step), cf.Bounded(common_step), cf.RanksAgree()]
lossy = {hook.__name__: cf.torch_ddp_hook(hook, no_state, CODED, **LOSSY) for hook in (wraps, does_not_wrap)}
feedback = cf.torch_ddp_hook(
    every_other, memory, FEEDBACK, stateful=True, residual=held, ranks=(2,), shape=(3,), effort=0.02
)
forgetful = cf.torch_ddp_hook(
    forgets, memory, FEEDBACK[:1], stateful=True, residual=held, ranks=(2,), shape=(3,), effort=0.02
)
