"""What the models of error feedback take as given, against runs of the mechanisms: every condition, every goal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from goal_values import seen_at

from commbounds import theory
from commbounds.collectives import FeedbackSGD
from commbounds.compressors import EF14, EF21, EF21M, EControl, Feedback, FeedbackState, Plain, TopK
from commbounds.verify.certify.certificate import models
from commbounds.verify.experiments.feedback import few_steps
from commbounds.verify.experiments.feedback.runs import FeedbackRun, Quadratics, Shrunk

BOOK, MODELS = theory.claims(), models()
SIZES = [(1, 2, 1), (2, 3, 1), (3, 4, 3), (2, 2, 2)]
"""P, n, k."""
STEPS = 2


def unscaled(start: few_steps.Start) -> list[Any]:
    """Of one worker's few steps: a step's gradient, memory and momentum in it, f less its least value."""
    state, found = start.state, []
    for t in range(start.row.horizon):
        gradients, value = start.functions.slopes(state.weights), start.functions.gap(state.weights)
        state = start.descent(FeedbackSGD, t).step(gradients, state)[0]
        found.append((gradients[0], state.workers[0].memory, state.workers[0].momentum, value))
    return found


class Form:
    """An expression to be evaluated: products of two vectors are inner products."""

    def __init__(self, expression: Any, vectors: set[str]) -> None:
        expression = sp.sympify(expression)
        expression = expression.xreplace({s: sp.Symbol(s.name) for s in expression.free_symbols if s.name in vectors})
        names = [s for s in expression.free_symbols if s.name in vectors]
        terms = sp.Poly(expression, *names).terms() if names else [((), expression)]
        coefficients = [coefficient for _, coefficient in terms]
        symbols = sorted(set().union(*(c.free_symbols for c in coefficients)), key=str)
        self._numbers = [s.name for s in symbols]
        self._coefficients = sp.lambdify(symbols, coefficients)
        self._factors = [[s.name for s, e in zip(names, powers, strict=True) for _ in range(e)] for powers, _ in terms]
        assert {len(factors) for factors in self._factors} <= {0, 2}

    def __call__(self, numbers: dict[str, float], vectors: dict[str, Any]) -> float:
        coefficients = self._coefficients(*(numbers[name] for name in self._numbers))
        products = [(vectors[f[0]] * vectors[f[1]]).sum() if f else 1.0 for f in self._factors]
        return float(sum(c * p for c, p in zip(coefficients, products, strict=True)))


@cache
def forms(claim: str) -> dict[str, dict[str, Form]]:
    """By goal: its conditions, zeros, and what it shows."""
    return {
        goal.name: {
            name: Form(expression, {s.name for s in goal.vectors})
            for name, expression in {
                **goal.given,
                **goal.positive,
                **{f"{name}, no more": -zero for name, zero in goal.zero.items()},
                **goal.zero,
                "what is shown": goal.show,
            }.items()
        }
        for goal in MODELS[claim].goals(BOOK[claim].relation.rhs)
    }


def agrees(claim: str, goal: str, numbers: dict[str, float], vectors: dict[str, Any] | None = None) -> None:
    """Whether the conditions of a goal are met, and what it shows is true, for these values."""
    for name, form in forms(claim)[goal].items():
        assert form(numbers, vectors or {}) >= -1e-9, (claim, goal, name)
    seen_at(claim, goal, {**numbers, **(vectors or {})})


def runs(mechanism: Feedback, problem: Quadratics, gamma: float, sigma: float) -> Iterator[FeedbackRun]:
    """Of all signs of a noise of the workers in every step."""
    P, n = problem.a.shape
    for signs in itertools.product((1.0, -1.0), repeat=P * (STEPS + 1) if sigma else 0):
        noise = np.reshape(signs, (STEPS + 1, P, 1)) * np.full(n, sigma / n**0.5) if signs else None
        yield FeedbackRun.of(FeedbackSGD(mechanism, gamma), problem, np.zeros(n), STEPS + 1, noise)


def stacked(values: Sequence[Any]) -> Any:
    """A random vector: equally likely values one below the other, so that inner products are expected ones."""
    return np.array(values) / np.sqrt(len(values))


def of_all(values: Any) -> Any:
    """Equally likely values (P, n) of all workers' vectors: the inner product is the mean of the workers'."""
    return stacked(values) / np.sqrt(np.shape(values)[1])


def squared(vector: Any) -> float:
    return float((vector * vector).sum())


@pytest.mark.models("feedback.ef14.residual", "feedback.ef14.residual_noisy", "feedback.ef14.residual_simple")
@pytest.mark.parametrize("sigma", [0.0, 1.5])
def test_residuals(sigma):
    claims = ["residual_noisy"] if sigma else ["residual", "residual_simple", "residual_noisy"]
    for seed, (n, compressor, q) in itertools.product(
        range(3), ((3, TopK(1), (2 / 3) ** 0.5), (4, TopK(3), 0.5), (2, Shrunk(0.75), 0.75))
    ):
        rng, gamma = np.random.default_rng([seed, n]), 0.5
        gradients = rng.standard_normal((4, n))
        numbers = {"q": q, "reach": gamma * float(np.linalg.norm(gradients, axis=1).max()), "stepsize": gamma}
        numbers |= {"variance": sigma**2}
        memories = []
        for signs in itertools.product((1.0, -1.0), repeat=4 if sigma else 0):
            noise = np.reshape(signs, (4, 1)) * np.full(n, sigma / n**0.5) if signs else np.zeros((4, n))
            state, residuals = EF14(compressor).start(gradients[0]), [np.zeros(n)]
            for gradient in gamma * (gradients + noise):
                _, state = EF14(compressor).step(state, gradient)
                residuals.append(state.memory)
            memories.append(residuals)
        for t in range(4):
            vectors = {
                "e": stacked([m[t] for m in memories]),
                "g": stacked([gamma * gradients[t]] * len(memories)),
                "new": stacked([m[t + 1] for m in memories]),
            }
            for claim in claims:
                agrees(f"feedback.ef14.{claim}", "residual", numbers, vectors)
                agrees(f"feedback.ef14.{claim}", "bound", numbers)


@pytest.mark.models("feedback.ef14.rate", "feedback.ef14.rate_noisy")
@pytest.mark.parametrize(("claim", "sigma"), [("rate", 0.0), ("rate_noisy", 1.5)])
@pytest.mark.parametrize(("P", "n", "k"), SIZES)
def test_steps_of_ef14(claim, sigma, P, n, k):
    name, problem = f"feedback.ef14.{claim}", Quadratics.drawn(P, n, 5, False)
    gamma, count = 1 / (2 * problem.L), 0
    found = list(runs(EF14(TopK(k)), problem, gamma, sigma))
    count = len(found)
    own = [stacked([problem.own(run.x(t)) for run in found]) for t in range(STEPS + 1)]
    reach = gamma * max(np.sqrt((g * g).sum(axis=(0, 2)).max()) for g in own)
    numbers = {"q": (1 - k / n) ** 0.5, "stepsize": gamma, "smoothness": problem.L, "variance": sigma**2}
    numbers |= {"reach": reach, "P": P, "horizon": STEPS, "gap": problem.gap(np.zeros(n))}
    slopes = residuals = 0.0
    for t in range(STEPS):
        before = [run.memory(t - 1, False) if t else np.zeros((P, n)) for run in found]
        after = [run.memory(t, False) for run in found]
        for p in range(P):
            vectors = {"e": stacked([e[p] for e in before]), "g": gamma * own[t][:, p]}
            agrees(name, "residual", numbers, {**vectors, "new": stacked([e[p] for e in after])})
        here = [run.x(t) - e.mean(axis=0) for run, e in zip(found, before, strict=True)]
        there = [run.x(t + 1) - e.mean(axis=0) for run, e in zip(found, after, strict=True)]
        vectors = {
            "e": stacked([e.mean(axis=0) for e in before]),
            "slope_at_x": own[t].mean(axis=1),
            "slope_at_y": stacked([problem.mean(y) for y in here]),
        }
        gaps = {"before": sum(map(problem.gap, here)) / count, "after": sum(map(problem.gap, there)) / count}
        agrees(name, "step", {**numbers, **gaps}, vectors)
        slopes, residuals = slopes + squared(vectors["slope_at_x"]), residuals + squared(vectors["e"])
    agrees(name, "sum", {**numbers, "slopes": slopes, "residuals": residuals})


@pytest.mark.models(
    "feedback.ef21.contraction",
    "feedback.ef21.descent",
    "feedback.ef21.descent_sharp",
    "feedback.ef21.pl",
    "feedback.ef21.rate",
)
@pytest.mark.parametrize(("P", "n", "k"), SIZES)
@pytest.mark.parametrize("claim", ["descent", "descent_sharp", "rate", "pl", "contraction"])
def test_steps_of_ef21(claim, P, n, k):
    name, problem, q = f"feedback.ef21.{claim}", Quadratics.drawn(P, n, 6, False), (1 - k / n) ** 0.5
    stretch, apart = (2**0.5 if claim == "pl" else 1.0), float(np.sqrt(problem.Lt_square))
    gamma = 1 / (problem.L + stretch * apart * q / (1 - q)) * (1 - 1e-12)
    largest = float(np.hypot(problem.L, 2 * q / (1 - q) * ((apart**2 + q * problem.L**2) / (1 + q)) ** 0.5))
    if claim == "pl":
        gamma = min(gamma, (1 - q) / (2 * problem.mu))
    if claim == "descent_sharp":
        gamma = 2 / (problem.L + largest) * (1 - 1e-12)
    (run,) = runs(EF21(TopK(k), dense=False), problem, gamma, 0.0)
    lags = [of_all([run.memory(t, False) - problem.own(run.x(t))]) for t in range(STEPS + 1)]
    gaps = [problem.gap(run.x(t)) for t in range(STEPS + 1)]
    numbers = {"q": q, "stepsize": gamma, "smoothness": problem.L, "smoothness_apart": apart, "horizon": STEPS}
    numbers |= {"convexity": problem.mu, "root": 2**0.5}
    slopes = 0.0
    for t in range(STEPS):
        turn = of_all([problem.own(run.x(t + 1)) - problem.own(run.x(t))])
        if claim == "descent_sharp":
            means = {"d": lags[t], "turn": turn}
            vectors = {s: np.repeat(v.mean(axis=1, keepdims=True), P, axis=1) for s, v in means.items()}
            vectors |= {f"{s}_apart": v - vectors[s] for s, v in means.items()}
            slope = np.broadcast_to(problem.mean(run.x(t)) / P**0.5, turn.shape)
            now = {"gap": gaps[t], "after": gaps[t + 1], "lag_after": squared(lags[t + 1])}
            agrees(name, "descent", {**numbers, **now}, {**vectors, "slope_at_x": slope})
            continue
        agrees(name, "contraction", numbers, {"d": lags[t], "turn": turn, "new": lags[t + 1]})
        slope, estimate = problem.mean(run.x(t)), run.memory(t, False).mean(axis=0)
        slopes += squared(slope)
        if claim == "contraction":
            continue
        agrees(name, "step size", numbers)
        now = {"gap": gaps[t], "after": gaps[t + 1], "lag": squared(lags[t]), "lag_after": squared(lags[t + 1])}
        goal = "fall" if claim == "pl" else "descent"
        agrees(name, goal, {**numbers, **now}, {"slope_at_x": slope, "estimate": estimate})
    if claim == "rate":
        agrees(name, "sum", {**numbers, "gap": gaps[0], "lag": squared(lags[0]), "slopes": slopes})


@pytest.mark.models(
    "feedback.arc.bound",
    "feedback.ef21m.bound",
    "feedback.ef21m.descent",
    "feedback.ef21m.lag",
    "feedback.ef21m.momentum",
)
@pytest.mark.parametrize("eta", [0.25, 1.0])
@pytest.mark.parametrize("sigma", [0.0, 1.5])
@pytest.mark.parametrize(("P", "n", "k"), SIZES)
def test_steps_of_ef21m(sigma, eta, P, n, k):
    problem, alpha = Quadratics.drawn(P, n, 7, False), k / n
    apart = float(np.sqrt(problem.Lt_square))
    gamma = min(alpha / (8 * apart), eta / (3 * problem.L)) * (1 - 1e-12)
    found = list(runs(EF21M(TopK(k), eta=eta, dense=False), problem, gamma, sigma))
    numbers = {"alpha": alpha, "eta": eta, "stepsize": gamma, "smoothness": problem.L, "smoothness_apart": apart}
    numbers |= {"variance": sigma**2, "P": P, "horizon": STEPS}
    slopes, shifts, lags, mean_lags, momenta, owns = [], [], [], [], [], []
    for t in range(STEPS):
        x, y = ([run.x(s) for run in found] for s in (t, t + 1))
        g, h = [run.memory(t, False) for run in found], [run.momentum(t, False) for run in found]
        g_after, h_after = [run.memory(t + 1, False) for run in found], [run.momentum(t + 1, False) for run in found]
        grad, grad_after = np.array([problem.own(v) for v in x]), np.array([problem.own(v) for v in y])
        slope, estimate, momentum = (stacked(np.mean(v, axis=1)) for v in (grad, g, h))
        shift = squared(stacked(y) - stacked(x))
        new = stacked(np.mean(h_after - grad_after, axis=1))
        vectors = {"d": momentum - slope, "turn": slope - stacked(np.mean(grad_after, axis=1)), "new": new}
        agrees("feedback.ef21m.momentum", "momentum", {**numbers, "shift": shift}, vectors)
        own = of_all(h - grad)
        vectors = {"d": own, "turn": of_all(grad - grad_after), "new": of_all(h_after - grad_after)}
        agrees("feedback.ef21m.bound", "own momenta", {**numbers, "shift": shift}, vectors)
        lag = of_all(np.array(h) - np.array(g))
        new = of_all(np.array(g_after) - np.array(h_after))
        vectors = {"a": lag, "d": -own, "turn": of_all(grad_after - grad), "new": new}
        agrees("feedback.ef21m.lag", "lag", {**numbers, "shift": shift}, vectors)
        gaps = {
            "gap": float(np.mean([problem.gap(v) for v in x])),
            "after": float(np.mean([problem.gap(v) for v in y])),
        }
        vectors = {"slope_at_x": slope, "estimate": estimate, "momentum": momentum}
        agrees("feedback.ef21m.descent", "descent", {**numbers, **gaps}, vectors)
        slopes.append(squared(slope))
        shifts.append(shift)
        lags.append(squared(lag))
        mean_lags.append(squared(estimate - momentum))
        momenta.append(squared(momentum - slope))
        owns.append(squared(own))
    numbers |= {"gap": problem.gap(np.zeros(n)), "slopes": sum(slopes), "shifts": sum(shifts)}
    numbers |= {"momentum_lag": momenta[0], "momentum_lags": sum(momenta), "own_lag": owns[0], "own_lags": sum(owns)}
    assert all(mean <= every + 1e-12 for mean, every in zip(mean_lags, lags, strict=True))
    for goal in ("half step", "square of alpha", "square of eta", "step size", "sum"):
        agrees("feedback.ef21m.bound", goal, {**numbers, "lag": lags[0], "lags": sum(lags)})
        if P == 1:  # ARC-Top-K of one worker is its compressor
            agrees("feedback.arc.bound", goal, {**numbers, "lag": lags[0], "lags": sum(lags)})


CONVEX = [(1, 1, 1), (1, 2, 1), (1, 4, 3), (3, 1, 1), (3, 2, 1), (2, 4, 3)]
"""P, n, k."""


def convex(P: int, n: int, k: int, seed: int) -> tuple[Any, float, float, float, Any]:
    """A generator, q, z, the middle of the curvatures, and Hessians (P, n, n) within them."""
    rng, q, middle = np.random.default_rng([seed, n, P]), (1 - k / n) ** 0.5, 2.0
    spread = 0.1 + 0.8 * rng.random()
    z = ((1 - q) * spread + np.sqrt((1 - q) ** 2 * spread**2 + 4 * q)) / 2
    bases = [np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(P)]
    spectra = [middle * (1 + spread * rng.uniform(-1, 1, n)) for _ in range(P)]
    return rng, q, float(z), middle, np.array([(b * s) @ b.T for b, s in zip(bases, spectra, strict=True)])


def averages(name: str, of_workers: Any) -> dict[str, Any]:
    """The average of the workers' vectors, and what they differ by from it as one vector."""
    mean = of_workers.mean(axis=0)
    return {name: mean, f"{name.removesuffix('_at_x')}_apart": of_all([of_workers - mean])}


