"""Error feedback: the claims bound to their implementations."""

from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import Plain, TopK
from commbounds.verify.experiments.feedback.control import CONTROL
from commbounds.verify.experiments.feedback.convex import CONVEX
from commbounds.verify.experiments.feedback.descents import DESCENTS
from commbounds.verify.experiments.feedback.few_steps import FEW_STEPS
from commbounds.verify.experiments.feedback.momenta import MOMENTA
from commbounds.verify.experiments.feedback.noise import NOISY
from commbounds.verify.experiments.feedback.problems import three_workers
from commbounds.verify.experiments.feedback.runs import EPS
from commbounds.verify.experiments.feedback.workers import WORKERS
from commbounds.verify.family import Family
from commbounds.verify.space import Space, nothing
from commbounds.verify.study import Outcome, Study, studies

# --- three workers without feedback ----------------------------------------------------------------------------------


def _constants(start: float, gamma: float, horizon: int) -> dict[str, Any]:
    """What the step size is held against: Top-1 of three entries."""
    problem = three_workers(start)
    return {
        "problem": problem, "smoothness": problem.L, "smoothness_apart": problem.Lt, "alpha": Fraction(1, 3),
        "variance": 0, "stepsize": gamma,
    }  # fmt: skip


def _after(implementation: Any, problem: Any, gamma: float, horizon: int) -> Array:
    """Weights after the steps."""
    descent = implementation(Plain(TopK(1)), gamma)
    state = descent.start(problem.start, 3)
    for _ in range(horizon):
        state, _ = descent.step(problem.gradients(state.weights), state)
    return np.asarray(state.weights)


def _growth(found: Array, start: float, gamma: float) -> Outcome:
    """The entry that grows least like the claim says; exact, as start and step size are chosen so."""
    grown = [Fraction(v) / Fraction(start) for v in found.tolist()]
    expected = 1 + Fraction(11, 6) * Fraction(gamma)
    return Outcome(max(grown, key=lambda v: abs(v - expected)), {"stepsize": Fraction(gamma)})


def _far(found: Array, problem: Any, horizon: int) -> Outcome:
    ratio = float(np.linalg.norm(found) / np.linalg.norm(problem.start))
    return Outcome(ratio, {}, 64 * horizon * EPS * ratio)


def _family(space: Space, exact: bool) -> Family:
    return Family("feedback.plain", "FeedbackSGD", space, _constants, _after, exact=exact, searched=False)


# 11/2 start/3 is dyadic where 3 divides start
_DYADIC = [odd * 2.0**-exponent for exponent in range(8) for odd in (1, 3)]
_GROWING = _family(
    Space(
        nothing, {"start": (3.0, -3.0, 6.0, 51.0), "gamma": _DYADIC, "horizon": (1,)}, combined=(("start", "gamma"),)
    ),
    exact=True,
)
_FAR = _family(Space(nothing, {"start": (1.0,), "gamma": (0.05, 5e-3, 1e-4), "horizon": (1, 10, 1000)}), exact=False)

EXPERIMENTS: dict[str, Study] = studies(
    *WORKERS,
    *MOMENTA,
    *DESCENTS,
    *CONVEX,
    *FEW_STEPS,
    *NOISY,
    *CONTROL,
    *_GROWING.studies(
        _growth,
        "growth",
        curves=[_GROWING.over("stepsize", [2.0**-j for j in range(7, -1, -1)], "three workers", by="gamma")],
    ),
    *_FAR.studies(
        _far, "convergence", curves=[_FAR.over("horizon", (1, 10, 100, 300, 1000), "three workers", gamma=0.005)]
    ),
)
