"""Ok-Topk SGD: exact runs on integers, the mean residual, the pair of ranks that stalls."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.oktopk.quadratics import QUADRATIC, kept_largest
from commbounds.verify.finding import Series
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.stack_families import FAMILIES, stack
from commbounds.verify.study import Case, Outcome, Study

_EPS = float(np.finfo(np.float64).eps)
_ETA = 0.25


# --- the iterates and the mean residual ---------------------------------------------------------------------------


def _gradients_case(gradients: Array, k: int, period: int, tau: int = 2, **more: Any) -> Case:
    """A run over given gradients (steps, P, n): thresholds are found anew every `period` steps, regions every `tau`.

    Residuals are scaled or raw, by `accumulate`; the step size is constant or `halved` in every step.
    """
    steps, P, n = gradients.shape
    settings = {"P": P, "n": n, "k": k, "steps": steps, "tau_prime": period, "tau": tau}
    settings |= {"accumulate": "scaled", "halved": False, **more}
    return Case(settings, gradients.reshape(steps * P, n))


def _iterate_trial(implementation: Any, case: Case) -> Outcome:
    s = case.settings
    assert case.x is not None
    sgd = implementation(
        s["k"], _ETA, accumulate=s["accumulate"], options={"tau_prime": s["tau_prime"], "tau": s["tau"]}
    )
    state = sgd.start(np.zeros(s["n"]), s["P"])
    plain, worst, eta, waited = np.zeros(s["n"]), Fraction(0), _ETA, False
    for gradients in case.x.reshape(s["steps"], s["P"], s["n"]):
        state, _, _ = sgd.step(gradients, state, step_size=eta)
        plain = plain - eta * gradients.mean(axis=0)  # exact: small integers, powers of two
        unit = eta if s["accumulate"] == "raw" else 1.0
        gap = state.weights - plain - unit * state.residuals.mean(axis=0)
        worst = max(worst, Fraction(float(np.abs(gap).max())))
        waited |= bool(state.residuals.any())
        eta /= 2 if s["halved"] else 1
    return Outcome(worst, {}, active=waited)


def _iterate_grid(level: int) -> Iterator[Case]:
    """Every first gradient of two ranks and two entries in {0, -1, 2}; the second as it was, exchanged or reversed.

    Residuals are scaled and raw, step sizes constant and halved.
    """
    for entries in itertools.product((0.0, -1.0, 2.0), repeat=4):
        first = np.array(entries).reshape(2, 2)
        for second in (first, first[::-1], -first[:, ::-1]):
            for k in (1, 2)[: 1 + level]:
                for period in (1, 3)[: 1 + level]:
                    for accumulate, halved in _VARIANTS:
                        three = np.array([first, second, first])
                        yield _gradients_case(three, k, period, accumulate=accumulate, halved=halved)


_VARIANTS = (("scaled", False), ("scaled", True), ("raw", True))


def _whole_gradients(family: str, P: int, n: int, k: int, seed: int, steps: int) -> Array:
    drawn = np.array([stack(family, P, n, k, seed + t, np.float64) for t in range(steps)])
    return np.rint(drawn * (100.0 / (np.abs(drawn).max() or 1.0)))


def _iterate_corpus(budget: Budget) -> Iterator[Case]:
    for number, family in enumerate(FAMILIES):
        for P, k in ((1, 2), (2, 2), (4, 4), (8, 8))[: 3 + budget.level]:
            n = 2 * P * k
            if FAMILIES[family].fits(P, n, k):
                for accumulate, halved in _VARIANTS:
                    gradients = _whole_gradients(family, P, n, k, number, 5)
                    yield _gradients_case(gradients, k, 1 + number % 3, accumulate=accumulate, halved=halved)


_LONG = 66
"""Steps in which the published periods of 32 and 64 steps come round."""


def _long_runs(budget: Budget) -> Iterator[Case]:
    """The corpus, and runs with the published periods; P divides all gradients, so that means are exact, and not n."""
    yield from _iterate_corpus(budget)
    for P in (1, 2, 3, 5, 8):
        gradients = P * _whole_gradients("iid", P, 2 * P + 1, 2, P, _LONG)
        yield _gradients_case(gradients, 2, 32, 64)


@st.composite
def _iterate_cases(draw: st.DrawFn) -> Case:
    P, n = draw(sampled_from((1, 2, 4, 8))), draw(integers(1, 40))
    k = draw(integers(1, n))
    family = draw(sampled_from(("iid", "heavy-tailed", "same hot layers", "ties")))
    gradients = _whole_gradients(family, P, n, k, draw(integers(0, 2**31)), draw(integers(1, 6)))
    return _gradients_case(gradients, k, draw(integers(1, 4)))


def _residual_case(family: str, P: int, n: int, k: int, seed: int, steps: int, **more: Any) -> Case:
    return Case({"family": family, "P": P, "n": n, "k": k, "seed": seed, "steps": steps, **more})


def _residual_run(implementation: Any, case: Case) -> tuple[float, dict[str, float], float]:
    """Norm of the mean residual after the last step, the symbols of its bounds, and the slack."""
    s = case.settings
    P, n, k = s["P"], s["n"], s["k"]
    sgd = implementation(k, _ETA, options={"tau_prime": 1})
    state = sgd.start(np.zeros(n), P)
    before, move, acc, update, largest_acc = 0.0, 0.0, np.zeros(n), np.zeros(n), 0.0
    for t in range(s["steps"]):
        if s["family"] == "along the residual" and t > 0:
            gradients = np.tile(state.residuals.mean(axis=0), (P, 1))
        else:
            gradients = _floats(s["family"], P, n, k, s["seed"] + t)
        if s.get("cancels") and t == s["steps"] - 1:
            gradients = _cancelling(gradients)
        before = float(np.linalg.norm(state.residuals.mean(axis=0)))
        move = float(np.linalg.norm(_ETA * gradients.mean(axis=0)))
        every = state.residuals + _ETA * gradients
        acc, largest_acc = every.mean(axis=0), float(np.linalg.norm(every))
        state, result, _ = sgd.step(gradients, state)
        update = result.update / P
    missed = float(np.linalg.norm(kept_largest(acc, k) - update))
    # every entry of a residual, a mean and an update carries P + 3 roundings, a norm n/2 + 2 more
    slack = (2 * P + n + 10) * _EPS * (largest_acc + before + 2.0 * move + missed)
    values = {"n": float(n), "k": float(k), "before": before, "move": move, "missed": missed}
    if move > 0.0:  # without, there is no xi, and no claim about it admits the case
        values["xi"] = missed / move
    return float(np.linalg.norm(state.residuals.mean(axis=0))), values, slack


def _residual_trial(implementation: Any, case: Case) -> Outcome:
    return Outcome(*case.once(_residual_run, implementation))


def _cancelling(gradients: Array) -> Array:
    """The first ranks' gradients and, on the others, their opposites; zero on one that is left over."""
    half = len(gradients) // 2
    return np.concatenate([gradients[:half], -gradients[:half], np.zeros_like(gradients[: len(gradients) % 2])])


