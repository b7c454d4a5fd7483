"""The compression stage of 1-bit Adam: what a worker leaves out, whole runs, and bytes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.verify import gradients
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import EPS
from commbounds.verify.experiments.variance_reduced.enumeration import lift, own_rank, ranks_mean
from commbounds.verify.inputs import among, family, whole
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]
_COLUMN, _SUBJECT = "variance_reduced", "onebit_momentum"

# --- what a worker leaves out ----------------------------------------------------------------------------------------


def _left_out(onebit: Any, case: Case) -> Outcome:
    x = np.atleast_2d(case.array)
    zero = np.zeros_like(x)
    state, _ = onebit(x, zero[0], zero, zero[0], 0.0, case.settings["scale"])
    row, left = own_rank(Case({"seed": 0}), x).astype(np.float64), state.worker_errors[0].astype(np.float64)
    squares, n = math.fsum((row * row).tolist()), row.size
    values = {"n": n, "norm1": math.fsum(np.abs(row).tolist()), "norm2": math.sqrt(squares)}
    # a scale of n additions, a difference, both in the dtype; squares of what is near the root mean square
    eps = float(np.finfo(x.dtype).eps)
    return Outcome(math.fsum((left * left).tolist()) / squares, values, 16 * eps + 8 * n * EPS)


def _row(x: Any, scale: str = "norm") -> Case:
    return Case({"n": len(x), "scale": scale}, np.atleast_2d(np.asarray(x, np.float64)))


def _rows(_budget: Budget) -> Iterator[Case]:
    yield from _units(_budget)
    for n in (1, 2, 3, 7, 40):
        yield _row(np.ones(n))
        yield _row(np.arange(n) - 1.5)
        yield _row(np.arange(n) + 1.0, "mean")
    yield _row([0.0, 0.0])
    for kind in gradients.KINDS:
        x = gradients.trace().vectors[kind][0, :1]
        yield Case({"n": x.shape[1], "scale": "norm", "gradient": kind}, x)


def _units(_budget: Any) -> Iterator[Case]:
    for n in (1, 2, 4, 5, 16, 100):
        yield _row(np.eye(n)[n // 2] * -3.0)


@st.composite
def _drawn_rows(draw: st.DrawFn) -> Case:
    name = draw(among(("normal", "sparse", "laplace", "student", "small integers")))
    x = family(name, draw(whole(1, 40)), draw(whole(0, 2**31)), dtype=np.float64)
    return _row(x)


def _of_rows(statement: str, **options: Any) -> Study:
    axis = [_row(np.eye(n)[0]) for n in (1, 2, 4, 8, 16, 32, 64, 128)]
    return Study(
        f"{_COLUMN}.onebit.{statement}",
        _SUBJECT,
        _left_out,
        corpus=_rows,
        cases=_drawn_rows,
        curves=[over("n", "unit vectors", axis)],
        **options,
    )


# --- silent entries --------------------------------------------------------------------------------------------------


def _silent(onebit: Any, case: Case) -> Outcome:
    """Gradients whose last entries are zero, step after step, of which the first worker's errors are looked at."""
    s = case.settings
    rng = np.random.default_rng(s["seed"])
    P, n, quiet, beta = s["P"], s["n"], s["quiet"], float(Fraction(s["beta"]))
    u, errors, served, scales, largest = np.zeros(n), np.zeros((P, n)), np.zeros(n), [], 1.0
    fixed = rng.integers(1, 6, (P, n)).astype(np.float64) if s["size"] is None else np.full((P, n), float(s["size"]))
    for _ in range(s["steps"]):
        x = fixed.copy() if s["fixed"] else 16.0 * rng.integers(-5, 6, (P, n))
        if s["made_up"]:  # for the momentum and what was left out
            x[0] = -(beta * u + errors[0]) / (1 - beta)
        x[:, n - quiet :] = 0.0
        state, _ = onebit(x, u, errors, served, beta, s["scale"])
        offered = beta * u + (1 - beta) * x[0] + errors[0]
        scales.append(float(np.sqrt(np.mean(offered**2)) if s["scale"] == "norm" else np.mean(np.abs(offered))))
        u, errors, served = state.momentum[0], state.worker_errors, state.server_errors
        largest = max(largest, *(float(np.abs(part).max()) for part in (x, u, errors)))
    left = float(np.abs(errors[0, n - quiet :]).max())
    values = {
        "onebit_steps": s["steps"],
        "largest_scale": float(max(scales)),
        "smallest_scale_sent": float(min(scales)),
    }
    # a scale of n additions and a difference a step, of numbers of this size
    return Outcome(left, values, (8 + n) * s["steps"] * EPS * largest)


