"""DropCompute: expectations over small laws of latency, enumerated through the implementation in rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.dropcompute.laws import NAMED_LAWS, SMALL_LAWS, SmallLaw
from commbounds.verify.experiments.dropcompute.steps import exactly
from commbounds.verify.study import Case, Curve, Outcome, Study, over

_SIZES = ((1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1))
_ENUMERATED = (
    "every outcome of up to four latencies with one, two or three whole values, rational probabilities; thresholds in "
    "steps of one half"
)
Trial = Callable[[Any, Case], Outcome]


def _small_case(law: str, N: int, M: int, tau: Any) -> Case:
    return Case({"law": law, "N": N, "M": M, "tau": tau})


def _grid(level: int) -> Iterator[Case]:
    for N, M in _SIZES if level == 0 else (*_SIZES, (1, 4), (3, 2)):
        for name, law in SMALL_LAWS.items():
            for doubled in range(1, 2 * max(law.values) * M + 3, 1 if level or M == 1 else 2):
                yield _small_case(name, N, M, Fraction(doubled, 2))


def _grid_after(level: int) -> Iterator[Case]:
    yield from (Case({**case.settings, "preemption": "B"}) for case in _grid(level))


def _corpus_after(budget: Budget) -> Iterator[Case]:
    yield from (Case({**case.settings, "preemption": "B"}) for case in _corpus(budget))


def _times_grid(level: int) -> Iterator[Case]:
    """Without a threshold: the slowest of up to eight workers."""
    for N, M in ((1, 1), (2, 1), (3, 1), (5, 1), (8, 1), (1, 2), (2, 2), (1, 3), (1, 4), *(((3, 2),) if level else ())):
        for name, law in SMALL_LAWS.items():
            if N < 8 or len(law.values) < 3:
                yield _small_case(name, N, M, Fraction(1))


def _times_corpus(_budget: Budget) -> Iterator[Case]:
    for name in SMALL_LAWS:
        for N, M in ((1, 1), (3, 1), (1, 4)):
            yield _small_case(name, N, M, Fraction(1))


def _at_mean(law: str, N: int, M: int) -> Case:
    return _small_case(law, N, M, M * NAMED_LAWS[law].mean)


def _beyond_the_mean(law: str) -> Curve:
    mean = 3 * SMALL_LAWS[law].mean
    thresholds = [t for t in (Fraction(j, 2) for j in range(1, 17)) if t > mean]
    return Curve("tau", f"{law}; M = 3", [(float(t), _small_case(law, 1, 3, t)) for t in thresholds])


def _mean_grid(level: int) -> Iterator[Case]:
    for N, M in ((1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (1, 3), (1, 4), (1, 6), *(((1, 8),) if level else ())):
        for name in SMALL_LAWS:
            yield _at_mean(name, N, M)


def _mean_corpus(_budget: Budget) -> Iterator[Case]:
    for name in SMALL_LAWS:
        for N, M in ((1, 1), (1, 5)):
            yield _at_mean(name, N, M)
    for name in ("0 (3/4) or 1 (1/4)", "0 (3/4) or 64 (1/4)"):
        yield _at_mean(name, 1, 8)


def _mean_constant(_budget: Budget) -> Iterator[Case]:
    for N, M in ((1, 2), (2, 2), (1, 3)):
        yield _small_case("2 (1)", N, M, Fraction(2 * M))


def _corpus(_budget: Budget) -> Iterator[Case]:
    for name in SMALL_LAWS:
        for N, M in ((1, 1), (2, 2), (1, 4)):
            yield _small_case(name, N, M, Fraction(7, 2))


def _law(case: Case) -> tuple[SmallLaw, int, int, Fraction]:
    s = case.settings
    return NAMED_LAWS[s["law"]], s["N"], s["M"], s["tau"]


def _expected(case: Case, value: Callable[[Any], Any]) -> Fraction:
    """E over every outcome of what `value` makes of the latencies."""
    law, N, M, _ = _law(case)
    return sum((p * value(t) for t, p in law.outcomes(N, M)), Fraction(0))


def _completed(drop_step: Any, case: Case) -> Fraction:
    # sums are whole: a threshold between them may be rounded to a float
    tau = float(case.settings["tau"])
    N = case.settings["N"]
    return _expected(case, lambda t: Fraction(int(drop_step(t, tau).completed.sum()), N))


def _values(case: Case) -> dict[str, Any]:
    law, N, M, tau = _law(case)
    late = law.expect(M, lambda s: s >= tau)
    return {
        "N": N,
        "M": M,
        "tau": tau,
        "latency": law.mean,
        "jitter": _root(law.variance),
        "late": late,
        "capped": law.expect(M, lambda s: min(tau, s)),
        "below": sum((law.expect(m, lambda s: s < tau) for m in range(1, M + 1)), Fraction(0)),
        "begun": sum((law.expect(m, lambda s: s < tau) for m in range(M)), Fraction(0)),
        "longest": max(law.values),
        "shortest": min(law.values),
    }


def _completed_trial(drop_step: Any, case: Case) -> Outcome:
    return Outcome(case.once(_completed, drop_step), case.once(_values))


def _known(_drop_step: Any, case: Case) -> dict[str, Any]:
    """The symbols, when elapsed time is tested, and whether the law is new better than used."""
    law = _law(case)[0]
    return {**case.once(_values), "preemption": "A", "new_better": law.new_better_than_used, **case.settings}


def _work(drop_step: Any, case: Case) -> Outcome:
    law, _N, M, tau = _law(case)
    # a worker goes on while what has elapsed is at most tau
    begun = sum((law.expect(m, lambda s: s <= tau) for m in range(M)), Fraction(0))
    alone = Case({**case.settings, "N": 1})
    measured = _expected(
        alone, lambda t: exactly(drop_step(t, float(tau), preemption=case.settings["preemption"]).time)
    )
    return Outcome(measured, {"latency": law.mean, "begun": begun})


def _passed(drop_step: Any, case: Case) -> Outcome:
    _, _N, M, tau = _law(case)
    alone = Case({**case.settings, "N": 1})
    measured = _expected(alone, lambda t: Fraction(int(drop_step(t, float(tau)).completed[0] == M)))
    # sigma^2 is rational: it is given as a square root whose square sympy takes back
    return Outcome(measured, case.once(_values))


def _mean_time(drop_step: Any, more: int, case: Case) -> Fraction:
    """E of the slowest of N + `more` workers; of nobody: 0."""
    N = case.settings["N"] + more
    if N == 0:
        return Fraction(0)
    return _expected(Case({**case.settings, "N": N}), lambda t: exactly(drop_step(t, float("inf")).time))


def _exact_time(drop_step: Any, case: Case) -> Outcome:
    law, N, M, _ = _law(case)
    return Outcome(case.once(_mean_time, drop_step, 0), {"slowest": law.largest(N, M, lambda s: s)})


def _time_values(drop_step: Any, case: Case) -> Outcome:
    return Outcome(case.once(_mean_time, drop_step, 0), case.once(_values))


def _slow_workers(N: int, M: int, chosen: str) -> list[tuple[int, ...]]:
    """Which worker is slow in each micro-batch: all equally likely ways of choosing it."""
    if chosen == "anew":
        return list(itertools.product(range(N), repeat=M))
    return [tuple((first + m * (chosen == "in turn")) % N for m in range(M)) for first in range(N)]


def _root(variance: Fraction) -> Any:
    return sp.sqrt(sp.Rational(variance.numerator, variance.denominator))


def _dependent_times(drop_step: Any, case: Case) -> tuple[Fraction, dict[str, Any]]:
    """In every micro-batch one worker, any with equal chances, takes `slow` seconds, and the others take `quick`."""
    N, M, quick, slow, chosen = (case.settings[name] for name in ("N", "M", "quick", "slow", "chosen"))
    ways = _slow_workers(N, M, chosen)
    times = [[[slow if n == way[m] else quick for m in range(M)] for n in range(N)] for way in ways]
    measured = sum((exactly(drop_step(t, float("inf")).time) for t in times), Fraction(0)) / len(ways)
    mean = Fraction(slow + (N - 1) * quick, N)
    variance = Fraction(slow**2 + (N - 1) * quick**2, N) - mean**2
    of_worker = sum((Fraction(sum(t[0])) ** 2 for t in times), Fraction(0)) / len(ways) - (M * mean) ** 2
    values = {"N": N, "M": M, "latency": mean, "jitter": _root(variance), "timejitter": _root(of_worker)}
    return measured, values


def _dependent(drop_step: Any, case: Case) -> Outcome:
    return Outcome(*case.once(_dependent_times, drop_step))


def _slow_case(N: int, M: int = 1, quick: int = 1, slow: int = 5, chosen: str = "anew") -> Case:
    return Case({"N": N, "M": M, "quick": quick, "slow": slow, "chosen": chosen})


def _dependent_grid(level: int) -> Iterator[Case]:
    for N in range(1, (6, 12, 40)[level]):
        for quick, slow in ((0, 1), (1, 2), (3, 1), (1, 100), (2, 2)):
            yield _slow_case(N, 1, quick, slow)
    for N, M in ((1, 2), (2, 2), (3, 2), (2, 3), (3, 3), *(((5, 2), (3, 5)) if level else ())):
        for quick, slow in ((0, 2), (3, 1)):
            for chosen in ("anew", "the same", "in turn"):
                yield _slow_case(N, M, quick, slow, chosen)


def _one_slow(_budget: Budget) -> Iterator[Case]:
    yield from (_slow_case(N) for N in (2, 3, 8))


def _one_always_slow(_budget: Budget) -> Iterator[Case]:
    yield from (_slow_case(N, M, chosen="the same") for N, M in ((2, 1), (2, 2), (3, 4), (8, 5)))


def _variance(drop_step: Any, case: Case) -> Outcome:
    law, N, M, tau = _law(case)
    times = [(exactly(drop_step(t, float(tau), 0.5).time), p) for t, p in law.outcomes(N, M)]
    mean, square = (sum((p * s**power for s, p in times), Fraction(0)) for power in (1, 2))
    slowest, squared = law.largest(N, M, lambda s: s), law.largest(N, M, lambda s: s * s)
    # a threshold that no worker reaches changes nothing
    return Outcome(square - mean**2, {"slowestvariance": squared - slowest**2}, active=tau < M * max(law.values))


def _increasing(drop_step: Any, case: Case) -> Outcome:
    return Outcome(case.once(_mean_time, drop_step, 0), {"fewer": case.once(_mean_time, drop_step, -1)})


def _concave(drop_step: Any, case: Case) -> Outcome:
    fewer, slowest, more = (case.once(_mean_time, drop_step, change) for change in (-1, 0, 1))
    return Outcome(more, {"slowest": slowest, "fewer": fewer})


def _calibrated(drop_step: Any, case: Case) -> Outcome:
    law, N, M, tau = _law(case)
    overhead = Fraction(1, 2)

    def objective(t: Any) -> Fraction:
        step = drop_step(t, float(tau), float(overhead))
        share = Fraction(int(step.completed.sum()), N * M)
        return exactly(step.slowest) / exactly(step.time) * share

    below = case.once(_values)["below"]
    spent = law.largest(N, M, lambda s: min(tau, s)) + overhead
    truth = below * (law.largest(N, M, lambda s: s) + overhead) / (M * spent)
    return Outcome(_expected(case, objective), {"truth": truth})


def _long_overshoot(budget: Budget) -> Iterator[Case]:
    """Besides, latencies of zero before the first that takes time, and a threshold that is nearly none."""
    yield from _corpus(budget)
    for name in ("0 (1/4) or 1 (3/4)", "0 (1/4) or 4 (3/4)"):
        yield _small_case(name, 1, 6, Fraction(1, 1024))
    yield _small_case("0 (3/4) or 1 (1/4)", 1, 8, Fraction(2))


def _just_beyond(budget: Budget) -> Iterator[Case]:
    """Besides, a threshold that hardly any time is below, just beyond the mean."""
    yield from _corpus(budget)
    yield _small_case("0 (1/100) or 1 (99/100)", 1, 1, Fraction(199, 200))


def _constant(_budget: Budget) -> Iterator[Case]:
    for N, M in ((1, 3), (2, 3), (1, 4)):
        yield _small_case("2 (1)", N, M, Fraction(4))


def _beyond(_budget: Budget) -> Iterator[Case]:
    for name in ("2 (1)", "1 (1/2) or 2 (1/2)"):
        yield _small_case(name, 2, 2, Fraction(1000))


def _beyond_varying(_budget: Budget) -> Iterator[Case]:
    for name, N, M in (("1 (1/2) or 2 (1/2)", 2, 2), ("1 (9/10) or 9 (1/10)", 3, 1)):
        yield _small_case(name, N, M, Fraction(1000))


def _single(_budget: Budget) -> Iterator[Case]:
    for name in SMALL_LAWS:
        yield _small_case(name, 1, 2, Fraction(1))


def _cantelli(_budget: Budget) -> Iterator[Case]:
    yield _small_case("1 (1/2) or 2 (1/2)", 1, 1, Fraction(2))
    yield _small_case("1 (2/3) or 3 (1/3)", 1, 1, Fraction(3))


def _curves(claim: str) -> list[Curve]:
    if "dependent" in claim:
        return [over("N", "1 s, and 5 s for one of the workers", (_slow_case(N) for N in range(1, 30)))]
    if claim.startswith("time.") and claim != "time.variance":
        return [
            Curve("N", law, [(float(N), _small_case(law, N, 1, Fraction(1))) for N in range(1, 7)]) for law in _DRAWN
        ]
    if claim == "completed.at_the_mean":
        return [over("M", law, (_at_mean(law, 1, M) for M in range(1, 7))) for law in _DRAWN]
    if claim == "completed.one_sided":
        return [_beyond_the_mean(law) for law in _DRAWN]
    more = {"preemption": "B"} if claim == "completed.work" else {}
    thresholds = [Fraction(j, 2) for j in range(1, 17)]
    return [
        Curve(
            "tau",
            f"{law}; M = 3",
            [(float(t), Case({**_small_case(law, 1, 3, t).settings, **more})) for t in thresholds],
        )
        for law in _DRAWN
    ]


def _study(claim: str, trial: Trial, **more: Any) -> Study:
    options = {"grid": _grid, "corpus": _corpus, "enumerated": _ENUMERATED, "known": _known, **more}
    return Study(f"dropcompute.{claim}", "drop_step", trial, curves=_curves(claim), **options)


_DRAWN = ("1 (1/2) or 2 (1/2)", "1 (2/3) or 3 (1/3)")
_DEPENDENT: dict[str, Any] = {
    "grid": _dependent_grid,
    "corpus": _one_slow,
    "enumerated": "which of up to N workers is slow, in each of up to three micro-batches: anew, the same, in turn",
    "known": None,
}
_TIMES: dict[str, Any] = {
    "grid": _times_grid,
    "corpus": _times_corpus,
    "enumerated": "every outcome of latencies with one, two or three whole values, rational probabilities",
}
_AFTER: dict[str, Any] = {"grid": _grid_after, "corpus": _corpus_after}
_MEAN: dict[str, Any] = {
    "grid": _mean_grid,
    "corpus": _mean_corpus,
    "enumerated": "every outcome of up to six latencies with one, two or three whole values, at the mean of their sum",
}


def _two_constant(_budget: Budget) -> Iterator[Case]:
    yield _small_case("2 (1)", 2, 1, Fraction(1))


SMALL_STUDIES = (
    _study("completed.exact", _completed_trial),
    _study("completed.work", _work, **_AFTER),
    _study("completed.accounting", _completed_trial),
    _study("completed.at_least", _completed_trial, extremal=_constant),
    _study("completed.at_most", _completed_trial, extremal=_beyond, corpus=_long_overshoot),
    _study("completed.new_better", _completed_trial, extremal=_beyond),
    _study("completed.at_the_mean", _completed_trial, extremal=_mean_constant, **_MEAN),
    _study("completed.one_sided", _passed, extremal=_cantelli, corpus=_just_beyond),
    _study("time.exact", _exact_time, **_TIMES),
    _study("time.at_least_mean", _time_values, extremal=_single, **_TIMES),
    _study("time.ceiling", _time_values, extremal=_constant, **_TIMES),
    _study("time.dependent", _dependent, extremal=_one_slow, **_DEPENDENT),
    _study("time.dependent_within", _dependent, extremal=_one_always_slow, **_DEPENDENT),
    _study("time.variance", _variance, extremal=_beyond_varying),
    _study("time.increasing", _increasing, extremal=_two_constant, **_TIMES),
    _study("time.concave", _concave, extremal=_two_constant, **_TIMES),
    _study("gain.calibrated", _calibrated, extremal=_constant),
)
