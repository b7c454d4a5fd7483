"""torchastic's stochastic rounding to bfloat16, which its optimisers write weights with."""

import numpy as np
import torch
from torchastic.stochastic_optim import copy_stochastic_

from commbounds.verify import conformance as cf


def rounded(x, seed):
    """Copied into a tensor of bfloat16."""
    torch.manual_seed(seed)
    target = torch.empty_like(x, dtype=torch.bfloat16)
    copy_stochastic_(target, x)
    return target.float()


def two_steps(x):
    """Less than the distance of two neighbours."""
    return np.abs(x.astype(np.float64)) * 2.0**-7


DRAWN = {"global generators untouched": "it draws from torch's global generator, which is seeded for every call"}
subjects = [
    cf.Codec(
        cf.on_torch(rounded),
        [cf.Unbiased(), cf.AbsoluteError(two_steps), cf.Idempotent()],
        name="copy_stochastic_",
        waivers=DRAWN,
        magnitudes=(1e-30, 1e30),
        effort=0.2,
    ),
    cf.Codec(cf.on_torch(rounded), [], name="copy_stochastic_, all of float32", waivers=DRAWN, effort=0.2),
]
