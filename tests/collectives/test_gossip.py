"""Gossip, push-sum and restarts: who meets whom, what stays; hostile inputs."""

from importlib import import_module

import numpy as np
import pytest

from commbounds.collectives import allreduce_with_restarts, distortion, gossip, group_average, push_sum
from commbounds.collectives.gossip.mixing import TOPOLOGIES
from commbounds.verify.definitions import gossip as naive

pytestmark = pytest.mark.kernels
RNG = np.random.default_rng
SIZES = [
    (name, N)
    for name in TOPOLOGIES
    for N in {"torus": (1, 4, 9), "two-peer": (1, 3, 4, 5, 9)}.get(name, (1, 2, 3, 5, 8))
]


def stack(N, n, seed=0, dtype=np.float64):
    return RNG([seed, N, n]).standard_normal((N, n)).astype(dtype)


@pytest.mark.parametrize(("topology", "N"), SIZES)
def test_everybody_sends_to_whom_the_definition_says(topology, N):
    for t in range(5):
        assert TOPOLOGIES[topology](N, t).tolist() == naive.targets(topology, N, t)


def test_the_mean_moves_if_one_of_two_links_breaks_and_stays_if_both_do():
    # peer 0 misses peer 1, which hears it: it ends with (0 + 0 + 3)/3, the others with (0 + 3 + 3)/3
    x, links = np.array([[0.0], [3.0], [3.0]]), np.ones((1, 3, 2), bool)
    links[0, 1, 1] = False
    result, _ = gossip(x, "ring", delivered=links)
    assert result.ravel().tolist() == [1.0, 2.0, 2.0]
    links[0, 0, 0] = False
    assert gossip(x, "ring", delivered=links)[0].ravel().tolist() == [1.0, 3.0, 2.0]


@pytest.mark.parametrize("missing", ["self", "renormalise"])
def test_who_is_down_keeps_every_bit(missing):
    x = np.full((3, 1), 0.1)  # three of them, added up and divided by three, are not 0.1 again
    result, _ = gossip(x, "ring", 1, alive=np.array([[False, True, True]]), missing=missing)
    assert result[0, 0] == 0.1


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_rounds_can_be_taken_one_by_one(topology):
    x = stack(16, 2)
    whole, _ = gossip(x, topology, 5)
    sums, _ = push_sum(x, topology, 5)
    result, state = x, (x, None)
    for t in range(5):
        result, _ = gossip(result, topology, 1, start=t)
        state, _ = push_sum(state[0], topology, 1, state[1], start=t)
    assert np.array_equal(result, whole)
    assert all(np.array_equal(a, b) for a, b in zip(state, sums, strict=True))


def test_push_sum_agrees_on_the_initial_mean_although_links_break():
    x, rng, rounds = stack(16, 1), RNG(3), 200
    delivered = [rng.random((16, 1)) >= 0.2 for _ in range(rounds)]
    (sums, weights), _ = push_sum(x, "one-peer", rounds, delivered=delivered)
    # sums and weights are kept up to rounding: three operations a round on each of 16 peers, half an ulp each
    slack = 3 * rounds * 16 * np.finfo(float).eps * np.abs(x).max()
    assert np.all(np.abs(sums / weights[:, None] - x.mean(axis=0)) <= slack)
    (sums, weights), _ = push_sum(x, "one-peer", rounds, delivered=delivered, lost="gone")
    assert np.ptp(sums / weights[:, None]) <= slack
    assert abs(sums[0, 0] / weights[0] - x.mean()) > 0.01


def test_restarts_take_the_first_attempt_without_failure():
    x = stack(3, 4)
    alive = [[True, True, False], [False, True, True], [True, True, True], [True, True, True]]
    (result, attempts, done), traffic = allreduce_with_restarts(x, alive=alive)
    expected, once = group_average(x, [0, 0, 0])
    assert np.array_equal(result, expected)
    assert (attempts, done) == (3, True)
    assert traffic.sent.tolist() == once.sent.tolist()
    (result, attempts, done), traffic = allreduce_with_restarts(x, alive=alive[:2])
    assert np.array_equal(result, x)
    assert (attempts, done, traffic.steps) == (2, False, 0)


@pytest.mark.parametrize(("p", "attempts", "done"), [(0.0, 1, True), (1.0, 7, False)])
def test_sure_outcomes_need_no_random_numbers(p, attempts, done):
    assert allreduce_with_restarts(stack(3, 1), p, 7)[0][1:] == (attempts, done)


def test_restarts_are_reproducible():
    found = [[allreduce_with_restarts(stack(9, 1), 0.1, 50, rng)[0][1] for _ in range(30)] for rng in (RNG(1), RNG(1))]
    assert found[0] == found[1]
    assert len(set(found[0])) > 1


