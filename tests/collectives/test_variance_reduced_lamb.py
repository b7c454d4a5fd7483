"""1-bit LAMB: single facts by hand, what was found in a second way, refusals, twins."""

import math
from fractions import Fraction

import numpy as np
import pytest
from bindings import refuted
from mutants import variance_reduced as mutants

from commbounds.collectives.variance_reduced import fused_scales, lamb_warmup, onebit_lamb, padded_size
from commbounds.theory import claims
from commbounds.verify.definitions import variance_reduced as naive
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.study import Case

pytestmark = pytest.mark.kernels
ONE, NONE = np.ones(8), np.zeros(8)
COLUMN = "variance_reduced.lamb."


def warm(**changed):
    """A step of the warm-up from weights of one, two layers of four."""
    given = {"stack": ONE[None], "weights": ONE, "momentum": NONE, "variance": ONE, "trust": np.zeros(2)}
    return lamb_warmup(**{**given, "layers": [4, 4], "step_size": 0.5, "beta": 0.5, "epsilon": 0.0, **changed})


def step(**changed):
    """A step of the compression stage of one rank, two layers of four, whose momentum is one."""
    given = {"stack": ONE[None], "weights": ONE, "momentum": ONE, "variance": ONE, "fresh": ONE}
    given |= {"worker_errors": NONE[None], "server_errors": NONE, "coefficients": np.ones(2), "trust": np.ones(2)}
    given |= {"factors": np.ones(2), "layers": [4, 4], "step_size": 0.5, "beta": 0.5, "epsilon": 0.0}
    return onebit_lamb(**{**given, **changed})


# --- single facts ----------------------------------------------------------------------------------------------------


def test_sizes_are_padded_to_a_multiple_of_the_ranks_and_of_eight_and_of_them():
    for P in (1, 2, 3, 4, 8, 12, 16):
        unit = P * math.lcm(P, 8)
        assert [padded_size(n, P) for n in (1, unit, unit + 1)] == [unit, unit, 2 * unit]


def test_layers_come_to_the_mean_of_their_scales():
    u = np.array([3.0, 3.0, 3.0, -4.0, 4.0, 0.0, 0.0, 5.0])
    scales = fused_scales(u, [3, 1, 4])
    own = np.sqrt([9.0, 16.0, 41 / 4])
    assert np.allclose(scales * own, own.mean(), rtol=4 * np.finfo(float).eps, atol=0.0)


def test_a_step_by_hand():
    """A gradient that changes all signs: r is -3, the fresh variance five, and the factor a quarter lower."""
    state, traffic = step(stack=-3 * ONE[None], second_beta=0.5, threshold=0.25, step_size=0.25)
    assert state.momentum[0].tolist() == [-1.0] * 8  # 1/2 - 3/2
    assert state.fresh.tolist() == [0.5 + 0.5 * 9.0] * 8  # r = (-1 - 1/2)/(1/2) = -3
    assert state.factors.tolist() == [0.75, 0.75]  # 1/sqrt(5), but a quarter lower at most
    assert state.weights[0].tolist() == [1 + 0.25 * 0.75] * 8
    assert traffic.sent.tolist() == [0]


def test_weight_decay_mixes_the_factor_with_one():
    """u/D is one and decay x is one, so that the share is a half; nothing is reconstructed, and roots are halved."""
    state, _ = step(stack=NONE[None], beta=0.5, second_beta=0.25, decay=0.5, weights=ONE, threshold=0.9)
    assert state.momentum[0].tolist() == [0.5] * 8
    assert state.factors.tolist() == [2.0 * 0.5 + 0.5] * 2
    assert state.weights[0].tolist() == [1 - 0.5 * 1.5 * (0.5 + 0.5)] * 8


def test_what_stands_in_the_padding_is_not_multiplied_by_beta():
    given = {"stack": np.zeros((1, 4)), "weights": ONE[:4], "variance": ONE[:4], "fresh": ONE[:4], "layers": [2, 2]}
    state, _ = step(**given, momentum=np.array([2.0, 2, 2, 2, 1, 1, 1, 1]))
    assert state.momentum[0].tolist() == [1.0] * 8


