"""Descents of several workers: identities, descent of potentials, rates; without noise, or with all its signs."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import EF14, EF21, EF21M, Feedback
from commbounds.verify.experiments.feedback.runs import (
    ALL,
    BUT_ONE,
    EPS,
    HALVES,
    MOST,
    FeedbackRun,
    Quadratics,
    Wells,
    compressor_of,
    contraction,
    divisible,
    dyadic,
    is_rational,
    lifted,
    root,
    square,
)
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, SEED, Of, Settings, Space, nothing
from commbounds.verify.study import Curve, Outcome, Study

Values = dict[str, Any]
Problem = Quadratics | Wells


# --- what is known of a case -----------------------------------------------------------------------------------------


def problem_of(
    P: int, n: int, steps: int, family: str, apart: float, steepness: float, exact: bool, seed: int
) -> Problem:
    """Quadratics, or wells that are not convex; descents look one step further."""
    if family == "wells":
        return Wells.drawn(P, n, seed, apart)
    return Quadratics.drawn(P, n, seed, exact, apart, steps + 1).steeper(steepness)


@dataclass(frozen=True)
class _Constants:
    """Of a descent, in floats."""

    L: float
    apart: float
    mu: float
    q: float

    @property
    def ratio(self) -> float:
        """The root of beta/theta."""
        return self.q / (1 - self.q)

    def half(self) -> float:
        """1/(2 L)."""
        return 1 / (2 * self.L)

    def whole(self) -> float:
        """1/L."""
        return 1 / self.L

    def ef21(self, stretch: float = 1.0) -> float:
        """1/(L + stretch L~ sqrt(beta/theta))."""
        return 1 / (self.L + stretch * self.apart * self.ratio)

    def largest(self) -> float:
        """2/(L + sqrt(L^2 + 4 (beta/theta)(L~^2 + q L^2)/(1 + q)))."""
        spent = (self.apart**2 + self.q * self.L**2) / (1 + self.q)
        return 2 / (self.L + float(np.hypot(self.L, 2 * self.ratio * spent**0.5)))

    def linear(self) -> float:
        """The largest with which EF21 converges linearly, as the book says."""
        return min(self.ef21(2**0.5), (1 - self.q) / (2 * self.mu))


def _known(most: Callable[[_Constants], float], settings: Settings) -> Values:
    """The symbols that hypotheses ask for, in floats; the case has its share of the step size `most`."""
    s, exact = settings, settings["exact"]
    P, n, T = s["P"], s["n"], s["steps"]
    problem: Any = problem_of(P, n, T, s["family"], s["apart"], s["steepness"], exact, s[SEED])
    alpha = contraction(s["kept"], n)
    smooth, apart = float(problem.L), float(np.sqrt(float(problem.Lt_square)))
    mu = float(problem.mu) if isinstance(problem, Quadratics) else 0.0
    # dyadic where it is to be exact, else below the largest by its rounding
    share = float(s["rate"]) * most(_Constants(smooth, apart, mu, float(root(float(1 - alpha)))))
    gamma = dyadic(share * (1 - 8 * EPS), exact)
    noise = (divisible(P, T) if exact else 1.0) * s["sigma"] * np.arange(1.0, n + 1.0)
    return {
        "problem": problem, "start": problem.best.copy() if s["at_best"] else np.zeros(n), "stepsize": gamma,
        "size": Fraction(gamma) if exact else gamma, "kept_share": alpha, "alpha": float(alpha), "smoothness": smooth,
        "smoothness_apart": apart, "convexity": mu, "noise": noise, "variance": float(square(noise)),
    }  # fmt: skip


def _descended(
    of: Callable[[Settings], Feedback], implementation: Any, settings: Settings, facts: Values
) -> FeedbackRun:
    """One step further than the case says, without noise."""
    descent = implementation(of(settings), facts["stepsize"])
    return FeedbackRun.of(descent, facts["problem"], facts["start"], settings["steps"] + 1)


def _ef14(settings: Settings) -> Feedback:
    return EF14(compressor_of(settings["kept"]))


def _ef21(settings: Settings) -> Feedback:
    return EF21(compressor_of(settings["kept"]), dense=settings["dense"])


def _ef21m(settings: Settings) -> Feedback:
    return EF21M(compressor_of(settings["kept"]), eta=settings["eta"])


def _rounding(settings: Settings, *sizes: Any) -> float:
    """Sums over P and n, and over the steps, relative to the largest number that comes up."""
    if settings["exact"]:
        return 0.0
    operations = 64 * (settings["P"] + settings["n"]) * (settings["steps"] + 1)
    return float(operations * EPS * max(float(v) for v in sizes))


def _lag(run: FeedbackRun, problem: Problem, t: int) -> Any:
    """Mean squared lag of the estimates of step t, behind the gradients that they were made for."""
    return square(run.memory(t, problem.exact) - problem.own(run.x(t))) / len(problem.a)


def _theta(facts: Values) -> Any:
    """1 - q, a Fraction where it is rational."""
    q = root(1 - facts["kept_share"])
    return 1 - (q if isinstance(q, Fraction) else float(q))


# --- one step of a run -----------------------------------------------------------------------------------------------


def _telescoping(found: FeedbackRun, problem: Quadratics, size: Any, settings: Settings) -> Outcome:
    T, exact = settings["steps"], problem.exact
    moved = sum(problem.mean(found.x(t)) for t in range(T)) * size
    residual = found.memory(T - 1, exact).sum(axis=0) / settings["P"]
    defect = max(abs(v) for v in lifted(found.x(T), exact) - residual - lifted(found.x(0), exact) + moved)
    return Outcome(defect, {}, _rounding(settings, 1, np.abs(moved).max(), np.abs(problem.c).max()))


def _fall(found: FeedbackRun, problem: Quadratics, size: Any, settings: Settings, facts: Values) -> Outcome:
    """EF21's potential after the last step."""
    t, theta = settings["steps"] - 1, _theta(facts)
    after = problem.gap(found.x(t + 1)) + size / (2 * theta) * _lag(found, problem, t + 1)
    values = {
        "gap": problem.gap(found.x(t)), "stepsize": size, "lag": _lag(found, problem, t), "alpha": facts["kept_share"],
        "slope": square(problem.mean(found.x(t))),
    }  # fmt: skip
    scale = values["gap"] + size / theta * (values["lag"] + values["slope"]) + 1
    return Outcome(after, values, _rounding(settings, scale, after))


