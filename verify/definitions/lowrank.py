"""Low-rank compression from its definitions, in rational arithmetic where it is rational; imports nothing of ours."""

import math
from fractions import Fraction


def exact(matrix):
    return [[Fraction(float(v)) for v in row] for row in matrix]


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def product(a, b):
    return [[dot(row, column) for column in zip(*b, strict=True)] for row in a]


def transposed(matrix):
    return [list(row) for row in zip(*matrix, strict=True)]


def projected(matrix, sketch):
    """P P^T M, exact: P any orthonormal basis of the columns of M S, by Gram-Schmidt without square roots."""
    matrix, sketch = exact(matrix), exact(sketch)
    basis = []
    for column in transposed(product(matrix, sketch)):
        for b in basis:
            weight = dot(b, column) / dot(b, b)
            column = [c - weight * v for c, v in zip(column, b, strict=True)]
        if any(column):
            basis.append(column)
    out = [[Fraction(0)] * len(matrix[0]) for _ in matrix]
    for b in basis:
        weights = [dot(b, column) / dot(b, b) for column in transposed(matrix)]
        out = [[o + v * w for o, w in zip(row, weights, strict=True)] for row, v in zip(out, b, strict=True)]
    return out


def singular_values(matrix, sweeps=60):
    """Descending, in float64, by one-sided Jacobi rotations of the columns of the wider orientation's transpose."""
    rows = [[float(v) for v in row] for row in matrix]
    if len(rows) > len(rows[0]):
        rows = transposed(rows)
    for _ in range(sweeps):
        for i in range(len(rows)):
            for j in range(i):
                a, b, c = dot(rows[i], rows[i]), dot(rows[i], rows[j]), dot(rows[j], rows[j])
                angle = 0.5 * math.atan2(2 * b, a - c)
                cos, sin = math.cos(angle), math.sin(angle)
                rows[i], rows[j] = (
                    [cos * p + sin * q for p, q in zip(rows[i], rows[j], strict=True)],
                    [cos * q - sin * p for p, q in zip(rows[i], rows[j], strict=True)],
                )
    return sorted((math.sqrt(dot(row, row)) for row in rows), reverse=True)


def _power_sgd(x, sketch, **_options):
    return {"output": [[float(v) for v in row] for row in projected(x, sketch)]}


COMPRESSED = {"PowerSGD": _power_sgd}
"""Of the compressors by name: what a test vector gives -> the output."""
