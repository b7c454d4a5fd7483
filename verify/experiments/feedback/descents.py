"""Descents of several workers on quadratics without noise: identities, descent of potentials, rates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.compressors import EF14, EF21, EF21M, Compressor, Feedback, TopK
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import (
    EPS,
    FeedbackRun,
    Quadratics,
    Shrunk,
    Wells,
    divisible,
    dyadic,
    lifted,
    root,
    square,
)
from commbounds.verify.study import Case, Curve, Outcome, Study, shared

Array = NDArray[Any]
_SGD = "FeedbackSGD"


def _constants(alpha: Fraction) -> tuple[Any, Any, float]:
    """Theta and beta (Fractions where rational), and sqrt(beta/theta)."""
    q = root(1 - alpha)
    if q.is_Rational:
        q = Fraction(int(q.p), int(q.q))
        return 1 - q, q * q / (1 - q), float(q / (1 - q))
    q = float(q)
    return 1 - q, q * q / (1 - q), q / (1 - q)


def _problem(case: Case) -> Any:
    """Quadratics, or wells that are not convex."""
    return case.once(_drawn_problem)


def _drawn_problem(case: Case) -> Any:
    s = case.settings
    if s.get("family") == "wells":
        return Wells.drawn(s["P"], s["n"], s["seed"], s.get("apart", 1.0))
    # descents look one step further
    return Quadratics.drawn(
        s["P"], s["n"], s["seed"], bool(s.get("exact")), s.get("apart", 1.0), s["steps"] + 1
    ).steeper(s.get("steepness", 1.0))


def _alpha(case: Case) -> Fraction:
    s = case.settings
    return 1 - Fraction(s["q"]) ** 2 if "q" in s else Fraction(s["k"], s["n"])


def _compressor(case: Case) -> Compressor:
    """Top-K, or the one that returns 1 - q of its input."""
    return Shrunk(case.settings["q"]) if "q" in case.settings else TopK(case.settings["k"])


def _known(most: Callable[[Case], float]) -> Callable[[Any, Case], dict[str, Any]]:
    """The symbols that hypotheses ask, where the case's share is one of the step size `most`; in floats."""

    def known(_sgd: Any, case: Case) -> dict[str, Any]:
        problem = _problem(case)
        return {
            "family": "quadratics", **case.settings, "stepsize": _step_size(case, most(case)),
            "alpha": float(_alpha(case)), "smoothness": float(problem.L), "smoothness_apart": _apart(problem),
            "convexity": float(problem.mu) if isinstance(problem, Quadratics) else 0.0,
            "variance": float(_variance(case, False)),
        }  # fmt: skip

    return known


def _apart(problem: Any) -> float:
    """The root of the workers' mean squared smoothness."""
    return float(np.sqrt(float(problem.Lt_square)))


def _half(case: Case) -> float:
    """1/(2 L)."""
    return 1 / (2 * float(_problem(case).L))


def _whole(case: Case) -> float:
    """1/L."""
    return 1 / float(_problem(case).L)


def _ef21_step(case: Case, stretch: float = 1.0) -> float:
    """1/(L + stretch L~ sqrt(beta/theta))."""
    problem, (_, _, ratio) = _problem(case), _constants(_alpha(case))
    return 1 / (float(problem.L) + stretch * _apart(problem) * ratio)


def _largest_step(case: Case) -> float:
    """2/(L + sqrt(L^2 + 4 (beta/theta)(L~^2 + q L^2)/(1 + q)))."""
    problem, (theta, _, ratio) = _problem(case), _constants(_alpha(case))
    L, q = float(problem.L), 1 - float(theta)
    spent = (_apart(problem) ** 2 + q * L**2) / (1 + q)
    return 2 / (L + float(np.hypot(L, 2 * ratio * spent**0.5)))


def _pl_step(case: Case) -> float:
    """The largest with which EF21 converges linearly, as the book says."""
    theta, _, _ = _constants(_alpha(case))
    return min(_ef21_step(case, 2**0.5), float(theta) / (2 * float(_problem(case).mu)))