def _linear(found: FeedbackRun, problem: Quadratics, size: Any, settings: Settings, facts: Values) -> Outcome:
    T, theta = settings["steps"], _theta(facts)
    first, last = (problem.gap(found.x(t)) + size / theta * _lag(found, problem, t) for t in (0, T))
    values = {"stepsize": size, "convexity": problem.mu, "horizon": T, "potential": first}
    return Outcome(last, values, _rounding(settings, first, size * square(problem.c)))


def _momentum_fall(found: FeedbackRun, problem: Quadratics, size: Any, settings: Settings) -> Outcome:
    """EF21M's last step, of weights and gradients as they are."""
    t, exact, P = settings["steps"] - 1, problem.exact, settings["P"]
    g, h = (v.sum(axis=0) / P for v in (found.memory(t, exact), found.momentum(t, exact)))
    x, after = (lifted(found.x(s), exact) for s in (t, t + 1))
    slope = problem.mean(found.x(t))
    values = {
        "gap": problem.gap(found.x(t)), "stepsize": size, "slope": square(slope), "shift": square(after - x),
        "mean_lag": square(g - h), "momentum_lag": square(h - slope),
    }  # fmt: skip
    parts = [float(values[name]) for name in ("gap", "slope", "mean_lag", "momentum_lag")]
    return Outcome(problem.gap(found.x(t + 1)), values, _rounding(settings, 1 + sum(parts)))


# --- rates -----------------------------------------------------------------------------------------------------------


def _rate(of: Callable[[Settings], Feedback], implementation: Any, settings: Settings, facts: Values) -> Outcome:
    """Mean squared gradient of the steps, over all signs of the noise; that of the last step nobody sees."""
    P, T, problem, size = settings["P"], settings["steps"], facts["problem"], facts["size"]
    descent, zero = implementation(of(settings), facts["stepsize"]), lifted(0.0, problem.exact).item()
    squares, own, lag, count = [zero] * T, lifted(np.zeros((T, P)), problem.exact), zero, 0

    @cache  # other noise leads to the same weights
    def slopes(x: bytes) -> tuple[Any, Array]:
        gradients = problem.own(np.frombuffer(x))
        return square(gradients.sum(axis=0) / P), (gradients * gradients).sum(axis=1)

    for run in FeedbackRun.of_all_signs(descent, problem, facts["start"], max(T - 1, 1), facts["noise"], T - 1):
        count += 1
        for t in range(T):
            of_average, of_workers = slopes(run.x(t).tobytes())
            squares[t] = squares[t] + of_average
            own[t] += of_workers
        lag = lag + _lag(run, problem, 0)
    gap, largest = problem.gap(facts["start"]), own.max() / count
    values = {
        "gap": gap, "stepsize": size, "horizon": T, "smoothness": problem.L, "alpha": facts["kept_share"],
        "variance": square(lifted(facts["noise"], problem.exact)), "reach": root(size * size * largest),
        "lag": lag / count,
    }  # fmt: skip
    # at a minimiser workers' gradients cancel up to their rounding
    slack = _rounding(settings, *(v / count for v in squares), gap, EPS * float(largest))
    return Outcome(sum(squares) / (count * T), values, slack)