def test_bytes_by_hand():
    x = np.ones((3, 5), np.float32)
    m = padded_size(5, 3)
    zero = np.zeros((3, m), np.float32)
    ones = np.ones(1)
    _, traffic = onebit_lamb(x, x[0], zero[0], x[0], x[0], zero, zero[0], ones, ones, ones, [5])
    assert (m, traffic.sent.tolist()) == (72, [2 * 2 * (3 + 4)] * 3)


# --- what was found, by hand -----------------------------------------------------------------------------------------


def test_at_one_scale_more_is_left_out_of_a_spike_and_a_flat_layer():
    """In Fractions: all root mean squares are whole numbers."""
    spike, flat = [34, 0, 0, 0], [7, 7, 7, 7]

    def left(x, scale):
        return sum((abs(v) - scale) ** 2 for v in x)

    assert Fraction(sum(v * v for v in spike + flat), 8) == 13**2
    plain = left(spike, 13) + left(flat, 13)
    scaled = left(spike, 17) + left(flat, 7)
    assert (plain, scaled) == (1092, 1156)
    assert scaled <= Fraction(2) / (1 + Fraction(1, 2)) * plain  # the spike's mean magnitude is half of its scale
    u = np.array(spike + flat, float)
    for scales, expected in ((np.ones(2), plain), (fused_scales(u, [4, 4]), scaled)):
        state, _ = step(stack=u[None], momentum=u, coefficients=scales)
        error = state.worker_errors[0] / np.repeat(scales, 4)
        assert abs((error**2).sum() - expected) <= 64 * np.finfo(float).eps * expected


def test_ten_steps_freeze_two_thirds_of_the_coefficient_and_one_freezes_none():
    """Weights are large, so that all coefficients are cut to the largest one; also by the naive twin."""
    for most, expected in ((4.0, 4 * (1 - Fraction(9, 10) ** 10)), (1.0, 0)):
        options = {"weights": 2.0**40 * ONE, "step_size": 2.0**-40, "coefficient_max": most}
        trust, momentum, variance, twin = np.zeros(2), NONE, ONE, [0.0, 0.0]
        for _ in range(10):
            state, _ = warm(**options, trust=trust, momentum=momentum, variance=variance)
            *_, twin, _ = naive.lamb_warmup(
                [[np.float64(1)] * 8], list(options["weights"]), list(momentum), list(variance), twin, [4, 4],
                2.0**-40, 0.5, 0.999, 0.0, 0.0, 0.01, most, 0.9,
            )  # fmt: skip
            trust, momentum, variance = state.trust, state.momentum[0], state.variance
        assert trust.tolist() == twin
        assert abs(trust[0] - float(expected)) <= 40 * np.finfo(float).eps
        state, _ = step(trust=trust)
        assert (state.weights[0] == ONE).all() == (most == 1.0)
    assert round(float(1 - Fraction(9, 10) ** 10), 3) == 0.651


def test_the_default_threshold_never_binds_on_the_way_up():
    """Nothing is reconstructed for fifty steps; the factor is the root's, not the threshold's."""
    given, seen = {"momentum": ONE, "fresh": ONE, "factors": np.ones(2), "worker_errors": NONE[None]}, []
    for _ in range(50):
        state, _ = step(stack=NONE[None], beta=0.5, second_beta=0.999, **given)
        given = {"momentum": state.momentum[0], "fresh": state.fresh, "factors": state.factors}
        given["worker_errors"] = state.worker_errors
        seen.append(float(state.factors[0]))
    assert np.allclose(seen, 0.999 ** (-np.arange(1, 51) / 2), rtol=1e3 * np.finfo(float).eps, atol=0.0)
    rise = claims()[COLUMN + "rise"]
    values = {"second_factor": Fraction(999, 1000), "lamb_threshold": Fraction(1, 10), "factor_most": 4}
    assert float(rise.bound(lamb_steps=1385, **values)) < 2 < float(rise.bound(lamb_steps=1386, **values))
    # by the threshold alone it would take eight steps
    assert Fraction(11, 10) ** 7 < 2 < Fraction(11, 10) ** 8


def test_a_bound_below_one_is_left_by_the_first_step():
    state, _ = step(stack=-99 * ONE[None], second_beta=0.5, factor_min=0.25, factor_max=0.5)
    assert state.factors.tolist() == [0.9, 0.9]


