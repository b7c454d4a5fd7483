"""Schedules on nodes against the messages of the collectives, and against an all-reduce put together from parts."""

import numpy as np
import pytest

from commbounds.collectives import allgather, reduce_scatter, ring_allreduce
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.message_by_message import ALLREDUCE
from commbounds.theory.cost import cost
from commbounds.theory.schedules import IN_NODES

pytestmark = pytest.mark.kernels
MACHINES = [(4, 2), (8, 2), (8, 4), (16, 4), (16, 2), (16, 16)]


def by_link(name, ranks, nodes, length):
    """(steps, words) of the steps that leave a node, and of those that do not; read off the messages."""
    parts, count = ALLREDUCE[name]
    sizes = np.diff(even_cuts(length, count(ranks)))
    found = {"inter": [0, 0], "intra": [0, 0]}
    for part in parts(ranks):
        for step in range(part.steps):
            rows = part.messages[part.messages[:, 0] == step]
            leaves = (rows[:, 1] * nodes // ranks != rows[:, 2] * nodes // ranks).any()
            words = [sum(int(sizes[(first + i) % sizes.size]) for i in range(more)) for *_, first, more in rows]
            link = found["inter" if leaves else "intra"]
            link[0] += 1
            link[1] += max(words)
    return found


@pytest.mark.parametrize(("ranks", "nodes"), MACHINES)
@pytest.mark.parametrize(
    ("schedule", "algorithm"),
    [("ring", "ring"), ("recursive_doubling", "recursive-doubling"), ("rabenseifner", "rabenseifner")],
)
def test_flat_algorithms_on_nodes(schedule, algorithm, ranks, nodes):
    length = 16 * 3
    found = by_link(algorithm, ranks, nodes, length)
    total = cost(IN_NODES[schedule]).at(P=ranks, n=length, nodes=nodes)
    assert [total.latency, total.words] == [a + b for a, b in zip(found["inter"], found["intra"], strict=True)]
    within = [0, 0] if total.intra is None else [total.intra.latency, total.intra.words]
    assert within == found["intra"]


@pytest.mark.parametrize(("ranks", "nodes"), MACHINES)
def test_hierarchical_all_reduce_from_its_parts(ranks, nodes):
    length, members = ranks * 3, ranks // nodes
    stack = np.random.default_rng(0).integers(-9, 10, (ranks, length)).astype(np.float64)
    scattered = [reduce_scatter(stack[i * members : (i + 1) * members]) for i in range(nodes)]
    # the ranks of one place in every node hold the same block
    joined = [ring_allreduce(np.stack([blocks[place] for blocks, _ in scattered])) for place in range(members)]
    gathered = [allgather(np.stack([result[i] for result, _ in joined])) for i in range(nodes)]
    assert all((rows == stack.sum(axis=0)).all() for rows, _ in gathered)
    # groups of a phase work at the same time
    phases = [[traffic for _, traffic in groups] for groups in (scattered, joined, gathered)]
    steps = [max(traffic.steps for traffic in phase) for phase in phases]
    words = [max(traffic.critical_path for traffic in phase) for phase in phases]
    total = cost(IN_NODES["hierarchical"]).at(P=ranks, n=length, nodes=nodes)
    assert (total.latency, total.words) == (sum(steps), sum(words))
    assert (total.intra.latency, total.intra.words) == (steps[0] + steps[2], words[0] + words[2])
