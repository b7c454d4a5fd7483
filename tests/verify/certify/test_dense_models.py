"""What the models of dense collectives take as given, against the collectives themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense import COLLECTIVES, allgatherv, gather_blocks, reduce_scatter
from commbounds.collectives.dense.gathering import gather_counts
from commbounds.collectives.dense.message_by_message import ALLREDUCE, counted
from commbounds.collectives.dense.messages import gather_messages, scatter_messages
from commbounds.theory.dense.models_sums import ALLREDUCES, GATHERS, SCATTERS, carried_out

RANKS = range(1, 20)
SIZES = (1, 2, 5, 8, 16, 21, 40)
CASES = [(P, n) for P in RANKS for n in SIZES]
NAMES = {name: name.replace("_", "-") for name in ALLREDUCES}
ALGORITHMS = tuple(GATHERS)


def counts_of(name: str, P: int, n: int) -> np.ndarray:
    """Words sent, words received and messages, (3, steps, P), which the public collective adds up."""
    parts, blocks = ALLREDUCE[name]
    counts = counted(np.ones((P, n)), even_cuts(n, blocks(P)), parts(P))
    _, traffic = COLLECTIVES[f"{name.replace('-', '_')}_allreduce"](np.ones((P, n)))
    assert traffic.steps == counts.shape[1]
    assert [traffic.sent.tolist(), traffic.received.tolist(), traffic.messages.tolist()] == counts.sum(axis=1).tolist()
    assert traffic.critical_path == busiest(counts).sum()
    return counts


def busiest(counts: np.ndarray) -> np.ndarray:
    """The most that any rank sends or receives, step by step."""
    return counts[:2].max(axis=(0, 2))


def block_lengths(P: int, n: int) -> np.ndarray:
    q, rem = divmod(n, P)
    return np.where(np.arange(P) < rem, q + 1, q)


def neighbours(count: int, blocks: int, n: int) -> int:
    """Most words in `count` neighbouring blocks, as the models say."""
    q, rem = divmod(n, blocks)
    return count * q + min(count, rem)


def rows(messages: np.ndarray, blocks: int) -> list[set[tuple[int, int, tuple[int, ...]]]]:
    steps = [set() for _ in range(int(messages[-1, 0]) + 1 if len(messages) else 0)]
    for step, source, target, first, count in messages.tolist():
        steps[step].add((source, target, tuple(sorted((first + i) % blocks for i in range(count)))))
    return steps


def as_sets(steps):
    return [{(source, target, tuple(sorted(blocks))) for source, target, blocks in step} for step in steps]


@pytest.mark.models(
    "dense.allgather.contents",
    "dense.butterfly.sum",
    "dense.rabenseifner.sum",
    "dense.recursive_doubling.sum",
    "dense.reduce_scatter.sum",
    "dense.ring.sum",
)
@pytest.mark.parametrize("name", ALLREDUCES)
def test_schedules(name):
    for P in RANKS:
        parts, blocks = ALLREDUCES[name]
        theirs = ALLREDUCE[NAMES[name]]
        assert blocks(P) == theirs[1](P)
        ours = [(as_sets(steps), adds) for steps, adds in parts(P)]
        assert ours == [(rows(part.messages, blocks(P)), part.adds) for part in theirs[0](P)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_schedules_of_halves(algorithm):
    for P in RANKS:
        ((steps, adds),) = GATHERS[algorithm](P)
        assert as_sets(steps) == rows(gather_messages(P, algorithm), P)
        assert not adds
        ((steps, adds),) = SCATTERS[algorithm](P)
        assert as_sets(steps) == rows(scatter_messages(P, algorithm), P)
        assert adds


@pytest.mark.parametrize("name", ALLREDUCES)
def test_forms_are_what_the_collective_returns(name):
    collective = COLLECTIVES[f"{name}_allreduce"]
    for P in RANKS:
        parts, blocks = ALLREDUCES[name]
        held = carried_out(P, parts(P), blocks(P))
        x = np.random.default_rng(P).integers(-1000, 1000, (P, blocks(P))).astype(float)
        result, _ = collective(x)
        by_forms = [[np.dot(form, x[:, b]) for b, (form, _) in enumerate(row)] for row in held]
        np.testing.assert_array_equal(result, by_forms)


@pytest.mark.models(
    "dense.butterfly.rounding",
    "dense.rabenseifner.rounding",
    "dense.recursive_doubling.rounding",
    "dense.ring.rounding",
)
@pytest.mark.parametrize("name", ALLREDUCES)
def test_additions_of_a_term(name):
    for P in range(1, 34):
        parts, blocks = ALLREDUCES[name]
        most = max(depth for row in carried_out(P, parts(P), blocks(P)) for _, depth in row)
        assert most == (P - 1 if name in ("ring", "butterfly") else (P - 1).bit_length())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_addition_is_rounded_by_at_most_the_unit(dtype):
    rng = np.random.default_rng(13)
    tiny = np.finfo(dtype).smallest_subnormal
    for scale in (1.0, float(tiny) * 100):
        a, b = (scale * rng.standard_normal((2, 500)) * 2.0 ** rng.integers(-30, 3, (2, 500))).astype(dtype)
        exact = a.astype(np.longdouble) + b.astype(np.longdouble)
        assert (np.abs((a + b) - exact) <= np.finfo(dtype).eps / 2 * np.abs(exact)).all()


@pytest.mark.models(
    "dense.butterfly.critical_path",
    "dense.butterfly.mean_received",
    "dense.butterfly.messages",
    "dense.butterfly.steps",
    "dense.ring.critical_path",
    "dense.ring.mean_received",
    "dense.ring.messages",
    "dense.ring.steps",
)
@pytest.mark.parametrize("name", ["ring", "butterfly"])
def test_steps_around(name):
    for P, n in CASES:
        counts = counts_of(name, P, n)
        assert counts.shape[1] == 2 * (P - 1)
        assert (busiest(counts) == -(-n // P)).all()
        assert (counts[1].sum(axis=1) == n).all()
        assert (counts[2] == 1).all()


@pytest.mark.models("dense.ring.received", "dense.ring.sent")
def test_busiest_of_the_ring():
    for P, n in CASES:
        lengths, (q, rem) = block_lengths(P, n), divmod(n, P)
        if P >= 2:
            sent, received, _ = counts_of("ring", P, n).sum(axis=1)
            both = lengths + np.roll(lengths, -1)
            assert (sent == 2 * n - both).all()
            assert (np.roll(received, -1) == 2 * n - both).all()
            carry = int(rem == P - 1)
            assert ((n + 1) // P, both.min()) == (q + carry, 2 * q + carry)


@pytest.mark.models("dense.butterfly.received", "dense.butterfly.sent")
def test_busiest_of_the_butterfly():
    for P, n in CASES:
        lengths = block_lengths(P, n)
        sent, received, _ = counts_of("butterfly", P, n).sum(axis=1)
        assert lengths.max() == -(-n // P)
        assert (sent == n - lengths + (P - 1) * lengths).all()
        assert (received == sent).all()


@pytest.mark.models(
    "dense.recursive_doubling.critical_path",
    "dense.recursive_doubling.lower_bound",
    "dense.recursive_doubling.messages",
    "dense.recursive_doubling.received",
    "dense.recursive_doubling.sent",
    "dense.recursive_doubling.steps",
)
def test_doublings():
    for P, n in CASES:
        d = P.bit_length() - 1
        extra = P - 2**d
        counts = counts_of("recursive-doubling", P, n)
        assert counts.shape[1] == d + 2 * (extra > 0)
        assert (busiest(counts) == n).all()
        sent, received, messages = counts.sum(axis=1)
        speaks, folded = np.arange(P) % 2 == 0, np.arange(P) % 2 == 1
        inside = np.arange(P) < 2 * extra
        expected = d + (inside & speaks) + (1 - d) * (inside & folded)
        assert (messages == expected).all()
        assert (sent == n * expected).all()
        assert (received == n * expected).all()
        assert received.sum() == n * d * 2**d + 2 * n * extra


@pytest.mark.models(
    "dense.rabenseifner.critical_path",
    "dense.rabenseifner.mean_received",
    "dense.rabenseifner.messages",
    "dense.rabenseifner.received",
    "dense.rabenseifner.sent",
    "dense.rabenseifner.steps",
)
def test_halvings():
    for P, n in CASES:
        d = P.bit_length() - 1
        core, extra = 2**d, P - 2**d
        counts = counts_of("rabenseifner", P, n)
        doubling = [neighbours(2**j, core, n) for j in range(d)]
        fold = [n] * (extra > 0)
        assert busiest(counts).tolist() == [*fold, *doubling[::-1], *doubling, *fold]
        moved = [2**j * n for j in range(d)]
        folded = [extra * n] * (extra > 0)
        assert counts[1].sum(axis=1).tolist() == [*folded, *moved[::-1], *moved, *folded]
        sent, received, messages = counts.sum(axis=1)
        inside, even = np.arange(P) < 2 * extra, np.arange(P) % 2 == 0
        speaks, silent = inside & even, inside & ~even
        assert (messages == np.where(silent, 1, 2 * d + speaks)).all()
        if n % core == 0:
            whole = np.where(silent, n, 2 * n * (core - 1) // core + n * speaks)
            assert (sent == whole).all()
            assert (received == whole).all()


def gather_steps_in_words(P, n, algorithm):
    """The most words that a rank moves, step by step, as the models say; of doublings for powers of two."""
    if algorithm == "ring":
        return [neighbours(1, P, n)] * (P - 1)
    if algorithm == "bruck":
        return [neighbours(min(2**j, P - 2**j), P, n) for j in range((P - 1).bit_length())]
    return [neighbours(2**j, P, n) for j in range((P - 1).bit_length())] if P & (P - 1) == 0 else None


@pytest.mark.models(
    "dense.allgather.bruck_steps",
    "dense.allgather.bruck_words",
    "dense.allgather.doubling_steps",
    "dense.allgather.doubling_words",
    "dense.allgather.even_words",
    "dense.allgather.received",
    "dense.allgather.ring_steps",
    "dense.allgather.ring_words",
    "dense.reduce_scatter.bruck_words",
    "dense.reduce_scatter.doubling_words",
    "dense.reduce_scatter.ring_words",
    "dense.reduce_scatter.sent",
)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_gathers(algorithm):
    for P, n in CASES:
        lengths = block_lengths(P, n)
        cuts = even_cuts(n, P)
        counts = gather_counts(lengths, algorithm)
        _, traffic = allgatherv([np.ones(b - a) for a, b in itertools.pairwise(cuts)], algorithm)
        _, scatter = reduce_scatter(np.ones((P, n)), algorithm)
        assert traffic.critical_path == scatter.critical_path == busiest(counts).sum()
        assert traffic.steps == scatter.steps == counts.shape[1]
        by_model = gather_steps_in_words(P, n, algorithm)
        if by_model is not None:
            assert busiest(counts).tolist() == by_model
        else:
            assert traffic.steps == P.bit_length() - 1 + 2
        assert (traffic.received == n - lengths).all()
        assert (scatter.sent == n - lengths).all()
        assert lengths[-1] == n // P == lengths.min()


@pytest.mark.models("dense.gather_blocks.mean_received")
def test_gathers_of_any_blocks():
    rng = np.random.default_rng(7)
    for P in RANKS:
        sizes = rng.integers(0, 9, P)
        for algorithm in ALGORITHMS:
            assert (gather_blocks(sizes, algorithm).received == sizes.sum() - sizes).all()
