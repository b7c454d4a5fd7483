"""`commbounds.single_file`: the file works where there is numpy alone, and gives the bits and bounds of the package."""

import re
import subprocess
import sys
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from commbounds import testing
from commbounds._along import along
from commbounds.single_file import written

TEXT = written()
ALONE = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("commbounds", "ml_dtypes", "numba", "sympy", "torch", "scipy"):
            raise ImportError(name)

sys.meta_path.insert(0, Refused())
import numpy as np
from commbounds_testing import *

x = exact_inputs(8, 100)
assert_exact(x.sum(axis=0), x)
f = lambda x: (x[2] + x[0]) + (x[1] + x[3])
y = np.random.default_rng(0).standard_normal((4, 10)).astype(np.float32)
found = reveal(f, 4, 10)
print(found.order.tree_of(0))
assert_replayed(f(y), y, found.order)
assert_allreduce_close(f(y), y)
assert_allreduce_close(f(y), y, Order.from_json(found.order.to_json()))
for check in (assert_allreduce_close, lambda got, y: assert_replayed(got, y, found.order)):
    try:
        check(f(y) - y[3], y)
    except AssertionError as error:
        print(str(error).split("what fits: ")[1])
try:
    assert_exact(x[:7].sum(axis=0), x)
except AssertionError as error:
    print(str(error).split("what fits: ")[1])
"""


@pytest.fixture(scope="module")
def single():
    module = ModuleType("commbounds_testing_of_a_test")
    sys.modules[module.__name__] = module  # where dataclasses look for it
    exec(compile(TEXT, "commbounds_testing.py", "exec"), module.__dict__)
    yield module
    del sys.modules[module.__name__]


def test_it_is_short_and_works_where_numpy_is_alone(tmp_path):
    assert len(TEXT.splitlines()) < 1500
    assert "SPDX-License-Identifier: MIT" in TEXT.splitlines()[0]
    assert not re.search(r"^\s*(from|import) (numba|sympy|commbounds)", TEXT, re.MULTILINE)
    (tmp_path / "commbounds_testing.py").write_text(TEXT, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, check=True)
    missing = ["rank 3 is missing", "rank 3 is missing", "rank 7 is missing"]
    assert done.stdout.splitlines() == ["(0 + 2) + (1 + 3)", *missing]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_inputs_and_replays_have_the_bits_of_the_package(single, dtype):
    rng, form = np.random.default_rng(1), np.dtype(getattr(ml_dtypes, dtype, dtype))
    for P in (1, 2, 5, 8):
        assert single.exact_inputs(P, 40, dtype).tobytes() == testing.exact_inputs(P, 40, dtype).tobytes()
        x = (rng.standard_normal((P, 40)) * np.exp2(rng.integers(-4, 4, (P, 40)))).astype(form)
        for schedule in single.SCHEDULES_of_orders:
            for accumulate in (None, "float64"):
                for per_hop, average in ((True, None), (False, "after"), (True, "times before")):
                    how = {"accumulate": accumulate, "per_hop": per_hop, "average": average}
                    theirs = single.schedule_order(schedule, P, 40, dtype, **how)
                    ours = testing.schedule_order(schedule, P, 40, dtype, **how)
                    assert str(theirs) == str(ours)
                    got = single.replayed(x, theirs)
                    assert got.astype(float).tobytes() == testing.replayed(x, ours).astype(float).tobytes()
                    for more in ({}, {"probability": 1e-6}, {"rounding": "either neighbour"}):
                        assert single.along(x, theirs, **more).tobytes() == along(x, ours, **more).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_is_revealed_is_what_the_package_reveals(single, dtype):
    for schedule in ("ring", "rabenseifner", "binomial"):
        for average in (None, "after"):
            order = testing.schedule_order(schedule, 8, 24, dtype, accumulate="float32", average=average)
            theirs, ours = (
                module.reveal(lambda x, order=order: testing.replayed(x, order), 8, 24, dtype)
                for module in (single, testing)
            )
            assert str(theirs) == str(ours)
            assert theirs.order.to_json() == ours.order.to_json()


def test_its_bounds_accept_what_is_right_and_refuse_what_is_wrong(single):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((8, 64)).astype(np.float32)
    for order in ("ring", "binomial", "chain"):
        right = testing.replayed(x, testing.schedule_order(order, 8, 64))
        single.assert_allreduce_close(right, x)
        single.assert_allreduce_close(np.stack([right] * 8), x, order, probability=1e-6)
        single.assert_allreduce_close(right / np.float32(8), x, order, op="mean")
        single.assert_allreduce_close(right / np.float32(8), x, op="mean")
        with pytest.raises(AssertionError, match="rank 2 is counted twice"):
            single.assert_allreduce_close(right + x[2], x, order)
        with pytest.raises(AssertionError, match="the mean is"):
            single.assert_allreduce_close(right, x, op="mean")
    half = rng.standard_normal((2000, 4)).astype(np.float16)
    with pytest.raises(ValueError, match="the bound says nothing"):
        single.assert_allreduce_close(half.sum(axis=0, dtype=np.float64).astype(np.float16), half)
    for wrong in ({"op": "max"}, {"order": "star"}, {"rounding": "stochastic"}):
        with pytest.raises(ValueError, match=r"must be|are of an order|be sum or mean"):
            single.assert_allreduce_close(x.sum(axis=0), x, **wrong)
