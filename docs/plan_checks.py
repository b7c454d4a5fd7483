"""``python docs/plan_checks.py``: two tables of ``plan.md``, published numbers and runs beside what `plan` says."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from commbounds.collectives import (
    LatencyLaw,
    drop_trials,
    marina_step,
    oktopk_allreduce,
    rabenseifner_allreduce,
    released_noise,
    ring_allreduce,
    topk_allgather,
    twostep_quantised_allreduce,
)
from commbounds.collectives.dropcompute import best_threshold
from commbounds.collectives.dropcompute.steps import trial_latencies
from commbounds.collectives.feedback import FeedbackSGD
from commbounds.compressors import COMPRESSORS, EF21, GroupQuantizer, TopK
from commbounds.compressors.blockformats.microscaling import Microscaling
from commbounds.compressors.blockformats.nvfp4 import NVFP4
from commbounds.theory.planning import Cluster, MethodCost, plan

CLUSTERS = {
    "8 GPUs": {"ranks": 8, "bandwidth": 3e11, "latency": 1e-6},
    "64 ranks": {"ranks": 64, "bandwidth": 5e10},
    "1024 ranks": {"ranks": 1024, "nodes": 128, "bandwidth": 5e10},
    "32 volunteers": {"ranks": 32, "bandwidth": 1.25e7, "latency": 0.05},
    "200 workers": {"ranks": 200, "bandwidth": 3.125e9, "latency": 2e-5, "heterogeneity": 2.0},
}
SLOWEST, TARGET = 0.05, 1e-2
"""Smallest curvature over the largest; norm of the gradient in the end over that at the start."""


def rows(cluster: Cluster) -> dict[str, MethodCost]:
    """Method -> what is planned."""
    found = plan(cluster)
    return {row.method: row for row in (*found.ranked, *found.listed)}


def published() -> list[tuple[str, str, float, float, str]]:
    """What is printed, how that is known, the number, the plan's, and why they differ."""
    P, n, k = 64, 25_000_000, 250_000
    big = Cluster(ranks=P, shapes=((5000, 5000),), latency=0.0)
    words = {name: row.bytes / (4 if name == "rabenseifner" else big.sparse_word) for name, row in rows(big).items()}
    printed = {"rabenseifner": 2 * n * (P - 1) / P, "topk": 2 * k * (P - 1), "gtopk": 4 * k * math.log2(P)}
    printed |= {"oktopk": 6 * k * (P - 1) / P}
    four = rows(Cluster(ranks=4, shapes=((8192, 4096),), item=2, latency=0.0, bandwidth=2.5e10))
    faster = four["ring"].seconds / four["twostep_int4"].seconds
    first = {share: 1 / (1 - share + share / faster) for share in (0.65, 0.2)}
    grid = rows(Cluster(ranks=1024, shapes=((30, 64),), latency=0.0))["moshpit_32"].bytes / (2 * 30 * 64 * 4 * 31 / 32)
    note = "it has no time for coding"
    noise = released_noise(0.45)
    times = np.stack([trial_latencies(noise, 200, 12, seed=0, trial=step) for step in range(44)])
    freely, with_few = best_threshold(times, 0.5), best_threshold(times, 0.5, drop_rate=3 / 103)
    late = f"times are of the released noise; tested after each micro-batch, as released: {after_each(noise, 0.5):.3f}"
    return [
        *(
            (f"Ok-Topk, Table 1, words of {m}, P = 64, k = 1 %", "recalled", f, words[m], "")
            for m, f in printed.items()
        ),
        ("Flash Communication, int4 over ring, above 64 MB", "second-hand", 3.18, faster, note),
        ("the same, time to first token, L40, 65 % of it sending", "second-hand", 2.06, first[0.65], "other settings"),
        ("the same, A100, 20 % of it sending", "second-hand", 1.19, first[0.2], ""),
        ("Moshpit, rounds of 32 x 32 to the mean, no failures", "replayed", 2.0, grid, ""),
        ("DropCompute, BERT-1.5B on up to 200 workers, times as fast", "second-hand", 1.18, freely.gain, late),
        ("the same, time to a loss in 3 % more steps", "recalled", 0.87, 1 / with_few.gain, "the same"),
    ]


def after_each(law: LatencyLaw, overhead: float) -> float:
    """The best gain of a threshold that workers test after each micro-batch alone, on the same steps."""
    each = partial(drop_trials, law, 200, 12, overhead=overhead, trials=44, seed=0, preemption="B")
    found = map(each, np.linspace(4.0, 12.0, 100))
    return max(float(steps.completed.mean() / 2400 * steps.slowest.mean() / steps.time.mean()) for steps in found)


def moved(name: str, ranks: int, n: int) -> float:
    """Bytes on the critical path of one run, or of the busiest rank."""
    rng, k = np.random.default_rng(ranks), round(0.01 * n)
    x = rng.standard_normal((ranks, n)).astype(np.float32)
    if name == "oktopk":
        state = None
        for _ in range(3):
            *_, state, traffic = oktopk_allreduce(x, k, state)
        return 4 * sum(traffic.phases[part].critical_path for part in ("split", "balance", "allgather"))
    if name == "twostep_int8":
        return float(max(twostep_quantised_allreduce(x, GroupQuantizer(8, group=128, metadata="float16"))[-1].sent))
    if name == "topk":
        return 4.0 * topk_allgather(x, k)[-1].critical_path
    return 4.0 * (ring_allreduce if name == "ring" else rabenseifner_allreduce)(x)[1].critical_path


