"""DropCompute: the gradient that a threshold leaves, and SGD with random batches, bound to their code."""

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import drop_step
from commbounds.verify.experiments.dropcompute.laws import SMALL_LAWS
from commbounds.verify.experiments.dropcompute.steps import exactly
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.space import Of, Settings, Space, nothing, rationals
from commbounds.verify.study import Case, Curve, Outcome, chained

_LENGTHS = (1, 2, 4, 8, 12, 16, 20, 24)


# --- gradients ---------------------------------------------------------------------------------------------------


_SAMPLED = Space(
    nothing,
    {
        "law": ("1 (1/2) or 2 (1/2)", "1 (2/3) or 3 (1/3)", "0 (1/4) or 1 (3/4)", "1 (1/2) or 2 (1/4) or 4 (1/4)"),
        "N": (2, 1),
        "M": (2, 1),
        "tau": (Fraction(1),),
        "normalisation": ("fixed", "computed", "worker"),
        "gradients": ("free", "latencies"),
    },
)
"""What the sum is divided by; and gradients that are 1 or 3 with equal chances, or that are the latencies."""
_GRADIENT = Family(
    "dropcompute.gradient",
    "drop_gradient",
    _SAMPLED,
    lambda law: {"shortest": min(SMALL_LAWS[law].values)},
    searched=False,
)
_KINDS: dict[str, Any] = {name: _SAMPLED.axes[name] for name in ("normalisation", "gradients")}
_ALL: dict[str, Any] = {
    "grid": _GRADIENT.every(
        N=(1, 2),
        M=lambda N, level: (1, 2) if N == 1 or level else (1,),
        law=_SAMPLED.axes["law"],
        tau=[Fraction(j, 2) for j in range(1, 10)],
        **_KINDS,
    ),
    "corpus": _GRADIENT.every(law=_SAMPLED.axes["law"], tau=(Fraction(1, 2), Fraction(3), Fraction(9, 2)), **_KINDS),
    "enumerated": "every outcome of the latencies and gradients of up to two workers with up to two micro-batches",
}


@cache
def _completed(law: str, N: int, M: int, tau: Fraction) -> list[tuple[Any, Fraction, Any]]:
    """Every outcome of the latencies, its probability, and what each worker completes."""
    return [(x, p, drop_step(x, float(tau)).completed) for x, p in SMALL_LAWS[law].outcomes(N, M)]


@cache
def _rational(value: float) -> Fraction:
    """Means of a few small integers may round; their sum over a law is compared as what it is, a rational."""
    return Fraction(value).limit_denominator(64)


def _mean_gradient(
    implementation: Any, law: str, N: int, M: int, tau: Fraction, normalisation: str, gradients: str
) -> Outcome:
    """E of the step's gradient over that of all, given that something was computed if that is the divisor."""
    correlated = gradients == "latencies"
    total, something, kept, anybody = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    free = np.array(list(itertools.product((1.0, 3.0), repeat=N * M))).T.reshape(N, M, -1)  # an outcome a coordinate
    for x, p, completed in _completed(law, N, M, tau):
        computed = int(completed.sum())
        kept += p * Fraction(computed, N * M)
        anybody += p * Fraction(int((completed > 0).sum()), N)
        if normalisation == "computed" and computed == 0:
            continue
        something += p
        found = implementation(x[:, :, None] if correlated else free, completed, normalisation).tolist()
        total += p * sum(map(_rational, found), Fraction(0)) / len(found)
    mean = SMALL_LAWS[law].mean if correlated else Fraction(2)
    # where everything is completed there is nothing to shrink or to favour
    share = anybody if normalisation == "worker" else kept
    return Outcome(total / something / mean, {"share": share}, active=kept < 1)


def _gradient(claim: str, normalisation: str, gradients: str = "free") -> tuple[FamilyStudy, ...]:
    """Curves over thresholds from the first that something can be computed by."""
    thresholds = [Fraction(j, 2) for j in range(3 if normalisation == "computed" else 1, 10)]
    kind = {"normalisation": normalisation, "gradients": gradients}
    curves = [
        _GRADIENT.over("tau", thresholds, f"{law}; N = M = 2", law=law, **kind) for law in _SAMPLED.axes["law"][:2]
    ]
    return _GRADIENT.studies(_mean_gradient, claim, curves=curves, **_ALL)


