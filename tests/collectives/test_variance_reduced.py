"""Compression with memory: what it accepts and refuses, single facts by hand, its ranks, and what was found."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_refusals import differences_with, refused_by_all
from samples import each_once

from commbounds.collectives import COLLECTIVES
from commbounds.collectives import variance_reduced as module
from commbounds.collectives.ranks import ThreadWorld, parcel
from commbounds.collectives.variance_reduced import (
    dasha_step,
    diana_step,
    lazy_step,
    marina_step,
    onebit_momentum,
    primal_step,
)
from commbounds.theory import claims
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
PAIRED = tuple(PAIRINGS.of_column("variance_reduced").values())
P, N = 3, 5


def rows(seed, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((P, N)).astype(dtype)


def fused(seed, dtype, *shape):
    """What is as long as the padded message of three ranks."""
    return np.random.default_rng(seed).standard_normal((*shape, 72)).astype(dtype)


def good(name, dtype=np.float64):
    """A right call of every collective."""
    x, y, z = (rows(seed, dtype) for seed in range(3))
    layers, ratios = {"layers": np.array([2, 3])}, np.array([0.5, 2.0])
    kept = {"kept": np.tile(np.arange(2), (P, 1))}
    return {
        "diana_step": {"stack": x, "shifts": y, "mean": z[0], "k": 2, "weight": 0.25, **kept},
        "marina_step": {"stack": x, "previous": y, "estimate": z[0], "k": 2, "full": False, **kept},
        "dasha_step": {"stack": x, "previous": y, "own": z, "estimate": z[0], "k": 2, "weight": 0.25, **kept},
        "lazy_step": {"stack": x, "previous": y, "own": z, "estimate": z[0], "k": 2, "trigger": 1.0},
        "primal_step": {"stack": x, "weights": y[0], "model": z[0], "k": 2, "step_size": 0.5},
        "onebit_momentum": {"stack": x, "momentum": y[0], "worker_errors": z, "server_errors": y[1], "beta": 0.5},
        "zeroone_gradient": {
            "stack": x, "momentum": y[0], "variance": z[0] ** 2, "worker_errors": z, "server_errors": y[1],
            "clock": np.array([0, 2, 1]), "kappa": 2,
        },
        "zeroone_local": {
            "stack": x, "weights": y, "momentum": z, "moved": x + y, "variance": z[0] ** 2, "worker_errors": z,
            "server_errors": y[1], "elapsed": np.array([0.25]), "average": True, "step_size": 0.5, "decay": 0.25,
        },
        "lamb_warmup": {
            "stack": x, "weights": y[0], "momentum": y[1], "variance": z[0] ** 2, "trust": ratios, **layers,
            "decay": 0.25,
        },
        "onebit_lamb": {
            "stack": x, "weights": y[0], "momentum": fused(4, dtype), "variance": z[0] ** 2, "fresh": z[1] ** 2,
            "worker_errors": fused(5, dtype, P), "server_errors": fused(6, dtype), "coefficients": ratios,
            "trust": ratios, "factors": np.ones(2), **layers, "decay": 0.25,
        },
    }[name]  # fmt: skip


EVERY = pytest.mark.parametrize("name", module.COLLECTIVES)
STATES = [
    ("diana_step", "shifts"), ("diana_step", "mean"), ("marina_step", "previous"), ("marina_step", "estimate"),
    ("dasha_step", "own"), ("lazy_step", "own"), ("primal_step", "weights"), ("primal_step", "model"),
    ("onebit_momentum", "momentum"), ("onebit_momentum", "worker_errors"), ("onebit_momentum", "server_errors"),
    ("zeroone_gradient", "momentum"), ("zeroone_gradient", "variance"), ("zeroone_gradient", "worker_errors"),
    ("zeroone_gradient", "server_errors"), ("zeroone_local", "weights"), ("zeroone_local", "momentum"),
    ("zeroone_local", "moved"), ("zeroone_local", "variance"), ("zeroone_local", "worker_errors"),
    ("zeroone_local", "server_errors"), ("lamb_warmup", "weights"), ("lamb_warmup", "momentum"),
    ("lamb_warmup", "variance"), ("onebit_lamb", "weights"), ("onebit_lamb", "momentum"), ("onebit_lamb", "fresh"),
    ("onebit_lamb", "variance"), ("onebit_lamb", "worker_errors"), ("onebit_lamb", "server_errors"),
]  # fmt: skip

# --- input -----------------------------------------------------------------------------------------------------------


@EVERY
def test_it_is_registered_under_its_name(name):
    assert COLLECTIVES[name] is module.COLLECTIVES[name]


@EVERY
@pytest.mark.parametrize(
    ("stack", "error", "message"),
    [
        (np.ones(4), ValueError, r"\(P, n\)"),
        (np.ones((0, 4)), ValueError, "at least one rank and one entry"),
        (np.ones((2, 0)), ValueError, "at least one rank and one entry"),
        (np.ones((3, 5), np.float16), TypeError, "float32 or float64"),
        (np.ones((3, 5), np.int64), TypeError, "float32 or float64"),
        (np.full((3, 5), np.nan), ValueError, "finite"),
        (np.full((3, 5), -np.inf), ValueError, "finite"),
        (np.ones((3, 4)), ValueError, "must have shape"),
        (np.ones((3, 5), np.float32), TypeError, "must be float32, as the stack, got float64"),
    ],
)
def test_what_stacks_are_refused(name, stack, error, message):
    given = {**good(name), "stack": stack}
    with pytest.raises(error, match=message):
        COLLECTIVES[name](**given)


@pytest.mark.parametrize(("name", "state"), STATES)
def test_states_that_do_not_fit_are_refused(name, state):
    right = good(name)
    for value, error, message in (
        (right[state][..., :-1], ValueError, f"{state} must have shape"),
        (right[state] * np.nan, ValueError, f"{state} must be finite"),
        (right[state].astype(np.float32), TypeError, f"{state} must be float64"),
        (right[state].astype(int), TypeError, f"{state} must be float64"),
        (None, TypeError, f"{state} must be"),
    ):
        with pytest.raises(error, match=message):
            COLLECTIVES[name](**{**right, state: value})


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("diana_step", {"k": 0}, ValueError, r"k must be in \[1, 5\], got 0"),
        ("diana_step", {"k": 6}, ValueError, r"k must be in \[1, 5\], got 6"),
        ("diana_step", {"k": 2.0}, TypeError, "k must be an integer"),
        ("diana_step", {"k": True}, TypeError, "k must be an integer"),
        ("diana_step", {"weight": 1.5}, ValueError, r"weight must be in \[0, 1\], got 1.5"),
        ("diana_step", {"weight": float("nan")}, ValueError, "weight must be in"),
        ("diana_step", {"weight": "x"}, TypeError, "weight must be a number"),
        ("diana_step", {"keep": "smallest"}, ValueError, "keep must be one of random, largest"),
        ("diana_step", {"keep": "largest"}, ValueError, "kept must be None where the largest"),
        ("diana_step", {"kept": None}, TypeError, "rng must be a numpy Generator, which choosing entries needs"),
        ("diana_step", {"kept": [[0, 1]]}, ValueError, r"kept must have shape \(3, 2\), got \(1, 2\)"),
        ("diana_step", {"kept": [[0, 5]] * 3}, ValueError, r"ascending indices in \[0, 4\]"),
        ("diana_step", {"kept": [[1, 0]] * 3}, ValueError, "ascending indices"),
        ("diana_step", {"kept": [[1, 1]] * 3}, ValueError, "ascending indices"),
        ("diana_step", {"kept": [[0.0, 1.0]] * 3}, TypeError, "kept must be an array of integers"),
        ("marina_step", {"full": 1}, TypeError, "full must be True or False"),
        ("dasha_step", {"weight": -0.5}, ValueError, "weight must be in"),
        ("lazy_step", {"trigger": -1.0}, ValueError, "trigger must be finite and not negative, got -1.0"),
        ("lazy_step", {"trigger": float("inf")}, ValueError, "trigger must be finite"),
        ("primal_step", {"step_size": 0.0}, ValueError, "step_size must be positive and finite"),
        ("primal_step", {"k": 6}, ValueError, r"k must be in \[1, 5\]"),
        ("onebit_momentum", {"beta": 1.0}, ValueError, r"beta must be in \[0, 1\), got 1.0"),
        ("onebit_momentum", {"scale": "max"}, ValueError, "scale must be one of norm, mean"),
    ],
)
def test_what_options_are_refused(name, options, error, message):
    with pytest.raises(error, match=message):
        COLLECTIVES[name](**{**good(name), **options})


def parts(result):
    return result._asdict() if hasattr(result, "_asdict") else {"estimate": result}


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_layout_gives_the_same_and_nothing_is_changed(name, dtype):
    given = good(name, dtype)
    held = {key: value.copy() for key, value in given.items() if isinstance(value, np.ndarray)}
    expected, traffic = COLLECTIVES[name](**given)
    for value in parts(expected).values():
        assert value.dtype in (dtype, np.bool_, np.int64 if name == "zeroone_gradient" else np.float64)
    for change in (np.asfortranarray, lambda v: np.repeat(v, 2, axis=-1)[..., ::2], locked):
        again, counted = COLLECTIVES[name](**{**given, **{key: change(value) for key, value in held.items()}})
        for key, value in parts(again).items():
            assert value.tobytes() == parts(expected)[key].tobytes(), key
        assert counted.as_dict() == traffic.as_dict()
    assert all(np.array_equal(given[key], value) for key, value in held.items())


def locked(value):
    value = value.copy()
    value.flags.writeable = False
    return value


@EVERY
def test_the_largest_numbers_end_in_no_warning(name):
    given, kept = good(name, np.float32), ("kept", "clock", "elapsed", "layers", "trust", "coefficients", "factors")
    for key, value in given.items():
        if isinstance(value, np.ndarray) and key not in kept:
            given[key] = np.full_like(value, np.finfo(np.float32).max)
    given["stack"] = -given["stack"]
    COLLECTIVES[name](**given)


def test_one_seed_one_choice_and_the_global_generator_stays():
    x, legacy = rows(0), np.random.get_state()[1].tobytes()  # noqa: NPY002 - that it stays untouched is the point
    first, second, other = (
        diana_step(x, 0 * x, 0 * x[0], 2, 0.5, np.random.default_rng(seed))[0].estimate for seed in (1, 1, 2)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert np.random.get_state()[1].tobytes() == legacy  # noqa: NPY002


# --- single facts ----------------------------------------------------------------------------------------------------


def test_all_entries_are_the_mean_whatever_the_memory_is():
    x, shifts = np.array([[1.0, 2.0], [3.0, -6.0]]), np.array([[5.0, 1.0], [1.0, 1.0]])
    state, _ = diana_step(x, shifts, shifts.mean(axis=0), 2, 1.0, keep="largest")
    assert state.estimate.tolist() == [[2.0, -2.0]] * 2
    assert np.array_equal(state.shifts, x)
    for full in (True, False):
        result, _ = marina_step(x, shifts, shifts.mean(axis=0), 2, full, keep="largest")
        assert result.tolist() == [[2.0, -2.0]] * 2


def test_dasha_with_weight_zero_is_marina_without_its_coin():
    x, previous, own = rows(0), rows(1), rows(2)
    kept = np.array([[0, 3], [1, 2], [2, 4]])
    tracked, _ = dasha_step(x, previous, own, own[0], 2, 0.0, kept=kept)
    result, _ = marina_step(x, previous, own[0], 2, False, kept=kept)
    assert np.array_equal(tracked.estimate, result)


def test_at_the_trigger_nobody_sends():
    grad, previous, own = np.array([[4.0]]), np.array([[2.0]]), np.array([[0.0]])
    for trigger, sent in ((4.0, False), (np.nextafter(4.0, 0.0), True)):
        state, traffic = lazy_step(grad, previous, own, own[0], 1, float(trigger))
        assert state.sent.tolist() == [sent]
        assert traffic.sent.sum() == 0


def test_words_and_bytes_by_hand():
    x, zero = np.ones((4, 64), np.float32), np.zeros((4, 64), np.float32)
    _, traffic = onebit_momentum(x, zero[0], zero, zero[0])
    # two bytes of signs and a scale of four, to three ranks, twice
    assert traffic.sent.tolist() == [36] * 4
    assert list(traffic.phases) == ["up", "down"]
    _, traffic = primal_step(x, zero[0], zero[1], 5, 0.5)
    assert (traffic.sent.tolist(), traffic.received.tolist()) == ([30, 64, 64, 64], [192, 10, 10, 10])
    _, traffic = marina_step(x, zero, zero[0], 5, True)
    assert traffic.sent.tolist() == [96] * 4


@EVERY
def test_one_rank_says_nothing(name):
    given = {key: value[:1] if isinstance(value, np.ndarray) and value.ndim == 2 else value
             for key, value in good(name).items()}  # fmt: skip
    if name == "onebit_lamb":  # whose message is shorter
        given = {key: value[..., :8] if key in ("momentum", "worker_errors", "server_errors") else value
                 for key, value in given.items()}  # fmt: skip
    _, traffic = COLLECTIVES[name](**given)
    assert (traffic.sent.tolist(), traffic.steps) == ([0], 0)


# --- what was found, by hand in fractions ----------------------------------------------------------------------------


def expected_diana(x, h, a, gamma):
    """E of ||x+||^2 and of h+^2 a worker, f = x^2/2 in two entries, k = 1, one worker: both choices in Fractions."""
    near, error = Fraction(0), Fraction(0)
    for j in range(2):
        m = [2 * (x[i] - h[i]) if i == j else Fraction(0) for i in range(2)]
        near += sum((x[i] - gamma * (h[i] + m[i])) ** 2 for i in range(2)) / 2
        error += sum((h[i] + a * m[i]) ** 2 for i in range(2)) / 2
    return near, error


def test_the_step_size_of_the_simulator_is_too_long_for_the_theorem():
    one, a, gamma, omega = Fraction(1), Fraction(1, 2), Fraction(1, 5), 1
    x, h = [one, one], [-one, -one]
    near, error = expected_diana(x, h, a, gamma)
    c = 4 * gamma**2 * omega * (1 + omega)
    before = 2 + c * 2
    assert near + c * error > max(1 - gamma, 1 - a / 2) * before
    shorter = Fraction(1, 7)
    near, error = expected_diana(x, h, a, shorter)
    c = 4 * shorter**2 * omega * (1 + omega)
    assert near + c * error <= max(1 - shorter, 1 - a / 2) * (2 + 2 * c)


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_half_the_weight_allows_longer_steps(x0, x1, h0, h1):
    x, h = [Fraction(x0), Fraction(x1)], [Fraction(h0), Fraction(h1)]
    a, gamma = Fraction(1, 4), Fraction(1, 3)  # 1/(1 + 2 omega); the printed theorem has 1/7 at a = 1/2
    near, error = expected_diana(x, h, a, gamma)
    c = gamma**2 / (a * (1 - 2 * a))
    assert near + c * error <= max(1 - gamma, 1 - a) * (x0**2 + x1**2 + c * (h0**2 + h1**2))


@pytest.mark.parametrize("n", [1, 2, 4, 5, 9, 100])
def test_a_unit_vector_is_expanded_from_five_entries_on(n):
    """As the released code computes it: the norm over the root of the length, times the sign, whose zero is +1."""
    p = np.zeros(n)
    p[0] = 1.0
    scale = np.linalg.norm(p) / np.sqrt(p.size)
    error = p - scale * ((np.sign(p) + 1).astype(bool).astype(float) - 0.5) * 2.0
    state, _ = onebit_momentum(p[None], np.zeros(n), np.zeros((1, n)), np.zeros(n), 0.0)
    assert np.allclose(state.worker_errors[0], error, rtol=0.0, atol=4 * np.finfo(float).eps)
    assert (np.square(error).sum() > 1.0) == (n >= 5)
    bound = float(claims()["variance_reduced.onebit.worst"].bound(n=n))
    assert abs(np.square(error).sum() - bound) <= 16 * n * np.finfo(float).eps


def test_the_residual_of_a_silent_entry_does_not_grow():
    x, errors, served, seen = np.array([[3.0, 0.0]]), np.zeros((1, 2)), np.zeros(2), []
    for _ in range(6):
        state, _ = onebit_momentum(x, np.zeros(2), errors, served, 0.0, "mean")
        errors, served = state.worker_errors, state.server_errors
        seen.append(abs(float(errors[0, 1])))
    assert seen == [1.5] * 6  # the scales are 1.5 and then 3


def test_the_residual_of_a_silent_entry_may_be_more_than_the_workers_scales_with_momentum():
    """Two workers of nine entries, the last silent; the first makes up for the momentum of the second elsewhere."""
    x, zero = np.zeros((2, 9)), np.zeros((2, 9))
    x[1, :8] = 9.0
    first, _ = onebit_momentum(x, zero[0], zero, zero[0], 0.5)
    back = first.momentum[0] / 2
    x[0, :8] = -2 * back[:8]
    state, _ = onebit_momentum(x, first.momentum[0], first.worker_errors, first.server_errors, 0.5)
    allowance = 32 * np.finfo(float).eps  # sums of nine squares, a root, and some quotients and products
    assert np.allclose(np.abs(back), 9 * np.sqrt(8) / 24, rtol=allowance, atol=0)
    scale = abs(back[8]) / 3  # of what the first offers: its last entry alone; it had nothing to offer before
    assert np.allclose(state.worker_errors[0, :8], -scale, rtol=allowance, atol=0)
    assert abs(state.worker_errors[0, 8]) > 1.999 * scale


def test_with_a_trigger_below_one_a_whole_run_is_gradient_descent():
    d, x = np.array([[1.0, 0.25, 0.5], [0.5, 0.5, 1.0]]), np.array([4.0, -3.0, 5.0])
    before = d * x
    own = before.copy()
    for _ in range(12):
        x = x - 0.25 * own.mean(axis=0)
        state, _ = lazy_step(d * x, before, own, own.mean(axis=0), 3, 0.99)
        assert state.sent.all()
        before, own = d * x, state.own
        assert np.allclose(own, before, rtol=4 * np.finfo(float).eps, atol=0.0)


# --- twins -----------------------------------------------------------------------------------------------------------


# --- ranks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pairing", "ranks"), each_once(PAIRED, [3, 4, 5, 2, 8, 1], lambda p: p.name))
def test_bits_and_traffic_are_those_of_one_process(pairing, ranks):
    found = compared(pairing, ranks, ThreadWorld())
    assert len(found) >= 3
    assert [agreement for agreement in found if agreement.difference] == []


@EVERY
def test_bad_input_of_one_rank_is_refused_on_all(name):
    given = good(name)
    stack = given.pop("stack")
    program = COLLECTIVES[name].on_rank
    for bad, error, message in (
        (np.full(N, np.nan), ValueError, "vector must be finite"),
        (np.ones(N, np.int64), TypeError, "must be float32 or float64"),
        (np.ones(N + 1), TypeError, "vector must have one length and dtype on all ranks"),
    ):
        refused_by_all(lambda c, bad=bad: program(c, bad if c.rank == 1 else stack[c.rank], **given), error, message)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("diana_step", "mean"),
        ("marina_step", "estimate"),
        ("primal_step", "model"),
        ("onebit_momentum", "momentum"),
        ("zeroone_gradient", "momentum"),
        ("zeroone_gradient", "variance"),
        ("zeroone_local", "variance"),
        ("lamb_warmup", "weights"),
        ("onebit_lamb", "fresh"),
        ("onebit_lamb", "coefficients"),
    ],
)
def test_states_that_all_share_must_be_the_same(name, changed):
    given = good(name)
    stack = given.pop("stack")

    def program(comm):
        own = {**given, changed: given[changed] + comm.rank}
        return COLLECTIVES[name].on_rank(comm, stack[comm.rank], **own)

    refused_by_all(program, ValueError, f"the checksum of {changed} must be the same on all ranks")


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda p: p.name)
def test_a_word_too_many_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all("traffic" in difference for difference in differences_with(pairing, chatty))
