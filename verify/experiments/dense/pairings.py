"""Classical collectives, all ranks at once, beside their rank programs."""

import numpy as np

from commbounds import collectives
from commbounds.array_types import Array
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.dense.definitions import DEFINITIONS, SIZES
from commbounds.verify.pairing import RankResult, on_definition, on_rows
from commbounds.verify.space import LeftOut

_REFUSED = LeftOut("what is not finite is refused.", lambda data: data == "NaN")


def _blocks(given: Given) -> list[Array]:
    """Blocks of the sizes that `gather_blocks` is given."""
    return [np.arange(size) + 0.5 * rank for rank, size in enumerate(given.inputs["sizes"])]


def _sizes_in_one_process(given: Given) -> tuple[list[RankResult], Traffic]:
    """`gather_blocks` knows sizes alone: that all blocks arrive everywhere is what it stands for."""
    blocks = tuple(_blocks(given))
    return [{"blocks": blocks}] * len(blocks), collectives.gather_blocks(**given.inputs, **given.parameters)


def _sizes_on_rank(comm: Communicator, given: Given) -> RankResult:
    """Half of a block in each of two arrays: a block may be several, as sparse entries are."""
    own = _blocks(given)[comm.rank]
    half = own.size // 2
    parts = gathered(comm, (own[:half], own[half:]), **given.parameters)
    return {"blocks": tuple(np.concatenate(part) for part in parts)}


_NAMES = (
    "ring_allreduce",
    "recursive_doubling_allreduce",
    "rabenseifner_allreduce",
    "butterfly_allreduce",
    "reduce_scatter",
    "allgather",
    "allgatherv",
)
PAIRINGS = (
    *(on_definition(name, DEFINITIONS[name], _REFUSED) for name in _NAMES),
    on_rows("gather_blocks", SIZES.replaced(unit=(1,)), _sizes_in_one_process, _sizes_on_rank),
)
