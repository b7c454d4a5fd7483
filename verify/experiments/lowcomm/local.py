"""Local SGD: workers that take steps of their own, averaged by the outer round with step 1 and no momentum."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.outer import exact, study
from commbounds.verify.experiments.moshpit.averaging import distortions, settings, some_vectors
from commbounds.verify.study import Case, Curve, Outcome, over


def averaged(implementation: Any, stack: Any, anchor: Any) -> Any:
    """The workers' average, as the implementation takes it."""
    state, _ = implementation(stack, anchor, None, 1.0, 0.0)
    return state.anchor[0]


def _one_step(implementation: Any, case: Case) -> Outcome:
    """Of H steps against fixed gradients and curvatures: how far from one step along the average gradient."""
    P, n, H = case.settings["P"], case.settings["n"], case.settings["localsteps"]
    x, pull, minima = some_vectors(1, n, 1, 4 * P)[0], 1.0 / np.arange(1, P + 1), some_vectors(P, n, 2, P)
    pull = np.floor(4 * pull)[:, None] / 4
    stack = np.repeat(x[None], P, axis=0)
    for _ in range(H):
        stack = stack - pull * (stack - minima)
    steps = [exact(pull[p] * (x - minima[p])) for p in range(P)]
    sgd = [a - sum(column, Fraction(0)) / P for a, column in zip(exact(x), zip(*steps, strict=True), strict=True)]
    found = exact(averaged(implementation, stack, x))
    return Outcome(sum(((a - b) ** 2 for a, b in zip(found, sgd, strict=True)), Fraction(0)), {"localsteps": H})


def _about(implementation: Any, stack: Any) -> list[Fraction]:
    """Of every column its mean squared distance from the average that the implementation takes."""
    mean = averaged(implementation, stack, np.zeros(stack.shape[1]))
    return distortions(stack, np.repeat(mean[None], len(stack), axis=0))


def _noisy(implementation: Any, case: Case) -> Outcome:
    """The mean over all signs of the noise, of P times the step each; a column for every choice of signs."""
    given = case.settings
    P, H, q = given["P"], given["localsteps"], given["retained"]
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=P * H))).T.reshape(P, H, -1) * P
    stack = np.zeros((P, signs.shape[2]))
    for h in range(H):
        stack = q * stack + signs[:, h]
    spread = sum(_about(implementation, stack), Fraction(0)) / (stack.shape[1] * P * P)
    return Outcome(spread, {"P": P, "localsteps": H, "retained": Fraction(q)})


def _noises(level: int) -> Iterator[Case]:
    for P, most in ((1, 3), (2, 3 + level), (3, 2), (4, 2)):
        for H, q in itertools.product(range(1, most + 1), (0.0, 0.5, 0.75, 1.0, -0.5, -1.0)):
            yield settings(P=P, localsteps=H, retained=q)
    yield settings(P=11, localsteps=1, retained=1.0)


def _bounded(implementation: Any, case: Case) -> Outcome:
    """The worst of all choices of gradients 1, 0 and -1."""
    P, H = case.settings["P"], case.settings["localsteps"]
    choices = np.array(list(itertools.product((1.0, 0.0, -1.0), repeat=P * H))).T.reshape(P, H, -1)
    stack = choices.sum(axis=1) * P
    return Outcome(max(_about(implementation, stack)) / (P * P), {"localsteps": H})


def _choices(level: int) -> Iterator[Case]:
    for P, most in ((1, 3), (2, 3), (3, 2), (4, 1 + level)):
        for H in range(1, most + 1):
            yield settings(P=P, localsteps=H)


def _halves(_budget: Any) -> Iterator[Case]:
    for P, H in ((2, 1), (2, 3), (4, 1)):
        yield settings(P=P, localsteps=H)


def _limit(implementation: Any, case: Case) -> Outcome:
    """The fixed point of the map of a round, which is read off two of them."""
    given = case.settings
    H, q, q_second = given["localsteps"], given["retained"], given["retained_second"]
    ends = []
    for x in (0.0, 2.0):
        stack = np.array([[q**H * x], [2.0 + q_second**H * (x - 2.0)]])
        ends.append(exact(averaged(implementation, stack, np.array([x])))[0] / 2)
    slope = ends[1] - ends[0]
    values = {"localsteps": H, "retained": Fraction(q), "retained_second": Fraction(q_second)}
    return Outcome(ends[0] / (1 - slope), values)


def _pairs(level: int) -> Iterator[Case]:
    for H in range(1, 4 + level):
        for q, q_second in itertools.product((0.5, 0.25, 0.75, 0.0, -0.5), repeat=2):
            yield settings(localsteps=H, retained=q, retained_second=q_second)


def _more_steps(q: float) -> Curve:
    cases = (settings(P=2, localsteps=H, retained=q) for H in range(1, 6))
    return over("localsteps", f"two workers, q = {q:g}", cases)


_TWO = "up to 3 steps, five curvatures each"
_SIGNS = "all signs of up to 4 workers and 3 steps (of four workers, 2; of eleven, 1), six curvatures"
_ALL = "all gradients 1, 0 and -1 of up to 3 steps of two workers, fewer of more"

LOCAL_STUDIES = (
    study(
        "local.one_step",
        "diloco_round",
        _one_step,
        lambda _level: (settings(P=P, n=n, localsteps=H) for P in (1, 2, 4) for n in (1, 3) for H in (1, 2)),
        "up to 4 workers and 3 entries",
    ),
    study(
        "local.spread",
        "diloco_round",
        _noisy,
        _noises,
        _SIGNS,
        curves=[
            over(
                "localsteps", f"two workers, q = {q:g}", (settings(P=2, localsteps=H, retained=q) for H in range(1, 6))
            )
            for q in (0.5, 0.75, 1.0)
        ],
    ),
    study("local.spread_bound", "diloco_round", _noisy, _noises, _SIGNS),
    study("local.drift_bound", "diloco_round", _bounded, _choices, _ALL, extremal=_halves),
    study("local.drift_sharp", "diloco_round", _bounded, _choices, _ALL, extremal=_halves),
    study(
        "local.limit",
        "diloco_round",
        _limit,
        _pairs,
        _TWO,
        curves=[
            over(
                "localsteps",
                "q = 3/4 and 1/4",
                (settings(localsteps=H, retained=0.75, retained_second=0.25) for H in range(1, 11)),
            )
        ],
    ),
    study("local.optimum", "diloco_round", _limit, _pairs, _TWO),
    study("local.one_curvature", "diloco_round", _limit, _pairs, _TWO),
)