def _noises(case: Case) -> Iterator[Array]:
    """All signs of a noise of size `sigma` that every worker can have in every step but the last, which nobody sees."""
    s, u = case.settings, _noise(case)
    P, T = s["P"], s["steps"]
    for signs in itertools.product((1.0, -1.0), repeat=P * (T - 1) if u.any() else 0):
        noise = np.zeros((T, P, s["n"]))
        if signs:
            noise[:-1] = np.reshape(signs, (T - 1, P, 1)) * u
        yield noise


def _noise(case: Case) -> Array:
    """What is added to a gradient, or subtracted."""
    s = case.settings
    unit = divisible(s["P"], s["steps"]) if s.get("exact") else 1.0
    return np.asarray(unit * s.get("sigma", 0.0) * np.arange(1.0, s["n"] + 1.0))


def _variance(case: Case, exact: bool) -> Any:
    """Of a worker's noise."""
    return square(lifted(_noise(case), exact))


def _ran(sgd: Any, case: Case, mechanism: Feedback, gamma: float, steps: int) -> FeedbackRun:
    return FeedbackRun.of(sgd(mechanism, gamma), _problem(case), np.zeros(case.settings["n"]), steps)


def _allowance(case: Case, *sizes: Any) -> float:
    """Rounding of a run: sums over P and n, and over the steps, relative to the largest number that comes up."""
    s = case.settings
    if s.get("exact"):
        return 0.0
    return float(64 * (s["P"] + s["n"]) * (s["steps"] + 1) * EPS * max(float(v) for v in sizes))


def _step_size(case: Case, most: float) -> float:
    """The case's share of the largest step size: dyadic where it is to be exact, else below it by its rounding."""
    return dyadic(float(case.settings["rate"]) * most * (1 - 8 * EPS), bool(case.settings.get("exact")))


def _telescoping(sgd: Any, case: Case) -> Outcome:
    problem, s, exact = _problem(case), case.settings, bool(case.settings.get("exact"))
    gamma = _step_size(case, _whole(case))
    run = _ran(sgd, case, EF14(_compressor(case)), gamma, s["steps"])
    moved = sum(problem.mean(run.x(t)) for t in range(s["steps"])) * (Fraction(gamma) if exact else gamma)
    residual = run.memory(s["steps"] - 1, exact).sum(axis=0) / s["P"]
    defect = max(abs(v) for v in lifted(run.x(s["steps"]), exact) - residual - lifted(run.x(0), exact) + moved)
    return Outcome(defect, {}, _allowance(case, 1, np.abs(moved).max(), np.abs(problem.c).max()))


def _start(case: Case, problem: Any) -> Array:
    """Zeros; or the minimiser, where the case begins there."""
    return problem.best.copy() if case.settings.get("at_best") else np.zeros(case.settings["n"])


@dataclass(frozen=True)
class _Run:
    """What a rate is about, over all signs of the noise: by steps, in expectation."""

    problem: Any
    gamma: float
    squares: list[Any]
    """||grad f(x^t)||^2 of every step."""
    own: Any
    """The largest E||grad f_i(x^t)||^2 of a worker and a step."""
    lag: Any
    """(1/P) sum_i ||g_i - grad f_i||^2 of the first step."""

    @property
    def size(self) -> Any:
        """The step size, exact where the run is."""
        return Fraction(self.gamma) if self.problem.exact else self.gamma


def _rated(sgd: Any, case: Case, mechanism: Feedback, most: float) -> _Run:
    problem, s = _problem(case), case.settings
    gamma, P, T, x = _step_size(case, most), s["P"], s["steps"], _start(case, problem)
    descent, zero = sgd(mechanism, gamma), lifted(0.0, problem.exact).item()
    squares, own, lag, count = [zero] * T, lifted(np.zeros((T, P)), problem.exact), zero, 0
    for noise in _noises(case):
        run, count = FeedbackRun.of(descent, problem, x, T, noise), count + 1
        for t in range(T):
            gradients = problem.own(run.x(t))
            squares[t] = squares[t] + square(gradients.sum(axis=0) / P)
            own[t] += (gradients * gradients).sum(axis=1)
        lag = lag + _lag(run, problem, 0)
    return _Run(problem, gamma, [v / count for v in squares], own.max() / count, lag / count)


