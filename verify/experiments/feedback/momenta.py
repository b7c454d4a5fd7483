"""What one step of EF21M does to momenta and lags, all signs of the noise enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.compressors import FeedbackState, TopK
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import EPS, Quadratics, Shrunk, lifted, root, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

Array = NDArray[Any]


def _signs(P: int) -> Iterator[tuple[float, ...]]:
    return itertools.product((1.0, -1.0), repeat=P)


def _one_step(case: Case) -> tuple[Quadratics, Array, Array, Array, Array, Array]:
    """The functions, x before and after, h, g, and what is added to the gradients or subtracted."""
    s, rng = case.settings, np.random.default_rng(case.settings["seed"])
    exact, P, n = bool(case.settings.get("exact")), s["P"], s["n"]
    problem = Quadratics.drawn(P, n, s["seed"], exact)

    def draw(*shape: int) -> Array:
        return rng.integers(-2, 3, shape).astype(float) if exact else rng.standard_normal(shape)

    x, y, h, g, u = draw(n), s["move"] * draw(n), draw(P, n), draw(P, n), s["sigma"] * draw(n)
    if "q" in s:  # the gradient's change, what h lacks of it and what g lacks of h go along one another
        x, y = np.zeros(n), s["move"] * np.ones(n)
        turn = problem.gradients(y) - problem.gradients(x)
        h = problem.gradients(x) - turn
        g = h - 4 * s["eta"] / (1 - s["q"] ** 2) * turn
    if s.get("aligned"):  # every difference of h and the gradient is -(1 - eta)/eta times the gradient's change
        x, y = np.zeros(n), np.ones(n)
        h = problem.gradients(x) - (1 - s["eta"]) / s["eta"] * (problem.gradients(x + y) - problem.gradients(x))
    return problem, x, x + y, h, g, u


def _momentum(ef21m: Any, case: Case) -> Outcome:
    problem, x, y, h, g, u = _one_step(case)
    s, exact, P = case.settings, bool(case.settings.get("exact")), case.settings["P"]
    mechanism, total = ef21m(TopK(1), eta=s["eta"]), lifted(0.0, exact).item()
    for signs in _signs(P):
        after = [
            mechanism.step(FeedbackState(g[p], h[p]), problem.gradients(y)[p] + sign * u)[1].momentum
            for p, sign in enumerate(signs)
        ]
        total = total + square(lifted(after, exact).sum(axis=0) / P - problem.mean(y))
    values = {
        "eta": Fraction(s["eta"]), "P": P, "smoothness": problem.L,
        "momentum_lag": square(lifted(h, exact).sum(axis=0) / P - problem.mean(x)),
        "shift": square(lifted(y, exact) - lifted(x, exact)), "variance": square(lifted(u, exact)),
    }  # fmt: skip
    bound = float(claims()["feedback.ef21m.momentum"].bound(**values))
    return Outcome(total / 2**P, values, 0.0 if exact else 64 * P * s["n"] * EPS * (1 + bound))


def _own_lag(ef21m: Any, case: Case) -> Outcome:
    problem, x, y, h, g, u = _one_step(case)
    s, exact, P, n = case.settings, bool(case.settings.get("exact")), case.settings["P"], case.settings["n"]
    compressor = Shrunk(s["q"]) if "q" in s else TopK(s["k"])
    mechanism, total = ef21m(compressor, eta=s["eta"]), lifted(0.0, exact).item()
    for p, sign in itertools.product(range(P), (1.0, -1.0)):
        _, state = mechanism.step(FeedbackState(g[p], h[p]), problem.gradients(y)[p] + sign * u)
        total = total + square(lifted(state.memory, exact) - lifted(state.momentum, exact))
    hs, gs = lifted(h, exact), lifted(g, exact)
    values = {
        "alpha": 1 - Fraction(s["q"]) ** 2 if "q" in s else Fraction(s["k"], n), "eta": Fraction(s["eta"]),
        "lag": square(gs - hs) / P,
        "own_lag": square(hs - problem.own(x)) / P, "smoothness_apart": root(problem.Lt_square),
        "shift": square(lifted(y, exact) - lifted(x, exact)), "variance": square(lifted(u, exact)),
    }  # fmt: skip
    bound = float(claims()["feedback.ef21m.lag"].bound(**values))
    return Outcome(total / (2 * P), values, 0.0 if exact else 64 * P * n * EPS * (1 + bound))


def _noise_grid(level: int) -> Iterator[Case]:
    sizes = ((1, 1, 1), (1, 3, 1), (2, 2, 1), (2, 4, 3), (3, 3, 2), (5, 3, 1), (8, 2, 1))
    for (P, n, k), eta, move, sigma in itertools.product(sizes, (0.25, 0.5, 1.0), (0.0, 1.0), (0.0, 2.0)):
        for seed in range(1 + 3 * level):
            yield Case({"P": P, "n": n, "k": k, "eta": eta, "move": move, "sigma": sigma, "seed": seed, "exact": True})


def _noise_corpus(budget: Budget) -> Iterator[Case]:
    for P, n, k, eta in itertools.product((1, 2, 4), (1, 5), (1,), (0.01, 0.1, 0.9)):
        yield Case({"P": P, "n": n, "k": k, "eta": eta, "move": 0.3, "sigma": 1.0, "seed": P + n})
    for P, eta, q, sigma in itertools.product((1, 8), (0.05, 0.5), (63 / 64, 0.5), (0.1, 10.0)):  # noise alone
        yield Case({"P": P, "n": 1, "q": q, "eta": eta, "move": 0.0, "sigma": sigma, "seed": P})


def _aligned_momenta(_budget: Budget) -> Iterator[Case]:
    for eta in (0.25, 0.5, 0.75):
        # one entry, so that every turn is along the steepest curvature
        yield Case({"P": 2, "n": 1, "k": 1, "eta": eta, "move": 1.0, "sigma": 0.0, "seed": 1, "aligned": True})


def _aligned_lags(_budget: Budget) -> Iterator[Case]:
    for P, eta, q, seed in itertools.product((1, 3), (0.05, 0.5, 1.0), (63 / 64, 0.99), (1, 4)):
        yield Case({"P": P, "n": 1, "q": q, "eta": eta, "move": 1.0, "sigma": 0.0, "seed": seed})


@st.composite
def _drawn_noise(draw: st.DrawFn) -> Case:
    P, n = draw(inputs.integers(1, 3)), draw(inputs.integers(1, 5))
    settings = {
        "P": P,
        "n": n,
        "k": draw(inputs.integers(1, n)),
        "eta": draw(inputs.sampled_from((0.01, 0.1, 0.5, 0.9, 1.0))),
    }
    amounts = {name: draw(inputs.sampled_from((0.0, 0.01, 1.0, 10.0))) for name in ("move", "sigma")}
    return Case({**settings, **amounts, "seed": draw(inputs.integers(0, 2**31))})


def _eta_curve(name: str, trial: Callable[[Any, Case], Outcome]) -> Any:
    def curves(ef21m: Any, seed: int) -> list[Series]:
        etas = [0.01, 0.03, 0.1, 0.3, 0.6, 0.9]
        cases = [
            Case({"P": 3, "n": 4, "k": 1, "eta": eta, "move": 0.3, "sigma": 1.0, "seed": seed % 2**31}) for eta in etas
        ]
        outcomes = [trial(ef21m, case) for case in cases]
        bound = [float(claims()[name].bound(**o.values)) for o in outcomes]
        return [Series("P = 3, n = 4, one entry kept", "eta", etas, bound, [float(o.measured) for o in outcomes])]

    return curves


_NOISES = "all signs of the noise, integer data, quadratics of dyadic curvature; rational numbers"

MOMENTA = (
    Study(
        "feedback.ef21m.momentum",
        "EF21M",
        _momentum,
        grid=_noise_grid,
        corpus=_noise_corpus,
        cases=_drawn_noise,
        extremal=_aligned_momenta,
        curves=_eta_curve("feedback.ef21m.momentum", _momentum),
        enumerated=_NOISES,
    ),
    Study(
        "feedback.ef21m.lag",
        "EF21M",
        _own_lag,
        grid=_noise_grid,
        corpus=_noise_corpus,
        cases=_drawn_noise,
        extremal=_aligned_lags,
        curves=_eta_curve("feedback.ef21m.lag", _own_lag),
        enumerated=_NOISES,
    ),
)
