"""Objects shaped like those of other packages, right or with one mistake, of which recipes make subjects."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import torch
from torch import distributed

from commbounds import recipes
from commbounds.verify import conformance as cf

# --- one worker --------------------------------------------------------------------------------------------------


class KeepsHalf:
    """As of GRACE: the half of the entries that is largest."""

    def compress(self, tensor, name):
        flat = tensor.flatten()
        indices = flat.abs().topk(-(-flat.numel() // 2)).indices
        return [flat[indices], indices.to(torch.int32)], tensor.shape

    def decompress(self, tensors, ctx):
        values, indices = tensors
        out = torch.zeros(ctx.numel())
        out[indices.long()] = values
        return out.view(ctx)


class Thins:
    """As of GRACE: entries at random, from torch's global generator; `scale` of them is 2 where their mean is kept."""

    def __init__(self, scale):
        self.scale = scale

    def compress(self, tensor, name):
        return [tensor * (torch.rand_like(tensor) < 0.5) * self.scale], None

    def decompress(self, tensors, ctx):
        return tensors[0]


class Remembers:
    """A memory as of GRACE; `share` of what was left is kept."""

    def __init__(self, share=1.0):
        self.residuals, self.share = {}, share

    def compensate(self, tensor, name):
        return tensor + self.residuals[name] if name in self.residuals else tensor

    def update(self, tensor, name, compressor, tensors, ctx):
        self.residuals[name] = self.share * (tensor - compressor.decompress(tensors, ctx))


def right_feedback():
    return KeepsHalf(), Remembers()


def forgetful():
    return KeepsHalf(), Remembers(0.9)


class AsBfloat16:
    """As of hivemind: messages with a buffer."""

    def compress(self, tensor, info, allow_inplace=False):
        return SimpleNamespace(buffer=tensor.to(torch.bfloat16).view(torch.int16).numpy().tobytes(), like=info)

    def extract(self, message):
        codes = torch.frombuffer(bytearray(message.buffer), dtype=torch.int16)
        return codes.view(torch.bfloat16).to(torch.float32).view(message.like)


def to_int8(x, top=127):
    """As of bitsandbytes: codes, and a state with the largest magnitude."""
    largest = x.abs().max()
    scale = torch.where(largest > 0, largest, torch.ones(()))
    # in double: a quotient of subnormal numbers keeps no digits
    return torch.round(x.double() / scale.double() * top).to(torch.int8), SimpleNamespace(absmax=scale)


def from_int8(codes, state, top=127):
    return (codes.double() / top * state.absmax.double()).float()


def to_bfloat16_at_random(x):
    """As of torchao: up or down, so that the mean is kept."""
    bits = x.view(torch.int32)
    moved = bits + torch.randint(0, 1 << 16, x.shape, dtype=torch.int32)
    return (moved & -65536).view(torch.float32).to(torch.bfloat16)


def to_bfloat16_down(x):
    return (x.view(torch.int32) & -65536).view(torch.float32).to(torch.bfloat16)