def _rate(case: Case, run: _Run, **more: Any) -> tuple[Any, dict[str, Any], float]:
    """The mean squared gradient, the symbols, and the room for rounding."""
    s, problem = case.settings, run.problem
    values = {
        "gap": problem.gap(_start(case, problem)), "stepsize": run.size, "horizon": s["steps"], "P": s["P"],
        "smoothness": problem.L, "alpha": _alpha(case), "variance": _variance(case, problem.exact), **more,
    }  # fmt: skip
    # at a minimiser workers' gradients cancel up to their rounding
    return sum(run.squares) / s["steps"], values, _allowance(case, *run.squares, values["gap"], EPS * float(run.own))


def _ef14_run(sgd: Any, case: Case) -> tuple[Any, dict[str, Any], float]:
    """EF14's, at its share of 1/(2 L)."""
    run = _rated(sgd, case, EF14(_compressor(case)), _half(case))
    return _rate(case, run, reach=root(run.size * run.size * run.own))


def _ef21_run(sgd: Any, case: Case) -> tuple[Any, dict[str, Any], float]:
    """EF21's, at its share of its largest step size."""
    run = _rated(sgd, case, _ef21(case), _ef21_step(case))
    return _rate(case, run, lag=run.lag)


def _of_rate(run: Callable[[Any, Case], Any]) -> Callable[[Any, Case], Outcome]:
    def trial(sgd: Any, case: Case) -> Outcome:
        return Outcome(*case.once(run, sgd))

    return trial


def _ef21(case: Case) -> Feedback:
    return EF21(_compressor(case), dense=case.settings.get("dense", True))


def _lag(run: FeedbackRun, problem: Quadratics, t: int) -> Any:
    """Mean squared lag of the estimates of step t, behind the gradients that they were made for."""
    return square(run.memory(t, problem.exact) - problem.own(run.x(t))) / len(problem.a)


def _descent(most: Callable[[Case], float]) -> Callable[[Any, Case], Outcome]:
    def trial(sgd: Any, case: Case) -> Outcome:
        problem, s = _problem(case), case.settings
        theta, _, _ = _constants(_alpha(case))
        gamma = _step_size(case, most(case))
        run, t = _ran(sgd, case, _ef21(case), gamma, s["steps"] + 1), s["steps"] - 1
        size = Fraction(gamma) if problem.exact else gamma
        after = problem.gap(run.x(t + 1)) + size / (2 * theta) * _lag(run, problem, t + 1)
        values = {
            "gap": problem.gap(run.x(t)), "stepsize": size, "lag": _lag(run, problem, t), "alpha": _alpha(case),
            "slope": square(problem.mean(run.x(t))),
        }  # fmt: skip
        scale = values["gap"] + size / theta * (values["lag"] + values["slope"]) + 1
        return Outcome(after, values, _allowance(case, scale, after))

    return trial


def _ef21_pl(sgd: Any, case: Case) -> Outcome:
    problem, s = _problem(case), case.settings
    theta, _, _ = _constants(_alpha(case))
    gamma = _step_size(case, _pl_step(case))
    run, T = _ran(sgd, case, _ef21(case), gamma, s["steps"] + 1), s["steps"]
    size = Fraction(gamma) if problem.exact else gamma
    ends = [problem.gap(run.x(t)) + size / theta * _lag(run, problem, t) for t in (0, T)]
    values = {"stepsize": size, "convexity": problem.mu, "horizon": T, "potential": ends[0]}
    return Outcome(ends[1], values, _allowance(case, ends[0], size * square(problem.c)))


