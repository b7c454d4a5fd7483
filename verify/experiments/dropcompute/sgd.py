"""DropCompute: the gradient that a threshold leaves, and SGD with random batches, bound to their code."""

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.collectives import drop_step
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.dropcompute.laws import SMALL_LAWS
from commbounds.verify.experiments.dropcompute.steps import exactly
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import Space, nothing
from commbounds.verify.study import Case, Curve, Outcome, Study

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


def _of_case(case: Case) -> Objective:
    s = case.settings
    return _objective(s["f"], Fraction(s["eta"]) * s["L"], len(s["batches"]))


def _expected(random_batch_sgd: Any, case: Case) -> tuple[Fraction, Fraction, float]:
    """E |grad f|^2 and E f - f* at a visited point picked by batches, over every outcome of the samples' noise.

    The noise of a sample is +-sigma with equal chances. And the largest |x| that is visited.
    """
    s, f = case.settings, _of_case(case)
    batches, B, L = np.array(s["batches"]), s["B"], Fraction(s["L"])
    used = np.arange(B) < batches[:, None]
    count = int(used.sum())
    scale, sigma = float(L), float(s["sigma"])
    ways = list(itertools.product((-1.0, 1.0), repeat=count)) if sigma else [(0.0,) * count]
    noise = np.full((len(batches), B, len(ways)), 64.0 * sigma)  # of samples that are not computed; a way a coordinate
    noise[used] = sigma * np.array(ways).T

    def gradient(x: Any) -> Any:
        return np.array([scale * f.in_floats(v) for v in x.tolist()])

    visited = random_batch_sgd([float(s["start"])] * len(ways), gradient, noise, batches, float(s["eta"]))
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


def _sgd_values(case: Case) -> dict[str, Any]:
    s, f, start = case.settings, _of_case(case), Fraction(case.settings["start"])
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


def _known(_random_batch_sgd: Any, case: Case) -> dict[str, Any]:
    """The symbols of the bounds: all but the step size, where it is the tuned one."""
    values: dict[str, Any] = case.once(_sgd_values if "f" in case.settings else _run_values)
    return values


def _exact_run(claim: str, random_batch_sgd: Any, case: Case) -> Outcome:
    square, excess, _ = case.once(_expected, random_batch_sgd)
    return Outcome(excess if claim == "convex" else square, case.once(_sgd_values))


def _sgd_case(f: str, start: Any, batches: Sequence[int], B: int, rate: Any, sigma: Any = 0, L: Any = 1) -> Case:
    """A run at the step size `rate`/L; the teeth fit that rate."""
    eta = Fraction(rate) / Fraction(L)
    batches = tuple(batches)
    return Case({"f": f, "start": Fraction(start), "batches": batches, "B": B, "eta": eta, "L": L, "sigma": sigma})


_STARTS = (
    ("x^2/2", Fraction(1)),
    ("x^2/2", Fraction(0)),
    ("two wells", Fraction(1, 8)),
    ("two wells", Fraction(3)),
    ("waves", Fraction(15, 8)),
)
"""Objectives with the points where runs begin; the others begin where the number of steps says."""


def _starts(steps: int) -> list[tuple[str, Fraction]]:
    return [*_STARTS, ("x^2/2 with tangents", Fraction(steps)), ("teeth", Fraction(0))]


def _sgd_grid(level: int) -> Iterator[Case]:
    # powers of two, so that every iterate is a float exactly
    smoothness = itertools.cycle((1, 2, Fraction(1, 2)))
    for steps, B in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2) if level else (4, 1)):
        for batches in itertools.product(range(B + 1), repeat=steps):
            for rate, sigma, (f, start) in itertools.product(
                (Fraction(1), Fraction(1, 2), Fraction(1, 4)), (0, 1, 4), _starts(steps)
            ):
                yield _sgd_case(f, start, batches, B, rate, sigma, next(smoothness))


