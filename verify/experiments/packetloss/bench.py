"""Speed of drift trials, beside numpy: all trials at once, step by step, and one trial at once over all its steps."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import Bernoulli, drift_trials
from commbounds.verify.stopwatch import Benchmark, timed

RECEIVERS = 64
STEPS = 100_000
TRIALS = 16


def step_by_step(trials: int, receivers: int, steps: int, p: float, seed: int = 0) -> tuple[Floats, Floats]:
    """Mean squared gaps (trials,) to the owner and of pairs; a step is one operation on all trials and receivers."""
    rng = np.random.default_rng(seed)
    gaps = np.zeros((trials, receivers))
    squares, crossed = np.zeros(trials), np.zeros(trials)
    for _ in range(steps):
        gaps += rng.integers(0, 2, (trials, 1)) * 2.0 - 1.0
        gaps *= rng.random(gaps.shape) < p
        total, square = gaps.sum(axis=1), np.einsum("ij,ij->i", gaps, gaps)
        squares += square
        crossed += receivers * square - total * total
    return squares / (steps * receivers), 2.0 * crossed / (steps * receivers * (receivers - 1))


def all_steps_at_once(trials: int, receivers: int, steps: int, p: float, seed: int = 0) -> tuple[Floats, Floats]:
    """The same, every trial one operation on all of its steps and receivers: memory grows with the steps."""
    rng = np.random.default_rng(seed)
    owner, pair = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        value = np.concatenate([[0.0], np.cumsum(rng.integers(0, 2, steps) * 2.0 - 1.0)])
        heard = np.where(rng.random((steps, receivers)) < p, 0, np.arange(1, steps + 1)[:, None])
        gaps = value[1:, None] - value[np.maximum.accumulate(heard, axis=0)]
        total, square = gaps.sum(axis=1), np.einsum("ij,ij->i", gaps, gaps)
        owner[trial] = square.sum() / (steps * receivers)
        pair[trial] = 2.0 * (receivers * square - total**2).sum() / (steps * receivers * (receivers - 1))
    return owner, pair


def cases(steps: int = STEPS) -> Iterator[Benchmark]:
    """Trials of 64 receivers over `steps` steps, at 10 % and at 40 % loss."""
    for p in (0.1, 0.4):
        ours = timed(partial(drift_trials, RECEIVERS + 1, steps, Bernoulli(p), TRIALS))
        peers: dict[str, Any] = {
            "numpy, step by step": timed(partial(step_by_step, TRIALS, RECEIVERS, steps, p)),
            "numpy, all steps at once": timed(partial(all_steps_at_once, TRIALS, RECEIVERS, steps, p)),
        }
        scale = 1e9 / (TRIALS * RECEIVERS * steps)
        yield Benchmark(
            f"drift of 64 receivers, p = {p}", "ns/receiver and step", scale, ours, peers, {"": (12.0, 26.0)}
        )
