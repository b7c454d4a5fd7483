"""`commbounds.testing.reveal`: orders that are kept secret are found, and what has none is said."""

import math

import numpy as np
import pytest

from commbounds._arrays import FLOATS
from commbounds._orders import SCHEDULES, Order, canonical, replayed, schedule_order
from commbounds.testing import Revealed, assert_allreduce_close, assert_replayed, reveal


def renamed(order, rng):
    """The order with its ranks in a secret order."""
    secret = rng.permutation(order.P)
    trees = []
    for tree in order.trees:
        pairs = tree.additions
        pairs[pairs < order.P] = secret[pairs[pairs < order.P]]
        trees.append(canonical(pairs, tree.sent))
    return Order(order.P, order.n, order.dtype, order.accumulate, tuple(trees), order.stretches, order.average)


def asked(order):
    found = reveal(lambda x: replayed(x, order), order.P, order.n, order.dtype)
    assert found.unknown == ()
    assert found.deterministic
    return found


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_secret_orders_are_found(schedule):
    rng = np.random.default_rng(2)
    for P, n, dtype in (
        (1, 5, "float32"),
        (2, 5, "bfloat16"),
        (3, 20, "float16"),
        (8, 50, "bfloat16"),
        (9, 64, "float64"),
    ):
        nodes = {8: 2, 9: 3}.get(P) if schedule in ("hierarchical", "double_binary_tree") else None
        order = renamed(schedule_order(schedule, P, n, dtype, nodes=nodes), rng)
        assert asked(order).order == order


def test_accumulators_and_what_is_rounded_on_the_way_are_found():
    for P in (4, 8):
        for sent, wide in (("bfloat16", "float32"), ("float16", "float32"), ("float32", "float64")):
            for per_hop in (True, False):
                for schedule in ("ring", "rabenseifner", "double_binary_tree", "direct"):
                    order = schedule_order(schedule, P, 40, sent, accumulate=wide, per_hop=per_hop)
                    found = asked(order).order
                    x = np.random.default_rng(9).standard_normal((P, 40)).astype(FLOATS[sent])
                    assert_replayed(replayed(x, order), x, found)
                    if order.rounds != "every hop":
                        assert found == order


@pytest.mark.parametrize(
    ("average", "wide"),
    [
        *((average, None) for average in ("after", "before", "times after", "times before")),
        *((average, "float32") for average in ("in accumulator", "times in accumulator")),
    ],
)
def test_means_are_found(average, wide):
    order = schedule_order("ring", 6, 60, "bfloat16", accumulate=wide, per_hop=wide is None, average=average)
    found = asked(order).order
    x = np.random.default_rng(9).standard_normal((6, 60)).astype(FLOATS["bfloat16"])
    assert_replayed(replayed(x, order), x, found)


def test_more_ranks_than_ones_can_be_counted():
    rng = np.random.default_rng(4)
    for schedule in ("double_binary_tree", "recursive_doubling"):
        order = renamed(schedule_order(schedule, 300, 2000, "bfloat16"), rng)
        assert asked(order).order == order


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["ring", "double_binary_tree", "recursive_doubling"])
def test_a_thousand_ranks(schedule):
    order = renamed(schedule_order(schedule, 1024, 4096, "bfloat16"), np.random.default_rng(4))
    assert asked(order).order == order


def test_one_entry_is_enough():
    for P in (3, 4, 7):
        order = schedule_order("binomial", P, 1, "bfloat16")
        assert asked(order).order == order


def test_ranks_that_differ_are_seen():
    def f(x):
        return np.stack([x.sum(axis=0), *([x[::-1].cumsum(axis=0)[-1]] * 4)])

    assert reveal(f, 5, 30).same_bits is False
    assert reveal(lambda x: np.stack([x.cumsum(axis=0)[-1]] * 5), 5, 30).same_bits is True