def _floats(family: str, P: int, n: int, k: int, seed: int) -> Array:
    made = _MADE.get(family)
    return stack(family, P, n, k, seed, np.float64) if made is None else made(P, n)


def _near_equal(P: int, n: int) -> Array:
    return np.tile(1.0 + 1e-6 * np.arange(n), (P, 1))


def _opposed(P: int, n: int) -> Array:
    """Ranks 0 and 1 nearly cancel, and select different entries: the mean is small, and the update is not."""
    x = np.zeros((P, n))
    x[:2, :2] = ((1.0 + 2e-6, -1.0), (-1.0, 1.0 + 1e-6))
    return x


_MADE: Mapping[str, Callable[[int, int], Array]] = MappingProxyType(
    {"nearly equal": _near_equal, "along the residual": _near_equal, "opposed": _opposed}
)
"""Gradients, in the first step of those along the residual, that make the bounds on the residual tight."""


def _residual_corpus(budget: Budget) -> Iterator[Case]:
    for P, n, k in ((1, 100, 1), (2, 50, 1), (3, 50, 5), (5, 100, 10), (8, 100, 2)):
        for family in ("nearly equal", "along the residual"):
            yield _residual_case(family, P, n, k, 0, 2)
    for number, family in enumerate(FAMILIES):
        for P, k in ((1, 2), (2, 2), (4, 4), (7, 3), (16, 16))[: 4 + budget.level]:
            if FAMILIES[family].fits(P, 2 * P * k, k):
                for steps in (1, 4):
                    yield _residual_case(family, P, 2 * P * k, k, number, steps)
                yield _residual_case(family, P, 2 * P * k, k, number, 3, cancels=True)


def _residual_extremal(_budget: Budget) -> Iterator[Case]:
    for P, n, k in ((1, 4, 1), (3, 10, 2), (8, 50, 20)):
        yield _residual_case("nearly equal", P, n, k, 0, 1)
    for P in (2, 3, 5, 8):
        yield _residual_case("opposed", P, 2 * P, 1, 0, 1)


@st.composite
def _residual_cases(draw: st.DrawFn) -> Case:
    P, n = draw(integers(1, 8)), draw(integers(1, 40))
    family = draw(
        sampled_from(("iid", "heavy-tailed", "common + noise", "identical", "same hot layers", "own hot layers"))
    )
    k, seed, steps = draw(integers(1, n)), draw(integers(0, 2**31)), draw(integers(1, 8))
    return _residual_case(family, P, n, k, seed, steps, **({"cancels": True} if draw(integers(0, 3)) == 3 else {}))


def _residual_curve(implementation: Any, seed: int, statement: str = "residual") -> Sequence[Series]:
    """Measured over bound, for k from one to all of 64 entries on 8 ranks."""
    ks = [1, 2, 4, 8, 16, 32, 64]

    def share(case: Case) -> float:
        outcome = _residual_trial(implementation, case)
        bound = claims()[f"oktopk.sgd.{statement}"].bound(**outcome.values)
        return float(outcome.measured) / float(bound) if bound else 1.0

    drawn = [[share(_residual_case("iid", 8, 64, k, seed % 2**31 + 10 * j, 1 + j)) for j in range(12)] for k in ks]
    low, mid, high = np.quantile(drawn, (0.05, 0.5, 0.95), axis=1)
    worst = [share(_residual_case("nearly equal", 8, 64, k, 0, 1)) for k in ks]
    series = Series(
        "n = 64, 8 ranks, up to 12 steps", "k", [float(k) for k in ks], [1.0] * len(ks), worst, relative=True,
        random_low=low.tolist(), random_mid=mid.tolist(), random_high=high.tolist(),
    )  # fmt: skip
    return (series,)


