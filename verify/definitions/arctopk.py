"""ARC-Top-K step by step in plain Python, and the error of its rank-one sketch in the plane, by many directions."""

import math

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


def words(stack, K, V, agree=True):
    """The traffic of the sketches and of the rows: two rings, or first an all-gather where nobody adds for all."""
    P, m, n, r = len(stack), len(stack[0]), len(stack[0][0]), len(V[0])
    sketches, rows = [[0.0] * (m * r)] * P, [[0.0] * (K * n)] * P
    _, first = dense.ring_allreduce(sketches) if agree else dense.allgather(sketches, "ring")
    return first, dense.ring_allreduce(rows)[1]


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
