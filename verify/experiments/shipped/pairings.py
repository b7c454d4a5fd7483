"""The ranks of the column's collectives beside them in one process."""

from functools import partial

from commbounds.verify.experiments.shipped.definitions import DEFINITIONS
from commbounds.verify.pairing import by_rank, on_definition, shared

PAIRINGS = tuple(
    on_definition(name, DEFINITIONS[name], of_all=partial(by_rank, updates=shared))
    for name in ("permk_mean", "shared_randk_mean", "dgc_steps")
)
