"""DropCompute: claims about single steps and about thresholds chosen on calibration steps, bound to their code."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import drop_step
from commbounds.verify.family import Family
from commbounds.verify.space import Of, Space
from commbounds.verify.study import Curve, Outcome

Values = dict[str, Any]
_HALF = Fraction(1, 2)


def exactly(value: Any) -> Fraction:
    """A float as the rational that it is; latencies here are small integers, whose sums and halves floats hold."""
    return Fraction(float(value))


def _latencies(N: int, M: int, data: str | int, least: int, top: int, seed: int) -> Array:
    """(N, M) seconds; a number stands for its digits 1, 2, 3: one of all arrays of these."""
    if isinstance(data, int):
        return 1.0 + data // 3 ** np.arange(N * M)[::-1].reshape(N, M) % 3
    rng, t = np.random.default_rng([seed, N, M]), np.full((N, M), 2.0)
    if data == "drawn":
        t = rng.integers(least, top + 1, (N, M)).astype(np.float64)
    elif data == "all 0":
        t = np.zeros((N, M))
    elif data == "slow worker 0":
        t = np.ones((N, M))
        t[0] = np.resize((2, 3, 2, 5), M)
    elif data == "lognormal":  # no small integers: sums of them round
        t = rng.lognormal(size=(N, M))
    return t


def _times(factor: int) -> Of:
    return Of(f"{factor} M", lambda M: Fraction(factor * M))


_STEPS = (
    Space(
        _latencies,
        {
            "N": (3, 1, 2, 4, 5, 6, 7, 8, 9, 16, 257),
            "M": (2, 1, 4, 12, 3, 7),
            "data": ("drawn", "all 2", "all 0"),
            "least": (0, 1),
            "top": (5, 1, 9),
            "tau": (_HALF, *map(_times, (1, 3, 100))),
            "overhead": (_HALF, Fraction(0), Fraction(2)),
            "preemption": ("A", "B", "C"),
            "at_threshold": (False, True),
        },
        options=("preemption", "at_threshold", "tau", "data"),
        combined=(("data", "tau", "preemption", "at_threshold"),),
    )
    .without(
        "Whether what ends at the threshold counts is a question of variant A.",
        lambda preemption, at_threshold: at_threshold and preemption != "A",
    )
    .search(N=(1, 40), M=(1, 12), top=(1, 9), tau=tuple(Fraction(j, 4) for j in range(1, 433, 3)))
)
_PLAIN = _STEPS.replaced(preemption=("A",), at_threshold=(False,))
_VARIANTS: Values = {"preemption": "ABC", "at_threshold": (False, True)}
_ALL: Values = {
    "N": lambda level: (1, 2, 3)[: 2 + (level > 0)],
    "M": lambda N, level: range(1, ((4, 5, 5), (3, 3, 4), (1, 2, 2))[N - 1][level]),
    "data": lambda N, M: range(3 ** (N * M)),
    "tau": lambda N, M: [Fraction(j, 2) for j in range(1, 6 * M + 2, 1 if N * M < 4 else 3)],
    "overhead": (Fraction(0), _HALF),
}


def _elapsed(x: Array) -> list[list[Any]]:
    """Every worker's elapsed times, exactly: whole numbers where latencies are."""
    number: Any = int if (x == np.rint(x)).all() else Fraction
    return [list(itertools.accumulate(map(number, row))) for row in x.tolist()]


def _of_step(x: Array, N: int, tau: Fraction) -> Values:
    """What bounds are made of: elapsed times in rationals; and how many workers are spare."""
    sums = _elapsed(x)
    return {
        "slowest": Fraction(max(row[-1] for row in sums)),
        "longest": exactly(x.max()),
        "below": sum(s < tau for row in sums for s in row),
        "begun": sum(s <= tau for row in sums for s in [0, *row[:-1]]),
        "synchronised": sum(map(exactly, x.max(axis=0).tolist())),
        "spare": int(2 * tau) % N,
    }


def _run(
    implementation: Any, x: Array, tau: Fraction, overhead: Fraction, preemption: str, at_threshold: bool
) -> Callable[..., Any]:
    """The step, as a function of what is changed; each is carried out once."""
    given = {"preemption": preemption, "at_threshold": at_threshold}
    return cache(lambda tau=tau, **more: implementation(x, float(tau), float(overhead), **given, **more))


