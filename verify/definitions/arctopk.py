"""ARC-Top-K step by step in plain Python, and the error of its rank-one sketch in the plane, by many directions."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np

from commbounds.verify.definitions import dense


def arc(stack, K, V):
    """Rows that are kept, and the average on them: `stack` as lists of matrices, V as a list of rows."""
    P, m, n, r = len(stack), len(stack[0]), len(stack[0][0]), len(V[0])
    scores = []
    for j in range(m):
        score = 0.0
        for c in range(r):
            total = 0.0
            for gradient in stack:
                total += sum(gradient[j][i] * V[i][c] for i in range(n)) / math.sqrt(r)
            score += (total / P) ** 2
        scores.append(score)
    rows = sorted(sorted(range(m), key=lambda j: (-scores[j], j))[:K])
    mean = [[sum(g[j][i] for g in stack) / P if j in rows else 0.0 for i in range(n)] for j in range(m)]
    return rows, mean


def own_rows(stack, K, V):
    """For every rank the rows that it keeps if it adds the sketches up by itself, its own first, then the next rank's.

    In numbers of Python: give it some that are added exactly, or differ so much that no rounding decides.
    """
    P = len(stack)
    found = []
    for p in range(P):
        turned = [stack[(p + i) % P] for i in range(P)]
        found.append(arc(turned, K, V)[0])
    return found


def planar_error(rows, K, angles):
    """Mean squared error of rows in a plane over equidistant directions."""
    total = 0.0
    for i in range(angles):
        phi = math.pi * (i + 0.5) / angles
        scores = [(x * math.cos(phi) + y * math.sin(phi)) ** 2 for x, y in rows]
        kept = sorted(range(len(rows)), key=lambda j: (-scores[j], j))[:K]
        total += sum(x * x + y * y for j, (x, y) in enumerate(rows) if j not in kept)
    return total / angles


# --- the whole: sketches, scores, rows, averages, words, in the gradients' dtype --------------------------------------


def allgathered_in_own_order(rows):
    """The sum of vectors as every rank adds them up that begins with its own, then takes the next rank's."""
    P, (_, traffic) = len(rows), dense.allgatherv(rows, "ring", phased=True)
    sums = []
    for rank in range(P):
        total = [rows[0][0] * 0] * len(rows[0])
        for i in range(P):
            total = [a + b for a, b in zip(total, rows[(rank + i) % P], strict=True)]
        sums.append(total)
    return sums, traffic


