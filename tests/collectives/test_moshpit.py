"""Averaging in groups against its twin, peer by peer; hostile inputs; threads; random numbers."""

import itertools
import math
from importlib import import_module

import numpy as np
import pytest
from chi_square import FALSE_ALARM
from numba import config, get_num_threads, set_num_threads
from scipy import special

from commbounds.collectives import (
    distortion,
    grid_average,
    group_average,
    group_trials,
    initial_keys,
    moshpit,
    moshpit_sgd,
    random_groups,
    regrouping,
)
from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.verify.definitions import moshpit as naive

averaging, keyed, trials = (
    import_module(f"commbounds.collectives.moshpit.{name}") for name in ("group_average", "allreduce", "group_trials")
)

pytestmark = pytest.mark.kernels
RNG = np.random.default_rng


def stack(N, n, seed=0, dtype=np.float64):
    return RNG([seed, N, n]).standard_normal((N, n)).astype(dtype)


def test_a_permutation_is_cut_as_its_twin_cuts_it():
    seen = []
    for choices in itertools.product(range(4), range(3), range(2), range(1)):
        labels = READINGS["cut"].labels((1, 3), choices)
        seen.append(labels.tolist())
    expected = [naive.cut(order, (1, 3)) for order in itertools.permutations(range(4))]
    assert sorted(seen) == sorted(expected)


@pytest.mark.parametrize("N", range(1, 7))
def test_set_partitions_are_all_there_once(N):
    (count,) = READINGS["partitions"].ranges(N, 1)
    found = [READINGS["partitions"].labels((N,), (rank,)).tolist() for rank in range(count)]
    assert sorted(found) == sorted(naive.set_partitions(N))
    for r in range(1, N + 1):
        sizes = (1,) * (r - 1) + (N - r + 1,)
        (count,) = READINGS["blocks"].ranges(N, r)
        blocks = [READINGS["blocks"].labels(sizes, (rank,)).tolist() for rank in range(count)]
        assert sorted(blocks) == sorted(labels for labels in naive.set_partitions(N) if max(labels) == r - 1)


@pytest.mark.parametrize("reading", READINGS)
def test_drawn_groups_are_reproducible_and_as_random_as_they_should_be(reading):
    x = np.eye(4)
    first, second = (random_groups(x, 2, 3, RNG(5), reading=reading)[0] for _ in range(2))
    assert np.array_equal(first, second)
    rng = RNG(6)
    results = [random_groups(x, 2, 1, rng, reading=reading)[0].tobytes() for _ in range(600)]
    ranges = [range(size) for size in READINGS[reading].ranges(4, 2)]
    expected = {}
    for choices in itertools.product(*ranges):
        if READINGS[reading].labels((2, 2), choices) is not None:
            outcome = random_groups(x, 2, 1, reading=reading, choices=[choices])[0].tobytes()
            expected[outcome] = expected.get(outcome, 0) + 1
    weights = np.array(list(expected.values()), float)
    counts = np.array([results.count(outcome) for outcome in expected], float)
    assert counts.sum() == 600
    means = 600 * weights / weights.sum()
    common = means >= 5
    pooled = np.array([*counts[common], counts[~common].sum()]), np.array([*means[common], means[~common].sum()])
    statistic = sum((c - m) ** 2 / m for c, m in zip(*pooled, strict=True) if m)
    assert special.chdtrc(max(1, int(common.sum()) - bool(common.all())), statistic) > FALSE_ALARM


# --- trials ------------------------------------------------------------------------------------------------------


def test_trials_of_one_grid_are_grid_averages_of_some_placement():
    x = np.array([[0.0], [1.0], [3.0], [7.0]])
    found = group_trials(x, "fixed", 2, 2, 40, 1)
    every = np.array(list(itertools.product(range(2), repeat=2)))
    possible = set()
    for order in itertools.permutations(range(4)):
        after = [grid_average(x, every[list(order)], 2, t)[0] for t in (1, 2)]
        possible.add(tuple(round(distortion(result), 9) for result in after))
    assert {tuple(round(v, 9) for v in row) for row in found} == possible


@pytest.mark.parametrize(("kind", "M", "d"), [("random", 3, 1), ("fixed", 3, 2), ("keys", 3, 2), ("keys", 2, 4)])
@pytest.mark.parametrize(("p", "rule"), [(0.0, "skip"), (0.3, "skip"), (0.3, "abort")])
def test_trials_depend_on_seed_and_number_alone(kind, M, d, p, rule):
    x = stack(9, 4)
    options = {"d": d, "p": p, "rule": rule}
    whole = group_trials(x, kind, M, 3, 7, 11, **options)
    assert np.array_equal(whole[2:6], group_trials(x, kind, M, 3, 4, 11, first=2, **options))
    assert not np.array_equal(whole, group_trials(x, kind, M, 3, 7, 12, **options))
    assert len(np.unique(whole[:, 0])) > 1
    assert np.all(whole >= 0)
    assert np.all(whole <= distortion(x) * (1 + 1e-14))


