"""Whether a subject is random: also where it is so for some inputs, or seldom."""

import numpy as np
import pytest
from compressor_twins import all_or_nothing, kept, ternary

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.budgets import BUDGETS


def randomised(roundtrip):
    return Bench(cf.Codec(roundtrip), BUDGETS["quick"], 0, 1e-6).randomised


def ties(x, seed):
    """Top-1 that breaks ties at random."""
    largest = np.flatnonzero(np.abs(x) == np.abs(x).max())
    y = np.zeros_like(x)
    place = np.random.default_rng(seed).choice(largest)
    y[place] = x[place]
    return y


@pytest.mark.parametrize(
    "roundtrip",
    [
        ternary,
        lambda x, seed: ternary(x, seed),
        lambda x, seed: ternary(x, seed) if x.size > 1000 else x.copy(),
        lambda x, seed: ternary(x, seed) if x.size < 10 else x.copy(),
        ties,
        lambda x, seed: x + np.float32(seed) * (not x.any()),
        kept(1e-3),
        all_or_nothing(0.1),
    ],
    ids=["injectable", "always", "long", "short", "ties", "zeros", "1 in 1000", "1 in 10 at once"],
)
def test_randomness_is_seen_wherever_it_is(roundtrip):
    assert randomised(roundtrip)


def test_what_is_not_random_is_not_called_so():
    assert not randomised(lambda x, seed: np.sign(x))


def test_what_does_not_answer_is_not_called_random():
    def roundtrip(x, seed):
        raise OSError("no device")

    assert not randomised(roundtrip)
