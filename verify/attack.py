"""Attack: maximise measured / bound over inputs and parameters; report the tightness reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from commbounds.verify.experiment import Budget, Experiment, Implementations, bound_at, ratio
from commbounds.verify.finding import Evidence, Method, Verdict
from commbounds.verify.search import Best, Probe, Violation, stated_tightness

__all__ = ["attack", "measure_extremal"]

Array = NDArray[Any]


def attack(
    experiment: Experiment, budget: Budget, seed: int, implementations: Implementations, start: Best
) -> tuple[Evidence | None, Best]:
    """Maximise measured / bound: from the best input of the search, then globally and locally at small shapes.

    Returns
    -------
    Evidence or None
        Refuted where the relation broke on the way; None where nothing could be measured.
    Best
        The tightest input found; `attained` is relative to the tightness that theory states.
    """
    probe = Probe(experiment, best=start)
    rng = np.random.default_rng(seed)
    targets = [(shape, c) for shape in experiment.domain.shapes for c in experiment.subjects(implementations, shape)]
    if start.x is not None and start.x.size <= 64 and start.x.any():
        _climb(probe, start.subject, start.x.astype(np.float64), budget.evaluations // 4)
    share = max(1, (budget.evaluations - budget.evaluations // 4) // max(1, len(targets)))
    for shape, c in targets:
        if probe.violation is not None:
            break
        _climb(probe, c, experiment.domain.random(rng, shape), share // 2)
        _globally(probe, c, shape, share - share // 2, rng)
    if probe.cases == 0:
        return None, probe.best
    tightness = probe.best.share if np.isfinite(probe.best.share) else None
    detail = f"largest measured / bound at {probe.best.subject}, {_shown(probe.best.x)}"
    verdict = Verdict.SURVIVED if probe.violation is None else Verdict.REFUTED
    return Evidence(Method.ATTACK, verdict, probe.cases, detail, tightness, counterexample=probe.violation), probe.best


def _shown(x: Array | None) -> str:
    if x is None:
        return "nowhere"
    if x.size <= 8:
        return "x = " + np.array2string(x, precision=6, separator=", ").replace("\n", "")
    return f"an input of shape {' x '.join(map(str, x.shape))}"


def _objective(probe: Probe, c: Any, x: Array) -> float:
    """Minus measured / bound; zero where it cannot be measured or the relation broke (which the probe remembers)."""
    if not np.isfinite(x).all() or not x.any():
        return 0.0
    try:
        share = probe(c, x)
    except Violation:
        return 0.0
    return 0.0 if share is None or not np.isfinite(share) else -share


def _climb(probe: Probe, c: Any, x: Array, evaluations: int) -> None:
    """Nelder-Mead from `x`: objectives here have kinks."""
    if evaluations < 2:
        return
    from scipy import optimize

    optimize.minimize(
        lambda flat: _objective(probe, c, flat.reshape(x.shape)),
        x.ravel() / (np.abs(x).max() or 1.0),
        method="Nelder-Mead",
        options={"maxfev": evaluations, "xatol": 1e-10, "fatol": 1e-10},
    )


def _globally(probe: Probe, c: Any, shape: tuple[int, ...], evaluations: int, rng: np.random.Generator) -> None:
    """Differential evolution on the unit cube; ratios do not depend on scale for most compressors."""
    size = int(np.prod(shape))
    population = 5 * size
    if evaluations < 2 * population:
        return
    from scipy import optimize

    optimize.differential_evolution(
        lambda flat: _objective(probe, c, flat.reshape(shape)),
        [(-1.0, 1.0)] * size,
        popsize=5,
        maxiter=max(1, evaluations // population - 1),
        polish=False,
        rng=rng,
    )


def measure_extremal(
    experiment: Experiment, budget: Budget, implementations: Implementations
) -> tuple[Evidence | None, float]:
    """Measure the inputs that theory calls extremal.

    Returns
    -------
    Evidence or None
        None where the experiment names no extremal input.
    float
        The smallest share of the stated tightness that any of them attains; infinite for none.
    """
    claim, least, most, cases, worst = experiment.statement, np.inf, -np.inf, 0, None
    if experiment.extremal is None or claim.tightness is None:
        return None, np.inf
    for n in (*budget.sizes, 64):
        for c in experiment.setups(experiment.implementation(implementations), n):
            x = experiment.extremal(c, n)
            if x is None or not experiment.admits(c, x):
                continue
            reading = experiment.measure.read(c, x)
            if reading is None:
                continue
            values = experiment.float_values(c, x)
            share = ratio(reading.value, float(bound_at(claim, values)))
            if share is None:
                continue
            attained = share / stated_tightness(claim, values)
            cases, most = cases + 1, max(most, share)
            if attained < least:
                least, worst = attained, c
    if cases == 0:
        return None, np.inf
    if claim.tightness == sp.oo:  # nothing to attain: the ratio grows without bound
        detail = f"{claim.extremal}: measured / bound up to {most:.6g}"
        return Evidence(Method.EXTREMAL, Verdict.REFUTED, cases, detail, tightness=most), np.inf
    verdict = Verdict.SURVIVED if least >= 0.999 else Verdict.REFUTED
    detail = f"{claim.extremal}: attains at least {least:.6g} of the stated tightness (least at {worst})"
    return Evidence(Method.EXTREMAL, verdict, cases, detail, tightness=most), least
