"""Quantised all-reduces: who agrees with whom, and every byte."""

import numpy as np
import pytest

from commbounds.collectives.flashcomm.allreduce import (
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer, TopK
from commbounds.theory.schedules import EXACT, SCHEDULES, evaluated
from commbounds.verify.definitions import flashcomm as naive

pytestmark = pytest.mark.kernels
RNG = np.random.default_rng(3)
FLAT = (twostep_quantised_allreduce, ring_quantised_allreduce, oneshot_quantised_allreduce)
EACH = pytest.mark.parametrize("allreduce", FLAT, ids=lambda f: f.__name__)
SIZES = [(1, 5), (2, 1), (2, 7), (3, 8), (4, 64), (5, 3), (8, 100)]


def stack_of(P, n, dtype=np.float32):
    return RNG.standard_normal((P, n)).astype(dtype)


@EACH
@pytest.mark.parametrize(("P", "n"), SIZES)
def test_ranks_agree_bit_for_bit_and_bytes_are_those_of_the_messages(allreduce, P, n):
    stack, q = stack_of(P, n), GroupQuantizer(3, 8, metadata="float16")
    result, traffic = allreduce(stack, q)
    assert all(row.tobytes() == result.values[0].tobytes() for row in result.values)
    assert result.moves.sum(axis=(0, 2)).tolist() == traffic.sent.tolist()
    assert result.moves.sum(axis=(0, 1)).tolist() == traffic.received.tolist()
    sizes = [len(block) for block in naive.parts(n, P)]
    # bytes of a message: packed planes of two bits and of one, and four bytes of metadata a group
    message = [-(-size * 2 // 8) + -(-size // 8) + 4 * -(-size // 8) for size in (n, *sizes)]
    whole, blocks = message[0], message[1:]
    if allreduce is oneshot_quantised_allreduce:
        assert traffic.sent.tolist() == [(P - 1) * whole] * P
        assert traffic.steps == min(P - 1, 1)
    elif allreduce is twostep_quantised_allreduce:
        assert traffic.sent.tolist() == [sum(blocks) - blocks[j] + (P - 1) * blocks[j] for j in range(P)]
        assert traffic.received.tolist() == traffic.sent.tolist()
        assert traffic.steps == 2 * min(P - 1, 1)
    else:
        assert traffic.sent.sum() == 2 * (P - 1) * sum(blocks)
        assert traffic.steps == 2 * (P - 1)
        assert traffic.critical_path == 2 * (P - 1) * max(blocks)
    assert traffic.messages.tolist() == [{1: P - 1, 2: 2 * (P - 1)}.get(traffic.steps, 2 * (P - 1)) if P > 1 else 0] * P


@pytest.mark.parametrize("node", [1, 2, 4, 8])
def test_a_hierarchy_sends_every_block_over_the_bridge_once(node):
    stack, q = stack_of(8, 4096), GroupQuantizer(4, 64, metadata="float16")
    whole = q.compress(stack[0]).bits // 8
    result, traffic = hierarchical_quantised_allreduce(stack, q, node)
    assert all(row.tobytes() == result.values[0].tobytes() for row in result.values)
    assert traffic.steps == {1: 1, 8: 2}.get(node, 3)
    if node == 4:
        assert result.bridge_bytes(4) == (whole, whole)
        assert twostep_quantised_allreduce(stack, q)[0].bridge_bytes(4) == (4 * whole, 4 * whole)
        assert ring_quantised_allreduce(stack, q)[0].bridge_bytes(4) == (7 * whole // 4, 7 * whole // 4)
        # within the nodes: three quarters of a vector, twice; across: a quarter
        assert traffic.sent.tolist() == [2 * 3 * whole // 4 + whole // 4] * 8


def test_a_hierarchy_of_one_node_is_the_two_step():
    stack, q = stack_of(4, 100), GroupQuantizer(4, 8)
    flat, traffic = twostep_quantised_allreduce(stack, q)
    one, counted = hierarchical_quantised_allreduce(stack, q, 4)
    assert one.values.tobytes() == flat.values.tobytes()
    assert counted.as_dict() == traffic.as_dict()


def test_who_keeps_what_was_not_coded_disagrees():
    stack, q = stack_of(4, 64), GroupQuantizer(2, 8)
    kept, traffic = twostep_quantised_allreduce(stack, q, owner_reads_its_code=False)
    read, same = twostep_quantised_allreduce(stack, q)
    assert traffic.as_dict() == same.as_dict()
    for j, block in enumerate(naive.parts(64, 4)):
        others = [i for i in range(4) if i != j]
        assert (kept.values[others][:, block] == read.values[others][:, block]).all()
        assert (kept.values[j, block] != read.values[j, block]).any()
    halves, _ = hierarchical_quantised_allreduce(stack, q, 2, both_read_both=False)
    assert (halves.values[0] == halves.values[1]).all()
    assert (halves.values[0] != halves.values[2]).any()


def test_stochastic_rounding_draws_for_every_block_or_takes_what_is_injected():
    stack, q = stack_of(3, 12, np.float64), StochasticGroupQuantizer(2, 4, "float64")
    for allreduce in FLAT:
        with pytest.raises(TypeError, match="rng must be"):
            allreduce(stack, q)
        first, again = (allreduce(stack, q, rng=np.random.default_rng(1))[0].values for _ in range(2))
        assert first.tobytes() == again.tobytes()
        assert first.tobytes() != allreduce(stack, q, rng=np.random.default_rng(2))[0].values.tobytes()
    same = np.repeat(stack[:1], 3, axis=0)
    down = twostep_quantised_allreduce(same, q, draw=lambda stage, rank: np.full(12, 1 - 2.0**-53))[0].values
    up = twostep_quantised_allreduce(same, q, draw=lambda stage, rank: np.zeros(12))[0].values
    assert (down <= up).all()
    assert (down < up).any()
    # identical ranks with identical uniforms err alike; with draws of their own they do not
    drawn = twostep_quantised_allreduce(same, q, rng=np.random.default_rng(0))[0].values
    assert (down != drawn).any()
    assert (up != drawn).any()


def test_mixed_widths_are_quantised_as_they_say():
    stack = stack_of(4, 1000)
    four, eight = GroupQuantizer(4, 50), GroupQuantizer(8, 50)
    _, traffic = twostep_quantised_allreduce(stack, four, eight)
    blocks = [four.compress(stack[0, :250]).bits // 8, eight.compress(stack[0, :250]).bits // 8]
    assert traffic.sent.tolist() == [3 * sum(blocks)] * 4


def test_one_rank_quantises_and_sends_nothing():
    stack, q = stack_of(1, 10), GroupQuantizer(3, 4)
    for allreduce in FLAT:
        result, traffic = allreduce(stack, q)
        assert (traffic.steps, traffic.sent.tolist()) == (0, [0])
        # coding twice is coding once, up to rounding of the levels
        assert result.values[0] == pytest.approx(q(stack[0]), abs=4 * 8 * 2.0**-23)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros((2, 0)), GroupQuantizer(4)), ValueError, "at least one rank and one entry"),
        ((np.zeros(3), GroupQuantizer(4)), ValueError, "must be"),
        ((np.full((2, 2), np.nan), GroupQuantizer(4)), ValueError, "must be finite"),
        ((np.zeros((2, 2), int), GroupQuantizer(4)), TypeError, "must be float32 or float64"),
        ((np.zeros((2, 2)), TopK(1)), TypeError, "quantiser must be a GroupQuantizer"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    for allreduce in FLAT:
        with pytest.raises(error, match=message):
            allreduce(*arguments)


def test_other_bad_input_is_refused():
    stack = np.zeros((4, 8), np.float32)
    with pytest.raises(TypeError, match="second must be a GroupQuantizer"):
        twostep_quantised_allreduce(stack, GroupQuantizer(4), 8)
    for node, message in ((3, "node must divide"), (0, "node must be in"), (5, "node must be in")):
        with pytest.raises(ValueError, match=message):
            hierarchical_quantised_allreduce(stack, GroupQuantizer(4), node)


def test_inputs_are_left_alone():
    stack = stack_of(3, 20)
    stack.flags.writeable = False
    before = stack.copy()
    for allreduce in FLAT:
        assert allreduce(stack[:, ::2], GroupQuantizer(4, 8))[0].values.shape == (3, 10)
    assert stack.tobytes() == before.tobytes()


@pytest.mark.parametrize("P", range(1, 10))
@pytest.mark.parametrize("n", [1, 5, 64, 257])
def test_schedules_are_what_is_moved(P, n):
    names = dict(zip(("twostep", "ring_quantised", "oneshot"), FLAT, strict=True))
    for width, group in ((8, 128), (4, 32), (3, 7), (5, 1)):
        sizes = {"P": P, "n": n, "k": 1, "nodes": 1, "width": width, "group": group}
        for name, allreduce in names.items():
            *_, traffic = allreduce(stack_of(P, n), GroupQuantizer(width, group, metadata="float16"))
            for schedules in (SCHEDULES, EXACT):
                cost, remark = evaluated(schedules[name], sizes)
                assert (4 * cost.words, cost.latency) == (traffic.critical_path, traffic.steps), (name, width, remark)
