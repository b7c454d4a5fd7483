"""`commbounds.testing.assert_quantised_close`: right all-reduces of codes are accepted, planted bugs are refused."""

import ml_dtypes
import numpy as np
import pytest
from coded_allreduces import FLOAT8, allreduce

from commbounds.testing import assert_quantised_close

CASES = [
    (kind, bits, group, scale)
    for kind, widths in (
        ("asymmetric", (2, 4, 8)),
        ("symmetric", (4, 8)),
        ("signed", (4, 8)),
        *((name, (8,)) for name in FLOAT8),
    )
    for bits in widths
    for group, scale in ((None, "float32"), (32, "float16"), (16, "bfloat16"), (32, "e8m0"))
]


@pytest.mark.parametrize("schedule", ["two_step", "one_shot", "ring"])
@pytest.mark.parametrize(("kind", "bits", "group", "scale"), CASES)
def test_right_ones_are_accepted_and_a_lost_rank_is_not(kind, bits, group, scale, schedule):
    refused = 0
    for P in range(1, 10):
        for inverse in (False, True):
            rng = np.random.default_rng([P, inverse])
            dtype = (np.float32, ml_dtypes.bfloat16, np.float16)[P % 3]
            x = (rng.standard_normal((P, 101)) * (P % 4 + 1)).astype(dtype)
            x[:, :3] = 0
            if P % 4 == 3:
                x[:, ::5] = x[:, ::5].astype(np.float32).round().astype(dtype)  # half-way between steps
            y = allreduce(x, schedule, dtype, rng, kind, bits, group, scale, inverse)
            promised = {"bits": bits, "group": group, "codes": kind, "scale": scale, "schedule": schedule}
            assert_quantised_close(y, x, **promised)
            try:
                assert_quantised_close(
                    allreduce(0 * x, schedule, dtype, rng, kind, bits, group, scale, False), x, **promised
                )
            except AssertionError:
                refused += 1
    assert refused > 8 or (schedule == "ring" and bits == 2)


@pytest.mark.parametrize("P", [8, 64])
def test_a_lost_rank_is_named(P):
    rng = np.random.default_rng(P)
    x = rng.standard_normal((P, 2048)).astype(ml_dtypes.bfloat16)
    how = ("symmetric", 8, 128, "float32", False)
    promised = {"codes": "symmetric", "group": 128}
    assert_quantised_close(allreduce(x, "two_step", x.dtype, rng, *how), x, **promised)
    lost = x.copy()
    lost[5] = 0
    with pytest.raises(AssertionError, match="rank 5 is missing"):
        assert_quantised_close(allreduce(lost, "two_step", x.dtype, rng, *how), x, **promised)


def test_all_ranks_are_compared():
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    y = allreduce(x, "one_shot", np.float32, np.random.default_rng(1), "asymmetric", 8, None, "float32", False)
    assert_quantised_close([y] * 4, list(x), schedule="one-shot")
    with pytest.raises(AssertionError, match="on rank 2 are beyond"):
        assert_quantised_close([y, y, y + 1, y], x, schedule="one-shot")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bits": 1}, "bits must be an integer"),
        ({"bits": 4, "codes": "float8_e5m2"}, "bits of float8_e5m2 are 8"),
        ({"codes": "odd"}, "codes must be one of"),
        ({"scale": "int8"}, "scale must be one of"),
        ({"group": 0}, "group must be at least 1"),
        ({"schedule": "tree"}, "schedule must be one of"),
        ({"inputs": np.full((2, 3), np.inf, np.float32)}, "must be finite"),
        ({"actual": np.zeros(4, np.float32)}, "must have the shape"),
    ],
)
def test_what_cannot_be_judged_is_rejected(change, says):
    asked = {"actual": np.zeros(3, np.float32), "inputs": np.zeros((2, 3), np.float32), **change}
    with pytest.raises(ValueError, match=says):
        assert_quantised_close(asked.pop("actual"), asked.pop("inputs"), **asked)