def _found(found: Outcome) -> Outcome:
    return found


# --- cases -----------------------------------------------------------------------------------------------------------

_RATIONAL = Of(
    "the root of 1 - alpha is rational, and numbers are dyadic for so few steps",
    lambda P, n, kept, steps, family, apart, steepness: (
        is_rational(kept, n) and kept != 31 / 32 and steps <= (3 if P == 1 else 2) and family == "quadratics"
        and apart in (0.0, 1.0, 3.0) and steepness == 1.0
    ),
)  # fmt: skip
_STEPS: Values = {
    "P": RANKS,
    "n": (4, 1, 2, 3, 5, 9),
    "kept": (MOST, 1, BUT_ONE, ALL, 0.5),
    "rate": (1.0, 0.25, 0.01),
    "steps": (1, 2, 3, 40),
    "family": ("quadratics",),
    "apart": (1.0, 0.0, 3.0),
    "steepness": (1.0, 2.0**-10),
    "dense": (True, False),
    "at_best": (False,),
    "sigma": (0.0,),
    "eta": (0.5,),
    "exact": (_RATIONAL, False),
}
_SPACE = Space(nothing, _STEPS, options=("kept", "steps")).search(
    n=(1, 6), steps=(1, 12), kept=(HALVES, 0.25), apart=(10.0,)
)
_STRETCHED = _SPACE.every(
    P=[1, 8], n=[1], kept=[0.25, 31 / 32], rate=[0.01, 1.0], steps=[1], apart=[3.0], steepness=[1.0, 1e-3],
    dense=[False], exact=[False], seed=[7],
)  # fmt: skip
_OVERSHOT = 0.4201190705582751
"""Root of (1 - (1 - q) gamma)(1 - q gamma/(1 - q)) = 1 - gamma at the largest step size gamma, L = 1."""
_OVERSHOOTING = _SPACE.every(
    P=[1], n=[1], kept=[_OVERSHOT], steps=[2], apart=[0.1, 3.0, 300.0], steepness=[1.0, 1e-3], exact=[False], seed=[7]
)
"""After the first step the estimate is 1/(1 - q gamma L/(1 - q)) times the gradient."""
_AT_ONCE = _SPACE.every(P=[2, 5, 8], n=[1], kept=[1], rate=[1.0], steps=[2, 3], exact=[False], seed=[7])
"""Workers that differ, nothing left out: the first step ends at the minimiser."""
_ALIGNED = [
    _SPACE.at(P=1, n=1, kept=q, steps=2, apart=apart, eta=1 / (1 + q), exact=False, seed=7)
    for q, apart in itertools.product((0.5, 0.9), (0.1, 300.0))
]
"""The second step begins with g - h = h - grad f."""
_WAYS = "Noise of more than 256 signs, as all are gone through."
_MANY = _SPACE.replaced(
    steps=(2, 1, 3, 4, 40),
    kept=(*_STEPS["kept"], 0.25, 0.875),
    family=("quadratics", "wells"),
    at_best=(False, True),
    sigma=(0.0, 2.0, 0.5),
).without(_WAYS, lambda P, steps, sigma: sigma > 0 and P * (steps - 1) > 8).without(
    "The minimiser of wells, which is not known.", lambda family, at_best: family == "wells" and at_best
)  # fmt: skip
_LONG = [
    *_MANY.every(P=[1], n=[1], kept=[0.9, 31 / 32], rate=[0.1, 1.0], steps=[200], apart=[3.0], dense=[False],
                 exact=[False], seed=[3]),
    *_MANY.every(P=[2], n=[2], kept=[0.25, 0.5, 0.875], rate=[0.1, 1.0], steps=[40], family=["quadratics", "wells"],
                 exact=[False], seed=[3]),
    *_MANY.every(P=[1, 3], n=[1, 4], kept=[1], rate=[0.1, 1.0], steps=[400], apart=[3.0], exact=[False], seed=[7]),
    *(_MANY.at(P=P, n=n, kept=k, steps=40, at_best=True, dense=False, exact=False, seed=seed)
      for P, n, k, seed in ((2, 3, 1, 2), (3, 4, 3, 1), (5, 4, 1, 2), (8, 2, 1, 2))),
    *_MANY.every(P=[2, 3], n=[3, 8], kept=[1], steps=[40], at_best=[True], dense=[False], apart=[1e-6, 1e6],
                 steepness=[1e-6, 1e6], exact=[False], seed=[2]),
    *(_MANY.at(P=P, n=n, kept=1, rate=rate, steps=steps, apart=0.0, sigma=1.0, exact=False, seed=5)
      for (P, n, steps), rate in itertools.product(((1, 1, 8), (2, 3, 4), (3, 2, 3), (5, 2, 2)), (1.0, 0.1))),
    *_MANY.every(P=[1, 2, 3, 5, 8], n=[1, 4], kept=[MOST, ALL], steps=[2], apart=[0.0], sigma=[2.0]),
]  # fmt: skip
"""Long runs, the worst compressor, starts at the minimiser, and noise, on which the rates' formulas are tried."""


