"""DropCompute: claims about single steps and about thresholds chosen on calibration steps, bound to their code."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.study import Case, Curve, Outcome, Study, shared

Trial = Callable[[Any, Case], Outcome]
_SIZES = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3))
_ENUMERATED = "latencies 1, 2, 3 of every worker and micro-batch, thresholds in steps of one half, overhead 0 and 1/2"


def exactly(value: Any) -> Fraction:
    """A float as the rational that it is; latencies here are small integers, whose sums and halves floats hold."""
    return Fraction(float(value))


_VARIANTS: tuple[dict[str, Any], ...] = (
    {"preemption": "A", "at_threshold": False},
    {"preemption": "A", "at_threshold": True},
    {"preemption": "B"},
    {"preemption": "C"},
)
"""When elapsed time is tested, and whether what ends exactly at the threshold counts."""


def _case(t: Any, tau: Any, overhead: Any = 0, **more: Any) -> Case:
    array = np.asarray(t, dtype=np.float64)
    return Case({"tau": tau, "overhead": overhead, **more}, array)


def _grid(level: int) -> Iterator[Case]:
    for N, M in _SIZES if level == 0 else (*_SIZES, (3, 1), (2, 3) if level > 1 else (1, 4)):
        for flat in itertools.product((1, 2, 3), repeat=N * M):
            t = np.reshape(flat, (N, M))
            for doubled in range(1, 6 * M + 2, 1 if N * M < 4 else 3):
                for overhead in (Fraction(0), Fraction(1, 2)):
                    yield _case(t, Fraction(doubled, 2), overhead)


def _with(case: Case, **more: Any) -> Case:
    return Case({**case.settings, **more}, case.x)


def _each_variant(source: Callable[[Any], Iterator[Case]]) -> Callable[[Any], Iterator[Case]]:
    """The cases of a source, in each variant."""
    return lambda level: (_with(case, **variant) for case in source(level) for variant in _VARIANTS)


def _drawn(
    N: int, M: int, top: int, seed: int, tau: Fraction, overhead: Fraction = Fraction(1, 2), least: int = 0
) -> Case:
    t = np.random.default_rng([seed, N, M]).integers(least, top + 1, (N, M))
    return _case(t, tau, overhead, N=N, M=M, least=least, top=top, seed=seed)


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    N, M, top = draw(inputs.integers(1, 40)), draw(inputs.integers(1, 12)), draw(inputs.integers(1, 9))
    tau = Fraction(draw(inputs.integers(1, 4 * top * M)), 4)
    seed, overhead = draw(inputs.integers(0, 2**31)), Fraction(draw(inputs.integers(0, 8)), 4)
    return _drawn(N, M, top, seed, tau, overhead, draw(inputs.integers(0, 1)))


@st.composite
def _variant_cases(draw: st.DrawFn) -> Case:
    return _with(draw(_cases()), **draw(inputs.sampled_from(_VARIANTS)))


def _corpus(_budget: Budget) -> Iterator[Case]:
    for N, M in ((1, 1), (3, 2), (16, 12), (257, 4)):
        for tau in (Fraction(1, 2), Fraction(M), Fraction(3 * M), Fraction(100 * M)):
            yield _drawn(N, M, 5, 1, tau)
            yield _case(np.full((N, M), 2.0), tau, N=N, M=M, latencies="all 2")
            yield _case(np.zeros((N, M)), tau, N=N, M=M, latencies="all 0")


def _sums(case: Case) -> list[list[Fraction]]:
    assert case.x is not None
    return [list(itertools.accumulate(exactly(v) for v in row)) for row in case.x]


def _slowest(case: Case) -> Fraction:
    return max(row[-1] for row in _sums(case))


def _count(case: Case, tau: Any) -> int:
    return sum(s < tau for row in _sums(case) for s in row)


def _common(case: Case) -> dict[str, Any]:
    tau, overhead = case.settings["tau"], case.settings["overhead"]
    return {"tau": tau, "overhead": overhead, "slowest": _slowest(case)}


def _variant(_implementation: Any, case: Case) -> dict[str, Any]:
    """When time is tested in this case, and what counts at the threshold."""
    return {"at_threshold": False, **case.settings}


def _spare(_implementation: Any, case: Case) -> dict[str, Any]:
    """The number of backup workers besides."""
    return {**_variant(None, case), "spare": int(case.settings["tau"] * 2) % len(case.array)}


def _counted_at_tau(_implementation: Any, _case: Case) -> dict[str, Any]:
    """What the search for a threshold takes to count."""
    return {"at_threshold": True}


def _run(drop_step: Any, case: Case, tau: Any = None, **options: Any) -> Any:
    s = case.settings
    variant = {name: s[name] for name in ("preemption", "at_threshold") if name in s}
    return drop_step(case.x, float(s["tau"] if tau is None else tau), float(s["overhead"]), **variant, **options)


def _time(drop_step: Any, case: Case) -> Outcome:
    return Outcome(exactly(_run(drop_step, case).time), _common(case))


def _completed(drop_step: Any, case: Case) -> Outcome:
    step = _run(drop_step, case)
    return Outcome(int(step.completed.sum()), {"below": _count(case, case.settings["tau"])})


def _after_backward(drop_step: Any, case: Case) -> Outcome:
    return Outcome(int(_run(drop_step, case).completed.sum()), {"begun": _begun(case)})


def _overshoot(drop_step: Any, case: Case) -> Outcome:
    assert case.x is not None
    step = _run(drop_step, case)
    return Outcome(exactly(step.time), {**_common(case), "longest": exactly(case.x.max())})


def _begun(case: Case) -> int:
    tau = case.settings["tau"]
    return sum(s <= tau for row in _sums(case) for s in [Fraction(0), *row[:-1]])


def _between(drop_step: Any, case: Case) -> Outcome:
    # a half and a quarter of small integers are exact, a third is not
    counts = [int(_run(drop_step, case, forward=f).completed.sum()) for f in (0.0, 0.25, 0.5, 1.0)]
    return Outcome(min(counts), {"below": _count(case, case.settings["tau"])})


def _between_most(drop_step: Any, case: Case) -> Outcome:
    counts = [int(_run(drop_step, case, forward=f).completed.sum()) for f in (0.0, 0.25, 0.5, 1.0)]
    return Outcome(max(counts), {"begun": _begun(case)})


def _monotone(drop_step: Any, case: Case) -> Outcome:
    tau = case.settings["tau"]
    now, then = (int(_run(drop_step, case, t).completed.sum()) for t in (tau, tau + Fraction(1, 2)))
    return Outcome(now, {"later": then})


def _subadditive(drop_step: Any, case: Case) -> Outcome:
    assert case.x is not None
    step = drop_step(case.x, float("inf"))
    return Outcome(exactly(step.time), {"synchronised": sum(exactly(v) for v in case.x.max(axis=0))})


def _period(local_sgd_period: Any, case: Case) -> Outcome:
    assert case.x is not None
    overhead = case.settings["overhead"]
    steps = case.x.T[:, :, None]  # a micro-batch a local step
    measured = exactly(local_sgd_period(steps, float(overhead)))
    synchronised = sum(exactly(v) for v in steps.sum(axis=2).max(axis=1))
    return Outcome(measured, {"synchronised": synchronised, "overhead": overhead})


def _backup(backup_step: Any, case: Case) -> Outcome:
    from commbounds.collectives import drop_step

    N, M = case.array.shape
    spare = _spare(None, case)["spare"]
    waited = backup_step(case.x, spare)
    step = _run(drop_step, _with(case, overhead=0), waited.time)
    # what backup workers keep must be what they are said to keep, and in the same time
    honest = int(waited.completed.sum()) == (N - spare) * M and step.time == waited.time
    # without spare workers there is nothing to lose
    return Outcome(int(step.completed.sum()) if honest else -1, {"N": N, "M": M, "spare": spare}, active=spare > 0)


def _calibration(case: Case) -> Any:
    # the rows of a case are taken for calibration steps of one worker, or of two where their number is even
    assert case.x is not None
    N, M = case.x.shape
    return case.x.reshape(-1, 2, M) if N % 2 == 0 else case.x.reshape(N, 1, M)


def _objective(steps: Any, tau: Fraction, overhead: Fraction, strict: bool = False) -> Fraction:
    total = Fraction(0)
    for step in steps:
        sums = [list(itertools.accumulate(exactly(v) for v in row)) for row in step]
        slowest = max(row[-1] for row in sums)
        spent = min(tau, slowest) + overhead
        done = sum(s < tau if strict else s <= tau for row in sums for s in row)
        total += Fraction(done, step.size) * (slowest + overhead) / spent
    return total / len(steps)


def _paid(case: Case) -> Fraction:
    # an overhead, always: without one the search warns, and a step without latency would divide by zero
    return Fraction(case.settings["overhead"]) + Fraction(1, 2)


def _optimal(best_threshold: Any, case: Case) -> Outcome:
    steps, overhead = _calibration(case), _paid(case)
    chosen = best_threshold(steps, float(overhead))
    tau = exactly(chosen.tau) if case.settings.get("chosen") else case.settings["tau"]
    return Outcome(_objective(steps, tau, overhead), {"best": _objective(steps, exactly(chosen.tau), overhead)})


def _agreement(best_threshold: Any, case: Case) -> Outcome:
    """Every worker gathers the same latencies, and lists itself first, then the others in turn."""
    steps, overhead = _shared_calibration(case), float(_paid(case))
    chosen = [exactly(best_threshold(np.roll(steps, -n, axis=1), overhead).tau) for n in range(steps.shape[1])]
    return Outcome(max(abs(tau - chosen[0]) for tau in chosen), {}, active=len(chosen) > 1)


def _shared_calibration(case: Case) -> Any:
    """The rows of a case, and the same with every worker's micro-batches reversed: two steps."""
    t = case.array
    return np.stack([t, t[:, ::-1]])


