"""Classical collectives, all ranks at once, beside their rank programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds import collectives
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.experiments.dense.definitions import DEFINITIONS
from commbounds.verify.pairing import Pairing, RankCase, RankResult, on_definition
from commbounds.verify.space import LeftOut

Array = NDArray[Any]
ALGORITHMS = ("ring", "recursive-doubling", "bruck")


def _stacks(P: int) -> Iterator[tuple[str, Array]]:
    """Small stacks by name whose sums show their order, leave the range of their dtype, or keep the sign of a zero.

    Draws are the same at every call.
    """
    rng = np.random.default_rng([P, 7])
    for n in sorted({1, max(1, P - 1), P, 3 * P + 1, 37}):  # blocks are empty, of one word, of two lengths
        spread = rng.standard_normal((P, n)) * 10.0 ** rng.integers(-6, 7, (P, n))
        yield "spread", spread.astype(np.float32)
        yield "spread", spread
    for dtype in (np.float32, np.float64):
        signs: Array = np.where(rng.integers(0, 2, (P, 11)) == 0, -1, 1).astype(dtype)
        yield "near the largest", signs * np.finfo(dtype).max
        yield (
            "near the smallest",
            signs * rng.integers(0, 3, (P, 11)).astype(dtype) * np.finfo(dtype).smallest_subnormal,
        )
        yield "negative zeros", np.full((P, 5), -0.0, dtype)


def _cases(options: tuple[dict[str, Any], ...]) -> Callable[[int], Iterator[RankCase]]:
    def cases(P: int) -> Iterator[RankCase]:
        for name, stack in _stacks(P):
            for chosen in options:
                yield RankCase({"input": name, "dtype": stack.dtype.name, "n": stack.shape[1], **chosen}, stack)

    return cases


def _algorithm(case: RankCase) -> dict[str, Any]:
    return {name: value for name, value in case.settings.items() if name == "algorithm"}


def _on_definition(pairing: Pairing) -> Pairing:
    """The rows of its definition besides, of which every rank has its own part of the result."""
    return on_definition(
        pairing,
        DEFINITIONS[pairing.name],
        lambda result, _P: [{"result": own} for own in result],
        lambda result: {"result": result},
        LeftOut("what is not finite is refused.", lambda data: data == "NaN"),
    )


def _paired(name: str, *options: dict[str, Any]) -> Pairing:
    """A collective of the stack, whose result has a row or a block for every rank."""
    collective = collectives.COLLECTIVES[name]

    def in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
        result, traffic = collective(case.stack, **_algorithm(case))
        return [{"result": own} for own in result], traffic

    def on_rank(comm: Communicator, case: RankCase) -> RankResult:
        return {"result": collective.on_rank(comm, case.stack[comm.rank], **_algorithm(case))}

    return _on_definition(Pairing(name, _cases(options), in_one_process, on_rank))


# --- blocks of different lengths --------------------------------------------------------------------------------------


def _ragged(P: int) -> Iterator[RankCase]:
    """Blocks are what `sizes` says of the beginning of every row; of some the algorithm is left to the default."""
    rng = np.random.default_rng([P, 8])
    for sizes in ([r % 3 for r in range(P)], [0] * P, [9 if r == P - 1 else 0 for r in range(P)], [4] * P):
        for dtype, algorithm in zip((np.float32, np.float64, np.float32), ALGORITHMS, strict=True):
            stack = rng.standard_normal((P, max(sizes))).astype(dtype)
            yield RankCase({"dtype": stack.dtype.name, "algorithm": algorithm, "sizes": sizes}, stack)
        yield RankCase({"dtype": stack.dtype.name, "sizes": sizes}, stack)


def _block(case: RankCase, rank: int) -> Array:
    return case.stack[rank, : case.settings["sizes"][rank]]


def _ragged_in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    blocks = [_block(case, rank) for rank in range(len(case.stack))]
    result, traffic = collectives.allgatherv(blocks, **_algorithm(case))
    return [{"result": own} for own in result], traffic


def _ragged_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return {"result": collectives.allgatherv.on_rank(comm, _block(case, comm.rank), **_algorithm(case))}


def _sizes_in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    """`gather_blocks` knows sizes alone: that all blocks arrive everywhere is what it stands for."""
    blocks = tuple(_block(case, rank) for rank in range(len(case.stack)))
    outcome = {"blocks": blocks}
    return [outcome] * len(blocks), collectives.gather_blocks(case.settings["sizes"], **_algorithm(case))


def _sizes_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    """Half of a block in each of two arrays: a block may be several, as sparse entries are."""
    own = _block(case, comm.rank)
    half = own.size // 2
    parts = gathered(comm, (own[:half], own[half:]), **_algorithm(case))
    return {"blocks": tuple(np.concatenate(part) for part in parts)}


_EVERY = ({}, *({"algorithm": algorithm} for algorithm in ALGORITHMS))

PAIRINGS: tuple[Pairing, ...] = (
    _paired("ring_allreduce", {}),
    _paired("recursive_doubling_allreduce", {}),
    _paired("rabenseifner_allreduce", {}),
    _paired("butterfly_allreduce", {}),
    _paired("reduce_scatter", *_EVERY),
    _paired("allgather", *_EVERY),
    _on_definition(Pairing("allgatherv", _ragged, _ragged_in_one_process, _ragged_on_rank)),
    Pairing("gather_blocks", _ragged, _sizes_in_one_process, _sizes_on_rank),
)
