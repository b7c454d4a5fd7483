"""Sketches: what is accepted and refused, and single facts by hand."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from commbounds.compressors import MECHANISMS
from commbounds.compressors.sketched import count_sketch, min_max_sketch, polynomial_hashes, sketch_estimates, unsketch
from commbounds.theory import claims
from commbounds.verify.experiments.sketched.hashings import drawn_hashes, row_hashings, side_by_side

pytestmark = pytest.mark.kernels
ONE = {"buckets": [[0, 1]], "signs": [[1, -1]]}


# --- input -----------------------------------------------------------------------------------------------------------


def test_the_sketches_are_registered_under_their_names():
    assert MECHANISMS["count_sketch"] is count_sketch
    assert MECHANISMS["unsketch"] is unsketch


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"x": [1.0, np.nan]}, ValueError, "x must be finite"),
        ({"x": [1.0, np.inf]}, ValueError, "x must be finite"),
        ({"x": np.zeros(0)}, ValueError, "x must not be empty"),
        ({"x": [1, 2]}, TypeError, "x must be float32 or float64"),
        ({"x": np.ones(2, np.float16)}, TypeError, "x must be float32 or float64"),
        ({"x": [[1.0, 2.0]]}, ValueError, "x must have 1 dimension"),
        ({"x": [1.0, 2.0, 3.0]}, ValueError, r"buckets must be \(r, 3\)"),
        ({"cells": 0}, ValueError, "cells must be in"),
        ({"cells": 2**40}, ValueError, "cells must be in"),
        ({"cells": 2.0}, TypeError, "cells must be an integer"),
        ({"cells": 1}, ValueError, r"buckets must be in \[0, 1\)"),
        ({"buckets": [[0, -1]]}, ValueError, r"buckets must be in \[0, 2\)"),
        ({"buckets": [[0.0, 1.0]]}, TypeError, "buckets must be an array of integers"),
        ({"buckets": [0, 1]}, ValueError, "buckets must be"),
        ({"signs": [[1, 0]]}, ValueError, "signs must be 1 or -1"),
        ({"signs": [[1, -1], [1, 1]]}, ValueError, "signs must have the shape of buckets"),
    ],
)
def test_what_a_sketch_refuses(options, error, message):
    with pytest.raises(error, match=message):
        count_sketch(**{"x": [1.0, 2.0], "cells": 2, **ONE, **options})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"table": [[np.nan, 1.0]]}, ValueError, "table must have no NaN"),
        ({"table": [1.0, 1.0]}, ValueError, "table must have 2 dimensions"),
        ({"table": [[1.0, 1.0]] * 2}, ValueError, "table must have 1 rows"),
        ({"table": [[1, 1]]}, TypeError, "table must be float32 or float64"),
        ({"middle": "upper"}, ValueError, "middle must be one of mean, lower"),
        ({"middle": 1}, TypeError, "middle must be a string"),
        ({"k": 0}, ValueError, r"k must be in \[1, 2\], got 0"),
        ({"k": 3}, ValueError, r"k must be in \[1, 2\], got 3"),
    ],
)
def test_what_is_not_read_from_a_sketch(options, error, message):
    with pytest.raises(error, match=message):
        unsketch(**{"table": [[1.0, 2.0]], "k": 1, **ONE, **options})


def test_infinities_of_both_signs_have_no_mean():
    hashes = [[0], [0]], [[1], [1]]
    with pytest.raises(ValueError, match="infinities of both signs"):
        sketch_estimates([[np.inf], [-np.inf]], *hashes)
    assert sketch_estimates([[np.inf], [-np.inf]], *hashes, "lower").tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"prime": 1}, ValueError, "prime must be in"),
        ({"prime": 2**31}, ValueError, "prime must be in"),
        ({"n": 8}, ValueError, r"n must be in \[1, 7\]"),
        ({"cells": 0}, ValueError, "cells must be in"),
        ({"coefficients": [[0, 0, 0, 0, 0, 7]]}, ValueError, r"coefficients must be in \[0, 7\)"),
        ({"coefficients": [[0] * 5]}, ValueError, r"coefficients must be \(r, 6\)"),
        ({"coefficients": np.zeros((0, 6), int)}, ValueError, r"coefficients must be \(r, 6\)"),
        ({"coefficients": [[0.0] * 6]}, TypeError, "coefficients must be an array of integers"),
    ],
)
def test_what_hashes_refuse(options, error, message):
    with pytest.raises(error, match=message):
        polynomial_hashes(**{"coefficients": [[1] * 6], "n": 5, "cells": 3, "prime": 7, **options})


@pytest.mark.parametrize(
    ("levels", "error", "message"),
    [
        ([1.0], TypeError, "levels must be an array of integers"),
        ([-1], ValueError, r"levels must be in \[0"),
        ([], ValueError, "levels must be"),
        ([[1]], ValueError, "levels must be"),
        ([1, 2], ValueError, r"buckets must be \(r, 2\)"),
    ],
)
def test_what_levels_are_refused(levels, error, message):
    with pytest.raises(error, match=message):
        min_max_sketch(levels, [[0]], 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sketches_take_any_layout_and_change_nothing(dtype):
    x = np.random.default_rng(1).standard_normal(9).astype(dtype)
    buckets, signs = drawn_hashes(9, 3, 4, 2)
    held = x.copy(), buckets.copy(), signs.copy()
    table = count_sketch(x, buckets, signs, 4)
    for change in (np.asfortranarray, lambda v: np.repeat(v, 2, axis=-1)[..., ::2]):
        assert count_sketch(change(x), change(buckets), change(signs), 4).tobytes() == table.tobytes()
        assert sketch_estimates(change(table), change(buckets), change(signs)).dtype == dtype
    x.flags.writeable = False
    assert count_sketch(x, buckets.astype(np.uint8), signs.astype(np.int16), 4).tobytes() == table.tobytes()
    assert all(np.array_equal(a, b) for a, b in zip((x, buckets, signs), held, strict=True))


# --- single facts ----------------------------------------------------------------------------------------------------


def test_ties_go_to_the_lowest_index():
    assert unsketch([[2.0]], [[0, 0, 0]], [[1, -1, 1]], 2).tolist() == [2.0, -2.0, 0.0]


def test_all_choices_side_by_side_are_those_one_by_one():
    x, n, rows, cells = np.array([2.0, -1.0, 3.0]), 3, 2, 2
    buckets, signs, count = side_by_side(n, rows, cells, whole=True)
    table = count_sketch(np.tile(x, count), buckets, signs, count * cells)
    found = sorted(map(tuple, sketch_estimates(table, buckets, signs).reshape(count, n).tolist()))
    alone = []
    pairs = list(zip(*row_hashings(n, cells, "independent", True), strict=True))
    for first, second in itertools.product(pairs, repeat=2):
        places, factors = (np.stack(part) for part in zip(first, second, strict=True))
        alone.append(tuple(sketch_estimates(count_sketch(x, places, factors, cells), places, factors).tolist()))
    assert found == sorted(alone)
    assert len(alone) == 64**2


@pytest.mark.parametrize(("n", "bias"), [(4, Fraction(3, 8)), (6, Fraction(15, 128))])
def test_the_median_of_skewed_rows_is_biased_by_hand(n, bias):
    # the error of a row, s_0 (s_1 + ... ) where the product of all signs is one
    law = [
        s[0] * sum(s[1:]) for s in itertools.product((1, -1), repeat=n) if np.prod(s) == 1
    ]  # fmt: skip
    medians = [sorted(three)[1] for three in itertools.product(law, repeat=3)]
    assert sum(law) == 0
    assert abs(Fraction(sum(medians), len(medians))) == bias == claims()["sketched.median.parity"].bound(n=n)


def test_the_lower_of_two_rows_is_too_small_by_hand():
    for cells, other in ((1, 1), (2, -3), (3, 5)):
        row = [Fraction(0)] * (2 * cells - 2) + [Fraction(other), Fraction(-other)]
        mean = Fraction(sum(min(pair) for pair in itertools.product(row, repeat=2)), len(row) ** 2)
        assert -mean == claims()["sketched.median.lower_bias"].bound(sketch_cells=cells, other_entry=abs(other))


def test_three_equal_entries_in_one_counter_by_hand():
    # all signs equal: (3, 0, 0); one of them different: (1, 0, 0), or (-1, 0, 0) where it is the first
    errors = [(3 - 1) ** 2 + 2] * 2 + [0 + 2] * 4 + [(-1 - 1) ** 2 + 2] * 2
    assert Fraction(sum(errors), 8 * 3) == Fraction(4, 3)
    found = [unsketch(count_sketch([1.0] * 3, [[0] * 3], [s], 1), [[0] * 3], [s], 1) for s in
             itertools.product((1, -1), repeat=3)]  # fmt: skip
    assert sorted(float(np.square(y - 1).sum()) for y in found) == sorted(errors)


def test_signs_whose_product_is_one_are_as_independent_as_is_said():
    for n, hashing in ((4, "three"), (6, "five")):
        signs = row_hashings(n, 1, hashing, True)[1].astype(int)
        assert len(signs) == 2 ** (n - 1)
        for size in range(1, n):
            assert all(
                signs[:, list(chosen)].prod(axis=1).sum() == 0 for chosen in itertools.combinations(range(n), size)
            )
        assert (signs.prod(axis=1) == 1).all()


@pytest.mark.parametrize("x", [(1, 1, 1, 1), (1, 2, 3, 5), (4, -1, 0, 2)])
def test_five_entries_with_four_wise_signs_leave_the_median_unbiased(x):
    # all laws with four-wise independent signs are mixtures of these two
    for product in (1, -1):
        law = [
            s[0] * sum(a * b for a, b in zip(s[1:], x, strict=True))
            for s in itertools.product((1, -1), repeat=5)
            if np.prod(s) == product
        ]
        assert sorted(law) == sorted(-e for e in law)
        assert sum(sorted(three)[1] for three in itertools.product(law, repeat=3)) == 0


def test_the_smallest_prime_that_refutes_universal_buckets():
    assert claims()["sketched.hashes.collision"].bound(hash_prime=3, sketch_cells=2) == Fraction(5, 9)
    values = [(a * i + b) % 3 % 2 for a in range(3) for b in range(3) for i in (0, 1)]
    pairs = list(zip(values[::2], values[1::2], strict=True))
    assert Fraction(sum(u == v for u, v in pairs), 9) == Fraction(5, 9)


def test_a_count_min_sketch_of_levels_is_above_where_this_is_below():
    levels = np.array([4, 1, 7, 0, 2])
    for seed in range(20):
        buckets, _ = drawn_hashes(5, 2, 2, seed)
        assert (min_max_sketch(levels, buckets, 2) <= levels).all()
