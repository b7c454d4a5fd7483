"""0/1 Adam and what is compressed for Muon: single facts by hand, refusals, twins."""

from fractions import Fraction

import numpy as np
import pytest

from commbounds.collectives.orthogonal import ITERATIONS, dion_update, ef21_muon, muon_update
from commbounds.collectives.variance_reduced import zeroone_gradient, zeroone_local
from commbounds.theory import claims

pytestmark = pytest.mark.kernels
P, N = 3, 8
NONE, ONES = np.zeros((P, N)), np.ones((P, N))


def local(**changed):
    """A step from weights of one, without anything to remember."""
    given = {"stack": NONE, "weights": ONES, "momentum": NONE, "moved": NONE, "variance": ONES[0]}
    given |= {"worker_errors": NONE, "server_errors": NONE[0], "elapsed": [0.0], "average": True}
    return zeroone_local(**{**given, "step_size": 0.125, "beta": 0.5, "epsilon": 0.0, **changed})


def gradient(**changed):
    given = {"stack": ONES, "momentum": NONE[0], "variance": NONE[0], "worker_errors": NONE, "server_errors": NONE[0]}
    return zeroone_gradient(**{**given, "clock": [0, 1, 0], **changed})


# --- single facts ----------------------------------------------------------------------------------------------------


def test_two_local_steps_keep_the_mean_of_beta_and_its_square():
    first, _ = local(momentum=ONES, average=False)
    second, _ = local(weights=first.weights, momentum=first.momentum, moved=first.moved, elapsed=first.elapsed)
    assert second.momentum.tolist() == [[(0.5 + 0.25) / 2] * N] * P
    kept = claims()["variance_reduced.zeroone.kept"]
    assert kept.bound(momentum_factor=Fraction(1, 2), local_steps=2) == Fraction(3, 8)


def test_decay_is_in_the_momentum_of_the_next_step():
    state, _ = local(decay=0.5)
    assert state.weights.tolist() == [[1 - 0.125 * 0.5] * N] * P
    assert state.momentum.tolist() == [[0.5] * N] * P
    again, _ = local(weights=state.weights, momentum=state.momentum, decay=0.5)
    assert again.weights[0, 0] == 0.9375 - 0.125 * (0.5 * 0.5 + 0.5 * 0.9375)


def test_a_silent_weight_without_variance_flies_off():
    g, v = ONES.copy(), ONES[0].copy()
    g[:, 3] = v[3] = 0.0
    state, _ = local(stack=g, variance=v, epsilon=2.0**-20)
    assert abs(state.weights[0, 3] - 1.0) > 1e4


def test_local_steps_send_nothing_and_keep_ranks_apart():
    state, traffic = local(stack=np.arange(24.0).reshape(P, N), average=False)
    assert traffic.sent.tolist() == [0] * P
    assert len({row.tobytes() for row in state.weights}) == P
    assert state.elapsed.tolist() == [0.125]


def test_refreshes_by_hand():
    clock, steps = np.array([0, 1, 0]), []
    for t in range(1, 25):
        state, traffic = gradient(clock=clock, kappa=2)
        whole = any(name.startswith("whole") for name in traffic.phases)
        assert whole == bool(state.variance.any())
        clock = state.clock
        steps += [t] if whole else []
    assert steps == [1, 2, 4, 6, 8, 12, 16, 24]


def test_bytes_by_hand():
    stack = np.ones((2, 16), np.float32)
    given = {"stack": stack, "momentum": stack[0], "variance": stack[0], "worker_errors": stack}
    given |= {"server_errors": stack[0]}
    assert gradient(**given)[1].sent.tolist() == [2 * 8 * 4] * 2
    assert gradient(**given, clock=[0, 2, 0])[1].sent.tolist() == [2 * (1 + 4)] * 2


def test_entries_of_muon_by_hand():
    x = np.array([[[1.0, 1.0], [1.0, -1.0]]])
    state, _ = ef21_muon(x, 0 * x, 0 * x[0], 1)
    left = x[0] - state.own[0]
    assert left.tolist() == [[0.0, 1.0], [1.0, -1.0]]
    assert abs(np.linalg.norm(left, 2) ** 2 - (3 + np.sqrt(5)) / 2) <= 1e-14