def in_whole_numbers(values):
    """Floats as multiples of a power of two that is small enough, and one over that power."""
    ratios = [v.as_integer_ratio() for v in values]
    unit = max(under for _, under in ratios)
    return [over * (unit // under) for over, under in ratios], unit


def compared(averages):
    """By what a row is compared, and the score that is shown: its squared norm, or infinity where a sum overflowed."""
    if not all(math.isfinite(a) for a in averages):
        return (1, 0), math.inf
    squares = [a * a for a in averages]
    if all(1e-290 < square < 1e290 for square in squares if square) and not any(a and not a * a for a in averages):
        return (0, sum(squares)), sum(squares)
    exact = sum(Fraction(a) ** 2 for a in averages)
    return (0, exact), 0.0 if exact < Fraction(1, 2**1075) else math.inf if exact >= 2**1024 else float(exact)


def rounding(stack, V, form):
    """By how much the score of every row may be missed, as the order of an inner product's additions is left open.

    An entry of the average has n products, n - 1 additions, a division, one rounding to a format, P - 1 additions and
    another division behind it, each of which errs by a unit of what is added up without signs; then squares are added.
    """
    P, m, n = stack.shape
    r = V.shape[1]
    unit, final = Fraction(float(np.finfo(stack.dtype).eps)), Fraction(1, 2**52)
    terms = (2 * n + P + 2) * unit + Fraction(float(ml_dtypes.finfo(form).eps))
    columns, found = [in_whole_numbers(column) for column in V.T.tolist()], []
    for j in range(m):
        allowance, rows = Fraction(0), [in_whole_numbers(row) for row in stack[:, j].tolist()]
        for column, over in columns:
            size = sum(Fraction(sum(abs(a * b) for a, b in zip(row, column, strict=True)), under * over)
                       for row, under in rows) / P  # fmt: skip
            allowance += (2 * terms + terms**2 + (r + 3) * final) * size**2 / r * (1 + unit) ** 4
        found.append(allowance)
    return found


FORMATS = {"float64": np.float64, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16}


def arctopk(held, scored=True):
    """All that is returned; how far scores may be off is worked out only where they are asked for."""
    stack, options, drawn = held["inputs"]["gradients"], held["parameters"], held["randomness"]
    P, m, n = stack.shape
    K, r, kind = options["K"], options["rank"], stack.dtype.type
    if r > 2**16:
        return {"refused": "ValueError"}
    if "sketch" in drawn:
        V = np.array(drawn["sketch"], np.float64)
    else:
        V = np.random.default_rng(drawn["seed"]).standard_normal((n, r))
    V = V.astype(stack.dtype)
    form = FORMATS.get(options.get("sketch_format", ""), kind)
    if not np.isfinite(stack).all() or not np.isfinite(V).all():
        return {"refused": "ValueError"}
    columns = [in_whole_numbers(column) for column in V.T.tolist()]
    root, exact, sketches = np.sqrt(kind(r)), scored, []
    for gradient in stack:
        own = []
        for row in gradient:
            whole_row, under = in_whole_numbers(row.tolist())
            for column, (whole_column, over) in zip(V.T, columns, strict=True):
                terms = list(row * column)
                total = kind(0)
                for term in terms:
                    total = total + term
                entry = total / root
                if not math.isfinite(entry):
                    return {"refused": "ValueError"}
                if n > 1 and exact:
                    products = [a * b for a, b in zip(whole_row, whole_column, strict=True)]
                    ratios = [t.as_integer_ratio() for t in terms]
                    exact = all(t * under * over == q * unit for (t, unit), q in zip(ratios, products, strict=True))
                    grain = min((q & -q for q in products if q), default=1)  # all are odd multiples of it, or even ones
                    exact = exact and sum(map(abs, products)) <= grain * int(2 / np.finfo(kind).eps)
                own.append(kind(form(entry)))
        sketches.append(own)
    agree = options.get("agree", True)
    reduce = getattr(dense, options.get("allreduce", "ring_allreduce"))
    sums, about_sketch = reduce(sketches, phased=True) if agree else allgathered_in_own_order(sketches)
    rows, scores, known = [], [], {}
    for total in sums:
        averages = tuple(tuple(float(total[j * r + c]) / P for c in range(r)) for j in range(m))
        if averages not in known:  # most ranks have the same
            keys = [compared(of_row) for of_row in averages]
            order = sorted(range(m), key=lambda j, keys=keys: (-keys[j][0][0], -keys[j][0][1], j))
            known[averages] = sorted(order[:K]), [shown for _, shown in keys]
        rows.append(known[averages][0])
        scores.append(known[averages][1])
    kept = [[v for j in rows[p] for v in stack[p, j]] for p in range(P)]
    totals, about_rows = reduce(kept, phased=True)
    mean = np.zeros(stack.shape, stack.dtype)
    for p in range(P):
        for i, j in enumerate(rows[p]):
            for c in range(n):
                mean[p, j, c] = totals[p][i * n + c] / kind(P)
    result = {"mean": mean, "rows": np.array(rows), "scores": np.array(scores)}
    if scored and (not exact or r >= 8):
        result["scores"] = {"near": result["scores"], "allowance": [rounding(stack, V, form)] * P}
    whole = dense.Wire(P).counts([])
    for part in (about_sketch, about_rows):
        for name in ("sent", "received", "messages"):
            whole[name] = [a + b for a, b in zip(whole[name], part[name], strict=True)]
        for name in ("steps", "critical_path"):
            whole[name] += part[name]
    traffic = {**whole, "phases": {"sketch": about_sketch, "rows": about_rows}}
    return {"result": result, "traffic": traffic}


def kept_by_direction(rows, K):
    """Mean energy that the K rows of largest |row . v| hold, v of any direction of the plane.

    Two of these are equal where v is orthogonal to the rows' sum or to their difference.
    """
    edges = {0.0, math.pi}
    for i, (a, b) in enumerate(rows):
        for c, d in rows[:i]:
            edges |= {(math.atan2(y, x) + math.pi / 2) % math.pi for x, y in ((a + c, b + d), (a - c, b - d)) if x or y}
    edges, total = sorted(edges), 0.0
    for start, stop in itertools.pairwise(edges):
        middle = (start + stop) / 2
        turned = [abs(a * math.cos(middle) + b * math.sin(middle)) for a, b in rows]
        best = sorted(range(len(rows)), key=lambda i: (-turned[i], i))[:K]
        total += sum(rows[i][0] ** 2 + rows[i][1] ** 2 for i in best) * (stop - start)
    return total / math.pi


def larger_of_two(rows, rank):
    """Mean energy of the one of two rows whose sketch of so many columns is the longer.

    The difference of the sketches' squares is p chi - q chi', chi-squares of `rank` degrees, with p and -q the
    eigenvalues of x x^T - y y^T: the chance that it is positive is a regularised incomplete beta function.
    """
    (a, b), (c, d) = rows
    trace, determinant = a * a + b * b - c * c - d * d, -((a * d - b * c) ** 2)
    root = math.sqrt(trace * trace / 4 - determinant)
    p, q = trace / 2 + root, root - trace / 2
    share = math.asin(math.sqrt(p / (p + q))) if p + q > 0 else math.pi / 4

    def area(end, parts=4000):
        """Simpson's rule for the integral of (sin cos)^(rank - 1)."""
        h = end / parts
        values = [(math.sin(i * h) * math.cos(i * h)) ** (rank - 1) for i in range(parts + 1)]
        return h / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))

    chance = area(share) / area(math.pi / 2)
    return chance * (a * a + b * b) + (1 - chance) * (c * c + d * d)