def _family(
    subject: str, space: Space, facts: Callable[..., Values] = _of_step, run: Any = None, arrays: int = 1
) -> Family:
    return Family("dropcompute", subject, space, facts, run, exact=False, arrays=arrays)


def _every(family: Family, **variants: Any) -> Values:
    """The grid of a family."""
    enumerated = (
        "latencies 1, 2, 3 of every worker and micro-batch, thresholds in steps of one half, overhead 0 and 1/2"
    )
    said = f"{enumerated}, tested all the time, after each micro-batch, or twice in each" if variants else enumerated
    return {"grid": family.every(**_ALL, **variants), "enumerated": said}


_STEP, _BACKUP = _family("drop_step", _STEPS, run=_run, arrays=5), _family("backup_step", _STEPS, arrays=4)
_WHOLE, _PERIOD = _family("drop_step", _PLAIN), _family("local_sgd_period", _PLAIN)
_EVERY, _EVERY_PLAIN = _every(_STEP, **_VARIANTS), _every(_WHOLE)


def _time(found: Any) -> Fraction:
    return exactly(found().time)


def _completed(found: Any) -> int:
    return int(found().completed.sum())


def _between(choose: Callable[..., int], found: Any) -> int:
    """Least, or most, with several shares of a forward: a half and a quarter are exact, a third is not."""
    return choose(int(found(forward=share).completed.sum()) for share in (0.0, 0.25, 0.5, 1.0))


def _monotone(found: Any, tau: Fraction) -> Outcome:
    return Outcome(_completed(found), {"later": int(found(tau=tau + _HALF).completed.sum())})


def _no_threshold(implementation: Any, x: Array) -> Fraction:
    return exactly(implementation(x, float("inf")).time)


def _period(implementation: Any, x: Array, overhead: Fraction) -> Fraction:
    """A micro-batch is a local step."""
    return exactly(implementation(x.T[:, :, None], float(overhead)))


def _backup(
    implementation: Any, x: Array, N: int, M: int, spare: int, preemption: Literal["A", "B", "C"], at_threshold: bool
) -> Outcome:
    """What backup workers keep must be what they are said to keep, and a threshold keeps as much in the same time."""
    waited = implementation(x, spare)
    step = drop_step(x, waited.time, preemption=preemption, at_threshold=at_threshold)
    honest = int(waited.completed.sum()) == (N - spare) * M and step.time == waited.time
    # without spare workers there is nothing to lose
    return Outcome(int(step.completed.sum()) if honest else -1, {}, active=spare > 0)


def _over_tau(family: Family, **variant: str) -> list[Curve]:
    """Growing thresholds, for one draw of latencies."""
    given: Values = {"N": 8, "M": 7, "top": 5, "least": 1, "seed": 1, **variant}
    return [family.over("tau", [Fraction(j, 2) for j in range(1, 45)], "latencies 1 .. 5 s, N = 8, M = 7", **given)]


_CURVES = {variant: _over_tau(_STEP, preemption=variant) for variant in "ABC"}
_SOME = (1, 2, 3, 8)
_FAR = _STEP.every(N=_SOME, M=[3], top=[4], seed=[7], tau=[Fraction(1000)], **_VARIANTS)
_TWOS: Values = {"N": _SOME, "M": [3], "data": ["all 2"], "tau": [Fraction(2)], "overhead": [Fraction(0)]}
_ONE_SLOW: Values = {"N": _SOME, "M": [4], "data": ["slow worker 0"], "tau": [Fraction(3)]}

# --- thresholds --------------------------------------------------------------------------------------------------


def _calibration(x: Array, N: int, M: int, overhead: Fraction) -> Values:
    """The rows of a case are calibration steps of one worker, or of two where their number is even.

    There is an overhead, always: without one the search warns, and a step without latency would divide by zero.
    """
    return {"steps": x.reshape(-1, 2 - N % 2, M), "paid": overhead + _HALF}


def _search(implementation: Any, steps: Array, paid: Fraction) -> Any:
    return implementation(steps, float(paid))


def _objective(steps: Array, tau: Fraction, overhead: Fraction, strict: bool = False) -> Fraction:
    total = Fraction(0)
    for step in steps:
        sums = _elapsed(step)
        slowest = max(row[-1] for row in sums)
        done = sum(s < tau if strict else s <= tau for row in sums for s in row)
        total += Fraction(done, step.size) * (slowest + overhead) / (min(tau, slowest) + overhead)
    return total / len(steps)