@pytest.mark.models("feedback.ef21.strongly_convex", "feedback.ef21.strongly_convex_workers")
@pytest.mark.parametrize(("P", "n", "k"), CONVEX)
def test_convex_steps_of_ef21(P, n, k):
    for seed in range(10):
        rng, q, z, middle, hessians = convex(P, n, k, seed)
        x, estimates, centres = rng.standard_normal(n), rng.standard_normal((P, n)), rng.standard_normal((P, n))
        after = x - (1 - q) / (1 + q) / middle * estimates.mean(axis=0)
        slopes, turns = (np.einsum("pij,pj->pi", hessians, point - centres) for point in (x, after))
        states = [EF21(TopK(k)).step(FeedbackState(g), turn)[1] for g, turn in zip(estimates, turns, strict=True)]
        new = of_all([np.array([state.memory for state in states]) - turns])
        vectors = averages("slope_at_x", slopes) | averages("d", estimates) | averages("turn", turns) | {"new": new}
        claims = ["strongly_convex_workers", *(["strongly_convex"] if P == 1 else [])]
        for claim, goal in itertools.product(claims, ("root", "step")):
            agrees(f"feedback.ef21.{claim}", goal, {"q": q, "z": z, "middle": middle}, vectors)
        agrees("feedback.ef21.strongly_convex_workers", "apart", {"q": q, "z": z, "middle": middle})