# --- SGD ---------------------------------------------------------------------------------------------------------


class Objective:
    """f on the line whose gradient is continuous and linear between knots, with L = 1: all about it in rationals.

    Parameters
    ----------
    knots : sequence of (point, gradient), ascending in the point
        Floats hold them.
    left, right : int
        Curvature before the first knot and after the last.
    """

    def __init__(self, knots: Sequence[tuple[Any, Any]], left: int, right: int) -> None:
        self.points = [Fraction(x) for x, _ in knots]
        self.gradients = [Fraction(g) for _, g in knots]
        pairs = list(zip(itertools.pairwise(self.points), itertools.pairwise(self.gradients), strict=True))
        self.slopes = [Fraction(left), *((g - f) / (y - x) for (x, y), (f, g) in pairs), Fraction(right)]
        areas = ((f + g) / 2 * (y - x) for (x, y), (f, g) in pairs)
        self._values = list(itertools.accumulate(areas, initial=Fraction(0)))
        self._floats = [[float(v) for v in row] for row in (self.points, self.gradients, self.slopes)]
        zeros = [x - g / s for x, g, s in zip(self.points, self.gradients, self.slopes[1:], strict=True) if s]
        first = [self.points[0] - self.gradients[0] / self.slopes[0]] if self.slopes[0] else []
        stationary = [x for x in (*first, *zeros, *self.points) if self.gradient(x) == 0]
        self.infimum = min(self.value(x) for x in stationary)
        self.minimisers = [x for x in stationary if self.value(x) == self.infimum]

    def in_floats(self, x: float) -> float:
        """The gradient, without rounding where floats hold it."""
        points, gradients, slopes = self._floats
        i = bisect.bisect_left(points, x)
        j = max(i - 1, 0)
        return gradients[j] + slopes[i] * (x - points[j])

    def gradient(self, x: Fraction) -> Fraction:
        """The gradient."""
        i = bisect.bisect_left(self.points, x)
        j = max(i - 1, 0)
        return self.gradients[j] + self.slopes[i] * (x - self.points[j])

    def value(self, x: Fraction) -> Fraction:
        """f, zero at the first knot: the gradient is linear from the knot before x to x."""
        j = max(bisect.bisect_left(self.points, x) - 1, 0)
        return self._values[j] + (self.gradients[j] + self.gradient(x)) / 2 * (x - self.points[j])


@cache
def _objective(name: str, rate: Fraction, steps: int) -> Objective:
    if name == "x^2/2":
        return Objective([(0, 0)], 1, 1)
    if name == "x^2/2 with tangents":  # from 1 on, and before -1
        return Objective([(-1, -1), (1, 1)], 0, 0)
    if name == "two wells":
        return Objective([(-1, 1), (1, -1)], 1, 1)
    if name == "waves":
        return Objective([(2 * j - 5, (-1) ** (j + 1)) for j in range(6)], 0, 0)
    # slope 1 wherever steps of that rate go, lower in between, and zero as soon as may be after the last
    knots = [(-rate * i / 2, 1 - rate / 2 * (i % 2)) for i in range(2 * steps - 1)]
    return Objective([(knots[-1][0] - 1, 0), *knots[::-1]], 0, 0)


def _of(settings: Settings) -> Objective:
    """Where there are teeth, they fit the step size."""
    return _objective(settings["f"], settings["eta"] * settings["L"], len(settings["batches"]))