def _quiet(P: int, steps: int, **more: Any) -> Case:
    given = {"P": P, "n": 6, "quiet": 3, "scale": "norm", "steps": steps, "fixed": True, "seed": 1, "beta": Fraction(0)}
    return Case({**given, "made_up": False, "size": None, **more})


def _silent_runs(_budget: Budget) -> Iterator[Case]:
    for P, scale, steps, fixed in itertools.product((1, 3), ("norm", "mean"), (1, 2, 5, 12), (True, False)):
        for seed in (0, 1):
            yield _quiet(P, steps, scale=scale, fixed=fixed, seed=seed)
    for P, beta, steps in itertools.product((1, 2, 5), ("1/2", "9/10"), (2, 12)):
        yield _quiet(P, steps, n=7, beta=Fraction(beta))
    for P, scale in itertools.product((2, 3, 8), ("norm", "mean")):
        yield _quiet(P, 2, n=9, quiet=1, scale=scale, beta=Fraction(1, 2), made_up=True)


@st.composite
def _drawn_silent(draw: st.DrawFn) -> Case:
    n = draw(whole(2, 8))
    more = {"n": n, "quiet": draw(whole(1, n - 1)), "scale": draw(among(("norm", "mean")))}
    more |= {"fixed": draw(among((True, False))), "seed": draw(whole(0, 2**31))}
    more["beta"] = Fraction(draw(among(("0", "0", "1/2", "15/16"))))
    return _quiet(draw(whole(1, 3)), draw(whole(1, 9)), **more)


def _first_steps(_budget: Budget) -> Iterator[Case]:
    for seed in (0, 1):
        yield _quiet(1, 1, n=4, quiet=1, scale="mean", seed=seed)


def _made_up(_budget: Budget) -> Iterator[Case]:
    yield _quiet(2, 2, n=100, quiet=1, beta=Fraction(1, 2), made_up=True)


def _of_silence(statement: str, **options: Any) -> Study:
    return Study(
        f"{_COLUMN}.onebit.{statement}",
        _SUBJECT,
        _silent,
        corpus=_silent_runs,
        cases=_drawn_silent,
        curves=[over("onebit_steps", "one gradient", [_quiet(1, T) for T in range(1, 13)])],
        **options,
    )


# --- whole runs ------------------------------------------------------------------------------------------------------


def _defect(onebit: Any, case: Case) -> Outcome:
    """Weights of a run of preconditioned steps, against what momentum and errors make of the first ones."""
    s = case.settings
    P, n, T = s["P"], s["n"], s["steps"]
    beta, gamma = Fraction(s["beta"]), Fraction(s["gamma"])
    rng = np.random.default_rng([s["seed"], P, n])
    u, errors, served = 64.0 * rng.integers(-3, 4, n), np.zeros((P, n)), np.zeros(n)
    roots = 2.0 ** rng.integers(-1, 2, n)
    exact = s["exact"]
    given: tuple[Any, Any] = (beta, gamma) if exact else (float(beta), float(gamma))
    beta_, gamma_ = given
    first, x = lift(case, u), lift(case, np.zeros(n))
    moved, largest = lift(case, np.zeros(n)), 0.0
    for t in range(T):
        g = 64.0 * rng.integers(-4, 5, (P, n)) if exact else rng.standard_normal((P, n))
        state, _ = onebit(g, u, errors, served, float(beta), s["scale"])
        u, errors, served = own_rank(case, state.momentum), state.worker_errors, state.server_errors
        if not s["frozen"] and t:
            roots = roots * 2.0 ** rng.integers(-1, 2, n)
        inverse = 1 / lift(case, roots)
        x = x - gamma_ * inverse * lift(case, u)
        moved = moved + ranks_mean(lift(case, g))
        largest = max(largest, float(np.abs(u).max()), float(np.abs(errors).max()), float(np.abs(g).max()))
    over_all = lift(case, served) + ranks_mean(lift(case, errors))
    made = moved + (beta_ * (first - lift(case, u)) - over_all) / (1 - beta_)
    measured = np.abs(x + gamma_ * inverse * made).max()
    slack = 0.0 if exact else 512 * T * EPS * (1 + largest) * 4 / (1 - float(beta))
    return Outcome(measured, {"onebit_steps": T}, slack)


