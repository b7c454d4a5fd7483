"""Draws of a compressor for sequential tests: on random inputs of every set-up."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.experiment import bound_at
from commbounds.verify.kernel_law import kernel_law
from commbounds.verify.marginals import Marginals
from commbounds.verify.study import Stream

Draws = Floats


def streams(study: Any, implementation: Any) -> Sequence[Stream]:
    """One stream for every set-up and input on which draws differ.

    Parameters
    ----------
    study : CompressorStudy
        Whose `streams` these are: here no type, as its module imports this one.
    implementation : class
        Under test.

    Raises
    ------
    ValueError
        No input is admissible, or on none do draws differ.
    """
    made = [_STREAMS[study.tested](study, c, x) for c, x in _inputs(study, implementation)]
    moving = [stream for stream in made if stream is not None]
    if not moving:
        raise ValueError(f"no admissible input to sample for {study.claim}")
    return moving


def _inputs(study: Any, implementation: Any) -> list[tuple[Any, Array]]:
    """One random input for every set-up; long for elementwise tests, short where a draw is one observation."""
    if study.domain.kind == "matrix":
        shapes: tuple[tuple[int, ...], ...] = study.domain.shapes if study.tested == "equal" else ((8, 5), (20, 30))
    else:
        shapes = ((256,),) if study.tested == "entries" else ((6,), (50,))
    rng = np.random.default_rng(0)
    pairs = []
    for shape in shapes:
        for c in study.set_ups.at(implementation, shape):
            x = study.domain.random(rng, shape).astype(np.float32)
            if study.admits(CompressorRun(c, x)):
                pairs.append((c, x))
    return pairs


def _label(c: Any, x: Array) -> str:
    return f"{c} at {' x '.join(map(str, x.shape))}"


def _draws(study: Any, c: Any, x: Array, rng: np.random.Generator, count: int) -> Draws:
    drawn: Draws = study.measure.draws(CompressorRun(c, x, int(rng.integers(2**63))), count)
    return drawn


def _at_most(study: Any, c: Any, x: Array) -> Stream | None:
    """Draws over the bound have mean at most one."""
    bound = float(bound_at(study.statement, study.values(CompressorRun(c, x))))
    # rounding to the dtype may lift a draw by its relative precision; the test must not see that
    limit = bound * (1.0 + 16.0 * float(np.finfo(x.dtype).eps))
    if bound <= 0.0:
        return None
    return Stream(
        _label(c, x), lambda rng, count: _draws(study, c, x, rng, count) / limit - 1.0, -1.0, np.inf, two_sided=False
    )


def _equal(study: Any, c: Any, x: Array) -> Stream | None:
    """Draws have the stated mean, within their sure range."""
    values = study.values(CompressorRun(c, x))
    mean, (low, high) = float(bound_at(study.statement, values)), study.spread(c, x)
    width = high - low
    if width <= 1e-6 * abs(mean):  # every draw is the same: nothing random to test
        return None

    def outside(_rng: np.random.Generator, _count: int) -> Draws:
        raise ValueError(f"the stated mean {mean:g} is none of draws in [{low:g}, {high:g}]")

    if not low < mean < high:
        return Stream(_label(c, x), outside, -1.0, 1.0)
    return Stream(
        _label(c, x),
        lambda rng, count: (_draws(study, c, x, rng, count) - mean) / width,
        1.001 * (low - mean) / width,
        1.001 * (high - mean) / width,
        unit=mean / width,
        values=values,
    )


def _entries(_study: Any, c: Any, x: Array) -> Stream | None:
    """Every entry has the input's as its mean: an observation is an entry that moves, in steps between its levels."""
    law = kernel_law(c, x)
    assert isinstance(law, Marginals)
    wide = x.astype(np.float64)
    step = np.abs(law.upper - law.lower)
    moving = step > 16.0 * float(np.finfo(x.dtype).eps) * np.abs(wide)
    if not moving.any():
        return None
    # a sign per entry makes a bias in magnitude a shift of the mean
    sign, center, width = np.sign(wide[moving]), wide[moving], step[moving]

    def draw(rng: np.random.Generator, count: int) -> Draws:
        outputs = [c(x, rng) for _ in range(max(1, count // len(center)))]
        deviations: Draws = sign * (np.array(outputs, np.float64)[:, moving] - center) / width
        return deviations.ravel()

    return Stream(_label(c, x), draw, -1.001, 1.001, unit=float(np.mean(np.abs(center) / width)), cost=1)


def _projection(_study: Any, c: Any, x: Array) -> Stream | None:
    """The projection on the input's signs has the input's as its mean."""
    sizes = np.sort(np.abs(x.astype(np.float64)))
    total, k = float(sizes.sum()), min(c.k, x.size)
    gain = x.size / k
    low, high = gain * float(sizes[:k].sum()) / total - 1.0, gain * float(sizes[-k:].sum()) / total - 1.0
    if high - low < 1e-6:
        return None
    allowance = 1e-6 * (high - low) + 1e-6
    sign = np.sign(x.astype(np.float64))

    def draw(rng: np.random.Generator, count: int) -> Draws:
        return np.array([c(x, rng) for _ in range(count)], np.float64) @ sign / total - 1.0

    return Stream(_label(c, x), draw, low - allowance, high + allowance)


_STREAMS = {"bound": _at_most, "equal": _equal, "entries": _entries, "projection": _projection}
