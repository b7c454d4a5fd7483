"""Every other entry, and sums through rank 0, one number at a time; imports nothing of ours."""

import numpy as np


def Parity(held):
    x, drawn = held["inputs"]["x"], held["randomness"]
    if x.dtype not in (np.float32, np.float64):
        return {"refused": "TypeError"}
    coin = int(np.random.default_rng(drawn["seed"]).integers(0, 2)) if "seed" in drawn else drawn["coin"]
    if x.size == 0 or not np.isfinite(x).all() or coin not in (0, 1):
        return {"refused": "ValueError"}
    values = [v for i, v in enumerate(x) if i % 2 == coin]
    values += [0.0] * ((x.size + 1) // 2 - len(values))
    output = [v if i % 2 == coin else 0.0 for i, v in enumerate(x)]
    return {
        "message": {"coin": coin, "values": np.array(values, x.dtype)},
        "bits": 1 + len(values) * 8 * x.itemsize,
        "output": np.array(output, x.dtype),
    }


def star_allreduce(held):
    stack = held["inputs"]["stack"]
    ranks, n = stack.shape
    row = []
    for i in range(n):
        total = stack[0][i]
        for p in range(1, ranks):
            total = total + stack[p][i]
        row.append(total)
    sent = [n * (ranks - 1)] + [n] * (ranks - 1)
    steps = 2 * (ranks - 1)
    traffic = {"sent": sent, "received": sent, "messages": [ranks - 1] + [1] * (ranks - 1), "steps": steps}
    return {"result": np.array([row] * ranks), "traffic": {**traffic, "critical_path": steps * n}}
