"""Training over links that lose packets: data, runs, and the drift that is predicted of them."""

from fractions import Fraction

import numpy as np
import pytest

from commbounds.collectives import Bernoulli
from commbounds.theory import claims
from commbounds.verify.experiments.packetloss.digits import dealt, lossy_run, predicted_drift
from commbounds.verify.make_gradients import digits, shards

pytestmark = pytest.mark.kernels


def test_stored_digits_are_those_of_scikit_learn():
    stored, made = dealt("by label", 8), shards("by label", *digits(), 8)
    for name in ("images", "labels", "test_images", "test_labels"):
        assert np.array_equal(getattr(stored, name), getattr(made, name))


def test_without_loss_there_is_no_drift_and_the_run_learns():
    run = lossy_run(Bernoulli(0.0), steps=60)
    assert run.drift.max() == run.owner_drift.max() == run.differ.max() == run.spread.max() == 0.0
    assert run.loss[-1] < 0.5 * run.loss[0]
    assert run.accuracy[-1] > 0.8


def test_a_run_is_a_function_of_its_arguments():
    runs = [lossy_run(Bernoulli(0.4), 4, 12, seed=seed) for seed in (0, 0, 1)]
    assert np.array_equal(runs[0].drift, runs[1].drift)
    assert not np.array_equal(runs[0].drift, runs[2].drift)
    assert runs[0].updates.shape == (12, 2410)
    assert (runs[0].drift > 0).any()


def test_drift_is_seen_as_replicas_show_it():
    """With certain loss every copy but the owner's stays at the start."""
    run = lossy_run(Bernoulli(1.0), 3, 2, estimator="owner")
    moved = np.cumsum(run.updates, axis=0)
    assert run.drift.max() == 0.0
    assert run.differ.max() == 0.0
    # each of 3 workers lacks the updates of the 2 shards that it does not own; sums of 2410 squares
    assert run.owner_drift == pytest.approx((moved**2).sum(axis=1) * 2 / 3, rel=4096 * np.finfo(float).eps)


@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(2, 5)])
def test_predicted_drift_is_the_law_of_the_book(p):
    updates = np.random.default_rng(0).integers(-3, 4, (6, 5))
    pair, owner = predicted_drift(updates.astype(np.float64), float(p))
    for t in range(1, 7):
        past = updates[:t][::-1]
        products = (past @ past.T).tolist()
        ages = range(t)
        lagged = sum((p ** (max(a, b) + 1) * products[a][b] for a in ages for b in ages), Fraction(0))
        discounted = sum((p ** (a + b + 2) * products[a][b] for a in ages for b in ages), Fraction(0))
        law = claims()["packetloss.drift.given_updates"].bound(lagged=lagged, discounted=discounted)
        # a few roundings a step, of sums of at most 6 x 5 terms of size 9
        allowance = 64 * 36 * 45 * np.finfo(float).eps
        assert pair[t - 1] == pytest.approx(float(law), abs=allowance)
        assert owner[t - 1] == pytest.approx(float(lagged), abs=allowance)
