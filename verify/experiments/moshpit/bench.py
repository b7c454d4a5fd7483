"""Speed of trials of averaging in groups, beside the same in numpy."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import group_trials
from commbounds.verify.stopwatch import Benchmark, timed


def literal_groups(x: Array, r: int, rounds: int, trials: int, rng: np.random.Generator) -> Array:
    """Distortions (trials, rounds) of random groups of equal sizes, every peer's vector moved in every round."""
    found, size = np.empty((trials, rounds)), len(x) // r
    for trial in range(trials):
        held = x - x.mean(axis=0)
        for t in range(rounds):
            order = rng.permutation(len(x))
            held[order] = np.repeat(held[order].reshape(r, size, -1).mean(axis=1), size, axis=0)
            found[trial, t] = np.square(held).sum() / len(x)
    return found


def shared_rows(x: Array, r: int, rounds: int, trials: int, rng: np.random.Generator) -> Array:
    """The same, but after the first round only the groups' means and who holds which are kept."""
    found, size = np.empty((trials, rounds)), len(x) // r
    centred, new = x - x.mean(axis=0), np.empty(len(x), np.int64)
    for trial in range(trials):
        order = rng.permutation(len(x))
        rows = centred[order].reshape(r, size, -1).mean(axis=1)
        held = np.empty(len(x), np.int64)
        held[order] = np.repeat(np.arange(r), size)
        found[trial, 0] = np.square(rows).sum() / r
        for t in range(1, rounds):
            new[rng.permutation(len(x))] = np.repeat(np.arange(r), size)
            shares = np.bincount(new * r + held, minlength=r * r).reshape(r, r) / size
            rows, held = shares @ rows, new.copy()
            found[trial, t] = np.square(rows).sum() / r
    return found


def _failing_grid(x: Array, M: int, rounds: int, trials: int, p: float, rng: np.random.Generator) -> Array:
    """Distortions of a full grid of fixed cells, whose failed peers keep their vectors."""
    found, N = np.empty((trials, rounds)), len(x)
    for trial in range(trials):
        held = (x - x.mean(axis=0))[rng.permutation(N)].reshape(M, M, -1)
        for t in range(rounds):
            alive = (rng.random((M, M)) >= p)[:, :, None]
            axis = t % 2
            means = (held * alive).sum(axis=axis, keepdims=True) / np.maximum(alive.sum(axis=axis, keepdims=True), 1)
            held = np.where(alive, means, held)
            found[trial, t] = np.square(held).sum() / N
    return found


def cases(peers: int = 1024, width: int = 128, rounds: int = 10, trials: int = 40) -> Iterator[Benchmark]:
    """Trials of `rounds` rounds among `peers` peers (a square) with vectors of `width` entries."""
    x, rng = np.random.default_rng(0).standard_normal((peers, width)), np.random.default_rng(1)
    side = round(peers**0.5)

    def per_trial(work: Callable[[int], object], count: int) -> Callable[[], float]:
        watch = timed(partial(work, count))
        return lambda: watch() / count

    few = max(1, trials // 10)
    yield Benchmark(
        f"Moshpit random groups, {peers} peers, {width} wide, {rounds} rounds",
        "µs/trial",
        1e6,
        per_trial(lambda count: group_trials(x, "random", side, rounds, count, 0), trials),
        {
            "numpy": per_trial(lambda count: literal_groups(x, side, rounds, count, rng), few),
            "numpy, equal rows once": per_trial(lambda count: shared_rows(x, side, rounds, count, rng), trials),
        },
        {"numpy": (6.0, 24.0)},
    )
    yield Benchmark(
        f"Moshpit grid, 1 % failures, {peers} peers, {width} wide, {rounds} rounds",
        "µs/trial",
        1e6,
        per_trial(lambda count: group_trials(x, "fixed", side, rounds, count, 0, p=0.01), trials),
        {"numpy": per_trial(lambda count: _failing_grid(x, side, rounds, count, 0.01, rng), few)},
    )
