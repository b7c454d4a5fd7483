"""EControl: one step from any state, and descents of which nothing is lost."""

from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import EControl, FeedbackState, TopK
from commbounds.verify.experiments.feedback.runs import (
    ALL,
    BUT_ONE,
    EPS,
    HALVES,
    MOST,
    FeedbackRun,
    Kept,
    Quadratics,
    compressor_of,
    contraction,
    drawn_values,
    is_rational,
    lifted,
    root,
    square,
)
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space, nothing
from commbounds.verify.study import Outcome, Study

Values = dict[str, Any]


# --- one step, and many at a standing gradient -----------------------------------------------------------------------


def _state(n: int, kept: Kept, eta: float, start: str, size: float, exact: bool, seed: int) -> Array:
    """The rows are the error, the estimate and the gradient.

    At the worst, what returns 1 + q of its input gives nothing away: error and correction are along one another. Level
    ones have the energy 1.
    """
    if start in ("worst", "level"):
        offered = worst_start(-kept, eta)
        unit = (10 * (eta**2 - kept * offered**2)) ** -0.5 if start == "level" else size
        error = unit * np.array([3.0, -1.0])
        return np.array([error, 0 * error, (offered - eta) * error])
    rows = drawn_values(np.random.default_rng([seed, n]), exact, 3, n, most=9)
    rows[0] += float(not rows[0].any())
    return np.asarray(np.array([[size], [1.0], [1.0]]) * (8 * rows if exact else rows))


def worst_start(q: float, eta: float) -> float:
    """What is compressed over the error, where the compressor that returns 1 + q gives nothing away."""
    b = (1 + q) * eta - (1 - q)
    rho = (abs(b) + (b * b + 4 * q) ** 0.5) / 2
    return float((1 - eta + rho) / q if b > 0 else (1 - eta - rho) / q)


def _of_state(x: Array, n: int, kept: Kept, eta: float, steps: int, exact: bool) -> Values:
    error, estimate, gradient = lifted(x, exact)
    alpha, weight = contraction(kept, n), Fraction(eta)
    return {
        "alpha": alpha, "error_weight": weight, "horizon": steps, "squared_error": square(error),
        "squared_offer": square((weight if exact else eta) * error + gradient - estimate),
    }  # fmt: skip


def _stepped(implementation: Any, x: Array, kept: Kept, eta: float, steps: int) -> FeedbackState:
    mechanism, state = implementation(compressor_of(kept), eta=eta), FeedbackState(x[1].copy(), error=x[0].copy())
    for _ in range(steps):
        _, state = mechanism.step(state, x[2])
    return state


def _energy(found: FeedbackState, x: Array, eta: float, exact: bool, facts: Values) -> Outcome:
    after, kept, gradient = (lifted(v, exact) for v in (found.error, found.memory, x[2]))
    weight, q = (Fraction(eta) if exact else eta), root(1 - facts["alpha"] if exact else float(1 - facts["alpha"]))
    measured = weight**2 * square(after) + q * square(weight * after + gradient - kept)
    return Outcome(measured, {}, 0.0 if exact else 64 * EPS * float(square(x) + measured))


def _grown(found: FeedbackState, x: Array, kept: Kept, eta: float, steps: int, start: str, exact: bool) -> Outcome:
    """The error after the steps over that at first."""
    after = np.asarray(found.error)
    if exact:
        return Outcome(abs(Fraction(float(after[0])) / Fraction(float(x[0, 0]))), {})
    measured = float(np.linalg.norm(after) / np.linalg.norm(x[0]))
    # the other factor, q/rho, is no larger, so a step's roundings grow like the error at most; they are of numbers of
    # the size of what is compressed, of the gradient and of the estimate, which goes to it while the error falls
    sizes = 1 + abs(worst_start(-kept, eta)) if start == "worst" else 1.0
    return Outcome(measured, {}, 64 * steps * EPS * (1 + measured) * sizes)


_WEIGHTS = (0.5, 0.125, 0.25, 1.0, 0.0, 0.03, 0.9)
_STATES = Space(
    _state,
    {
        "n": (4, 1, 2, 3, 5, 20),
        "kept": (MOST, 1, BUT_ONE, ALL, 0.5, -0.5, -0.25),
        "eta": _WEIGHTS,
        "start": ("drawn",),
        "size": (1.0, 0.125, 8.0),
        "steps": (1,),
        "exact": (
            Of(
                "the root of 1 - alpha is rational, and weights binary",
                lambda n, kept, eta, start: is_rational(kept, n) and (8 * eta) % 1 == 0 and start == "drawn",
            ),
            False,
        ),
    },
).search(n=(1, 6), kept=(HALVES,))
_WORST = _STATES.every(
    n=[2], kept=[-0.05, -0.25, -0.5, -0.9, -0.99], eta=[0.01, 0.1, 0.25, 0.5, 0.75, 1.0], start=["worst"], exact=[False]
)
_FAR = _STATES.every(n=[2], kept=[-0.01, -0.3, -0.99], eta=[0.02, 0.6, 1.0], start=["worst"], size=[1e3], exact=[False])
_STEP = Family("feedback.econtrol", "EControl", _STATES.including(*_WORST, *_FAR), _of_state, _stepped, exact_arrays=12)