def test_what_cannot_be_found_out_is_said():
    rng = np.random.default_rng(1)

    def hurried(x):
        return x[rng.permutation(len(x))].cumsum(axis=0)[-1]

    def exact(x):
        return np.array(
            [float(sum(map(int, (column * 2.0**149).tolist()))) * 2.0**-149 for column in x.T.astype(object)]
        )

    def fused(x):
        halves = [[math.fsum(column[at].tolist()) for column in x.T] for at in (slice(0, 3), slice(3, 6))]
        return np.array(halves[0], x.dtype) + np.array(halves[1], x.dtype)

    def truncated(x):
        total = x[0].astype(np.float64)
        for row in x[1:]:
            total = total + row
            kept = total.astype(np.float32)
            total = np.where(np.abs(kept) > np.abs(total), np.nextafter(kept, np.float32(0)), kept).astype(np.float64)
        return total.astype(np.float32)

    found = reveal(hurried, 6, 40)
    assert not found.deterministic
    assert "the second time" in found.unknown[0]
    assert "exact in effect" in reveal(lambda x: exact(x).astype(x.dtype), 6, 40).unknown[0]
    assert "predict" in reveal(truncated, 6, 40).unknown[0]
    for f in (hurried, fused, truncated):
        assert reveal(f, 6, 40).order is None


def test_bits_of_other_orders_in_a_wider_format_are_told_apart():
    """Of float16 terms few sums show in which order float32 added them, unless large ones cancel."""
    rng = np.random.default_rng(4)
    order = renamed(schedule_order("binomial", 100, 64, "float16", accumulate="float32", per_hop=False), rng)
    assert asked(order).order == order


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [
        *((dtype, None) for dtype in ("float8_e4m3fn", "float8_e5m2")),
        *(("float8_e4m3fn", "bfloat16"), ("float8_e5m2", "float16"), ("float8_e5m2", "float32")),
    ],
)
def test_orders_of_few_digits_are_found(dtype, wide):
    rng = np.random.default_rng(6)
    for P, n, schedule in ((6, 31, "ring"), (12, 30, "binomial"), (40, 64, "rabenseifner")):
        order = renamed(schedule_order(schedule, P, n, dtype, accumulate=wide, per_hop=wide is None), rng)
        assert asked(order).order == order
    if wide is None:
        return
    exact = reveal(lambda x: x.astype(np.float64).sum(axis=0).astype(x.dtype), 6, 30, dtype)
    assert exact.order is None or exact.order.accumulate == "float64"


@pytest.mark.parametrize("divided", [np.divide, lambda total, P: total * (np.float32(1) / P)])
def test_means_of_an_accumulator_are_replayed_and_bounded(divided):
    def f(x):
        return divided(np.add.reduce(x.astype(np.float32), axis=0), np.float32(len(x))).astype(x.dtype)

    x = np.random.default_rng(5).standard_normal((7, 300)).astype(FLOATS["bfloat16"])
    order = reveal(f, 7, 300, "bfloat16").order
    assert order.average.endswith("in accumulator")
    assert_replayed(f(x), x, order)
    assert_allreduce_close(f(x), x, op="mean", order=order)
    with pytest.raises(AssertionError, match="divided in accumulator"):
        assert_replayed(f(x), x, Order(*list(order.__dict__.values())[:-1], "after"))


def test_flushed_subnormals_are_seen():
    def f(x):
        total = x.cumsum(axis=0)[-1]
        return np.where(np.abs(total) < np.finfo(np.float32).tiny, np.float32(0), total)

    assert reveal(f, 4, 20).subnormals == "flushed"


def test_findings_are_written_read_and_compared():
    ring = asked(schedule_order("ring", 8, 40, "bfloat16"))
    tree = asked(schedule_order("binomial", 8, 40, "bfloat16"))
    assert Revealed.from_json(ring.to_json()) == ring
    assert ring.differences(ring) == []
    assert "the order is ring in bfloat16" in ring.differences(tree)[0]
    assert "ring; bfloat16, rounded at every hop" in str(ring)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"P": 0}, "P must be"),
        ({"n": True}, "n must be"),
        ({"dtype": "float8"}, "dtype must be one of float64"),
        ({"f": lambda x: x[0][:3]}, "the result must be"),
        ({"f": lambda x: x.max(axis=0) * np.float32(2)}, "neither a sum nor a mean"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, says):
    asked = {"f": lambda x: x.sum(axis=0), "P": 4, "n": 10, "dtype": "float32", **change}
    with pytest.raises(ValueError, match=says):
        reveal(**asked)
