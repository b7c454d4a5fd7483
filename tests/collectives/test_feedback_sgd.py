"""Descents with error feedback: aggregators, convergence, bad input."""

import numba
import numpy as np
import pytest

from commbounds.collectives import ArcRows, FeedbackSGD, GatheredTopK, OkTopK
from commbounds.compressors import EF14, EF21, EF21M, QSGD, Identity, Plain, TopK
from commbounds.theory import claims
from commbounds.verify.experiments.feedback.problems import logistic_digits, rotated, three_workers

pytestmark = pytest.mark.kernels


def run(sgd, problem, steps, rng=None):
    state = sgd.start(problem.start, problem.P)
    for _ in range(steps):
        state, _ = sgd.step(problem.gradients(state.weights), state, rng)
    return state


AGGREGATORS = {
    "arc": ArcRows(3),
    "arc of rank 2": ArcRows(2, 2),
    "gathered": GatheredTopK(3),
    "ok-topk": OkTopK(3, {"tau_prime": 1}),
}


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("mechanism", [Plain(), EF14(), EF21(), EF21M(eta=0.5)], ids=lambda m: type(m).__name__)
def test_the_mean_is_that_of_what_was_sent(name, mechanism):
    """The server's estimate stays the mean of the workers' estimates: EF21's invariant, whatever aggregates."""
    problem, rng = rotated(4, 8, 4.0, 1.0, 1), np.random.default_rng(2)
    sgd = FeedbackSGD(mechanism, 0.05, AGGREGATORS[name])
    state = sgd.start(problem.start, problem.P)
    for _ in range(20):
        state, traffic = sgd.step(problem.gradients(state.weights), state, rng)
    assert traffic.sent.max() > 0
    if mechanism.adds_up:
        mean = np.mean([w.memory for w in state.workers], axis=0)
        # twenty sums over four workers
        assert state.estimate == pytest.approx(
            mean, abs=20 * 8 * np.finfo(float).eps * np.abs(state.estimate).max() + 1e-15
        )
    if not isinstance(mechanism, Plain):
        assert problem.excess(state.weights) < problem.excess(problem.start)


@pytest.mark.parametrize("name", ["gathered", "ok-topk", "arc"])
def test_aggregators_of_everything_are_gradient_descent(name):
    problem = rotated(4, 6, 4.0, 1.0, 3)
    whole = {"gathered": GatheredTopK(6), "ok-topk": OkTopK(6, {"tau_prime": 1}), "arc": ArcRows(6)}[name]
    x, state = problem.start, run(FeedbackSGD(EF14(), 0.3, whole), problem, 10, np.random.default_rng(0))
    for _ in range(10):
        x = x - 0.3 * problem.gradients(x).mean(axis=0)
    assert state.weights == pytest.approx(x, abs=10 * 64 * np.finfo(float).eps * np.abs(x).max())


def test_matrices_go_through_arc():
    rng = np.random.default_rng(1)
    centre, sgd = rng.standard_normal((4, 5, 3)), FeedbackSGD(EF21M(eta=0.5), 0.2, ArcRows(2, 2))
    state = sgd.start(np.zeros((5, 3)), 4)
    for _ in range(200):
        state, _ = sgd.step(state.weights - centre, state, rng)
    assert state.weights == pytest.approx(centre.mean(axis=0), abs=1e-6)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of steps need compiled kernels")
def test_plain_compression_drives_three_workers_apart_and_ef21_does_not():
    problem = three_workers()
    theta, ratio = 1 - np.sqrt(2 / 3), np.sqrt(2 / 3) / (1 - np.sqrt(2 / 3))
    gamma = min(1 / (problem.L + problem.Lt * ratio * np.sqrt(2)), theta / (2 * problem.mu))
    assert np.linalg.norm(run(FeedbackSGD(Plain(TopK(1)), gamma), problem, 400).weights) > 10
    state = run(FeedbackSGD(EF21(TopK(1)), gamma), problem, 6000)
    assert np.linalg.norm(state.weights) < 1e-9


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of steps need compiled kernels")
def test_ef21_meets_its_linear_rate_on_real_digits():
    problem, k = logistic_digits(), 20
    alpha = k / problem.best.size
    q = np.sqrt(1 - alpha)
    gamma = min(1 / (problem.L + problem.Lt * q / (1 - q) * np.sqrt(2)), (1 - q) / (2 * problem.mu))
    start = problem.excess(problem.start)
    state = run(FeedbackSGD(EF21(TopK(k)), gamma), problem, 300)
    bound = claims()["feedback.ef21.pl"].bound(stepsize=gamma, convexity=problem.mu, horizon=300, potential=start)
    assert problem.excess(state.weights) <= bound
    assert problem.excess(state.weights) < 0.5 * start


