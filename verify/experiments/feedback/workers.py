"""What one worker's memory does without noise: EF14's residual, EF21's lag."""

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
from commbounds.verify.experiments.feedback.runs import EPS, Shrunk, lifted, root, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

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


def _residual(ef14: Any, case: Case) -> Outcome:
    """The largest squared residual of a sequence of gradients."""
    compressor, alpha = _compressor(case)
    mechanism, exact = ef14(compressor), _exact(case)
    state, most = mechanism.start(case.array[0]), lifted(0.0, exact).item()
    for gradient in case.array:
        _, state = mechanism.step(state, gradient)
        most = max(most, square(lifted(state.memory, exact)))
    reach = max(square(row) for row in lifted(case.array, exact))
    values = {"alpha": alpha, "reach": root(reach)}
    allowance = (
        0.0 if exact else 8 * case.array.size * EPS * float(claims()["feedback.ef14.residual_simple"].bound(**values))
    )
    return Outcome(most if exact else float(most), values, allowance)


def _noisy_residual(ef14: Any, case: Case) -> Outcome:
    """The largest expected squared residual of gradients with noise: all its signs."""
    compressor, alpha = _compressor(case)
    mechanism, exact, gradients = ef14(compressor), _exact(case), case.array
    T, n = gradients.shape
    gamma, u = case.settings.get("gamma", 1.0), case.settings["sigma"] * np.arange(1.0, n + 1.0)
    squares, count = [lifted(0.0, exact).item()] * T, 0
    for signs in itertools.product((1.0, -1.0), repeat=T if u.any() else 0):
        noise, state = np.reshape(signs, (-1, 1)) * u if signs else np.zeros((T, n)), mechanism.start(gradients[0])
        count += 1
        for t, gradient in enumerate(gamma * (gradients + noise)):
            _, state = mechanism.step(state, gradient)
            squares[t] = squares[t] + square(lifted(state.memory, exact))
    reach = max(square(row) for row in lifted(gamma * gradients, exact))
    values = {
        "alpha": alpha, "stepsize": Fraction(gamma), "variance": square(lifted(u, exact)),
        "reach": root(reach),
    }  # fmt: skip
    most = max(squares) / count
    if exact:
        return Outcome(most, values)
    bound = float(claims()["feedback.ef14.residual_noisy"].bound(**values))
    return Outcome(float(most), values, 8 * gradients.size * EPS * (bound + float(square(gradients) + square(u))))


def _noisy_sequences(level: int) -> Iterator[Case]:
    rng = np.random.default_rng(15)
    for (n, k), T, sigma, mean in itertools.product(
        ((4, 3), (9, 8), (3, 3)), (1, 2, 4 + level), (1.0, 3.0), (0.0, 1.0)
    ):
        gradients = mean * rng.integers(-3, 4, (T, n)).astype(float)
        yield Case({"n": n, "k": k, "sigma": sigma, "exact": True}, gradients)


def _noisy_corpus(_budget: Budget) -> Iterator[Case]:
    for (n, k), mean, T in itertools.product(((1, 1), (2, 1), (5, 1), (8, 3)), (0.0, 1.0), (3, 7)):
        yield Case({"n": n, "k": k, "sigma": 1.0, "family": f"{mean:g} and noise"}, np.full((T, n), mean))
    for q, mean, gamma in itertools.product((0.25, 0.5, 0.75), (0.0, 0.1), (0.5, 4.0)):
        settings = {"n": 2, "q": q, "sigma": 1.0, "gamma": gamma, "family": f"{mean:g} and noise"}
        yield Case(settings, np.full((6, 2), mean))
    for q, gamma in itertools.product((1 / 16, 0.32), (0.5, 4.0)):  # noise alone comes to 1/(1 + q) of the bound
        yield Case({"n": 1, "q": q, "sigma": 1.0, "gamma": gamma, "family": "noise alone"}, np.zeros((5, 1)))


_CONSTANT = ((0.25, 120, 1.0), (0.5, 120, 0.125), (0.75, 120, 8.0), (0.875, 120, 1.0), (63 / 64, 900, 1.0))
"""q, steps and size of constant gradients that bring the memory to its limit."""


def _without_noise(_budget: Budget) -> Iterator[Case]:
    for q, steps, size in _CONSTANT:
        yield Case({"n": 3, "q": q, "sigma": 0.0, "family": "constant"}, np.full((steps, 3), size))