def _ef21m_descent(sgd: Any, case: Case) -> Outcome:
    """One step of a run with gradients as they are, of the weights of step t."""
    problem, s, exact = _problem(case), case.settings, bool(case.settings.get("exact"))
    gamma = _step_size(case, _half(case))
    run, t = _ran(sgd, case, EF21M(_compressor(case), eta=s["eta"]), gamma, s["steps"]), s["steps"] - 1
    g, h = (v.sum(axis=0) / s["P"] for v in (run.memory(t, exact), run.momentum(t, exact)))
    slope = problem.mean(run.x(t))
    values = {
        "gap": problem.gap(run.x(t)), "stepsize": Fraction(gamma) if exact else gamma, "slope": square(slope),
        "shift": square(lifted(run.x(t + 1), exact) - lifted(run.x(t), exact)),
        "mean_lag": square(g - h), "momentum_lag": square(h - slope),
    }  # fmt: skip
    parts = [float(values[name]) for name in ("gap", "slope", "mean_lag", "momentum_lag")]
    return Outcome(problem.gap(run.x(t + 1)), values, _allowance(case, 1 + sum(parts)))


# --- cases -----------------------------------------------------------------------------------------------------------

_RATIONAL = (
    (1, 4, 3), (1, 2, 2), (1, 9, 8), (2, 4, 3), (2, 9, 8), (3, 4, 3), (3, 2, 2), (5, 4, 3), (8, 4, 3)
)  # fmt: skip
"""(P, n, k) with rational sqrt(1 - k/n)."""


def _grid(top: int, **more: Any) -> Callable[[int], Iterator[Case]]:
    def cases(level: int) -> Iterator[Case]:
        for (P, n, k), rate, steps in itertools.product(_RATIONAL, (0.25, 1.0), range(1, top + 1)):
            for seed in range(1 + level):
                yield Case({"P": P, "n": n, "k": k, "rate": rate, "steps": steps, "seed": seed, "exact": True, **more})

    return cases


def _corpus(rates: tuple[float, ...] = (0.1, 1.0), **more: Any) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        for (P, n, k), rate, steps in itertools.product(
            ((1, 1, 1), (3, 4, 1), (2, 20, 1)), rates, (1, 4, 40, 400)[: 3 + (budget.level > 0)]
        ):
            for apart in (0.0, 3.0):
                settings = {"P": P, "n": n, "k": k, "rate": rate, "steps": steps, "seed": 7, "apart": apart}
                yield Case({**settings, **more, "dense": apart == 0.0})
        for q, rate, (P, steepness) in itertools.product((0.25, 31 / 32), (0.01, 1.0), ((1, 1.0), (8, 1e-3))):
            settings = {"P": P, "n": 1, "q": q, "rate": rate, "steps": 1, "seed": 7, "apart": 3.0, "dense": False}
            yield Case({**settings, **more, "steepness": steepness})

    return cases


def _drawn(rates: tuple[float, ...] = (0.01, 0.5, 1.0), **more: Any) -> Callable[[], st.SearchStrategy[Case]]:
    @st.composite
    def cases(draw: st.DrawFn) -> Case:
        P, n = draw(inputs.integers(1, 4)), draw(inputs.integers(1, 6))
        settings = {"P": P, "n": n, "k": draw(inputs.integers(1, n)), "rate": draw(inputs.sampled_from(rates))}
        settings |= {"steps": draw(inputs.integers(1, 12)), "apart": draw(inputs.sampled_from((0.0, 1.0, 10.0)))}
        return Case(
            {
                **settings,
                "seed": draw(inputs.integers(0, 2**31)),
                "dense": draw(inputs.sampled_from((True, False))),
                **more,
            }
        )

    return cases


@shared
def _along(axis: str, values: Sequence[float], k: int, **more: Any) -> Callable[[int], Iterator[Any]]:
    key, numbered = {"horizon": ("steps", int), "stepsize": ("rate", float)}[axis]

    def points(seed: int) -> Iterator[tuple[None, list[Case]]]:
        settings = {"P": 4, "n": 10, "k": k, "rate": 1.0, "steps": 20, "seed": seed % 2**31, "dense": True, **more}
        return ((None, [Case({**settings, key: numbered(v)})]) for v in values)

    return points


def _curves(axis: str, values: Sequence[float], **more: Any) -> list[Curve]:
    return [Curve(axis, f"P = 4, n = 10, k = {k}", _along(axis, values, k, **more)) for k in (1, 5)]


