"""Packet loss: runs of the training loop, with hostile and with real gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives import Bernoulli, GilbertElliott, Replicas, fresh_replicas, layout
from commbounds.verify import gradients
from commbounds.verify.experiment import Budget
from commbounds.verify.inputs import FAMILIES, integers, sampled_from
from commbounds.verify.study import Case, Outcome, Study

Floats = NDArray[np.float64]
_EPS = float(np.finfo(np.float64).eps)
_RATE = 0.5
_BURSTS = GilbertElliott(0.1, 0.3)


def _gradient(case: Case) -> Callable[[int, Floats], Floats]:
    """The case's gradients: functions of the replicas, drawn by step, constant, or recorded."""
    s = case.settings
    workers, n, family = s["N"], s["n"], s["family"]
    if family == "constant":
        return lambda _step, replicas: np.ones_like(replicas)
    if family == "quadratic":
        return lambda _step, replicas: replicas - np.arange(n)
    if family == "recorded":
        stored = gradients.vectors("by label", "early").astype(np.float64)
        return lambda step, _replicas: stored[step % len(stored), :workers, :n]
    return lambda step, _replicas: np.stack(
        [FAMILIES[family](np.random.default_rng([s["seed"], step, i]), n) for i in range(workers)]
    )


def _loss(case: Case) -> Any:
    p = case.settings["p"]
    return _BURSTS if p == "bursts" else Bernoulli(p)


def replica_gap(training: Any, case: Case) -> Outcome:
    """Of all steps, shards and pairs the one whose gap is largest against the norms of the updates in it."""
    s = case.settings
    workers, n = s["N"], s["n"]
    owner = layout(n, workers).owner
    norms: list[Floats] = []
    worst, largest = (-1.0, 0.0, 0.0), 0.0

    def observe(state: Replicas, update: Floats) -> None:
        nonlocal worst, largest
        shards = [owner == j for j in range(min(n, workers))]
        norms.append(np.array([np.linalg.norm(update[shard]) for shard in shards]))
        largest = max(largest, float(np.abs(state.parameters).max()))
        # since[l, j]: norms of the last l updates of shard j, added up
        since = np.vstack([np.zeros(len(shards)), np.cumsum(norms[::-1], axis=0)])
        for j, shard in enumerate(shards):
            copies, missed = state.parameters[:, shard], state.missed[:, shard][:, 0]
            for i in range(workers):
                for k in range(i):
                    gap = float(np.linalg.norm(copies[i] - copies[k]))
                    between = float(abs(since[missed[i], j] - since[missed[k], j]))
                    close = gap / between if between > 0 else (0.0 if gap == 0 else np.inf)
                    if close > worst[0]:
                        worst = (close, gap, between)

    start = fresh_replicas(np.zeros(n), workers)
    training(start, _gradient(case), _loss(case), s["steps"], _RATE, seed=s["seed"], observe=observe)
    # every step adds one rounded update to every coordinate: an error of eps/2 of the largest value each; and as much
    # again for the norms and for their sums
    slack = 4 * s["steps"] * _EPS * max(largest, sum(float(v.max()) for v in norms)) * np.sqrt(n)
    return Outcome(worst[1], {"missednorms": worst[2]}, slack)


def stale_gradients(training: Any, case: Case) -> Outcome:
    """Mean gradient at the replicas after a run, beside the gradient at the owners' values or at another point.

    The function is sum_c cos(x_c), or a quadratic of curvature 2: gradients with constants 1 and 2.
    """
    s = case.settings
    workers, n = s["N"], s["n"]
    start = fresh_replicas(np.linspace(-1.0, 1.0, n) * s["spread"], workers)
    state, _ = training(start, _gradient(case), _loss(case), s["steps"], _RATE, seed=s["seed"])
    owned = state.parameters[layout(n, workers).owner, np.arange(n)]
    point = owned + s["shift"]
    curvature = 2.0 if s["function"] == "quadratic" else 1.0

    def slope(x: Floats) -> Floats:
        return 2.0 * x if s["function"] == "quadratic" else -np.sin(x)

    measured = float(np.linalg.norm(np.mean([slope(x) for x in state.parameters], axis=0) - slope(point)))
    distance = float(np.mean(np.linalg.norm(state.parameters - point, axis=1)))
    # sums of N and of n terms, and sines good to an ulp
    scale = float(np.abs(state.parameters).max()) + abs(s["shift"]) + 1.0
    return Outcome(measured, {"smooth": curvature, "meandistance": distance}, 4 * (workers + n) * _EPS * scale)


def _by_hand(budget: Budget) -> Iterator[Case]:
    for p in (0.1, 0.4, 1.0, "bursts"):
        for family in ("constant", "quadratic", "signs", "normal", "student"):
            for workers, n in ((1, 3), (2, 2), (3, 7), (5, 3)):
                yield _case(workers, n, p, family, 12, 0)
    for workers in (2, 8)[: 1 + budget.level]:
        for p in (0.1, 0.4):
            yield _case(workers, 2410, p, "recorded", 8, 1)


def _case(workers: int, n: int, p: Any, family: str, steps: int, seed: int, **more: Any) -> Case:
    return Case({"N": workers, "n": n, "p": p, "family": family, "steps": steps, "seed": seed, **more})


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    family = draw(sampled_from(("constant", "quadratic", *FAMILIES)))
    p = draw(sampled_from((0.5, 0.1, 0.9, "bursts")))
    return _case(draw(integers(1, 5)), draw(integers(1, 9)), p, family, draw(integers(1, 15)), draw(integers(0, 2**31)))


def _variants(case: Case) -> Iterator[Case]:
    for function in ("quadratic", "cosine"):
        for shift in (0.0, 3.0):
            yield Case({**case.settings, "function": function, "shift": shift, "spread": 1.0})


@st.composite
def _gradient_cases(draw: st.DrawFn) -> Case:
    case = draw(_cases())
    more = {
        "function": draw(sampled_from(("quadratic", "cosine"))),
        "shift": draw(sampled_from((0.0, 1.0, -2.0, 0.1))),
        "spread": draw(sampled_from((1.0, 0.0, 5.0))),
    }
    return Case({**case.settings, **more})


TRAINING = (
    Study(
        "packetloss.training.replica_gap",
        "lossy_training",
        replica_gap,
        corpus=_by_hand,
        cases=_cases,
        extremal=lambda _budget: iter([_case(n + 1, n + 1, 0.5, "constant", 12, n) for n in range(1, 5)]),
        parameters={"gradients": "constant, quadratic, random families, and recorded ones of the digits' training"},
    ),
    Study(
        "packetloss.training.stale_gradients",
        "lossy_training",
        stale_gradients,
        corpus=lambda budget: (more for case in _by_hand(budget) for more in _variants(case)),
        cases=_gradient_cases,
        # one parameter and two workers: replicas and point lie on a line, and far from the point all on one side
        extremal=lambda _budget: iter(
            [_case(2, 1, 0.5, "constant", 12, seed, function="quadratic", shift=20.0, spread=1.0) for seed in range(3)]
        ),
    ),
)
