"""DropCompute: expectations over small laws of latency, enumerated through the implementation in rationals."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.verify.experiments.dropcompute.laws import NAMED_LAWS, SMALL_LAWS
from commbounds.verify.experiments.dropcompute.steps import exactly
from commbounds.verify.family import Family
from commbounds.verify.space import Of, Space, nothing
from commbounds.verify.study import Case, Curve, Outcome

Values = dict[str, Any]
_VALUES = "latencies with one, two or three whole values, rational probabilities"
_ENUMERATED = f"every outcome of up to four {_VALUES}; thresholds in steps of one half"
_INFINITE = float("inf")


def _root(variance: Fraction) -> Any:
    """An exact square root, whose square sympy takes back."""
    return sp.sqrt(sp.Rational(variance.numerator, variance.denominator))


def _of_law(law: str, N: int, M: int, tau: Fraction) -> Values:
    """The symbols of the bounds, and what hypotheses ask."""
    t = NAMED_LAWS[law]
    below = [t.expect(m, lambda s: s < tau) for m in range(M + 1)]
    return {
        "latency": t.mean,
        "jitter": _root(t.variance),
        "late": t.expect(M, lambda s: s >= tau),
        "capped": t.expect(M, lambda s: min(tau, s)),
        "below": sum(below[1:], Fraction(0)),
        "begun": sum(below[:M], Fraction(0)),
        "longest": max(t.values),
        "shortest": min(t.values),
        "slowest": t.largest(N, M, lambda s: s),
        "new_better": t.new_better_than_used,
    }


def _expected(law: str, N: int, M: int, value: Callable[[Any], Any]) -> Fraction:
    """E over every outcome of what `value` makes of the latencies."""
    return sum((p * value(t) for t, p in NAMED_LAWS[law].outcomes(N, M)), Fraction(0))


def _completed(implementation: Any, law: str, N: int, M: int, tau: Fraction) -> Fraction:
    """By a worker; sums are whole: a threshold between them may be rounded to a float."""
    return _expected(law, N, M, lambda t: Fraction(int(implementation(t, float(tau)).completed.sum()), N))


def _found(found: Fraction) -> Fraction:
    return found


def _work(implementation: Any, law: str, M: int, tau: Fraction, preemption: str) -> Outcome:
    """A worker goes on while what has elapsed is at most tau."""
    begun = sum((NAMED_LAWS[law].expect(m, lambda s: s <= tau) for m in range(M)), Fraction(0))
    time = _expected(law, 1, M, lambda t: exactly(implementation(t, float(tau), preemption=preemption).time))
    return Outcome(time, {"begun": begun})


def _passed(implementation: Any, law: str, M: int, tau: Fraction) -> Fraction:
    return _expected(law, 1, M, lambda t: Fraction(int(implementation(t, float(tau)).completed[0] == M)))


def _mean_time(implementation: Any, more: int, case: Case) -> Fraction:
    """E of the slowest of N + `more` workers; of nobody: 0."""
    law, N, M = (case.settings[name] for name in ("law", "N", "M"))
    return _expected(law, N + more, M, lambda t: exactly(implementation(t, _INFINITE).time) if N + more else 0)


def _time(implementation: Any, case: Case) -> Fraction:
    time: Fraction = case.once(_mean_time, implementation, 0)
    return time


def _increasing(implementation: Any, case: Case) -> Outcome:
    fewer, slowest = (case.once(_mean_time, implementation, change) for change in (-1, 0))
    return Outcome(slowest, {"fewer": fewer})


def _concave(implementation: Any, case: Case) -> Outcome:
    fewer, slowest, more = (case.once(_mean_time, implementation, change) for change in (-1, 0, 1))
    return Outcome(more, {"slowest": slowest, "fewer": fewer})


def _variance(implementation: Any, law: str, N: int, M: int, tau: Fraction) -> Outcome:
    """A threshold that no worker reaches changes nothing."""
    t = NAMED_LAWS[law]
    times = [(exactly(implementation(x, float(tau), 0.5).time), p) for x, p in t.outcomes(N, M)]
    mean, square = (sum((p * s**power for s, p in times), Fraction(0)) for power in (1, 2))
    slowest = t.largest(N, M, lambda s: s * s) - t.largest(N, M, lambda s: s) ** 2
    return Outcome(square - mean**2, {"slowestvariance": slowest}, active=tau < M * max(t.values))


def _calibrated(implementation: Any, law: str, N: int, M: int, tau: Fraction, below: Fraction) -> Outcome:
    t, overhead = NAMED_LAWS[law], Fraction(1, 2)

    def objective(x: Any) -> Fraction:
        step = implementation(x, float(tau), float(overhead))
        return exactly(step.slowest) / exactly(step.time) * Fraction(int(step.completed.sum()), N * M)

    spent = t.largest(N, M, lambda s: min(tau, s)) + overhead
    truth = below * (t.largest(N, M, lambda s: s) + overhead) / (M * spent)
    return Outcome(_expected(law, N, M, objective), {"truth": truth})


_SPACE = Space(
    nothing,
    {"law": tuple(NAMED_LAWS), "N": (1, 2, 3), "M": (1, 2, 3, 4), "tau": (Fraction(7, 2),), "preemption": ("A",)},
)
_AT_MEAN = (Of("M times the mean", lambda law, M: M * NAMED_LAWS[law].mean),)


def _family(**axes: Any) -> Family:
    return Family("dropcompute", "drop_step", _SPACE.replaced(**axes), _of_law, _completed, searched=False)


_STEP, _AFTER, _OF_MEAN = _family(), _family(preemption=("B",)), _family(tau=_AT_MEAN)
_DRAWN = ("1 (1/2) or 2 (1/2)", "1 (2/3) or 3 (1/3)")
_LAWS = {"law": tuple(SMALL_LAWS)}


def _thresholds(law: str, M: int, level: int) -> list[Fraction]:
    return [Fraction(j, 2) for j in range(1, 2 * max(SMALL_LAWS[law].values) * M + 3, 1 if level or M == 1 else 2)]


def _grid(family: Family) -> Values:
    sizes: Values = {"N": (1, 2, 3), "M": lambda N, level: range(1, 5 - N + (level > 0 and N != 2))}
    return {
        "grid": family.every(**sizes, **_LAWS, tau=_thresholds),
        "corpus": family.every(**_LAWS, N=(1, 2), M=lambda N: (1, 4) if N == 1 else (2,)),
        "enumerated": _ENUMERATED,
    }


_EVERY, _EVERY_AFTER = _grid(_STEP), _grid(_AFTER)
_TIMES: Values = {
    "grid": _STEP.every(
        N=(1, 2, 3, 5, 8),
        M=lambda N, level: range(1, {1: 5, 2: 3, 3: 2 + (level > 0)}.get(N, 2)),
        law=lambda N: [name for name, law in SMALL_LAWS.items() if N < 8 or len(law.values) < 3],
    ),
    "corpus": _STEP.every(**_LAWS, N=(1, 3), M=lambda N: (1, 4) if N == 1 else (1,)),
    "enumerated": f"every outcome of {_VALUES}",
    "curves": [_STEP.over("N", range(1, 7), law, law=law) for law in _DRAWN],
}
_MEAN: Values = {
    "grid": _OF_MEAN.every(
        N=(1, 2, 3), M=lambda N, level: {1: (1, 2, 3, 4, 6, 8)[: 5 + (level > 0)], 2: (1, 2), 3: (1,)}[N], **_LAWS
    ),
    "corpus": _OF_MEAN.of(
        [
            *_OF_MEAN.space.every(**_LAWS, M=(1, 5)),
            *_OF_MEAN.space.every(law=("0 (3/4) or 1 (1/4)", "0 (3/4) or 64 (1/4)"), M=[8]),
        ]
    ),
    "enumerated": "every outcome of up to six latencies with one, two or three whole values, at the mean of their sum",
    "curves": [_OF_MEAN.over("M", range(1, 7), law, law=law) for law in _DRAWN],
    "extremal": _OF_MEAN.every(law=["2 (1)"], N=(1, 2), M=lambda N: (2, 3)[: 3 - N]),
}


def _over_tau(family: Family, beyond: bool = False) -> list[Curve]:
    """Over thresholds, or those beyond the mean."""
    return [
        family.over(
            "tau",
            [t for t in (Fraction(j, 2) for j in range(1, 17)) if not beyond or t > 3 * SMALL_LAWS[law].mean],
            f"{law}; M = 3",
            law=law,
            M=3,
        )
        for law in _DRAWN
    ]


def _besides(*rows: Values) -> Values:
    """The corpus of steps, and further rows."""
    more = _STEP.of([_STEP.space.at(**row) for row in rows])
    return {**_EVERY, "corpus": lambda budget: itertools.chain(_EVERY["corpus"](budget), more(budget))}


_CURVES, _AFTER_CURVES = _over_tau(_STEP), _over_tau(_AFTER)
_CONSTANT = _STEP.every(law=["2 (1)"], N=(1, 2), M=lambda N: (3, 4)[: 3 - N], tau=[Fraction(4)])
_ONE_CONSTANT = _STEP.every(law=["2 (1)"], N=[2])
_BEYOND = _STEP.every(law=("2 (1)", _DRAWN[0]), N=[2], M=[2], tau=[Fraction(1000)])
_LONG_OVERSHOOT = _besides(
    # latencies of zero before the first that takes time, and a threshold that is nearly none
    *({"law": law, "M": 6, "tau": Fraction(1, 1024)} for law in ("0 (1/4) or 1 (3/4)", "0 (1/4) or 4 (3/4)")),
    {"law": "0 (3/4) or 1 (1/4)", "M": 8, "tau": Fraction(2)},
)
_JUST_BEYOND = _besides({"law": "0 (1/100) or 1 (99/100)", "tau": Fraction(199, 200)})
"""A threshold that hardly any time is below, just beyond the mean."""

# --- latencies that depend on one another ----------------------------------------------------------------------------


def _slow_workers(N: int, M: int, chosen: str) -> list[tuple[int, ...]]:
    """Which worker is slow in each micro-batch: all equally likely ways of choosing it."""
    if chosen == "anew":
        return list(itertools.product(range(N), repeat=M))
    return [tuple((first + m * (chosen == "in turn")) % N for m in range(M)) for first in range(N)]


def slow_times(N: int, M: int, quick: int, slow: int, chosen: str) -> list[list[list[int]]]:
    """In every micro-batch one worker, any with equal chances, takes `slow` seconds, and the others take `quick`."""
    ways = _slow_workers(N, M, chosen)
    return [[[slow if n == way[m] else quick for m in range(M)] for n in range(N)] for way in ways]


def of_slow(N: int, M: int, quick: int, slow: int, chosen: str) -> Values:
    """The symbols of the bounds on such steps."""
    times, mean = slow_times(N, M, quick, slow, chosen), Fraction(slow + (N - 1) * quick, N)
    variance = Fraction(slow**2 + (N - 1) * quick**2, N) - mean**2
    of_worker = sum((Fraction(sum(t[0])) ** 2 for t in times), Fraction(0)) / len(times) - (M * mean) ** 2
    return {"times": times, "latency": mean, "jitter": _root(variance), "timejitter": _root(of_worker)}


def dependent_time(implementation: Any, times: list[Any]) -> Fraction:
    """E of a step's time over these."""
    return sum((exactly(implementation(t, _INFINITE).time) for t in times), Fraction(0)) / len(times)