@pytest.mark.models("feedback.ef14.strongly_convex", "feedback.ef14.strongly_convex_workers")
@pytest.mark.parametrize(("P", "n", "k"), CONVEX)
def test_convex_steps_of_ef14(P, n, k):
    for seed in range(10):
        rng, q, z, middle, hessians = convex(P, n, k, seed)
        x, residuals, gamma = rng.standard_normal(n), rng.standard_normal((P, n)), (1 - q) / (1 + q) / middle
        slopes = hessians @ x
        steps = [EF14(TopK(k)).step(FeedbackState(e), gamma * g) for e, g in zip(residuals, slopes, strict=True)]
        new, sent = (np.array(v) for v in zip(*((s.memory, m.dense()) for m, s in steps), strict=True))
        moved = x - sent.mean(axis=0) - new.mean(axis=0)  # the average's goes as the model says
        # on either side a handful of roundings and sums over the workers, each of no more than these magnitudes
        sizes = abs(x) + (abs(residuals) + gamma * abs(slopes)).sum(axis=0)
        assert (
            abs(moved - (x - residuals.mean(axis=0) - gamma * slopes.mean(axis=0))) <= (2 * P + 8) * 2.0**-53 * sizes
        ).all()
        vectors = averages("slope_at_x", slopes) | averages("e", residuals) | {"d": x, "new": of_all([new])}
        claims = ["strongly_convex_workers", *(["strongly_convex"] if P == 1 else [])]
        for claim, goal in itertools.product(claims, ("root", "step")):
            agrees(f"feedback.ef14.{claim}", goal, {"q": q, "z": z, "middle": middle}, vectors)
        agrees("feedback.ef14.strongly_convex_workers", "apart", {"q": q, "z": z, "middle": middle})