def _family(
    of: Callable[[Settings], Feedback], most: Callable[[_Constants], float], space: Space, **more: Any
) -> Family:
    """Descents with a mechanism, at shares of the step size `most`."""
    return Family("feedback", "FeedbackSGD", space, partial(_known, most), partial(_descended, of), **more)


def _rates(of: Callable[[Settings], Feedback], most: Callable[[_Constants], float], *rows: Settings) -> Family:
    space = _MANY.including(*_LONG, *rows)
    return Family("feedback", "FeedbackSGD", space, partial(_known, most), partial(_rate, of), exact_arrays=2)


def _curves(family: Family, axis: str, values: tuple[Any, ...], **more: Any) -> list[Curve]:
    by = {"horizon": "steps", "stepsize": "rate"}[axis]
    fixed = {"P": 4, "n": 10, "steps": 20, "exact": False, **more}
    fixed.pop(by, None)
    return [family.over(axis, values, f"P = 4, n = 10, k = {k}", by=by, kept=k, **fixed) for k in (1, 5)]


_BY_STEPS, _BY_SIZE = (1, 3, 10, 30, 100), (0.03, 0.1, 0.3, 0.6, 1.0)
_STRETCHED_SPACE = _SPACE.including(*_STRETCHED)
_TELESCOPES = _family(_ef14, _Constants.whole, _SPACE)
_EF14 = _rates(_ef14, _Constants.half)
_EF21 = _family(_ef21, _Constants.ef21, _STRETCHED_SPACE)
_SHARP = _family(_ef21, _Constants.largest, _STRETCHED_SPACE.including(*_OVERSHOOTING, *_AT_ONCE))
_TOO_LONG = _family(_ef21, _Constants.whole, _SPACE)
_NOTHING_LEFT = _MANY.every(P=[1], n=[1], kept=[1], steps=[1, 3, 20], apart=[3.0], exact=[False], seed=[7])
_EF21_RATE = _rates(_ef21, _Constants.ef21, *_NOTHING_LEFT)
_LINEAR = _family(_ef21, _Constants.linear, _STRETCHED_SPACE)
_MOMENTUM = _family(_ef21m, _Constants.half, _SPACE.including(*_ALIGNED))

DESCENTS: tuple[Study, ...] = (
    *_TELESCOPES.studies(_telescoping, "ef14.telescoping"),
    *_EF14.studies(_found, "ef14.rate", curves=_curves(_EF14, "horizon", _BY_STEPS)),
    *_EF14.studies(_found, "ef14.rate_noisy", curves=_curves(_EF14, "horizon", (1, 2), sigma=0.5)),
    *_EF21.studies(_fall, "ef21.descent", curves=_curves(_EF21, "stepsize", _BY_SIZE)),
    *_SHARP.studies(
        _fall, "ef21.descent_sharp", extremal=_SHARP.of(_OVERSHOOTING), curves=_curves(_SHARP, "stepsize", _BY_SIZE)
    ),
    *_TOO_LONG.studies(
        _fall, "ef21.descent_at_one_over_l", grid=None, curves=_curves(_TOO_LONG, "stepsize", _BY_SIZE, steps=5)
    ),
    *_EF21_RATE.studies(
        _found, "ef21.rate", extremal=_EF21_RATE.of(_NOTHING_LEFT), curves=_curves(_EF21_RATE, "horizon", _BY_STEPS)
    ),
    *_LINEAR.studies(_linear, "ef21.pl", curves=_curves(_LINEAR, "horizon", _BY_STEPS)),
    *_MOMENTUM.studies(
        _momentum_fall,
        "ef21m.descent",
        extremal=_MOMENTUM.of(_ALIGNED),
        curves=_curves(_MOMENTUM, "stepsize", _BY_SIZE),
    ),
)