def _long_runs(_budget: Budget) -> Iterator[Case]:
    yield from itertools.islice(_sgd_grid(0), 0, None, 23)
    yield _sgd_case("x^2/2", 0, (1,) * 12, 1, 1, 1)  # nothing but noise, in all steps but the first
    yield _sgd_case("x^2/2", 0, (2,) * 4, 2, 1, 1)
    for steps, rate in itertools.product((8, 24), (Fraction(1), Fraction(1, 2), Fraction(1, 8))):
        for f, start in (
            ("teeth", Fraction(0)),
            ("x^2/2 with tangents", steps * rate),
            ("two wells", Fraction(3)),
            ("waves", Fraction(3, 2)),
        ):
            yield _sgd_case(f, start, (1,) * steps, 1, rate)
            yield _sgd_case(f, start, (2, 0) * (steps // 2), 2, rate, L=Fraction(1, 4))


def _one_step(_budget: Budget) -> Iterator[Case]:
    for B, L in ((1, 1), (2, 4), (3, Fraction(1, 2))):
        yield _sgd_case("x^2/2", Fraction(3, 4), (B,), B, 1, L=L)


def _down_the_tangent(_budget: Budget) -> Iterator[Case]:
    for steps, B, L in ((1, 1, 1), (2, 2, 4), (5, 1, Fraction(1, 2)), (16, 3, 1)):
        yield _sgd_case("x^2/2 with tangents", steps, (B,) * steps, B, 1, L=L)


def _run_batches(case: Case) -> Any:
    s = case.settings
    rng = np.random.default_rng(s["seed"])
    steps, B = s["steps"], s["B"]
    return np.where(rng.random(steps) < s["drop"], 0, rng.integers(0, B + 1, steps)) if s["drop"] else np.full(steps, B)


def _run_values(case: Case) -> dict[str, Any]:
    s = case.settings
    L, start = s["L"], s["start"]
    return {
        "smoothness": L, "noise": s["sigma"], "excess": L * start**2 / 2, "distance": start,
        "leastcurvature": L, "largest_batch": float(s["B"]), "samples": float(_run_batches(case).sum()),
        "sgdsteps": float(s["steps"]),
    }  # fmt: skip


def _on_a_quadratic(random_batch_sgd: Any, case: Case, tuned: Callable[[dict[str, Any]], float], power: int) -> Outcome:
    """At the tuned step, on L x^2/2: by the exact recursion of second moments for its expectation."""
    s, values, batches = case.settings, case.once(_run_values), _run_batches(case)
    steps, B, L, sigma, start = s["steps"], s["B"], s["L"], s["sigma"], s["start"]
    eta = tuned(values)
    # an iterate is linear in start and noise: run the implementation on each unit alone, and add their squares
    noisy = np.flatnonzero(batches).tolist() if sigma else []
    noise = np.zeros((steps, B, 1 + len(noisy)))
    for place, i in enumerate(noisy, 1):
        noise[i, 0, place] = sigma  # the samples of a step enter alike: one speaks for all that were used
    visited = random_batch_sgd([start, *[0.0] * len(noisy)], lambda x: L * x, noise, batches, eta)
    second = visited[:, 0] ** 2
    for place, i in enumerate(noisy, 1):
        second = second + batches[i] * visited[:, place] ** 2
    measured = float(batches @ second) / float(batches.sum()) * (L**2 if power == 2 else L / 2)
    slack = 64 * steps * np.finfo(float).eps * measured
    return Outcome(measured, values, slack)


def _eta_nonconvex(v: dict[str, Any]) -> float:
    if v["noise"] == 0:
        return 1 / float(v["smoothness"])
    best = v["largest_batch"] * math.sqrt(2 * v["excess"] / (v["samples"] * v["smoothness"] * v["noise"] ** 2))
    return float(min(1 / v["smoothness"], best))


def _eta_convex(v: dict[str, Any]) -> float:
    if v["noise"] == 0:
        return 1 / float(v["smoothness"])
    best = v["largest_batch"] * v["distance"] / (v["noise"] * math.sqrt(v["samples"]))
    return float(min(1 / v["smoothness"], best))


def _tuned_run(claim: str, random_batch_sgd: Any, case: Case) -> Outcome:
    tuned, power = (_eta_convex, 1) if claim == "convex_tuned" else (_eta_nonconvex, 2)
    if "f" not in case.settings:
        return _on_a_quadratic(random_batch_sgd, case, tuned, power)
    values = {name: float(value) for name, value in _sgd_values(case).items()}
    eta = tuned(values)
    # the objective stays that of the case; the step size is the tuned one
    s = case.settings
    run = partial(_with_step, random_batch_sgd, eta)
    square, excess, furthest = _expected(run, case)
    # every step rounds to a few units of the largest number in it, and at most doubles what was rounded before
    largest = furthest + eta * (float(s["L"]) + len(s["batches"]) * float(s["sigma"])) + 1
    slack = 16 * 2 ** len(s["batches"]) * float(np.finfo(float).eps) * (float(s["L"]) * largest) ** power
    return Outcome(float(excess if power == 1 else square), values, slack * (largest if power == 1 else 1.0))


def _with_step(random_batch_sgd: Any, eta: float, start: Any, gradient: Any, noise: Any, batches: Any, _: float) -> Any:
    return random_batch_sgd(start, gradient, noise, batches, eta)


@st.composite
def _runs(draw: st.DrawFn) -> Case:
    return _run_case(
        draw(inputs.integers(1, 60)),
        draw(inputs.integers(1, 8)),
        draw(inputs.sampled_from((0.0, 1.0, 10.0, 0.1))),
        draw(inputs.sampled_from((0.0, 0.5, 0.9))),
        draw(inputs.integers(0, 2**31)),
        draw(inputs.sampled_from((1.0, 0.25, 4.0))),
    )


def _run_case(steps: int, B: int, sigma: float, drop: float, seed: int, L: float = 1.0, start: float = 2.0) -> Case:
    return Case({"steps": steps, "B": B, "sigma": sigma, "drop": drop, "seed": seed, "L": L, "start": start})


def _runs_by_hand(budget: Budget) -> Iterator[Case]:
    for steps, sigma, drop in itertools.product(
        (1, 20, 200 if budget.level else 80), (0.0, 1.0, 10.0), (0.0, 0.5, 0.9)
    ):
        yield _run_case(steps, 4, sigma, drop, 3)
    # noise and start weigh alike, far from the units in which all is about 1
    for spread, curvature, far in ((1000.0, 256.0, 2.0), (0.03, 1.0, 0.01), (500.0, 1.0, 100.0)):
        yield _run_case(80, 1, spread, 0.0, 3, curvature, far)
    yield _run_case(1, 1, 0.0, 0.0, 3, 1.0, 0.5)
    for batches, sigma, L in itertools.product(((1,), (1, 1, 1), (2, 0, 1), (1, 2, 1)), (0, 1, 4), (1, 2)):
        for f, start in _starts(len(batches)):
            yield _sgd_case(f, start, batches, 2 if 2 in batches else 1, 1, sigma, L)


def _one_then_nothing(_budget: Budget) -> Iterator[Case]:
    for steps in (16, 64):
        yield _sgd_case("x^2/2", 1, (1,) + (0,) * (steps - 1), 1, 1)


def _quiet_case(steps: int, kept: int) -> Case:
    """A sample in each of the first steps, none thereafter, no noise."""
    batches = (1,) * min(kept, steps) + (0,) * (steps - kept)
    return _sgd_case("x^2/2", 1, batches, 1, Fraction(1, 4))


def _teeth_case(steps: int) -> Case:
    return _sgd_case("teeth", 0, (1,) * steps, 1, 1)


def _tangent_case(steps: int) -> Case:
    return _sgd_case("x^2/2 with tangents", steps, (1,) * steps, 1, 1)


def _sgd_study(claim: str, trial: Any, **more: Any) -> Study:
    drawn: list[tuple[str, Callable[[int], Case]]] = [
        ("x^2/2, samples in 4 steps, no noise", lambda n: _quiet_case(n, 4)),
        ("x^2/2, samples in 24 steps, no noise", lambda n: _quiet_case(n, 24)),
    ]
    if claim == "convex":
        drawn.append(("x^2/2 with tangents, no noise, eta = 1/L", _tangent_case))
    else:
        drawn.append(("a slope that dips between the points, no noise, eta = 1/L", _teeth_case))
    options = {
        "curves": [Curve("sgdsteps", label, [(float(n), make(n)) for n in _LENGTHS]) for label, make in drawn],
        "known": _known,
        "grid": _sgd_grid,
        "corpus": _long_runs,
        "enumerated": "every sequence of up to four batches and every outcome of the samples' signs; convex and other "
        "objectives whose gradient is linear piece by piece",
        **more,
    }
    return Study(f"dropcompute.sgd.{claim}", "random_batch_sgd", trial, **options)


def _dropped(drop: float) -> Curve:
    runs = [(float(n), _run_case(n, 4, 1.0, drop, 3)) for n in (5, 10, 20, 40, 80)]
    return Curve(
        "sgdsteps", f"{drop:.0%} of the steps dropped", [(n, case) for n, case in runs if _run_batches(case).any()]
    )


_DROPPED = (_dropped(0.0), _dropped(0.9))


def _tuned_study(claim: str, extremal: Callable[[Budget], Iterator[Case]]) -> Study:
    return Study(
        f"dropcompute.sgd.{claim}",
        "random_batch_sgd",
        partial(_tuned_run, claim),
        known=_known,
        corpus=_runs_by_hand,
        cases=_runs,
        extremal=extremal,
        curves=_DROPPED,
    )


SGD_STUDIES = (
    *_gradient("fixed", "fixed"),
    *_gradient("computed", "computed"),
    *_gradient("worker", "worker"),
    *_gradient("correlated", "computed", "latencies"),
    _sgd_study("nonconvex", partial(_exact_run, "nonconvex"), extremal=_one_step),
    _tuned_study("nonconvex_tuned", _one_step),
    _sgd_study("convex", partial(_exact_run, "convex"), extremal=_down_the_tangent),
    _tuned_study("convex_tuned", _down_the_tangent),
    _sgd_study("drops_ignored", partial(_exact_run, "drops_ignored"), extremal=_one_then_nothing),
)
