"""What is known of a sketch says of the symbols of its models."""

from fractions import Fraction

import numpy as np

HALF = {"half": lambda hash_prime: hash_prime // 2}
SQUARE = {"square": lambda x: int((np.asarray(x, int) ** 2).sum())}
BLOCKS = {"block": lambda P, sketch_rows, sketch_cells: Fraction(sketch_rows * sketch_cells, P)}


def _kept(x, found):
    """The sum of the squares of the entries that the second round keeps, which are exact."""
    mean = np.asarray(x, int).sum(axis=0)
    return int((mean[np.asarray(found[0])[0] != 0] ** 2).sum())


RUNS = {
    "sketched.hashes.collision": {
        "whole": lambda hash_prime, sketch_cells: hash_prime // sketch_cells,
        "rest": lambda hash_prime, sketch_cells: hash_prime % sketch_cells,
    },
    "sketched.hashes.sign": HALF,
    "sketched.row.variance_bound": SQUARE,
    "sketched.row.error": SQUARE,
    "sketched.row.tail": {**SQUARE, "chance": lambda measured: measured},
    "sketched.recovery.one_cell": {
        **SQUARE,
        "first": lambda x, k: int((np.asarray(x[:k], int) ** 2).sum()),
    },
    "sketched.recovery.second_round": {
        "square": lambda x: int((np.asarray(x, int).sum(axis=0) ** 2).sum()),
        "kept": _kept,
    },
    "sketched.words.one_round": BLOCKS,
    "sketched.words.two_rounds": {**BLOCKS, "entry_block": lambda P, sketch_candidates: Fraction(sketch_candidates, P)},
}