def test_qr_of_a_short_and_a_long_column_has_next_to_no_part_of_the_gradient():
    short = 1e-3
    b = np.array([[[short, 0.0], [1.0, short]]])
    basis = np.linalg.inv(b[0])  # so that the left factor is the identity
    both = [dion_update(b, 0 * b, basis, 0.5, right)[0].update[0] for right in ("columns", "orthonormal")]
    aligned = [float((update * b[0]).sum()) for update in both]
    assert aligned[0] >= 1.0
    assert aligned[1] <= 3 * short


def test_polar_express_by_exact_arithmetic():
    value = Fraction(3, 5)
    for step in range(9):
        a, b, c = map(Fraction, ITERATIONS["polar_express"][min(step, 7)])
        value = a * value + b * value**3 + c * value**5
        value = Fraction(round(value * 2**200), 2**200)
    update, _ = muon_update(np.array([[[0.6, 0.0], [0.0, 0.8]]]), 9, "polar_express")
    assert abs(update[0, 0, 0] - float(value)) <= 1e-13
    assert abs(float(value) - 1) <= 1e-12


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"step_size": 0.0}, ValueError, "step_size must be positive and finite, got 0.0"),
        ({"step_size": "x"}, TypeError, "step_size must be a number"),
        ({"beta": 1.0}, ValueError, r"beta must be in \[0, 1\), got 1.0"),
        ({"decay": -1.0}, ValueError, "decay must be finite and not negative"),
        ({"epsilon": float("nan")}, ValueError, "epsilon must be finite"),
        ({"average": 1}, TypeError, "average must be True or False, got 1"),
        ({"variance": -ONES[0]}, ValueError, "variance must not be negative, got -1.0"),
        ({"variance": NONE[0]}, ValueError, "epsilon must be positive where the variance is zero, got 0 at entry 0"),
        ({"elapsed": [-1.0]}, ValueError, "elapsed must be one finite number, not negative"),
        ({"elapsed": [1]}, TypeError, "elapsed must be an array of"),
        ({"scale": "max"}, ValueError, "scale must be one of norm, mean"),
    ],
)
def test_what_options_of_local_steps_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        local(**options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kappa": 0}, ValueError, "kappa must be at least 1, got 0"),
        ({"kappa": 1.5}, TypeError, "kappa must be an integer"),
        ({"clock": [0, 1]}, ValueError, r"clock must have shape \(3,\), got \(2,\)"),
        ({"clock": [0, 0, 0]}, ValueError, "clock must be"),
        ({"clock": [0.0, 1.0, 0.0]}, TypeError, "clock must be an array of integers"),
        ({"second_beta": 1.0}, ValueError, r"second_beta must be in \[0, 1\)"),
        ({"variance": -ONES[0]}, ValueError, "variance must not be negative"),
        ({"scale": 3}, TypeError, "scale must be a string"),
    ],
)
def test_what_options_of_gradients_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        gradient(**options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, r"k must be in \[1, 4\], got 0"),
        ({"k": 5}, ValueError, r"k must be in \[1, 4\], got 5"),
        ({"own": np.ones((1, 2, 3))}, ValueError, "own must have shape"),
        ({"estimate": np.full((2, 2), np.nan)}, ValueError, "estimate must be finite"),
        ({"steps": -1}, ValueError, "steps must be at least 0"),
        ({"iteration": "newton"}, ValueError, "iteration must be one of"),
    ],
)
def test_what_options_of_ef21_muon_are_refused(options, error, message):
    x = np.ones((1, 2, 2))
    with pytest.raises(error, match=message):
        ef21_muon(**{"stack": x, "own": x, "estimate": x[0], "k": 1, **options})


def test_an_unknown_right_factor_is_refused():
    x = np.ones((1, 2, 2))
    with pytest.raises(ValueError, match="right must be one of columns, orthonormal"):
        dion_update(x, x, x[0], 0.5, "polar")


# --- twins -----------------------------------------------------------------------------------------------------------