CALLS = {
    "gossip": lambda x: gossip(x, "ring", 2),
    "push_sum": lambda x: push_sum(x, "exponential", 2)[0][0],
    "restarts": lambda x: allreduce_with_restarts(x)[0][0],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_inputs_are_left_alone_and_may_be_strided_or_read_only(call):
    x = stack(3, 2)
    kept = x.copy()
    result = call(x)
    expected = (result[0] if isinstance(result, tuple) else result).tobytes()
    assert np.array_equal(x, kept)
    x.setflags(write=False)
    wide = np.zeros((3, 4))
    wide[:, ::2] = kept
    for other in (x, np.asfortranarray(kept), wide[:, ::2], kept.astype(">f8"), kept.tolist()):
        again = call(other)
        assert (again[0] if isinstance(again, tuple) else again).tobytes() == expected


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (np.full((3, 2), np.nan), ValueError),
        (np.array([[1.0, -np.inf]] * 3), ValueError),
        (np.ones((3, 2), np.float16), TypeError),
        (np.ones((3, 2), int), TypeError),
        (np.ones((0, 2)), ValueError),
        ([[1.0], [1.0, 2.0]], TypeError),
    ],
)
def test_bad_stacks_are_refused(call, bad, error):
    with pytest.raises(error, match="stack"):
        call(bad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: gossip(x, "star"),
            "topology must be one of ring, torus, exponential, one-peer, two-peer, got 'star'",
        ),
        (lambda x: gossip(x, "torus"), "a torus needs a square number of peers, got 3"),
        (lambda x: gossip(x[:2], "two-peer"), "a two-peer exponential graph needs three peers, or one, got 2"),
        (lambda x: gossip(x, "ring", -1), "rounds must be at least 0, got -1"),
        (lambda x: gossip(x, "ring", start=-1), "start must be at least 0, got -1"),
        (lambda x: gossip(x, "ring", missing="drop"), "missing must be one of self, renormalise, got 'drop'"),
        (lambda x: gossip(x, "ring", alive=[[True, True]]), r"alive must have shape \(1, 3\)"),
        (lambda x: gossip(x, "ring", 2, delivered=[np.ones((3, 2), bool)]), "one entry for each of 2 rounds, got 1"),
        (lambda x: gossip(x, "ring", delivered=[np.ones((3, 1), bool)]), r"delivered of a round must have shape"),
        (lambda x: push_sum(x, "ring", weights=[1.0, 1.0]), "weights must be 3 positive numbers"),
        (lambda x: push_sum(x, "ring", weights=[1.0, 0.0, 1.0]), "weights must be 3 positive numbers"),
        (lambda x: push_sum(x, "ring", lost="found"), "lost must be one of kept, gone, got 'found'"),
        (lambda x: push_sum(x, "ring", 2, delivered=[np.ones((3, 2), bool)]), "one entry for each of 2 rounds, got 1"),
        (lambda x: push_sum(x, "ring", delivered=[np.ones((3, 1), bool)]), r"delivered of a round must have shape"),
        (lambda x: allreduce_with_restarts(x, 1.1), r"p must be a probability in \[0, 1\], got 1.1"),
        (lambda x: allreduce_with_restarts(x, -0.1), r"p must be a probability in \[0, 1\], got -0.1"),
        (lambda x: allreduce_with_restarts(x, 0.1, 0), "cap must be at least 1, got 0"),
        (lambda x: allreduce_with_restarts(x, alive=np.ones((0, 3), bool)), "attempts in alive must be at least 1"),
        (lambda x: allreduce_with_restarts(x, alive=np.ones((2, 2), bool)), r"alive must have shape \(2, 3\)"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(stack(3, 1))


def test_wrong_kinds_are_refused():
    with pytest.raises(TypeError, match="alive must be boolean, got int64"):
        gossip(stack(2, 1), "ring", alive=[[1, 1]])
    with pytest.raises(TypeError, match="rng must be a numpy Generator"):
        allreduce_with_restarts(stack(2, 1), 0.5)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_one_peer_says_nothing(topology):
    x = stack(1, 3)
    result, traffic = gossip(x, topology, 3)
    (sums, weights), pushed = push_sum(x, topology, 3)
    # three steps, each of a share of one third, a product and two additions of the same sign: twelve roundings, of half
    # a unit each; as many of the weights, and a division
    unit = np.finfo(float).eps
    assert np.allclose(result, x, rtol=6 * unit, atol=0)
    assert np.allclose(sums / weights[:, None], x, rtol=13 * unit, atol=0)
    assert traffic.steps == pushed.steps == 0


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300])
def test_extreme_inputs_stay_finite(scale):
    x = np.full((4, 2), scale)
    assert np.isfinite(gossip(x, "exponential", 3)[0]).all()
    assert distortion(gossip(np.eye(4) * scale / 1e150, "one-peer", 2)[0]) == 0


def test_kernels_give_the_bits_of_their_python_functions():
    module = import_module("commbounds.collectives.gossip.mixing")
    x, targets = stack(5, 3), TOPOLOGIES["exponential"](5, 0)
    alive, works = RNG(0).random(5) < 0.7, RNG(1).random(targets.shape) < 0.6
    found = []
    for kernel in (module._gossip, getattr(module._gossip, "py_func", module._gossip)):
        out, counts = np.empty_like(x), np.zeros((3, 5), np.int64)
        kernel(x, targets, alive, works & alive[:, None] & alive[targets], True, np.empty_like(x), out, counts)
        found.append((out.tobytes(), counts.tobytes()))
    for kernel in (module._push, getattr(module._push, "py_func", module._push)):
        sums, weights, counts = np.empty_like(x), np.empty(5), np.zeros((3, 5), np.int64)
        kernel(x, np.arange(1.0, 6.0), targets, works, True, sums, weights, counts)
        found.append((sums.tobytes(), weights.tobytes(), counts.tobytes()))
    assert found[0] == found[1]
    assert found[2] == found[3]