def curvatures(heterogeneity: float, *shape: int) -> np.ndarray:
    """Of two workers' quadratic functions, whose mean has curvatures in [SLOWEST, 1]; 1600 entries without a shape."""
    mean = np.geomspace(SLOWEST, 1.0, math.prod(shape or (1600,))).reshape(shape or -1)
    apart = math.sqrt(heterogeneity**2 - 1)
    return np.stack([mean + apart, mean - apart]) if apart else np.stack([mean, mean])


def steps(advance, curvature: np.ndarray) -> int:
    """Until the gradient at the weights has `TARGET` of its norm; `advance` takes the two gradients to new weights."""
    x, count = np.ones(curvature.shape[1:]), 0
    first = np.linalg.norm(curvature.mean(axis=0) * x)
    while np.linalg.norm(curvature.mean(axis=0) * x) > TARGET * first:
        x, count = advance(curvature * x, x), count + 1
    return count


def with_feedback(compressor, step_size: float, curvature: np.ndarray) -> int:
    """Steps of EF21."""
    sgd = FeedbackSGD(EF21(compressor), step_size)
    state = sgd.start(np.ones(curvature.shape[1:]), 2)

    def advance(gradients, _):
        nonlocal state
        state = sgd.step(gradients, state)[0]
        return state.weights

    return steps(advance, curvature)


def with_marina(step_size: float, k: int, ranks: int) -> int:
    """Steps of MARINA with Rand-K on functions that are alike."""
    rng, curvature = np.random.default_rng(ranks), curvatures(1.0)
    estimate, before = curvature[0] * np.ones(1600), np.tile(curvature[0], (ranks, 1))

    def advance(gradients, x):
        nonlocal estimate, before
        now = np.tile(gradients[0], (ranks, 1))
        estimate = marina_step(now, before, estimate, k, bool(rng.random() < k / 1600), rng)[0][0]
        before = now
        return x - step_size * estimate

    return steps(advance, curvature)


def runs() -> list[tuple[str, str, str, float, float]]:
    """Cluster, method, what is compared, the plan's figure and the run's; steps at the largest step size proved."""
    found = []
    for name, options in CLUSTERS.items():
        ranks = options["ranks"]
        columns = 2 if ranks > 64 else 32
        planned = rows(Cluster(shapes=((128 * ranks, columns),), **options))
        best = "ring" if ranks == 200 else "rabenseifner"
        more = ("topk", "oktopk", "twostep_int8") if ranks <= 64 else ("topk",) if ranks == 200 else ()
        for method in (best, *more):
            run = moved(method, ranks, 128 * ranks * columns)
            found.append((name, method, "bytes", planned[method].bytes, run))
    codes = {"nvfp4": NVFP4(), "mxfp4": Microscaling("e2m1"), "mxfp8": Microscaling("e4m3")}
    codes |= {"nearest_power": COMPRESSORS["NearestPower"](), "topk": TopK(160)}
    codes |= {"svd": COMPRESSORS["LowRank"](4), "sign": COMPRESSORS["ScaledSign"]()}
    for heterogeneity, name in ((1.0, "all but 200 workers"), (2.0, "200 workers")):
        for method, compressor in codes.items():
            shape = (20, 20) if method == "sign" else (40, 40)  # of `sign` steps grow with the entries
            curvature = curvatures(heterogeneity, *(shape if method == "svd" else (math.prod(shape),)))
            plain = steps(lambda gradients, x: x - gradients.mean(axis=0), curvature)
            planned = rows(Cluster(ranks=2, shapes=(shape,), heterogeneity=heterogeneity, density=0.1))
            slow = planned[method].slowdown
            found.append((name, method, "steps", slow * plain, with_feedback(compressor, 1 / slow, curvature)))
    slow = rows(Cluster(ranks=8, shapes=((40, 40),), density=0.1))["marina_randk"].slowdown
    plain = steps(lambda gradients, x: x - gradients.mean(axis=0), curvatures(1.0))
    found.append(("8 GPUs", "marina_randk", "steps", slow * plain, with_marina(1 / slow, 160, 8)))
    return found


def tables() -> list[str]:
    """Lines of both tables."""
    lines = ["| printed | known by | printed | plan | plan is off by | why |", "|---" * 6 + "|"]
    for what, known, number, ours, why in published():
        lines.append(f"| {what} | {known} | {number:,.4g} | {ours:,.4g} | {100 * (ours / number - 1):+.1f} % | {why} |")
    lines += ["", "| cluster | method | what | plan | run | run is off by |", "|---" * 6 + "|"]
    for *names, planned, run in runs():
        off = 100 * (run / planned - 1)
        lines.append("| {} | `{}` | {} |".format(*names) + f" {planned:,.0f} | {run:,.0f} | {off:+.1f} % |")
    return lines


if __name__ == "__main__":
    print("\n".join(tables()))
