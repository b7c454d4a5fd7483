"""Orders of additions: those of schedules are what is simulated, and results are held to their bits."""

import numpy as np
import pytest
import sympy

from commbounds import _orders, _replayed
from commbounds._arrays import FLOATS
from commbounds._orders import (
    _CHAINS,
    _IN_NODES,
    _PARTS,
    AVERAGES,
    SCHEDULES,
    Order,
    _trees,
    by_messages,
    double_binary_tree,
    replayed,
    schedule_order,
)
from commbounds.collectives import dense
from commbounds.collectives.precision import simulated_allreduce
from commbounds.testing import assert_allreduce_close, assert_replayed
from commbounds.theory import tolerance
from commbounds.theory.precision.roundings import roundings

FORMATS = [  # sent, accumulator, whether sums are rounded at every hop
    ("bfloat16", "bfloat16", True),
    ("bfloat16", "float32", True),
    ("bfloat16", "float32", False),
    ("float8_e4m3fn", "bfloat16", True),
    ("float16", "float32", False),
    ("float32", "float32", True),
    ("float32", "float64", False),
    ("float64", "float64", True),
]


def gaussian(P, n, dtype, seed=0):
    return np.random.default_rng([P, n, seed]).standard_normal((P, n)).astype(np.float32).astype(FLOATS[dtype])


def divisors(P):
    return [q for q in range(1, P + 1) if P % q == 0]


@pytest.mark.parametrize("schedule", ["ring", "recursive_doubling", "rabenseifner", "binomial", "hierarchical"])
def test_schedules_give_the_bits_that_are_simulated(schedule):
    for P in (*range(1, 10), 16):
        for sent, wide, hops in FORMATS:
            if schedule == "recursive_doubling" and P & (P - 1) and wide != sent and hops:
                continue  # the simulation rounds what a rank keeps in the first step, where nothing is exchanged
            own = "as sent" if schedule == "recursive_doubling" else "unrounded"
            for nodes in divisors(P) if schedule == "hierarchical" else [None]:
                x = gaussian(P, 21, sent)
                order = schedule_order(schedule, P, 21, sent, accumulate=wide, per_hop=hops, nodes=nodes)
                simulated = simulated_allreduce(
                    x.astype(float), schedule, wide, sent, per_hop=hops, own=own, nodes=nodes or 1
                )
                assert (replayed(x, order).astype(float) == simulated[0]).all()


@pytest.mark.parametrize("per_hop", [True, False])
@pytest.mark.parametrize("schedule", _CHAINS)
def test_chains_of_blocks_are_what_messages_amount_to(schedule, per_hop):
    for P in range(1, 10):
        for rank in {0, P - 1}:
            told = by_messages(_PARTS[schedule][0](P, None), P, P, per_hop, rank, range(P))
            assert _trees(schedule, P, None, per_hop, rank) == told


def test_a_refusal_of_many_equal_ranks_does_not_take_long(monkeypatch):
    added = []
    monkeypatch.setattr(_replayed, "replayed", lambda terms, order: added.append(terms.size) or replayed(terms, order))
    x = np.ones((4096, 64), np.float32)
    with pytest.raises(AssertionError, match="64 of 64 entries have other bits"):
        assert_replayed(x.sum(axis=0) + 1, x, "in_rank_order")
    assert sum(added) <= _replayed._WORK


@pytest.mark.parametrize("schedule", ["ring", "recursive_doubling", "rabenseifner", "butterfly"])
def test_our_own_all_reduces_give_the_bits_of_their_orders(schedule):
    for P in range(1, 10):
        x = gaussian(P, 40, "float32")
        name = "direct" if schedule == "butterfly" else schedule
        assert_replayed(getattr(dense, f"{schedule}_allreduce")(x)[0], x, name)