def _calibrations(budget: Budget) -> Iterator[Case]:
    yield from _corpus(budget)
    for N, M in ((2, 1), (3, 2), (5, 4), (8, 3)):  # latencies that are no small integers: sums of them round
        t = np.random.default_rng([31, N, M]).lognormal(size=(N, M))
        yield _case(t, Fraction(1), Fraction(1, 2), N=N, M=M, latencies="lognormal")


def _never_loses(best_threshold: Any, case: Case) -> Outcome:
    steps, overhead = _calibration(case), _paid(case)
    return Outcome(_objective(steps, exactly(best_threshold(steps, float(overhead)).tau), overhead), {})


def _optimistic(released_threshold: Any, case: Case) -> Outcome:
    steps, overhead = _calibration(case), _paid(case)
    found = released_threshold(steps, float(overhead))
    model = _objective(steps, exactly(found.tau), overhead, strict=True)
    # the search adds len(steps) quotients of sums of at most M latencies in floats
    slack = 8 * (steps.size + 8) * np.finfo(float).eps * float(model)
    return Outcome(found.gain, {"model": float(model)}, slack)


def _equal(budget: Budget) -> Iterator[Case]:
    for N in budget.sizes[:3]:
        yield _case(np.full((N, 3), 2.0), Fraction(2), N=N, M=3, latencies="all 2")


