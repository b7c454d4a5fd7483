"""Test vectors: low-rank compressors."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.compressors.lowrank import LowRank, PowerSGD
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.compressor_cases import compressor, parameters_of
from commbounds.verify.vectors.inputs import array, flags_of

_EXACT = "Every operation is exact here, so any order of additions gives these bits."


_MATRICES: tuple[tuple[str, str, Any, Any], ...] = (
    ("one column", "M S has norm 2. " + _EXACT, [[1, 1, 0], [1, -1, 2], [1, 1, 0], [1, -1, -2]], [[1], [0], [0]]),
    ("two columns", "The second column is orthogonalised against the first. " + _EXACT,
     [[1, 1, 0], [1, -1, 2], [1, 1, 0], [1, -1, -2]], [[1, 0], [0, 1], [0, 0]]),
    ("dependent columns", "M S has rank one: the second column of P is zero. " + _EXACT,
     [[2, 4], [2, 4], [2, 4], [2, 4]], [[1, 1], [0, 2]]),
    ("zero matrix", "Nothing to orthogonalise: both factors are zero.", [[0, 0], [0, 0]], [[1], [1]]),
    ("one entry", "A 1 x 1 matrix is reproduced.", [[-3]], [[2]]),
    ("wide", "More columns than rows; entries far from one are scaled by a power of two.",
     [[2.0**40, 0, 0, -(2.0**41)], [0, 2.0**40, 0, 0]], [[1], [0], [0], [0]]),
    ("dense sketch", "Neither sketch nor P has a zero, the matrix is diagonal. " + _EXACT,
     [[4, 0, 0, 0], [0, 4, 0, 0], [0, 0, 4, 0], [0, 0, 0, 4]], [[1, 1], [1, -1], [1, 1], [1, -1]]),
)  # fmt: skip


_DIAGONALS: tuple[tuple[str, str, Any, int], ...] = (
    ("diagonal", "The largest singular value is kept.", [[3, 0], [0, 1]], 1),
    ("permuted", "Singular values out of order.", [[0, 2, 0], [3, 0, 0], [0, 0, -1]], 2),
    ("full rank", "Nothing is left out.", [[0, 2], [-1, 0]], 2),
    ("wide", "More columns than rows.", [[0, 0, -5], [4, 0, 0]], 1),
    ("tall", "More rows than columns.", [[0, 4], [0, 0], [5, 0]], 1),
    ("zero matrix", "All singular values are zero.", [[0, 0], [0, 0]], 1),
    ("one entry", "A 1 x 1 matrix.", [[-3]], 1),
    ("rank one", "A product of two vectors is reproduced.", [[2, 4], [1, 2]], 1),
)


def matrix_cases(name: str) -> Iterator[VectorCase]:
    """The cases of `PowerSGD` or of `LowRank`."""
    for dtype in ("float32", "float64"):
        if name == "PowerSGD":
            for about, why, x, sketch in _MATRICES:
                given, wanted = array(x, dtype), np.array(sketch, np.float64)
                parameters = parameters_of(PowerSGD(wanted.shape[1]))
                if wanted.shape[1] <= min(given.shape):
                    title = f"{about}, {dtype}"
                    yield VectorCase(title, why, {"x": given}, parameters, {"sketch": wanted}, flags_of(given))
        else:
            for about, why, x, rank in _DIAGONALS:
                given = array(x, dtype)
                yield VectorCase(
                    f"{about}, {dtype}", why, {"x": given}, parameters_of(LowRank(rank)), {}, flags_of(given), law=True
                )


def low_rank(case: VectorCase) -> Mapping[str, Any]:
    """The best approximation by its exact law, and the size of its message: the factors are the library's business."""
    x, compressor = case.inputs["x"], LowRank(**case.parameters)
    ((_, output),) = compressor.law(x.tolist())
    if not all(isinstance(value, Fraction | int) for value in output):
        raise ArithmeticError(f"{case.name}: the best approximation must be rational, got {output}")
    exact = np.array([float(value) for value in output], x.dtype).reshape(x.shape)
    return {"bits": compressor.compress(x).bits, "output": exact}


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    # which last bits the factors of `LowRank` have is up to the library of linear algebra
    return [
        compressor("PowerSGD", partial(matrix_cases, "PowerSGD")),
        compressor("LowRank", partial(matrix_cases, "LowRank"), low_rank),
    ]
