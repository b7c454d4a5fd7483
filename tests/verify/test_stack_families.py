"""The families of stacks: deterministic, at every size that they claim, and what their names say."""

import numpy as np
import pytest

from commbounds.verify.stack_families import FAMILIES, SWEPT, stack

SIZES = [(1, 1, 1), (1, 8, 2), (2, 8, 2), (2, 16, 4), (3, 27, 3), (4, 64, 4), (5, 31, 3), (8, 640, 16), (16, 1024, 16)]
EVERY = pytest.mark.parametrize("name", FAMILIES)
CONSTRUCTIONS = tuple(FAMILIES)[tuple(FAMILIES).index("worst received") :]


def stacks(name):
    return [(size, stack(name, *size)) for size in SIZES if FAMILIES[name].fits(*size)]


@EVERY
def test_a_stack_is_a_function_of_its_arguments(name):
    made = stacks(name)
    assert len(made) >= 2 or name == "handed on"
    for (P, n, k), x in made:
        assert x.shape == (P, n)
        assert x.dtype == np.float32
        assert np.isfinite(x).all()
        assert np.array_equal(x, stack(name, P, n, k))
        wide = stack(name, P, n, k, dtype=np.float64)
        assert wide.dtype == np.float64
        assert np.array_equal(wide.astype(np.float32), x)


def test_random_families_depend_on_the_seed():
    for name in ("iid", "heavy-tailed", "common + noise", "same hot layers", "disjoint blocks", "ties"):
        assert not np.array_equal(stack(name, 2, 64, 4, 0), stack(name, 2, 64, 4, 1))


@pytest.mark.parametrize("name", ["tight6k", *CONSTRUCTIONS])
def test_constructions_do_not_depend_on_the_seed_and_hold_at_most_k_entries(name):
    for (P, n, k), x in stacks(name):
        assert np.array_equal(x, stack(name, P, n, k, seed=7))
        assert (np.count_nonzero(x, axis=1) <= max(k, 1)).all()


@pytest.mark.parametrize("name", ["tight6k", "quarter of the owners", "all ranks own"])
def test_even_constructions_hold_the_same_number_of_entries_in_every_region(name):
    for (P, n, k), x in stacks(name):
        held = np.count_nonzero(x.reshape(P, P, n // P), axis=2)
        assert (held == k // P).all()


def test_eleven_families_are_swept():
    assert len(SWEPT) == 11
    assert {"iid", "one outlier rank", "stale boundaries", "tight6k"} <= set(SWEPT)


def test_neighbours_cancel():
    x = stack("cancellations", 4, 64, 8)
    total = x[0] + x[1]
    assert np.count_nonzero((x[0] != 0) & (x[1] != 0) & (total == 0)) >= 4


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="does not exist at P=3, n=12, k=4"):
        stack("tight6k", 3, 12, 4)
    with pytest.raises(ValueError, match="does not exist at P=0"):
        stack("iid", 0, 12, 4)
    with pytest.raises(ValueError, match="family must be one of"):
        stack("no such", 3, 12, 4)
