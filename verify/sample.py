"""Sequential tests on draws through the implementation's own randomness, for inputs too big to enumerate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.experiment import Budget, Experiment, Implementations, bound_at
from commbounds.verify.finding import Evidence, Method, Verdict
from commbounds.verify.kernel_law import kernel_law
from commbounds.verify.marginals import Marginals
from commbounds.verify.sequential import SequentialTest, detectable_violation

__all__ = ["sample"]

Array = NDArray[Any]
_DRAWS_PER_OBSERVATION = 4
"""A draw costs more than an entry of a long vector; a budget is spent on a quarter as many."""


def sample(
    experiment: Experiment, budget: Budget, seed: int, alpha: float, implementations: Implementations
) -> Evidence:
    """Test the claim by betting, on random inputs of every set-up.

    Parameters
    ----------
    experiment : Experiment
        With `sampled` not empty.
    budget : Budget
        `observations` is the number of entries or a quarter of it the number of draws, over all set-ups.
    seed : int
        Seeds inputs and compressions.
    alpha : float
        False-alarm rate of the whole test; every set-up gets an equal part.

    Returns
    -------
    Evidence
        Consistent or refuted, with the e-value, `alpha` and the detectable relative violation.
    """
    rng = np.random.default_rng(seed)
    inputs = _inputs(experiment, budget, rng, implementations)
    part = alpha / len(inputs)
    share = budget.observations // len(inputs)
    log_e, detects, count, refuted, outside = -np.inf, 0.0, 0, False, ""
    for c, x in inputs:
        try:
            test, relative = _TESTS[experiment.sampled](experiment, c, x, rng, share)
        except _OutOfRange as error:
            refuted, outside = True, f"; {c}: {error}"
            continue
        count += test.count
        log_e = max(log_e, test.log_e)
        refuted |= test.refutes(part)
        limit = min(-1.0 / test.low, 1.0 / test.high) if test.two_sided else -1.0 / test.low
        detects = max(detects, relative * detectable_violation(test.deviation, test.count, part, limit))
    e_value = float(np.exp(min(log_e - np.log(len(inputs)), 690.0)))
    detail = f"{_WORDS[experiment.sampled]}, {len(inputs)} set-ups, sequential test by betting{outside}"
    verdict = Verdict.REFUTED if refuted else Verdict.CONSISTENT
    return Evidence(Method.SAMPLE, verdict, count, detail, e_value=e_value, alpha=alpha, detects=detects)


class _OutOfRange(ValueError):
    """A draw, or the stated mean, lies outside the range that is sure for draws."""


_WORDS = {
    "bound": "draws over the bound have mean at most one",
    "entries": "entries have the input's as their mean",
    "projection": "the projection on the input's signs has the input's as its mean",
    "equal": "draws have the stated mean, two-sided",
}


def _inputs(
    experiment: Experiment, budget: Budget, rng: np.random.Generator, implementations: Implementations
) -> list[tuple[Any, Array]]:
    """One random input for every set-up; long for elementwise tests, short where a draw is one observation."""
    pairs = []
    if experiment.domain.kind == "matrix":
        shapes: tuple[tuple[int, ...], ...] = (
            experiment.domain.shapes if experiment.sampled == "equal" else ((8, 5), (20, 30))
        )
    else:
        shapes = ((256,),) if experiment.sampled == "entries" else ((6,), (50,))
    for shape in shapes:
        for c in experiment.subjects(implementations, shape):
            x = experiment.domain.random(rng, shape).astype(np.float32)
            if experiment.admits(c, x):
                pairs.append((c, x))
    if not pairs:
        raise ValueError(f"no admissible input to sample for {experiment.claim}")
    return pairs


def _feed(test: SequentialTest, deviations: NDArray[np.float64]) -> None:
    try:
        test.feed(deviations)
    except ValueError as error:
        raise _OutOfRange(str(error)) from error


def _draws(experiment: Experiment, c: Any, x: Array, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    return np.array([experiment.measure.draw(c, x, rng) for _ in range(max(1, count // _DRAWS_PER_OBSERVATION))])


def _bound(experiment: Experiment, c: Any, x: Array) -> float:
    return float(bound_at(experiment.statement, experiment.float_values(c, x)))


def _at_most(
    experiment: Experiment, c: Any, x: Array, rng: np.random.Generator, count: int
) -> tuple[SequentialTest, float]:
    test = SequentialTest(-1.0, np.inf)
    bound = _bound(experiment, c, x)
    # rounding to the dtype may lift a draw by its relative precision; the test must not see that
    room = 1.0 + 16.0 * float(np.finfo(x.dtype).eps)
    if bound > 0.0:
        _feed(test, _draws(experiment, c, x, rng, count) / (bound * room) - 1.0)
    return test, 1.0


def _equal(
    experiment: Experiment, c: Any, x: Array, rng: np.random.Generator, count: int
) -> tuple[SequentialTest, float]:
    assert experiment.spread is not None
    mean, (low, high) = _bound(experiment, c, x), experiment.spread(c, x)
    width = high - low
    if width <= 1e-6 * abs(mean):  # every draw is the same: nothing random to test
        return SequentialTest(-1.0, 1.0, two_sided=True), 0.0
    if not low < mean < high:
        raise _OutOfRange(f"the stated mean {mean:g} is none of draws in [{low:g}, {high:g}]")
    test = SequentialTest(1.001 * (low - mean) / width, 1.001 * (high - mean) / width, two_sided=True)
    _feed(test, (_draws(experiment, c, x, rng, count) - mean) / width)
    return test, width / mean


def _entries(
    _experiment: Experiment, c: Any, x: Array, rng: np.random.Generator, count: int
) -> tuple[SequentialTest, float]:
    test = SequentialTest(-1.001, 1.001, two_sided=True)
    law = kernel_law(c, x)
    assert isinstance(law, Marginals)
    wide = x.astype(np.float64)
    step = np.abs(law.upper - law.lower)
    moving = step > 16.0 * float(np.finfo(x.dtype).eps) * np.abs(wide)
    if not moving.any():
        return test, 0.0
    # a sign per entry makes a bias in magnitude a shift of the mean
    sign = np.sign(wide[moving])
    for _ in range(max(1, count // int(moving.sum()))):
        y = c(x, rng).astype(np.float64)
        _feed(test, sign * (y[moving] - wide[moving]) / step[moving])
    return test, 1.0 / float(np.mean(np.abs(wide[moving]) / step[moving]))


def _projection(
    _experiment: Experiment, c: Any, x: Array, rng: np.random.Generator, count: int
) -> tuple[SequentialTest, float]:
    sizes = np.sort(np.abs(x.astype(np.float64)))
    total, k = float(sizes.sum()), min(c.k, x.size)
    gain = x.size / k
    low, high = gain * float(sizes[:k].sum()) / total - 1.0, gain * float(sizes[-k:].sum()) / total - 1.0
    if high - low < 1e-6:
        return SequentialTest(-1.0, 1.0, two_sided=True), 0.0
    room = 1e-6 * (high - low) + 1e-6
    test = SequentialTest(low - room, high + room, two_sided=True)
    sign = np.sign(x.astype(np.float64))
    draws = max(1, count // _DRAWS_PER_OBSERVATION)
    _feed(test, np.array([float(sign @ c(x, rng)) / total - 1.0 for _ in range(draws)]))
    return test, 1.0


_TESTS = {"bound": _at_most, "equal": _equal, "entries": _entries, "projection": _projection}
