"""Error feedback: figures about more than one claim."""

from collections.abc import Callable
from typing import Any

import numpy as np

from commbounds.collectives import ArcRows, FeedbackSGD, GatheredTopK, OkTopK
from commbounds.compressors import EF14, EF21, EF21M, Compressor, Feedback, Plain, RandK, ScaledSign, TopK
from commbounds.verify.exhibit import Exhibit, Maker, Panel, law, line
from commbounds.verify.experiments.feedback.few_steps import ROWS, share_of_rate, worst_function
from commbounds.verify.experiments.feedback.noise import floor
from commbounds.verify.experiments.feedback.problems import Problem, logistic_digits, rotated, three_workers

_FEEDBACK: dict[str, Callable[[Compressor | None], Feedback]] = {
    "none": lambda c: Plain(c),
    "EF14": lambda c: EF14(c),
    "EF21": lambda c: EF21(c),
    "EF21M, eta = 0.5": lambda c: EF21M(c, eta=0.5),
}


def _compressors(n: int) -> dict[str, tuple[Compressor | None, Any, float | None]]:
    """Name -> compressor, aggregator, and the contraction that EF21's bound may use."""
    k = max(1, n // 5)
    return {
        "Top-K": (TopK(k), None, k / n),
        "Rand-K": (RandK(k, scaled=False), None, k / n),
        "Rand-K scaled up": (RandK(k), None, None),
        "scaled sign": (ScaledSign(), None, 1 / n),
        "ARC-Top-K": (None, ArcRows(k), None),
        "Ok-Topk": (None, OkTopK(k, {"tau_prime": 1}), None),
        "Top-K gathered": (None, GatheredTopK(k), k / n),
    }


def _gamma(problem: Problem, alpha: float) -> float:
    """The largest step size that EF21's linear rate admits."""
    q = float(np.sqrt(1 - alpha))
    return min(1 / (problem.L + problem.Lt * q / (1 - q) * 2**0.5), (1 - q) / (2 * problem.mu))


def _descended(problem: Problem, sgd: FeedbackSGD, steps: int, looks: list[int], seed: int) -> list[float]:
    """Excess over f* at the steps looked at; NaN from where it passes a thousand times its start."""
    state, rng, found = sgd.start(problem.start, problem.P), np.random.default_rng(seed), []
    highest = 1e3 * problem.excess(problem.start)
    for t in range(steps + 1):
        value = problem.excess(state.weights)
        if value > highest:
            break
        if t in looks:
            found.append(max(value, 1e-16))
        state, _ = sgd.step(problem.gradients(state.weights), state, rng)
    return found + [float("nan")] * (len(looks) - len(found))


def convergence(budget: str, seed: int) -> Exhibit:
    """Excess over the minimum, for every pair of compressor and feedback, on every problem."""
    steps = {"quick": 150, "standard": 1500, "thorough": 6000}[budget]
    looks = sorted({int(v) for v in np.geomspace(1, steps, 25)} | {0})
    panels = []
    for problem in (three_workers(), rotated(4, 10, 10.0, 1.0, 0), logistic_digits()):
        n = problem.best.size
        gamma = _gamma(problem, max(1, n // 5) / n)
        for feedback, made in _FEEDBACK.items():
            lines = []
            for name, (compressor, aggregator, alpha) in _compressors(n).items():
                sgd = FeedbackSGD(made(compressor), gamma, aggregator)
                lines.append(line(name, looks, _descended(problem, sgd, steps, looks, seed)))
                if feedback == "EF21" and name == "Top-K" and alpha is not None:
                    given = {"stepsize": gamma, "convexity": problem.mu, "potential": problem.excess(problem.start)}
                    lines.append(law("bound for Top-K", looks, "feedback.ef21.pl", "horizon", "bound", **given))
            title = f"{problem.name}; {feedback}"
            panels.append(Panel(title, "step", "f - f* (unit of f)", tuple(lines), yscale="log"))
    return Exhibit(
        "feedback.convergence",
        "With error feedback every contractive compressor converges; without it, Top-K stalls or drives workers apart",
        f"A fifth of the entries kept, P = 3, 4 and 8 workers with different functions, {steps} steps of the size that "
        "EF21's linear rate admits for Top-K. A curve ends where it exceeds a thousand times its start: Rand-K scaled "
        "up is unbiased but not contractive, and feedback accumulates its errors. The scaled sign is contractive only "
        "by 1/n, so that the bound does not cover it at this step size.",
        tuple(panels),
    )


def floors(budget: str, seed: int) -> Exhibit:
    """Noise floor against the number of workers."""
    steps = {"quick": 300, "standard": 3000, "thorough": 20000}[budget]
    workers = {"quick": [1, 2, 4, 8, 16], "standard": [1, 4, 16, 64], "thorough": [1, 4, 16, 64, 256]}[budget]
    panels = []
    for eta, gamma in ((1.0, 0.05), (0.1, 0.05)):
        lines = [
            line(name, workers, [floor(FeedbackSGD, arc, P, eta, gamma, steps, seed) for P in workers])
            for name, arc in (("ARC-Top-K", True), ("Top-K per worker", False))
        ]
        lines.append(line("1/P", workers, [lines[0].y[0] / P for P in workers], "reference"))
        panels.append(Panel(f"eta = {eta}", "workers P", "mean ||grad f||^2", tuple(lines), xscale="log", yscale="log"))
    return Exhibit(
        "feedback.floors",
        "The noise floor falls like 1/P with ARC-Top-K; with Top-K per worker it stops at the bias of the noise",
        f"EF21M on ||x||^2/2 in the plane, one of two entries kept, noise of three values, {steps} steps after a "
        "transient; one run per point. The noise biases every worker's Top-K, and averaging over workers does not "
        "remove the bias. The noise law was selected for its bias: other laws show less, and with a small eta (right) "
        "it is invisible at these numbers of workers.",
        tuple(panels),
    )


def shares(budget: str, seed: int) -> Exhibit:
    """Share of the printed rate in few steps: what is proved to be the most, and what the worst function comes to."""
    panels = []
    for mechanism, rows in ROWS.items():
        for weight in dict.fromkeys(row.weight for row in rows):
            lines = []
            for q in dict.fromkeys(row.q for row in rows):
                some = [row for row in rows if (row.q, row.weight) == (q, weight)]
                horizons = [row.horizon for row in some]
                lines.append(line(f"q = {q}: at most", horizons, [row.share for row in some], "bound"))
                come_to = [share_of_rate(FeedbackSGD, worst_function(mechanism, row)) for row in some]
                lines.append(line(f"q = {q}", horizons, come_to))
            setting = f"eta = {weight}" if mechanism == "EF21M" else f"{weight} of the largest step size"
            panels.append(Panel(f"{mechanism}, {setting}", "steps", "share of the printed rate", tuple(lines)))
    return Exhibit(
        "feedback.shares",
        "In few steps EF21's printed rate is loose by a factor of 1.15 to 11, EF14's by 2.8 to 43, EF21M's by 7 to 53",
        "One worker, no noise. 'At most' is proved for every smooth function and contractive compressor, by rational "
        "multipliers of a semidefinite programme for every setting. The other lines are runs on x^2/2, or for EF14 on "
        "Huber's function, with the compressors that return 1 - q or 1 + q of their input. Where both agree, the worst "
        "case is known. More steps come closer to the rates, except for EF14 at its largest step size.",
        tuple(panels),
    )


EXHIBITS: dict[str, Maker] = {"feedback.convergence": convergence, "feedback.floors": floors, "feedback.shares": shares}
