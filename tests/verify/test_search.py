"""The search: the same cases for everybody, the smallest that fails, and arrays as simple as they may be."""

import numpy as np
import pytest
from hypothesis import strategies as st

from commbounds.verify.confront import confront
from commbounds.verify.finding import Method
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.search import Violation, falsified, generated, simplest


def test_a_seed_gives_the_same_cases_whatever_becomes_of_them():
    first, again, other = (list(generated(st.integers(), 50, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 50
    met = []
    assert not falsified(met.append, st.integers(), 50, 1)
    assert met == first


def test_one_of_equal_options_is_what_was_given():
    for options in ((1, 2), (1.0, 2.0), (True, 2), ((1, 2), (1.0, 2.0)), ([1], [2])):
        drawn = set(map(repr, generated(sampled_from(options), 10, 0)))
        assert drawn == set(map(repr, options))
    assert sampled_from((1, 2)) is sampled_from((1, 2)) is not sampled_from((1.0, 2.0))


def test_the_last_case_that_fails_is_the_smallest():
    failing = []

    def confront(number):
        if number >= 1000:
            failing.append(number)
            raise Violation

    assert falsified(confront, st.integers(), 500, 0)
    assert failing[-1] == 1000 < max(failing)


def test_what_a_case_returns_is_climbed_on():
    """To a corner of a hundred-thousandth of the volume, which 2000 draws alone meet once in 50 times."""

    def confront(numbers):
        away = sum(abs(number - goal) for number, goal in zip(numbers, (314159, 718281, 141421), strict=True))
        if away < 20_000:
            raise Violation
        return float(-away)

    numbers = st.tuples(*[integers(0, 10**6)] * 3)  # no constant that Hypothesis finds in what is imported gets in
    assert falsified(confront, numbers, 2000, 0)
    assert not falsified(lambda drawn: confront(drawn) and None, numbers, 2000, 0)


@pytest.mark.parametrize(
    ("x", "fails", "simple"),
    [
        ([3.25, -7.5, 0.125, 9.0], lambda x: x.max() > 4, [9.0]),
        ([3.25, -7.5, 0.125, 9.0], lambda x: x.size > 1 and bool(x.all()), [1.0, 1.0]),
        ([[1.5, 2.5], [0.3, 4.0]], lambda x: bool((x[:, -1] >= 2).any()), [[2.0]]),
        ([-124.0], lambda x: bool((np.frexp(x[x != 0.0])[0] % 0.5).any()), [3.0]),
        (
            [6240.0, 6720.0],
            lambda x: x.size == 2 and bool((7 * x / (abs(x).max() or 1.0) % 1 == 0.5).any()),
            [1.0, 14.0],
        ),
        ([1.0, -0.97265625], lambda x: x.size == 2 and bool(0.0 < abs(x[1]) < abs(x[0])), [1.0, 0.75]),
    ],
)
def test_arrays_lose_entries_and_digits_as_long_as_they_fail(x, fails, simple):
    met = []

    def noted(y):
        met.append(y.size)
        return fails(y)

    found = simplest(np.array(x), noted, lambda y: True)
    assert fails(found)
    assert found.tolist() == simple
    assert len(met) <= 400


def test_only_admissible_arrays_of_the_fixed_length_are_tried():
    met = []

    def fails(y):
        met.append(y.shape)
        return True

    assert simplest(np.arange(1.0, 13.0).reshape(4, 3), fails, lambda y: len(y) > 1, fixed=1).shape == (2, 3)
    assert {shape[1] for shape in met} == {3}
    assert min(shape[0] for shape in met) == 2


def test_a_failing_array_of_the_books_corpus_is_made_small_where_the_search_finds_none():
    finding = confront("quantizers.naturalcompression.unbiased_every_float")
    (evidence,) = (e for e in finding.evidence if e.method is Method.SEARCH)
    assert evidence.counterexample.x_length == 1
    assert evidence.counterexample.measured > evidence.counterexample.bound
