"""DropCompute: simulated steps against the exact laws, and the largest of normals, bound to their code."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from commbounds.collectives import StepLaw
from commbounds.verify.experiments.dropcompute.laws import LAWS, law_family, law_values
from commbounds.verify.experiments.dropcompute.steps import exactly
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import RANKS, Space, nothing
from commbounds.verify.study import Curve, Outcome, Stream

# --- the largest of normals --------------------------------------------------------------------------------------


def _maximum(implementation: Any, settings: dict[str, int]) -> Outcome:
    """64 panels of 16 nodes and the two ends: some thousand roundings of numbers below 12."""
    N = settings["N"]
    return Outcome(implementation(N), {"N": float(N)}, 4096 * float(np.finfo(float).eps) * 12)


_COUNTS = (*range(2, 65), 1, *(int(10 ** (j / 4)) for j in range(8, 37)))
_NORMALS = Family("dropcompute.maximum", "gaussian_maximum", Space(nothing, {"N": _COUNTS}), exact=False)
_ALL_COUNTS = _NORMALS.every(N=lambda level: (*_COUNTS, *range(65, 401 if level else 65)))


def _top(claim: str, least: int = 2, extremal: int = 0) -> tuple[FamilyStudy, ...]:
    numbers = (*range(least, 33, 3), *(10**j for j in range(2, 10)))
    options: dict[str, Any] = {"extremal": _NORMALS.every(N=[extremal])} if extremal else {}
    curves = [_NORMALS.over("N", numbers, "normal")]
    return _NORMALS.studies(_maximum, claim, corpus=_ALL_COUNTS, cases=None, curves=curves, **options)


# --- simulated steps ---------------------------------------------------------------------------------------------


def _stream(label: str, law: str, N: int, M: int, share: float, what: str, implementation: Any) -> Stream:
    step = StepLaw(LAWS[law], N, M)
    tau = share * M * step.law.mean
    mean, unit = (step.completed(tau), float(M)) if what == "completed" else (step.capped(tau), float(tau))

    def draw(rng: np.random.Generator, count: int) -> Any:
        trials = implementation(LAWS[law], N, M, tau, trials=count, seed=int(rng.integers(2**63)))
        return ((trials.completed / N if what == "completed" else trials.time) - mean) / unit

    lowest = max(step.law.low, 0.0) if law != "normal, cv 0.2" else 0.0
    low = -mean / unit if what == "completed" else (min(M * lowest, tau) - mean) / unit
    values = {"below" if what == "completed" else "capped": mean}
    cost = max(1.0, N * M / 240)
    return Stream(label, draw, min(low, -1e-3), 1 - mean / unit, True, mean / unit, cost, values=values)


_CELLS = (
    ("exponential", 40, 12, 1.8),
    ("gamma, shape 4", 7, 4, 1.5),
    ("gamma, shape 1/4", 5, 6, 2.0),
    ("uniform", 9, 3, 1.3),
    ("Bernoulli", 16, 3, 1.25),
    ("released delay", 25, 4, 2.0),
    ("normal, cv 0.2", 100, 2, 1.4),
)
"""E[T] itself through thresholds that few steps reach, the body of the law through smaller ones."""


def _streams(what: str) -> Callable[[Any], Sequence[Stream]]:
    return lambda implementation: [
        _stream(f"{law}, N={N}, M={M}", law, N, M, share if what == "time" else 1.0, what, implementation)
        for law, N, M, share in _CELLS
    ]


def _simulated(what: str, implementation: Any, settings: dict[str, Any], tau: float) -> Outcome:
    """What the figure draws: the mean of a few hundred steps, which the streams test as a sequence."""
    step = StepLaw(LAWS[settings["law"]], settings["N"], settings["M"])
    found = implementation(step.law, step.N, step.M, tau, trials=400, seed=1)
    if what == "completed":
        return Outcome(float(found.completed.mean() / step.N), {"below": step.completed(tau)})
    return Outcome(float(found.time.mean()), {"capped": step.capped(tau)})


_TRIALS = Family("dropcompute.trials", "drop_trials", law_family().space, law_values, exact=False)
_ROWS = [_TRIALS.space.at(law="released delay", N=32, M=12, share=j / 16) for j in range(4, 41, 2)]
_OVER_TAU = Curve("tau/(M mu)", "released delay, N = 32, M = 12", [(s["share"], _TRIALS.case(s)) for s in _ROWS])


def _alone(implementation: Any, law: str, N: int, M: int, first: int, preemption: str) -> Outcome:
    given: dict[str, Any] = {"seed": 5, "preemption": preemption}
    t = LAWS[law]
    many = implementation(t, N, M, 0.9 * M * t.mean, 0.5, trials=6, first=first, **given)
    one = implementation(t, N, M, 0.9 * M * t.mean, 0.5, trials=1, first=first + 4, **given)
    gaps = [abs(float(a[4]) - float(b[0])) for a, b in ((many.time, one.time), (many.slowest, one.slowest))]
    return Outcome(exactly(max(*gaps, abs(int(many.completed[4]) - int(one.completed[0])))), {})


_NUMBERED = Family(
    "dropcompute.trials",
    "drop_trials",
    Space(
        nothing,
        {
            "law": tuple(LAWS),
            "N": (*RANKS, 1030),
            "M": (1, 2, 3, 12),
            "first": (0, 1, 10, 2**40),
            "preemption": ("A", "B", "C"),
        },
    ),
    exact=False,
    searched=False,
)

TRIAL_STUDIES = (
    *_NUMBERED.studies(_alone, "alone"),
    *_top("logarithm", extremal=2),
    *_top("rank"),
    *_top("harmonic"),
    *_top("simple"),
    *_top("root"),
    *_top("bracket_above", 3),
    *_top("bracket_close", 3, extremal=6),
    *_top("bracket_at_two"),
    *(
        study
        for what in ("completed", "time")
        for study in _TRIALS.studies(
            partial(_simulated, what), what, corpus=None, cases=None, streams=_streams(what), curves=[_OVER_TAU]
        )
    ),
)
