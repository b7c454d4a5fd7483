"""Models of the column lowrank against its kernels and their exact laws."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from goal_values import check_goals

from commbounds.compressors import LowRank, PowerSGD

SEEDS = range(8)
TINY = 1e-9  # of what float64 computes here from small integers


def integers(seed, *shape):
    return np.random.default_rng(seed).integers(-5, 5, shape, endpoint=True).astype(np.float64)


@pytest.mark.models("lowrank.lowrank.contraction")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (5, 3)])
def test_singular_values(seed, shape):
    matrix = integers(seed, *shape)
    squares = sorted((np.linalg.svd(matrix, compute_uv=False) ** 2).tolist(), reverse=True)
    for rank in range(1, min(shape) + 1):
        off = matrix - LowRank(rank)(matrix)
        kept, rest = sum(squares[:rank]), sum(squares[rank:])
        assert abs((off * off).sum() - rest) <= TINY * (kept + rest)
        values = {"q": min(shape), "r": rank, "kept": Fraction(kept), "rest": Fraction(rest)}
        check_goals("lowrank.lowrank.contraction", ["contraction"], values)


@pytest.mark.models("lowrank.powersgd.contraction")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("q", "rank"), [(3, 1), (4, 2)])
def test_leverages(seed, q, rank):
    """Of the rows of diag(sigma) G, by the model's formula and by the projector; rows exchanged as it says."""
    sketch = sp.Matrix(np.random.default_rng(seed).integers(-9, 9, (q, rank)).tolist())
    weights = [sp.Integer(w) for w in (9, 4, 3, 2)[:q]]
    rows = [sp.sqrt(w) * sketch.row(i) for i, w in enumerate(weights)]
    others = sum((row.T * row for row in rows[2:]), sp.zeros(rank))
    if not others.det():
        others += sp.eye(rank) / 100  # as the model says of singular ones: a multiple of the identity
        ridge = sp.eye(rank) / 100
    else:
        ridge = sp.zeros(rank)
    gram = sum((row.T * row for row in rows), ridge)
    u, v, inverse = sketch.row(0), sketch.row(1), others.inv()
    uu, vv, uv = ((a * inverse * b.T)[0] for a, b in ((u, u), (v, v), (u, v)))
    larger, smaller = weights[:2]
    values = {"larger": larger, "smaller": smaller, "uu": uu, "vv": vv, "det": uu * vv - uv**2}
    (gap,) = check_goals("lowrank.powersgd.contraction", ["leverages have the order of the singular values"], values)
    first = sp.simplify((rows[0] * gram.inv() * rows[0].T)[0])
    exchanged = others + larger * v.T * v + smaller * u.T * u
    second = smaller * (u * exchanged.inv() * u.T)[0]
    assert sp.simplify(first - second - gap) == 0


@pytest.mark.models("lowrank.powersgd.determinant")
@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_and_determinant(seed):
    """The expected capture of rank 1: leverages in the order of the values, from the exact law of two of them."""
    a, b = 1 + seed, 3
    kept = a * sp.Rational(a, a + b) * a + b * sp.Rational(b, a + b) * b
    values = {"q": 2, "r": 1, "captured": kept, "total": a * a + b * b}
    check_goals("lowrank.powersgd.contraction", ["contraction"], values)
    # the direction of the sketch is uniform, and the mean of a smooth periodic function that over a lattice
    angles = (np.arange(4096) + 0.5) * np.pi / 4096
    for angle in angles[:: 4096 // 64]:
        matrix = np.diag([float(a), float(b)])
        off = matrix - PowerSGD(1).decompress(
            PowerSGD(1).compress_with(matrix, np.array([[np.cos(angle)], [np.sin(angle)]]))
        )
        c = b / a * np.tan(angle)
        expected = a * a * (1 - 1 / (1 + c * c)) + b * b / (1 + c * c)
        assert abs((off * off).sum() - expected) <= TINY * (a * a + b * b)
    c = b / a * np.tan(angles)
    mean = (a * a * (1 - 1 / (1 + c * c)) + b * b / (1 + c * c)).mean()
    assert abs(mean - a * b) <= TINY * (a * a + b * b)


@pytest.mark.models("lowrank.powersgd.nonexpansive")
@pytest.mark.parametrize("seed", SEEDS)
def test_projection(seed):
    matrix, sketch = integers(seed, 4, 3), integers(50 + seed, 3, 2)
    sent = PowerSGD(2).decompress(PowerSGD(2).compress_with(matrix, sketch))
    assert abs((sent * (matrix - sent)).sum()) <= TINY * (matrix * matrix).sum()


@pytest.mark.models(
    "lowrank.powersgd_ef14.residual",
    "lowrank.powersgd_ef14.steps",
    "lowrank.powersgd_ef14.warm_start_gaussian",
    "lowrank.powersgd_ef14.warm_start_growth",
)
@pytest.mark.parametrize("seed", SEEDS)
def test_residual_recursion(seed):
    """Every step leaves at most ||e|| + M, and the projection of p is what is sent; Minkowski over the sketches."""
    rng, residual, reach, norms = np.random.default_rng(seed), np.zeros((4, 3)), 2.0, [0.0]
    for _ in range(5):
        gradient = rng.standard_normal((4, 3))
        gradient *= reach / np.linalg.norm(gradient)
        whole = residual + gradient
        residual = whole - PowerSGD(1)(whole, rng)
        norms.append(np.linalg.norm(residual))
        assert norms[-1] <= (norms[-2] + reach) * (1 + TINY)


@pytest.mark.models("lowrank.powersgd_ef14.two")
@pytest.mark.parametrize("seed", SEEDS)
def test_area(seed):
    """The product of the singular values of s u v' + g, and of the parts of g along v and across it."""
    gradient, s = integers(seed, 2, 2), 1 + seed
    whole = gradient + s * np.outer([1, 0], [0, 1])
    along, across = gradient[:, 1], gradient[:, 0]
    x, y = (Fraction(float(np.linalg.norm(v))) for v in (along, across))
    assert abs(np.linalg.det(whole)) <= float(s * y + x * y) * (1 + TINY)
    check_goals("lowrank.powersgd_ef14.two", ["area"], {"s": s, "x": x, "y": y})


@pytest.mark.models("lowrank.powersgd_ef14.equal")
@pytest.mark.parametrize("t", [0.25, -1.0, 3.0, 8.0])
def test_trace(t):
    """Of the residual of step 2, in c: what PowerSGD leaves of diag(2, 1) with the sketch (1, t)."""
    matrix = np.diag([2.0, 1.0])
    left = matrix - PowerSGD(1).decompress(PowerSGD(1).compress_with(matrix, np.array([[1.0], [t]])))
    assert abs(np.trace(left) - (3 - (8 + t * t) / (4 + t * t))) <= TINY
    assert abs(np.linalg.det(left)) <= TINY
    check_goals("lowrank.powersgd_ef14.equal", ["trace"], {"t2": Fraction(t) ** 2, "c": 1})