def _chosen(found: Any, steps: Array, paid: Fraction) -> Fraction:
    return _objective(steps, exactly(found.tau), paid)


def _optimal(found: Any, steps: Array, paid: Fraction, tau: Fraction) -> Outcome:
    """At any threshold; at zero, which is none, at the one that was chosen."""
    best = _chosen(found, steps, paid)
    return Outcome(_objective(steps, tau, paid) if tau else best, {"best": best})


def _agreement(implementation: Any, x: Array, N: int, paid: Fraction) -> Outcome:
    """Every worker gathers the same latencies, those of two steps, and lists itself first, then the others in turn."""
    steps = np.stack([x, x[:, ::-1]])
    chosen = [exactly(implementation(np.roll(steps, -n, axis=1), float(paid)).tau) for n in range(N)]
    return Outcome(max(abs(tau - chosen[0]) for tau in chosen), {}, active=N > 1)


def _optimistic(found: Any, steps: Array, paid: Fraction) -> Outcome:
    """The search adds len(steps) quotients of sums of at most M latencies in floats."""
    model = float(_objective(steps, exactly(found.tau), paid, strict=True))
    return Outcome(found.gain, {"model": model}, 8 * (steps.size + 8) * float(np.finfo(float).eps) * model)


_COUNTED = _STEPS.replaced(preemption=("A",), at_threshold=(True,))
"""The search for a threshold takes what ends at it to count."""
_BEST = _family("best_threshold", _COUNTED, _calibration, _search)
_AGREED = _family("best_threshold", _COUNTED.replaced(data=("drawn", "lognormal", "all 2", "all 0")), _calibration)
_RELEASED = _family("released_threshold", _COUNTED.replaced(M=(12, 7, 8, 3)), _calibration, _search, arrays=4)
_EVERY_BEST = _every(_BEST)

STEP_STUDIES = (
    *_STEP.studies(_time, "step.time", curves=_CURVES["A"], **_EVERY),
    *_STEP.studies(_completed, "step.completed", curves=_CURVES["A"], **_EVERY),
    *_STEP.studies(_completed, "step.after_backward", curves=_CURVES["B"], **_EVERY),
    *_STEP.studies(_time, "step.overshoot", extremal=_STEP.every(**_TWOS, **_VARIANTS), curves=_CURVES["B"], **_EVERY),
    *_STEP.studies(partial(_between, min), "step.between_at_least", extremal=_FAR, curves=_CURVES["C"], **_EVERY),
    *_STEP.studies(partial(_between, max), "step.between_at_most", extremal=_FAR, curves=_CURVES["C"], **_EVERY),
    *_STEP.studies(_monotone, "step.monotone", extremal=_FAR, curves=_CURVES["A"], **_EVERY),
    *_WHOLE.studies(_no_threshold, "step.subadditive", extremal=_WHOLE.every(**_ONE_SLOW), **_EVERY_PLAIN),
    *_PERIOD.studies(_period, "localsgd.subadditive", extremal=_PERIOD.every(**_ONE_SLOW), **_EVERY_PLAIN),
    *_BACKUP.studies(
        _backup,
        "backup.dominated",
        extremal=_BACKUP.every(
            N=_SOME, M=[2], seed=[3], tau=[Of("N/2, so that none is spare", lambda N: Fraction(N, 2))], **_VARIANTS
        ),
        **_EVERY,
    ),
    *_BACKUP.studies(
        _backup, "backup.dominated_strictly", extremal=_BACKUP.every(N=[1], M=[1], data=[0], tau=[1]), **_EVERY
    ),
    *_BEST.studies(
        _optimal,
        "threshold.optimal",
        extremal=_BEST.every(N=_SOME, M=[3], least=[1], seed=[11], tau=[Fraction(0)]),
        curves=_over_tau(_BEST),
        **_EVERY_BEST,
    ),
    *_BEST.studies(_chosen, "threshold.never_loses", extremal=_BEST.every(**_TWOS), **_EVERY_BEST),
    *_AGREED.studies(_agreement, "threshold.agreement", **_EVERY_BEST),
    *_RELEASED.studies(_optimistic, "released.optimistic"),
)
