"""Packet loss: what the reduce-scatter estimates, with every pattern of losses enumerated; and words.

All gradients are multiples of 2520 and all divisors that occur divide them exactly, so that the kernel's floating-point
results are the rational numbers themselves.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.collectives import layout
from commbounds.verify.experiments.packetloss.curves import LOSSES
from commbounds.verify.experiments.packetloss.words import (
    bias_target,
    fill_target,
    means,
    received,
    received_streams,
    sent,
)
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import Space, nothing
from commbounds.verify.study import Curve, Outcome

Readings = tuple[Array, Array, list[Fraction]]
"""Estimates and arrivals by set of workers that get through, and the sets' probabilities."""
Values = dict[str, Any]
UNIT = 2520
"""Divisible by every K and every (1-p) N of the grids, quarters included."""
EXACT_LOSSES = tuple(Fraction(i, 8) for i in range(9))
QUARTERS = tuple(Fraction(i, 4) for i in range(4))
"""Loss probabilities whose divisors (1-p) N are exact."""


def patterns(workers: int) -> np.ndarray[Any, Any]:
    """(N, N + 4) gradients in units of `UNIT`: the unit vectors, a ramp, signs, one outlier, and equal ones."""
    ramp = np.arange(workers)
    columns = [*np.eye(workers, dtype=int), ramp, (-1) ** ramp, 7 * (ramp == workers - 1) - 2, np.full(workers, 3)]
    return np.array(columns).T


