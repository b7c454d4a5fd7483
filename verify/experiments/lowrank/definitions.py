"""Low-rank compressors beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.data import stack_of
from commbounds.verify.definition import Definition, Given, compressed, givens
from commbounds.verify.definitions import lowrank
from commbounds.verify.differences import Said
from commbounds.verify.experiments.lowrank.vectors import matrix_cases
from commbounds.verify.space import Of, Space

DATA = (
    *("ties", "normal", "zeros", "signs", "sparse", "of all sizes", "alike", "one rank", "eighths", "subnormal"),
    "equal",
)
_FLOATS = ("float32", "float64")
SIZES, LARGER = (1, 2, 3, 4, 5, 7), (6, 9, 17, 33)
RANKS = (
    1,
    Of("min(m, n)", lambda m, n: min(m, n)),
    Of("ceil(min(m, n) / 2)", lambda m, n: -(-min(m, n) // 2)),
    2,
    3,
    Of("min(m, n) + 1", lambda m, n: min(m, n) + 1),
)
SHAPES: dict[str, Sequence[Any]] = {
    "m": SIZES,
    "n": SIZES,
    "rank": RANKS,
    "data": DATA,
    "dtype": _FLOATS,
    "exponent": (0, 60, -60),
}
"""The matrix, and the exponent of a power of two that it is multiplied by."""


def _matrix(m: int, n: int, data: str, dtype: str, exponent: int, seed: int) -> Array:
    made = 2 * np.eye(m, n) if data == "equal" else stack_of(data, m, n, dtype, seed)
    return np.ldexp(made, exponent).astype(dtype)


SKETCHES = (
    "integers", "one entry a column", "drawn", "normal", "float32", "dependent", "of all sizes", "last entry", "zeros",
)  # fmt: skip


def _sketch(kind: str, n: int, rank: int, seed: int) -> Array:
    rng = np.random.default_rng([seed, 5])
    if kind == "integers":
        return rng.integers(-4, 5, (n, rank)).astype(np.float64)
    if kind == "one entry a column":
        sketch = np.zeros((n, rank))
        sketch[rng.integers(0, n, rank), np.arange(rank)] = rng.choice((1.0, -0.5, 4.0), rank)
        return sketch
    if kind == "dependent":
        return np.outer(rng.integers(-4, 5, n), rng.choice((1.0, -2.0, 4.0), rank)).astype(np.float64)
    if kind == "of all sizes":
        return rng.integers(-4, 5, (n, rank)) * 2.0 ** rng.choice((-900, -30, 0, 30, 900), (1, rank))
    if kind == "last entry":
        return np.where(np.arange(n)[:, None] == n - 1, rng.choice((2.0**900, -(2.0**1000), 2.0**-900), rank), 0.0)
    drawn = rng.standard_normal((n, rank))
    return drawn.astype(np.float32) if kind == "float32" else drawn * (kind != "zeros")


def _power(m: int, n: int, rank: int, data: str, dtype: str, exponent: int, sketch: str, seed: int) -> Given:
    randomness = {"seed": seed} if sketch == "drawn" else {"sketch": _sketch(sketch, n, rank, seed)}
    return Given({"x": _matrix(m, n, data, dtype, exponent, seed)}, {"rank": rank}, randomness)


def _space(make: Callable[..., Given], **axes: Any) -> Space:
    space = Space(make, {**SHAPES, **axes}, combined=(("m", "n", "rank"),), hiding={"m": LARGER, "n": LARGER})
    return space.search(m=(1, 9), n=(1, 9))


POWER = _space(_power, data=tuple(kind for kind in DATA if kind != "of all sizes"), sketch=SKETCHES)
BEST = _space(
    lambda m, n, rank, data, dtype, exponent, seed: Given(
        {"x": _matrix(m, n, data, dtype, exponent, seed)}, {"rank": rank}
    )
)


def _nearly_dependent() -> Iterator[Given]:
    """Columns of M S, exact in every bit; the last is half a unit shorter or longer than what counts as rounding."""
    for m, n, rank in (
        (1, 2, 1),
        (2, 2, 1),
        (3, 2, 1),
        (1, 3, 1),
        (2, 5, 1),
        (3, 4, 2),
        (4, 6, 2),
        (2, 7, 2),
        (4, 8, 3),
        (6, 9, 3),
    ):
        matrix, sketch = np.zeros((m, n)), np.zeros((n, rank))
        for j in range(rank - 1):
            matrix[j, j] = sketch[j, j] = 1.0
        matrix[rank - 1, -2:] = 1.0
        count = n + 2 * rank * (m + 2)
        for half in (-0.5, 0.5):
            for other in (1.0, 2.0**-20, 2.0**40):
                short = (count + half) * 2.0**-53 * np.sqrt(rank + 1) * np.sqrt(2.0)
                last = sketch.copy()
                last[-2:, -1] = 1.0, -1.0
                last[-1, -1] += np.floor(short * 2.0**53) * 2.0**-53
                yield Given({"x": other * matrix}, {"rank": rank}, {"sketch": last / other})


def _refused() -> Iterator[Given]:
    x, one = np.arange(6.0).reshape(2, 3), {"sketch": np.ones((3, 1))}
    for bad in (
        x.ravel(),
        np.ones((0, 2)),
        x.astype(np.float16),
        x.astype(np.int64),
        np.full((2, 3), np.inf),
        np.full((2, 3), np.nan),
    ):
        yield Given({"x": bad}, {"rank": 1}, one)
    for rank in (0, -1, 3, 1.0, True, "1"):
        yield Given({"x": x}, {"rank": rank}, one)
    yield Given({"x": x.astype(np.int64)}, {"rank": 0}, one)
    yield Given({"x": x * np.nan}, {"rank": "1"}, one)
    for dtype in _FLOATS:
        largest = float(np.finfo(dtype).max)
        alone = np.zeros((4, 3), dtype)
        alone[1, 2] = -largest
        for matrix in (np.full((4, 3), largest, dtype), alone, alone.T.copy()):
            yield Given({"x": matrix}, {"rank": 1}, {"sketch": np.ones((matrix.shape[1], 1))})


@cache
def _power_by_hand() -> Sequence[Given]:
    x = np.arange(6.0).reshape(2, 3)
    sketches = (np.ones((2, 1)), np.ones((3, 2)), np.ones(3), np.full((3, 1), np.nan), np.full((3, 1), -np.inf))
    bad = [Given({"x": x}, {"rank": 1}, {"sketch": sketch}) for sketch in sketches]
    shapes = ((3, 2), (4, 7), (6, 5), (2, 3))
    spread = [
        _power(m, n, 1, "of all sizes", dtype, 0, "normal", seed)
        for seed, (m, n) in enumerate(shapes)
        for dtype in _FLOATS
    ]
    spread += [
        _power(m, n, 1, "ties", "float64", exponent, "integers", seed)
        for seed, (m, n) in enumerate(shapes)
        for exponent in (-1074, -1000, 1000, 1020)
    ]
    rounded = [[1, 1], [2, 1], [3, -1]]  # P is (1, 2, 3) over a root, to which the second column is orthogonal
    spread += [Given({"x": np.array(rounded, kind)}, {"rank": 1}, {"sketch": [[1.0], [0.0]]}) for kind in _FLOATS]
    # on the way to an entry of the product a sum is beyond the largest number
    left = np.array([[0.6, 0.6, 0.529], [-0.235, 0.765, -0.6], [0.765, -0.235, -0.6]])
    right = np.array([[0.85, 0.85, -0.85], [0.3, -0.2, 0.1], [0.1, 0.2, 0.4]])
    largest = left @ right.T * np.finfo(np.float64).max
    spread.append(Given({"x": largest}, {"rank": 3}, {"sketch": np.linalg.inv(right.T)}))
    return [*givens(matrix_cases("PowerSGD")), *_nearly_dependent(), *_refused(), *bad, *spread]


@cache
def _best_by_hand() -> Sequence[Given]:
    columns = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 0.0, -2.0]])  # orthogonal, and rows are not
    found = [
        Given({"x": x.astype(dtype)}, {"rank": rank})
        for x in (columns, columns.T, columns[:, ::-1])
        for dtype in _FLOATS
        for rank in (1, 2, 3)
    ]
    return [*givens(matrix_cases("LowRank")), *found, *(Given(g.inputs, g.parameters) for g in _refused())]


def _common(implementation: Any, given: Given) -> Said:
    """What is common to all truncated decompositions, over the power of two above the largest entry."""
    compressor, x = implementation(**given.parameters), given.inputs["x"]
    message = compressor.compress(x)
    read = compressor.decompress(message)
    scale = 2.0 ** -int(np.frexp(np.abs(x).max())[1])
    parts: list[Array] = [part.astype(np.float64) * scale for part in (x, read, message.right)]
    matrix, whole, right = parts
    left: Array = message.left.astype(np.float64)
    size = np.abs(left)
    about_largest = size >= size.max(axis=0) - float(lowrank.backward(x.shape)) - np.finfo(x.dtype).eps
    try:
        ((probability, output),) = compressor.law(x.tolist())
        law: Any = [float(probability * value) for value in output]
    except ValueError:
        law = "refused"
    return {
        "bits": message.bits,
        "gram": left.T @ left,
        "largest is positive": ((left > 0) & about_largest).any(axis=0).tolist(),
        "right less M^T left": right - matrix.T @ left,
        "lengths": np.linalg.norm(right, axis=0),
        "output less left right^T": whole - left @ right.T,
        "left out": np.linalg.norm(matrix - whole),
        "dtypes": [str(part.dtype) for part in (message.left, message.right, read)],
        "law": law,
    }


DEFINITIONS = {
    "PowerSGD": Definition(POWER, compressed, lowrank.power_sgd, examples=_power_by_hand),
    "LowRank": Definition(BEST, _common, lowrank.truncated, examples=_best_by_hand),
}
