"""What one step of EF21M does to momenta and lags, all signs of the noise enumerated."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import FeedbackState, TopK
from commbounds.theory import claims
from commbounds.verify.experiments.feedback.runs import (
    ALL,
    BUT_ONE,
    EPS,
    HALVES,
    Kept,
    Quadratics,
    compressor_of,
    contraction,
    drawn_values,
    lifted,
    root,
    square,
)
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space, nothing
from commbounds.verify.study import Curve, Outcome, Study

Values = dict[str, Any]


def _of_step(
    P: int, n: int, kept: Kept, eta: float, move: float, sigma: float, start: str, exact: bool, seed: int
) -> Values:
    """The functions, x before and after, h, g, and what is added to the gradients or subtracted.

    In turned cases the gradient's change, what h lacks of it and what g lacks of h go along one another. In aligned
    ones every difference of h and the gradient is -(1 - eta)/eta times the gradient's change.
    """
    rng, problem = np.random.default_rng(seed), Quadratics.drawn(P, n, seed, exact)

    def draw(*shape: int) -> Array:
        return drawn_values(rng, exact, *shape, most=2)

    x, y, h, g, u = draw(n), move * draw(n), draw(P, n), draw(P, n), sigma * draw(n)
    if start != "drawn":
        x, y = np.zeros(n), move * np.ones(n)
        turn = problem.gradients(y) - problem.gradients(x)
        h = problem.gradients(x) - (turn if start == "turned" else (1 - eta) / eta * turn)
        g = h - 4 * eta / float(contraction(kept, n)) * turn if start == "turned" else g
    hs, gs, before, after = (lifted(v, exact) for v in (h, g, x, x + y))
    return {
        "problem": problem, "after": x + y, "h": h, "g": g, "noise": u, "alpha": contraction(kept, n),
        "eta": Fraction(eta), "smoothness": problem.L, "smoothness_apart": root(problem.Lt_square),
        "momentum_lag": square(hs.sum(axis=0) / P - problem.mean(x)), "own_lag": square(hs - problem.own(x)) / P,
        "lag": square(gs - hs) / P, "shift": square(after - before), "variance": square(lifted(u, exact)),
    }  # fmt: skip


def _outcome(claim: str, measured: Any, facts: Values, P: int, n: int, exact: bool) -> Outcome:
    bound = float(claims()[f"feedback.ef21m.{claim}"].bound(**{**facts, "P": P}))
    return Outcome(measured, {}, 0.0 if exact else 64 * P * n * EPS * (1 + bound))


def _momentum(implementation: Any, P: int, n: int, exact: bool, facts: Values) -> Outcome:
    """Squared distance of the average momentum from f's gradient."""
    problem, total = facts["problem"], lifted(0.0, exact).item()
    mechanism, slopes = implementation(TopK(1), eta=float(facts["eta"])), problem.gradients(facts["after"])
    slope = problem.mean(facts["after"])
    of_workers = []
    for p in range(P):
        given = [slopes[p] + sign * facts["noise"] for sign in (1.0, -1.0)]
        states = [mechanism.step(FeedbackState(facts["g"][p], facts["h"][p]), one)[1] for one in given]
        of_workers.append([lifted(state.momentum, exact) for state in states])
    for momenta in itertools.product(*of_workers):
        total = total + square(np.array(momenta).sum(axis=0) / P - slope)
    return _outcome("momentum", total / 2**P, facts, P, n, exact)


def _own_lag(implementation: Any, P: int, n: int, kept: Kept, exact: bool, facts: Values) -> Outcome:
    """Mean squared distance of the workers' estimates from their momenta."""
    mechanism, total = implementation(compressor_of(kept), eta=float(facts["eta"])), lifted(0.0, exact).item()
    slopes = facts["problem"].gradients(facts["after"])
    for p, sign in itertools.product(range(P), (1.0, -1.0)):
        _, state = mechanism.step(FeedbackState(facts["g"][p], facts["h"][p]), slopes[p] + sign * facts["noise"])
        total = total + square(lifted(state.memory, exact) - lifted(state.momentum, exact))
    return _outcome("lag", total / (2 * P), facts, P, n, exact)


_BINARY = Of(
    "P, eta and what is kept are binary, and nothing is divided by them",
    lambda kept, eta, move, sigma, start: (
        start == "drawn" and kept != 63 / 64 and (eta * 4) % 1 == (move * 4) % 1 == (sigma * 4) % 1 == 0.0
    ),
)
_SPACE = Space(
    nothing,
    {
        "P": RANKS,
        "n": (2, 1, 3, 4, 5),
        "kept": (1, ALL, BUT_ONE, 0.5, 63 / 64),
        "eta": (0.5, 0.25, 1.0, 0.05, 0.9, 0.01),
        "move": (1.0, 0.0, 0.3),
        "sigma": (2.0, 0.0, 0.125, 10.0),
        "start": ("drawn", "turned", "aligned"),
        "exact": (_BINARY, False),
    },
    options=("kept", "start"),
).search(n=(1, 5), kept=(HALVES,), sigma=(0.01,))
_ALIGNED = _SPACE.every(P=[2], n=[1], eta=[0.25, 0.5, 0.75], sigma=[0.0], start=["aligned"], exact=[False], seed=[1])
"""One entry, so that every turn is along the steepest curvature."""
_TURNED = _SPACE.every(
    P=[1, 3], n=[1], kept=[63 / 64, 0.99], eta=[0.05, 0.5, 1.0], sigma=[0.0], start=["turned"], exact=[False],
    seed=[1, 4],
)  # fmt: skip
_NOISE = _SPACE.every(
    P=[1, 8], n=[1], kept=[0.5, 63 / 64], eta=[0.05, 0.5], move=[0.0], sigma=[0.1, 10.0], start=["turned"],
    exact=[False],
)  # fmt: skip
"""Noise alone."""
_FAMILY = Family("feedback.ef21m", "EF21M", _SPACE.including(*_ALIGNED, *_TURNED, *_NOISE), _of_step, exact_arrays=6)
_CURVES: list[Curve] = [
    _FAMILY.over(
        "eta", (0.01, 0.03, 0.1, 0.3, 0.6, 0.9), "P = 3, n = 4, one entry kept", P=3, n=4, move=0.3, sigma=1.0,
        exact=False,
    )
]  # fmt: skip

MOMENTA: tuple[Study, ...] = (
    *_FAMILY.studies(_momentum, "momentum", extremal=_FAMILY.of(_ALIGNED), curves=_CURVES),
    *_FAMILY.studies(_own_lag, "lag", extremal=_FAMILY.of(_TURNED), curves=_CURVES),
)