def _far(budget: Budget) -> Iterator[Case]:
    for N in budget.sizes[:3]:
        yield _drawn(N, 3, 4, 7, Fraction(1000))


def _one_slow(budget: Budget) -> Iterator[Case]:
    for N in budget.sizes[:3]:
        t = np.ones((N, 4))
        t[0] = (2, 3, 2, 5)
        yield _case(t, Fraction(3), N=N, M=4, slow="worker 0")


def _chosen(budget: Budget) -> Iterator[Case]:
    for N in budget.sizes[:4]:
        case = _drawn(N, 3, 5, 11, Fraction(2), least=1)
        yield Case({**case.settings, "chosen": True}, case.x)


def _no_spare(budget: Budget) -> Iterator[Case]:
    for N in budget.sizes[:3]:
        yield _drawn(N, 2, 5, 3, Fraction(N, 2))  # 2 tau = N spares, modulo N: none


def _one_micro_batch(_budget: Budget) -> Iterator[Case]:
    yield _case([[1.0]], Fraction(1), N=1, M=1)


@shared
def _at_thresholds(**variant: Any) -> Callable[[int], Iterator[tuple[float, list[Case]]]]:
    thresholds = [Fraction(j, 2) for j in range(1, 45)]
    return lambda _seed: ((float(tau), [_with(_drawn(8, 7, 5, 1, tau, least=1), **variant)]) for tau in thresholds)


