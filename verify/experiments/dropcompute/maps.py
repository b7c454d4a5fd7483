"""DropCompute: how close the published formulas are to the exact laws, and where a threshold settles."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from commbounds.collectives import StepLaw
from commbounds.collectives.dropcompute.step_law import gaussian_moments
from commbounds.theory import claims
from commbounds.verify.experiments.dropcompute.laws import MAPPED, law_family, rounding, step_law
from commbounds.verify.space import Settings
from commbounds.verify.study import Curve, Outcome, Study

Cells = Mapping[str, Sequence[int]]
"""Numbers of micro-batches by the name of a law."""
_WORKERS = (2, 4, 8, 32, 128, 512, 2048, 10_000)
_RIGHT = ("normal, cv 0.2", "uniform", "gamma, shape 4", "gamma, shape 16", "lognormal, width 0.1")
_ENDS = (*_RIGHT, "lognormal, width 0.5", "released delay")
_NORMAL = dict.fromkeys(("normal, cv 0.2", "normal, cv 1/3"), (1, 2, 4, 12, 64))
TIME_1: Cells = {
    **_NORMAL,
    "lognormal, width 0.1": (12, 64),
    **dict.fromkeys(("gamma, shape 16", "uniform", "Bernoulli"), (64,)),
}
"""Law and M of the book's map where the published formula for E[T] is within 1 %; cells out of a hypothesis too."""
TIME_5: Cells = {
    **_NORMAL,
    "lognormal, width 0.1": (4, 12, 64),
    "gamma, shape 16": (4, 12, 64),
    **dict.fromkeys(("uniform", "Bernoulli"), (12, 64)),
    "mu/2 or 3 mu/2": (12,),
    **dict.fromkeys(("exponential", "gamma, shape 4", "lognormal, width 0.5", "released delay"), (64,)),
}
"""The same to 5 %."""
_CURVED = ("exponential", "gamma, shape 4", "gamma, shape 16", "lognormal, width 0.1", "released delay")
SKEW_1: Cells = dict.fromkeys(("normal, cv 0.2", *_CURVED), (12, 64))
QUANTILE_1: Cells = dict.fromkeys(
    ("normal, cv 0.2", "uniform", "gamma, shape 1/20", "gamma, shape 1/4", "lognormal, width 0.5", *_CURVED),
    (4, 12, 64),
)
_SETTLED = ("normal, cv 0.2", "exponential", "gamma, shape 4", "lognormal, width 0.5", "released delay")


@cache
def _moments(N: int) -> tuple[float, float]:
    return gaussian_moments(N)


def formula(statement: str, law: str, N: int, M: int, tau: float = 1.0) -> float:
    """An approximation of the book at a law, by the name of its claim."""
    return float(claims()[f"dropcompute.{statement}"].bound(**formula_values(law, N, M, tau)))


def formula_values(law: str, N: int, M: int, tau: float) -> dict[str, float]:
    """What the approximations are written in."""
    t, step = MAPPED[law], step_law(law, N, M)
    top, square = _moments(N)
    return {
        "N": float(N),
        "M": float(M),
        "tau": tau,
        "latency": t.mean,
        "jitter": math.sqrt(t.variance),
        "skewness": t.skewness,
        "top": top,
        "square_top": square,
        "upper": step.quantile(1 - 1 / N) if N > 1 else 0.0,
        "outer": step.quantile(1 - 1 / (math.e * N)),
    }


def formula_gap(statement: str, law: str, N: int, M: int, tau: float = 1.0) -> float:
    """Approximation over truth, less 1."""
    step = step_law(law, N, M)
    exact = step.completed(tau) if statement.startswith("completed") else step.mean_time()
    approximate = formula(statement, law, N, M, tau)
    return approximate / exact - 1 if exact else math.inf


def gain_gap(law: str, N: int, M: int, tau: float, overhead: float) -> float:
    """The published gain over the true one, less 1: normal elapsed times, the bracket for E[T], means for moments."""
    step = step_law(law, N, M)
    time, done = formula("time.formula", law, N, M, tau), formula("completed.formula", law, N, M, tau)
    values = {"below": done, "slowest": time, "tau": tau, "overhead": overhead, "M": float(M)}
    approximate = float(claims()["dropcompute.gain.with_means"].bound(**values))
    return approximate / float(step.speedup(tau, overhead)) - 1


_FAMILY = law_family()


def _approximated(found: StepLaw, settings: Settings, tau: float) -> Outcome:
    """E[T], with what the approximations are written in."""
    values = formula_values(settings["law"], settings["N"], settings["M"], tau)
    return Outcome(found.mean_time(), values, 2 * rounding(found))


def _ended(found: StepLaw, settings: Settings, tau: float) -> Outcome:
    """What is completed, with the same."""
    return Outcome(found.completed(tau), _approximated(found, settings, tau).values, 1e-12 * found.M)


def _gap(statement: str, found: StepLaw, settings: Settings, tau: float) -> Outcome:
    """How far an approximation is from the truth."""
    exact = found.completed(tau) if statement.startswith("completed") else found.mean_time()
    values = formula_values(settings["law"], settings["N"], settings["M"], tau)
    approximate = float(claims()[f"dropcompute.{statement}"].bound(**values))
    # the grid's sure error is far above what is seen; a gap of a hundredth is judged with what is seen, h^2
    slack = 1e-3 if found.error else 1e-9
    return Outcome(abs(approximate / exact - 1) if exact else math.inf, values, slack / 100)


