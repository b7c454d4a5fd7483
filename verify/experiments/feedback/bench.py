"""Speed of error feedback: EF21M with Top-K beside vectorised numpy; ARC-Top-K beside the dense mean."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.arctopk.allreduce import arctopk_allreduce
from commbounds.collectives.feedback.sgd import FeedbackSGD
from commbounds.compressors import EF21M, TopK
from commbounds.verify.stopwatch import Benchmark, timed

_ETA, _GAMMA = 0.1, 0.05


def by_numpy(weights: Array, gradients: Array, k: int, steps: int) -> Array:
    """The weights after `steps` steps of EF21M with Top-K, all workers at once; gradients come round again."""
    dtype = weights.dtype.type
    g = h = gradients[0]
    estimate = g.mean(axis=0)
    x = weights - dtype(_GAMMA) * estimate
    for t in range(1, steps):
        h = dtype(1 - _ETA) * h + dtype(_ETA) * gradients[t % len(gradients)]
        difference = h - g
        kept = np.argpartition(np.abs(difference), -k, axis=1)[:, -k:]
        sent = np.zeros_like(difference)
        np.put_along_axis(sent, kept, np.take_along_axis(difference, kept, axis=1), axis=1)
        g = g + sent
        estimate = estimate + sent.mean(axis=0)
        x = x - dtype(_GAMMA) * estimate
    return np.asarray(x)


def ours(weights: Array, gradients: Array, k: int, steps: int) -> Array:
    """The same by `FeedbackSGD`, all words counted."""
    sgd = FeedbackSGD(EF21M(TopK(k), eta=_ETA), _GAMMA)
    state = sgd.start(weights, gradients.shape[1])
    for t in range(steps):
        state, _ = sgd.step(gradients[t % len(gradients)], state)
    return state.weights


def _ef21m(n: int, steps: int) -> Benchmark:
    gradients = np.random.default_rng(1).standard_normal((4, 8, n), np.float32)
    arguments = np.zeros(n, np.float32), gradients, max(1, n // 100), steps
    name = f"EF21M, {steps} steps, P = 8, Top-K 1 %"
    peers = {"vectorised numpy": timed(partial(by_numpy, *arguments))}
    return Benchmark(name, "ms/step", 1e3 / steps, timed(partial(ours, *arguments)), peers, {"": (5.0, 8.0)})


def _arc(m: int) -> Benchmark:
    stack = np.random.default_rng(2).standard_normal((8, m, m), np.float32)
    rng, K = np.random.default_rng(3), max(1, m // 5)
    mine = timed(lambda: arctopk_allreduce(stack, K, 4, rng))
    peers = {"dense mean over P": timed(lambda: stack.mean(axis=0))}
    return Benchmark(f"ARC-Top-K, P = 8, {m} x {m}", "ns/entry", 1e9 / stack.size, mine, peers, {"": (0.5, 0.7)})


def cases(n: int = 100_000, steps: int = 1000, m: int = 4096) -> Iterator[Benchmark]:
    """Every case; made one by one, as they are large.

    Parameters
    ----------
    n : int
        Weights of EF21M.
    steps : int
        Of a run.
    m : int
        Rows and columns of ARC-Top-K's matrices.
    """
    yield _ef21m(n, steps)
    yield _arc(m)