# --- the pair that stalls -----------------------------------------------------------------------------------------


def _stalling_case(t: int, size: int, n: int = 2, allowed: int = 0) -> Case:
    """`t` steps of the pair whose large entries are +-`size` and cancel; `allowed` is the constant that xi may have."""
    return Case({"P": 2, "n": n, "k": 1, "steps": t, "B": size, "xi": allowed, "tau_prime": 1})


def _realised_xi(implementation: Any, case: Case) -> Fraction:
    """The xi of the last step, exactly: all numbers are small integers times powers of two."""
    s = case.settings
    sgd = implementation(1, _ETA, options={"tau_prime": s["tau_prime"]})
    weights = np.zeros(s["n"])
    weights[1] = 1.0
    state = sgd.start(weights, 2)
    square = Fraction(0)
    for _ in range(s["steps"]):
        gradients = np.tile(np.where(np.arange(s["n"]) == 1, state.weights, 0.0), (2, 1))
        gradients[0, 0], gradients[1, 0] = s["B"], -s["B"]
        acc = (state.residuals + _ETA * gradients).mean(axis=0)
        step = _ETA * gradients.mean(axis=0)
        state, result, _ = sgd.step(gradients, state)
        off = [Fraction(float(v)) for v in kept_largest(acc, 1) - result.update / 2]
        moved = sum(Fraction(float(v)) ** 2 for v in step)
        square = sum((v * v for v in off), Fraction(0)) / moved if moved else Fraction(0)
    root = sp.sqrt(sp.Rational(square.numerator, square.denominator))
    assert root.is_Rational  # one entry of either vector is not zero
    return Fraction(int(root.p), int(root.q))


def _stall_trial(implementation: Any, case: Case) -> Outcome:
    return Outcome(_realised_xi(implementation, case), {"horizon": case.settings["steps"]})


def _assumption_trial(implementation: Any, case: Case) -> Outcome:
    return Outcome(_realised_xi(implementation, case), {"xi": case.settings["xi"]})


def _stall_grid(level: int) -> Iterator[Case]:
    for t in range(1, (12, 40, 200)[level]):
        for size in (t + 1, 1024):
            for n in (2, 5):
                yield _stalling_case(t, size, n)


def _assumption_corpus(_budget: Budget) -> Iterator[Case]:
    for allowed in (1, 3, 10):
        for t in (allowed, allowed + 1, 2 * allowed + 1):
            yield _stalling_case(t, 1024, allowed=allowed)


def _assumption_extremal(_budget: Budget) -> Iterator[Case]:
    yield _stalling_case(40, 1024, allowed=1)


def _stall_curve(implementation: Any, _seed: int) -> Sequence[Series]:
    steps = [1, 2, 5, 10, 20, 50]
    measured = [float(_realised_xi(implementation, _stalling_case(t, 1024))) for t in steps]
    bound = [float(claims()["oktopk.sgd.stall"].bound(horizon=t)) for t in steps]
    return (Series("P = 2, k = 1, B = 1024", "horizon", [float(t) for t in steps], bound, measured),)


def _study(name: str, trial: Callable[[Any, Case], Outcome], **rest: Any) -> Study:
    return Study(claim=f"oktopk.sgd.{name}", subject="OkTopkSGD", trial=trial, **rest)


DESCENTS: tuple[Study, ...] = (
    _study(
        "iterate",
        _iterate_trial,
        grid=_iterate_grid,
        corpus=_long_runs,
        cases=_iterate_cases,
        enumerated="three steps of two ranks with two entries: every first gradient in {0, -1, 2}, three second ones, "
        "step sizes constant or halved, residuals scaled or raw",
    ),
    _study(
        "iterate_raw",
        _iterate_trial,
        grid=_iterate_grid,
        corpus=_long_runs,
        enumerated="three steps of two ranks with two entries: every first gradient in {0, -1, 2}, three second ones, "
        "step sizes constant or halved, residuals scaled or raw",
    ),
    *(
        _study(
            statement,
            _residual_trial,
            corpus=_residual_corpus,
            cases=_residual_cases,
            extremal=_residual_extremal,
            curves=partial(_residual_curve, statement=statement),
        )
        for statement in ("residual", "residual_missed")
    ),
    QUADRATIC,
    _study("assumption", _assumption_trial, corpus=_assumption_corpus, extremal=_assumption_extremal),
    _study(
        "stall",
        _stall_trial,
        grid=_stall_grid,
        curves=_stall_curve,
        enumerated="all t from 1 to 11, B = t + 1 and 1024, n = 2 and 5",
    ),
)
