"""64 ranks of a million entries: held to the bits of an order, and to a bound along the partial sums."""

import numpy as np
import pytest

from commbounds._arrays import FLOATS
from commbounds.testing import assert_allreduce_close, assert_replayed, replayed, schedule_order

ROUNDS = {"rounds": 5, "iterations": 1, "warmup_rounds": 1}
NORMAL = np.random.default_rng(1).standard_normal((64, 10**6), np.float32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("check", [assert_replayed, assert_allreduce_close])
def test_a_right_ring(benchmark, check, dtype):
    x, order = NORMAL.astype(FLOATS[dtype]), schedule_order("ring", 64, 10**6, dtype)
    y, options = replayed(x, order), {} if check is assert_replayed else {"allow_vacuous": True}
    benchmark.group = f"64 ranks of a million entries, {dtype}"
    benchmark.pedantic(lambda: check(y, x, order=order, **options), **ROUNDS)
