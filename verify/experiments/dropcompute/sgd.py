"""DropCompute: the gradient that a threshold leaves, and SGD with random batches, bound to their code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.dropcompute.laws import SMALL_LAWS, law_curves
from commbounds.verify.experiments.dropcompute.steps import exactly
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

_LENGTHS = (1, 2, 4, 8, 12, 16, 20, 24)
_LAWS = ("1 (1/2) or 2 (1/2)", "1 (2/3) or 3 (1/3)", "0 (1/4) or 1 (3/4)", "1 (1/2) or 2 (1/4) or 4 (1/4)")


# --- gradients ---------------------------------------------------------------------------------------------------


def _gradient_grid(level: int) -> Iterator[Case]:
    for N, M in ((1, 1), (1, 2), (2, 1), (2, 2))[: 4 if level else 3]:
        for law in _LAWS:
            for doubled in range(1, 10):
                yield Case({"law": law, "N": N, "M": M, "tau": Fraction(doubled, 2)})


def _mean_gradient(drop_gradient: Any, case: Case, normalisation: str, correlated: bool = False) -> Outcome | None:
    """E of the step's gradient, over latencies and over gradients 1 and 3 with equal chances, whose mean is 2."""
    from commbounds.collectives import drop_step

    s, law = case.settings, SMALL_LAWS[case.settings["law"]]
    N, M, tau = s["N"], s["M"], s["tau"]
    total, something, kept, anybody = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    for t, p in law.outcomes(N, M):
        completed = drop_step(t, float(tau)).completed
        kept += p * Fraction(int(completed.sum()), N * M)
        anybody += p * Fraction(int((completed > 0).sum()), N)
        if normalisation == "computed" and completed.sum() == 0:
            continue
        something += p
        free = (np.reshape(g, (N, M)) for g in itertools.product((1.0, 3.0), repeat=N * M))
        gradients = [t] if correlated else list(free)
        # means of a few small integers may round; their sum over a law is compared as what it is, a rational
        total += (
            p
            * sum(_rational(drop_gradient(g[:, :, None], completed, normalisation)[0]) for g in gradients)
            / len(gradients)
        )
    if something == 0:
        return None
    mean = law.mean if correlated else Fraction(2)
    share = anybody if normalisation == "worker" else kept
    return Outcome(total / something / mean, {"share": share})


def _rational(value: float) -> Fraction:
    """The rational with a small denominator that a float stands for: sums of integers over 1 .. 4."""
    return Fraction(float(value)).limit_denominator(64)


def _gradients(normalisation: str, correlated: bool = False) -> Callable[[Any, Case], Outcome | None]:
    return lambda drop_gradient, case: _mean_gradient(drop_gradient, case, normalisation, correlated)


_GRADIENT_POINTS = [
    (
        f"{law}; N = M = 2",
        "tau",
        [(j / 2, Case({"law": law, "N": 2, "M": 2, "tau": Fraction(j, 2)})) for j in range(1, 10)],
    )
    for law in _LAWS[:2]
]


def _gradient_study(claim: str, normalisation: str, correlated: bool = False) -> Study:
    return Study(
        f"dropcompute.gradient.{claim}",
        "drop_gradient",
        _gradients(normalisation, correlated),
        grid=_gradient_grid,
        corpus=lambda _budget: itertools.islice(_gradient_grid(1), 0, None, 7),
        curves=law_curves(f"gradient.{claim}", _gradients(normalisation, correlated), _GRADIENT_POINTS),
        enumerated="every outcome of the latencies and gradients of up to two workers with up to two micro-batches",
    )


# --- SGD ---------------------------------------------------------------------------------------------------------
# f(x) = L x^2 / 2 in one dimension: gradient L x, minimum 0, f(x_1) - f* = L x_1^2 / 2; samples' noise is +-sigma.


def _expected_squares(random_batch_sgd: Any, case: Case) -> tuple[Fraction, Fraction]:
    """E of the weighted mean of x_i^2, over every outcome of the noise, and the samples used."""
    s = case.settings
    batches = np.array(s["batches"])
    steps, B = len(batches), s["B"]
    eta, curvature, sigma, start = (float(s[name]) for name in ("eta", "L", "sigma", "start"))
    samples = int(batches.sum())
    signs = list(itertools.product((-sigma, sigma), repeat=steps * B)) if sigma else [(0.0,) * (steps * B)]
    total = Fraction(0)
    for noise in signs:
        visited = random_batch_sgd([start], lambda x: curvature * x, np.reshape(noise, (steps, B, 1)), batches, eta)
        total += sum((int(b) * exactly(x) ** 2 for b, x in zip(batches, visited[:, 0], strict=True)), Fraction(0))
    return total / len(signs) / samples, Fraction(samples)


