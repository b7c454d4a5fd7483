"""Sketches, counter by counter, from the papers; imports nothing of ours."""

import numpy as np

from commbounds.verify.definitions.dense import ring_allreduce


def polynomial_hashes(coefficients, n, cells, prime):
    buckets, signs = [], []
    for a, b, c, d, e, f in coefficients:
        buckets.append([(int(a) * i + int(b)) % prime % cells for i in range(n)])
        cubic = [(int(c) * i**3 + int(d) * i**2 + int(e) * i + int(f)) % prime for i in range(n)]
        signs.append([1 if value % 2 else -1 for value in cubic])
    return buckets, signs


def count_sketch(x, buckets, signs, cells):
    table = []
    for places, factors in zip(buckets, signs, strict=True):
        row = [type(x[0])(0)] * cells
        for value, place, factor in zip(x, places, factors, strict=True):
            row[place] = row[place] + (value if factor == 1 else -value)
        table.append(row)
    return table


def median(values, middle):
    ordered, half = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[half]
    return ordered[half - 1] if middle == "lower" else ordered[half - 1] / 2 + ordered[half] / 2


def estimates(table, buckets, signs, middle="mean"):
    found = []
    for i in range(len(buckets[0])):
        read = []
        for row, places, factors in zip(table, buckets, signs, strict=True):
            value = row[places[i]]
            read.append(value if factors[i] == 1 else -value)
        found.append(median(read, middle))
    return found


def largest(values, k):
    return sorted(sorted(range(len(values)), key=lambda i: (-abs(values[i]), i))[:k])


def unsketch(table, buckets, signs, k, middle="mean"):
    found = estimates(table, buckets, signs, middle)
    kept = largest(found, k)
    return [value if i in kept else type(value)(0) for i, value in enumerate(found)]


def min_max(levels, buckets, cells):
    rows = []
    for places in buckets:
        cell = {}
        for level, place in zip(levels, places, strict=True):
            cell[place] = min(level, cell.get(place, level))
        rows.append([cell[place] for place in places])
    return [max(row[i] for row in rows) for i in range(len(levels))]


def added(tables):
    """On a ring, flat; and the traffic."""
    r, c = len(tables[0]), len(tables[0][0])
    total, traffic = ring_allreduce([[value for row in table for value in row] for table in tables])
    return [list(total[0][j * c : (j + 1) * c]) for j in range(r)], traffic


def both(first, second):
    """The traffic of one after the other."""
    joined = {
        name: [x + y for x, y in zip(first[name], second[name], strict=True)]
        for name in ("sent", "received", "messages")
    }
    return {**joined, "steps": first["steps"] + second["steps"]}


def sketched_sum(stack, buckets, signs, cells, k, middle):
    table, traffic = added([count_sketch(x, buckets, signs, cells) for x in stack])
    return unsketch(table, buckets, signs, k, middle), traffic


def sketched_topk(stack, buckets, signs, cells, k, candidates):
    table, first = added([count_sketch(x, buckets, signs, cells) for x in stack])
    named = largest(estimates(table, buckets, signs), candidates)
    exact, second = ring_allreduce([[x[i] for i in named] for x in stack])
    found = [type(stack[0][0])(0)] * len(stack[0])
    for j in largest(exact[0], k):
        found[named[j]] = exact[0][j]
    return found, both(first, second)


def fetchsgd(stack, momentum, error, buckets, signs, k, rho, forget):
    kind, cells = type(stack[0][0]), len(momentum[0])
    table, traffic = added([count_sketch(x, buckets, signs, cells) for x in stack])
    moved = [
        [kind(rho) * old + new / kind(len(stack)) for old, new in zip(*rows, strict=True)]
        for rows in zip(momentum, table, strict=True)
    ]
    whole = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(error, moved, strict=True)]
    update = unsketch(whole, buckets, signs, k)
    sent = count_sketch(update, buckets, signs, cells)
    for row in range(len(whole)):
        for cell in range(cells):
            if forget == "subtract":
                whole[row][cell] = whole[row][cell] - sent[row][cell]
            elif sent[row][cell] != 0:
                whole[row][cell] = moved[row][cell] = kind(0)
    return update, moved, whole, traffic


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def _lists(array):
    return [list(row) for row in array]


def _hashed(given):
    return given["buckets"].tolist(), given["signs"].tolist()


def _alike(row, stack):
    return np.array([row] * len(stack), stack.dtype)


def summed(held):
    given, options = held["inputs"], held["parameters"]
    stack = given["stack"]
    total, traffic = sketched_sum(_lists(stack), *_hashed(given), options["cells"], options["k"], options["middle"])
    return {"total": _alike(total, stack), "traffic": traffic}


def asked_again(held):
    given, options = held["inputs"], held["parameters"]
    stack = given["stack"]
    total, traffic = sketched_topk(
        _lists(stack), *_hashed(given), options["cells"], options["k"], options["candidates"]
    )
    return {"total": _alike(total, stack), "traffic": traffic}


def stepped(held):
    given, options = held["inputs"], held["parameters"]
    stack = given["stack"]
    update, momentum, error, traffic = fetchsgd(
        _lists(stack), _lists(given["momentum"]), _lists(given["error"]), *_hashed(given), options["k"], options["rho"],
        options["forget"],
    )  # fmt: skip
    tables = {"momentum": np.array(momentum, stack.dtype), "error": np.array(error, stack.dtype)}
    return {"update": _alike(update, stack), **tables, "traffic": traffic}


TWINS = {"sketched_sum": summed, "sketched_topk": asked_again, "fetchsgd_step": stepped}
"""Of the collectives by name."""