def kept_of_exponentials(squares, K):
    """The same of orthogonal rows with two columns: scores are exponential, with means in proportion to the squares."""
    live, total = [w for w in squares if w > 0], 0.0
    if len(live) <= K:
        return sum(live)
    for j, w in enumerate(live):
        others = [1 / v for v in live[:j] + live[j + 1 :]]
        for many in range(K):  # so many of the others score higher; the rest lower, by inclusion and exclusion
            for above in itertools.combinations(range(len(others)), many):
                rest = [rate for i, rate in enumerate(others) if i not in above]
                for size in range(len(rest) + 1):
                    for some in itertools.combinations(rest, size):
                        rates = sum(others[i] for i in above) + sum(some)
                        total += w * (-1) ** size / w / (1 / w + rates)
    return total


def kept_on_average(rows, K, rank, exponent=0):
    """What is kept by the functions that studies measure with; of rows times a power of two."""
    if rows.ndim == 1:
        kept = kept_of_exponentials([math.ldexp(v, -2 * exponent) for v in rows.tolist()], K)
        whole, cut = math.ldexp(float(sum(math.ldexp(v, -2 * exponent) for v in rows.tolist())), 2 * exponent), None
    else:
        plain = [[math.ldexp(v, -exponent) for v in row] for row in rows.tolist()]
        kept = kept_by_direction(plain, K) if rank == 1 else larger_of_two([row for row in plain if any(row)], rank)
        whole = math.ldexp(sum(v * v for row in plain for v in row), 2 * exponent)
        cut = rank == 1 and not exponent and any(map(any, plain))
    kept = math.ldexp(kept, 2 * exponent)
    said = {"near": [kept], "allowance": 1e-8 * whole}
    return {"kept": said, "known": True, "sectors": said if cut else None}


def counted_rows(held):
    if "rows" in held["inputs"]:
        return kept_on_average(held["inputs"]["rows"], **held["parameters"])
    return shares_of_rows(held)


def shares_of_rows(held):
    """Rows kept at a share: a product with a float is one of floats, a product with a fraction is exact."""
    m, share, rule = held["parameters"]["m"], held["parameters"]["share"], held["parameters"].get("rule", "ceil")
    if not 0 < share <= 1:
        return {"refused": "ValueError"}
    product = share * m if isinstance(share, Fraction) else float(share) * m
    return {"rows": math.ceil(product) if rule == "ceil" else max(1, math.floor(product))}