def _settled(found: StepLaw, implementation: Any, overhead: float) -> Outcome:
    many = implementation(found.law, 10**5, found.M)
    candidates = found.times.candidates(found.N)
    limit = candidates[np.argmax(many.completed(candidates) / (candidates + overhead))]
    gains = found.speedup(candidates, overhead)
    return Outcome(1 - float(found.speedup(limit, overhead)) / float(gains.max()), {}, 1e-9)


def _printed_gain(found: StepLaw, settings: Settings, overhead: float) -> Outcome:
    gap = gain_gap(settings["law"], settings["N"], settings["M"], found.best(overhead)[0], overhead)
    return Outcome(abs(gap), {}, 1e-6)


def _over_workers(law: str, M: int, workers: Sequence[int] = _WORKERS) -> Curve:
    return _FAMILY.over("N", workers, f"{law}, M = {M}", law=law, M=M)


def _over_shares(law: str, M: int, first: int = 2) -> Curve:
    rows = [_FAMILY.space.at(law=law, N=1, M=M, share=j / 8) for j in range(first, 14)]
    return Curve("tau/(M mu)", f"{law}, M = {M}", [(row["share"], _FAMILY.case(row)) for row in rows])


def _study(
    claim: str,
    measure: Callable[..., Outcome],
    cells: Cells,
    workers: Sequence[int],
    *curves: Curve,
    shares: Sequence[float] = (1.0,),
) -> Study:
    """In full, the 64-fold sums of laws without closed form take their time."""
    some = (*workers[::2], *workers[-1:]) if len(workers) > 1 else workers
    corpus = _FAMILY.every(
        law=cells, M=lambda law: cells[law], N=lambda level: workers if level else some, share=shares
    )
    (study,) = _FAMILY.studies(measure, claim, curves=curves, corpus=corpus, cases=None)
    return study


_DONE, _LONG = partial(_gap, "completed.formula"), partial(_gap, "time.formula")
_DELAY = _over_workers("released delay", 12)
_EARLY = (0.75, 1.0, 1.25, 1.5)

_EXPONENTIAL = {M: _over_shares("exponential", M) for M in (1, 12)}
_BY_WORKERS = {M: _over_workers("exponential", M) for M in (1, 12, 64)}

MAP_STUDIES = (
    _study("completed.formula", _ended, {"exponential": (1, 12)}, (1,), _EXPONENTIAL[12], _EXPONENTIAL[1]),
    _study(
        "completed.formula_within_1", _DONE, dict.fromkeys(_ENDS, (12, 64)), (1,),
        _over_shares("released delay", 12, 6), shares=_EARLY,
    ),
    _study(
        "completed.formula_within_5", _DONE, dict.fromkeys((*_ENDS, "exponential", "lognormal, width 1"), (12, 64)),
        (1,), _EXPONENTIAL[12], shares=(0.5, *_EARLY),
    ),
    _study(
        "completed.formula_at_one", _DONE, {"exponential": (1,), "Bernoulli": (1,)}, (1,), _EXPONENTIAL[1],
        shares=(1.0, 0.5),
    ),
    _study(
        "time.formula", _approximated, {"exponential": (1,), "released delay": (12,)}, (32, 10_000), _BY_WORKERS[1],
        _DELAY,
    ),
    _study("time.formula_within_1", _LONG, TIME_1, _WORKERS, _over_workers("normal, cv 0.2", 4)),
    _study("time.formula_within_5", _LONG, TIME_5, _WORKERS, _BY_WORKERS[64]),
    _study("time.formula_at_twelve", _LONG, {"released delay": (12,)}, _WORKERS, _DELAY),
    _study(
        "time.skewed", _approximated, {"lognormal, width 1": (1,), "exponential": (12,)}, (32, 10_000), _BY_WORKERS[12],
        _DELAY,
    ),
    _study("time.skewed_within_1", partial(_gap, "time.skewed"), SKEW_1, _WORKERS, _DELAY),
    _study(
        "time.generalised", _approximated, {"uniform": (1,), "exponential": (12,)}, (2, 32), _BY_WORKERS[12], _DELAY
    ),
    _study(
        "time.generalised_within_1", partial(_gap, "time.generalised"), QUANTILE_1, (32, 128, 512, 10_000),
        _over_workers("released delay", 12, (32, 128, 512, 2048, 10_000)),
    ),
    _study(
        "threshold.settled", _settled, dict.fromkeys(_SETTLED, (12,)), (4, 8, 64, 2048, 10_000),
        _over_workers("released delay", 12, (4, 8, 32, 128, 512, 2048, 10_000)),
    ),
    _study(
        "gain.formulas_within_5", _printed_gain,
        {law: [M for M in batches if M >= 12] for law, batches in TIME_5.items()}, (32, 200, 2048),
        _over_workers("released delay", 64, (32, 128, 512, 2048)),
    ),
)  # fmt: skip