_SLOW = Family(
    "dropcompute",
    "drop_step",
    Space(nothing, {"N": (2, 3, 8), "M": (1,), "quick": (1,), "slow": (5,), "chosen": ("anew",)}),
    of_slow,
    searched=False,
)
_SLOW_GRID: Values = {
    "grid": _SLOW.every(
        N=lambda level: range(1, (6, 12, 40)[level]),
        M=lambda N, level: {1: (1, 2, 3), 2: (1, 2, 3), 3: (1, 2, 3, 5)[: 3 + (level > 0)], 5: (1, 2)}.get(N, (1,)),
        quick=(0, 1, 2, 3),
        slow=lambda quick: ((1, 2), (2, 100), (2,), (1,))[quick],
        chosen=lambda M: ("anew", "the same", "in turn") if M > 1 else ("anew",),
    ),
    "corpus": _SLOW.every(N=(2, 3, 8)),
    "enumerated": "which of up to N workers is slow, in each of up to three micro-batches: anew, the same, in turn",
    "curves": [_SLOW.over("N", range(1, 30), "1 s, and 5 s for one of the workers")],
}
_ALWAYS_SLOW = _SLOW.every(N=(2, 3, 8), M=lambda N: {2: (1, 2), 3: (4,), 8: (5,)}[N], chosen=["the same"])

