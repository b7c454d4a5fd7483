"""A DDP hook in float8 with error feedback, over several rounds: LoongForge's, as the book has it.

`commbounds.collectives.loongforge_hook` takes the gradients of all rounds; the hook here is given one round after
another, and keeps those that were. Put your own hook in its place.
"""

import numpy as np

from commbounds.collectives import loongforge_hook
from commbounds.verify import conformance as cf


def hook(feedback="both"):
    """A new hook, which remembers what its codings lose."""

    def factory(seed):
        gone = {}

        def step(stack):
            before = gone.setdefault(stack.shape, [])
            before.append(stack)
            means, _ = loongforge_hook(np.concatenate(before, axis=1), len(before), 8, feedback)
            return means[:, -stack.shape[1] :]

        return step

    return factory


def held_back(stack):
    """Half of what is held back behind the last round: 55/729 of the ranks' largest, on average."""
    largest = np.abs(stack.astype(np.float64)).max(axis=1).mean()
    return 55 / 729 * largest / 2


CLAIMS = [cf.AbsoluteError(held_back), cf.RanksAgree()]
OPTIONS = {"op": "mean", "magnitudes": (1e-20, 1e20), "effort": 0.1}
subject = cf.in_rounds(hook(), CLAIMS, name="LoongForge, error feedback", **OPTIONS)
without = cf.in_rounds(hook("none"), CLAIMS, name="LoongForge, nothing fed back", **OPTIONS)
