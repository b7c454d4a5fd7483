"""Sketches, counter by counter, from the papers; imports nothing of ours."""

import numpy as np

from commbounds.verify.definitions.dense import everywhere, lists, ring_allreduce


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
    if middle == "lower":
        return ordered[half - 1]
    return type(ordered[0])(float(ordered[half - 1]) / 2 + float(ordered[half]) / 2)


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
    total, traffic = ring_allreduce([[value for row in table for value in row] for table in tables], True)
    return [list(total[0][j * c : (j + 1) * c]) for j in range(r)], traffic


def in_phases(**phases):
    """The traffic of one after the other, and that of each."""
    joined = {
        name: [sum(counts) for counts in zip(*(part[name] for part in phases.values()), strict=True)]
        for name in ("sent", "received", "messages")
    }
    single = {name: sum(part[name] for part in phases.values()) for name in ("steps", "critical_path")}
    return {**joined, **single, "phases": phases}


def sketched_sum(stack, buckets, signs, cells, k, middle):
    table, traffic = added([count_sketch(x, buckets, signs, cells) for x in stack])
    return unsketch(table, buckets, signs, k, middle), in_phases(sketch=traffic)


def sketched_topk(stack, buckets, signs, cells, k, candidates):
    table, first = added([count_sketch(x, buckets, signs, cells) for x in stack])
    named = largest(estimates(table, buckets, signs), candidates)
    exact, second = ring_allreduce([[x[i] for i in named] for x in stack], True)
    found = [type(stack[0][0])(0)] * len(stack[0])
    for j in largest(exact[0], k):
        found[named[j]] = exact[0][j]
    return found, in_phases(sketch=first, entries=second)


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
    return update, moved, whole, in_phases(sketch=traffic)


# --- what is given -> what is said of it ------------------------------------------------------------------------------


def _hashed(given):
    return given["buckets"].tolist(), given["signs"].tolist()


def hashes_said(held):
    coefficients = held["inputs"]["coefficients"].tolist()
    buckets, signs = polynomial_hashes(coefficients, **{name: int(v) for name, v in held["parameters"].items()})
    return {"buckets": np.array(buckets, np.int64), "signs": np.array(signs, np.int8)}


def table_said(held):
    x = held["inputs"]["x"]
    return {"table": np.array(count_sketch(list(x), *_hashed(held["inputs"]), held["parameters"]["cells"]), x.dtype)}


def estimates_said(held):
    table = held["inputs"]["table"]
    middle = held["parameters"].get("middle", "mean")
    return {"estimates": np.array(estimates(lists(table), *_hashed(held["inputs"]), middle), table.dtype)}


def update_said(held):
    table, options = held["inputs"]["table"], held["parameters"]
    found = unsketch(lists(table), *_hashed(held["inputs"]), options["k"], options.get("middle", "mean"))
    return {"update": np.array(found, table.dtype)}


def minima_said(held):
    given = held["inputs"]
    found = min_max(given["levels"].tolist(), given["buckets"].tolist(), held["parameters"]["cells"])
    return {"recovered": np.array(found, np.int64)}


def summed(held):
    given, options = held["inputs"], held["parameters"]
    stack = given["stack"]
    total, traffic = sketched_sum(
        lists(stack), *_hashed(given), options["cells"], options["k"], options.get("middle", "mean")
    )
    return {"total": everywhere(total, stack), "traffic": traffic}


def asked_again(held):
    given, options = held["inputs"], held["parameters"]
    stack = given["stack"]
    total, traffic = sketched_topk(lists(stack), *_hashed(given), options["cells"], options["k"], options["candidates"])
    if not np.isfinite(total).all():
        return {"refused": "ValueError"}
    return {"total": everywhere(total, stack), "traffic": traffic}


def stepped(held):
    """One step of a stack; or a step of every one of several stacks, from what the step before left."""
    given, options = held["inputs"], held["parameters"]
    momentum, error, steps = given["momentum"], given["error"], []
    for stack in given["stacks"] if "stacks" in given else [given["stack"]]:
        update, *tables, traffic = fetchsgd(
            lists(stack), lists(momentum), lists(error), *_hashed(given), options["k"], options.get("rho", 0.9),
            options.get("forget", "zero"),
        )  # fmt: skip
        momentum, error = (np.array(table, stack.dtype) for table in tables)
        steps.append({"update": everywhere(update, stack), "momentum": momentum, "error": error, "traffic": traffic})
    return {"steps": steps} if "stacks" in given else steps[0]
