"""The all-reduce in two formats: its roundings, bit for bit, and what it refuses."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from commbounds.collectives.precision import added_in, mixed_precision_allreduce, rounded_to, uniforms_shape
from commbounds.theory.precision.formats import FORMATS
from commbounds.verify.definitions import precision as naive

PAIRS = (
    ("bfloat16", None, True),
    ("bfloat16", "float32", True),
    ("float16", "float32", False),
    ("float8_e4m3fn", "bfloat16", True),
    ("float8_e5m2", "float16", False),
    ("float32", "float64", True),
    ("float64", None, True),
)


def nodes_of(schedule, P):
    return {"nodes": max(k for k in (1, 2, 3) if P % k == 0)} if schedule == "hierarchical" else {}


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32"])
def test_rounding_is_that_of_the_dtype_and_of_the_twin(name):
    known, dtype = FORMATS[name], np.dtype(getattr(ml_dtypes, name, name))
    rng = np.random.default_rng(7)
    x = (rng.standard_normal(4000) * 2.0 ** rng.integers(-14, 8, 4000)).astype(np.float32)
    edge = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for values in (x, edge):
            expected = values.astype(dtype).astype(np.float64)
            found = rounded_to(values, known)
            if name != "float8_e4m3fn" or values is x:
                assert np.array_equal(found, expected, equal_nan=True)
                assert (np.signbit(found) == np.signbit(expected))[~np.isnan(found)].all()
    uniforms = rng.random(4000)
    either = rounded_to(x, known, uniforms)
    for value, uniform, result in zip(x.tolist()[:300], uniforms.tolist(), either.tolist(), strict=False):
        if abs(value) < float(known.largest):
            assert naive.number(value, name, uniform) == result
    assert rounded_to([1e40, -1e40], known, saturates=True).tolist() == [float(known.largest), -float(known.largest)]


def test_float64_rounds_to_eight_bits_once_where_ml_dtypes_rounds_twice():
    beside = np.nextafter(-432.0, 0.0)  # a little nearer to -416 than to -448
    assert rounded_to(beside, FORMATS["float8_e4m3fn"]) == -416.0
    assert float(np.float64(beside).astype(ml_dtypes.float8_e4m3fn)) == -448.0


def test_stochastic_sums_keep_what_float64_loses():
    known = FORMATS["float64"]
    # 1 + 2^-54 is a quarter of the way to the next number
    assert added_in(1.0, 2.0**-54, known, 0.2499) == 1.0 + 2.0**-52
    assert added_in(1.0, 2.0**-54, known, 0.25) == 1.0
    assert added_in(1.0, -(2.0**-55), known, 0.74) == 1.0
    assert added_in(1.0, -(2.0**-55), known, 0.76) == 1.0 - 2.0**-53
    # half-way to the number below a power of two, of which the smallest number is lost
    for sign in (1.0, -1.0):
        found = [added_in(sign * 2.0**-1020, -sign * 2.0**-1074, known, u) for u in (0.49, 0.51)]
        assert sorted(found) == sorted([sign * 2.0**-1020, sign * (2.0**-1020 - 2.0**-1073)])


def test_owners_that_keep_their_sums_disagree():
    stack = [[1.0, 1.0], [2.0**-9, 2.0**-9]]
    for schedule in ("ring", "recursive_doubling"):
        kept, _ = mixed_precision_allreduce(np.array(stack), schedule, "bfloat16", "float32", rounds_own=False)
        same, _ = mixed_precision_allreduce(np.array(stack), schedule, "bfloat16", "float32")
        assert (same == same[0]).all()
        assert (kept == 1.0 + 2.0**-9).any()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"schedule": "star"}, ValueError, r"schedule must be one of ring, .* got 'star'"),
        ({"wire": "int8"}, ValueError, r"the format must be one of .* got 'int8'"),
        ({"wire": "bfloat16", "accumulate": "float16"}, ValueError, "accumulate must hold all numbers"),
        ({"wire": "float64"}, TypeError, "stack must be of a dtype that holds all numbers of float64, got float32"),
        ({"average": "never"}, ValueError, "average must be None, before or after, got 'never'"),
        ({"nodes": 2}, ValueError, "nodes must be None unless the schedule is hierarchical, got 2"),
        ({"accumulate": ""}, ValueError, "the format must be one of"),
        ({"schedule": "hierarchical"}, ValueError, "nodes must divide the 3 ranks, got None"),
        ({"schedule": "hierarchical", "nodes": 2}, ValueError, "nodes must divide the 3 ranks, got 2"),
        ({"uniforms": np.zeros((1, 3, 2))}, ValueError, "uniforms must have shape"),
        ({"uniforms": np.ones((6, 3, 2))}, ValueError, "uniforms must be in"),
        ({"rng": 3}, TypeError, "rng must be a numpy Generator"),
        ({"rng": np.random.default_rng(0), "average": "after"}, ValueError, "average must be None where roundings"),
    ],
)
def test_what_makes_no_sense_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        mixed_precision_allreduce(np.ones((3, 2), np.float32), **given)


def test_the_shape_of_uniforms_follows_the_steps_that_add():
    for schedule, P in itertools.product(("ring", "direct"), (1, 2, 5)):
        assert uniforms_shape(schedule, P, 7) == (2 * (P - 1) + 2, P, 7)
    assert uniforms_shape("binomial", 5, 2) == uniforms_shape("recursive_doubling", 5, 2) == (8, 5, 2)