def test_a_gradient_ten_times_as_large_moves_a_layer_ten_times_as_far():
    """The weights' norm, the update's before the step and the frozen coefficient are what LAMB has."""
    state, _ = step(stack=-10 * ONE[None], beta=0.0)
    assert np.linalg.norm(state.weights[0] - ONE) >= 9 * 0.5 * np.linalg.norm(ONE) * (1 - 32 * np.finfo(float).eps)


def test_what_a_smaller_factor_leaves_behind_in_two_steps_by_hand():
    """One entry of eight, beta = 0: what the first step has left out moves the weight by the second factor."""
    u = np.array([3.0, 1, 1, 1, 1, 1, 1, 1])
    first, _ = step(stack=u[None], momentum=u, beta=0.0, scale="mean", second_beta=0.5, threshold=0.0)
    given = {"momentum": first.momentum[0], "worker_errors": first.worker_errors, "weights": first.weights[0]}
    given |= {"fresh": first.fresh, "beta": 0.0, "scale": "mean", "second_beta": 0.5}
    assert first.worker_errors[0].tolist() == [1.75] + [-0.25] * 7
    for threshold, factor in ((0.0, 1.0), (0.25, 0.75)):
        second, _ = step(stack=64 * u[None], **given, threshold=threshold)
        assert second.factors.tolist() == [factor] * 2
        lost = ONE - second.weights[0] - 0.5 * (u + factor * 64 * u) + 0.5 * factor * second.worker_errors[0]
        assert lost.tolist() == (0.5 * (factor - 1) * first.worker_errors[0]).tolist()  # all are dyadic


def test_drawn_runs_lose_what_the_claim_says_and_no_more():
    study = EXPERIMENTS[COLUMN + "leak"]
    case = next(study.extremal(None))
    outcome = study.admitted(onebit_lamb, Case(case.settings))
    assert abs(outcome.measured - float(study.statement.bound(**outcome.values))) <= outcome.slack
    assert outcome.measured > 1e3 * outcome.slack


def test_a_masked_entry_keeps_the_factor_at_one_and_its_weight():
    """All other entries have a gradient that is a hundred times as large as before."""
    quiet = np.r_[np.ones(7), 0.0]
    given = {"stack": -100 * quiet[None], "momentum": quiet, "variance": quiet, "fresh": quiet, "layers": [8]}
    given |= {"coefficients": ONE[:1], "trust": ONE[:1], "factors": ONE[:1], "second_beta": 0.5, "epsilon": 2.0**-20}
    state, _ = step(**given, mask=quiet.astype(bool))
    assert (state.factors.tolist(), state.weights[0, -1], state.momentum[0, -1]) == ([1.0], 1.0, 0.0)
    assert state.worker_errors[0, -1] != 0.0
    state, _ = step(**given)
    assert state.factors.tolist() == [0.9]
    assert abs(state.weights[0, -1]) > 1e6


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layers": [4, 3]}, ValueError, r"layers must be sizes of at least 1 that add up to 8, got \[4, 3\]"),
        ({"layers": [8, 0]}, ValueError, "layers must be sizes of at least 1"),
        ({"layers": []}, ValueError, r"layers must have shape \(L,\) with L >= 1"),
        ({"layers": [[4, 4]]}, ValueError, "layers must have shape"),
        ({"layers": [4.0, 4.0]}, TypeError, "layers must be an array of integers"),
        ({"layers": None}, TypeError, "layers must be an array of integers"),
        ({"trust": np.ones(3)}, ValueError, r"trust must have shape \(2,\), got \(3,\)"),
        ({"trust": -np.ones(2)}, ValueError, "trust must be finite and not negative"),
        ({"trust": np.array([np.nan, 1.0])}, ValueError, "trust must be finite"),
        ({"trust": np.ones(2, np.float32)}, TypeError, "trust must be float64, got float32"),
        ({"trust": [1, 1]}, TypeError, "trust must be an array of"),
        ({"step_size": 0.0}, ValueError, "step_size must be positive and finite"),
        ({"beta": 1.0}, ValueError, r"beta must be in \[0, 1\)"),
        ({"second_beta": -0.1}, ValueError, r"second_beta must be in \[0, 1\)"),
        ({"decay": float("inf")}, ValueError, "decay must be finite"),
        ({"epsilon": "x"}, TypeError, "epsilon must be a number"),
        ({"variance": -ONE}, ValueError, "variance must not be negative"),
    ],
)
def test_what_both_stages_refuse(options, error, message):
    for stage in (warm, step):
        with pytest.raises(error, match=message):
            stage(**options)


