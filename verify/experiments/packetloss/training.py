"""Packet loss: runs of the training loop, with hostile and with real gradients."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import Bernoulli, GilbertElliott, Replicas, fresh_replicas, layout
from commbounds.verify import gradients
from commbounds.verify.family import Family
from commbounds.verify.inputs import FAMILIES
from commbounds.verify.space import RANKS, Of, Space, nothing
from commbounds.verify.study import Outcome

_EPS = float(np.finfo(np.float64).eps)
_RATE = 0.5
_BURSTS = GilbertElliott(0.1, 0.3)


def _gradient(N: int, n: int, data: str, seed: int) -> Callable[[int, Floats], Floats]:
    """Functions of the replicas, drawn by step, constant, or recorded."""
    if data == "constant":
        return lambda _step, replicas: np.ones_like(replicas)
    if data == "quadratic":
        return lambda _step, replicas: replicas - np.arange(n)
    if data == "recorded":
        stored = gradients.vectors("by label", "early").astype(np.float64)
        return lambda step, _replicas: stored[step % len(stored), :N, :n]
    return lambda step, _replicas: np.stack(
        [FAMILIES[data](np.random.default_rng([seed, step, i]), n) for i in range(N)]
    )


def _trained(
    implementation: Any, start: Replicas, N: int, n: int, p: Any, data: str, rounds: int, seed: int, **more: Any
) -> Any:
    loss = _BURSTS if p == "bursts" else Bernoulli(p)
    return implementation(start, _gradient(N, n, data, seed), loss, rounds, _RATE, seed=seed, **more)


def _norm(x: Floats) -> float:
    return math.sqrt(x @ x)


def _replica_gap(implementation: Any, N: int, n: int, p: Any, data: str, rounds: int, seed: int) -> Outcome:
    """Of all steps, shards and pairs the one whose gap is largest against the norms of the updates in it."""
    owner = layout(n, N).owner
    norms: list[Floats] = []
    worst, largest = (-1.0, 0.0, 0.0), 0.0

    def observe(state: Replicas, update: Floats) -> None:
        nonlocal worst, largest
        shards = [owner == j for j in range(min(n, N))]
        norms.append(np.array([_norm(update[shard]) for shard in shards]))
        largest = max(largest, float(np.abs(state.parameters).max()))
        # since[l, j]: norms of the last l updates of shard j, added up
        since = np.vstack([np.zeros(len(shards)), np.cumsum(norms[::-1], axis=0)])
        for j, shard in enumerate(shards):
            copies, passed = state.parameters[:, shard], since[state.missed[:, shard][:, 0], j].tolist()
            for i in range(N):
                for k in range(i):
                    gap = _norm(copies[i] - copies[k])
                    between = abs(passed[i] - passed[k])
                    close = gap / between if between > 0 else (0.0 if gap == 0 else np.inf)
                    if close > worst[0]:
                        worst = (close, gap, between)

    _trained(implementation, fresh_replicas(np.zeros(n), N), N, n, p, data, rounds, seed, observe=observe)
    # every step adds one rounded update to every coordinate: an error of eps/2 of the largest value each; and as much
    # again for the norms and for their sums
    slack = 4 * rounds * _EPS * max(largest, sum(float(v.max()) for v in norms)) * np.sqrt(n)
    return Outcome(worst[1], {"missednorms": worst[2]}, slack)


def _stale_gradients(
    implementation: Any, N: int, n: int, p: Any, data: str, rounds: int, seed: int, function: str, shift: float,
    spread: float,
) -> Outcome:  # fmt: skip
    """Mean gradient at the replicas after a run, beside the gradient at the owners' values or at another point.

    The function is sum_c cos(x_c), or a quadratic of curvature 2: gradients with constants 1 and 2.
    """
    start = fresh_replicas(np.linspace(-1.0, 1.0, n) * spread, N)
    state, _ = _trained(implementation, start, N, n, p, data, rounds, seed)
    owned = state.parameters[layout(n, N).owner, np.arange(n)]
    point = owned + shift
    curvature = 2.0 if function == "quadratic" else 1.0

    def slope(x: Floats) -> Floats:
        return 2.0 * x if function == "quadratic" else -np.sin(x)

    measured = float(np.linalg.norm(np.mean([slope(x) for x in state.parameters], axis=0) - slope(point)))
    distance = float(np.mean(np.linalg.norm(state.parameters - point, axis=1)))
    # sums of N and of n terms, and sines good to an ulp
    scale = float(np.abs(state.parameters).max()) + abs(shift) + 1.0
    return Outcome(measured, {"smooth": curvature, "meandistance": distance}, 4 * (N + n) * _EPS * scale)


_RUNS = Space(
    nothing,
    {
        "N": RANKS,
        "n": (3, 1, 2, 7, Of("N", lambda N: N), Of("3 N + 1", lambda N: 3 * N + 1)),
        "p": (0.1, 0.4, 1.0, "bursts"),
        "data": ("constant", "quadratic", "signs", "normal", "student"),
        "rounds": (12, 3),
    },
    options=("p", "data"),
    combined=(("N", "p", "data"),),
).search(n=(1, 9), p=(0.5, 0.9), data=tuple(FAMILIES), rounds=(1, 15))
_RECORDED = [_RUNS.at(N=N, n=2410, p=p, data="recorded", rounds=8, seed=1) for N in (2, 8) for p in (0.1, 0.4)]
_GAPS = Family("packetloss", "lossy_training", _RUNS.including(*_RECORDED), exact=False)
_POINTS = _RUNS.replaced(function=("quadratic", "cosine"), shift=(0.0, 3.0), spread=(1.0,)).search(
    n=(1, 9), p=(0.5, 0.9), data=tuple(FAMILIES), rounds=(1, 15), shift=(1.0, -2.0, 0.1), spread=(0.0, 5.0)
)
_FAR = Family(
    "packetloss",
    "lossy_training",
    _POINTS.including(*(_POINTS.at(**{**row, "shift": shift}) for row in _RECORDED for shift in (0.0, 3.0))),
    exact=False,
    arrays=3,
)

TRAINING = (
    *_GAPS.studies(
        _replica_gap,
        "training.replica_gap",
        extremal=_GAPS.of([_RUNS.at(N=n + 1, n=n + 1, p=0.5, seed=n) for n in range(1, 5)]),
    ),
    *_FAR.studies(
        _stale_gradients,
        "training.stale_gradients",
        # one parameter and two workers: replicas and point lie on a line, and far from the point all on one side
        extremal=_FAR.every(N=[2], n=[1], p=[0.5], seed=range(3), shift=[20.0]),
    ),
)
