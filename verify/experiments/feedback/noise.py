"""EF21M under noise: its bound, alone and with ARC-Top-K; how noise floors fall with the number of workers."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.feedback.aggregators import ArcRows
from commbounds.compressors import EF21M, TopK
from commbounds.theory import claims
from commbounds.verify.experiments.feedback.runs import (
    ALL,
    BUT_ONE,
    EPS,
    FeedbackRun,
    Quadratics,
    Wells,
    divisible,
    drawn_values,
    dyadic,
    lifted,
    root,
    square,
)
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, SEED, Of, Settings, Space, nothing
from commbounds.verify.study import Outcome, Stream, Study

Values = dict[str, Any]
_PLAIN_SKETCH = {"sketch": [[1.0]]}
"""Of rows of one column: the rows of largest average, surely."""


def _problem(P: int, n: int, steps: int, family: str, apart: float, exact: bool, seed: int) -> Quadratics | Wells:
    return Wells.drawn(P, n, seed) if family == "wells" else Quadratics.drawn(P, n, seed, exact, apart, steps)


def _descent(sgd: Any, arc: bool, k: int, eta: float, gamma: float, dense: bool = True) -> Any:
    if arc:
        return sgd(EF21M(eta=eta, dense=dense), gamma, ArcRows(k, 1, _PLAIN_SKETCH))
    return sgd(EF21M(TopK(k), eta=eta, dense=dense), gamma)


# --- the bound -------------------------------------------------------------------------------------------------------


def _of_run(arc: bool, settings: Settings) -> Values:
    """The bound's symbols, at the largest step size that it admits.

    The first gradients are sent whole, so that at first only their noise is off.
    """
    s, exact = settings, settings["exact"]
    P, n, k, T = s["P"], s["n"], s["k"], s["steps"]
    problem: Any = _problem(P, n, T, s["family"], s["apart"], exact, s[SEED])
    apart, alpha = root(problem.Lt_square), Fraction(k, n)
    gamma = min(float(alpha) / (20 * float(problem.L if arc else apart)), s["eta"] / (7 * float(problem.L)))
    gamma = dyadic(gamma * (1 - 8 * EPS), exact)
    noise = (divisible(P, T) if exact else 1.0) * s["sigma"] * np.arange(1.0, n + 1.0)
    start = problem.best if s["at_best"] else np.zeros(n)
    first = 0 if s["noise"] == "later" else 1
    variance = square(lifted(noise, exact))
    return {
        "problem": problem, "start": start, "gamma": gamma, "stepsize": Fraction(gamma) if exact else gamma,
        "gap": problem.gap(start), "alpha": alpha, "eta": Fraction(s["eta"]) if exact else s["eta"], "u": noise,
        "horizon": T, "smoothness": problem.L, "smoothness_apart": apart, "variance": variance, "lag": 0, "mean_lag": 0,
        "own_lag": first * variance, "momentum_lag": first * variance / P,
    }  # fmt: skip


def _known(arc: bool, settings: Settings) -> Values:
    """The same, and in floats what hypotheses ask for."""
    values = _of_run(arc, settings)
    asked = {name: float(values[name]) for name in ("alpha", "stepsize", "smoothness", "smoothness_apart")}
    return {**values, **asked, "exactly": {name: values[name] for name in asked}}


def _run_with(descent: Any, facts: Values, P: int, rng: np.random.Generator) -> FeedbackRun:
    """A run with noise of random signs; the last step's gradient moves weights that nobody looks at."""
    u, T = facts["u"], facts["horizon"]
    noise = u * rng.choice((-1.0, 1.0), (T, P, u.size))
    return FeedbackRun.of(descent, facts["problem"], facts["start"], max(T - 1, 1), noise)