@pytest.mark.models("feedback.cgd.factor")
@pytest.mark.parametrize("compressor", [TopK(1), Shrunk(0.5), Shrunk(-0.5)])
def test_convex_steps_without_feedback(compressor):
    for seed in range(10):
        rng, L, mu, n = np.random.default_rng(seed), 2.0, 0.3, 2
        r = 0.5**0.5 if isinstance(compressor, TopK) else 0.5
        basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
        hessian, x = (basis * rng.choice([mu, L], n)) @ basis.T, rng.standard_normal(n)
        descent = FeedbackSGD(Plain(compressor), 2 / ((1 - r) * mu + (1 + r) * L))
        after = descent.step((hessian @ x)[None], descent.start(x, 1))[0].weights
        sent = (x - after) * ((1 - r) * mu + (1 + r) * L) / 2
        numbers = {"q": r, "smoothness": L, "convexity": mu, "gap": x @ hessian @ x / 2}
        vectors = {"e": x, "slope_at_x": hessian @ x, "turn": hessian @ after, "d": sent}
        agrees("feedback.cgd.factor", "step", {**numbers, "after": after @ hessian @ after / 2}, vectors)


@pytest.mark.models("feedback.ef14.rate_share", "feedback.ef21.rate_share", "feedback.ef21m.bound_share")
@pytest.mark.parametrize(
    ("claim", "mechanism"), [("ef14.rate", "EF14"), ("ef21.rate", "EF21"), ("ef21m.bound", "EF21M")]
)
def test_few_steps(claim, mechanism):
    name = f"feedback.{claim}_share"
    # one row of five: the claim's study runs them all, here the models' conditions are computed from a run
    for number, row in list(enumerate(few_steps.ROWS[mechanism], 1))[::5]:
        *_, goal = MODELS[name].goals(BOOK[name].relation.rhs, number)
        held = {s.name for s in goal.vectors}
        known = {what: Form(e, held) for what, e in {**goal.given, "what is shown": goal.show}.items()}
        for start in few_steps.some_starts(mechanism, row):
            run = unscaled(start)
            numbers, vectors = {"lowest": 0.0}, {}
            for t, (gradient, memory, momentum, value) in enumerate(run):
                numbers[f"f{t}"] = value
                vectors |= {f"slope{t}": gradient, f"estimate{t}": memory, f"residual{t + 1}": memory}
                vectors |= {f"momentum{t}": momentum}
            numbers["largest_step_squared"] = start.gamma**2 * max(squared(gradient) for gradient, *_ in run)
            for what, form in known.items():
                assert form(numbers, vectors) >= -1e-9, (start, what)


