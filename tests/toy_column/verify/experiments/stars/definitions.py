"""Stars beside their definitions: the spaces of their cases."""

import numpy as np

from commbounds.verify.data import EDGES, KINDS, stack_of, vector_of
from commbounds.verify.definition import Definition, Given, called, compressed
from commbounds.verify.definitions import stars
from commbounds.verify.space import RANKS, Space, sizes

DTYPES = ("float32", "float64")


def _tossed(n, data, dtype, coin, seed):
    return Given({"x": vector_of(data, n, dtype, seed)}, {}, {"seed": seed} if coin == "seed" else {"coin": coin})


def _stacked(P, n, data, dtype, seed):
    return Given({"stack": stack_of(data, P, n, dtype, seed)})


def _refused():
    """What no space has: another coin, another dtype, nothing, and what is not finite."""
    arrays = (np.ones(3), np.ones(3, np.float16), np.ones(0), np.array([np.nan]))
    return [Given({"x": x}, {}, {"coin": coin}) for x, coin in zip(arrays, (2, 0, 0, 1), strict=True)]


VECTORS = {"n": (1, 2, 3, 8, 17), "data": (*KINDS, *EDGES), "dtype": DTYPES, "coin": (0, 1, "seed")}
STACKS = {"P": RANKS, "n": sizes(16), "data": tuple(KINDS), "dtype": DTYPES}

DEFINITIONS = {
    "Parity": Definition(Space(_tossed, VECTORS).search(n=(1, 40)), compressed, stars.Parity, examples=_refused),
    "star_allreduce": Definition(
        Space(_stacked, STACKS).search(P=(1, 12), n=(1, 40)), called("result", "traffic"), stars.star_allreduce
    ),
}
