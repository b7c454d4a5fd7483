"""Error feedback: the claims bound to their implementations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.compressors import Plain, TopK
from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.control import CONTROL
from commbounds.verify.experiments.feedback.convex import CONVEX
from commbounds.verify.experiments.feedback.convex_workers import CONVEX_WORKERS
from commbounds.verify.experiments.feedback.descents import DESCENTS
from commbounds.verify.experiments.feedback.few_steps import FEW_STEPS
from commbounds.verify.experiments.feedback.momenta import MOMENTA
from commbounds.verify.experiments.feedback.noise import NOISY
from commbounds.verify.experiments.feedback.problems import three_workers
from commbounds.verify.experiments.feedback.workers import WORKERS
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study, studies


def _after(sgd: Any, case: Case) -> Any:
    """Weights of the three workers after the case's steps, without feedback."""
    s, problem = case.settings, three_workers(case.settings["start"])
    descent = sgd(Plain(TopK(1)), s["gamma"])
    state = descent.start(problem.start, 3)
    for _ in range(s["steps"]):
        state, _ = descent.step(problem.gradients(state.weights), state)
    return state.weights


def _growth(sgd: Any, case: Case) -> Outcome:
    """The entry that grows least like the claim says; exact, as start and step size are chosen so."""
    s, gamma = case.settings, Fraction(case.settings["gamma"])
    grown = [Fraction(v) / Fraction(s["start"]) for v in _after(sgd, case).tolist()]
    expected = 1 + Fraction(11, 6) * gamma
    return Outcome(max(grown, key=lambda v: abs(v - expected)), {"stepsize": gamma})


def _exact_starts(level: int) -> Iterator[Case]:
    # 11/2 start/3 is dyadic where 3 divides start
    for start, exponent, odd in itertools.product((3, -3, 6, 51), range(0, 8 + level), (1, 3)):
        yield Case({"start": float(start), "gamma": odd * 2.0**-exponent, "steps": 1})


def _constants(_sgd: Any, case: Case) -> dict[str, Any]:
    """What the step size is held against: Top-1 of three entries."""
    problem = three_workers(case.settings["start"])
    return {
        "stepsize": case.settings["gamma"], "smoothness": problem.L, "smoothness_apart": problem.Lt,
        "alpha": Fraction(1, 3), "variance": 0,
    }  # fmt: skip


def _far(sgd: Any, case: Case) -> Outcome:
    s = case.settings
    ratio = float(np.linalg.norm(_after(sgd, case)) / np.linalg.norm(np.full(3, s["start"])))
    return Outcome(ratio, {}, 64 * s["steps"] * float(np.finfo(np.float64).eps) * ratio)


def _small_steps(_budget: Budget) -> Iterator[Case]:
    for gamma, steps in itertools.product((0.05, 5e-3, 1e-4), (1, 10, 1000)):
        yield Case({"start": 1.0, "gamma": gamma, "steps": steps})


def _growth_curve(sgd: Any, _seed: int) -> list[Series]:
    sizes = [2.0**-j for j in range(7, -1, -1)]
    outcomes = [_growth(sgd, Case({"start": 3.0, "gamma": gamma, "steps": 1})) for gamma in sizes]
    bound = [float(claims()["feedback.plain.growth"].bound(**o.values)) for o in outcomes]
    return [Series("three workers", "stepsize", sizes, bound, [float(o.measured) for o in outcomes])]


def _far_curve(sgd: Any, _seed: int) -> list[Series]:
    steps = [1, 10, 100, 300, 1000]
    far = [float(_far(sgd, Case({"start": 1.0, "gamma": 0.005, "steps": T})).measured) for T in steps]
    return [Series("three workers, gamma = 0.005", "horizon", [float(T) for T in steps], [1.0] * 5, far)]


EXPERIMENTS: dict[str, Study] = studies(
    *WORKERS,
    *MOMENTA,
    *DESCENTS,
    *CONVEX,
    *CONVEX_WORKERS,
    *FEW_STEPS,
    *NOISY,
    *CONTROL,
    Study(
        "feedback.plain.growth",
        "FeedbackSGD",
        _growth,
        grid=_exact_starts,
        curves=_growth_curve,
        enumerated="multiples of three as starts, dyadic step sizes; all numbers exact",
    ),
    Study("feedback.plain.convergence", "FeedbackSGD", _far, known=_constants, corpus=_small_steps, curves=_far_curve),
)