def _binary(kept: float, eta: float) -> bool:
    """At eta = 1 and q = m^2/(1 + 2 m) the error grows by m: m = 3/2 and 1/2, whose q has few binary digits."""
    return eta == 1.0 and kept in (-9 / 16, -1 / 8)


def _beyond(share: float) -> Of:
    """Beyond the weight (1 - q)/(1 + q), from which on the error grows, some of the way to 1."""
    return Of(f"(2 q {share:g} + 1 - q)/(1 + q)", lambda kept: (1 + kept - 2 * kept * share) / (1 - kept))


_GROWING = Space(
    _state,
    {
        "n": (2,),
        "kept": (-0.5, -0.25, -0.9, -9 / 16, -1 / 8, -0.99),
        "eta": (1.0, *map(_beyond, (0.01, 0.5, 0.9))),
        "start": ("worst",),
        "size": (1.0, 2.0**12, -2.0),
        "steps": (1, 2, 3, 4, 5, 20),
        "exact": (
            Of("numbers are binary for so few steps", lambda kept, eta, steps: _binary(kept, eta) and steps < 6),
            False,
        ),
    },
)


_LARGE_WEIGHTS = Family("feedback.econtrol", "EControl", _GROWING, _of_state, _stepped, exact_arrays=8)
_ANY = _STATES.replaced(steps=(3, 1), exact=(False,)).including(*_GROWING.covering())
_ANY_WEIGHT = Family("feedback.econtrol", "EControl", _ANY, _of_state, _stepped, searched=False)

# --- descents --------------------------------------------------------------------------------------------------------


def _telescoping(
    implementation: Any, P: int, n: int, k: int, eta: float, dense: bool, steps: int, exact: bool, seed: int
) -> Outcome:
    """Workers of quadratics; the first gradients are sent whole or not."""
    problem, gamma, T = Quadratics.drawn(P, n, seed, exact, steps=steps), 0.125 if exact else 0.01, steps
    descent = implementation(EControl(TopK(k), eta=eta, dense=dense), gamma)
    run = FeedbackRun.of(descent, problem, np.zeros(n), T)
    size = Fraction(gamma) if exact else gamma
    error = lifted([worker.error for worker in run.states[T].workers], exact).sum(axis=0) / P
    moved = sum(size * problem.mean(run.x(t)) for t in range(T))
    defect = max(abs(v) for v in lifted(run.x(T), exact) - size * error - lifted(run.x(0), exact) + moved)
    seen = [np.abs(problem.gradients(run.x(t))).max() for t in range(T)]
    largest = max(*seen, float(np.abs(error).max()), *(np.abs(run.memory(t, False)).max() for t in range(T)))
    return Outcome(defect, {}, 0.0 if exact else 64 * P * T * EPS * float(gamma * largest * T + 1))


_DESCENTS = Family(
    "feedback.econtrol",
    "FeedbackSGD",
    Space(
        nothing,
        {
            "P": RANKS,
            "n": (3, 1, 2, 4, 5, 10),
            "k": (1, HALVES, BUT_ONE, ALL),
            "eta": (0.25, 0.0, 0.5, 1.0, 0.05),
            "dense": (True, False),
            "steps": (2, 1, 4, 20),
            "exact": (
                Of(
                    "sums over P of numbers of so few steps are exact",
                    lambda P, eta, steps: (8 * eta) % 1 == 0 and steps <= (4 if P in (1, 2, 4, 8) else 2),
                ),
                False,
            ),
        },
        options=("eta", "steps"),
    ).search(n=(1, 6), steps=(1, 6)),
)

CONTROL: tuple[Study, ...] = (
    *_DESCENTS.studies(_telescoping, "telescoping"),
    *_STEP.studies(
        _energy,
        "rate",
        extremal=_STEP.of(_WORST),
        curves=[
            _STEP.over(
                "error_weight",
                list(np.linspace(0.05, 1.0, 20)),
                f"worst states of energy 1, q = {q:g}",
                by="eta",
                n=2,
                kept=-q,
                start="level",
                exact=False,
            )
            for q in (0.25, 0.5, 0.75)
        ],
    ),
    *_LARGE_WEIGHTS.studies(
        _grown,
        "growth",
        curves=[
            _LARGE_WEIGHTS.over(
                "error_weight",
                list(np.linspace((1 - q) / (1 + q) + 0.01, 1.0, 12)),
                f"returned is 1 + q, q = {q:g}, one step",
                by="eta",
                kept=-q,
                exact=False,
            )
            for q in (0.25, 0.5, 0.75)
        ],
    ),
    *_ANY_WEIGHT.studies(
        _grown,
        "any_weight",
        grid=None,
        curves=[_ANY_WEIGHT.over("steps", (1, 2, 4, 8), "returned is 9/5, eta = 1", kept=-0.8, exact=False)],
    ),
)
