"""SGD with error feedback around Ok-Topk: against the naive twin, and what is conserved."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.collectives import OkTopkSGD
from commbounds.theory import claims

pytestmark = pytest.mark.kernels


def total(rows):
    """Exact column sums."""
    return [sum(map(Fraction, column)) for column in zip(*rows, strict=True)]


@given(st.integers(1, 6), st.integers(1, 16), st.data())
def test_mass_is_conserved_exactly_where_sums_are_exact(P, n, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sgd = OkTopkSGD(data.draw(st.integers(1, n)), 0.25, options={"tau_prime": 2, "tau": 3})
    state = sgd.start(np.zeros(n), P)
    for _ in range(4):
        gradients = rng.integers(-3, 4, (P, n)).astype(float)
        after, result, _ = sgd.step(gradients, state)
        acc = state.residuals + 0.25 * gradients
        kept = total(after.residuals)
        assert [a + u for a, u in zip(kept, map(Fraction, result.update), strict=True)] == total(acc)
        state = after


@given(st.integers(1, 6), st.integers(1, 16), st.data())
def test_the_mean_residual_is_the_distance_to_plain_averaging(P, n, data):
    P = 2 ** (P % 3)  # so that the mean is exact
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sgd = OkTopkSGD(data.draw(st.integers(1, n)), 0.5, options={"tau_prime": 3, "tau": 2})
    state, plain = sgd.start(np.zeros(n), P), np.zeros(n)
    for _ in range(5):
        gradients = rng.integers(-3, 4, (P, n)).astype(float)
        state, _, _ = sgd.step(gradients, state)
        plain -= 0.5 * gradients.mean(axis=0)
        assert (state.weights - plain).tolist() == state.residuals.mean(axis=0).tolist()


def test_step_sizes_may_change():
    sgd = OkTopkSGD(1, 1.0)
    gradients = np.array([[4.0, 1.0]])
    one = sgd.step(gradients, sgd.start([0.0, 0.0], 1), step_size=0.5)[0]
    assert one.weights.tolist() == [-2.0, 0.0]
    assert one.residuals.tolist() == [[0.0, 0.5]]


def test_raw_accumulation_applies_the_step_size_of_the_day():
    sgd = OkTopkSGD(1, 1.0, "raw", {"tau_prime": 1})
    state, _, _ = sgd.step(np.array([[4.0, 3.0]]), sgd.start([0.0, 0.0], 1))
    state, _, _ = sgd.step(np.array([[0.0, 0.0]]), state, step_size=0.5)
    assert state.weights.tolist() == [-4.0, -1.5]


def test_gradients_that_cancel_leave_no_ratio_to_bound_the_residual_with():
    """Two ranks, gradients (1, 1) and (1, 0), then (2, 0) and (-2, 0): the mean residual does not shrink by gamma."""
    sgd = OkTopkSGD(1, 0.25, options={"tau_prime": 1})
    state, *_ = sgd.step(np.array([[1.0, 1.0], [1.0, 0.0]]), sgd.start(np.zeros(2), 2))
    before = float(np.linalg.norm(state.residuals.mean(axis=0)))
    gradients = np.array([[2.0, 0.0], [-2.0, 0.0]])
    mean = (state.residuals + 0.25 * gradients).mean(axis=0)
    state, result, _ = sgd.step(gradients, state)
    after = float(np.linalg.norm(state.residuals.mean(axis=0)))
    assert (before, after) == (0.125, 0.125)
    bound = claims()["oktopk.sgd.residual"].bound(n=2, k=1, before=before, move=0.0, xi=1e9)
    assert bound == math.sqrt(1 / 2) / 8  # the same bits: one rounding, of the root
    assert not claims()["oktopk.sgd.residual"].assumes[0].admits(move=0.0)
    missed = float(np.linalg.norm(mean * (np.abs(mean) == np.abs(mean).max()) - result.update / 2))
    assert after <= claims()["oktopk.sgd.residual_missed"].bound(n=2, k=1, before=before, move=0.0, missed=missed)


def test_what_cancels_stalls_for_ever():
    sgd = OkTopkSGD(1, 0.5, options={"tau_prime": 1})
    state = sgd.start([0.0, 1.0], 2)
    for t in range(1, 6):
        gradients = np.array([[8.0, state.weights[1]], [-8.0, state.weights[1]]])
        state, result, _ = sgd.step(gradients, state)
        assert not result.update.any()
        assert state.weights.tolist() == [0.0, 1.0]
        assert state.residuals.tolist() == [[4.0 * t, 0.5 * t], [-4.0 * t, 0.5 * t]]


@pytest.mark.parametrize(
    ("residuals", "error", "words"),
    [
        (np.full((2, 3), np.nan), ValueError, "residuals must be finite"),
        (np.zeros((2, 3), np.float32), TypeError, "residuals must be float64, as the weights, got float32"),
        (np.zeros((2, 3), np.int64), TypeError, "residuals must be float32 or float64, got int64"),
        (np.full((2, 3), "x"), TypeError, "residuals must be float32 or float64"),
        (np.zeros((2, 4)), ValueError, r"gradients must be \(P, n\) = \(2, 4\), as the state, got \(2, 3\)"),
        (np.zeros(3), ValueError, "residuals must be"),
    ],
)
def test_residuals_that_do_not_fit_are_refused(residuals, error, words):
    sgd = OkTopkSGD(1, 0.5)
    with pytest.raises(error, match=words):
        sgd.step(np.ones((2, 3)), replace(sgd.start(np.zeros(3), 2), residuals=residuals))
