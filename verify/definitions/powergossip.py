"""PowerGossip, one number at a time, from the authors' code (epfml/powergossip, algorithms.py, class PowerGossip).

It imports nothing of the package. Sums are added up in the order of indices and rounded to the type of the numbers, as
the docstring of the collective says; weights are those of topologies.py, of a path those of Metropolis and Hastings.
"""

import numpy as np

from commbounds.verify.definitions.traffic import counted


def weight(graph, P, i, j):
    """The weight of the edge between ranks i < j; None where there is none."""
    if graph == "complete":
        return 1 / P
    steps = [(i + 1) % P, (i - 1) % P] if graph == "ring" else [i + 1]
    copies = steps.count(j)
    if not copies:
        return None
    return copies / 3 if graph == "ring" or P > 2 else 1 / 2


def normalised(columns, epsilon):
    """Columns made orthonormal one after another."""
    kind = type(columns[0][0])
    for k in range(len(columns)):
        square = columns[k][0] * columns[k][0]
        for v in columns[k][1:]:
            square = square + v * v
        norm = np.sqrt(square) + kind(epsilon)
        if norm != 0:
            columns[k] = [v / norm for v in columns[k]]
        for other in range(k + 1, len(columns)):
            dot = columns[k][0] * columns[other][0]
            for v, w in zip(columns[k][1:], columns[other][1:], strict=True):
                dot = dot + v * w
            columns[other] = [w - dot * v for v, w in zip(columns[k], columns[other], strict=True)]
    return columns


def times(matrix, vector):
    """A matrix times a column."""
    result = []
    for row in matrix:
        total = type(vector[0])(0)
        for v, w in zip(row, vector, strict=True):
            total = total + v * w
        result.append(total)
    return result


def transposed(matrix):
    """Rows as columns."""
    return [list(column) for column in zip(*matrix, strict=True)]


def powergossip(held):
    """All ranks' matrices, all edges' factors, and what is sent."""
    given = {"rank": 1, "rounds": 1, "graph": "ring", "start": 1, "warm": True, "epsilon": 1e-8, **held["parameters"]}
    stack = held["inputs"]["stack"]
    kind, P, m = stack.dtype.type, len(stack), given["rows"]
    n, rounds = stack.shape[1] // m, given["rounds"]
    r = min(given["rank"], m, n)
    edges = [(i, j) for i in range(P) for j in range(i + 1, P) if weight(given["graph"], P, i, j) is not None]
    shape = (len(edges), m + n, r) if given["warm"] else (rounds, len(edges), m + n, r)
    drawn = held["randomness"].get("factors")
    if drawn is None:
        drawn = np.random.default_rng(held["randomness"]["seed"]).standard_normal(shape)
    drawn = np.asarray(drawn, dtype=np.float64).reshape(shape)
    matrices = [[[kind(v) for v in row[a * n : (a + 1) * n]] for a in range(m)] for row in stack]
    steps, factors = [], []
    for turn in range(max(rounds, 1)):
        if turn == 0 or not given["warm"]:
            at = drawn if given["warm"] else drawn[turn] if rounds else []
            factors = [[[kind(v) for v in column] for column in transposed(edge)] for edge in at]
        t = given["start"] + turn
        if turn == rounds or t == 0 or not edges:
            continue
        odd, before = t % 2 == 1, [[list(row) for row in matrix] for matrix in matrices]
        length = m if odd else n
        steps.append([sent for i, j in edges for sent in ((i, j, length * r), (j, i, length * r))])
        moves = []
        for (i, j), columns in zip(edges, factors, strict=True):
            lefts, rights = [c[:m] for c in columns], [c[m:] for c in columns]
            basis = normalised(rights if odd else lefts, given["epsilon"])
            low, high = (before[rank] if odd else transposed(before[rank]) for rank in (i, j))
            found = [[b - a for a, b in zip(times(low, column), times(high, column), strict=True)] for column in basis]
            lefts, rights = (found, basis) if odd else (basis, found)
            columns[:] = [left + right for left, right in zip(lefts, rights, strict=True)]
            moves.append([times(transposed(lefts), [right[b] for right in rights]) for b in range(n)])
        for rank in range(P):
            for number in sorted(range(len(edges)), key=lambda e: sum(edges[e]) - rank):
                i, j = edges[number]
                if rank not in (i, j):
                    continue
                share = kind(weight(given["graph"], P, i, j))
                for a in range(m):
                    for b in range(n):
                        step = share * moves[number][b][a]
                        old = matrices[rank][a][b]
                        matrices[rank][a][b] = old + step if rank == i else old - step
    result = np.array([[v for row in matrix for v in row] for matrix in matrices], stack.dtype)
    ended = [np.array(transposed(columns), stack.dtype) for columns in factors]
    return {"result": result, "factors": ended, "traffic": counted(P, steps)}