def _expected(implementation: Any, settings: Settings) -> tuple[Fraction, Fraction, float]:
    """E |grad f|^2 and E f - f* at a visited point picked by batches, over every outcome of the samples' noise.

    The noise of a sample is +-sigma with equal chances. And the largest |x| that is visited.
    """
    s, f = settings, _of(settings)
    batches, B, L = np.array(s["batches"]), s["B"], Fraction(s["L"])
    used = np.arange(B) < batches[:, None]
    count = int(used.sum())
    scale, sigma = float(L), float(s["sigma"])
    ways = list(itertools.product((-1.0, 1.0), repeat=count)) if sigma else [(0.0,) * count]
    noise = np.full((len(batches), B, len(ways)), 64.0 * sigma)  # of samples that are not computed; a way a coordinate
    noise[used] = sigma * np.array(ways).T

    def gradient(x: Any) -> Any:
        return np.array([scale * f.in_floats(v) for v in x.tolist()])

    visited = implementation([float(s["start"])] * len(ways), gradient, noise, batches, float(s["eta"]))
    weights: dict[float, int] = {}
    for b, points in zip(s["batches"], visited.tolist(), strict=True):
        for x in points:
            weights[x] = weights.get(x, 0) + b
    square, excess = Fraction(0), Fraction(0)
    for x, weight in weights.items():
        at = exactly(x)
        square += weight * f.gradient(at) ** 2
        excess += weight * (f.value(at) - f.infimum)
    picks = count * len(ways)
    return L**2 * square / picks, L * excess / picks, max(map(abs, weights))


def _sgd_values(settings: Settings) -> Settings:
    """The symbols of the bounds."""
    s, f, start = settings, _of(settings), settings["start"]
    return {
        "stepsize": s["eta"],
        "smoothness": s["L"],
        "noise": s["sigma"],
        "excess": s["L"] * (f.value(start) - f.infimum),
        "distance": min(abs(start - x) for x in f.minimisers),
        "leastcurvature": s["L"] * min(f.slopes),
        "largest_batch": s["B"],
        "samples": sum(s["batches"]),
        "sgdsteps": len(s["batches"]),
    }


