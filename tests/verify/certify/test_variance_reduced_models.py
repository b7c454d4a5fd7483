"""Models of compression with memory derived in a second way: all choices of Rand-K, without model and kernel."""

import itertools
from fractions import Fraction

import pytest

from commbounds.theory import claims

G, H, TARGET = [[3, -1, 2], [0, 5, -4]], [[1, 1, 0], [-2, 2, 1]], [[0, 2, 1], [1, -1, 0]]


def squared(row):
    return sum(v * v for v in row)


@pytest.mark.models(
    "variance_reduced.diana.variance", "variance_reduced.diana.shift", "variance_reduced.diana.shift_target"
)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("weight", [Fraction(0), Fraction(1, 3), Fraction(1)])
def test_a_step_of_diana_by_two_workers(k, weight):
    n, P = 3, 2
    ways = list(itertools.product(itertools.combinations(range(n), k), repeat=P))
    off, shifts, errors = Fraction(0), Fraction(0), Fraction(0)
    mean = [Fraction(sum(column), P) for column in zip(*G, strict=True)]
    for kept in ways:
        sent = [[Fraction(n, k) * (G[i][j] - H[i][j]) * (j in kept[i]) for j in range(n)] for i in range(P)]
        estimate = [sum(H[i][j] + sent[i][j] for i in range(P)) / P for j in range(n)]
        after = [[H[i][j] + weight * sent[i][j] for j in range(n)] for i in range(P)]
        off += squared(e - m for e, m in zip(estimate, mean, strict=True)) / len(ways)
        for i in range(P):
            shifts += squared(a - g for a, g in zip(after[i], G[i], strict=True)) / Fraction(P * len(ways))
            errors += squared(a - t for a, t in zip(after[i], TARGET[i], strict=True)) / Fraction(P * len(ways))

    def apart(x, y):
        return sum(squared(a - b for a, b in zip(*rows, strict=True)) for rows in zip(x, y, strict=True)) / Fraction(P)

    values = {"omega": Fraction(n, k) - 1, "P": P, "weight": weight, "shift_gap": apart(G, H)}
    values |= {"shift_error": apart(H, TARGET), "target_gap": apart(G, TARGET)}
    for name, found in (("variance", off), ("shift", shifts), ("shift_target", errors)):
        assert claims()[f"variance_reduced.diana.{name}"].bound(**values) == found
