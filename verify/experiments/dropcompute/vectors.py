"""Test vectors: steps with stragglers, and what follows from them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.dropcompute import Lattice, Uniform
from commbounds.verify.experiments.dropcompute.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import held_to
from commbounds.verify.vectors.inputs import array, eighths

_TEAMS: tuple[tuple[int, int, str], ...] = (
    (1, 1, "One worker, one micro-batch."),
    (1, 4, "One worker."),
    (2, 3, "Two workers."),
    (3, 5, "Three workers."),
    (5, 2, "Five workers."),
    (8, 4, "Eight workers."),
)


def _named(about: str, why: str, t: Array, parameters: dict[str, Any]) -> VectorCase:
    shown = ", ".join(f"{key}={value}" for key, value in parameters.items())
    size = "x".join(map(str, t.shape))
    return VectorCase(", ".join(filter(None, (about, size, shown))), why, {"latencies": t}, parameters)


def _drop_cases() -> Iterator[VectorCase]:
    for N, M, why in _TEAMS:
        for preemption in ("A", "B", "C"):
            given = {"tau": 4.0, "overhead": 0.5, "preemption": preemption, "forward": 0.25}
            yield _named("", why, eighths(N, N, M), given)
    t = array([[1.0, 1.0, 2.0], [2.0, 2.0, 0.0]], "float64")
    for at in (False, True):
        yield _named("on the threshold", "A micro-batch ends exactly at tau.", t, {"tau": 2.0, "at_threshold": at})
    for tau, why in ((0.125, "Nothing is completed."), (100.0, "Everything is."), (np.inf, "No threshold.")):
        yield _named("", why, t, {"tau": tau})
    yield _named("zeros", "Latencies of zero.", np.zeros((2, 2)), {"tau": 1.0})


def _backup_cases() -> Iterator[VectorCase]:
    for N, M, why in _TEAMS:
        for spare in sorted({0, N // 2, N - 1}):
            yield _named("", why, eighths(10 + N, N, M), {"spare": spare, "overhead": 0.5})
    yield _named("ties", "Equal workers: the last ones are spare.", np.ones((3, 2)), {"spare": 1})


def _period_cases() -> Iterator[VectorCase]:
    for N, M, why in _TEAMS:
        yield _named("", why, eighths(20 + N, 3, N, M), {"overhead": 0.5})


def _threshold_cases(least: int) -> Iterator[VectorCase]:
    for N, M, why in _TEAMS:
        t = 0.125 + eighths(30 + N, 4, N, M if least == 1 else M + 6)
        yield _named("", why, t, {"overhead": 2.0})
    one = np.ones((2, 3, max(2, least)))
    yield _named("ties", "All latencies are equal: nothing is gained.", one, {"overhead": 1.0})
    if least == 1:
        t = 0.125 + eighths(40, 3, 4, 3)
        yield _named("few drops", "At most an eighth may be dropped.", t, {"overhead": 1.0, "drop_rate": 0.125})
    else:
        short = _named("too short", "It looks at the seventh micro-batch and later ones.", np.ones((1, 2, 6)), {})
        yield replace(short, refused=True)


def _trial_cases() -> Iterator[VectorCase]:
    lattice = Lattice(0.5, 0.25, np.array([3.0, 0.0, 1.0]))
    for law, N, M, more, why in (
        (Uniform(0.5, 1.5), 1, 1, {}, "One worker, one micro-batch."),
        (Uniform(0.5, 1.5), 2, 3, {}, "Uniform latencies."),
        (Uniform(0.5, 1.5), 5, 2, {"preemption": "B"}, "Five workers that look after every micro-batch."),
        (lattice, 3, 4, {}, "Latencies on a lattice, by the alias method."),
        (lattice, 8, 3, {"preemption": "C", "forward": 0.25}, "Eight workers that look twice a micro-batch."),
        (lattice, 3, 4, {"first": 2}, "Trial 2 of another case: it depends on its number alone."),
    ):
        given = {"law": law, "N": N, "M": M, "tau": 2.0, "overhead": 0.25, "trials": 3, **more}
        name = ", ".join([type(law).__name__, f"N={N}, M={M}", *(f"{key}={value}" for key, value in more.items())])
        yield VectorCase(name, why, {}, given, {"seed": 6, "generator": "splitmix64 at (seed, trial, entry)"})


def _gradient_cases() -> Iterator[VectorCase]:
    for N, M, why in _TEAMS:
        completed = np.arange(N) % (M + 1)
        for normalisation in ("fixed", "computed", "worker"):
            yield VectorCase(
                f"N={N}, M={M}, {normalisation}", why,
                {"gradients": eighths(50 + N, N, M, 2) - 2, "completed": completed},
                {"normalisation": normalisation},
            )  # fmt: skip
    nothing = {"gradients": np.ones((2, 2, 1)), "completed": np.zeros(2, np.int64)}
    for normalisation in ("fixed", "computed", "worker"):
        name = f"nothing computed, {normalisation}"
        yield VectorCase(name, "Nothing was computed: zero.", nothing, {"normalisation": normalisation})


def _batch_cases() -> Iterator[VectorCase]:
    for steps, B, d, why in ((1, 1, 1, "One step."), (4, 2, 3, "Batches of two at most."), (3, 4, 2, "Of four."),
                             (5, 1, 2, "Steps that compute nothing, and steps of one sample.")):  # fmt: skip
        inputs = {"start": eighths(60, d), "noise": eighths(61, steps, B, d) - 2}
        given = {"gradient": "identity", "batches": np.arange(steps) % (B + 1), "learning_rate": 0.5}
        yield VectorCase(f"steps={steps}, B={B}, d={d}", why, inputs, given)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return held_to(
        DEFINITIONS,
        "",
        drop_step=_drop_cases,
        backup_step=_backup_cases,
        local_sgd_period=_period_cases,
        best_threshold=lambda: _threshold_cases(1),
        released_threshold=lambda: _threshold_cases(7),
        drop_trials=_trial_cases,
        drop_gradient=_gradient_cases,
        random_batch_sgd=_batch_cases,
    )
