"""Low-rank compression from its definitions: exact products, many digits for roots; imports nothing of ours.

What a library of linear algebra adds up in an order of its own is known within what the additions may lose: n products
that are added up are off by n units of the sum of their magnitudes at most, in whatever order.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np

U = Fraction(1, 2**53)
"""Half a unit in the last place of float64, relatively."""


def exact(matrix):
    return [[Fraction(float(v)) for v in row] for row in matrix]


def dot(a, b):
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def transposed(matrix):
    return [list(row) for row in zip(*matrix, strict=True)]


def product(a, b):
    return [[dot(row, column) for column in zip(*b, strict=True)] for row in a]


def flat(matrix):
    return [v for row in matrix for v in row]


def magnitudes(matrix):
    return [[abs(v) for v in row] for row in matrix]


def length(values):
    """The root of the sum of squares, to far more digits than a float has."""
    with mpmath.workprec(300):
        square = sum(Fraction(v) ** 2 for v in values)
        return Fraction(*as_ratio(mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)))


def as_ratio(value):
    sign, mantissa, exponent, _ = value._mpf_
    mantissa = -int(mantissa) if sign else int(mantissa)
    return (mantissa * 2**exponent, 1) if exponent >= 0 else (mantissa, 2**-exponent)


def unit(dtype):
    return Fraction(float(np.finfo(dtype).eps)) / 2


def least(dtype):
    return Fraction(float(np.finfo(dtype).smallest_subnormal))


def rounded(allowed, values, dtype):
    """Allowances, and those of rounding the values to the dtype besides."""
    return [
        [a + (abs(v) + a) * unit(dtype) + least(dtype) for a, v in zip(*rows, strict=True)]
        for rows in zip(allowed, values, strict=True)
    ]


def near(values, allowed, dtype):
    return {"near": values, "allowance": flat(allowed), "dtype": np.dtype(dtype).name}


def refused(x, rank):
    """By which kind of error a matrix and a rank are; None for those that are taken."""
    if isinstance(rank, bool) or not isinstance(rank, int):
        return "TypeError"
    if rank < 1:
        return "ValueError"
    if x.dtype not in (np.float32, np.float64):
        return "TypeError"
    if x.ndim != 2 or not x.size or not np.isfinite(x).all() or rank > min(x.shape):
        return "ValueError"
    return None


def too_large(values, allowed, dtype):
    """Whether some entry is infinite in the dtype; an error where that cannot be told."""
    most = Fraction(float(np.finfo(dtype).max)) * (1 + unit(dtype) / 2)
    found = [(abs(v) - a > most, abs(v) + a > most) for v, a in zip(flat(values), flat(allowed), strict=True)]
    if any(surely for surely, _ in found):
        return True
    if any(maybe for _, maybe in found):
        raise ArithmeticError("rounding decides whether a factor is infinite")
    return False


# --- PowerSGD, Vogels et al. 2019, Algorithm 1: P = M Q, P = orthogonalise(P), Q = M^T P -----------------------


def noise(matrix, sketch, j):
    """Up to which length column j of M S, less its parts along the others, is rounding: as documented."""
    m, n, r = len(matrix), len(sketch), len(sketch[0])
    return (n + 2 * r * (m + 2)) * U * length(flat(matrix)) * length([row[j] for row in sketch])


def orthogonalised(columns, noises):
    """Modified Gram-Schmidt, twice a column, in float64, sums in the order of rows; what is left of every column."""
    done, left_over = [], []
    for column, most in zip(columns, noises, strict=True):
        column = [float(v) for v in column]
        for _ in range(2):
            for earlier in done:
                along = 0.0
                for e, v in zip(earlier, column, strict=True):
                    along += e * v
                column = [v - along * e for e, v in zip(earlier, column, strict=True)]
        square = 0.0
        for v in column:
            square += v * v
        norm = math.sqrt(square)
        left_over.append(norm)
        done.append([v / norm if norm > most else 0.0 for v in column])
    return done, left_over


def fits(value):
    """Whether a dyadic number has at most 53 digits."""
    odd = abs(value.numerator)
    return odd // max(odd & -odd, 1) < 2**53


def added_exactly(matrix, sketch):
    """Whether every sum of products of a row and a column is exact in float64, in any order."""
    for row in matrix:
        for column in transposed(sketch):
            terms = [p * q for p, q in zip(row, column, strict=True) if p * q]
            if len(terms) <= 2 and all(map(fits, [*terms, sum(terms)])):
                continue
            unit_of_all = max(t.denominator for t in terms)
            whole = [abs(t.numerator) * (unit_of_all // t.denominator) for t in terms]
            common = math.gcd(*whole)
            if sum(whole) // (common & -common) >= 2**53:
                return False
    return True


def projected(matrix, sketch):
    """The left factor in float64, and by how much each of its columns may be missed."""
    r, exactly = len(sketch[0]), added_exactly(matrix, sketch)
    columns = transposed(product(matrix, sketch))
    size = max(max(map(max, magnitudes(matrix))), Fraction(1, 2**1100))
    scale = Fraction(2) ** math.frexp(float(size))[1]  # far from one, floats would overflow
    noises = [noise(matrix, sketch, j) / scale for j in range(r)]
    tops = [max(abs(row[j]) for row in sketch) or Fraction(1) for j in range(r)]
    powers = [Fraction(2) ** math.frexp(float(top))[1] for top in tops]
    columns = [[v / scale / p for v in column] for column, p in zip(columns, powers, strict=True)]
    noises = [most / p for most, p in zip(noises, powers, strict=True)]
    found, left_over = orthogonalised(columns, noises)
    if exactly:  # then every operation is that of the algorithm
        return found, [Fraction(0)] * r
    allowed, kept, lost = [], [], Fraction(0)
    for j, (column, most) in enumerate(zip(columns, noises, strict=True)):
        if most / 2 < left_over[j] < 4 * most:
            raise ArithmeticError("rounding decides whether a column is dependent")
        if left_over[j] <= most:
            allowed.append(Fraction(0))
            continue
        kept.append([float(v) for v in column])
        norms = [math.sqrt(sum(v * v for v in mine)) for mine in kept]
        sigma = np.linalg.svd([[v / norm for v in mine] for mine, norm in zip(kept, norms, strict=True)])[1][-1]
        lost += (most / Fraction(norms[-1])) ** 2
        # an orthonormal basis moves by sqrt(2) times the errors of the columns, which have length one, over their least
        # singular value, to first order; by less than four times where that is a quarter at most
        moved = 4 * Fraction(math.sqrt(lost)) / Fraction(float(sigma))
        if moved > 1:
            raise ArithmeticError("columns are too close for a statement about their basis")
        allowed.append(moved)
    return found, allowed


def power_sgd(held):
    x, rank, drawn = held["inputs"]["x"], held["parameters"]["rank"], held["randomness"]
    error = refused(x, rank)
    if error:
        return {"refused": error}
    n = x.shape[1]
    if "sketch" in drawn:
        sketch = np.asarray(drawn["sketch"], np.float64)
        if sketch.shape != (n, rank) or not np.isfinite(sketch).all():
            return {"refused": "ValueError"}
    else:
        sketch = np.random.default_rng(drawn["seed"]).standard_normal((n, rank))
    matrix, sketch = exact(x), exact(sketch)
    found, moved = projected(matrix, sketch)
    left = [[Fraction(float(x.dtype.type(v))) for v in row] for row in transposed(found)]
    both = 2 * unit(x.dtype) if x.dtype == np.float32 else 0  # close numbers are rounded apart
    allowed = [[a + both if a else a for a in moved] for _ in left]
    columns = transposed(matrix)
    right, sizes = product(columns, left), product(magnitudes(columns), magnitudes(left))
    missed = product(magnitudes(columns), allowed)
    exactly = added_exactly(columns, left)
    missed = [
        [a + (0 if exactly else (len(left) + 1) * U * (s + a)) for s, a in zip(*rows, strict=True)]
        for rows in zip(sizes, missed, strict=True)
    ]
    if too_large(right, missed, x.dtype):
        return {"refused": "ValueError"}
    return said(x, rank, left, allowed, right, rounded(missed, right, x.dtype))


def said(x, rank, left, off_left, right, off_right):
    """Both factors, their size, and their product, which is added up in float64 and rounded."""
    whole, sizes = product(left, transposed(right)), product(magnitudes(left), transposed(magnitudes(right)))
    off = product(magnitudes(left), transposed(off_right))
    for more in (product(off_left, transposed(magnitudes(right))), product(off_left, transposed(off_right))):
        off = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(off, more, strict=True)]
    off = [[a + (rank + 1) * U * (s + a) for a, s in zip(*rows, strict=True)] for rows in zip(off, sizes, strict=True)]
    return {
        "message": {"left": near(left, off_left, x.dtype), "right": near(right, off_right, x.dtype)},
        "bits": sum(x.shape) * rank * 8 * x.itemsize,
        "output": near(whole, rounded(off, whole, x.dtype), x.dtype),
    }


# --- the best approximation, Eckart and Young 1936 --------------------------------------------------------------------


def singular_values(matrix):
    """Descending, to far more digits than a float has."""
    with mpmath.workprec(200):
        rows = mpmath.matrix([[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in matrix])
        wide = rows if len(matrix) >= len(matrix[0]) else rows.T
        return sorted((Fraction(*as_ratio(v)) for v in mpmath.svd_r(wide, compute_uv=False)), reverse=True)


def backward(shape):
    """By how much a decomposition errs, relatively to the matrix.

    Of q the smaller and p the larger number of rows and columns, it reduces the matrix by 2 q reflections, in which an
    entry of the matrix and of both factors takes part with 20 operations or p, and by 30 q sweeps of q rotations, of 12
    operations each.
    """
    q, p = min(shape), max(shape)
    return (2 * 20 * q * p + 30 * 12 * q * q) * U


def truncated(held):
    """What the factors of a truncated decomposition have in common, whichever it is where singular values are equal.

    The left one has orthonormal columns, whose largest entry is positive, or one of the largest; the right one is M^T
    times it, and its columns are as long as the largest singular values; what is left out is as long as the others.
    Everything over 2^e, the power of two above the largest entry.
    """
    x, rank = held["inputs"]["x"], held["parameters"]["rank"]
    error = refused(x, rank)
    if error:
        return {"refused": error}
    matrix, p = exact(x), max(x.shape)
    sigma = singular_values(matrix)
    scale = Fraction(2) ** math.frexp(float(abs(x).max()))[1]
    size, f = length(flat(matrix)) / scale, unit(x.dtype)
    if scale * size > Fraction(float(np.finfo(x.dtype).max)):  # then the examples by hand have a single singular value
        return {"refused": "ValueError"}
    back = backward(x.shape)
    off = (3 * back + 3 * (rank + 1) * f + (p + 4) * U) * size + sum(x.shape) * least(x.dtype) / scale
    orthonormal = [Fraction(i == j) for i in range(rank) for j in range(rank)]
    zeros = [Fraction(0)] * (x.shape[1] * rank)

    def about(values):
        return {"near": values, "allowance": off}

    return {
        "bits": sum(x.shape) * rank * 8 * x.itemsize,
        "gram": {"near": orthonormal, "allowance": back + 3 * f + (p + 2) * U},
        "largest is positive": [True] * rank,
        "right less M^T left": about(zeros),
        "lengths": about([v / scale for v in sigma[:rank]]),
        "output less left right^T": about([Fraction(0)] * x.size),
        "left out": about([length([v / scale for v in sigma[rank:]])]),
        "dtypes": [x.dtype.name] * 3,
        "law": law(matrix, rank),
    }


def orthogonal(rows):
    return all(not dot(rows[i], rows[j]) for i in range(len(rows)) for j in range(i))


def longest(rows, rank):
    """Of equally long ones the first."""
    kept = sorted(range(len(rows)), key=lambda i: (-dot(rows[i], rows[i]), i))[:rank]
    return [row if i in kept else [Fraction(0)] * len(row) for i, row in enumerate(rows)]


def rank_one(rows):
    """Of two rows, which are not orthogonal: parts along the eigenvector (b, lambda - a), lambda the larger one."""
    a, b, c = dot(rows[0], rows[0]), dot(rows[0], rows[1]), dot(rows[1], rows[1])
    with mpmath.workprec(300):
        gap = (a - c) ** 2 + 4 * b * b
        root = Fraction(*as_ratio(mpmath.sqrt(mpmath.mpf(gap.numerator) / gap.denominator)))
    u = [b, (a + c + root) / 2 - a]
    along = [(u[0] * p + u[1] * q) / (u[0] ** 2 + u[1] ** 2) for p, q in zip(*rows, strict=True)]
    return [[v * w for w in along] for v in u]


def law(matrix, rank):
    """The one outcome in exact arithmetic, where singular values have a closed form; else a refusal."""
    columns = transposed(matrix)
    if rank == min(len(matrix), len(columns)):
        best = matrix
    elif orthogonal(matrix):
        best = longest(matrix, rank)
    elif orthogonal(columns):
        best = transposed(longest(columns, rank))
    elif len(matrix) == 2:
        best = rank_one(matrix)
    elif len(columns) == 2:
        best = transposed(rank_one(columns))
    else:
        return "refused"
    # a float64 of each; of a root many digits are known
    return {"near": flat(best), "allowance": [abs(v) * 2 * U for v in flat(best)]}