def _rate_grid(level: int) -> Iterator[Case]:
    """Those of two steps, with noise and without; from the minimiser too."""
    yield from _grid(2)(level)
    for (P, n, k), (rate, apart) in itertools.product(_RATIONAL, ((0.25, 0.0), (1.0, 0.0), (1.0, 1.0))):
        if P < 8 or apart:  # of eight workers' noise there are 256 signs
            settings = {"P": P, "n": n, "k": k, "rate": rate, "steps": 2 + (P == 1), "seed": 0, "exact": True}
            yield Case({**settings, "sigma": 2.0, "apart": apart})


def _rate_corpus(budget: Budget) -> Iterator[Case]:
    """Quadratics and wells of several sizes, long runs, the worst compressor, starts at the minimiser, noise."""
    for (P, n, k), rate, steps in itertools.product(
        ((1, 1, 1), (3, 4, 1), (2, 20, 1), (5, 3, 2)), (0.1, 1.0), (1, 4, 40, 400)[: 3 + (budget.level > 0)]
    ):
        for family, apart in (("quadratics", 0.0), ("quadratics", 3.0), ("wells", 1.0)):
            settings = {"P": P, "n": n, "k": k, "rate": rate, "steps": steps, "seed": 7, "apart": apart}
            yield Case({**settings, "family": family, "dense": apart != 3.0})
    for q, rate, family in itertools.product((0.25, 0.5, 0.875), (0.1, 1.0), ("quadratics", "wells")):
        yield Case({"P": 2, "n": 2, "q": q, "rate": rate, "steps": 40, "seed": 3, "apart": 1.0, "family": family})
    for q, rate in itertools.product((0.9, 31 / 32), (0.1, 1.0)):
        yield Case({"P": 1, "n": 1, "q": q, "rate": rate, "steps": 200, "seed": 3, "apart": 3.0, "dense": False})
    for P, n, k, seed in ((2, 3, 1, 2), (3, 4, 3, 1), (5, 4, 1, 2), (8, 2, 1, 2)):
        settings = {"P": P, "n": n, "k": k, "rate": 1.0, "steps": 40, "seed": seed, "at_best": True}
        yield Case({**settings, "dense": False})
    for (P, n, k), apart, steepness in itertools.product(((2, 3, 1), (3, 8, 1)), (1e-6, 1e6), (1e-6, 1e6)):
        settings = {"P": P, "n": n, "k": k, "rate": 1.0, "steps": 40, "seed": 2, "at_best": True}
        yield Case({**settings, "dense": False, "apart": apart, "steepness": steepness})
    for P, n, k, steps in ((1, 1, 1, 8), (2, 3, 1, 4), (3, 2, 1, 3), (5, 2, 1, 2)):
        for family, apart, rate in (("quadratics", 0.0, 1.0), ("quadratics", 0.0, 0.1), ("wells", 1.0, 1.0)):
            settings = {"P": P, "n": n, "k": k, "rate": rate, "steps": steps, "seed": 5, "apart": apart}
            yield Case({**settings, "family": family, "sigma": 1.0})