def _mean_square(arc: bool, implementation: Any, settings: Settings, facts: Values) -> Outcome:
    """Mean over the noise, and over the steps."""
    s, problem, exact = settings, facts["problem"], settings["exact"]
    P, n, T, start = s["P"], s["n"], s["steps"], facts["start"]
    descent = _descent(implementation, arc, s["k"], s["eta"], facts["gamma"], s["dense"])
    if s["noise"] == "later":
        return _superposed(descent, problem, settings)
    total, count, lags = lifted(0.0, exact).item(), 0, {}

    @cache  # other noise leads to the same weights
    def steepness(x: bytes) -> Any:
        return square(problem.mean(np.frombuffer(x)))

    if s["noise"] == "one draw":
        runs: Iterable[FeedbackRun] = [_run_with(descent, facts, P, np.random.default_rng([s[SEED], P, T]))]
    else:
        noisy = min(1 if s["noise"] == "first" else T, T - 1)
        runs = FeedbackRun.of_all_signs(descent, problem, start, max(T - 1, 1), facts["u"], noisy)
    for run in runs:
        count += 1
        total = total + sum(steepness(run.x(t).tobytes()) for t in range(T))
        if not s["dense"]:  # estimates that began with zeros are off by this after the first step, without noise
            off = run.memory(0, False) - run.momentum(0, False)
            lags = {"mean_lag": square(off.mean(axis=0)), "lag": square(off) / P}
    measured = total / (count * T)
    slack = 0.0 if exact else 64 * (P + n) * T * EPS * (1 + float(measured))
    return Outcome(measured, {**facts["exactly"], **lags}, slack)


def _superposed(descent: Any, problem: Any, settings: Settings) -> Outcome:
    """Mean over the noise of a run that nothing is left out of, from the minimiser, the first gradients without noise.

    It is linear in the noise: its mean square is the sum of those of all single noises. The noise of one worker in the
    second step tells those of all others, which act as much, and as much later.
    """
    P, T = settings["P"], settings["steps"]
    noise = np.zeros((T, P, 1))
    noise[1, 0] = settings["sigma"]
    run = FeedbackRun.of(descent, problem, problem.best, T - 1, noise)
    of_one = np.array([float(square(problem.mean(run.x(t)))) for t in range(T)])
    measured = P * float(of_one @ np.arange(T, 0, -1)) / T  # the noise of step s is that of the second, s - 1 later
    return Outcome(measured, {}, 64 * (P + 1) * T * EPS * (1 + measured))


_SPACE = (
    Space(
        nothing,
        {
            "P": RANKS,
            "n": (2, 1, 3, 4),
            "k": (1, BUT_ONE, ALL),
            "steps": (2, 1, 3, 30),
            "eta": (0.5, 1.0, 0.2),
            "family": ("quadratics", "wells"),
            "sigma": (0.0, 2.0),
            "noise": ("every step",),
            "dense": (True, False),
            "at_best": (False, True),
            "apart": (1.0,),
            "exact": (
                Of(
                    "numbers are dyadic for so few steps",
                    lambda P, steps, eta, family, dense, at_best: (
                        steps <= {1: 4, 2: 3}.get(P, 2) and eta != 0.2 and family == "quadratics" and dense
                        and not at_best
                    ),
                ),
                False,
            ),
        },
        options=("eta", "sigma"),
    )
    .without(
        "Noise of more than 256 signs, as all are gone through.",
        lambda P, steps, sigma: sigma > 0 and P * (steps - 1) > 8,
    )
    .without("Noise in first gradients that are not sent whole.", lambda sigma, dense: sigma > 0 and not dense)
    .without("The minimiser of wells, which is not known.", lambda family, at_best: family == "wells" and at_best)
)  # fmt: skip
_LINEAR: Values = {"n": 1, "k": 1, "sigma": 1e3, "noise": "later", "at_best": True, "exact": False, "seed": 1}
_BY_HAND = [
    *(_SPACE.at(P=P, n=n, k=1, steps=T, eta=eta, family=family, exact=False, seed=P + n)
      for (P, n), (eta, T), family in itertools.product(
          ((1, 1), (3, 4), (8, 2)), ((0.2, 30), (1.0, 200)), ("quadratics", "wells"))),
    _SPACE.at(P=1, n=3, k=1, steps=7, eta=0.5, sigma=1.0, family="wells", exact=False, seed=1),
    *(_SPACE.at(P=P, n=n, k=k, steps=60, eta=1.0, dense=False, at_best=at_best, exact=False, seed=1)
      for P, n, k, at_best in ((3, 4, 3, True), (2, 3, 1, True), (5, 3, 1, False))),
    *(_SPACE.at(P=1, n=1, k=1, steps=2500, eta=1e-3, noise="first", sigma=sigma, at_best=True, exact=False, seed=1)
      for sigma in (1.0, 1e3)),
    _SPACE.at(P=4, n=16, k=1, steps=300, eta=1.0, dense=False, apart=1e4, at_best=True, exact=False, seed=1),
    _SPACE.at(P=1, eta=1 / 256, steps=3000, **_LINEAR),
    _SPACE.at(P=64, eta=1 / 16, steps=200, **_LINEAR),
    *(_SPACE.at(P=P, eta=eta, steps=2, exact=True, seed=1) for P, eta in ((3, 0.5), (6, 1.0))),
]  # fmt: skip
"""Long enough that a step size which is too short has not arrived; lags alone; noise that is long remembered; far from
the minimiser, in exact arithmetic."""