@pytest.mark.parametrize(
    "problem", [three_workers(), rotated(4, 6, 10.0, 1.0, 0), logistic_digits()], ids=lambda p: p.name
)
def test_problems_are_what_they_say(problem):
    """Smoothness of every worker's function and of the average, curvature, and the minimum, along random chords."""
    rng = np.random.default_rng(0)
    scale = np.abs(problem.gradients(problem.start)).max()
    assert problem.gradients(problem.best).mean(axis=0) == pytest.approx(0, abs=1e-12 * scale)
    assert problem.excess(problem.best) <= 1e-14
    assert problem.Lt >= problem.L * (1 - 1e-12)
    for _ in range(30):
        x, y = problem.best + rng.standard_normal((2, problem.best.size))
        gap, apart = problem.gradients(x) - problem.gradients(y), np.linalg.norm(x - y)
        assert (np.linalg.norm(gap, axis=1) <= problem.Li * apart * (1 + 1e-12)).all()
        assert np.linalg.norm(gap.mean(axis=0)) <= problem.L * apart * (1 + 1e-12)
        slope = problem.gradients(x).mean(axis=0)
        assert slope @ slope >= 2 * problem.mu * problem.excess(x) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: FeedbackSGD(3, 0.1), TypeError, r"mechanism must be a Feedback, got 3"),
        (lambda: FeedbackSGD(EF14(TopK(1)), 0.0), ValueError, r"step_size must be positive and finite, got 0.0"),
        (lambda: FeedbackSGD(EF14(TopK(1)), np.inf), ValueError, r"step_size must be positive"),
        (lambda: FeedbackSGD(EF14(), 0.1), ValueError, r"got neither"),
        (lambda: FeedbackSGD(EF14(TopK(1)), 0.1, GatheredTopK(1)), ValueError, r"got both"),
        (lambda: FeedbackSGD(EF14(TopK(1)), 0.1).start(np.ones(3), 0), ValueError, r"P must be at least 1, got 0"),
        (lambda: FeedbackSGD(EF14(TopK(1)), 0.1).start(np.ones(0), 1), ValueError, r"weights must be a vector"),
        (lambda: FeedbackSGD(EF14(TopK(1)), 0.1).start(np.array([np.nan]), 1), ValueError, r"finite"),
        (lambda: FeedbackSGD(EF14(TopK(1)), 0.1).start(np.ones(3, int), 1), TypeError, r"float32 or float64"),
    ],
)
def test_bad_settings_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build()


@pytest.mark.parametrize("mechanism", [Plain(TopK(1)), EF14(TopK(1)), EF21(TopK(1)), EF21M(TopK(1))])
def test_bad_gradients_are_refused(mechanism):
    sgd = FeedbackSGD(mechanism, 0.1)
    state = sgd.start(np.zeros(3), 2)
    for bad, error, words in (
        (np.ones((3, 3)), ValueError, r"gradients must be \(P, ...\) = \(2, 3\)"),
        (np.ones((2, 4)), ValueError, r"gradients must be"),
        (np.ones((2, 3), np.float32), TypeError, r"gradients must be float64"),
        (np.array([[1.0, np.nan, 0.0], [0.0, 0.0, 0.0]]), ValueError, r"finite"),
    ):
        with pytest.raises(error, match=words):
            sgd.step(bad, state)
    later, _ = sgd.step(np.ones((2, 3)), state)
    with pytest.raises(ValueError, match=r"finite"):
        sgd.step(np.full((2, 3), np.inf), later)


def test_nothing_is_mutated_and_a_run_can_be_repeated():
    problem = rotated(3, 5, 4.0, 1.0, 2)
    sgd = FeedbackSGD(EF21M(QSGD(2), eta=0.5), 0.1)
    start = sgd.start(problem.start, 3)
    gradients = problem.gradients(problem.start)
    gradients.flags.writeable = False
    one, two = (sgd.step(gradients, start, np.random.default_rng(4))[0] for _ in range(2))
    assert one.weights.tobytes() == two.weights.tobytes()
    assert start.t == 0
    assert not start.workers


def test_identity_is_gradient_descent():
    problem = rotated(3, 5, 4.0, 1.0, 2)
    state, x = run(FeedbackSGD(Plain(Identity()), 0.2), problem, 5), problem.start
    for _ in range(5):
        x = x - 0.2 * problem.gradients(x).sum(axis=0) / 3
    assert state.weights == pytest.approx(x, abs=64 * np.finfo(float).eps * np.abs(x).max())
