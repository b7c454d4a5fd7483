"""Exact arithmetic: every randomness enumerated on every input of a grid; and kernels held against their laws."""

from __future__ import annotations

from typing import Any

import numpy as np

from commbounds.compressors import Compressor
from commbounds.verify.experiment import Budget, Experiment, Implementations, bound_at, exact_array, violates
from commbounds.verify.finding import Counterexample, Evidence, Method, Verdict
from commbounds.verify.kernel_law import Outcomes, kernel_law
from commbounds.verify.marginals import Marginals

__all__ = ["counterexample", "enumerate_law", "inject"]


def counterexample(c: Any, x: Any, measured: Any, bound: Any, exact: str = "") -> Counterexample:
    """The record of a violation, with the input cut to 64 entries a row."""
    array = np.asarray(x)
    return Counterexample(
        subject=str(c),
        x=array.astype(np.float64)[..., :64].tolist(),
        measured=float(measured),
        bound=float(bound),
        exact=exact,
        x_length=int(array.size),
    )


def enumerate_law(experiment: Experiment, budget: Budget, implementations: Implementations) -> Evidence:
    """Check the claim in exact arithmetic on every input of the domain's grid.

    Returns
    -------
    Evidence
        Proved on the grid, or refuted with the first (smallest) counterexample.
    """
    claim = experiment.statement
    cases, sizes, tightest = 0, set(), None
    for x in experiment.domain.grid(budget.level):
        array = exact_array(x)
        for c in experiment.subjects(implementations, array.shape):
            if not experiment.admits(c, array):
                continue
            values = experiment.exact_values(c, x)
            measured, bound = experiment.measure.exact(c, x), bound_at(claim, values)
            cases += 1
            sizes.add(array.shape)
            if violates(claim.relation, measured, bound):
                found = counterexample(c, array, measured, bound, f"measured {measured}, bound {bound}")
                return Evidence(
                    Method.EXACT,
                    Verdict.REFUTED,
                    cases,
                    "exact arithmetic, smallest inputs first",
                    counterexample=found,
                )
            if bound != 0:
                share = float(measured / bound)
                tightest = share if tightest is None else max(tightest, share)
    shapes = ", ".join(" x ".join(map(str, s)) for s in sorted(sizes))
    detail = f"every grid input of shape {shapes}, all randomness enumerated, rational arithmetic"
    return Evidence(Method.EXACT, Verdict.PROVED, cases, detail, tightness=tightest)


def inject(experiment: Experiment, budget: Budget, implementations: Implementations) -> Evidence | None:
    """Hold the kernel against the law on the same grid: inject randomness and bisect where outputs change.

    Returns
    -------
    Evidence or None
        Refuted where a value differs by more than rounding to the dtype or a probability by more than the resolution
        of the uniforms and the rounding of the ratio that it is compared with; None where no kernel law can be read.
    """
    cases = 0
    for x in experiment.domain.grid(budget.level):
        array = exact_array(x, np.float32)
        for c in experiment.subjects(implementations, array.shape):
            if not experiment.admits(c, array):
                continue
            kernel = kernel_law(c, array)
            if kernel is None:
                continue
            cases += 1
            gap, room = _discrepancy(c, x, kernel)
            if gap > room:
                return Evidence(
                    Method.INJECT,
                    Verdict.REFUTED,
                    cases,
                    "the kernel's distribution differs from the exact law",
                    counterexample=counterexample(c, array, gap, room),
                )
    if cases == 0:
        return None
    return Evidence(Method.INJECT, Verdict.SURVIVED, cases, "kernel's switching points bisected, against the exact law")


def _discrepancy(c: Compressor, x: Any, kernel: Marginals | Outcomes) -> tuple[float, float]:
    """Largest difference of a probability between kernel and law, with outputs matched up to rounding; and its room."""
    law = c.law(x)
    outputs = np.array([[float(v) for v in y] for _, y in law])
    p = np.array([float(q) for q, _ in law])
    top = float(np.abs(outputs).max()) or 1.0
    eps = float(np.finfo(np.float32).eps)
    near = 8.0 * eps * top
    gap = 0.0
    if isinstance(kernel, Marginals):
        for i in range(outputs.shape[1]):
            for value, q in ((kernel.upper[i], kernel.p[i]), (kernel.lower[i], 1.0 - kernel.p[i])):
                # an entry whose two levels agree up to rounding is deterministic
                if abs(kernel.upper[i] - kernel.lower[i]) <= near:
                    q = 1.0
                gap = max(gap, abs(float(p[np.abs(outputs[:, i] - value) <= near].sum()) - q) if q > 0.0 else 0.0)
        # the probability is the fractional part of levels * |x| / norm: three roundings of a number <= levels
        levels = float(getattr(c, "levels", 1))
        return gap, kernel.resolution + 4.0 * eps * max(levels, 1.0)
    same = np.abs(outputs[:, None, :] - kernel.y[None, :, :]).max(axis=2) <= near
    gap = float(np.abs(p - same @ kernel.p).max())
    return gap, 2.0**-50