def _sgd_values(case: Case, samples: Fraction) -> dict[str, Any]:
    s = case.settings
    return {
        "stepsize": s["eta"],
        "smoothness": s["L"],
        "noise": s["sigma"],
        "excess": s["L"] * s["start"] ** 2 / 2,
        "distance": abs(s["start"]),
        "largest_batch": s["B"],
        "samples": samples,
        "iterations": len(s["batches"]),
    }


def _nonconvex(random_batch_sgd: Any, case: Case) -> Outcome | None:
    if not sum(case.settings["batches"]) or case.settings["eta"] * case.settings["L"] > 1:
        return None
    squares, samples = _expected_squares(random_batch_sgd, case)
    return Outcome(case.settings["L"] ** 2 * squares, _sgd_values(case, samples))


def _convex(random_batch_sgd: Any, case: Case) -> Outcome | None:
    if not sum(case.settings["batches"]) or 2 * case.settings["eta"] * case.settings["L"] > 1:
        return None
    squares, samples = _expected_squares(random_batch_sgd, case)
    return Outcome(case.settings["L"] * squares / 2, _sgd_values(case, samples))


def _sgd_grid(level: int) -> Iterator[Case]:
    # powers of two, so that every iterate is a float exactly
    for steps, B in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2) if level else (4, 1)):
        for batches in itertools.product(range(B + 1), repeat=steps):
            for eta, sigma, start in itertools.product(
                (Fraction(1), Fraction(1, 2), Fraction(1, 4)), (0, 1, 4), (Fraction(1), Fraction(1, 4))
            ):
                yield Case({"batches": batches, "B": B, "eta": eta, "L": Fraction(1), "sigma": sigma, "start": start})


def _sampled(random_batch_sgd: Any, case: Case, tuned: Callable[[dict[str, Any], float], float], power: int) -> Any:
    """Mean over seeded runs at the tuned step, by the exact recursion of second moments for its expectation."""
    s = case.settings
    rng = np.random.default_rng(s["seed"])
    steps, B, L, sigma, start = s["steps"], s["B"], s["L"], s["sigma"], s["start"]
    batches = (
        np.where(rng.random(steps) < s["drop"], 0, rng.integers(0, B + 1, steps)) if s["drop"] else np.full(steps, B)
    )
    samples = int(batches.sum())
    if samples == 0:
        return None
    values = {"smoothness": L, "noise": sigma, "excess": L * start**2 / 2, "distance": start, "largest_batch": float(B)}
    eta = tuned(values, float(samples))
    # an iterate is linear in start and noise: run the implementation on each unit alone, and add their squares
    zero = np.zeros((steps, B, 1))
    mean = random_batch_sgd([start], lambda x: L * x, zero, batches, eta)[:, 0]
    second = mean**2
    if sigma:
        for i in np.flatnonzero(batches):
            unit = zero.copy()
            unit[i, 0, 0] = sigma  # the samples of a step enter alike: one speaks for all that were used
            response = random_batch_sgd([0.0], lambda x: L * x, unit, batches, eta)[:, 0]
            second = second + batches[i] * response**2
    measured = float(batches @ second) / samples * (L**2 if power == 2 else L / 2)
    slack = 64 * steps * np.finfo(float).eps * measured
    return Outcome(measured, {**values, "samples": float(samples), "iterations": float(steps)}, slack)


def _eta_nonconvex(v: dict[str, Any], samples: float) -> float:
    if v["noise"] == 0:
        return 1 / float(v["smoothness"])
    best = v["largest_batch"] * math.sqrt(2 * v["excess"] / (samples * v["smoothness"] * v["noise"] ** 2))
    return float(min(1 / v["smoothness"], best))


def _eta_convex(v: dict[str, Any], samples: float) -> float:
    if v["noise"] == 0:
        return 0.5 / float(v["smoothness"])
    return float(min(0.5 / v["smoothness"], v["largest_batch"] * v["distance"] / (v["noise"] * math.sqrt(samples))))