def test_trials_are_the_same_on_one_thread_and_on_two():
    if config.NUMBA_NUM_THREADS < 2:
        pytest.skip("there is one thread only")
    x, before, found = stack(64, 64), get_num_threads(), []
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            found.append(group_trials(x, "random", 8, 8, 34, 3).tobytes())
    finally:
        set_num_threads(before)
    assert found[0] == found[1]


def test_trials_without_peers_that_fail_keep_to_full_grids():
    found = group_trials(stack(27, 2), "keys", 3, 3, 5, 0, d=3)
    # three means of three, each rounded to half an ulp of numbers near one; squares of that
    assert np.all(found[:, 2] <= 2 * (9 * np.finfo(float).eps) ** 2 * 10)
    assert np.all(found[:, 1] > 1e-6)


def test_all_permutations_are_equally_likely_in_trials():
    x = np.array([[1.0], [10.0], [100.0], [1000.0]])
    found = group_trials(x, "random", 2, 1, 3000 if config.DISABLE_JIT == 0 else 300, 8)[:, 0]
    values, counts = np.unique(np.round(found, 6), return_counts=True)
    assert len(values) == 3
    mean = counts.sum() / 3
    assert special.chdtrc(2, np.square(counts - mean).sum() / mean) > FALSE_ALARM


def test_failures_in_trials_have_their_rate():
    trials = 4000 if config.DISABLE_JIT == 0 else 200
    x, p = np.array([[-1.0], [1.0]]), 0.3
    found = group_trials(x, "random", 1, 1, trials, 9, p=p)[:, 0]
    both = int((found == 0).sum())  # a group of two averages if nobody fails
    mean, variance = trials * (1 - p) ** 2, trials * (1 - p) ** 2 * (1 - (1 - p) ** 2)
    assert (both - mean) ** 2 / variance < 40  # a normal deviate beyond 6.3: one in 10^9


# --- what they are given -----------------------------------------------------------------------------------------

CALLS = {
    "group_average": lambda x: group_average(x, [0, 0, 1]),
    "moshpit": lambda x: moshpit(x, initial_keys(3, 2, 2), 2, 2, slots="rank"),
    "grid_average": lambda x: grid_average(x, [[0, 0], [0, 1], [1, 0]], 2, 2),
    "random_groups": lambda x: random_groups(x, 2, 2, RNG(0)),
    "regrouping": lambda x: regrouping(x, 2, 2, RNG(0)),
    "group_trials": lambda x: group_trials(x, "random", 2, 2, 2, 0),
    "moshpit_sgd": lambda x: moshpit_sgd(x, np.sin, 0.5, np.zeros((2, 3, 2)), 2, [[[0, 0, 1]]]),
}


def plain(result):
    """The arrays of a result, as bytes."""
    found = []
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, np.ndarray):
            found.append(part.tobytes())
        elif isinstance(part, tuple):
            found += plain(part)
        elif hasattr(part, "points"):
            found.append(part.points.tobytes())
    return found


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_inputs_are_left_alone_and_may_be_strided_or_read_only(call):
    x = stack(3, 2)
    kept = x.copy()
    expected = plain(call(x))
    assert np.array_equal(x, kept)
    x.setflags(write=False)
    wide = np.zeros((3, 4))
    wide[:, ::2] = kept
    for other in (x, np.asfortranarray(kept), wide[:, ::2], kept.astype(">f8"), kept.tolist()):
        assert plain(call(other)) == expected


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (np.full((3, 2), np.nan), ValueError),
        (np.array([[1.0, np.inf]] * 3), ValueError),
        (np.ones((3, 2), np.float16), TypeError),
        (np.ones((3, 2), int), TypeError),
        (np.ones(3), ValueError),
        (np.ones((0, 2)), ValueError),
        ([[1.0], [1.0, 2.0], [1.0]], TypeError),
    ],
)
def test_bad_stacks_are_refused(call, bad, error):
    with pytest.raises(error, match=r"stack|points"):
        call(bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e30])