@st.composite
def _drawn_noisy(draw: st.DrawFn) -> Case:
    n, T = draw(inputs.integers(1, 5)), draw(inputs.integers(1, 5))
    rng = np.random.default_rng(draw(inputs.integers(0, 2**31)))
    gradients = draw(inputs.sampled_from((0.0, 0.1, 1.0))) * rng.standard_normal((T, n))
    return Case(
        {"n": n, "k": draw(inputs.integers(1, n)), "sigma": draw(inputs.sampled_from((0.0, 0.1, 1.0)))}, gradients
    )


def _noisy_curve(ef14: Any, _seed: int) -> list[Series]:
    """Noise alone, the shrinking compressor."""
    x, bound, measured = [], [], []
    for q in (0.875, 0.75, 0.5, 0.25, 0.125):
        outcome = _noisy_residual(ef14, Case({"n": 1, "q": q, "sigma": 1.0}, np.zeros((9, 1))))
        x.append(1 - q * q)
        bound.append(float(claims()["feedback.ef14.residual_noisy"].bound(**outcome.values)))
        measured.append(float(outcome.measured))
    return [Series("noise alone, nine steps, the compressor that returns 1 - q", "alpha", x, bound, measured)]


def _integer_sequences(level: int) -> Iterator[Case]:
    for entries in itertools.product((0.0, 1.0, 2.0), repeat=4):
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
    for q, steps, size in _CONSTANT:
        yield Case({"n": 3, "q": q, "family": "constant"}, np.full((steps, 3), size))


@st.composite
def _drawn_sequences(draw: st.DrawFn) -> Case:
    n, steps = draw(inputs.integers(1, 6)), draw(inputs.integers(1, 8))
    rng = np.random.default_rng(draw(inputs.integers(0, 2**31)))
    gradients = rng.standard_normal((1, n)) + draw(inputs.sampled_from((0.0, 0.1, 1.0))) * rng.standard_normal(
        (steps, n)
    )
    return Case({"n": n, "k": draw(inputs.integers(1, n))}, gradients)


def _nudged(rng: np.random.Generator, case: Case) -> Case:
    array = case.array[:120].copy()  # longer sequences would take up the time
    array[rng.integers(len(array))] += 0.3 * rng.standard_normal(array.shape[1:])
    return Case({**{k: v for k, v in case.settings.items() if k not in ("exact", "family")}}, array)


def _over_alpha(name: str, trial: Callable[[Any, Case], Outcome], arrays: Callable[[int], Array]) -> Any:
    """Bound and measurement over alpha: Top-K on random inputs, and the shrinking compressor as worst."""

    def curves(mechanism: Any, seed: int) -> list[Series]:
        n, x, bound, worst, middle = 8, [], [], [], []
        for k in range(1, n):
            q = float(np.sqrt(1 - k / n))
            outcomes = [
                trial(mechanism, Case(settings, arrays(seed))) for settings in ({"n": n, "q": q}, {"n": n, "k": k})
            ]
            shares = [float(o.measured) / float(bound_at(claims()[name], o.values)) for o in outcomes]
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


def _lag(ef21: Any, case: Case) -> Outcome:
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
    n = draw(inputs.integers(1, 8))
    rows = np.random.default_rng(draw(inputs.integers(0, 2**31))).standard_normal((3, n))
    rows[2] = rows[1] + draw(inputs.sampled_from((0.0, 0.1, 1.0, 10.0))) * (rows[2] - rows[1])
    return Case({"n": n, "k": draw(inputs.integers(1, n))}, rows)


def _turn_arrays(seed: int) -> Array:
    rows = np.random.default_rng(seed).standard_normal((3, 8))
    rows[0] = 0.0
    rows[2] = 2 * rows[1]
    return rows


_RESIDUALS = (
    "all constant sequences of entries 0, 1, 2 with three of four kept, and integers at random; rational numbers"
)

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
        "feedback.ef14.residual_noisy",
        "EF14",
        _noisy_residual,
        grid=_noisy_sequences,
        corpus=_noisy_corpus,
        cases=_drawn_noisy,
        extremal=_without_noise,
        curves=_noisy_curve,
        enumerated="gradients and noise of small integers, all signs of the noise; rational numbers",
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
)
