"""EControl: one step from any state, and descents of which nothing is lost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.compressors import EControl, FeedbackState, TopK
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import EPS, FeedbackRun, Quadratics, Shrunk, lifted, square
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

Array = NDArray[Any]


def _compressor(case: Case) -> tuple[Any, Fraction]:
    """Top-K, or what returns 1 - q of its input; and its contraction. q below zero returns more."""
    s = case.settings
    if "k" in s:
        return TopK(s["k"]), Fraction(s["k"], case.array.shape[1])
    return Shrunk(s["q"]), 1 - Fraction(s["q"]) ** 2


# --- one step --------------------------------------------------------------------------------------------------------


def _energy(econtrol: Any, case: Case) -> Outcome:
    """Rows of the array are the error, the estimate and the gradient."""
    error, estimate, gradient = case.array
    exact, eta = bool(case.settings.get("exact")), case.settings["eta"]
    compressor, alpha = _compressor(case)
    mechanism = econtrol(compressor, eta=eta)
    _, state = mechanism.step(FeedbackState(estimate.copy(), error=error.copy()), gradient)
    weight = Fraction(eta) if exact else eta
    q = _root(1 - alpha, exact)
    e, g, c = (lifted(row, exact) for row in (error, estimate, gradient))
    after, kept = lifted(state.error, exact), lifted(state.memory, exact)
    values = {
        "alpha": alpha, "error_weight": Fraction(eta), "squared_error": square(e),
        "squared_offer": square(weight * e + c - g),
    }  # fmt: skip
    measured = weight**2 * square(after) + q * square(weight * after + c - kept)
    scale = float(square(e) + square(g) + square(c))
    return Outcome(measured, values, 0.0 if exact else 64 * EPS * (scale + float(measured)))


def _root(value: Fraction, exact: bool) -> Any:
    """Square root: of a square of fractions, where the case is exact."""
    if not exact:
        return float(value) ** 0.5
    found = Fraction(int(value.numerator**0.5), int(value.denominator**0.5))
    if found**2 != value:
        raise ValueError(f"alpha must have a rational root of 1 - alpha in exact cases, got {1 - value}")
    return found


def _worst_start(q: float, eta: float) -> float:
    """What is compressed over the error, where the compressor that returns 1 + q gives nothing away."""
    b = (1 + q) * eta - (1 - q)
    rho = (abs(b) + (b * b + 4 * q) ** 0.5) / 2
    return float((1 - eta + rho) / q if b > 0 else (1 - eta - rho) / q)


def _worst_case(q: float, eta: float, scale: float = 1.0) -> Case:
    """Error and correction along one another."""
    e = scale * np.array([3.0, -1.0])
    return Case({"q": -q, "eta": eta}, np.array([e, np.zeros(2), (_worst_start(q, eta) - eta) * e]))


_WEIGHTS = (0.01, 0.1, 0.25, 0.5, 0.75, 1.0)


def _worst_cases(_budget: Budget) -> Iterator[Case]:
    for q, eta in itertools.product((0.05, 0.25, 0.5, 0.9, 0.99), _WEIGHTS):
        yield _worst_case(q, eta)


def _integer_states(level: int) -> Iterator[Case]:
    """Errors, estimates and gradients of integers, weights and q of few binary digits."""
    rng = np.random.default_rng(41)
    for eta, _ in itertools.product((0.0, 0.125, 0.25, 0.5, 1.0), range(10 * (1 + 4 * level))):
        for kept in ({"k": 3}, {"k": 4}, {"q": 0.5}, {"q": -0.5}, {"q": -0.25}):
            yield Case({"eta": eta, "exact": True, **kept}, 8 * rng.integers(-9, 10, (3, 4)).astype(float))


def _states(_budget: Budget) -> Iterator[Case]:
    rng = np.random.default_rng(42)
    for (n, k), eta, size in itertools.product(((1, 1), (3, 1), (20, 5)), (0.0, 0.03, 0.5, 1.0), (0.1, 10.0)):
        yield Case({"k": k, "eta": eta}, np.array([[size], [0.0], [1.0]]) * rng.standard_normal((3, n)))
    for q, eta in itertools.product((0.01, 0.3, 0.99), (0.02, 0.6, 1.0)):
        yield _worst_case(q, eta, 1e3)


@st.composite
def _drawn_states(draw: st.DrawFn) -> Case:
    n, eta = draw(inputs.integers(1, 6)), draw(inputs.sampled_from((0.01, 0.1, 0.5, 0.9, 1.0)))
    rng = np.random.default_rng(draw(inputs.integers(0, 2**31)))
    rows = draw(inputs.sampled_from((0.1, 1.0, 10.0))) * rng.standard_normal((3, n))
    return Case({"k": draw(inputs.integers(1, n)), "eta": eta}, rows)


def _rate_curve(econtrol: Any, _seed: int) -> list[Series]:
    """The worst states, over the weight of the error."""
    found, weights = [], list(np.linspace(0.05, 1.0, 20))
    for q in (0.25, 0.5, 0.75):
        outcomes = [_energy(econtrol, _worst_case(q, eta)) for eta in weights]
        scale = [float(o.values["error_weight"] ** 2 * o.values["squared_error"]) for o in outcomes]
        scale = [by + q * float(o.values["squared_offer"]) for by, o in zip(scale, outcomes, strict=True)]
        claim = claims()["feedback.econtrol.rate"]
        bound = [float(claim.bound(**o.values)) / by for o, by in zip(outcomes, scale, strict=True)]
        measured = [float(o.measured) / by for o, by in zip(outcomes, scale, strict=True)]
        found.append(Series(f"worst states, q = {q:g}, over the sum before", "error_weight", weights, bound, measured))
    return found


# --- many steps ------------------------------------------------------------------------------------------------------


def _grown(econtrol: Any, case: Case) -> Any:
    """The error after the steps over that at first."""
    s = case.settings
    error, estimate, gradient = case.array
    mechanism, state = econtrol(_compressor(case)[0], eta=s["eta"]), FeedbackState(estimate.copy(), error=error.copy())
    for _ in range(s["steps"]):
        _, state = mechanism.step(state, gradient)
    after = np.asarray(state.error)
    if s.get("exact"):
        return abs(Fraction(float(after[0])) / Fraction(float(error[0])))
    return float(np.linalg.norm(after) / np.linalg.norm(error))


def _growth(econtrol: Any, case: Case) -> Outcome:
    """The compressor returns 1 + q; all begins along one another."""
    s = case.settings
    values = {"alpha": 1 - Fraction(s["q"]) ** 2, "error_weight": Fraction(s["eta"]), "horizon": s["steps"]}
    measured = _grown(econtrol, case)
    if s.get("exact"):
        return Outcome(measured, values)
    # the other factor, q/rho, is no larger, so a step's roundings grow like the error at most; they are of numbers of
    # the size of what is compressed, of the gradient and of the estimate, which goes to it while the error falls
    allowance = 64 * s["steps"] * EPS * (1 + float(measured)) * (1 + abs(_worst_start(-s["q"], s["eta"])))
    return Outcome(measured, values, allowance)


def _any_weight(econtrol: Any, case: Case) -> Outcome:
    """The same, from any state."""
    alpha, weight = _compressor(case)[1], Fraction(case.settings["eta"])
    measured = _grown(econtrol, case)
    allowance = 64 * case.settings["steps"] * EPS * (1 + float(measured))
    return Outcome(measured, {"alpha": alpha, "error_weight": weight}, 0.0 if case.settings.get("exact") else allowance)


def _stretched(q: float, eta: float, steps: int) -> Case:
    return Case({**_worst_case(q, eta).settings, "steps": steps}, _worst_case(q, eta).array)


def _exact_growth(level: int) -> Iterator[Case]:
    """At eta = 1 and q = m^2/(1 + 2 m) the error grows by m: m = 3/2 and 1/2, whose q has few binary digits."""
    for (q, error, offered), scale in itertools.product(((9 / 16, 3.0, 8.0), (1 / 8, 1.0, 4.0)), (1.0, -2.0)):
        for steps in range(1, 6 + level):
            e = scale * 2.0**12 * np.array([error])
            rows = np.array([e, np.zeros(1), e * (offered / error - 1)])
            yield Case({"q": -q, "eta": 1.0, "steps": steps, "exact": True}, rows)


def _growths(_budget: Budget) -> Iterator[Case]:
    for (q, eta), steps in itertools.product(
        ((0.5, 0.34), (0.5, 0.6), (0.5, 1.0), (0.25, 0.7), (0.25, 1.0), (0.9, 0.06), (0.9, 0.5), (0.99, 0.01)),
        (1, 4, 20),
    ):
        yield _stretched(q, eta, steps)


@st.composite
def _drawn_growths(draw: st.DrawFn) -> Case:
    q = draw(inputs.sampled_from((0.1, 0.3, 0.6, 0.8, 0.95)))
    least = (1 - q) / (1 + q)
    return _stretched(
        q, least + (1 - least) * draw(inputs.sampled_from((0.1, 0.5, 0.9, 1.0))), draw(inputs.integers(1, 9))
    )


def _growth_curve(econtrol: Any, _seed: int) -> list[Series]:
    found, claim = [], claims()["feedback.econtrol.growth"]
    for q in (0.25, 0.5, 0.75):
        weights = list(np.linspace((1 - q) / (1 + q) + 0.01, 1.0, 12))
        outcomes = [_growth(econtrol, _stretched(q, eta, 1)) for eta in weights]
        bound = [float(claim.bound(**o.values)) for o in outcomes]
        measured = [float(o.measured) for o in outcomes]
        found.append(Series(f"returned is 1 + q, q = {q:g}, one step", "error_weight", weights, bound, measured))
    return found


def _any_weights(budget: Budget) -> Iterator[Case]:
    yield from _growths(budget)
    rng = np.random.default_rng(43)
    for (n, k), eta in itertools.product(((3, 1), (20, 5)), (0.03, 0.5, 1.0)):
        yield Case({"k": k, "eta": eta, "steps": 3}, np.array([[10.0], [0.0], [1.0]]) * rng.standard_normal((3, n)))


def _far_curve(econtrol: Any, _seed: int) -> list[Series]:
    """At eta = 1."""
    steps = [1, 2, 4, 8]
    grown = [float(_grown(econtrol, _stretched(0.8, 1.0, T))) for T in steps]
    return [Series("returned is 9/5, eta = 1, by steps", "error_weight", [float(T) for T in steps], [1.0] * 4, grown)]


# --- descents --------------------------------------------------------------------------------------------------------


def _telescoping(sgd: Any, case: Case) -> Outcome:
    """Workers of quadratics; the first gradients are sent whole or not."""
    s, exact = case.settings, bool(case.settings.get("exact"))
    problem, gamma, T, P = (
        Quadratics.drawn(s["P"], s["n"], s["seed"], exact, steps=s["steps"]),
        s["gamma"],
        s["steps"],
        s["P"],
    )
    run = FeedbackRun.of(
        sgd(EControl(TopK(s["k"]), eta=s["eta"], dense=s["dense"]), gamma), problem, np.zeros(s["n"]), T
    )
    size = Fraction(gamma) if exact else gamma
    moved = sum(size * problem.mean(run.x(t)) for t in range(T))
    error = lifted([worker.error for worker in run.states[T].workers], exact).sum(axis=0) / P
    defects = lifted(run.x(T), exact) - size * error - lifted(run.x(0), exact) + moved
    if exact:
        return Outcome(max(abs(v) for v in defects), {})
    seen = [np.abs(problem.gradients(run.x(t))).max() for t in range(T)]
    largest = max(*seen, np.abs(error).max(), *(np.abs(run.memory(t, False)).max() for t in range(T)))
    return Outcome(max(abs(v) for v in defects), {}, 64 * P * T * EPS * float(gamma * largest * T + 1))


def _dyadic_descents(level: int) -> Iterator[Case]:
    """Integers, and step sizes and weights of few binary digits, so that every number of a run is exact."""
    for (P, n, k), eta, dense in itertools.product(
        ((1, 3, 1), (2, 4, 1), (4, 3, 2)), (0.0, 0.25, 0.5, 1.0), (True, False)
    ):
        for steps, seed in itertools.product((1, 2, 4), range(1 + 2 * level)):
            yield Case(
                {
                    "P": P, "n": n, "k": k, "eta": eta, "dense": dense, "steps": steps, "seed": seed, "gamma": 0.125,
                    "exact": True,
                }
            )  # fmt: skip


def _descents(_budget: Budget) -> Iterator[Case]:
    for (P, n, k), eta, steps in itertools.product(((1, 5, 1), (3, 4, 2), (7, 10, 3)), (0.05, 0.3), (3, 20)):
        yield Case({"P": P, "n": n, "k": k, "eta": eta, "dense": P < 5, "steps": steps, "seed": n, "gamma": 0.01})


@st.composite
def _drawn_descents(draw: st.DrawFn) -> Case:
    n = draw(inputs.integers(1, 5))
    settings = {
        "P": draw(inputs.integers(1, 4)),
        "n": n,
        "k": draw(inputs.integers(1, n)),
        "seed": draw(inputs.integers(0, 2**31)),
    }
    more = {"eta": draw(inputs.sampled_from((0.0, 0.1, 1.0))), "gamma": 0.01, "steps": draw(inputs.integers(1, 6))}
    return Case({**settings, **more, "dense": draw(st.booleans())})


CONTROL = (
    Study(
        "feedback.econtrol.telescoping",
        "FeedbackSGD",
        _telescoping,
        grid=_dyadic_descents,
        corpus=_descents,
        cases=_drawn_descents,
        enumerated="quadratics of dyadic curvature and integer centres, dyadic step sizes and weights of the error; "
        "all numbers exact",
    ),
    Study(
        "feedback.econtrol.rate",
        "EControl",
        _energy,
        grid=_integer_states,
        corpus=_states,
        cases=_drawn_states,
        extremal=_worst_cases,
        curves=_rate_curve,
        enumerated="integer errors, estimates and gradients, three or all of four entries kept, or 1 - q or 1 + q of "
        "all; rational numbers",
    ),
    Study(
        "feedback.econtrol.growth",
        "EControl",
        _growth,
        grid=_exact_growth,
        corpus=_growths,
        cases=_drawn_growths,
        curves=_growth_curve,
        enumerated="eta = 1, q = 9/16 and 1/8, where all numbers are exact",
    ),
    Study("feedback.econtrol.any_weight", "EControl", _any_weight, corpus=_any_weights, curves=_far_curve),
)
