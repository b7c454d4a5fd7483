"""About how long a check will take, told by a few calls."""

import contextlib
import math
import time
from collections.abc import Callable, Collection, Hashable
from functools import partial

import numpy as np

from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.budgets import BUDGETS, FALSE_ALARM
from commbounds.verify.conformance.calls import Hopeless, Unanswered, timer_ready
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.check import chosen
from commbounds.verify.conformance.injected import NotElementwise, injected_law, readable
from commbounds.verify.conformance.inputs import corpus, generic
from commbounds.verify.conformance.subject import Stateful, Subject
from commbounds.verify.conformance.universal import UNIVERSAL

_CALLS = 2.0
"""Calls that a claim makes for a case, in the mean: one for most, two or more where outputs are compared."""
_OVERHEAD = 1e-4
"""Seconds that a case costs besides."""
_SMALL, _LARGE, _STEPS = 16, 4096, 3
"""Entries of the inputs that are timed, and steps."""
_TIMES, _SOON = 3, 0.1
"""A call is timed so often, unless it takes so many seconds. The least counts: others may use the processor."""


def expected_seconds(subject: Subject, budget: str = "quick", *, only: Collection[str] | None = None) -> float | None:
    """About how long `check` takes for a subject whose claims hold: within a factor of some three.

    Parameters
    ----------
    subject, budget, only
        As for `check`.

    Returns
    -------
    float or None
        Seconds; None where the subject does not answer. What fails takes longer: its input is made smaller.

    Notes
    -----
    A call on a short and one on a longer input are timed, and taken to cost a + b n; every claim is confronted with all
    hostile and generated cases, claims about means of random outputs with the budget's draws. Where laws can be read
    off, that is timed too, and done once a case.
    """
    bench = Bench(subject, BUDGETS[budget], 0, FALSE_ALARM)
    claims = chosen([*UNIVERSAL, *subject.claims], only)
    statistical = sum(claim.statistical for claim in claims)
    try:
        with timer_ready():
            costs = _costs(bench, bench.raw)
            sampled = costs is not None and statistical > 0 and bench.randomised
            laws = _costs(bench, partial(_read_off, bench)) if sampled and readable(bench) else None
    except Hopeless:
        return None
    if costs is None:
        return None
    fixed, each = costs

    def one(shape: tuple[int, ...]) -> float:
        steps = shape[0] if isinstance(subject, Stateful) else 1
        return _OVERHEAD + _CALLS * (fixed * steps + each * math.prod(shape))

    read = 0.0

    def count(shape: tuple[int, ...], share: float) -> float:
        nonlocal read
        if laws is not None:
            read += share * (laws[0] + laws[1] * math.prod(shape))
        return share * one(shape)

    cases = count((_STEPS,) * subject.leading + (_SMALL,), max(5.0, bench.budget.examples * subject.effort))
    firsts: set[Hashable] = {""}

    def counted(_label: str, shape: tuple[int, ...], kind: str) -> bool:
        nonlocal cases
        cases += count(shape, subject.effort if {shape, kind} <= firsts else 1.0)
        firsts.update((shape, kind))
        return False

    for _ in corpus(subject, bench.budget, counted):
        pass
    drawn = bench.draws * (fixed + each * 64) if sampled else 0.0
    return cases * (len(claims) - (statistical if sampled else 0)) + drawn * statistical + read


def _read_off(bench: Bench, case: CheckCase) -> None:
    """Read the law at a case off anew; where there is none, that takes less."""
    bench.laws.clear()
    with contextlib.suppress(NotElementwise):
        injected_law(bench, case)


def _costs(bench: Bench, call: Callable[[CheckCase], object]) -> tuple[float, float] | None:
    """Seconds of a call, or step, and of an entry more."""
    subject, rng = bench.subject, bench.rng("duration")
    found: list[tuple[int, float]] = []
    for size in (_SMALL, _LARGE):
        row = generic(subject, rng, size)
        if row is None:
            continue
        rows = max(getattr(subject, "ranks", (_STEPS,)))
        x = row if subject.leading == 0 else np.repeat(row[None], rows, 0)
        if not subject.takes(x):
            continue
        try:
            call(CheckCase(x))  # the first may have to compile or to start something
            least = math.inf
            for _ in range(_TIMES):
                begin = time.perf_counter()
                call(CheckCase(x, 1))
                least = min(least, time.perf_counter() - begin)
                if least > _SOON:
                    break
        except (Unanswered, Hopeless):
            continue
        found.append((x.size, least))
    if not found:
        return None
    (small, quick), (large, slow) = found[0], found[-1]
    each = max(0.0, (slow - quick) / (large - small)) if large > small else 0.0
    steps = _STEPS if isinstance(subject, Stateful) else 1
    return max(0.0, quick - each * small) / steps, each
