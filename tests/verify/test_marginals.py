"""Marginal laws are read off a kernel exactly."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.verify.marginals import Marginals, kernel_marginals, step_laws

BITS = {np.float32: 24, np.float64: 53}


class Synthetic:
    """A kernel with given probabilities and levels: entry i is `upper` iff its uniform is below p_i."""

    def __init__(self, p, upper, lower):
        self.p, self.upper, self.lower = (np.asarray(v, dtype=np.float64) for v in (p, upper, lower))
        self.calls = 0

    def compress_with(self, x, uniforms):
        assert uniforms.dtype == x.dtype
        assert ((uniforms >= 0) & (uniforms < 1)).all()
        self.calls += 1
        return SimpleNamespace(y=np.where(uniforms.astype(np.float64) < self.p, self.upper, self.lower).astype(x.dtype))

    def decompress(self, message):
        return message.y


def read(p, dtype, upper=2.0, lower=1.0, entries=None):
    """The kernel and its law at `entries`, from which a good guess follows where it is unbiased."""
    kernel = Synthetic(p, np.full(len(p), upper), np.full(len(p), lower))
    x = np.zeros(len(p)) if entries is None else np.asarray(entries)
    return kernel, kernel_marginals(kernel, x.astype(dtype))


@pytest.mark.parametrize("dtype", BITS)
def test_probabilities_on_the_grid_are_recovered_exactly(dtype):
    grid = 2.0 ** -BITS[dtype]
    p = np.array([grid, 0.5, 0.25, 0.75, 1 - grid, 3 * grid, 0.5 + grid])
    for entries in (None, 1.0 + p, 1.0 + p + 1e-5, np.full(7, 1e30)):
        kernel, law = read(p, dtype, entries=entries)
        assert law.p.tolist() == p.tolist()
        assert set(law.upper) == {2.0}
        assert set(law.lower) == {1.0}
        assert law.resolution == grid
        assert kernel.calls <= BITS[dtype] + 4


@pytest.mark.parametrize("dtype", BITS)
@given(p=st.lists(st.floats(0.0, 1.0, exclude_min=True), min_size=1, max_size=8), unbiased=st.booleans())
def test_other_probabilities_are_counted_in_uniforms_of_the_grid(dtype, p, unbiased):
    _, law = read(p, dtype, entries=1.0 + np.array(p) if unbiased else None)
    cells = 2 ** BITS[dtype]
    for got, given_p in zip(law.p, p, strict=True):
        assert got == min(math.ceil(Fraction(given_p) * cells), cells) / cells


def test_a_certain_entry_is_its_only_level():
    for p in (0.0, 1.0):
        _, law = read([p], np.float32)
        assert law.mean.tolist() == [2.0 if p else 1.0]
        assert law.expected_square(np.array([0.0])).tolist() == [4.0 if p else 1.0]
    _, law = read([0.5], np.float32, upper=1.0, lower=1.0)
    assert law.mean.tolist() == [1.0]


def test_entries_are_read_at_once_and_apart():
    rng = np.random.default_rng(0)
    p, upper, lower = rng.random(500), rng.standard_normal(500), rng.standard_normal(500)
    law = kernel_marginals(Synthetic(p, upper, lower), np.zeros(500))
    assert np.abs(law.p - p).max() <= law.resolution
    assert law.upper.tolist() == upper.tolist()
    assert law.lower.tolist() == lower.tolist()


def test_mean_and_square_are_those_of_the_two_points():
    law = Marginals(np.array([3.0, -1.0]), np.array([1.0, 0.0]), np.array([0.25, 0.5]), 2.0**-24)
    assert law.mean.tolist() == [1.5, -0.5]
    assert law.expected_square(np.array([1.0, 1.0])).tolist() == [1.0, 2.5]


def steps(breaks, levels):
    """The output that takes levels[i][k] between the breaks k - 1 and k of entry i."""

    def output(places):
        return np.array(
            [v[int(np.searchsorted(b, u, side="right"))] for b, v, u in zip(breaks, levels, places, strict=True)]
        )

    return output


def test_entries_of_any_number_of_levels_are_read_exactly():
    breaks = [[1, 2], [8], [], [3, 5, 15]]
    levels = [[9.0, 3.0, 1.0], [0.5, -0.5], [4.0], [1.0, 0.0, -1.0, -np.inf]]
    law = step_laws(steps(breaks, levels), np.array([0.0, 0.25, 4.0, 0.0]), 16)
    for places in itertools.product(range(16), repeat=2):
        row = np.array([*places, *places[::-1]])
        assert law.at(row).tolist() == steps(breaks, levels)(row).tolist()
    assert law.p.sum(axis=0).tolist() == [1.0] * 4
    assert law.expected_difference(np.array([0.0, 0.0, 4.0, 0.0])).tolist() == [26 / 16, 0.0, 0.0, -np.inf]
    assert law.expected_square(np.array([1.0, 0.0, 0.0, 0.0])).tolist()[:3] == [68 / 16, 0.25, 16.0]


def test_a_value_for_the_very_first_uniform_alone_is_seen():
    law = step_laws(
        lambda places: np.where(places == 0, np.nan, np.where(places < 5, 1.0, 0.0)), np.full(3, 0.3), 2**24
    )
    assert np.isnan(law.values[0]).all()
    assert law.p.tolist() == [[2.0**-24] * 3, [4 * 2.0**-24] * 3, [1 - 5 * 2.0**-24] * 3]


def test_too_many_levels_are_no_step_law():
    assert step_laws(lambda places: places.astype(float), np.zeros(2), 2**24) is None