@pytest.mark.parametrize(
    ("stage", "options", "error", "message"),
    [
        (warm, {"coefficient_min": 11.0}, ValueError, "coefficient_min must be at most coefficient_max, got 11.0"),
        (warm, {"coefficient_max": float("nan")}, ValueError, "coefficient_max must be finite"),
        (warm, {"coefficient_beta": 1.0}, ValueError, r"coefficient_beta must be in \[0, 1\)"),
        (warm, {"stack": NONE[None], "variance": NONE}, ValueError, "epsilon must be positive where the variance"),
        (step, {"variance": NONE}, ValueError, "epsilon must be positive where the variance is zero"),
        (step, {"fresh": -ONE}, ValueError, "fresh must not be negative, got -1.0"),
        (step, {"coefficients": np.array([1.0, 0.0])}, ValueError, "coefficients must be finite and positive"),
        (step, {"factors": np.array([1.0, np.inf])}, ValueError, "factors must be finite and not negative"),
        (step, {"factor_min": 5.0}, ValueError, "factor_min must be at most factor_max"),
        (step, {"threshold": 1.0}, ValueError, r"threshold must be in \[0, 1\), got 1.0"),
        (step, {"scale": "max"}, ValueError, "scale must be one of norm, mean"),
        (step, {"mask": ONE}, TypeError, "mask must be boolean, got float64"),
        (step, {"mask": np.ones(7, np.bool_)}, ValueError, r"mask must have shape \(8,\), got \(7,\)"),
        (step, {"momentum": np.ones(16)}, ValueError, r"momentum must have shape \(8,\)"),
    ],
)
def test_what_one_stage_refuses(stage, options, error, message):
    with pytest.raises(error, match=message):
        stage(**options)


@pytest.mark.parametrize(
    ("momentum", "layers", "error", "message"),
    [
        (NONE, [4, 4], ValueError, "momentum must not be zero in a layer, got zeros in layer 0"),
        (np.r_[ONE, 0.0], [8, 1], ValueError, "zeros in layer 1"),
        (ONE[None], [8], ValueError, r"momentum must have shape \(n,\)"),
        (ONE * np.nan, [8], ValueError, "momentum must be finite"),
        (ONE.astype(np.float16), [8], TypeError, "momentum must be float32 or float64, got float16"),
        (ONE.astype(int), [8], TypeError, "momentum must be an array of"),
        (ONE, [9], ValueError, "that add up to 8"),
        (np.zeros(0), [], ValueError, "layers must have shape"),
    ],
)
def test_what_has_no_common_scale(momentum, layers, error, message):
    with pytest.raises(error, match=message):
        fused_scales(momentum, layers)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((0, 1), ValueError, "n must be in"),
        ((1, 0), ValueError, "P must be at least 1"),
        ((1.0, 1), TypeError, "n must"),
    ],
)
def test_what_sizes_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        padded_size(*given)


def test_any_layout_of_a_momentum_has_the_same_scales_and_stays():
    u = np.arange(1.0, 9.0)
    held = np.repeat(u, 2)[::2]
    held.flags.writeable = False
    assert fused_scales(held, [3, 5]).tolist() == fused_scales(u, [3, 5]).tolist()
    assert fused_scales(u.astype(">f4"), [3, 5]).tolist() == fused_scales(u, [3, 5]).tolist()


def test_a_fresh_variance_of_zero_without_epsilon_raises_the_factor_to_its_bounds():
    state, _ = step(stack=NONE[None], fresh=NONE, threshold=0.5)
    assert state.factors.tolist() == [1.5, 1.5]


# --- twins -----------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("claim", ["leak", "scale_moves"])
def test_more_than_the_claim_that_it_is_listed_with_hears_of_a_third_worker(claim):
    (mutant,) = (m for m in mutants.MUTANTS if m.twin is mutants.two_workers_at_most)
    assert refuted(COLUMN + claim, mutant.method, mutant.implementations)
