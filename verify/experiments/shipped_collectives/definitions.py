"""Shipped collectives beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.shipped_collectives.quickreduce import ATOMS
from commbounds.verify.data import IDLE, KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.definitions import shipped_collectives as definitions
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes

_ENDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "both ends": lambda rng, P, n: rng.choice((-1.0, 1.0, 0.999, 0.25), (P, n)) * 2.0 ** rng.integers(-3, 4, (P, 1)),
    "blocks of all sizes": lambda rng, P, n: rng.standard_normal((P, n)) * 2.0 ** rng.integers(-24, 12, (P, 1)),
    "beyond float16": lambda rng, P, n: rng.standard_normal((P, n)) * 10.0 ** rng.integers(2, 7, (P, 1)),
}
"""Blocks that hold their largest magnitude with both signs, and blocks across the ends of float16."""
DATA = (*KINDS, *_ENDS)
NO_ATOMS = "a thread of the source holds eight registers, which are shared out evenly"
GROUPS = {
    "group": (3, 1, 8),
    "block": (Of("group P", lambda group, P: group * P), Of("2 group P", lambda group, P: 2 * group * P)),
}


def stack_like(data: str, P: int, n: int, seed: int, dtype: Any = "float32") -> Array:
    """The ranks' vectors by one kind of `DATA`."""
    if data in _ENDS:
        return _ENDS[data](np.random.default_rng([seed, P, n]), P, n).astype(dtype)
    return stack_of(data, P, n, dtype, seed)


def _drawn(P: int, share: int, data: str, dtype: str, seed: int, key: int, word: str) -> Given:
    """Words that are given all round down, up, or as they are drawn here; else Philox's."""
    stack, rng = stack_like(data, P, P * share, seed, dtype), np.random.default_rng([seed, P, share])
    drawn = {"down": (0, 1), "up": (2**16 - 1, 2**16), "any": (0, 2**16)}
    words = {"words": rng.integers(*drawn[word], stack.shape)} if word in drawn else {}
    return Given({"stack": stack, **words}, {"key": key}, {})


def _in_rounds(P: int, n: int, data: str, dtype: str, seed: int, rounds: int, **given: Any) -> Given:
    return Given({"stack": stack_like(data, P, rounds * n, seed, dtype)}, {"rounds": rounds, **given}, {})


def no_atoms(P: int) -> bool:
    """Whether QuickReduce takes no such number of ranks."""
    return bool(ATOMS % P)


# --- definitions ------------------------------------------------------------------------------------------------------


def _cases(n: tuple[Any, ...], options: Mapping[str, Any], rows: bool = False) -> Space:
    def make(P: int, n: int, data: str, dtype: str, seed: int, **given: Any) -> Given:
        size = n * given["columns"] if rows else n
        return Given({"stack": stack_like(data, P, size, seed, dtype)}, given, {})

    axes = {"P": RANKS, "n": n, "data": DATA, "dtype": ("float32", "float64"), **options}
    return Space(make, axes, options=("dtype", *options), hiding={"n": TILES, "data": tuple(IDLE)})


CASES = {
    "quickreduce": _cases(sizes(70, 130), {"width": (8, 4, 6, 3), "tile": (512, 1024), "saturates": (True, False)})
    .without(NO_ATOMS, no_atoms)
    .hidden_by(tile=(1536, 2048), n=(*TILES, 511, 513, 1025, 1100)),
    "flashinfer_allreduce": _cases(sizes(40), GROUPS).hidden_by(group=(2, 4, 5, 7, 16)),
    "torchft_allreduce": _cases(
        sizes(), {"columns": (1, 3, 4), "native": (True, False), "mean": (False, True)}, True
    ).hidden_by(columns=(2, 5, 7, 8, 16)),
    "quantization_hook": _cases(sizes(16), {"channel": (None, 1, 4, 7)}).hidden_by(channel=(2, 3, 5, 8, 16, 32)),
    "nccl_sum": _cases(sizes(16), {"element": ("e4m3", "e5m2")}),
    "torchcomms_reduce_scatter": Space(
        _drawn,
        {
            "P": RANKS,
            "share": (1, 3, 8, 17),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "key": (0, 1, 2**32 + 7, 2**64 - 1),
            "word": ("Philox", "any", "down", "up"),
        },
        options=("dtype", "key", "word"),
        hiding={"share": (2, 4, 7, 9, 15, 16, 31, 33)},
    ),
    "loongforge_hook": Space(
        _in_rounds,
        {
            "P": RANKS,
            "n": sizes(20),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "rounds": (1, 2, 3),
            "group": (2, 1, 4),
            "feedback": ("none", "both", "allgather"),
        },
        options=("dtype", "rounds", "group", "feedback"),
        hiding={"n": TILES, "group": (8, 16, 32), "data": tuple(IDLE)},
    ),
}
_REFUSED: dict[str, dict[str, tuple[Any, ...]]] = {
    "quickreduce": {"width": (2, 5, 7, 9), "tile": (0, 511, 768)},
    "flashinfer_allreduce": {"group": (0,), "block": (Of("group P - 1", lambda group, P: group * P - 1),)},
    "torchft_allreduce": {"columns": (0, Of("n columns + 1", lambda n, columns: n * columns + 1))},
    "quantization_hook": {"channel": (0,)},
    "nccl_sum": {"element": ("e3m4",)},
    "torchcomms_reduce_scatter": {"key": (-1, 2**64)},
    "loongforge_hook": {
        "rounds": (0,),
        "group": (0, 3, 2048),
        "feedback": ("sent",),
    },
}


def _least_scales() -> list[Given]:
    """A group whose scale is 2^-126, and one whose scale is just above it."""
    stack = np.array([[448.0, 0.0, np.nextafter(np.float32(448), np.float32(449)), 0.0]] * 2) * 2.0**-126
    return [Given({"stack": stack}, {"group": 2})]


def _uneven_blocks() -> list[Given]:
    """Blocks of whole groups: three ranks do not divide the first, but the second; two ranks not the last."""
    held = ((3, 4, 8), (3, 4, 12), (2, 3, 3))
    return [Given({"stack": np.ones((P, 24))}, {"group": group, "block": block}) for P, group, block in held]


_EXAMPLES = {"flashinfer_allreduce": _uneven_blocks, "loongforge_hook": _least_scales}
DEFINITIONS = {
    name: Definition(
        space,
        called("result", "traffic"),
        getattr(definitions, name),
        examples=_EXAMPLES.get(name),
        refused=_REFUSED[name],
    )
    for name, space in CASES.items()
}
