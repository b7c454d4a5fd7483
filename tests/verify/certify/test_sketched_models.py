"""What the models of sketched say of errors and counters, against hashings and kernels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from goal_values import bound_of, failing, goals

from commbounds.collectives.sketched import fetchsgd_step
from commbounds.compressors.sketched import count_sketch, min_max_sketch
from commbounds.verify.experiments.sketched.hashings import drawn_hashes, row_hashings


@pytest.mark.models("sketched.median.parity")
@pytest.mark.parametrize(
    ("n", "hashing", "law"),
    [(4, "three", {3: (1, 4), -1: (3, 4)}), (6, "five", {5: (1, 16), 1: (10, 16), -3: (5, 16)})],
)
def test_errors_of_a_row_where_the_product_of_signs_is_one(n, hashing, law):
    _, signs = row_hashings(n, 1, hashing, True)
    errors = signs[:, 0].astype(int) * signs.sum(axis=1) - 1
    assert {int(e): Fraction(int((errors == e).sum()), len(errors)) for e in set(errors.tolist())} == {
        e: Fraction(*share) for e, share in law.items()
    }
    assert bound_of("sketched.median.parity", n=n) == (Fraction(3, 8) if n == 4 else Fraction(15, 128))


@pytest.mark.models("sketched.fetchsgd.conserves")
def test_counters_of_a_step():
    """What came, what is kept and what was sent: counter by counter, and where one entry is alone in it."""
    buckets, signs = drawn_hashes(5, 1, 7, 3)
    zero, came, sent = np.zeros((1, 7)), np.zeros((1, 7)), np.zeros((1, 7))
    error = zero
    rng = np.random.default_rng(1)
    for _ in range(4):
        x = rng.integers(-4, 5, (1, 5)).astype(float)
        state, _ = fetchsgd_step(x, zero, error, buckets, signs, 1, 0.0, "subtract")
        update = count_sketch(state.update[0], buckets, signs, 7)
        gradient = count_sketch(x[0], buckets, signs, 7)
        assert (state.error == error + gradient - update).all()
        goal = goals("sketched.fetchsgd.conserves")["one more step"]
        for cell in range(7):
            given = {"sums": came[0, cell], "unsent": error[0, cell], "sent": sent[0, cell]}
            new = {"gradient": gradient[0, cell], "update": update[0, cell]}
            assert failing(goal, **{name: Fraction(float(v)) for name, v in (given | new).items()}) == []
        error, came, sent = state.error, came + gradient, sent + update


@pytest.mark.models("sketched.minmax.under")
def test_the_least_level_of_a_cell():
    levels = np.array([5, 2, 7, 3, 3, 9])
    buckets, _ = drawn_hashes(6, 2, 3, 1)
    for level, found in zip(levels.tolist(), min_max_sketch(levels, buckets, 3).tolist(), strict=True):
        given = {"sketched_level": level, "missed": found}
        assert failing(goals("sketched.minmax.under")["the least of a cell"], **given) == []