_HALF, _TANGENTS = Fraction(1, 2), "x^2/2 with tangents"
_DOWN = Of("the number of steps", lambda batches: Fraction(len(batches)))
_STARTS: dict[str, tuple[Fraction | Of, ...]] = {
    "x^2/2": rationals(1, 0),
    "two wells": rationals("1/8", 3),
    "waves": rationals("15/8"),
    "teeth": rationals(0),
    _TANGENTS: (_DOWN,),
}
"""Where runs begin."""
_FIRST = Of("the first of f", lambda f, batches: _DOWN.at({"batches": batches}) if f == _TANGENTS else _STARTS[f][0])
_RUNS = Family(
    "dropcompute.sgd",
    "random_batch_sgd",
    Space(
        nothing,
        {
            "f": tuple(_STARTS),
            "B": (1, 2),
            "batches": ((1,), (0, 1), (1, 1), (1, 0, 1)),
            "rate": rationals(1, "1/2", "1/4"),
            "L": (1, 2, _HALF),
            "eta": (Of("rate / L", lambda rate, L: rate / L),),
            "sigma": (0, 1, 4),
            "start": (_FIRST,),
        },
    ),
    _sgd_values,
    _expected,
    searched=False,
)
_SIZES = ((1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (4, 1), (3, 2))
"""Steps and the largest batch of which every sequence of batches is run, the last at larger budgets."""
_EVERY: Settings = {
    "B": (1, 2),
    "batches": lambda B, level: [
        batches
        for steps, largest in (_SIZES if level else _SIZES[:-1])
        if largest == B
        for batches in itertools.product(range(B + 1), repeat=steps)
    ],
    "rate": rationals(1, "1/2", "1/4"),
    "sigma": (0, 1, 4),
    "f": tuple(_STARTS),
    "start": lambda f: _STARTS[f],
    # powers of two, so that every iterate is a float exactly
    "L": lambda batches, sigma: [(1, 2, _HALF)[(sum(batches) + sigma) % 3]],
}


def _long_runs(_budget: Any) -> Iterator[Case]:
    """Some of the enumerated ones, nothing but noise in all steps but the first, and long runs without any."""
    at = _RUNS.space.at
    rows = _RUNS.space.every(**_EVERY)[::23]
    rows += [at(f="x^2/2", start=Fraction(0), batches=b, B=max(b), sigma=1) for b in ((1,) * 12, (2,) * 4)]
    for steps, rate in itertools.product((8, 24), rationals(1, "1/2", "1/8")):
        starts = {"teeth": Fraction(0), _TANGENTS: steps * rate, "two wells": Fraction(3), "waves": Fraction(3, 2)}
        for f, start in starts.items():
            rows.append(at(f=f, start=start, batches=(1,) * steps, rate=rate))
            rows.append(at(f=f, start=start, batches=(2, 0) * (steps // 2), B=2, rate=rate, L=Fraction(1, 4)))
    return map(_RUNS.case, rows)


def _full(f: str, start: Fraction | Of, *runs: tuple[int, int, int | Fraction]) -> list[Settings]:
    """Runs whose batches all have B samples: steps, B and L."""
    return [_RUNS.space.at(f=f, start=start, batches=(B,) * steps, B=B, L=L) for steps, B, L in runs]


_ONE_STEP = _RUNS.of(_full("x^2/2", Fraction(3, 4), (1, 1, 1), (1, 2, 4), (1, 3, _HALF)))
_DOWN_THE_TANGENT = _RUNS.of(_full(_TANGENTS, _DOWN, (1, 1, 1), (2, 2, 4), (5, 1, _HALF), (16, 3, 1)))
_ONE_THEN_NOTHING = _RUNS.every(batches=[(1,) + (0,) * (steps - 1) for steps in (16, 64)])


def _measured(claim: str, found: tuple[Fraction, Fraction, float]) -> Fraction:
    return found[1] if claim == "convex" else found[0]


def _over_steps(label: str, kept: int, **fixed: Any) -> Curve:
    """Of a sample in each of the first steps, none thereafter."""
    batches = [(1,) * min(kept, n) + (0,) * (n - kept) for n in _LENGTHS]
    return _RUNS.over("sgdsteps", batches, label, by="batches", **fixed)


_QUIET = [
    _over_steps(f"x^2/2, samples in {kept} steps, no noise", kept, f="x^2/2", rate=Fraction(1, 4)) for kept in (4, 24)
]


def _exact(claim: str, extremal: Callable[[Any], Iterator[Case]], f: str, label: str) -> tuple[FamilyStudy, ...]:
    curves = [*_QUIET, _over_steps(f"{label}, no noise, eta = 1/L", _LENGTHS[-1], f=f)]
    return _RUNS.studies(partial(_measured, claim), claim, extremal=extremal, curves=curves, **_ALL_RUNS)


# --- SGD at the tuned step ---------------------------------------------------------------------------------------


def _batches(settings: Settings) -> Array:
    """Those that are given, or drawn where steps are dropped."""
    s = settings
    if "batches" in s:
        return np.array(s["batches"])
    rng = np.random.default_rng(s["seed"])
    steps, B = s["steps"], s["B"]
    return np.where(rng.random(steps) < s["drop"], 0, rng.integers(0, B + 1, steps)) if s["drop"] else np.full(steps, B)


def _tuned_values(settings: Settings) -> Settings:
    """All but the step size, in floats."""
    s = settings
    if "f" in s:
        return {name: float(value) for name, value in _sgd_values(s).items() if name != "stepsize"}
    L, start = s["L"], s["start"]
    return {
        "smoothness": L, "noise": s["sigma"], "excess": L * start**2 / 2, "distance": start,
        "leastcurvature": L, "largest_batch": float(s["B"]), "samples": float(_batches(s).sum()),
        "sgdsteps": float(s["steps"]),
    }  # fmt: skip


def _tuned_step(power: int, facts: Settings) -> float:
    """Of the claim about squared gradients, or about values."""
    v = facts
    if v["noise"] == 0:
        return 1 / float(v["smoothness"])
    if power == 2:
        best = v["largest_batch"] * math.sqrt(2 * v["excess"] / (v["samples"] * v["smoothness"] * v["noise"] ** 2))
    else:
        best = v["largest_batch"] * v["distance"] / (v["noise"] * math.sqrt(v["samples"]))
    return float(min(1 / v["smoothness"], best))


def _tuned(power: int, implementation: Any, settings: Settings, facts: Settings) -> Rounded:
    """By every outcome, or on L x^2/2 by the exact recursion of second moments for its expectation."""
    s, eta, eps = settings, _tuned_step(power, facts), float(np.finfo(float).eps)
    if "f" in s:
        # the objective stays that of the case; the step size is the tuned one
        square, excess, furthest = _expected(partial(_with_step, implementation, eta), s)
        # every step rounds to a few units of the largest number in it, and at most doubles what was rounded before
        largest = furthest + eta * (float(s["L"]) + len(s["batches"]) * float(s["sigma"])) + 1
        slack = 16 * 2 ** len(s["batches"]) * eps * (float(s["L"]) * largest) ** power
        return Rounded(float(square), slack) if power == 2 else Rounded(float(excess), slack * largest)
    batches, steps, B, L, sigma, start = _batches(s), s["steps"], s["B"], s["L"], s["sigma"], s["start"]
    # an iterate is linear in start and noise: run the implementation on each unit alone, and add their squares
    noisy = np.flatnonzero(batches).tolist() if sigma else []
    noise = np.zeros((steps, B, 1 + len(noisy)))
    for place, i in enumerate(noisy, 1):
        noise[i, 0, place] = sigma  # the samples of a step enter alike: one speaks for all that were used
    visited = implementation([start, *[0.0] * len(noisy)], lambda x: L * x, noise, batches, eta)
    second = visited[:, 0] ** 2
    for place, i in enumerate(noisy, 1):
        second = second + batches[i] * visited[:, place] ** 2
    measured = float(batches @ second) / float(batches.sum()) * (L**2 if power == 2 else L / 2)
    return Rounded(measured, 64 * steps * eps * measured)


def _with_step(implementation: Any, eta: float, start: Any, gradient: Any, noise: Any, batches: Any, _: float) -> Any:
    return implementation(start, gradient, noise, batches, eta)


_DRAWN = Space(
    nothing,
    {
        "steps": (20, 1, 200),
        "B": (4, 1, 8),
        "sigma": (0.0, 1.0, 10.0),
        "drop": (0.0, 0.5, 0.9),
        "L": (1.0, 0.25, 4.0),
        "start": (2.0,),
    },
).search(steps=(1, 60), B=(1, 8), sigma=(0.1,))
# noise and start weigh alike, far from the units in which all is about 1
_WEIGHTS = ((80, 1000.0, 256.0, 2.0), (80, 0.03, 1.0, 0.01), (80, 500.0, 1.0, 100.0), (1, 0.0, 1.0, 0.5))
_QUADRATICS = Family(
    "dropcompute.sgd",
    "random_batch_sgd",
    replace(_DRAWN, combined=(("steps", "sigma", "drop"),)).including(
        *(_DRAWN.at(steps=n, B=1, sigma=sigma, L=L, start=start) for n, sigma, L, start in _WEIGHTS)
    ),
    _tuned_values,
    exact=False,
)
_SHORT = _RUNS.every(
    batches=((1,), (1, 1, 1), (2, 0, 1), (1, 2, 1)),
    B=lambda batches: [max(batches)],
    sigma=(0, 1, 4),
    L=(1, 2),
    f=tuple(_STARTS),
    start=lambda f: _STARTS[f],
)


def _of_tuned(claim: str, power: int, extremal: Callable[[Any], Iterator[Case]]) -> tuple[FamilyStudy, ...]:
    fixed: Settings = {"by": "steps", "sigma": 1.0, "seed": 3}
    curves = [
        _QUADRATICS.over("sgdsteps", (5, 10, 20, 40, 80), f"{drop:.0%} of the steps dropped", drop=drop, **fixed)
        for drop in (0.0, 0.9)
    ]
    return _QUADRATICS.studies(
        partial(_tuned, power), claim, corpus=chained(_QUADRATICS.corpus, _SHORT), extremal=extremal, curves=curves
    )


_ALL_RUNS: dict[str, Any] = {
    "grid": _RUNS.every(**_EVERY),
    "corpus": _long_runs,
    "enumerated": "every sequence of up to four batches and every outcome of the samples' signs; convex and other "
    "objectives whose gradient is linear piece by piece",
}
_TEETH = "a slope that dips between the points"

SGD_STUDIES = (
    *_gradient("fixed", "fixed"),
    *_gradient("computed", "computed"),
    *_gradient("worker", "worker"),
    *_gradient("correlated", "computed", "latencies"),
    *_exact("nonconvex", _ONE_STEP, "teeth", _TEETH),
    *_of_tuned("nonconvex_tuned", 2, _ONE_STEP),
    *_exact("convex", _DOWN_THE_TANGENT, _TANGENTS, _TANGENTS),
    *_of_tuned("convex_tuned", 1, _DOWN_THE_TANGENT),
    *_exact("drops_ignored", _ONE_THEN_NOTHING, "teeth", _TEETH),
)
