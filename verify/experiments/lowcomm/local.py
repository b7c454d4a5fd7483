"""Local SGD: workers that take steps of their own, averaged by the outer round with step 1 and no momentum."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.outer import exact, family
from commbounds.verify.experiments.moshpit.averaging import distortions, some_vectors
from commbounds.verify.space import RANKS, Space, nothing, rationals


def averaged(implementation: Any, stack: Any, anchor: Any) -> Any:
    """The workers' average, as the implementation takes it."""
    state, _ = implementation(stack, anchor, None, 1.0, 0.0)
    return state.anchor[0]


def _one_step(implementation: Any, P: int, n: int, localsteps: int) -> Fraction:
    """Of H steps against fixed gradients and curvatures: how far from one step along the average gradient."""
    x, pull, minima = some_vectors(1, n, 1, 4 * P)[0], 1.0 / np.arange(1, P + 1), some_vectors(P, n, 2, P)
    pull = np.floor(4 * pull)[:, None] / 4
    stack = np.repeat(x[None], P, axis=0)
    for _ in range(localsteps):
        stack = stack - pull * (stack - minima)
    steps = [exact(pull[p] * (x - minima[p])) for p in range(P)]
    sgd = [a - sum(column, Fraction(0)) / P for a, column in zip(exact(x), zip(*steps, strict=True), strict=True)]
    found = exact(averaged(implementation, stack, x))
    return sum(((a - b) ** 2 for a, b in zip(found, sgd, strict=True)), Fraction(0))


def _about(implementation: Any, stack: Any) -> list[Fraction]:
    """Of every column its mean squared distance from the average that the implementation takes."""
    mean = averaged(implementation, stack, np.zeros(stack.shape[1]))
    return distortions(stack, np.repeat(mean[None], len(stack), axis=0))


def _ways(values: tuple[float, ...], P: int, localsteps: int) -> Any:
    """Every choice of one of the values for every step of every worker: (P, H, choices)."""
    return np.array(list(itertools.product(values, repeat=P * localsteps))).T.reshape(P, localsteps, -1)


def _noisy(implementation: Any, P: int, localsteps: int, retained: Fraction) -> Fraction:
    """The mean over all signs of the noise, of P times the step each; a column for every choice of signs."""
    signs = _ways((1.0, -1.0), P, localsteps) * P
    stack = np.zeros((P, signs.shape[2]))
    for h in range(localsteps):
        stack = float(retained) * stack + signs[:, h]
    return sum(_about(implementation, stack), Fraction(0)) / (int(stack.shape[1]) * P * P)


def _bounded(implementation: Any, P: int, localsteps: int) -> Fraction:
    """The worst of all choices of gradients 1, 0 and -1."""
    stack = _ways((1.0, 0.0, -1.0), P, localsteps).sum(axis=1) * P
    return max(_about(implementation, stack)) / (P * P)


def _limit(implementation: Any, localsteps: int, retained: Fraction, retained_second: Fraction) -> Fraction:
    """The fixed point of the map of a round, which is read off two of them."""
    ends = []
    for x in (0.0, 2.0):
        stack = np.array(
            [[float(retained) ** localsteps * x], [2.0 + float(retained_second) ** localsteps * (x - 2.0)]]
        )
        ends.append(exact(averaged(implementation, stack, np.array([x])))[0] / 2)
    return ends[0] / (1 - (ends[1] - ends[0]))


_KEPT = rationals("1/2", "1/4", "3/4", 0, "-1/2")
_STEPS = (1, 2, 3)
_ONE_STEP = family("diloco_round", Space(nothing, {"P": RANKS, "n": (1, 3), "localsteps": (1, 2)}))
_NOISES = family(
    "diloco_round",
    Space(
        nothing, {"P": (*RANKS, 11), "localsteps": _STEPS, "retained": rationals(0, "1/2", "3/4", 1, "-1/2", -1)}
    ).without("More than 2048 choices of signs, as all are gone through.", lambda P, localsteps: P * localsteps > 11),
)
_CHOICES = family(
    "diloco_round",
    Space(nothing, {"P": RANKS, "localsteps": _STEPS}).without(
        "More than 2187 choices of gradients, as all are gone through.", lambda P, localsteps: P * localsteps > 7
    ),
)
_PAIRS = family(
    "diloco_round",
    Space(
        nothing,
        {"localsteps": _STEPS, "retained": _KEPT, "retained_second": _KEPT},
        combined=(("localsteps", "retained", "retained_second"),),
    ),
)

LOCAL_STUDIES = (
    *_ONE_STEP.studies(_one_step, "local.one_step"),
    *_NOISES.studies(
        _noisy,
        "local.spread",
        curves=[
            _NOISES.over("localsteps", range(1, 6), f"two workers, q = {float(q):g}", P=2, retained=q)
            for q in rationals("1/2", "3/4", 1)
        ],
    ),
    *_NOISES.studies(_noisy, "local.spread_bound"),
    *_CHOICES.studies(_bounded, "local.drift_bound", "local.drift_sharp", extremal=_CHOICES.every(P=(2, 4))),
    *_PAIRS.studies(
        _limit,
        "local.limit",
        curves=[
            _PAIRS.over(
                "localsteps", range(1, 11), "q = 3/4 and 1/4", retained=Fraction(3, 4), retained_second=Fraction(1, 4)
            )
        ],
    ),
    *_PAIRS.studies(_limit, "local.optimum", "local.one_curvature"),
)