def test_extreme_inputs_stay_finite(dtype, scale):
    x = (stack(4, 3) * scale).astype(dtype)
    (result, _), _ = moshpit(x, initial_keys(4, 2, 2), 2, 2, slots="rank")
    assert result.dtype == dtype
    assert np.isfinite(result).all()
    eps = float(np.finfo(dtype).eps)
    assert np.all(np.abs(result - x.mean(axis=0)) <= 4 * eps * np.abs(x).max())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: initial_keys(0, 2, 2), r"N must be in \[1, 4\], got 0"),
        (lambda: initial_keys(5, 2, 2), r"N must be in \[1, 4\], got 5"),
        (lambda: initial_keys(1, 0, 2), "M must be at least 1, got 0"),
        (lambda: initial_keys(1, 2, 0), r"d must be in \[1, 64\], got 0"),
        (lambda: moshpit(np.eye(4), [[0]] * 3, 2, 1), r"keys must have shape \(4, d - 1\)"),
        (lambda: moshpit(np.eye(4), [[2]] * 4, 2, 1), r"digits of keys must be in \[0, 2\)"),
        (lambda: moshpit(np.eye(4), [[0]] * 4, 2, -1), "rounds must be at least 0, got -1"),
        (lambda: moshpit(np.eye(4), [[0]] * 4, 2, 1, slots="any"), "slots must be one of rank, sample"),
        (lambda: moshpit(np.eye(4), [[0]] * 4, 2, 1, slots=np.zeros((1, 2, 2), int)), "a permutation of range"),
        (
            lambda: moshpit(np.eye(4), [[0]] * 4, 2, 1, slots=np.zeros((1, 2, 3), int)),
            "slots must be integers of shape",
        ),
        (lambda: moshpit(np.eye(4), [[0]] * 4, 2, 1, slots="rank", rule="wait"), "rule must be one of skip, abort"),
        (
            lambda: moshpit(np.eye(4), [[0]] * 4, 2, 2, slots="rank", alive=[[True] * 4]),
            r"alive must have shape \(2, 4\)",
        ),
        (lambda: grid_average(np.eye(2), [[0, 0], [0, 0]], 2, 1), "cells must differ"),
        (lambda: grid_average(np.eye(2), [[0, 0], [0, 2]], 2, 1), r"cells must be in \[0, 2\)"),
        (lambda: grid_average(np.eye(2), [0, 1], 2, 1), r"cells must have shape \(2, d\)"),
        (lambda: group_average(np.eye(2), [0]), r"groups must have shape \(2,\)"),
        (lambda: random_groups(np.eye(3), 4, 1, RNG(0)), r"r must be in \[1, 3\], got 4"),
        (lambda: random_groups(np.eye(3), 0, 1, RNG(0)), r"r must be in \[1, 3\], got 0"),
        (lambda: random_groups(np.eye(3), 2, 1, RNG(0), reading="some"), "reading must be one of cut, blocks"),
        (lambda: random_groups(np.eye(3), 2, 1, RNG(0), sizes=(1, 1)), "sizes must be 2 positive numbers with sum 3"),
        (lambda: random_groups(np.eye(3), 2, 1, choices=[(3, 0, 0)]), "choices of a round must be below"),
        (lambda: random_groups(np.eye(3), 2, 2, choices=[(0, 0, 0)]), "one entry for each of 2 rounds"),
        (lambda: regrouping(np.eye(3), 0, 1, RNG(0)), "M must be at least 1, got 0"),
        (lambda: regrouping(np.eye(3), 2, 1, orders=[[0, 1]]), "orders of a round must be a permutation"),
        (lambda: group_trials(np.eye(3), "ring", 2, 1, 1, 0), "kind must be one of random, fixed, keys"),
        (lambda: group_trials(np.eye(3), "random", 4, 1, 1, 0), r"M must be in \[1, 3\], got 4"),
        (lambda: group_trials(np.eye(3), "fixed", 1, 1, 1, 0), r"a grid of 1\^2 cells cannot hold 3 peers"),
        (lambda: group_trials(np.eye(3), "random", 2, 1, 1, 0, p=1.5), r"p must be a probability in \[0, 1\], got 1.5"),
        (lambda: group_trials(np.eye(3), "random", 2, 1, 1, 0, p=math.nan), "p must be a probability"),
        (lambda: group_trials(np.eye(3), "random", 2, 1, 1, -1), "seed must be in"),
        (lambda: group_trials(np.eye(3), "random", 2, 1, 0, 0), "trials must be at least 1, got 0"),
        (
            lambda: moshpit_sgd(np.eye(2), np.sin, 0.0, np.zeros((1, 2, 2))),
            "gamma must be positive and finite, got 0.0",
        ),
        (lambda: moshpit_sgd(np.eye(2), np.sin, 1.0, np.zeros((1, 2, 3))), "noise must have shape"),
        (lambda: moshpit_sgd(np.eye(2), np.sin, 1.0, np.zeros((1, 2, 2)), 0), "period must be at least 1, got 0"),
        (lambda: moshpit_sgd(np.eye(2), np.sin, 1.0, np.zeros((2, 2, 2)), 1, [[[0, 0]]]), "for each of 2 averages"),
        (lambda: distortion(np.eye(2), [0.0]), r"about must have shape \(2,\)"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: moshpit(np.eye(4), [[0]] * 4, 2, 1),
        lambda: moshpit(np.eye(4), [[0.0]] * 4, 2, 1),
        lambda: moshpit(np.eye(4), [[0]] * 4, 2, 1.5),
        lambda: moshpit(np.eye(4), [[0]] * 4, True, 1),
        lambda: grid_average(np.eye(2), [[0.0], [1.0]], 2, 1),
        lambda: group_average(np.eye(2), [0.0, 0.0]),
        lambda: group_average(np.eye(2), [0, 0], receives=[1, 1]),
        lambda: random_groups(np.eye(3), 2),
        lambda: regrouping(np.eye(3), 2),
    ],
)
def test_wrong_kinds_are_refused(call):
    with pytest.raises(TypeError):
        call()


