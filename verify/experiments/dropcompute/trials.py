"""DropCompute: simulated steps against the exact laws, and the largest of normals, bound to their code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from commbounds.collectives import StepLaw
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.dropcompute.laws import LAWS, law_case
from commbounds.verify.experiments.dropcompute.steps import exactly
from commbounds.verify.study import Case, Curve, Outcome, Stream, Study

Trial = Callable[[Any, Case], Outcome]


def _maximum(gaussian_maximum: Any, case: Case) -> Outcome:
    N = case.settings["N"]
    # 64 panels of 16 nodes and the two ends: some thousand roundings of numbers below 12
    return Outcome(gaussian_maximum(N), {"N": float(N)}, 4096 * np.finfo(float).eps * 12)


def _counts(budget: Budget) -> Iterator[Case]:
    yield from (Case({"N": N}) for N in range(1, 401 if budget.level else 65))
    yield from (Case({"N": int(10 ** (j / 4))}) for j in range(8, 37))


def _stream(label: str, law: str, N: int, M: int, share: float, what: str, drop_trials: Any) -> Stream:
    step = StepLaw(LAWS[law], N, M)
    tau = share * M * step.law.mean
    mean = step.completed(tau) if what == "completed" else step.capped(tau)
    unit = float(M if what == "completed" else tau)

    def draw(rng: np.random.Generator, count: int) -> Any:
        trials = drop_trials(LAWS[law], N, M, tau, trials=count, seed=int(rng.integers(2**63)))
        values = trials.completed / N if what == "completed" else trials.time
        return (values - mean) / unit

    lowest = max(step.law.low, 0.0) if law != "normal, cv 0.2" else 0.0
    low = -mean / unit if what == "completed" else (min(M * lowest, tau) - mean) / unit
    values = {"below" if what == "completed" else "capped": mean}
    return Stream(
        label, draw, min(low, -1e-3), 1 - mean / unit, True, mean / unit, max(1.0, N * M / 240), values=values
    )


def _streams(what: str) -> Callable[[Any], Sequence[Stream]]:
    # E[T] itself through thresholds that few steps reach, the body of the law through smaller ones
    cells = (
        ("exponential", 40, 12, 1.8),
        ("gamma, shape 4", 7, 4, 1.5),
        ("gamma, shape 1/4", 5, 6, 2.0),
        ("uniform", 9, 3, 1.3),
        ("Bernoulli", 16, 3, 1.25),
        ("released delay", 25, 4, 2.0),
        ("normal, cv 0.2", 100, 2, 1.4),
    )

    def streams(drop_trials: Any) -> Sequence[Stream]:
        return [
            _stream(f"{law}, N={N}, M={M}", law, N, M, share if what == "time" else 1.0, what, drop_trials)
            for law, N, M, share in cells
        ]

    return streams


def _simulated(what: str) -> Trial:
    def trial(drop_trials: Any, case: Case) -> Outcome:
        # what the figure draws: the mean of a few hundred steps, which the streams test as a sequence
        s = case.settings
        law = LAWS[s["law"]]
        step, tau = StepLaw(law, s["N"], s["M"]), s["share"] * s["M"] * law.mean
        found = drop_trials(law, step.N, step.M, tau, trials=400, seed=1)
        if what == "completed":
            return Outcome(float(found.completed.mean() / step.N), {"below": step.completed(tau)})
        return Outcome(float(found.time.mean()), {"capped": step.capped(tau)})

    return trial


def _top_study(claim: str, least: int, **more: Any) -> Study:
    numbers = (*range(max(2, least), 33, 3), *(10**j for j in range(2, 10)))
    curves = [Curve("N", "normal", [(float(N), Case({"N": N})) for N in numbers])]
    return Study(f"dropcompute.{claim}", "gaussian_maximum", _maximum, corpus=_counts, curves=curves, **more)


def _alone(drop_trials: Any, case: Case) -> Outcome:
    s = case.settings
    law, N, M, first = LAWS[s["law"]], s["N"], s["M"], s["first"]
    options: dict[str, Any] = {"seed": s["seed"], "preemption": s["preemption"]}
    many = drop_trials(law, N, M, 0.9 * M * law.mean, 0.5, trials=6, first=first, **options)
    one = drop_trials(law, N, M, 0.9 * M * law.mean, 0.5, trials=1, first=first + 4, **options)
    gaps = [abs(float(a[4]) - float(b[0])) for a, b in ((many.time, one.time), (many.slowest, one.slowest))]
    return Outcome(exactly(max(*gaps, abs(int(many.completed[4]) - int(one.completed[0])))), {})


def _alone_corpus(_budget: Budget) -> Iterator[Case]:
    for law in LAWS:
        for N, M, first, preemption in ((1, 1, 0, "A"), (3, 2, 10, "B"), (1030, 3, 2**40, "A"), (7, 12, 1, "C")):
            yield Case({"law": law, "N": N, "M": M, "first": first, "seed": 5, "preemption": preemption})


_OVER_TAU = Curve(
    "tau/(M mu)",
    "released delay, N = 32, M = 12",
    [(j / 16, law_case("released delay", 32, 12, j / 16)) for j in range(4, 41, 2)],
)

TRIAL_STUDIES = (
    Study("dropcompute.trials.alone", "drop_trials", _alone, corpus=_alone_corpus),
    _top_study("maximum.logarithm", 1, extremal=lambda _budget: iter([Case({"N": 2})])),
    _top_study("maximum.rank", 1),
    _top_study("maximum.harmonic", 1),
    _top_study("maximum.simple", 1),
    _top_study("maximum.root", 1),
    _top_study("maximum.bracket_above", 3),
    _top_study("maximum.bracket_close", 3, extremal=lambda _budget: iter([Case({"N": 6})])),
    _top_study("maximum.bracket_at_two", 2),
    *(
        Study(
            f"dropcompute.trials.{what}",
            "drop_trials",
            _simulated(what),
            streams=_streams(what),
            curves=[_OVER_TAU],
            known=lambda _drop_trials, _case: {"preemption": "A"},
        )
        for what in ("completed", "time")
    ),
)