def _streams(arc: bool, sgd: Any) -> list[Stream]:
    """Whole runs with noise of random signs: mean squared gradient over the bound, less one."""
    found = []
    claim = claims()["feedback.arc.bound" if arc else "feedback.ef21m.bound"]
    for P, eta in ((2, 0.3), (4, 1.0)):
        settings = _SPACE.at(P=P, n=4, k=1, steps=60, eta=eta, sigma=2.0, exact=False, seed=5)
        values = _of_run(arc, settings)
        values["u"] = np.full(4, 2.0)
        values["variance"] = values["own_lag"] = square(values["u"])
        bound = float(claim.bound(**{**values, "P": P, "momentum_lag": values["variance"] / P}))
        draw = partial(_drawn, _descent(sgd, arc, 1, eta, values["gamma"]), values, P, bound)
        found.append(Stream(f"P = {P}, eta = {eta}, 60 steps", draw, -1.0, math.inf, two_sided=False, cost=1500))
    return found


def _drawn(descent: Any, values: Values, P: int, bound: float, rng: np.random.Generator, count: int) -> Array:
    problem, T, out = values["problem"], values["horizon"], np.empty(count)
    for i in range(count):
        run = _run_with(descent, values, P, rng)
        out[i] = np.mean([square(problem.mean(run.x(t))) for t in range(T)]) / bound - 1.0
    return out


def _bounds(arc: bool) -> tuple[Study, ...]:
    prefix = "feedback.arc" if arc else "feedback.ef21m"
    space = _SPACE.including(*_BY_HAND)
    family = Family(prefix, "FeedbackSGD", space, partial(_known, arc), exact_arrays=3, searched=False)
    at: Values = {"n": 4, "k": 2, "eta": 0.3, "sigma": 2.0, "noise": "one draw", "exact": False, "seed": 5}
    label = "n = 4, two kept, eta = 0.3, one run each"
    if arc:
        curve = family.over("P", (1, 2, 4, 8), label, steps=60, **at)
    else:
        curve = family.over("horizon", (5, 15, 50, 150), label, by="steps", P=4, **at)
    return family.studies(partial(_mean_square, arc), "bound", streams=partial(_streams, arc), curves=[curve])


# --- steps -----------------------------------------------------------------------------------------------------------


def _step_of(implementation: Any, settings: Settings) -> Outcome:
    """How far any step of a run is from the step size times the average of what the workers remember."""
    s, exact = settings, settings["exact"]
    P, n, T, gamma = s["P"], s["n"], s["steps"], 0.125 if exact else 0.05
    problem = _problem(P, n, T, s["family"], 1.0, exact, s[SEED])
    descent = _descent(implementation, s["arc"], s["k"], s["eta"], gamma, s["dense"])
    noise = np.random.default_rng(s[SEED]).integers(-2, 3, (T, P, n)) * (divisible(P, T) if exact else 1.0)
    run, farthest, largest = FeedbackRun.of(descent, problem, np.zeros(n), T, noise), lifted(0.0, exact).item(), 1.0
    for t in range(T):
        before, after, estimates = (lifted(v, exact) for v in (run.x(t), run.x(t + 1), run.memory(t, exact)))
        moved = after - before + (Fraction(gamma) if exact else gamma) * estimates.sum(axis=0) / P
        farthest = max(farthest, *(abs(v) for v in moved.tolist()))
        largest = max(largest, float(np.abs(problem.gradients(run.x(t)) + noise[t]).max()))
    # the server's sum of T averages over P workers, and theirs of T corrections
    return Outcome(farthest, {}, 0.0 if exact else 16 * (P + T) * T * EPS * largest)


_STEPS = Space(
    nothing,
    {
        "P": RANKS,
        "n": (2, 1, 3, 4, 5),
        "k": (1, BUT_ONE, ALL),
        "arc": (False, True),
        "dense": (True, False),
        "eta": (0.5, 1.0, 0.25),
        "steps": (4, 1, 2, 70),
        "family": ("quadratics", "wells"),
        "exact": (Of("quadratics, and few steps", lambda steps, family: family == "quadratics" and steps < 5), False),
    },
    options=("arc", "dense", "eta"),
)
_STEP = Family("feedback.ef21m", "FeedbackSGD", _STEPS, exact_arrays=4, searched=False)