def test_one_peer_averages_with_nobody():
    x = stack(1, 3)
    (result, keys), traffic = moshpit(x, initial_keys(1, 2, 3), 2, 4, RNG(0))
    assert np.array_equal(result, x)
    assert keys.shape == (1, 2)
    assert traffic.steps == traffic.critical_path == 0
    assert traffic.sent.tolist() == [0]


def test_no_rounds_change_nothing():
    x = stack(4, 2)
    for result, traffic in (
        (moshpit(x, initial_keys(4, 2, 2), 2, 0, slots="rank")[0][0], moshpit(x, [[0]] * 4, 2, 0, slots="rank")[1]),
        grid_average(x, [[0], [1], [2], [3]], 4, 0),
        random_groups(x, 2, 0),
        regrouping(x, 2, 0),
    ):
        assert np.array_equal(result, x)
        assert result is not x
        assert traffic.steps == 0


def test_failures_can_leave_more_than_m_peers_with_one_key():
    x, keys = stack(4, 1), np.zeros((4, 1), int)
    (result, _), _ = moshpit(x, keys, 2, 1, slots="rank")
    assert np.array_equal(result[:2, 0], np.full(2, x[:2, 0].sum() / 2))
    assert np.array_equal(result[2:, 0], np.full(2, x[2:, 0].sum() / 2))


def test_kernels_give_the_bits_of_their_python_functions():
    x, peers = stack(6, 4), np.arange(6)
    order, starts, receives = RNG(0).permutation(6), np.array([0, 2, 5, 6]), RNG(1).random(6) < 0.7
    found = []
    for average in (averaging._average, getattr(averaging._average, "py_func", averaging._average)):
        out, counts = x.copy(), np.zeros((3, 2, 6), np.int64)
        average(x, order, starts, receives, out, *counts)
        found.append((out.tobytes(), counts.tobytes()))
    assert found[0] == found[1]
    found = []
    for match in (keyed._match, getattr(keyed._match, "py_func", keyed._match)):
        groups, slots = np.empty(6, np.int64), np.empty(6, np.int64)
        match(peers % 3, receives, 2, False, np.array([[1, 0], [0, 1], [1, 0]]), groups, slots)
        found.append((groups.tolist(), slots.tolist()))
    assert found[0] == found[1]
    found = []
    for shuffle in (trials._shuffle, getattr(trials._shuffle, "py_func", trials._shuffle)):
        shuffled = peers.copy()
        with np.errstate(over="ignore"):
            found.append((int(shuffle(np.uint64(7), np.uint64(1), shuffled)), shuffled.tolist()))
    assert found[0] == found[1]
    found = []
    for merge in (trials._merge, getattr(trials._merge, "py_func", trials._merge)):
        new, holds = np.zeros_like(x), np.array([0, 1, 1, 3, 0, 5])
        total = merge(
            x, new, holds, peers % 2, receives, np.empty(6), np.empty(8), np.empty(3, np.int64), np.full((4, 6), -1)
        )
        found.append((float(total), new.tobytes(), holds.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("kind", "M", "expected"),
    [
        ("random", 2, [[38.47222222222222, 38.47222222222222], [65.03472222222223, 14.35570987654321]]),
        ("fixed", 3, [[69.23611111111111, 44.210069444444436], [28.506944444444446, 0.9548611111111113]]),
        ("keys", 3, [[40.06944444444444, 38.79340277777777], [33.50694444444445, 4.704861111111112]]),
    ],
)
def test_trials_have_the_same_bits_with_and_without_the_jit(kind, M, expected):
    x = np.outer([1.0, -2.0, 4.0, 8.0, -16.0, 3.0], [1.0, 0.5])
    assert group_trials(x, kind, M, 2, 2, 5, p=0.2).tolist() == expected
