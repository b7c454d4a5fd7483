"""Averaging over links that lose packets: what is plain, threads, laws, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from numba import config, get_num_threads, set_num_threads

from commbounds.collectives import (
    Bernoulli,
    GilbertElliott,
    drift_trials,
    fresh_replicas,
    layout,
    lossy_broadcast,
    lossy_reduce_scatter,
    lossy_step,
    lossy_training,
    staleness_trials,
)

pytestmark = pytest.mark.kernels


def _masks(rng, workers, n, packet, p=0.4):
    return rng.random((workers, workers, layout(n, workers, packet).packets)) >= p


# --- the two halves ----------------------------------------------------------------------------------------------


def test_without_loss_everybody_has_the_mean():
    stack = np.arange(12.0).reshape(3, 4)
    everything = np.ones((3, 3, 1), bool)
    reduced, first = lossy_reduce_scatter(stack, everything)
    after, second = lossy_broadcast(np.zeros((3, 4)), reduced.estimate, everything)
    assert (after == stack.mean(axis=0)).all()
    for traffic in (first, second):
        assert traffic.sent.sum() == traffic.received.sum()


def test_with_certain_loss_nothing_moves_but_everything_is_sent():
    stack, nothing = np.ones((3, 6)), np.zeros((3, 3, 1), bool)
    reduced, traffic = lossy_reduce_scatter(stack, nothing)
    assert (reduced.estimate == 0).all()
    assert (reduced.arrivals == 0).all()
    assert traffic.sent.tolist() == [4, 4, 4]
    assert traffic.received.tolist() == [0, 0, 0]
    assert traffic.critical_path == 4
    assert (lossy_reduce_scatter(stack, nothing, "owner")[0].arrivals == 1).all()
    after, _ = lossy_broadcast(np.zeros((3, 6)), np.arange(6.0), nothing)
    assert after.tolist() == [[0, 1, 0, 0, 0, 0], [0, 0, 2, 3, 0, 0], [0, 0, 0, 0, 4, 5]]


def test_one_worker_says_nothing():
    alone = np.ones((1, 1, 1), bool)
    reduced, traffic = lossy_reduce_scatter(np.array([[1.0, 2.0]]), alone)
    assert reduced.estimate.tolist() == [1.0, 2.0]
    assert (traffic.sent.tolist(), traffic.steps, traffic.critical_path) == ([0], 0, 0)
    assert lossy_broadcast(np.zeros((1, 2)), np.array([1.0, 2.0]), ~alone)[0].tolist() == [[1.0, 2.0]]


def test_more_workers_than_coordinates_send_nothing_for_empty_shards():
    _, traffic = lossy_reduce_scatter(np.ones((4, 2)), np.ones((4, 4, 1), bool))
    assert traffic.messages.tolist() == [1, 1, 2, 2]


def test_inputs_may_be_read_only_and_strided_and_are_left_alone():
    rng = np.random.default_rng(0)
    stack = rng.standard_normal((6, 10))[::2, ::2]
    stack.flags.writeable = False
    arrived = np.asfortranarray(_masks(rng, 3, 5, None))
    arrived.flags.writeable = False
    before = stack.copy()
    reduced, _ = lossy_reduce_scatter(stack, arrived)
    after, _ = lossy_broadcast(stack, reduced.estimate, arrived)
    assert (stack == before).all()
    assert not np.shares_memory(after, stack)


# --- losses ------------------------------------------------------------------------------------------------------


def test_trials_and_streams_do_not_share_their_losses():
    seen = {
        tuple(Bernoulli(0.5).lost((seed, trial, stream), 0, 64, None)[0].tolist())
        for seed in range(3)
        for trial in range(3)
        for stream in range(2)
    }
    assert len(seen) == 18


# --- training ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Bernoulli(0.3), GilbertElliott(0.2, 0.4), Bernoulli(0.3, shared=True)])
def test_a_run_in_two_parts_has_the_same_bits(loss):
    start = fresh_replicas(np.linspace(0, 1, 7), 3)

    def gradient(step, replicas):
        return replicas * (1 + step)

    whole, _ = lossy_training(start, gradient, loss, 9, 0.01, seed=5, packet=2)
    half, _ = lossy_training(start, gradient, loss, 4, 0.01, seed=5, packet=2)
    rest, _ = lossy_training(half, gradient, loss, 5, 0.01, seed=5, packet=2)
    assert rest.step == whole.step == 9
    assert (rest.parameters == whole.parameters).all()
    assert (rest.missed == whole.missed).all()


def test_a_shared_fate_keeps_receivers_together():
    seen = []

    def observe(state, _update):
        # the first shard's receivers are all but worker 0
        seen.append(np.ptp(state.parameters[1:, 0]))

    loss = Bernoulli(0.5, shared=True)
    lossy_training(fresh_replicas(np.ones(4), 4), lambda _s, x: x, loss, 30, 0.1, broadcast_only=True, observe=observe)
    assert max(seen) == 0


def test_staleness_counts_the_steps_since_the_last_arrival():
    start, everything = fresh_replicas(np.zeros(2), 2), np.ones((2, 2, 1), bool)
    nothing = np.zeros_like(everything)
    state = start
    for expected in (1, 2):
        state, update, _ = lossy_step(state, np.ones((2, 2)), 1.0, everything, nothing)
        assert update.tolist() == [-1.0, -1.0]
        assert state.missed.tolist() == [[0, expected], [expected, 0]]
    assert state.parameters.tolist() == [[-2, 0], [0, -2]]
    state, _, traffic = lossy_step(state, np.ones((2, 2)), 1.0, everything, everything)
    assert state.missed.max() == 0
    assert list(traffic.phases) == ["reduce-scatter", "broadcast"]


# --- trials ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="threads start at sizes that plain Python does not reach")
def test_one_and_two_threads_and_any_number_of_trials_give_the_same_bits():
    threads = get_num_threads()
    # long enough for more than one thread
    size = {"workers": 65, "steps": 6000, "loss": Bernoulli(0.3), "seed": 4}
    both = drift_trials(trials=4, **size)
    try:
        set_num_threads(1)
        one = drift_trials(trials=4, **size)
        fewer = drift_trials(trials=3, **size)
    finally:
        set_num_threads(threads)
    for name in ("owner", "pair", "differ"):
        assert (getattr(both, name) == getattr(one, name)).all()
        assert (getattr(fewer, name) == getattr(one, name)[:3]).all()
    assert len(set(one.pair)) == 4


def test_draws_of_words_hit_their_probability_far_into_the_digits():
    """The share of lost packets among a million draws; each of the bounds fails with probability below 1e-9."""
    trials = 200 if config.DISABLE_JIT else 16000
    for p in (0.5, 0.1, 2.0**-10):
        share = drift_trials(65, 1, Bernoulli(p), trials, seed=3).owner  # one step: the gap is 1 where it is lost
        draws = 64 * trials
        # Bernstein: P(|mean - p| > e) <= 2 exp(-n e^2 / (2 p (1-p) + 2 e / 3)) = 1e-9
        log = np.log(2e9)
        e = (log / 3 + np.sqrt(log**2 / 9 + 2 * draws * p * (1 - p) * log)) / draws
        assert abs(share.mean() - p) <= e


def test_the_tail_of_staleness_is_geometric():
    """P(L >= l) = 2^-l, as far as there are draws; one false alarm in 10^9 runs."""
    trials = 2000 if config.DISABLE_JIT else 2_000_000
    largest, smallest = staleness_trials(1, 40, Bernoulli(0.5), trials, seed=9)
    assert (largest == smallest).all()
    for stale in (1, 5, 10, 16):
        p, log = 0.5**stale, np.log(8e9)
        e = (log / 3 + np.sqrt(log**2 / 9 + 2 * trials * p * (1 - p) * log)) / trials  # Bernstein, as above
        assert abs((largest >= stale).mean() - p) <= e


# --- bad input ---------------------------------------------------------------------------------------------------

ONES, THERE = np.ones((2, 4)), np.ones((2, 2, 1), bool)


def _step_from(**parts):
    return lossy_step(replace(fresh_replicas(np.ones(4), 2), **parts), ONES, 1.0, THERE, THERE)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Bernoulli(-0.1), ValueError, r"p must be in \[0, 1\], got -0.1"),
        (lambda: Bernoulli(1.5), ValueError, r"p must be in \[0, 1\], got 1.5"),
        (lambda: Bernoulli(float("nan")), ValueError, r"p must be in \[0, 1\], got nan"),
        (lambda: Bernoulli("0.1"), TypeError, "p must be a number"),
        (lambda: GilbertElliott(1.2, 0.1), ValueError, r"fail must be in \[0, 1\], got 1.2"),
        (lambda: GilbertElliott(0.1, -1), ValueError, r"recover must be in \[0, 1\], got -1"),
        (lambda: GilbertElliott(0, 0), ValueError, "must not both be 0"),
        (lambda: GilbertElliott(0.1, 0.1).lost((0, 0, 0), 1, 3, np.ones(2, bool)), ValueError, "each of 3 links"),
        (lambda: layout(0, 2), ValueError, "n must be at least 1, got 0"),
        (lambda: layout(3, 0), ValueError, "workers must be at least 1, got 0"),
        (lambda: layout(3, 2, 0), ValueError, "packet must be at least 1, got 0"),
        (lambda: layout(3, 2.0), TypeError, "workers must be an integer, got 2.0"),
        (lambda: lossy_reduce_scatter(np.ones((0, 4)), THERE), ValueError, "at least one rank"),
        (lambda: lossy_reduce_scatter([[1.0], [1.0, 2.0]], THERE), TypeError, "rows of one length"),
        (lambda: lossy_reduce_scatter(np.ones((2, 4), np.float16), THERE), TypeError, "float32 or float64"),
        (lambda: lossy_reduce_scatter(np.ones((2, 4), int), THERE), TypeError, "float32 or float64"),
        (lambda: lossy_reduce_scatter(ONES * np.nan, THERE), ValueError, "finite"),
        (lambda: lossy_reduce_scatter(ONES, THERE.astype(int)), TypeError, "arrived must be bool"),
        (lambda: lossy_reduce_scatter(ONES, THERE[:, :, 0]), ValueError, r"arrived must be .* \(2, 2, 1\)"),
        (lambda: lossy_reduce_scatter(ONES, THERE, packet=1), ValueError, r"= \(2, 2, 2\), got shape \(2, 2, 1\)"),
        (lambda: lossy_reduce_scatter(ONES, THERE, "mean"), ValueError, "estimator must be one of"),
        (lambda: lossy_reduce_scatter(ONES, THERE, "expected"), ValueError, "p is needed"),
        (lambda: lossy_reduce_scatter(ONES, THERE, "owner", p=0.1), ValueError, "by no other"),
        (lambda: lossy_reduce_scatter(ONES, THERE, "expected", p=1.0), ValueError, "p must be below 1"),
        (lambda: lossy_reduce_scatter(ONES, THERE, "expected", p=2.0), ValueError, r"p must be in \[0, 1\]"),
        (lambda: lossy_broadcast(ONES, np.ones(3), THERE), ValueError, r"owned must be \(4,\) float64"),
        (lambda: lossy_broadcast(ONES, np.ones(4, np.float32), THERE), ValueError, "owned must be"),
        (lambda: lossy_broadcast(ONES, np.full(4, np.inf), THERE), ValueError, "finite"),
        (lambda: fresh_replicas(np.ones(3), 0), ValueError, "workers must be at least 1"),
        (lambda: fresh_replicas(np.ones(0), 2), ValueError, "at least one rank and one entry"),
        (
            lambda: lossy_step(fresh_replicas(np.ones(4), 2), np.ones((2, 3)), 1.0, THERE, THERE),
            ValueError,
            "gradients",
        ),
        (lambda: lossy_step(fresh_replicas(np.ones(4), 2), ONES, np.nan, THERE, THERE), ValueError, "rate must be"),
        (lambda: _step_from(missed=np.zeros((2, 4), complex)), TypeError, "missed must be an array of integers"),
        (lambda: _step_from(missed=np.zeros(4, int)), ValueError, "missed must be counts of the shape"),
        (lambda: _step_from(missed=np.full((2, 4), -1)), ValueError, "missed must be counts"),
        (lambda: _step_from(parameters=np.full((2, 4), np.nan)), ValueError, "parameters must be finite"),
        (lambda: _run(steps=-1), ValueError, "steps must be at least 0, got -1"),
        (lambda: _run(seed=-1), ValueError, "seed must be at least 0"),
        (lambda: _run(trial=2**64), ValueError, "below 2"),
        (lambda: drift_trials(1, 5, Bernoulli(0.1)), ValueError, "workers must be at least 2, got 1"),
        (lambda: drift_trials(2, 0, Bernoulli(0.1)), ValueError, "steps must be at least 1, got 0"),
        (lambda: drift_trials(2, 5, Bernoulli(0.1), 0), ValueError, "trials must be at least 1, got 0"),
        (lambda: drift_trials(2, 5, Bernoulli(0.1), seed=2**64), ValueError, "seed must be below"),
        (lambda: drift_trials(2, 5, Bernoulli(0.1), rho=1.1), ValueError, r"rho must be in \[-1, 1\], got 1.1"),
        (lambda: staleness_trials(0, 5, Bernoulli(0.1)), ValueError, "receivers must be at least 1, got 0"),
        (lambda: staleness_trials(2, 5, GilbertElliott(0.1, 0.1)), TypeError, "unshared Bernoulli"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def _run(steps=1, **named):
    return lossy_training(fresh_replicas(np.ones(2), 2), lambda _s, x: x, Bernoulli(0.1), steps, 0.1, **named)