@lru_cache(maxsize=64)
def _table(reduce: Any, estimator: str, workers: int, p: Fraction | None) -> tuple[Any, ...]:
    """Estimates (2^N, N owners, patterns), arrivals (2^N, N) and the sets of workers that get through (2^N, N).

    All owners meet the same set at once. N does not divide the number of coordinates: the first N/2 shards are longer.
    """
    shown = patterns(workers)
    width = shown.shape[1]
    owner = layout(workers * width + workers // 2, workers).owner
    starts = np.searchsorted(owner, np.arange(workers))
    stack = float(UNIT) * shown[:, (np.arange(owner.size) - starts[owner]) % width]
    results, counts = [], []
    for there in itertools.product((False, True), repeat=workers):
        arrived = np.repeat(np.array(there)[:, None, None], workers, axis=1)
        reduced, _ = reduce(stack, arrived, estimator, p=None if p is None else float(p))
        results.append(reduced.estimate[starts[:, None] + np.arange(width)])
        counts.append(reduced.arrivals[starts])
    sets = np.array(list(itertools.product((False, True), repeat=workers)))
    return np.array(results), np.array(counts), sets


def _weights(sets: Any, p: Fraction) -> list[Fraction]:
    """Probability of every set of workers that gets through."""
    return [p ** int((~row).sum()) * (1 - p) ** int(row.sum()) for row in sets]


def _mean(values: Any, weights: list[Fraction], power: int = 1) -> Fraction:
    """Weighted sum of powers, exactly: floats are taken for the rational numbers that they are, in units."""
    exact = ((Fraction(float(v)) / UNIT) ** power for v in values)
    return sum((v * w for v, w in zip(exact, weights, strict=True)), Fraction(0))


def _root(value: Fraction) -> Any:
    """The exact square root, as a sympy number."""
    return sp.sqrt(sp.Rational(value.numerator, value.denominator))


def _of_gradients(N: int, pattern: int) -> Values:
    g = [Fraction(int(v)) for v in patterns(N)[:, pattern]]
    average = sum(g, Fraction(0)) / N
    spread = sum(((v - average) ** 2 for v in g), Fraction(0)) / max(1, N - 1)
    squares = sum((v**2 for v in g), Fraction(0))
    return {"gradients": g, "average": average, "S": _root(spread), "squares": squares, "sigma": _SIGMA}


def _readings(estimator: str, implementation: Any, N: int, p: Fraction, owner: int, pattern: int) -> Readings:
    estimates, arrivals, sets = _table(implementation, estimator, N, p if estimator == "expected" else None)
    return estimates[:, owner, pattern], arrivals[:, owner], _weights(sets, p)


_SIGMA = Fraction(3, 2)
_SPACE = Space(nothing, {"N": (4,), "p": (Fraction(1, 2),), "pattern": (0,), "owner": (0,)})


def _family(estimator: str, **axes: Any) -> Family:
    run = partial(_readings, estimator)
    space = _SPACE.replaced(**axes)
    return Family("packetloss", "lossy_reduce_scatter", space, _of_gradients, run, searched=False)


# --- the mean of what arrives ------------------------------------------------------------------------------------


def _given_arrivals(
    moment: int, implementation: Any, N: int, pattern: int, owner: int, arrived: int, average: Fraction
) -> Outcome:
    """The moment of ghat given K = k, about the mean for the second; sets of one size are equally likely."""
    estimates, _, sets = _table(implementation, "arrivals", N, None)
    chosen = estimates[sets.sum(axis=1) == arrived, owner, pattern]
    share = [Fraction(1, len(chosen))] * len(chosen)
    first = _mean(chosen, share)
    if moment == 1:  # of equal gradients, or of all, there is one estimate
        return Outcome(first - average, {}, active=len(set(patterns(N)[:, pattern])) > 1 and arrived < N)
    return Outcome(_mean(chosen, share, 2) - first**2, {})


def _variance(found: Readings) -> Fraction:
    values, _, weights = found
    return _mean(values, weights, 2) - _mean(values, weights) ** 2


def _variance_of_some(found: Readings, N: int, p: Fraction) -> Fraction:
    """Given that something arrives."""
    values, arrivals, weights = found
    return _variance((values, arrivals, [w * (k > 0) / (1 - p**N) for w, k in zip(weights, arrivals, strict=True)]))


def _mean_inverse(implementation: Any, N: int, p: Fraction, owner: int) -> Fraction:
    """N E ghat^2 where worker 0 has 1 and the others 0."""
    values, _, weights = _readings("arrivals", implementation, N, p, owner, 0)
    return N * _mean(values, weights, 2)


def _recurrence(implementation: Any, N: int, p: Fraction, owner: int) -> Outcome:
    """Beside what it is with one worker fewer."""
    before = _mean_inverse(implementation, N - 1, p, 0) if N > 1 else Fraction(0)
    return Outcome(_mean_inverse(implementation, N, p, owner), {"onefewer": before})


def _nothing_arrives(found: Readings) -> Fraction:
    _, arrivals, weights = found
    return sum((w for w, k in zip(weights, arrivals, strict=True) if k == 0), Fraction(0))


def _zero_fill(found: Readings, average: Fraction) -> Fraction:
    """Mean of the estimate that is zero where nothing arrives, relative to the mean of the gradients."""
    return _mean(found[0], found[2]) / average


# --- other estimates ---------------------------------------------------------------------------------------------


def _weight_sum(implementation: Any, N: int, owner: int, subset: int) -> Fraction:
    """Sum of the weights that the owner's estimate gives to the gradients."""
    estimates, _, _ = _table(implementation, "owner", N, None)
    return Fraction(float(estimates[subset, owner, -1])) / (3 * UNIT)


def _pull(found: Readings, gradients: list[Fraction], owner: int, average: Fraction) -> Fraction:
    """How far the owner's estimate is pulled from the mean towards its own gradient, in expectation."""
    return (_mean(found[0], found[2]) - average) / (gradients[owner] - average)


def _iid_variance(implementation: Any, N: int, p: Fraction, owner: int) -> Fraction:
    """sigma^2 times the expected sum of the squared weights, which the unit vectors show."""
    estimates, _, sets = _table(implementation, "owner", N, None)
    weights = _weights(sets, p)
    return _SIGMA**2 * sum((_mean(estimates[:, owner, i], weights, 2) for i in range(N)), Fraction(0))


def _bias(found: Readings, gradients: list[Fraction], p: Fraction, average: Fraction) -> Outcome:
    """Without losses, or of zeros, there is one estimate, the mean itself."""
    return Outcome(_mean(found[0], found[2]) - average, {}, active=p > 0 and any(gradients))


# --- studies -----------------------------------------------------------------------------------------------------

_UP_TO = (4, 6, 7)
"""Numbers of workers below it have all gradients, by level; 5 and 8 a unit vector, the ramp and the outlier."""


def _shown(N: int, level: int) -> Any:
    return (0, N, N + 2) if _UP_TO[level] <= N else range(N + 4)


def _study(
    family: Family,
    measure: Callable[..., Any],
    *names: str,
    losses: tuple[Fraction, ...] = EXACT_LOSSES,
    varied: bool = True,
    curves: Any = (),
    extremal: Any = None,
    streams: Any = None,
    **axes: Any,
) -> tuple[FamilyStudy, ...]:
    """On every N, p, pattern and owner, of a unit vector's one and another; further axes by name."""
    grid = family.every(
        N=lambda level: sorted({*range(1, _UP_TO[level]), 5, 8}),
        p=lambda N, level: losses[:: 4 if _UP_TO[level] <= N else 1],
        pattern=_shown if varied else (0,),
        **axes,
        owner=lambda N: sorted({0, N - 1}),
    )
    sets = "every set of workers that gets through, for N up to 3 (5, 6) workers, and for 5 and 8 with a few gradients"
    return family.studies(
        measure, *names, grid=grid, corpus=None, enumerated=sets, curves=curves, extremal=extremal, streams=streams
    )


def _over_losses(losses: tuple[Fraction, ...] = LOSSES, **held: Any) -> list[Curve]:
    return [_SPACE_FAMILY.over("p", losses, "N = 4", N=4, **held)]


_SPACE_FAMILY = _family("arrivals")
_RAMP: Values = {"pattern": 4, "owner": 3}
_ARRIVALS, _OWNER, _EXPECTED = (_family(estimator) for estimator in ("arrivals", "owner", "expected"))
_COUNTED, _OF_SETS = _family("arrivals", arrived=(1,)), _family("owner", subset=(0,))
_SOME: Values = {"losses": (Fraction(1, 2),), "arrived": lambda N: range(1, N + 1)}
_ON_RAMP, _PLAIN = _over_losses(**_RAMP), _over_losses()
_WORDS = Space(nothing, {"N": (2,), "n": (10,), "p": (Fraction(1, 2),), "draw": (0,)})
_STEP = Family("packetloss", "lossy_step", _WORDS, lambda n: {"coordinates": n}, searched=False)

ESTIMATES = (
    *_study(_COUNTED, partial(_given_arrivals, 1), "arrivals.unbiased", **_SOME),
    *_study(
        _COUNTED,
        partial(_given_arrivals, 2),
        "arrivals.conditional_variance",
        curves=[
            Curve(
                "K",
                "N = 6, gradients 0 ... 5",
                [(k, _COUNTED.case(_COUNTED.space.at(N=6, pattern=6, arrived=k))) for k in range(1, 7)],
            )
        ],
        **_SOME,
    ),
    *_study(_ARRIVALS, _variance_of_some, "arrivals.variance", curves=_ON_RAMP),
    *_study(_ARRIVALS, _mean_inverse, "arrivals.mean_inverse", varied=False, curves=_PLAIN),
    *_study(_ARRIVALS, _recurrence, "arrivals.mean_inverse_recurrence", varied=False),
    *_study(_ARRIVALS, _nothing_arrives, "arrivals.empty", varied=False, curves=_PLAIN),
    *_study(
        _ARRIVALS,
        _zero_fill,
        "arrivals.zero_fill",
        curves=_ON_RAMP,
        streams=means("arrivals", fill_target, (0.1, 0.4, 0.9)),
    ),
    *_study(
        _OF_SETS, _weight_sum, "owner.unbiased", losses=(Fraction(1, 2),), varied=False, subset=lambda N: range(2**N)
    ),
    *_study(_OWNER, _pull, "owner.unbiased_for_given_gradients"),
    *_study(_OWNER, _pull, "owner.bias", curves=_ON_RAMP, streams=means("owner", bias_target, (0.1, 0.4))),
    *_study(_OWNER, _iid_variance, "owner.variance_iid", varied=False, curves=_PLAIN),
    *_study(
        _OWNER,
        _iid_variance,
        "owner.inflation",
        varied=False,
        extremal=_OWNER.every(N=(1, 2, 4), p=[Fraction(0)]),
        curves=_PLAIN,
    ),
    *_study(
        _EXPECTED,
        _bias,
        "expected.unbiased",
        losses=QUARTERS,
        streams=means("expected", lambda _p, heights: float(heights.mean()), (0.1, 0.4)),
    ),
    *_study(_EXPECTED, _variance, "expected.variance", losses=QUARTERS, curves=_over_losses(QUARTERS, **_RAMP)),
    *_STEP.studies(
        sent,
        "volume.sent",
        grid=_STEP.every(N=lambda level: range(1, 10 + 8 * level), n=lambda N: (N, 2 * N, 5 * N), draw=(0, 1)),
        corpus=None,
        enumerated="N up to 9 (25) workers, shards of 1, 2 and 5 words, two patterns of losses each",
    ),
    *_STEP.studies(
        received,
        "volume.received",
        grid=_STEP.every(
            N=lambda level: range(1, 3 + (level > 0)),
            n=lambda N: (N, 2 * N, 5 * N) if N < 3 else (N,),
            p=(Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)),
        ),
        corpus=None,
        enumerated="every pattern of losses in both halves, for N up to 2 (3) workers",
        streams=received_streams,
        curves=[_STEP.over("p", LOSSES, "N = 2, n = 10")],
    ),
)