# --- one worker in place of many -------------------------------------------------------------------------------------


class _Alone:
    """EF21M of a single worker that sends its K rows of largest score; by the recursion, not by the implementation."""

    def __init__(self, x: Array, K: int, rank: int, eta: float, gamma: float) -> None:
        self.x, self._K, self._rank, self._eta, self._gamma = x.copy(), K, rank, eta, gamma
        self._g: Array | None = None
        self._h = x

    def step(self, gradient: Array, rng: np.random.Generator) -> None:
        """One step; the first gradient is sent whole."""
        if self._g is None:
            self._g, self._h = gradient.copy(), gradient.copy()
        else:
            sketch = rng.standard_normal((gradient.shape[1], self._rank))
            self._h = (1 - self._eta) * self._h + self._eta * gradient
            offered = self._h - self._g
            scores = np.square(offered @ sketch).sum(axis=1)
            rows = np.argsort(-scores, kind="stable")[: self._K]
            self._g = self._g.copy()
            self._g[rows] += offered[rows]
        self.x = self.x - self._gamma * self._g


def _side_by_side(
    implementation: Any, s: Settings, shape: tuple[int, int], slopes: Callable[[Array, Array, int], tuple[Array, Array]]
) -> Iterator[Any]:
    """The state of P workers and the weights of one, before every step; `slopes` (weights, step) gives gradients."""
    P, gamma = s["P"], s["gamma"]
    descent = implementation(EF21M(eta=s["eta"]), gamma, ArcRows(s["K"], s["rank"]))
    state, one = descent.start(np.zeros(shape), P), _Alone(np.zeros(shape), s["K"], s["rank"], s["eta"], gamma)
    theirs, own = (np.random.default_rng(s[SEED]) for _ in range(2))
    for t in itertools.count():
        yield state.weights, one.x
        many, single = slopes(state.weights, one.x, t)
        one.step(single, own)
        state, _ = descent.step(many, state, theirs)


def _single_node(implementation: Any, settings: Settings) -> Outcome:
    """P workers, and one that is given their average: the same sketches, drawn anew in every step, the same noise."""
    s, exact = settings, settings["exact"]
    P, shape, T = s["P"], (s["m"], s["n"]), s["steps"]
    rng, unit = np.random.default_rng(s[SEED]), divisible(s["P"], s["steps"]) if exact else 1.0
    a = rng.integers(1, 4, (P, *shape)).astype(float)
    # thousands of values, so that no two rows score alike
    c, noise = (unit * drawn_values(rng, exact, *size, most=2048) for size in ((P, *shape), (T, P, *shape)))
    largest = 1.0

    def slopes(many: Array, one: Array, t: int) -> tuple[Array, Array]:
        nonlocal largest
        own = a * (many - c) + noise[t]
        largest = max(largest, float(np.abs(own).max()))
        return own, (a * (one - c) + noise[t]).mean(axis=0)

    pairs = itertools.islice(_side_by_side(implementation, s, shape, slopes), T + 1)
    farthest = max(float(np.abs(many - one).max()) for many, one in pairs)
    if exact:
        return Outcome(Fraction(farthest), {})
    # sums over P in every step, each off by P eps of its largest term; differences grow by at most 1 + gamma max a
    return Outcome(farthest, {}, 16 * P * T * EPS * largest * float(1 + s["gamma"] * a.max()) ** T)