def test_a_chain_and_a_double_tree_add_as_messages_tell():
    for P in range(1, 14):
        x = gaussian(P, 30, "float32")
        total = x[-1]
        for row in x[-2::-1]:
            total = total + row
        assert_replayed(total, x, "chain")
        for nodes in divisors(P):
            halves = []
            for messages, part in zip(double_binary_tree(P, P // nodes), (x[:, :15], x[:, 15:]), strict=True):
                held = list(part)
                for source, target in messages:
                    held[target] = held[target] + held[source]
                roots = set(range(P)) - {source for source, _ in messages}
                assert len(roots) == 1
                halves.append(held[roots.pop()])
            assert_replayed(np.concatenate(halves), x, "double_binary_tree", nodes=nodes)


def test_a_term_of_the_double_tree_passes_two_additions_a_level_but_one():
    for P in range(2, 200):
        for tree in schedule_order("double_binary_tree", P, 2).trees:
            assert tree.depths().max() <= 2 * (P - 1).bit_length() - 1
    assert max(t.depths().max() for t in schedule_order("double_binary_tree", 8, 2).trees) == 5  # where a tree has 3


def test_means_are_divided_where_the_order_says():
    x = gaussian(6, 50, "bfloat16")
    six = x.dtype.type(6)
    share = (np.float32(1) / np.float32(6)).astype(x.dtype)

    def total(rows):
        for row in rows[1:]:
            rows[0] = rows[0] + row
        return rows[0]

    wide = total(list(x.astype(np.float32)))
    made = {
        None: total(list(x)),
        "after": total(list(x)) / six,
        "before": total(list(x / six)),
        "times after": total(list(x)) * share,
        "times before": total(list(x * share)),
    }
    in_wide = {
        "in accumulator": (wide / np.float32(6)).astype(x.dtype),
        "times in accumulator": (wide * (np.float32(1) / np.float32(6))).astype(x.dtype),
    }
    assert {*made, *in_wide} == set(AVERAGES)
    for average, result in made.items():
        assert_replayed(result, x, "in_rank_order", average=average)
    for average, result in in_wide.items():
        assert_replayed(result, x, "in_rank_order", average=average, accumulate="float32", per_hop=False)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_orders_are_written_and_read(schedule):
    for P in (1, 2, 3, 8, 12):
        nodes = 2 if schedule == "hierarchical" and P % 2 == 0 else None
        order = schedule_order(schedule, P, 30, "bfloat16", accumulate="float32", nodes=nodes)
        assert Order.from_json(order.to_json()) == order
        if P > 2:
            assert schedule_order(schedule, P, 31, nodes=nodes).name.split(",")[0] in SCHEDULES
        assert f"{P} ranks, 30 entries" in str(order)


def refused(actual, x, order, **options):
    with pytest.raises(AssertionError) as caught:
        assert_replayed(actual, x, order, **options)
    return str(caught.value).partition("what fits: ")[2]


def test_mistakes_are_named():
    P, n = 16, 400
    x = gaussian(P, n, "bfloat16")
    ring = schedule_order("ring", P, n, "bfloat16")
    for factor, words in ((0, "is missing"), (2, "is counted twice"), (-1, "has the wrong sign")):
        y = x.copy()
        y[7] = (factor * y[7].astype(float)).astype(y.dtype)
        assert refused(replayed(y, ring), x, "ring").startswith(f"rank 7 {words}, which passes ")
    assert "the order of additions is rabenseifner" in refused(
        replayed(x, schedule_order("rabenseifner", P, n, "bfloat16")), x, "ring"
    )
    wide = schedule_order("ring", P, n, "bfloat16", accumulate="float32", per_hop=False)
    assert "accumulated in float32, rounded once" in refused(replayed(x, wide), x, "ring")
    assert "accumulated in bfloat16, rounded at every hop" in refused(
        replayed(x, ring), x, "ring", accumulate="float32", per_hop=False
    )
    y = replayed(x, ring)
    y[25:50] = x[3, 25:50]
    assert refused(y, x, ring) == "the result is the input of rank 3, not reduced, in entries 25 to 49"
    y = replayed(x, ring)
    y[300] = 0.5
    assert refused(np.stack([replayed(x, ring), y] * 8), x, ring) == "none of the mistakes that are known here"
    assert "the mean is divided after" in refused(replayed(x, ring) / x.dtype.type(P), x, ring)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"order": "spiral"}, ValueError, "schedule must be one of"),
        ({"nodes": 3}, ValueError, "must divide P"),
        ({"accumulate": "bfloat16"}, ValueError, "accumulate must hold"),
        ({"average": "before lunch"}, ValueError, "average must be one of"),
        ({"order": schedule_order("ring", 4, 10), "nodes": 2}, TypeError, "an order has its own"),
        ({"order": schedule_order("ring", 4, 11)}, ValueError, "as the order is"),
        ({"actual": np.zeros(9, np.float32)}, ValueError, "must have the shape"),
        ({"actual": np.zeros(10)}, TypeError, "must be of the inputs' format"),
        ({"inputs": np.zeros((0, 10), np.float32)}, ValueError, "at least one rank"),
    ],
)
def test_what_cannot_be_replayed_is_refused(change, error, says):
    asked = {"actual": np.zeros(10, np.float32), "inputs": np.zeros((4, 10), np.float32), "order": "ring", **change}
    with pytest.raises(error, match=says):
        assert_replayed(asked.pop("actual"), asked.pop("inputs"), asked.pop("order"), **asked)


