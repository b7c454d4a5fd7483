"""DropCompute: claims confronted with the exact laws of elapsed times, in floats with a derived slack."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from commbounds.collectives import Gamma, Lognormal, StepLaw
from commbounds.verify.experiments.dropcompute.laws import LAWS, NEW_BETTER, law_family, rounding
from commbounds.verify.experiments.dropcompute.reference_times import reference_times
from commbounds.verify.family import Rounded
from commbounds.verify.space import Settings
from commbounds.verify.study import Curve, Outcome, Study

_GAMMAS = tuple(name for name, law in LAWS.items() if isinstance(law, Gamma))
_EXPONENTIALS = ("exponential", "exponential, mean 3", "exponential, mean 1/4")
_SLOWING = ("gamma, shape 1/4", *_EXPONENTIALS)
_IFR = tuple(name for name, law in LAWS.items() if law.increasing_failure_rate)
_HEAVY = (*LAWS, "1 (9/10) or 100", "constant")
_LOGNORMALS = tuple(name for name, law in LAWS.items() if isinstance(law, Lognormal))
_BOUNDED = tuple(name for name, law in LAWS.items() if math.isfinite(law.high))


def _time(found: StepLaw) -> Rounded:
    return Rounded(found.mean_time(), 2 * rounding(found))


def _even_time(found: StepLaw, settings: Settings) -> Outcome:
    """With the quantile of T_n at 1 - exp(-H_N)."""
    harmonic = float(np.sum(1 / np.arange(1, settings["N"] + 1)))
    evenness = float(found.quantile(-math.expm1(-harmonic)))
    return Outcome(found.mean_time(), {"evenness": evenness}, 2 * rounding(found))


def _completed(found: StepLaw, tau: float) -> Outcome:
    """Completing one more takes no time to speak of: probabilities move by the density times the error of a time."""
    law, moved = found.law, rounding(found)
    slack = 1e-12 * found.M + (moved * found.M / math.sqrt(law.variance) if found.error else 0.0)
    return Outcome(found.completed(tau), {"capped": found.capped_worker(tau)}, slack + moved / law.mean)


def _gain_slack(step: StepLaw, tau: float, overhead: float) -> float:
    """An error of the expected times moves the gain by that, relative to the times, in both of its factors."""
    least = min(tau, step.M * step.law.mean) + overhead
    return float(4 * rounding(step) * step.ideal(overhead) / least)


def _gain(found: StepLaw, tau: float, overhead: float) -> Outcome:
    """The gain by the implementation; what the bound is made of by the second way, with the room that both need."""
    gain, reference = found.speedup(tau, overhead), reference_times(found.law, found.M)
    slowest, below = reference.slowest(found.N), reference.below(tau)
    # quadratures to 1e-11; a lattice moves times by its error, and what is completed by the density times that
    moved = (found.error + reference.error) * reference.density + 1e-11 * found.M
    apart = 1e-11 + (found.error + 2 * reference.error) / (slowest + overhead) + (moved / below if below else 0.0)
    return Outcome(gain, {"slowest": slowest, "below": below}, _gain_slack(found, tau, overhead) + apart * gain)


def _no_threshold(found: StepLaw, tau: float, overhead: float) -> Rounded:
    beyond = float(found.times.top(found.N)) * 1.001
    return Rounded(found.speedup(beyond, overhead), _gain_slack(found, tau, overhead))


def _best(found: StepLaw, tau: float, overhead: float) -> Rounded:
    gains = found.speedup(found.times.candidates(found.N), overhead)
    return Rounded(float(np.max(gains)), _gain_slack(found, tau, overhead))


# --- cases -------------------------------------------------------------------------------------------------------

_ANY = law_family()


def _at(law: str, N: int, M: int, share: float = 1.0, overhead: float = 0.2) -> Settings:
    return _ANY.space.at(law=law, N=N, M=M, share=share, overhead=overhead)


def _by_workers(law: str, M: int) -> Curve:
    workers = (2, 4, 8, 16, 32, 64, 128, 512, 2048, 10_000)
    return _ANY.over("N", workers, f"{law}, M = {M}", law=law, M=M)


def _over_tau(law: str, N: int, M: int, overhead: float = 0.2) -> Curve:
    shares = [j / 16 for j in range(2, 41)]
    points = [(share, _ANY.case(_at(law, N, M, share, overhead))) for share in shares]
    return Curve("tau/(M mu)", f"{law}, N = {N}, M = {M}", points)


_MANY = [_at("1/5 or 1 (9/10)", 10**j, 12, 1.0, 0.0) for j in range(1, 16)]
_QUICK = [_at("1 (9/10) or 100", 10**j, 1, 0.1, 0.0) for j in range(6)]
"""The threshold is 1.09, just above the quick latency."""
_ALONE = (_at("exponential", 1, 1), _at("exponential", 32, 1))


def _by_decades(label: str, rows: Sequence[Settings]) -> Curve:
    return Curve("N", label, [(float(row["N"]), _ANY.case(row)) for row in rows])


def _study(
    claim: str,
    measure: Callable[..., Any],
    curves: Sequence[Curve] = (),
    law: Sequence[str] = tuple(LAWS),
    also: Iterable[Settings] = (),
    extremal: Iterable[Settings] = (),
    **axes: Sequence[Any],
) -> Study:
    """All combinations of laws and axes, and further rows."""
    if claim.startswith("time."):  # which depends on neither threshold nor overhead
        axes = {"N": (1, 2, 8, 32, 1000, 10_000), "share": (1.0,), **axes}
    family = law_family(law, **axes)
    every, more = family.every(**family.space.axes), family.of(also)
    options: dict[str, Any] = {"extremal": family.of(extremal)} if extremal else {}
    (study,) = family.studies(
        measure, claim, curves=curves, corpus=lambda budget: itertools.chain(every(budget), more(budget)), **options
    )
    return study


_WIDE, _TWELVE, _ONE = (
    _by_workers("lognormal, width 1", 1),
    _by_workers("exponential", 12),
    _by_workers("exponential", 1),
)
_STEADY, _STEADY_ONE = (_by_workers("normal, cv 0.2", M) for M in (12, 1))
_DELAY, _SPREAD, _SPREAD_ONE = _by_workers("released delay", 12), *(_by_workers("gamma, shape 1/4", M) for M in (12, 1))
_NO_OVERHEAD = [_over_tau(law, 1, 12, 0.0) for law in ("exponential", "normal, cv 0.2")]
_LONGER = _at("constant", 3, 4, 1.5)
_ALL_EQUAL = [_at("constant", 1, 4), _at("constant", 50, 12), _at("constant 3", 1, 3), _at("constant 1/8", 1, 4)]

EXACT_STUDIES = (
    _study("time.universal", _time, [_WIDE, _TWELVE], extremal=[_at("uniform", 2, 1)]),
    _study("time.increasing_rate", _even_time, [_TWELVE, _STEADY], _IFR, extremal=_ALONE),
    _study("time.decreasing_rate", _even_time, [_SPREAD_ONE], _SLOWING, extremal=_ALONE, M=(1,)),
    _study(
        "time.gamma", _time, [_TWELVE, _SPREAD], _GAMMAS, [_at("gamma, shape 10^6", 10**9, 1)],
        [_at(law, 1, M) for law in _GAMMAS for M in (1, 12)],
    ),
    _study(
        "time.bounded", _time, [_by_workers("uniform", 12), _DELAY], _BOUNDED, [_at("10 or 11", 10**9, 1024)],
        [_at("uniform", 1, 1), _at("Bernoulli", 1, 12)],
    ),
    _study("time.lognormal", _time, [_WIDE], (*_LOGNORMALS, "lognormal, width 0.1, median e^-5"), M=(1,)),
    _study(
        "time.variance_as_proxy", _time, [_ONE, _STEADY_ONE], extremal=[_at("exponential", N, 1) for N in (32, 10_000)]
    ),
    _study("completed.new_worse", _completed, [_over_tau("gamma, shape 1/4", 1, 12)], _SLOWING),
    _study(
        "completed.exponential", _completed, [_over_tau("exponential", 1, 12)], _EXPONENTIALS,
        share=(0.1, 0.5, 1.0, 2.0),
    ),
    _study("gain.no_threshold", _no_threshold),
    _study(
        "gain.with_means", _gain, [_over_tau("exponential", 32, 12), _over_tau("released delay", 8, 12)],
        extremal=[_at("uniform", 1000, 12, 0.5), _at("Bernoulli", 1000, 4, 0.5)],
    ),
    _study(
        "gain.at_the_mean", _gain, [_TWELVE, _DELAY], _HEAVY, extremal=_ALL_EQUAL,
        M=(1, 12, 64), share=(1.0,), overhead=(0.2, 0.0),
    ),
    _study(
        "gain.new_better", _gain, [_over_tau(law, 200, 12) for law in ("exponential", "normal, cv 0.2")], NEW_BETTER,
        extremal=[_LONGER, _at("constant 3", 3, 4, 1.5), *(_at(law, 32, 12, 1e-5, 0.0) for law in _EXPONENTIALS)],
        overhead=(0.2, 0.0),
    ),
    _study(
        "gain.grows", _best, [_by_decades("1/5 or 1 (9/10), M = 12", _MANY)], ("normal, cv 0.2", "exponential"),
        extremal=_MANY[-1:], N=(2, 32), M=(4, 12),
    ),
    _study(
        "gain.bounded", _gain, [_over_tau(law, 2048, 12) for law in ("released delay", "Bernoulli")], _BOUNDED,
        extremal=[_LONGER, _at("constant", 1, 1, 1.5, 0.0), _at("constant 3", 2, 3, 1.5)], overhead=(0.2, 0.0),
    ),
    _study(
        "gain.bounded_by_mean", _gain, [_by_decades("1 (9/10) or 100, M = 1", _QUICK)], _BOUNDED,
        extremal=[_QUICK[3], _QUICK[5]],
    ),
    _study(
        "gain.single", _gain, _NO_OVERHEAD, NEW_BETTER,
        extremal=[_at("constant", 1, 4, 1.5), _at("exponential", 1, 12, 1e-5, 0.0)], N=(1,), overhead=(0.0, 0.2),
    ),
    _study(
        "gain.single_any", _gain, [_over_tau("gamma, shape 1/4", 1, 12, 0.0)], ("gamma, shape 1/4",),
        N=(1,), share=(0.02, 0.1), overhead=(0.0,),
    ),
    _study(
        "gain.degenerate", _gain, [_over_tau("exponential", 32, 12, 0.0)], _EXPONENTIALS,
        extremal=[_at(law, N, M, 1e-6, 0.0) for law in _EXPONENTIALS for N, M in ((32, 12), (1, 1))],
        share=(1e-3, 0.01, 0.05, 0.5), overhead=(0.0,),
    ),
)  # fmt: skip
