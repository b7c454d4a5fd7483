"""The simulated all-reduces against messages, against ml_dtypes, and at their edges."""

import itertools
import math

import ml_dtypes
import numba
import numpy as np
import pytest
from samples import each_once

from commbounds.collectives import COLLECTIVES
from commbounds.collectives.precision import SIMULATED, mixed_precision_allreduce, rounded, simulated_allreduce

pytestmark = pytest.mark.kernels

NARROW = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
JIT = not numba.config.DISABLE_JIT
PAIRS = (
    ("float32", "float32"),
    ("bfloat16", "bfloat16"),
    ("float32", "bfloat16"),
    ("float16", "float8_e4m3fn"),
    ("float8_e5m2", "float8_e5m2"),
)
MESSAGES = tuple(name for name in SIMULATED if name != "in_rank_order")
"""Schedules that are carried out message by message too."""


def same_bits(a, b):
    """Whether two float64 arrays have the same bits, any NaN being one."""
    a, b = (np.where(np.isnan(v), np.nan, np.asarray(v, np.float64)) for v in (a, b))
    return a.tobytes() == b.tobytes()


# --- rounding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NARROW)
def test_rounding_gives_the_bits_of_ml_dtypes(name):
    """From float32: ml_dtypes takes float64 to bfloat16 by way of float32, which rounds twice.

    Every number of bfloat16 and its neighbour; in plain Python one in 23.
    """
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 2**32, 200_000 if JIT else 10_000, dtype=np.uint32).view(np.float32)
    every = np.arange(0, 2**16, 1 if JIT else 23, dtype=np.uint16).view(ml_dtypes.bfloat16)
    about = np.nan_to_num(every.astype(np.float32), nan=1.0)
    edges = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 480, 57344, 61440, 61441, 65519, 65520])
    x = np.concatenate([patterns, about, np.nextafter(about, np.float32(0)), edges])
    with np.errstate(all="ignore"):
        assert same_bits(rounded(x, name), x.astype(NARROW[name]).astype(np.float64))


def test_every_number_of_a_format_is_itself_and_halves_go_to_the_even():
    for name, kind in NARROW.items():
        bits = 8 * np.dtype(kind).itemsize
        with np.errstate(invalid="ignore"):  # of signalling NaN
            every = np.arange(2**bits, dtype=f"u{bits // 8}").view(kind).astype(np.float64)
        numbers = np.unique(every[np.isfinite(every)])
        assert same_bits(rounded(numbers, name), numbers)
        halves = (numbers[1:] + numbers[:-1]) / 2
        assert same_bits(rounded(halves, name), halves.astype(np.float32).astype(kind).astype(np.float64)), name


def test_bfloat16_is_rounded_once():
    """1 + 2^-8 + 2^-40 is above half-way; by way of float32 it would be half-way, and go down."""
    x = 1 + 2.0**-8 + 2.0**-40
    assert rounded([x], "bfloat16").tolist() == [1 + 2.0**-7]


def test_float64_and_float32_are_numpys():
    x = np.random.default_rng(2).standard_normal(1000) * 2.0 ** np.arange(-500, 500)
    assert same_bits(rounded(x, "float64"), x)
    with np.errstate(all="ignore"):
        assert same_bits(rounded(x, "float32"), x.astype(np.float32))


# --- sums -------------------------------------------------------------------------------------------------------------


def stack_of(P, n):
    rng = np.random.default_rng([P, n])
    return rng.standard_normal((P, n)) * 2.0 ** rng.integers(-4, 4, (P, n))


@pytest.mark.parametrize(("schedule", "P"), each_once(MESSAGES, [3, 4, 6, 2, 9, 1]))
def test_simulation_gives_the_bits_of_the_messages(schedule, P):
    """Rank for rank, by every schedule, in all formats, however a rank takes its own sums."""
    nodes = {6: 3, 9: 3, 4: 2}.get(P, 1) if schedule == "hierarchical" else None
    x = stack_of(P, P + 2)
    hows = itertools.product(PAIRS, (True, False), (True, False), (None, "before", "after"))
    for (accumulate, wire), per_hop, rounds_own, average in hows:
        how = {"per_hop": per_hop, "average": average}
        told, _ = mixed_precision_allreduce(x, schedule, wire, accumulate, nodes=nodes, rounds_own=rounds_own, **how)
        # who sends a sum keeps it as sent; only in recursive doubling is something added to it afterwards
        kept = "as sent" if rounds_own else "unrounded"
        own = kept if schedule == "recursive_doubling" else "unrounded"
        held = simulated_allreduce(x, schedule, accumulate, wire, own=own, kept=kept, nodes=nodes or 1, **how)
        assert same_bits(held, told), (accumulate, wire, how, rounds_own)


@pytest.mark.parametrize("schedule", ["ring", "recursive_doubling", "rabenseifner"])
def test_in_one_format_it_is_the_dense_all_reduce(schedule):
    for P, n in itertools.product(range(1, 18), (1, 5, 40)):
        x = np.random.default_rng([P, n]).standard_normal((P, n)).astype(np.float32)
        assert same_bits(simulated_allreduce(x, schedule, "float32"), COLLECTIVES[f"{schedule}_allreduce"](x)[0])


