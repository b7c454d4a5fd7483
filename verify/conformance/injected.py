"""The law of a subject that takes its uniforms from outside: read off, not sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NotHere
from commbounds.verify.marginals import StepLaws, step_laws

_PROBES = 6


class NotElementwise(NotHere):
    """An entry of the output is no monotone step function of its own uniform alone."""


def _grid(bench: Bench) -> tuple[int, type]:
    """How many uniforms there are, and their dtype: that of the input, float32 for those that are narrower."""
    return (1 << 53, np.float64) if bench.subject.dtype == "float64" else (1 << 24, np.float32)


def uniforms_for(bench: Bench, case: CheckCase) -> NDArray[np.floating]:
    """Uniforms that belong to the case's seed, one an entry; every eighth, on average, is the first or the last one."""
    cells, dtype = _grid(bench)
    rng = np.random.default_rng(case.seed)
    places = rng.integers(cells, size=case.x.shape)
    edge = rng.random(case.x.shape)
    places = np.where(edge < 1 / 16, 0, np.where(edge < 1 / 8, cells - 1, places))
    return (places / cells).astype(dtype)


def injected_law(bench: Bench, case: CheckCase, probes: int = _PROBES) -> StepLaws:
    """The laws of the entries of the output at the case's input, flat, each on the grid of the uniforms.

    Parameters
    ----------
    bench : Bench
        Its subject takes uniforms.
    case : CheckCase
        The input; the seed is handed on.
    probes : int
        Other uniforms at which the laws are compared with the output.

    Raises
    ------
    NotElementwise
        There are more than six values of an entry; or the output for other uniforms, some of them at the ends of the
        range and on either side of a switch, is not what these laws say.
    Unanswered
        The subject did not answer.
    """
    cells, dtype = _grid(bench)
    shape = case.x.shape

    def output(places: NDArray[np.int64]) -> NDArray[np.float64]:
        uniforms: NDArray[Any] = (places.reshape(shape) / cells).astype(dtype)
        answer: NDArray[np.float64] = bench.output(case, uniforms=uniforms).astype(np.float64).ravel()
        return answer

    laws = step_laws(output, case.x.ravel(), cells)
    if laws is None:
        raise NotElementwise("an entry takes more than six values")
    rng = np.random.default_rng(case.seed)
    for probe in range(probes):
        places = rng.integers(cells, size=case.x.size)
        if probe % 2:
            switch = laws.ends[0] - rng.integers(2, size=case.x.size)
            ends = np.where(rng.random(case.x.size) < 0.5, 0, cells - 1)
            places = np.clip(np.where(rng.random(case.x.size) < 0.5, switch, ends), 0, cells - 1)
        said, came = laws.at(places), output(places)
        if not ((said == came) | (np.isnan(said) & np.isnan(came))).all():
            raise NotElementwise("an entry of the output is no step function of its own uniform")
    return laws