@pytest.mark.wide
@pytest.mark.parametrize(("dtype", "kernel"), [("float32", "_added"), ("bfloat16", "_rounded_sums")])
def test_a_million_entries_are_added_by_few_calls_of_a_kernel(dtype, kernel, monkeypatch):
    compiled, calls = getattr(_orders, kernel), []
    monkeypatch.setattr(_orders, kernel, lambda terms, *more: calls.append(terms.shape[1]) or compiled(terms, *more))
    assert (replayed(np.ones((64, 10**6), FLOATS[dtype]), schedule_order("ring", 64, 10**6, dtype)) == 64).all()
    assert sum(calls) == 10**6
    assert len(calls) <= 10**6 / 2048 + 1


# --- as many roundings as the theory counts --------------------------------------------------------------------------


def _of_paths(tree):
    """The additions that a term passes at most, and how often a sum that it is part of is sent at most."""
    P, added, sent = tree.ranks, np.zeros(2 * tree.ranks - 1, int), np.zeros(2 * tree.ranks - 1, int)
    for k, pair in reversed(list(enumerate(tree.additions.tolist()))):
        added[pair], sent[pair] = added[P + k] + 1, sent[P + k] + tree.sent[k]
    return added[:P].max(), sent[:P].max()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_term_is_rounded_more_often_than_counted(schedule):
    exact = 0
    for P in [*range(1, 18), 32, 33]:
        for nodes in [q for q in range(1, P + 1) if P % q == 0] if schedule in _IN_NODES else [None]:
            for per_hop in (True, False):
                # float32 takes up bfloat16, so that sums stay in it where they are not sent
                order = schedule_order(
                    schedule, P, 4 * P, "bfloat16", accumulate="float32", per_hop=per_hop, nodes=nodes
                )
                counted = roundings(schedule, per_hop=per_hop)
                values = {"P": P, "nodes": nodes or P}
                most = [
                    int(e.xreplace({s: sympy.Integer(values[s.name]) for s in e.free_symbols}).doit())
                    for e in (counted.additions, counted.hops)
                ]
                found = np.max([_of_paths(tree) for tree in order.trees], axis=0)
                assert (found <= most).all() or P == 1
                exact += found[0] == most[0]
    assert exact > 8


def test_the_trees_of_pat_are_binomial_around_every_owner():
    for P in range(1, 10):
        x = gaussian(P, 3 * P, "float32")
        found = replayed(x, schedule_order("pat", P, 3 * P))
        for owner in range(P):
            held = [x[(owner + offset) % P, 3 * owner : 3 * owner + 3] for offset in range(P)]
            near = 1
            while near < P:
                for offset in range(near, P, 2 * near):
                    held[offset - near] = held[offset - near] + held[offset]
                near *= 2
            assert (found[3 * owner : 3 * owner + 3] == held[0]).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("positive", [False, True])
def test_sums_of_a_switch_keep_to_their_bound(dtype, positive):
    """Chains of nodes in the format that is sent, then any order in float32, rounded once."""
    tightest = 0.0
    for run in range(60):
        rng = np.random.default_rng(run)
        nodes, members = int(rng.integers(1, 10)), int(rng.integers(1, 10))
        x = rng.standard_normal((nodes, members, 30))
        x = (np.abs(x) if positive else x).astype(FLOATS[dtype])
        sums = x[:, -1]
        for m in range(members - 2, -1, -1):
            sums = x[:, m] + sums
        sums = list(sums.astype(np.float32))
        while len(sums) > 1:
            a, b = (sums.pop(int(rng.integers(len(sums)))) for _ in range(2))
            sums.append(a + b)
        total, flat = sums[0].astype(x.dtype), x.reshape(-1, 30)
        assert_allreduce_close(total, flat, schedule="collnet", nodes=nodes, allow_vacuous=True)
        if members == 1:
            assert_allreduce_close(total, flat, schedule="nvls", allow_vacuous=True)
        bound = float(tolerance(P=len(flat), dtype=dtype, schedule="collnet", nodes=nodes).sure)
        wide = flat.astype(float)
        off = np.abs(total.astype(float) - wide.sum(axis=0)) / np.abs(wide).sum(axis=0)
        tightest = max(tightest, float(off.max()) / bound) if bound else tightest
    assert tightest > 0.3
