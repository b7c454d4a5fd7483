"""LoongForge's DDP hook in float8 with error feedback, as a CPU computes it, over several rounds.

Written from baidu-baige/LoongForge at 46b8d617, loongforge/embodied/distributed/ddp_utils/fp8_a2a_comm.py, with
``error_feedback="both"`` (off by default; pull request 231). Divisions are rounded correctly, products and sums are not
contracted, and float8 saturates. Blocks have 256 entries there.
"""

import ml_dtypes
import numpy as np

from commbounds.verify import conformance as cf

BLOCK, TILE = 8, 8
LEAST = np.float32(1.1754944e-38)


def coded(x):
    """What is read of the codes of whole blocks, whose scales are a 448th of their largest magnitudes."""
    rows = x.reshape(-1, BLOCK)
    scale = np.abs(rows).max(axis=1, keepdims=True) / np.float32(448)
    with np.errstate(divide="ignore", over="ignore"):
        up = np.where(scale > LEAST, np.float32(1) / scale, np.float32(0))
    codes = np.clip(rows * up, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    return (codes * np.where(up > 0, scale, np.float32(0))).ravel()


def hook(remembers=True):
    """A new hook: what both codings lose is added in the next round, by every rank, and by the owner of a part."""

    def factory(seed):
        state = {}

        def step(stack):
            P, n = stack.shape
            part = -(-n // P)
            part += -part % (BLOCK * TILE)
            lost, lost_of_mean = state.setdefault(
                (P, n), (np.zeros((P, P * part), np.float32), np.zeros(P * part, np.float32))
            )
            due = np.pad(stack, ((0, 0), (0, P * part - n))) + lost
            read = np.stack([coded(row) for row in due])
            total = np.zeros(P * part, np.float32)
            for row in read:
                total = total + row
            mean = total * np.float32(1 / P) + lost_of_mean
            result = coded(mean)
            if remembers:
                lost[:], lost_of_mean[:] = due - read, mean - result
            return np.repeat(result[None, :n], P, axis=0)

        return step

    return factory


def held_back(stack):
    """Half of what is held back behind the last round: a 27th of the ranks' largest, and as much of the mean's."""
    largest = np.abs(stack.astype(np.float64)).max(axis=1).mean()
    return (largest + 1.1 * largest) / 27 / 2


CLAIMS = [cf.AbsoluteError(held_back), cf.RanksAgree()]
OPTIONS = {"op": "mean", "magnitudes": (1e-20, 1e20), "effort": 0.1}
subject = cf.in_rounds(hook(), CLAIMS, name="LoongForge, error feedback", **OPTIONS)
without = cf.in_rounds(hook(False), CLAIMS, name="LoongForge, nothing fed back", **OPTIONS)
