"""Classical collectives beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from commbounds.verify.data import IDLE, KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.definitions import dense
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes

DTYPES = ("float32", "float64")
HUGE = (*KINDS, "overflow", "NaN")
ALGORITHMS = (None, "ring", "recursive-doubling", "bruck")
"""None leaves the algorithm to the default."""
UNKNOWN = {"algorithm": ("star",)}


def stack_with(data: str, P: int, n: int, dtype: str, seed: int) -> Any:
    """A stack of a kind; or one whose sums overflow in some orders, or that is refused for one entry."""
    if data == "overflow":
        signs = stack_of("signs", P, n, dtype, seed)
        return signs * np.finfo(dtype).max
    stack = stack_of(data if data in (*KINDS, *IDLE) else "normal", P, n, dtype, seed)
    if data == "NaN":
        stack[seed % P, 7 * seed % n] = np.nan
    return stack


def _named(algorithm: str | None) -> dict[str, str]:
    return {} if algorithm is None else {"algorithm": algorithm}


def _stacks(P: int, n: int, data: str, dtype: str, algorithm: str | None = None, *, seed: int) -> Given:
    return Given({"stack": stack_with(data, P, n, dtype, seed)}, _named(algorithm))


def _just_below(size: int) -> Callable[[int], int]:
    return lambda P: max(size * P - 1, 1)


def _even_blocks(P: int, n: int, data: str, dtype: str, algorithm: str | None, seed: int) -> Given:
    return Given({"blocks": stack_with(data, P, n, dtype, seed)}, _named(algorithm))


def _lengths(lengths: str, P: int, n: int, seed: int) -> list[int]:
    drawn: list[int] = np.random.default_rng([seed, P]).integers(0, n + 1, P).tolist()
    if lengths == "one block":
        return [n if p == seed % P else 0 for p in range(P)]
    return {"drawn": drawn, "even": [n] * P, "empty": [0] * P, "ascending": [p * n // P for p in range(P)]}[lengths]


def _uneven_blocks(
    P: int, n: int, lengths: str, data: str, dtype: str, algorithm: str | None, seed: int
) -> Given:  # fmt: skip
    whole = stack_with(data, P, n, dtype, seed)
    blocks = [row[:length].copy() for row, length in zip(whole, _lengths(lengths, P, n, seed), strict=True)]
    return Given({"blocks": blocks}, _named(algorithm))


def _sizes(P: int, n: int, lengths: str, dtype: str, unit: int, algorithm: str | None, seed: int) -> Given:
    words = [unit * size for size in _lengths(lengths, P, n, seed)]
    return Given({"sizes": words if dtype == "list" else np.array(words, dtype)}, _named(algorithm))


BLOCKS_OF = tuple(Of(f"{size} P - 1", _just_below(size)) for size in (17, 33, 65))
"""Blocks of one entry more than a tile, but for one of them."""
SUMS = Space(_stacks, {"P": (*RANKS, 12, 16), "n": sizes(16, 64, *TILES), "data": HUGE, "dtype": DTYPES})
SUMS = SUMS.hidden_by(P=(10, 11, 13, 15), data=tuple(IDLE)).search(P=(1, 20), n=(1, 70))
SUMS = SUMS.including(*SUMS.every(P=SUMS.axes["P"], n=(33,), data=("normal",), dtype=DTYPES))
SCATTERS = SUMS.replaced(algorithm=ALGORITHMS).hidden_by(n=BLOCKS_OF)
SUMMED = SCATTERS.every(P=RANKS[2:], n=(33,), data=("normal",), algorithm=ALGORITHMS)
"""Sums of normal numbers show in which order ranks are added."""
WHOLE = Space(_even_blocks, dict(SCATTERS.axes)).search(P=(1, 20), n=(1, 70))
BLOCKS = Space(
    _uneven_blocks,
    {
        "P": (*RANKS, 12, 16),
        "n": (4, 1, 7, 16, 64, 17, 33, 65, 129, 257),
        "lengths": ("drawn", "even", "empty", "ascending", "one block"),
        "data": ("normal", "zeros", "of all sizes", "NaN"),
        "dtype": DTYPES,
        "algorithm": ALGORITHMS,
    },
).search(P=(1, 20), n=(1, 70))
SIZES = (
    Space(
        _sizes,
        {
            **{name: BLOCKS.axes[name] for name in ("P", "n", "lengths")},
            "dtype": ("list", "int64", "int32", "uint64"),
            "unit": (1, 3, 2**33),
            "algorithm": ALGORITHMS,
        },
    )
    .without("sizes beyond their dtype.", lambda dtype, unit: dtype == "int32" and unit > 2**31)
    .search(P=(1, 20), n=(1, 70))
)


@cache
def _long() -> Sequence[Given]:
    """One off what is added in one go, and what is written past the cache, in memory of the last one, if it fits."""
    lengths = (
        (1, 8193, "float32"),
        (3, 8193, "float32"),
        (5, 4095, "float64"),
        (2, 2**15, "float32"),
        *((2, n, "float32") for n in (2**19, 2**19 + 8, 2**19 + 3)),  # of the first, threads have whole blocks
    )
    return [Given({"stack": stack_of("ties" if n > 2**14 else "normal", P, n, dtype, n)}) for P, n, dtype in lengths]


@cache
def _doubled() -> Sequence[Given]:
    """So many ranks that seven doublings are in work at once."""
    return [*_long(), Given({"stack": stack_of("normal", 128, 1, "float32", 1)})]


@cache
def _less_long() -> Sequence[Given]:
    return _long()[:4]


_SUM, _GATHERED = called("result", "traffic"), called("result", "traffic")


def _kept(implementation: Any, given: Given) -> Said:
    """As a call says, after a second one of the same size has returned: a result is the caller's own memory."""
    said = _SUM(implementation, given)
    if given.inputs["stack"].size > 2**14:
        implementation(-given.inputs["stack"])
    return said


DEFINITIONS = {
    "ring_allreduce": Definition(SUMS, _kept, dense.of_dense(dense.ring_allreduce), examples=_long),
    "recursive_doubling_allreduce": Definition(
        SUMS, _kept, dense.of_dense(dense.recursive_doubling_allreduce), examples=_doubled
    ),
    "rabenseifner_allreduce": Definition(SUMS, _SUM, dense.of_dense(dense.rabenseifner_allreduce), examples=_less_long),
    "butterfly_allreduce": Definition(SUMS, _SUM, dense.of_dense(dense.butterfly_allreduce), examples=_less_long),
    "reduce_scatter": Definition(
        SCATTERS.including(*SUMMED), called("blocks", "traffic"), dense.scattered, refused=UNKNOWN
    ),
    "allgather": Definition(WHOLE, _GATHERED, dense.gathered, refused=UNKNOWN),
    "allgatherv": Definition(
        BLOCKS,
        _GATHERED,
        dense.gathered,
        refused=UNKNOWN,
        believed={"length": "no rank knows the sizes of others"},
    ),
    "gather_blocks": Definition(
        SIZES,
        called("traffic"),
        dense.sized,
        examples=lambda: [Given({"sizes": [2**61 - 2, 0, 1, 0]}, _named(name)) for name in ALGORITHMS],
        refused={"sizes": ([2**62, 0], [2**60, 0, 2**60, 0], [2**63], [-1, 1]), **UNKNOWN},
    ),
}
