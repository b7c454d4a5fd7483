"""What one worker's memory does in one step, or in many: residuals, lags, momenta."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.compressors import Compressor, FeedbackState, TopK
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget, bound_at
from commbounds.verify.experiments._feedback_runs import EPS, Quadratics, Shrunk, lifted, root, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

__all__ = ["WORKERS"]

Array = NDArray[Any]


def _compressor(case: Case) -> tuple[Compressor, Fraction]:
    """What the case compresses with, and its contraction."""
    s = case.settings
    if "q" in s:
        return Shrunk(s["q"]), 1 - Fraction(s["q"]) ** 2
    return TopK(s["k"]), Fraction(s["k"], s["n"])


def _exact(case: Case) -> bool:
    return bool(case.settings.get("exact"))


# --- EF14's residual -------------------------------------------------------------------------------------------------


def _residual(ef14: Any, case: Case) -> Outcome | None:
    """The largest squared residual of a sequence of gradients."""
    compressor, alpha = _compressor(case)
    mechanism, exact = ef14(compressor), _exact(case)
    state, most = mechanism.start(case.array[0]), lifted(0.0, exact).item()
    for gradient in case.array:
        _, state = mechanism.step(state, gradient)
        most = max(most, square(lifted(state.memory, exact)))
    reach = max(square(row) for row in lifted(case.array, exact))
    if reach == 0:
        return None
    values = {"alpha": alpha, "reach": root(reach)}
    room = (
        0.0 if exact else 8 * case.array.size * EPS * float(claims()["feedback.ef14.residual_simple"].bound(**values))
    )
    return Outcome(most if exact else float(most), values, room)


def _integer_sequences(level: int) -> Iterator[Case]:
    for entries in itertools.product((0.0, 1.0, 2.0), repeat=4):
        if any(entries):
            yield Case({"n": 4, "k": 3, "exact": True, "family": "constant"}, np.array([entries] * 5))
    rng = np.random.default_rng(14)
    for _ in range(60 * (1 + 4 * level)):
        n, k = ((4, 3), (9, 8), (9, 5), (3, 3))[int(rng.integers(4))]
        yield Case({"n": n, "k": k, "exact": True, "family": "integers"}, rng.integers(-3, 4, (6, n)).astype(float))


def _sequences(budget: Budget) -> Iterator[Case]:
    for n, k in ((1, 1), (2, 1), (5, 1), (8, 3), (20, 1)):
        rng = np.random.default_rng([n, k])
        for name, gradients in (
            ("constant", np.ones((40, n))),
            ("normal", rng.standard_normal((40, n))),
            ("ramp", np.tile(np.arange(1.0, n + 1), (40, 1))),
            ("one sign after another", np.tile((-1.0) ** np.arange(40)[:, None], (1, n))),
        ):
            yield Case({"n": n, "k": k, "family": name}, gradients)


def _shrunk_sequences(_budget: Budget) -> Iterator[Case]:
    for q in (0.25, 0.5, 0.75, 0.875):
        yield Case({"n": 3, "q": q, "family": "constant"}, np.ones((120, 3)))


@st.composite
def _drawn_sequences(draw: st.DrawFn) -> Case:
    n, steps = draw(inputs.whole(1, 6)), draw(inputs.whole(1, 8))
    rng = np.random.default_rng(draw(inputs.whole(0, 2**31)))
    gradients = rng.standard_normal((1, n)) + draw(inputs.among((0.0, 0.1, 1.0))) * rng.standard_normal((steps, n))
    return Case({"n": n, "k": draw(inputs.whole(1, n))}, gradients)


def _nudged(rng: np.random.Generator, case: Case) -> Case:
    array = case.array.copy()
    array[rng.integers(len(array))] += 0.3 * rng.standard_normal(array.shape[1:])
    return Case({**{k: v for k, v in case.settings.items() if k not in ("exact", "family")}}, array)


def _over_alpha(name: str, trial: Callable[[Any, Case], Outcome | None], arrays: Callable[[int], Array]) -> Any:
    """Bound and measurement over alpha: Top-K on random inputs, and the shrinking compressor as worst."""

    def curves(mechanism: Any, seed: int) -> list[Series]:
        n, x, bound, worst, middle = 8, [], [], [], []
        for k in range(1, n):
            q = float(np.sqrt(1 - k / n))
            outcomes = [
                trial(mechanism, Case(settings, arrays(seed))) for settings in ({"n": n, "q": q}, {"n": n, "k": k})
            ]
            if outcomes[0] is None or outcomes[1] is None:
                continue
            shares = [float(o.measured) / float(bound_at(claims()[name], o.values)) for o in outcomes if o is not None]
            x.append(k / n)
            bound.append(1.0)
            worst.append(max(shares))
            middle.append(shares[1])
        label = "shrinking compressor (worst) and Top-K of 8 (middle), over the bound"
        return [Series(label, "alpha", x, bound, worst, random_mid=middle, relative=True)]

    return curves


def _constant_arrays(_seed: int) -> Array:
    return np.ones((200, 8))


# --- EF21's lag ------------------------------------------------------------------------------------------------------


def _lag(ef21: Any, case: Case) -> Outcome | None:
    """One step from the estimate g and the gradients before and after: rows of the array."""
    compressor, alpha = _compressor(case)
    exact, mechanism = _exact(case), ef21(compressor)
    _, state = mechanism.step(FeedbackState(case.array[0].copy()), case.array[2])
    g, before, after = lifted(case.array, exact)
    values = {"alpha": alpha, "lag": square(g - before), "turn": square(after - before)}
    measured = square(lifted(state.memory, exact) - after)
    # differences of n numbers each, squared: relative to the largest square that comes up
    return Outcome(measured, values, 0.0 if exact else 16 * EPS * (1 + float(square(case.array))))


def _integer_turns(level: int) -> Iterator[Case]:
    rng = np.random.default_rng(21)
    for _ in range(300 * (1 + 4 * level)):
        n, k = ((4, 3), (9, 8), (9, 5), (3, 3))[int(rng.integers(4))]
        yield Case({"n": n, "k": k, "exact": True}, rng.integers(-3, 4, (3, n)).astype(float))
    for flat in itertools.product((0.0, 1.0), repeat=12):
        yield Case({"n": 4, "k": 3, "exact": True}, np.array(flat).reshape(3, 4))
        if level == 0 and flat[:3] == (0.0, 1.0, 1.0):
            break


def _turns(budget: Budget) -> Iterator[Case]:
    rng = np.random.default_rng(22)
    for n, k in ((1, 1), (2, 1), (5, 2), (30, 3)):
        for size in (0.0, 0.1, 1.0, 10.0):
            rows = rng.standard_normal((3, n))
            rows[2] = rows[1] + size * rng.standard_normal(n)
            yield Case({"n": n, "k": k, "size": size}, rows)


def _aligned_turns(_budget: Budget) -> Iterator[Case]:
    for q in (0.25, 0.5, 0.75):
        yield Case({"n": 2, "q": q}, np.array([[0.0, 0.0], [1.0, 1.0], [1 / q, 1 / q]]))


@st.composite
def _drawn_turns(draw: st.DrawFn) -> Case:
    n = draw(inputs.whole(1, 8))
    rows = np.random.default_rng(draw(inputs.whole(0, 2**31))).standard_normal((3, n))
    rows[2] = rows[1] + draw(inputs.among((0.0, 0.1, 1.0, 10.0))) * (rows[2] - rows[1])
    return Case({"n": n, "k": draw(inputs.whole(1, n))}, rows)


def _turn_arrays(seed: int) -> Array:
    rows = np.random.default_rng(seed).standard_normal((3, 8))
    rows[0] = 0.0
    rows[2] = 2 * rows[1]
    return rows


# --- EF21M's momentum and lag, noise enumerated ----------------------------------------------------------------------


def _signs(P: int) -> Iterator[tuple[float, ...]]:
    return itertools.product((1.0, -1.0), repeat=P)


def _one_step(case: Case) -> tuple[Quadratics, Array, Array, Array, Array, Array]:
    """The functions, x before and after, h, g, and what is added to the gradients or subtracted."""
    s, rng = case.settings, np.random.default_rng(case.settings["seed"])
    exact, P, n = _exact(case), s["P"], s["n"]
    problem = Quadratics.drawn(P, n, s["seed"], exact)

    def draw(*shape: int) -> Array:
        return rng.integers(-2, 3, shape).astype(float) if exact else rng.standard_normal(shape)

    x, y, h, g, u = draw(n), s["move"] * draw(n), draw(P, n), draw(P, n), s["sigma"] * draw(n)
    if s.get("aligned"):  # every difference of h and the gradient is -(1 - eta)/eta times the gradient's change
        x, y = np.zeros(n), np.ones(n)
        h = problem.gradients(x) - (1 - s["eta"]) / s["eta"] * (problem.gradients(x + y) - problem.gradients(x))
    return problem, x, x + y, h, g, u


def _momentum(ef21m: Any, case: Case) -> Outcome:
    problem, x, y, h, g, u = _one_step(case)
    s, exact, P = case.settings, _exact(case), case.settings["P"]
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
    s, exact, P, n = case.settings, _exact(case), case.settings["P"], case.settings["n"]
    mechanism, total = ef21m(TopK(s["k"]), eta=s["eta"]), lifted(0.0, exact).item()
    for p, sign in itertools.product(range(P), (1.0, -1.0)):
        _, state = mechanism.step(FeedbackState(g[p], h[p]), problem.gradients(y)[p] + sign * u)
        total = total + square(lifted(state.memory, exact) - lifted(state.momentum, exact))
    hs, gs = lifted(h, exact), lifted(g, exact)
    values = {
        "alpha": Fraction(s["k"], n), "eta": Fraction(s["eta"]), "lag": square(gs - hs) / P,
        "own_lag": square(hs - problem.own(x)) / P, "smoothness_apart": root(problem.Lt_square),
        "shift": square(lifted(y, exact) - lifted(x, exact)), "variance": square(lifted(u, exact)),
    }  # fmt: skip
    bound = float(claims()["feedback.ef21m.lag"].bound(**values))
    return Outcome(total / (2 * P), values, 0.0 if exact else 64 * P * n * EPS * (1 + bound))


def _noise_grid(level: int) -> Iterator[Case]:
    sizes = ((1, 1, 1), (1, 3, 1), (2, 2, 1), (2, 4, 3), (3, 3, 2))
    for (P, n, k), eta, move, sigma in itertools.product(sizes, (0.25, 0.5, 1.0), (0.0, 1.0), (0.0, 2.0)):
        for seed in range(1 + 3 * level):
            yield Case({"P": P, "n": n, "k": k, "eta": eta, "move": move, "sigma": sigma, "seed": seed, "exact": True})


def _noise_corpus(budget: Budget) -> Iterator[Case]:
    for P, n, k, eta in itertools.product((1, 2, 4), (1, 5), (1,), (0.01, 0.1, 0.9)):
        yield Case({"P": P, "n": n, "k": k, "eta": eta, "move": 0.3, "sigma": 1.0, "seed": P + n})


def _aligned_momenta(_budget: Budget) -> Iterator[Case]:
    for eta in (0.25, 0.5, 0.75):
        # one entry, so that every turn is along the steepest curvature
        yield Case({"P": 2, "n": 1, "k": 1, "eta": eta, "move": 1.0, "sigma": 0.0, "seed": 1, "aligned": True})


@st.composite
def _drawn_noise(draw: st.DrawFn) -> Case:
    P, n = draw(inputs.whole(1, 3)), draw(inputs.whole(1, 5))
    settings = {"P": P, "n": n, "k": draw(inputs.whole(1, n)), "eta": draw(inputs.among((0.01, 0.1, 0.5, 0.9, 1.0)))}
    amounts = {name: draw(inputs.among((0.0, 0.01, 1.0, 10.0))) for name in ("move", "sigma")}
    return Case({**settings, **amounts, "seed": draw(inputs.whole(0, 2**31))})


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


_RESIDUALS = (
    "all constant sequences of entries 0, 1, 2 with three of four kept, and integers at random; rational numbers"
)
_NOISES = "all signs of the noise, integer data, quadratics of dyadic curvature; rational numbers"

WORKERS = (
    *(
        Study(
            f"feedback.ef14.{name}",
            "EF14",
            _residual,
            grid=_integer_sequences,
            corpus=_sequences,
            cases=_drawn_sequences,
            mutate=_nudged,
            extremal=_shrunk_sequences,
            curves=_over_alpha(f"feedback.ef14.{name}", _residual, _constant_arrays),
            enumerated=_RESIDUALS,
        )
        for name in ("residual", "residual_simple")
    ),
    Study(
        "feedback.ef21.contraction",
        "EF21",
        _lag,
        grid=_integer_turns,
        corpus=_turns,
        cases=_drawn_turns,
        mutate=_nudged,
        extremal=_aligned_turns,
        curves=_over_alpha("feedback.ef21.contraction", _lag, _turn_arrays),
        enumerated="estimates and gradients of small integers; rational numbers",
    ),
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
        curves=_eta_curve("feedback.ef21m.lag", _own_lag),
        enumerated=_NOISES,
    ),
)
