"""DropCompute: claims confronted with the exact laws of elapsed times, in floats with a derived slack."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from commbounds.collectives import Gamma, Lognormal
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.dropcompute.laws import (
    LAWS,
    MAPPED,
    NEW_BETTER,
    law_case,
    law_cases,
    law_corpus,
    law_facts,
    rounding,
)
from commbounds.verify.experiments.dropcompute.reference_times import reference_times
from commbounds.verify.study import Case, Curve, Outcome, Study

Trial = Callable[[Any, Case], Outcome]
_WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 512, 2048, 10_000)
_GAMMAS = tuple(name for name, law in LAWS.items() if isinstance(law, Gamma))
_EXPONENTIALS = ("exponential", "exponential, mean 3", "exponential, mean 1/4")
_IFR = tuple(name for name, law in LAWS.items() if law.increasing_failure_rate)
_HEAVY = (*LAWS, "1 (9/10) or 100", "constant")
_LOGNORMALS = tuple(name for name, law in LAWS.items() if isinstance(law, Lognormal))
_BOUNDED = tuple(name for name, law in LAWS.items() if math.isfinite(law.high))


class _Point:
    """A case under an implementation of `StepLaw`: law of a step, threshold, overhead, and what claims ask of them."""

    def __init__(self, law_of: Any, case: Case) -> None:
        s = case.settings
        self.name, self.law = s["law"], MAPPED[s["law"]]
        self.N, self.M = s["N"], s["M"]
        self.step = law_of(self.law, self.N, self.M)
        mean = self.M * self.law.mean
        self.tau, self.overhead = s["share"] * mean, s["overhead"] * mean
        self.slack = rounding(self.step)

    def values(self, **more: Any) -> dict[str, Any]:
        """The symbols that nearly every bound asks for, and what hypotheses ask besides."""
        numbers = {"N": float(self.N), "M": float(self.M), "tau": self.tau, "overhead": self.overhead}
        return {**law_facts(self.name), **numbers, **more}

    def gain(self, tau: float | None = None) -> Any:
        """S_eff at a threshold."""
        return self.step.speedup(self.tau if tau is None else tau, self.overhead)

    @property
    def gain_slack(self) -> float:
        """An error of the expected times moves the gain by that, relative to the times, in both of its factors."""
        least = min(self.tau, self.M * self.law.mean) + self.overhead
        return float(4 * self.slack * self.step.ideal(self.overhead) / least)


def _known(law_of: Any, case: Case) -> dict[str, Any]:
    return case.once(_point, law_of).values()  # type: ignore[no-any-return]


def _point(law_of: Any, case: Case) -> _Point:
    return _Point(law_of, case)


def _time(**more: Callable[[_Point], Any]) -> Trial:
    def trial(law_of: Any, case: Case) -> Outcome:
        p: _Point = case.once(_point, law_of)
        return Outcome(p.step.mean_time(), p.values(**{k: f(p) for k, f in more.items()}), 2 * p.slack)

    return trial


def _evenness(p: _Point) -> float:
    """The quantile of T_n at 1 - exp(-H_N)."""
    harmonic = float(np.sum(1 / np.arange(1, p.N + 1)))
    return float(p.step.quantile(-math.expm1(-harmonic)))


def _completed(law_of: Any, case: Case) -> Outcome:
    p: _Point = case.once(_point, law_of)
    # a completed micro-batch takes no time to speak of: probabilities move by the density times the error of a time
    slack = 1e-12 * p.M + (p.slack * p.M / math.sqrt(p.law.variance) if p.step.error else 0.0)
    capped = p.step.capped_worker(p.tau)
    return Outcome(p.step.completed(p.tau), p.values(capped=capped), slack + p.slack / p.law.mean)


def _gain(law_of: Any, case: Case) -> Outcome:
    """The gain by the implementation; what the bound is made of by the second way, with the room that both need."""
    p: _Point = case.once(_point, law_of)
    gain = p.gain()
    reference = reference_times(p.law, p.M)
    slowest, below = reference.slowest(p.N), reference.below(p.tau)
    # quadratures to 1e-11; a lattice moves times by its error, and what is completed by the density times that
    moved = (p.step.error + reference.error) * reference.density + 1e-11 * p.M
    apart = 1e-11 + (p.step.error + 2 * reference.error) / (slowest + p.overhead) + (moved / below if below else 0.0)
    return Outcome(gain, p.values(slowest=slowest, below=below), p.gain_slack + apart * gain)


def _no_threshold(law_of: Any, case: Case) -> Outcome:
    p: _Point = case.once(_point, law_of)
    return Outcome(p.gain(float(p.step.times.top(p.N)) * 1.001), {}, p.gain_slack)


def _best(law_of: Any, case: Case) -> Outcome:
    p: _Point = case.once(_point, law_of)
    tau = p.step.times.candidates(p.N)
    return Outcome(float(np.max(p.gain(tau))), p.values(), p.gain_slack)


def _many_case(decades: int) -> Case:
    return law_case("1/5 or 1 (9/10)", 10**decades, 12, 1.0, 0.0)


def _quick_case(decades: int) -> Case:
    return law_case("1 (9/10) or 100", 10**decades, 1, 0.1, 0.0)  # tau = 1.09, just above the quick latency


def _bernoulli_many(_budget: Budget) -> Iterator[Case]:
    yield _many_case(15)


def _quick_or_slow(_budget: Budget) -> Iterator[Case]:
    yield from (_quick_case(3), _quick_case(5))


def _over_workers(name: str, M: int, share: float = 1.0, overhead: float = 0.2) -> Curve:
    return Curve("N", f"{name}, M = {M}", [(float(N), law_case(name, N, M, share, overhead)) for N in _WORKERS[1:]])


def _over_tau(name: str, N: int, M: int, overhead: float = 0.2) -> Curve:
    shares = [j / 16 for j in range(2, 41)]
    return Curve("tau/(M mu)", f"{name}, N = {N}, M = {M}", [(s, law_case(name, N, M, s, overhead)) for s in shares])


def _study(claim: str, trial: Trial, curves: Sequence[Curve] = (), subject: str = "StepLaw", **more: Any) -> Study:
    # the time of a step depends on neither threshold nor overhead
    grid = {"shares": (1.0,)} if claim.startswith("time.") else {"workers": (1, 2, 1000), "batches": (1, 12)}
    options: dict[str, Any] = {"corpus": law_corpus(**grid), "cases": law_cases(), "known": _known, **more}
    return Study(f"dropcompute.{claim}", subject, trial, curves=curves, **options)


def _only(names: Sequence[str], also: Sequence[Case] = (), **grid: Any) -> dict[str, Any]:
    drawn = {key: value for key, value in grid.items() if key in ("workers", "batches", "overheads")}
    grid = {"workers": (1, 2, 1000), **grid}
    corpus = law_corpus(names, **grid)
    by_hand = (lambda budget: itertools.chain(corpus(budget), also)) if also else corpus
    return {"corpus": by_hand, "cases": law_cases(names, **drawn)}


def _cases_of(*cases: Case) -> Callable[[Budget], Iterator[Case]]:
    return lambda _budget: iter(cases)


EXACT_STUDIES = (
    _study(
        "time.universal",
        _time(),
        [_over_workers("lognormal, width 1", 1), _over_workers("exponential", 12)],
        extremal=_cases_of(law_case("uniform", 2, 1)),
    ),
    _study(
        "time.increasing_rate",
        _time(evenness=_evenness),
        [_over_workers("exponential", 12), _over_workers("normal, cv 0.2", 12)],
        **_only(_IFR),
        extremal=_cases_of(law_case("exponential", 1, 1), law_case("exponential", 32, 1)),
    ),
    _study(
        "time.decreasing_rate",
        _time(evenness=_evenness),
        [_over_workers("gamma, shape 1/4", 1)],
        **_only(("gamma, shape 1/4", *_EXPONENTIALS), batches=(1,)),
        extremal=_cases_of(law_case("exponential", 1, 1), law_case("exponential", 32, 1)),
    ),
    _study(
        "time.gamma",
        _time(),
        [_over_workers("exponential", 12), _over_workers("gamma, shape 1/4", 12)],
        **_only(_GAMMAS, also=(law_case("gamma, shape 10^6", 10**9, 1),)),
        extremal=_cases_of(*(law_case(name, 1, M) for name in _GAMMAS for M in (1, 12))),
    ),
    _study(
        "time.bounded",
        _time(),
        [_over_workers("uniform", 12), _over_workers("released delay", 12)],
        **_only(_BOUNDED, also=(law_case("10 or 11", 10**9, 1024),)),
        extremal=_cases_of(law_case("uniform", 1, 1), law_case("Bernoulli", 1, 12)),
    ),
    _study(
        "time.lognormal",
        _time(),
        [_over_workers("lognormal, width 1", 1)],
        **_only((*_LOGNORMALS, "lognormal, width 0.1, median e^-5"), batches=(1,)),
    ),
    _study(
        "time.variance_as_proxy",
        _time(),
        [_over_workers("exponential", 1), _over_workers("normal, cv 0.2", 1)],
        extremal=_cases_of(law_case("exponential", 32, 1), law_case("exponential", 10_000, 1)),
    ),
    _study(
        "completed.new_worse",
        _completed,
        [_over_tau("gamma, shape 1/4", 1, 12)],
        **_only(("gamma, shape 1/4", *_EXPONENTIALS)),
    ),
    _study(
        "completed.exponential",
        _completed,
        [_over_tau("exponential", 1, 12)],
        **_only(_EXPONENTIALS, shares=(0.1, 0.5, 1.0, 2.0)),
    ),
    _study("gain.no_threshold", _no_threshold),
    _study(
        "gain.with_means",
        _gain,
        [_over_tau("exponential", 32, 12), _over_tau("released delay", 8, 12)],
        extremal=_cases_of(law_case("uniform", 1000, 12, 0.5), law_case("Bernoulli", 1000, 4, 0.5)),
    ),
    _study(
        "gain.at_the_mean",
        _gain,
        [_over_workers("exponential", 12), _over_workers("released delay", 12)],
        corpus=law_corpus(_HEAVY, workers=(1, 2, 1000), batches=(1, 12, 64), shares=(1.0,), overheads=(0.2, 0.0)),
        cases=law_cases(shares=(1.0,)),
        extremal=_cases_of(law_case("constant", 1, 4), law_case("constant", 50, 12), law_case("constant 3", 1, 3)),
    ),
    _study(
        "gain.new_better",
        _gain,
        [_over_tau("exponential", 200, 12), _over_tau("normal, cv 0.2", 200, 12)],
        **_only(NEW_BETTER, overheads=(0.2, 0.0)),
        extremal=_cases_of(
            law_case("constant", 3, 4, 1.5),
            law_case("constant 3", 3, 4, 1.5),
            *(law_case(name, 32, 12, 1e-5, 0.0) for name in _EXPONENTIALS),
        ),
    ),
    _study(
        "gain.grows",
        _best,
        [Curve("N", "1/5 or 1 (9/10), M = 12", [(10.0**j, _many_case(j)) for j in range(1, 16)])],
        **_only(("normal, cv 0.2", "exponential"), workers=(2, 32), batches=(4, 12)),
        extremal=_bernoulli_many,
    ),
    _study(
        "gain.bounded",
        _gain,
        [_over_tau("released delay", 2048, 12), _over_tau("Bernoulli", 2048, 12)],
        **_only(_BOUNDED, overheads=(0.2, 0.0)),
        extremal=_cases_of(
            law_case("constant", 3, 4, 1.5), law_case("constant", 1, 1, 1.5, 0.0), law_case("constant 3", 2, 3, 1.5)
        ),
    ),
    _study(
        "gain.bounded_by_mean",
        _gain,
        [Curve("N", "1 (9/10) or 100, M = 1", [(10.0**j, _quick_case(j)) for j in range(6)])],
        **_only(_BOUNDED),
        extremal=_quick_or_slow,
    ),
    _study(
        "gain.single",
        _gain,
        [_over_tau("exponential", 1, 12, 0.0), _over_tau("normal, cv 0.2", 1, 12, 0.0)],
        **_only(NEW_BETTER, workers=(1,), overheads=(0.0, 0.2)),
        extremal=_cases_of(law_case("constant", 1, 4, 1.5), law_case("exponential", 1, 12, 1e-5, 0.0)),
    ),
    _study(
        "gain.single_any",
        _gain,
        [_over_tau("gamma, shape 1/4", 1, 12, 0.0)],
        **_only(("gamma, shape 1/4",), workers=(1,), shares=(0.02, 0.1), overheads=(0.0,)),
    ),
    _study(
        "gain.degenerate",
        _gain,
        [_over_tau("exponential", 32, 12, 0.0)],
        **_only(_EXPONENTIALS, shares=(1e-3, 0.01, 0.05, 0.5), overheads=(0.0,)),
        extremal=_cases_of(*(law_case(name, N, M, 1e-6, 0.0) for name in _EXPONENTIALS for N, M in ((32, 12), (1, 1)))),
    ),
)