@pytest.mark.models("feedback.ef14.rate_share_workers", "feedback.ef21.rate_share_workers")
@pytest.mark.parametrize("mechanism", ["EF14", "EF21"])
def test_few_steps_of_workers(mechanism):
    name = f"feedback.{mechanism.lower()}.rate_share_workers"
    for number, row in list(enumerate(few_steps.ROWS_OF_WORKERS[mechanism], 1))[::5]:
        *_, goal = MODELS[name].goals(BOOK[name].relation.rhs, number)
        held = {s.name for s in goal.vectors}
        known = {what: Form(e, held) for what, e in {**goal.given, "what is shown": goal.show}.items()}
        for start in few_steps.some_starts(mechanism, row):
            problem, state = start.functions, start.state
            turned = problem.slopes(state.weights)
            turned -= turned.mean(axis=0)  # linear functions that cancel, which EF21's model takes away
            turned = np.zeros_like(turned) if mechanism == "EF14" else turned
            numbers, vectors, reach = {}, {}, 0.0
            numbers["lowest"] = problem.values(state.weights).mean() - problem.gap(state.weights)
            for t in range(row.horizon):
                gradients, values, at = problem.slopes(state.weights), problem.values(state.weights), state.weights
                state = start.descent(FeedbackSGD, t).step(gradients, state)[0]
                reach = max(reach, *(squared(gradient) for gradient in gradients))
                vectors["slope_0"] = (gradients - turned)[0] if t == 0 else vectors["slope_0"]
                for w, worker in enumerate(state.workers):
                    numbers[f"f_{w}_{t}"] = values[w] - (turned[w] * at).sum()
                    vectors |= {f"slope_{w}_{t}": gradients[w] - turned[w], f"residual_{w}_{t + 1}": worker.memory}
                    vectors |= {f"estimate_{w}_{t}": worker.memory - turned[w]}
            numbers["largest_step_squared"] = start.gamma**2 * reach
            for what, form in known.items():
                assert form(numbers, vectors) >= -1e-9 * (1 + reach), (start, what)