@st.composite
def _drawn_rates(draw: st.DrawFn) -> Case:
    P, n = draw(inputs.sampled_from((1, 2, 3, 5, 8))), draw(inputs.integers(1, 5))
    settings = {"P": P, "n": n, "k": draw(inputs.integers(1, n)), "rate": draw(inputs.sampled_from((0.01, 0.5, 1.0)))}
    sigma = draw(inputs.sampled_from((0.0, 0.0, 1.0)))
    steps = draw(inputs.integers(1, 1 + 5 // P if sigma else 12))
    settings |= {"steps": steps, "sigma": sigma, "apart": draw(inputs.sampled_from((0.0, 1.0, 10.0)))}
    settings |= {
        "family": draw(inputs.sampled_from(("quadratics", "wells"))),
        "dense": draw(inputs.sampled_from((True, False))),
    }
    return Case({**settings, "seed": draw(inputs.integers(0, 2**31))})


def _nothing_left_out(_budget: Budget) -> Iterator[Case]:
    for steps in (1, 3, 20):
        yield Case({"P": 1, "n": 1, "k": 1, "rate": 1.0, "steps": steps, "seed": 7, "apart": 3.0})


_ENUMERATED = "1 to 8 workers, a few steps, integer quadratics, step sizes of five binary digits; rational numbers"
_STEPS = [1.0, 3.0, 10.0, 30.0, 100.0]
_RATES = [0.03, 0.1, 0.3, 0.6, 1.0]


def _aligned_descents(_budget: Budget) -> Iterator[Case]:
    """Of two steps, whose second begins with g - h = h - grad f: eta = 1/(1 + q)."""
    for q, apart in itertools.product((0.5, 0.9), (0.1, 300.0)):
        settings = {"P": 1, "n": 1, "q": q, "rate": 1.0, "steps": 2, "seed": 7, "apart": apart}
        yield Case({**settings, "eta": 1 / (1 + q)})


_OVERSHOT = 0.4201190705582751
"""Root of (1 - (1 - q) gamma)(1 - q gamma/(1 - q)) = 1 - gamma at the largest step size gamma, L = 1."""


def _overshooting_descents(_budget: Budget) -> Iterator[Case]:
    """Of two steps: after the first the estimate is 1/(1 - q gamma L/(1 - q)) times the gradient."""
    for apart, steepness in itertools.product((0.1, 3.0, 300.0), (1.0, 1e-3)):
        settings = {"P": 1, "n": 1, "q": _OVERSHOT, "rate": 1.0, "steps": 2, "seed": 7, "apart": apart}
        yield Case({**settings, "steepness": steepness})


def _far(_budget: Budget) -> Iterator[Case]:
    for seed, steps in itertools.product(range(4), (2, 5, 10)):
        yield Case({"P": 3, "n": 4, "k": 1, "rate": 1.0, "steps": steps, "seed": seed, "apart": 3.0})


def _study(
    name: str,
    trial: Callable[[Any, Case], Outcome],
    most: Callable[[Case], float],
    top: int,
    axis: str,
    values: list[float],
    extremal: Any = None,
    **more: Any,
) -> Study:
    return Study(
        name,
        _SGD,
        trial,
        known=_known(most),
        grid=_grid(top, **more),
        corpus=_corpus(**more),
        cases=_drawn(**more),
        extremal=extremal,
        curves=_curves(axis, values, **more),
        enumerated=_ENUMERATED,
    )


def _of_rates(
    name: str, run: Callable[[Any, Case], Any], most: Callable[[Case], float], extremal: Any = None, **more: Any
) -> Study:
    trial, steps = _of_rate(run), _STEPS if not more else [1.0, 2.0]
    return Study(
        name,
        _SGD,
        trial,
        known=_known(most),
        grid=_rate_grid,
        corpus=_rate_corpus,
        cases=_drawn_rates,
        extremal=extremal,
        curves=_curves("horizon", steps, **more),
        enumerated=f"{_ENUMERATED}; all signs of the noise",
    )


DESCENTS = (
    Study(
        "feedback.ef14.telescoping",
        _SGD,
        _telescoping,
        grid=_grid(3),
        corpus=_corpus(),
        cases=_drawn(),
        enumerated=_ENUMERATED,
    ),
    _of_rates("feedback.ef14.rate", _ef14_run, _half),
    _of_rates("feedback.ef14.rate_noisy", _ef14_run, _half, sigma=0.5),
    _study("feedback.ef21.descent", _descent(_ef21_step), _ef21_step, 2, "stepsize", _RATES),
    _study(
        "feedback.ef21.descent_sharp",
        _descent(_largest_step),
        _largest_step,
        2,
        "stepsize",
        _RATES,
        _overshooting_descents,
    ),
    Study(
        "feedback.ef21.descent_at_one_over_l",
        _SGD,
        _descent(_whole),
        known=_known(_whole),
        corpus=_far,
        cases=_drawn(),
        curves=_curves("stepsize", _RATES, steps=5),
    ),
    _of_rates("feedback.ef21.rate", _ef21_run, _ef21_step, extremal=_nothing_left_out),
    _study("feedback.ef21.pl", _ef21_pl, _pl_step, 2, "horizon", _STEPS),
    _study("feedback.ef21m.descent", _ef21m_descent, _half, 2, "stepsize", _RATES, _aligned_descents, eta=0.5),
)
