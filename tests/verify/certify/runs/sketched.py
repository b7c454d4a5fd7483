"""What is known of a sketch says of the symbols of its models."""

from fractions import Fraction

import numpy as np
from model_runs import Run

HALF = {"half": lambda hash_prime: hash_prime // 2}
SQUARE = {"square": lambda x: int((np.asarray(x, int) ** 2).sum())}
BLOCKS = {"block": lambda P, sketch_rows, sketch_cells: Fraction(sketch_rows * sketch_cells, P)}


def _kept(x, found):
    """The sum of the squares of the entries that the second round keeps, which are exact."""
    mean = np.asarray(x, int).sum(axis=0)
    return int((mean[np.asarray(found[0])[0] != 0] ** 2).sum())


def counters(buckets, signs, x):
    """Entries alone in a counter: what it holds, by the entry and its sign."""
    for entry, sign in zip(np.asarray(x)[0, 0].tolist(), signs[0].tolist(), strict=True):
        yield {"s": sign, "x": Fraction(entry)}


def combined(x, implementation):
    """One counter of two vectors, and of their combination, as one entry after another is added."""
    x, y = np.asarray(x, np.float64), np.roll(x, 1) + 1.0
    signs = np.resize((1, -1), x.size)

    def counter(vector, count):
        buckets = np.zeros((1, count), np.int64)
        return implementation(vector[:count], buckets, signs[None, :count], 1)[0, 0] if count else 0.0

    for i in range(x.size):
        before = {"first": counter(x, i), "kept": counter(y, i), "sums": counter(3 * x - 2 * y, i)}
        yield {**before, "u": 3, "v": -2, "x": x[i], "y": y[i], "s": signs[i]}


def rows_off(outcome):
    """How often one row is off, of so many."""
    yield Run({"row_off": outcome.values["row_off"]}, at={"r": outcome.values["sketch_rows"]})


RUNS = {
    "sketched.fetchsgd.same": counters,
    "sketched.table.linear": combined,
    "sketched.median.tail": rows_off,
    "sketched.hashes.collision": {
        "whole": lambda hash_prime, sketch_cells: hash_prime // sketch_cells,
        "rest": lambda hash_prime, sketch_cells: hash_prime % sketch_cells,
    },
    "sketched.hashes.sign": HALF,
    "sketched.row.variance_bound": SQUARE,
    "sketched.row.error": SQUARE,
    "sketched.row.tail": {**SQUARE, "chance": lambda measured: measured},
    "sketched.recovery.one_cell": {**SQUARE, "first": lambda x, k: int((np.asarray(x[:k], int) ** 2).sum())},
    "sketched.recovery.second_round": {
        "square": lambda x: int((np.asarray(x, int).sum(axis=0) ** 2).sum()),
        "kept": _kept,
    },
    "sketched.words.one_round": BLOCKS,
    "sketched.words.two_rounds": {**BLOCKS, "entry_block": lambda P, sketch_candidates: Fraction(sketch_candidates, P)},
}
