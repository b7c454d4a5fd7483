"""`commbounds.testing.exact_inputs` and `assert_exact`: no order rounds, and what is lost is seen."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from commbounds._exact import covering_inputs
from commbounds.testing import assert_exact, exact_inputs
from commbounds.theory.precision.formats import FORMATS

SIZES = [(P, n) for P in range(1, 10) for n in (1, 7, 64)] + [(64, 1000), (1024, 300)]


def in_a_random_order(x, rng):
    rows = list(x)
    while len(rows) > 1:
        a, b = (rows.pop(int(rng.integers(len(rows)))) for _ in range(2))
        rows.append(a + b)
    return rows[0]


@pytest.mark.parametrize("name", FORMATS)
def test_every_order_gives_the_exact_sum(name):
    form, rng = FORMATS[name], np.random.default_rng(5)
    for P, n in SIZES:
        x = exact_inputs(P, n, name, seed=P)
        assert x.shape == (P, n)
        assert x.dtype.name == name
        for _ in range(2):
            total = in_a_random_order(x, rng)
            assert_exact(total, x)
        for i in range(0, n, 1 + n // 7):
            terms = [Fraction(float(v)) for v in x[:, i]]
            assert sum(terms) == Fraction(float(total[i])) != 0
            assert all(t == 0 or abs(t) >= form.normal for t in terms)


@pytest.mark.parametrize("name", FORMATS)
def test_every_rank_is_needed_and_needed_once(name):
    for P, n in SIZES:
        x = exact_inputs(P, n, name, seed=1)
        most = 2 ** (FORMATS[name].digits - 2)
        brought = (x != 0).sum(axis=1)
        if n >= P:
            assert brought.min() >= min(3, n) - (most < 3 * P / n)
        for rank in {0, P // 2, P - 1}:
            wide = x.astype(np.float64)
            for factor in (-1, 1):  # lost, twice
                wrong = (wide.sum(axis=0) + factor * wide[rank]).astype(x.dtype)
                if brought[rank]:
                    with pytest.raises(AssertionError):
                        assert_exact(wrong, x)


@pytest.mark.parametrize(("P", "name"), [(5, "float8_e4m3fn"), (64, "bfloat16"), (256, "bfloat16"), (300, "float32")])
def test_every_rank_brings_something_to_every_chunk(P, name):
    n = 8 * P
    brought = exact_inputs(P, n, name, seed=2) != 0
    assert brought.reshape(P, P, n // P).any(axis=2).all()


def test_fewer_digits_are_seen():
    x = exact_inputs(16, 500, "float32")
    narrow = x.astype(ml_dtypes.bfloat16).astype(np.float32).sum(axis=0)
    with pytest.raises(AssertionError, match="differ from the exact sum"):
        assert_exact(narrow, x)
    with pytest.raises(AssertionError):
        assert_exact(np.nextafter(x.sum(axis=0), np.float32(np.inf)), x)


def test_one_seed_gives_the_same_and_another_others():
    assert (exact_inputs(8, 100, "float16", 3) == exact_inputs(8, 100, "float16", 3)).all()
    assert (exact_inputs(8, 100, "float16", 3) != exact_inputs(8, 100, "float16", 4)).any()


def test_ranks_signs_and_exponents_are_mixed():
    x = exact_inputs(8, 4000).astype(np.float64)
    pairs = {tuple(np.flatnonzero(column)) for column in x.T}
    assert len(pairs) == 8 * 7 / 2
    assert 0.4 < (x[x != 0] > 0).mean() < 0.6
    assert len(set(np.frexp(x.sum(axis=0))[1])) > 200


def test_all_ranks_are_compared_and_the_mistake_is_named():
    x = exact_inputs(8, 300, "bfloat16")
    total = x.sum(axis=0)
    rows = np.stack([total] * 8)
    assert_exact(list(rows), list(x))
    rows[5] = x[[0, 1, 2, 3, 4, 6, 7]].sum(axis=0)
    with pytest.raises(AssertionError, match="on rank 5"):
        assert_exact(rows, x)
    with pytest.raises(AssertionError, match="rank 5 is missing"):
        assert_exact(rows[5], x)


def test_means_that_are_exact_are_compared():
    x = exact_inputs(8, 300)
    assert_exact(x.sum(axis=0) / np.float32(8), x, op="mean")
    with pytest.raises(ValueError, match="the mean over P = 7 ranks is rounded"):
        assert_exact(x[:7].sum(axis=0) / np.float32(7), x[:7], op="mean")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([[1.0], [2.0**-24]], "some order of additions rounds entry"),
        ([[2.0**127], [2.0**127]], "some order of additions rounds entry"),
        ([[np.inf], [1.0]], "some order of additions rounds entry"),
    ],
)
def test_what_some_order_rounds_says_nothing(values, says):
    x = np.array(values, np.float32)
    with pytest.raises(ValueError, match=says):
        assert_exact(np.zeros(1, np.float32), x)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"P": 0}, ValueError),
        ({"n": 0}, ValueError),
        ({"P": 2.0}, TypeError),
        ({"dtype": "int8"}, ValueError),
        ({"seed": -1}, ValueError),
    ],
)
def test_what_makes_no_inputs_is_refused(change, error):
    with pytest.raises(error):
        exact_inputs(**{"P": 4, "n": 5, **change})


@pytest.mark.parametrize("name", FORMATS)
def test_every_rank_brings_something_to_every_entry_once(name):
    form, rng = FORMATS[name], np.random.default_rng(6)
    for P, n, times in ((1, 3, 1), (5, 7, 1), (16, 40, 16), (300, 9, 1)):
        *asked, lone = covering_inputs(P, n, form, times)
        assert len(asked) == -(-P // min(P, 2 ** (form.digits - 1)))
        assert np.sum([x != 0 for x in asked], axis=0).min() >= 1
        assert (np.count_nonzero(lone, axis=0) == 1).all()
        for x in (*asked, lone):
            assert_exact(in_a_random_order(x, rng), x)
            assert_exact(
                (in_a_random_order(x, rng) / np.array(times, x.dtype)).astype(x.dtype),
                x,
                op="sum" if times == 1 else "mean",
            )


@pytest.mark.parametrize("name", FORMATS)
def test_single_terms_reach_down_to_the_smallest_normal_number(name):
    form = FORMATS[name]
    *_, lone = covering_inputs(7, 20000, form, 1)
    sizes = np.abs(lone[lone != 0].astype(np.float64))
    assert float(form.normal) <= sizes.min() <= 8 * float(form.normal)