class LeavesTheRest:
    """As of epfml's PowerSGD: what is not sent stays in the gradients."""

    def __init__(self, like, forgets=False):
        self.forgets = forgets

    def aggregate(self, gradients):
        sent = []
        for gradient in gradients:
            kept = gradient.clone()
            kept[:, kept.shape[1] // 2 + 1 :] = 0
            gradient -= kept
            if self.forgets:
                gradient.zero_()
            sent.append(kept)
        return sent


# --- ranks -------------------------------------------------------------------------------------------------------


def without_the_last(tensor):
    """Sums, but only the first rank's message reaches the others where there are three."""
    distributed.all_reduce(tensor)
    if distributed.get_world_size() == 3 and distributed.get_rank() == 2:
        tensor.zero_()


def mean_in_float32(state, bucket):
    """A hook: the mean, by a sum."""
    tensor = bucket.buffer().div_(distributed.get_world_size())
    return distributed.all_reduce(tensor, async_op=True).get_future().then(lambda future: future.value()[0])


def doubling(hook):
    """A wrapper whose result no other process could import."""

    def wrapped(state, bucket):
        return hook(state, bucket).then(lambda future: 2 * future.value())

    return wrapped


class TwoStages:
    """As of DeepSpeed: ranks halve what they bring, the owner of a part halves the mean; both keep errors."""

    def __init__(self, forgets=False):
        self.forgets = forgets

    def compressed_allreduce(self, buffer_m, worker_error, server_error, local_rank):
        P, n = distributed.get_world_size(), buffer_m.numel()
        held = torch.cat([buffer_m, torch.zeros(worker_error.numel() - n)]) + worker_error
        sent = held / 2
        worker_error.copy_(held - sent)
        everything = [torch.empty_like(sent) for _ in range(P)]
        distributed.all_gather(everything, sent)
        own = torch.stack(everything).view(P, P, -1)[:, local_rank].sum(0) / P + server_error
        part = own / 2
        server_error.copy_(torch.zeros_like(own) if self.forgets else own - part)
        parts = [torch.empty_like(part) for _ in range(P)]
        distributed.all_gather(parts, part)
        buffer_m.copy_(torch.cat(parts)[:n])
        return buffer_m


# --- subjects ----------------------------------------------------------------------------------------------------

SMALL = {"admits": lambda x: x.size <= 300}
RUNS = {"magnitudes": (0.0, 1e30), "admits": lambda x: x.size <= 24}
NORMAL = {"magnitudes": (2.0**-120, 2.0**120), **SMALL}
FEEDBACK = [cf.Telescopes(), cf.MemoryBounded()]


def half_step(x):
    return float(np.abs(x).max()) / 254


def int8(top, *claims):
    names = partial(to_int8, top=top), partial(from_int8, top=top)
    return recipes.quantizer(*names, [*claims, cf.AbsoluteError(half_step), cf.Bits(lambda n: 8 * n + 32)])


right = {
    "grace": recipes.grace_compressor(
        KeepsHalf(), [cf.Contraction(0.5), cf.Support(lambda n: -(-n // 2)), cf.Bits(lambda n: 32 * (n + 1))], **SMALL
    ),
    "grace, at random": recipes.grace_compressor(
        Thins(2.0), [cf.Unbiased(), cf.Variance(1.0)], magnitudes=(0, 1e38), **SMALL
    ),
    "grace, memory": recipes.grace_feedback(right_feedback, FEEDBACK, **RUNS),
    "hivemind": recipes.hivemind_compression(
        AsBfloat16(),
        [cf.Idempotent(), cf.Bits(lambda n: 16 * n)],
        info=lambda x: x.shape,
        magnitudes=(0, 1e38),
        **SMALL,
    ),
    "bitsandbytes": int8(127),
    "torchao": recipes.stochastic_rounding(to_bfloat16_at_random, [cf.Unbiased()], **NORMAL),
    "powersgd": recipes.aggregator(LeavesTheRest, [cf.Telescopes()], magnitudes=(0, 1e30), **SMALL),
    "function": cf.Codec(cf.on_torch(torch.neg), [cf.SignSymmetric()]),
}
wrong = {
    "grace, at random": (recipes.grace_compressor(Thins(1.0), [cf.Unbiased()], **SMALL), "Unbiased"),
    "grace, memory": (recipes.grace_feedback(forgetful, FEEDBACK, **RUNS), "Telescopes"),
    "hivemind": (
        recipes.hivemind_compression(AsBfloat16(), [cf.Contraction(1.0)], info=lambda x: x.shape, **SMALL),
        "Contraction",
    ),
    "bitsandbytes": (int8(128), "AbsoluteError"),
    "torchao": (recipes.stochastic_rounding(to_bfloat16_down, [cf.Unbiased()], **NORMAL), "Unbiased"),
    "powersgd": (recipes.aggregator(partial(LeavesTheRest, forgets=True), [cf.Telescopes()]), "Telescopes"),
    "function": (cf.Codec(cf.on_torch(torch.exp), [cf.SignSymmetric()]), "SignSymmetric"),
}
SUMS, MEAN = [cf.Sums(), cf.RanksAgree()], [cf.Averages(), cf.RanksAgree()]
MIDDLING = {"magnitudes": (1e-3, 1e3)}
right_ranks = {
    "in place": recipes.inplace_allreduce(distributed.all_reduce, SUMS, **MIDDLING),
    "hook": recipes.torch_hook(mean_in_float32, MEAN, **MIDDLING),
    "deepspeed": recipes.deepspeed_allreduce(TwoStages, [cf.RanksAgree()], **MIDDLING),
    "deepspeed, errors": recipes.deepspeed_allreduce(
        TwoStages, [cf.Telescopes()], stateful=True, ranks=(2,), **MIDDLING
    ),
}
wrong_ranks = {
    "in place": (recipes.inplace_allreduce(without_the_last, SUMS, **MIDDLING), "RanksAgree"),
    "hook": (recipes.torch_hook(mean_in_float32, MEAN, wrapper=doubling, **MIDDLING), "Averages"),
    "deepspeed, errors": (
        recipes.deepspeed_allreduce(
            partial(TwoStages, forgets=True), [cf.Telescopes()], stateful=True, ranks=(2,), **MIDDLING
        ),
        "Telescopes",
    ),
}