def _floors(implementation: Any, settings: Settings) -> Outcome:
    """Floors on sum_ij a_ij x_ij^2 / 2 under normal noise: P workers, and the recursion of one with as much noise."""
    s = settings
    P, shape, T = s["P"], (s["m"], s["n"]), s["steps"]
    rng = np.random.default_rng([s[SEED], P])
    a = 0.5 + rng.random(shape)

    def slopes(many: Array, one: Array, _t: int) -> tuple[Array, Array]:
        noise = rng.standard_normal((P, *shape))
        return a * many + noise, a * one + math.sqrt(P) * noise.mean(axis=0)

    pairs = itertools.islice(_side_by_side(implementation, s, shape, slopes), T)
    squares = np.array([(square(a * many), square(a * one)) for many, one in pairs])
    many, single = squares[T // 2 :].mean(axis=0)
    # differences of the two are rounding of T steps' entries, which the runs contract; relative to the ratio 1/P
    return Outcome(float(many / single), {}, 64 * T * shape[0] * shape[1] * EPS)


_SINGLE = Family(
    "feedback.arc",
    "FeedbackSGD",
    Space(
        nothing,
        {
            "P": RANKS,
            "m": (3, 1, 2, 4, 5),
            "n": (1, 2, 3),
            "K": (1, Of("2, at most m", lambda m: min(m, 2)), Of("m", lambda m: m)),
            "rank": (1, 2, 3),
            "steps": (4, 1, 2, 12),
            "gamma": (0.125,),
            "eta": (0.5,),
            "exact": (Of("few steps", lambda steps: steps < 5), False),
        },
        options=("rank", "steps"),
    ),
    exact_arrays=2,
)
_FLOORS = Family(
    "feedback.arc",
    "FeedbackSGD",
    Space(
        nothing,
        {
            "P": (*RANKS, 16),
            "m": (2, 3, 4, 5),
            "n": (2, 3),
            "K": (1, 2),
            "rank": (1, 2, 3),
            "eta": (0.3, 1.0),
            "gamma": (0.05,),
            "steps": (60,),
        },
        options=("rank", "eta"),
    ),
    exact=False,
    searched=False,
)
"""Sketches of one column and of more, of rows of two entries and of more, drawn anew in every step."""


# --- floors of Top-K per worker --------------------------------------------------------------------------------------

BIASED = np.array([[2.0, 3.0], [3.0, 3.0], [-5.0, -6.0]])
"""Three values of noise: they add up to zero, their largest entries (0, 3), (3, 0), (0, -6) do not."""


class _Descent:
    """Squared gradients of ||x||^2/2 in the plane, begun at the minimum, under the biased noise."""

    def __init__(self, sgd: Any, arc: bool, P: int, eta: float, gamma: float, seed: int) -> None:
        self._rng, self._P = np.random.default_rng([seed, P]), P
        self._descent = _descent(sgd, arc, 1, eta, gamma)
        self._state = self._descent.start(np.zeros(2), P)
        self._squares: list[float] = []

    def squares(self, count: int) -> list[float]:
        """Before each of the first steps."""
        while len(self._squares) < count:
            weights = self._state.weights
            self._squares.append(float(weights @ weights))
            noise = BIASED[self._rng.integers(3, size=self._P)]
            self._state, _ = self._descent.step(weights + noise, self._state)
        return self._squares[:count]


_descents = lru_cache(maxsize=16)(_Descent)
"""A run that is asked for again goes on where it is: cases with one worker are the beginnings of one another."""


def floor(sgd: Any, arc: bool, P: int, eta: float, gamma: float, steps: int, seed: int) -> float:
    """Mean squared gradient of ||x||^2/2 in the plane, begun at the minimum, under the biased noise."""
    burn = int(2 / gamma)
    return sum(_descents(sgd, arc, P, eta, gamma, seed).squares(burn + steps)[burn:]) / steps


def _order(implementation: Any, P: int, eta: float, gamma: float, steps: int, seed: int) -> Outcome:
    # the single worker's floor is as noisy as any: as many of its gradients are looked at as of all workers
    one, many = (floor(implementation, False, p, eta, gamma, steps * (P // p), seed) for p in (1, P))
    return Outcome(abs(1 + math.log(many / one) / math.log(P)), {})


_ORDERS = Family(
    "feedback.topk",
    "FeedbackSGD",
    Space(nothing, {"P": (16,), "eta": (1.0,), "gamma": (0.01,), "steps": (600,)}).without(
        "Fewer workers, whose floor still falls.", lambda P: P < 16
    ),
    exact=False,
    searched=False,
)


NOISY: tuple[Study, ...] = (
    *_STEP.studies(_step_of, "step"),
    *_bounds(arc=False),
    *_bounds(arc=True),
    *_SINGLE.studies(_single_node, "single_node"),
    *_FLOORS.studies(
        _floors,
        "speedup",
        curves=[
            _FLOORS.over(
                "P", (1, 2, 4, 8, 16), "four rows of three weights, one kept, sketches of rank 1",
                m=4, n=3, eta=0.3, steps=100,
            )
        ],
    ),
    *_ORDERS.studies(
        _order,
        "speedup",
        # more and longer runs at larger budgets
        corpus=_ORDERS.every(steps=lambda level: [600 * (1 + level)], seed=lambda level: range(1 + 2 * level)),
        curves=[_ORDERS.over("P", (4, 8, 16), "two dimensions, one entry kept, gamma = 0.01")],
    ),
)  # fmt: skip
