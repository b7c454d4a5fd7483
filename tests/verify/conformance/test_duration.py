"""What a check is said to take, against what its calls take, on a clock that the subjects move."""

import numpy as np
import pytest

from commbounds.verify import conformance as cf
from commbounds.verify.conformance import duration
from commbounds.verify.conformance.duration import expected_seconds

CALL, ENTRY = 1.0, 1e-5


class Clock:
    """A clock that stands still but for the subjects' calls."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def passes(self, x):
        self.now += CALL + ENTRY * x.size


def kept(clock):
    def same(x, seed):
        clock.passes(x)
        return x.copy()

    return cf.Codec(same, [cf.Contraction(1.0), cf.SignSymmetric(), cf.Support(lambda n: n)], effort=0.1)


def dithered(clock):
    def dither(x, seed):
        clock.passes(x)
        return (x * np.random.default_rng(seed).integers(0, 3, x.shape)).astype(x.dtype)

    return cf.Codec(dither, [cf.Unbiased(), cf.Variance(1.0)], effort=0.1, magnitudes=(0.0, 1e38))


def read_off(clock):
    def ternary(x, seed):
        clock.passes(x)
        top = np.abs(x).max()
        return np.sign(x) * np.where(
            np.random.default_rng(seed).random(x.shape) * top < np.abs(x), top, x.dtype.type(0)
        )

    return cf.Codec(ternary, [cf.Unbiased()], effort=0.1, magnitudes=(1e-15, 1e15))


def summed(clock):
    def allreduce(stack, seed):
        clock.passes(stack)
        return np.repeat(stack.sum(axis=0, keepdims=True), len(stack), axis=0)

    return cf.AllReduce(allreduce, [cf.RanksAgree()], effort=0.1)


def fed_back(clock):
    def factory(seed):
        def step(x):
            clock.passes(x)
            return x.copy()

        return step

    return cf.Stateful(factory, [cf.Telescopes()], effort=0.1)


SUBJECTS = (kept, dithered, read_off, summed, fed_back)


@pytest.mark.parametrize("make", SUBJECTS)
def test_a_check_takes_about_as_long_as_was_said(make, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(duration, "time", clock)
    subject = make(clock)
    said = expected_seconds(subject)
    before = clock.now
    assert cf.check(subject).passed
    took = clock.now - before
    assert took / 3 <= said <= 3 * took
    alone = expected_seconds(subject, only=["answers"])
    assert 0.0 < alone < said / 4


def test_larger_budgets_and_slower_subjects_are_said_to_take_longer(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(duration, "time", clock)
    quick, standard = (expected_seconds(kept(clock), budget) for budget in ("quick", "standard"))
    assert standard > 2 * quick


def test_nothing_is_said_of_a_subject_that_does_not_answer():
    def refuses(x, seed):
        raise ValueError("no")

    assert expected_seconds(cf.Codec(refuses)) is None
    assert expected_seconds(cf.Codec(refuses, admits=lambda x: False)) is None