def test_in_rank_order_is_a_loop():
    for P in (1, 2, 5, 9):
        x = np.random.default_rng(P).standard_normal((P, 4)).astype(ml_dtypes.bfloat16)
        total = x[0].copy()
        for row in x[1:]:
            total = total + row
        held = simulated_allreduce(x.astype(float), "in_rank_order", "bfloat16")
        assert same_bits(held, np.repeat(total[None].astype(float), P, axis=0))


def test_halving_divides_by_the_ranks():
    x = np.random.default_rng(0).integers(-99, 100, (8, 5)).astype(float)
    for schedule in ("binomial", "recursive_doubling", "rabenseifner"):
        assert (simulated_allreduce(x, schedule, "float64", average="halving") == x.mean(axis=0)).all()


def test_values_that_are_no_numbers():
    x = np.array([[np.inf, np.nan, -0.0, 0.0, 448.0], [-np.inf, 1.0, -0.0, -0.0, 448.0]])
    for schedule in SIMULATED:
        held = simulated_allreduce(x, schedule, "float8_e4m3fn")[0]
        assert np.isnan(held[[0, 1, 4]]).all()
        assert np.signbit(held[2:4]).tolist() == [True, False]
        assert same_bits(simulated_allreduce(x, schedule, "bfloat16")[0, 3:], [0.0, 896.0])


# --- drawn roundings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SIMULATED)
def test_stochastic_roundings_go_to_neighbours_and_have_the_right_mean(schedule):
    """1 + 3/1024 in bfloat16: up, to 1 + 1/128, with probability 3/8. Of 40000 draws (2000 in plain Python) the share's
    standard deviation is 0.0025 (0.011); eight of them are a false alarm in 10^15 runs."""
    n = 40_000 if JIT else 2_000
    x = np.zeros((2, n))
    x[0], x[1] = 1.0, 3 / 1024
    held = simulated_allreduce(x, schedule, "bfloat16", rounding="stochastic", rng=np.random.default_rng(5))
    assert set(np.unique(held)) == {1.0, 1 + 1 / 128}
    assert abs((held[0] > 1).mean() - 3 / 8) < 8 * math.sqrt(3 / 8 * 5 / 8 / n)


def test_one_seed_in_the_same_bits_out():
    x = np.random.default_rng(3).standard_normal((6, 50))
    for schedule in SIMULATED:
        draws = [
            simulated_allreduce(x, schedule, "bfloat16", rounding="stochastic", rng=np.random.default_rng(seed))
            for seed in (1, 1, 2)
        ]
        assert same_bits(draws[0], draws[1])
        assert not same_bits(draws[0], draws[2])


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "star"}, "schedule must be one of ring"),
        ({"accumulate": "int8"}, "must be one of float64"),
        ({"accumulate": "bfloat16", "wire": "float16"}, "wire must be a format whose numbers bfloat16 has"),
        ({"own": "rounded"}, "own must be one of as sent"),
        ({"kept": "rounded"}, "kept must be one of as sent"),
        ({"rounding": "up"}, "rounding must be one of nearest"),
        ({"average": "twice"}, "average must be one of None"),
        ({"average": "halving"}, "halving needs a power of two"),
        ({"average": "halving", "schedule": "binomial"}, "halving needs a power of two"),
        ({"nodes": 2}, "nodes must divide the 3 ranks"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        simulated_allreduce(np.ones((3, 2)), **options)


@pytest.mark.parametrize("stack", [np.ones(3), np.ones((0, 2)), np.ones((2, 0))])
def test_a_stack_has_ranks_and_entries(stack):
    with pytest.raises(ValueError, match="stack must be"):
        simulated_allreduce(stack)


def test_stochastic_rounding_asks_for_a_generator():
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
        simulated_allreduce(np.ones((2, 2)), rounding="stochastic")


def test_strides_and_lists_do_not_matter():
    x = np.random.default_rng(0).standard_normal((4, 6))
    for other in (np.asfortranarray(x), np.hstack([x, x])[:, :6], x.tolist(), x.astype(np.longdouble)):
        assert same_bits(rounded(other, "bfloat16"), rounded(x, "bfloat16"))
        assert same_bits(simulated_allreduce(other, "ring", "bfloat16"), simulated_allreduce(x, "ring", "bfloat16"))
    assert rounded([], "bfloat16").shape == (0,)
    assert rounded(1.01, "bfloat16").shape == ()


def test_inputs_stay_and_results_are_read_only():
    x = np.random.default_rng(0).standard_normal((3, 4))
    before = x.copy()
    held = simulated_allreduce(x, "recursive_doubling", "bfloat16", own="unrounded", kept="unrounded")
    assert same_bits(x, before)
    with pytest.raises(ValueError, match="read-only"):
        held[0, 0] = 1.0