def _over_tau(**variant: Any) -> list[Curve]:
    """Growing thresholds, for one draw of latencies."""
    return [Curve("tau", "latencies 1 .. 5 s, N = 8, M = 7", _at_thresholds(**variant))]


def _study(claim: str, subject: str, trial: Trial, grid: bool = True, **more: Any) -> Study:
    if claim == "threshold.optimal":
        more = {"curves": _over_tau(), **more}
    if grid:
        more = {"grid": _grid, "enumerated": _ENUMERATED, **more}
    return Study(f"dropcompute.{claim}", subject, trial, **{"corpus": _corpus, "cases": _cases, **more})


def _variant_study(claim: str, subject: str, trial: Trial, variant: str, extremal: Any = None, **more: Any) -> Study:
    """A study of a claim about some variants: all are among the cases, and its hypotheses take theirs."""
    sources = {"grid": _VARIANT_GRID, "corpus": _VARIANT_CORPUS, "cases": _variant_cases, "known": _variant}
    if extremal is not None:
        more = {"extremal": _each_variant(extremal), **more}
    if claim.startswith("step."):
        more = {"curves": _over_tau(preemption=variant), **more}
    return Study(f"dropcompute.{claim}", subject, trial, **{**sources, "enumerated": _VARIANTS_ENUMERATED, **more})


_VARIANT_GRID = _each_variant(_grid)
_VARIANT_CORPUS = _each_variant(_corpus)
_VARIANTS_ENUMERATED = f"{_ENUMERATED}, tested all the time, after each micro-batch, or twice in each"

STEP_STUDIES = (
    _variant_study("step.time", "drop_step", _time, "A"),
    _variant_study("step.completed", "drop_step", _completed, "A"),
    _variant_study("step.after_backward", "drop_step", _after_backward, "B"),
    _variant_study("step.overshoot", "drop_step", _overshoot, "B", _equal),
    _variant_study("step.between_at_least", "drop_step", _between, "C", _far),
    _variant_study("step.between_at_most", "drop_step", _between_most, "C", _far),
    _variant_study("step.monotone", "drop_step", _monotone, "A", _far),
    _study("step.subadditive", "drop_step", _subadditive, extremal=_one_slow),
    _study("localsgd.subadditive", "local_sgd_period", _period, extremal=_one_slow),
    _variant_study("backup.dominated", "backup_step", _backup, "A", _no_spare, known=_spare),
    _variant_study("backup.dominated_strictly", "backup_step", _backup, "A", _one_micro_batch, known=_spare),
    _study("threshold.optimal", "best_threshold", _optimal, extremal=_chosen, known=_counted_at_tau),
    _study("threshold.never_loses", "best_threshold", _never_loses, extremal=_equal),
    _study("threshold.agreement", "best_threshold", _agreement, corpus=_calibrations),
    _study("released.optimistic", "released_threshold", _optimistic, grid=False),
)