def _runs(level: int) -> Iterator[Case]:
    shapes = ((1, 2), (1, 4), (2, 4), (4, 4), (2, 8), (4, 2))
    for (P, n), beta, T in itertools.product(shapes, ("0", "1/2", "3/4"), (1, 2, 3)):
        for frozen in (True, False):
            for seed in range(1 + level):
                yield Case({
                    "P": P, "n": n, "beta": beta, "gamma": "1/4", "steps": T, "scale": "mean", "frozen": frozen,
                    "seed": seed, "exact": True,
                })  # fmt: skip


def _long_runs(_budget: Budget) -> Iterator[Case]:
    for P, scale, frozen in itertools.product((1, 3, 5), ("norm", "mean"), (True, False)):
        yield Case({
            "P": P, "n": 7, "beta": "0.9", "gamma": "0.1", "steps": 20, "scale": scale, "frozen": frozen, "seed": 2,
            "exact": False,
        })  # fmt: skip


def _of_runs(statement: str) -> Study:
    return Study(
        f"{_COLUMN}.onebit.{statement}",
        _SUBJECT,
        _defect,
        grid=_runs,
        corpus=_long_runs,
        enumerated="runs of up to 3 steps, 1, 2 and 4 ranks of up to 8 entries, signs times the mean magnitude",
    )


# --- bytes -----------------------------------------------------------------------------------------------------------


def _bytes(onebit: Any, case: Case) -> Outcome:
    s = case.settings
    x = np.ones((s["P"], s["n"]), s["dtype"])
    _, traffic = onebit(x, x[0], x, x[0])
    return Outcome(int(traffic.sent.max()), {"P": s["P"], "n": s["n"], "scalebytes": x.dtype.itemsize})


def _sizes(_level: int) -> Iterator[Case]:
    for P, blocks, dtype in itertools.product((1, 2, 3, 4, 5, 8), (1, 2, 5), ("float32", "float64")):
        yield Case({"P": P, "n": 8 * P * blocks, "dtype": dtype})
    yield Case({"P": 2, "n": 9, "dtype": "float32"})


def _one_byte(_budget: Budget) -> Iterator[Case]:
    for P in (2, 3, 8):
        yield Case({"P": P, "n": 8 * P, "dtype": "float32"})


def _of_bytes(statement: str, **options: Any) -> Study:
    cases = [Case({"P": P, "n": 960, "dtype": "float32"}) for P in (2, 3, 4, 5, 6, 8, 10, 12)]
    return Study(
        f"{_COLUMN}.onebit.{statement}",
        _SUBJECT,
        _bytes,
        grid=_sizes,
        enumerated="up to 8 ranks, up to five bytes of signs a block",
        curves=[over("P", "n = 960, float32", cases)],
        **options,
    )


SIGNS = (
    _of_rows("error"),
    _of_rows("contracts"),
    _of_rows("worst", extremal=_units),
    _of_silence("silent_entry", extremal=_first_steps),
    _of_silence("silent_momentum", extremal=_made_up),
    _of_silence("accumulates"),
    _of_runs("nothing_lost"),
    _of_runs("moving_variance"),
    _of_bytes("bytes"),
    _of_bytes("thirty_two", extremal=_one_byte),
)