def _tuned(random_batch_sgd: Any, case: Case) -> Outcome | None:
    found: Outcome | None = _sampled(random_batch_sgd, case, _eta_nonconvex, 2)
    return found


def _tuned_convex(random_batch_sgd: Any, case: Case) -> Outcome | None:
    found: Outcome | None = _sampled(random_batch_sgd, case, _eta_convex, 1)
    return found


@st.composite
def _runs(draw: st.DrawFn) -> Case:
    return _run_case(
        draw(inputs.whole(1, 60)),
        draw(inputs.whole(1, 8)),
        draw(inputs.among((0.0, 1.0, 10.0, 0.1))),
        draw(inputs.among((0.0, 0.5, 0.9))),
        draw(inputs.whole(0, 2**31)),
        draw(inputs.among((1.0, 0.25, 4.0))),
    )


def _run_case(steps: int, B: int, sigma: float, drop: float, seed: int, L: float = 1.0) -> Case:
    return Case({"steps": steps, "B": B, "sigma": sigma, "drop": drop, "seed": seed, "L": L, "start": 2.0})


def _runs_by_hand(budget: Budget) -> Iterator[Case]:
    for steps, sigma, drop in itertools.product(
        (1, 20, 200 if budget.level else 80), (0.0, 1.0, 10.0), (0.0, 0.5, 0.9)
    ):
        yield _run_case(steps, 4, sigma, drop, 3)


def _one_then_nothing(_budget: Budget) -> Iterator[Case]:
    for steps in (16, 64):
        batches = (1,) + (0,) * (steps - 1)
        yield Case({"batches": batches, "B": 1, "eta": Fraction(1), "L": Fraction(1), "sigma": 0, "start": Fraction(1)})


def _quiet_case(steps: int, kept: int) -> Case:
    """A sample in each of the first steps, none thereafter, no noise."""
    batches = (1,) * min(kept, steps) + (0,) * (steps - kept)
    step = Fraction(1, 4)
    return Case({"batches": batches, "B": 1, "eta": step, "L": Fraction(1), "sigma": 0, "start": Fraction(1)})


def _sgd_study(claim: str, trial: Any, **more: Any) -> Study:
    points = [
        (f"samples in {kept} steps, no noise", "iterations", [(float(n), _quiet_case(n, kept)) for n in _LENGTHS])
        for kept in (4, 24)
    ]
    options = {
        "curves": law_curves(f"sgd.{claim}", trial, points),
        "grid": _sgd_grid,
        "corpus": lambda _budget: itertools.islice(_sgd_grid(0), 0, None, 11),
        "enumerated": "every sequence of up to four batches and every outcome of the samples' signs, f(x) = x^2/2",
        **more,
    }
    return Study(f"dropcompute.sgd.{claim}", "random_batch_sgd", trial, **options)


def _sgd_curves(claim: str, trial: Any) -> Callable[[Any, int], list[Series]]:
    lengths = (5, 10, 20, 40, 80)
    drawn = [
        (f"{drop:.0%} of the steps dropped", "iterations", [(float(n), _run_case(n, 4, 1.0, drop, 3)) for n in lengths])
        for drop in (0.0, 0.9)
    ]
    return law_curves(f"sgd.{claim}", trial, drawn)


SGD_STUDIES = (
    _gradient_study("fixed", "fixed"),
    _gradient_study("computed", "computed"),
    _gradient_study("worker", "worker"),
    _gradient_study("correlated", "computed", correlated=True),
    _sgd_study("nonconvex", _nonconvex),
    Study(
        "dropcompute.sgd.nonconvex_tuned",
        "random_batch_sgd",
        _tuned,
        corpus=_runs_by_hand,
        cases=_runs,
        curves=_sgd_curves("nonconvex_tuned", _tuned),
    ),
    _sgd_study("convex", _convex),
    Study(
        "dropcompute.sgd.convex_tuned",
        "random_batch_sgd",
        _tuned_convex,
        corpus=_runs_by_hand,
        cases=_runs,
        curves=_sgd_curves("convex_tuned", _tuned_convex),
    ),
    _sgd_study("drops_ignored", _nonconvex, extremal=_one_then_nothing),
)
