"""A DDP hook in float8 with error feedback, over several rounds: LoongForge's, as the book has it.

The rounds are those of `cf.in_rounds`, which takes a hook of your own one round after another; the book's takes all at
once. Half the sum of what they return is off by half of what is held back behind the last one.
"""

from functools import partial

import numpy as np

from commbounds.collectives import loongforge_hook
from commbounds.verify import conformance as cf

WEIGHTS = (1.0, 1.0, -0.5, 0.0, 0.5)


def rounds(stack, seed, feedback):
    """Half the sum of five rounds, which bring so many times the stack."""
    gradients = np.concatenate([stack * stack.dtype.type(weight) for weight in WEIGHTS], axis=1)
    means, _ = loongforge_hook(gradients, len(WEIGHTS), 8, feedback)
    return (means.astype(np.float64).reshape(len(stack), len(WEIGHTS), -1).sum(axis=1) / 2).astype(stack.dtype)


def held_back(stack):
    """Half of what is held back behind the last round: 55/729 of the ranks' largest, on average."""
    largest = np.abs(stack.astype(np.float64)).max(axis=1).mean()
    return 55 / 729 * largest / 2


CLAIMS = [cf.AbsoluteError(held_back), cf.RanksAgree()]
OPTIONS = {"op": "mean", "magnitudes": (1e-20, 1e20), "effort": 0.02}
subject = cf.AllReduce(partial(rounds, feedback="both"), CLAIMS, name="LoongForge, error feedback", **OPTIONS)
without = cf.AllReduce(partial(rounds, feedback="none"), CLAIMS, name="LoongForge, nothing fed back", **OPTIONS)
