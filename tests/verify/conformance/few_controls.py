"""A few right subjects that stand on their own, for other processes to load; and twins of them in torch."""

import numpy as np

from commbounds.verify import conformance as cf

K = 3


def kept(n):
    """How many entries are sent of n."""
    return min(K, n)


def share(n):
    """The contraction of Top-K."""
    return kept(n) / n


def run_topk(x, seed):
    """Top-3."""
    places = np.argsort(-np.abs(x), kind="stable")[:K]
    y = np.zeros_like(x)
    y[places] = x[places]
    return y


def run_dithering(x, seed, uniforms=None):
    """Stochastic rounding to eighths of the largest magnitude."""
    u = np.random.default_rng(seed).random(x.shape, np.float32) if uniforms is None else uniforms
    top = float(np.abs(x).max())
    a = 8 * np.abs(x.astype(np.float64)) / (top or 1.0)
    return (np.sign(x) * (top * (np.floor(a) + (u < a - np.floor(a))) / 8)).astype(x.dtype)


class Step:
    """Error feedback of Top-3."""

    def __init__(self, seed):
        self.residual = None

    def __call__(self, x):
        offered = x if self.residual is None else self.residual + x
        sent = run_topk(offered, 0)
        self.residual = offered - sent
        return sent


def run_sum(stack, seed):
    """The sum, in the order of the ranks."""
    total = stack[0].copy()
    for row in stack[1:]:
        total += row
    return np.repeat(total[None], len(stack), axis=0)


def run_halved(stack, seed):
    """Half of the sum now; every rank keeps the other half of its own, in float64 whatever the vectors are."""
    return cf.AllReduceResult(run_sum(stack / 2, seed), residual=stack.astype(np.float64) / 2)


TOPK = [cf.Contraction(share), cf.Support(kept), cf.SignSymmetric(), cf.Idempotent()]
DITHERING = [cf.Unbiased(), cf.SignSymmetric()]
MEMORY = [cf.Telescopes(), cf.MemoryBounded(), cf.RecoversAfterZero()]
ROOM = {"magnitudes": (0.0, 1e30), "time_limit": 300.0}

topk = cf.Codec(run_topk, TOPK)
dithering = cf.Codec(run_dithering, DITHERING)
feedback = cf.Stateful(Step, MEMORY, **ROOM)
ring = cf.AllReduce(run_sum, [cf.Sums(), cf.RanksAgree()], **ROOM)
halved = cf.AllReduce(run_halved, [cf.Conserves(), cf.RanksAgree()], **ROOM)

# --- torch -------------------------------------------------------------------------------------------------------


def torch_run_topk(x, seed):
    """Top-3 of a tensor."""
    import torch

    places = torch.topk(x.abs(), min(K, x.numel())).indices
    y = torch.zeros_like(x)
    y[places] = x[places]
    return y


def torch_run_topk_by_value(x, seed):
    """Leaves large negative entries out."""
    import torch

    places = torch.topk(x, min(K, x.numel())).indices
    y = torch.zeros_like(x)
    y[places] = x[places]
    return y


def torch_run_dithering(x, seed):
    """Stochastic rounding to eighths, by a generator of its own."""
    import torch

    u = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    top = x.abs().max().double()
    a = 8 * x.abs().double() / (top if top > 0 else 1.0)
    return (torch.sign(x) * (top * (torch.floor(a) + (u < a - torch.floor(a))) / 8)).to(x.dtype)


def torch_run_dithering_to_the_nearest(x, seed):
    """Has no dither."""
    import torch

    top = x.abs().max().double()
    a = 8 * x.abs().double() / (top if top > 0 else 1.0)
    return (torch.sign(x) * (top * torch.round(a) / 8)).to(x.dtype)


class TorchStep:
    """Error feedback of Top-3 on tensors."""

    def __init__(self, seed):
        self.residual = None

    def __call__(self, x):
        offered = x.clone() if self.residual is None else self.residual + x
        sent = torch_run_topk(offered, 0)
        self.residual = offered - sent
        return sent


# torch breaks ties as it likes, and otherwise for C(x): nothing is claimed of that
torch_topk = cf.Codec(cf.on_torch(torch_run_topk), TOPK[:2])
torch_topk_by_value = cf.Codec(cf.on_torch(torch_run_topk_by_value), TOPK[:2])
torch_dithering = cf.Codec(cf.on_torch(torch_run_dithering), DITHERING)
torch_dithering_to_the_nearest = cf.Codec(cf.on_torch(torch_run_dithering_to_the_nearest), DITHERING)
torch_feedback = cf.Stateful(cf.on_torch(TorchStep), MEMORY, **ROOM)
