"""Orthogonalised and low-rank updates beside their definitions: several rounds, and the spaces of their cases."""

from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.data import IDLE, stack_of
from commbounds.verify.definition import Definition, Given, chosen, in_rounds
from commbounds.verify.definitions import orthogonal as twins
from commbounds.verify.space import RANKS, Of, Space

Shape = tuple[int, int]
DATA = ("ties", "normal", "zeros", "signs", "sparse", "cancelling", "alike", "one rank")
SMALL = ("near 1e-7", "subnormal", "least")
"""Where a number that is added to a norm tells, where entries are subnormal, and where their squares underflow."""
SHAPES = ((2, 3), (3, 2), (1, 1), (1, 4), (4, 1), (3, 3), (4, 5), (5, 4))
MORE_SHAPES = ((2, 2), (5, 5), (2, 7), (3, 17), (33, 2))
"""Beside all ranks and all options, though not beside all data."""
ITERATIONS = (None, "muon", "cubic", "quintic", "polar_express")


def _stacks(P: int, shape: tuple[int, int], data: str, dtype: str, rounds: int, seed: int) -> list[Array]:
    m, n = shape
    kind, size = ("normal", 1e-7) if data == "near 1e-7" else (data, 1.0)
    found = [stack_of(kind, P, m * n, dtype, seed + t) for t in range(rounds)]
    return [(stack * size).astype(dtype).reshape(P, m, n) for stack in found]


def _muon(
    P: int,
    shape: tuple[int, int],
    data: str,
    dtype: str,
    steps: int | None,
    iteration: str | None,
    arithmetic: str | None,
    rounds: int,
    seed: int,
) -> Given:
    options = chosen(steps=steps, iteration=iteration, arithmetic=arithmetic)
    return Given({"stacks": _stacks(P, shape, data, dtype, rounds, seed)}, options)


def _ef21(
    P: int, shape: Shape, data: str, dtype: str, k: int, steps: int | None, iteration: str | None, rounds: int,
    seed: int,
) -> Given:  # fmt: skip
    rng = np.random.default_rng([seed, P])
    drawn = partial(rng.integers, -2, 3) if data == "ties" else rng.standard_normal
    own = drawn((P, *shape)).astype(dtype) * (seed % 3 > 0)
    inputs = {"stacks": _stacks(P, shape, data, dtype, rounds, seed), "own": own.astype(dtype)}
    inputs["estimate"] = drawn(shape).astype(dtype)
    return Given(inputs, chosen(k=k, steps=steps, iteration=iteration))


def _dion(
    P: int, shape: Shape, data: str, dtype: str, rank: int, mu: float | None, right: str | None, rounds: int,
    seed: int,
) -> Given:  # fmt: skip
    rng = np.random.default_rng([seed, P])
    momentum = (rng.standard_normal((P, *shape)) * (seed % 3 > 0)).astype(dtype)
    basis = rng.standard_normal((shape[1], rank)).astype(dtype)
    inputs = {"stacks": _stacks(P, shape, data, dtype, rounds, seed), "momentum": momentum, "basis": basis}
    return Given(inputs, chosen(mu=mu, right=right))


def _space(make: Any, **axes: Any) -> Space:
    axes = {"dtype": ("float32", "float64"), **axes}
    return Space(make, {"P": RANKS, "shape": SHAPES, "data": DATA, **axes}, tuple(axes)).hidden_by(
        shape=MORE_SHAPES, data=(*IDLE, *SMALL)
    )


COUNTS = (1, Of("m n", lambda shape: shape[0] * shape[1]), Of("half", lambda shape: -(-shape[0] * shape[1] // 2)))
FEW = (
    Of("min(2, m n)", lambda shape: min(2, shape[0] * shape[1])),
    Of("min(3, m n)", lambda shape: min(3, shape[0] * shape[1])),
)
RANKS_OF = (1, Of("min(m, n)", lambda shape: min(shape)), Of("min(2, m, n)", lambda shape: min(2, *shape)))

SPACES = {
    "muon_update": _space(
        _muon, steps=(None, 0, 1, 2, 9), iteration=ITERATIONS, arithmetic=(None, "dtype", "bfloat16"), rounds=(1, 3)
    ).hidden_by(steps=(3, 4, 6, 8)),
    "ef21_muon": _space(_ef21, k=COUNTS, steps=(None, 0, 2), iteration=ITERATIONS, rounds=(3,)).hidden_by(
        k=FEW, steps=(1, 3, 4, 9)
    ),
    "dion_update": _space(
        _dion, rank=RANKS_OF, mu=(None, 0.0, 0.75, 1.0), right=(None, "columns", "orthonormal"), rounds=(3,)
    ).hidden_by(mu=(0.5,)),
}

DEFINITIONS = {
    name: Definition(space, in_rounds("update", partial(twins.carried, name)), twins.in_rounds(name))
    for name, space in SPACES.items()
}