@pytest.mark.models("feedback.econtrol.rate")
@pytest.mark.parametrize("eta", [0.25, 0.5, 1.0])  # for much smaller weights q is ill-conditioned in rho
@pytest.mark.parametrize(("compressor", "q"), [(TopK(3), 0.5), (Shrunk(0.75), 0.75), (Shrunk(-0.125), 0.125)])
def test_steps_of_econtrol(eta, compressor, q):
    """What compression leaves out, the next error and the next vector to compress, at a gradient that stands still."""
    rng, b = np.random.default_rng(17), (1 + q) * eta - (1 - q)
    mechanism, gradient = EControl(compressor, eta=eta), rng.standard_normal(4)
    state = FeedbackState(rng.standard_normal(4), error=rng.standard_normal(4))
    numbers = {"error_weight": eta, "rho": (abs(b) + (b * b + 4 * q) ** 0.5) / 2}
    for _ in range(3):
        e, w = state.error, eta * state.error + gradient - state.memory
        message, state = mechanism.step(state, gradient)
        left = w - compressor.decompress(message)
        assert state.error == pytest.approx((1 - eta) * e + left, abs=1e-12)
        after = eta * state.error + gradient - state.memory
        assert after == pytest.approx((1 + eta) * left - eta**2 * e, abs=1e-12)
        goal = "step, b >= 0" if b >= 0 else "step, b <= 0"
        agrees("feedback.econtrol.rate", goal, numbers, {"e": e, "w": w, "r": left})
