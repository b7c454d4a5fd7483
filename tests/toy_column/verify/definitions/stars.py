"""Every other entry, and sums through rank 0, one number at a time; imports nothing of ours."""


def every_other(x, coin):
    kept = [v if i % 2 == coin else type(v)(0) for i, v in enumerate(x)]
    values = [v for i, v in enumerate(x) if i % 2 == coin]
    values += [x.dtype.type(0)] * ((len(x) + 1) // 2 - len(values))
    return {"coin": coin, "values": values, "output": kept}


COMPRESSED = {"Parity": every_other}
"""Of the compressors by name: what a test vector gives -> what the twin says of it."""


def summed(held):
    stack = held["inputs"]["stack"]
    ranks, n = stack.shape
    row = []
    for i in range(n):
        total = stack[0][i]
        for p in range(1, ranks):
            total = total + stack[p][i]
        row.append(total)
    sent = [n * (ranks - 1)] + [n] * (ranks - 1)
    return {"result": [row] * ranks, "traffic": {"sent": sent, "received": sent}}


TWINS = {"star_allreduce": summed}
"""Of the collectives by name."""