SMALL_STUDIES = (
    *_STEP.studies(_found, "completed.exact", "completed.accounting", curves=_CURVES, **_EVERY),
    *_AFTER.studies(_work, "completed.work", curves=_AFTER_CURVES, **_EVERY_AFTER),
    *_STEP.studies(_found, "completed.at_least", extremal=_CONSTANT, curves=_CURVES, **_EVERY),
    *_STEP.studies(_found, "completed.at_most", extremal=_BEYOND, curves=_CURVES, **_LONG_OVERSHOOT),
    *_STEP.studies(_found, "completed.new_better", extremal=_BEYOND, curves=_CURVES, **_EVERY),
    *_OF_MEAN.studies(_found, "completed.at_the_mean", **_MEAN),
    *_STEP.studies(
        _passed,
        "completed.one_sided",
        extremal=_STEP.every(law=_DRAWN, tau=lambda law: [Fraction(2 + (law == _DRAWN[1]))], M=[1]),
        curves=_over_tau(_STEP, beyond=True),
        **_JUST_BEYOND,
    ),
    *_STEP.studies(_time, "time.exact", **_TIMES),
    *_STEP.studies(_time, "time.at_least_mean", extremal=_STEP.every(**_LAWS, M=[2]), **_TIMES),
    *_STEP.studies(_time, "time.ceiling", extremal=_CONSTANT, **_TIMES),
    *_SLOW.studies(dependent_time, "time.dependent", extremal=_SLOW.every(N=(2, 3, 8)), **_SLOW_GRID),
    *_SLOW.studies(dependent_time, "time.dependent_within", extremal=_ALWAYS_SLOW, **_SLOW_GRID),
    *_STEP.studies(
        _variance,
        "time.variance",
        extremal=_STEP.every(
            law=(_DRAWN[0], "1 (9/10) or 9 (1/10)"), N=[2, 3], M=lambda N: [4 - N], tau=[Fraction(1000)]
        ),
        curves=_CURVES,
        **_EVERY,
    ),
    *_STEP.studies(_increasing, "time.increasing", extremal=_ONE_CONSTANT, **_TIMES),
    *_STEP.studies(_concave, "time.concave", extremal=_ONE_CONSTANT, **_TIMES),
    *_STEP.studies(_calibrated, "gain.calibrated", extremal=_CONSTANT, curves=_CURVES, **_EVERY),
)
