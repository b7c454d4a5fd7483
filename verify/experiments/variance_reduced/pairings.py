"""Compression with memory, all ranks in one process beside every rank by itself."""

from functools import partial

from commbounds.verify.experiments.variance_reduced.definitions import DEFINITIONS
from commbounds.verify.pairing import by_rank, in_blocks, on_definition, shared

_OF_ALL = partial(
    by_rank, server_errors=in_blocks, mean=shared, variance=shared, clock=shared, elapsed=shared, trust=shared,
    fresh=shared, factors=shared,
)  # fmt: skip
_NAMES = (
    "diana_step",
    "marina_step",
    "dasha_step",
    "lazy_step",
    "onebit_momentum",
    "zeroone_gradient",
    "zeroone_local",
    "lamb_warmup",
    "onebit_lamb",
)
PAIRINGS = (
    *(on_definition(name, DEFINITIONS[name], of_all=_OF_ALL) for name in _NAMES),
    on_definition(
        "primal_step",
        DEFINITIONS["primal_step"],
        of_all=lambda result, _P: [{"model": model} for model in result.model],
        of_one=lambda result: {"model": result.model},  # weights are the server's alone
    ),
)
