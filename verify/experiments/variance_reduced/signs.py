"""The compression stage of 1-bit Adam: what a worker leaves out, whole runs, and bytes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify import gradients
from commbounds.verify.experiments.feedback.runs import EPS, lifted
from commbounds.verify.experiments.variance_reduced.enumeration import as_found, halved, ranks_mean
from commbounds.verify.family import Family
from commbounds.verify.inputs import FAMILIES, family
from commbounds.verify.space import RANKS, Of, Space, nothing
from commbounds.verify.study import Outcome

Values = dict[str, Any]
_COLUMN, _SUBJECT = "variance_reduced.onebit", "onebit_momentum"
_SCALES = ("norm", "mean")

# --- what a worker leaves out ----------------------------------------------------------------------------------------


def _row(data: str, n: int, seed: int) -> Array:
    """A vector of a family, ones, one entry, a ramp or a recorded gradient, as one row."""
    if data in gradients.KINDS:
        return gradients.trace().vectors[data][0, :1]
    made = {"ones": np.ones(n), "one entry": -3.0 * np.eye(n)[n // 2], "ramp": np.arange(n) - 1.5, "zeros": np.zeros(n)}
    return np.atleast_2d(made[data] if data in made else family(data, n, seed, dtype=np.float64))


def _left_out(implementation: Any, x: Array, scale: str) -> Outcome:
    row, zero = np.atleast_2d(x)[0].astype(np.float64), np.zeros_like(np.atleast_2d(x))
    state, _ = implementation(np.atleast_2d(x), zero[0], zero, zero[0], 0.0, scale)
    left = state.worker_errors[0].astype(np.float64)
    squares, n = math.fsum((row * row).tolist()), row.size
    values = {"norm1": math.fsum(np.abs(row).tolist()), "norm2": math.sqrt(squares)}
    # a scale of n additions, a difference, both in the dtype; squares of what is near the root mean square
    slack = 16 * float(np.finfo(x.dtype).eps) + 8 * n * EPS
    return Outcome(math.fsum((left * left).tolist()) / squares, values, slack)


_DATA = ("ones", "one entry", "ramp", "zeros", *(name for name in FAMILIES if name != "uniform"))
_ROWS = Space(_row, {"data": _DATA, "n": (4, 1, 2, 3, 7, 16, 40, 100), "scale": _SCALES})
_RECORDED = [_ROWS.at(data=kind, n=2410) for kind in gradients.KINDS]
_LEFT_OUT = Family(_COLUMN, _SUBJECT, _ROWS.including(*_RECORDED).search(n=(1, 40)), exact=False)
_UNITS = [_LEFT_OUT.over("n", [2**j for j in range(8)], "unit vectors", data="one entry")]

# --- silent entries --------------------------------------------------------------------------------------------------


def _silent(implementation: Any, settings: Values, P: int, n: int, quiet: int, beta: Fraction, seed: int) -> Outcome:
    """Gradients whose last entries are zero, step after step, of which the first worker's errors are looked at."""
    s, rng, momentum = settings, np.random.default_rng(seed), float(beta)
    u, errors, served, scales, largest = np.zeros(n), np.zeros((P, n)), np.zeros(n), [], 1.0
    fixed = rng.integers(1, 6, (P, n)).astype(np.float64) if s["size"] is None else np.full((P, n), float(s["size"]))
    for _ in range(s["onebit_steps"]):
        x = fixed.copy() if s["fixed"] else 16.0 * rng.integers(-5, 6, (P, n))
        if s["made_up"]:  # for the momentum and what was left out
            x[0] = -(momentum * u + errors[0]) / (1 - momentum)
        x[:, n - quiet :] = 0.0
        state, _ = implementation(x, u, errors, served, momentum, s["scale"])
        offered = momentum * u + (1 - momentum) * x[0] + errors[0]
        scales.append(float(np.sqrt(np.mean(offered**2)) if s["scale"] == "norm" else np.mean(np.abs(offered))))
        u, errors, served = state.momentum[0], state.worker_errors, state.server_errors
        largest = max(largest, *(float(np.abs(part).max()) for part in (x, u, errors)))
    values = {"largest_scale": float(max(scales)), "smallest_scale_sent": float(min(scales))}
    # a scale of n additions and a difference a step, of numbers of this size
    slack = (8 + n) * s["onebit_steps"] * EPS * largest
    return Outcome(float(np.abs(errors[0, n - quiet :]).max()), values, slack)


_QUIET_SPACE = Space(
    nothing,
    {
        "P": RANKS,
        "n": (6, 2, 4, 7, 9),
        "quiet": (Of("half", lambda n: n // 2), 1),
        "scale": _SCALES,
        "onebit_steps": (1, 2, 5, 12),
        "fixed": (True, False),
        "beta": (Fraction(0), Fraction(1, 2), Fraction(9, 10)),
        "made_up": (False, True),
        "size": (None,),
    },
    options=("scale", "fixed", "beta"),
).without(
    "Made-up gradients of one rank, or in a first step.",
    lambda P, onebit_steps, made_up: made_up and P * onebit_steps < 4,
)
_MADE_UP = _QUIET_SPACE.at(P=2, n=100, quiet=1, onebit_steps=2, beta=Fraction(1, 2), made_up=True, seed=1)
_QUIET = Family(_COLUMN, _SUBJECT, _QUIET_SPACE.including(_MADE_UP), run=_silent, exact=False, arrays=2)

# --- whole runs ------------------------------------------------------------------------------------------------------


def _defect(
    implementation: Any, P: int, n: int, beta: Fraction, gamma: Fraction, onebit_steps: int, scale: str, frozen: bool,
    exact: bool, seed: int,
) -> Outcome:  # fmt: skip
    """Weights of a run of preconditioned steps, against what momentum and errors make of the first ones."""
    rng = np.random.default_rng([seed, P, n])
    u, errors, served = 64.0 * rng.integers(-3, 4, n), np.zeros((P, n)), np.zeros(n)
    roots = 2.0 ** rng.integers(-1, 2, n)
    given: tuple[Any, Any] = (beta, gamma) if exact else (float(beta), float(gamma))
    beta_, gamma_ = given
    first, x = lifted(u, exact), lifted(np.zeros(n), exact)
    moved, largest = lifted(np.zeros(n), exact), 0.0
    for t in range(onebit_steps):
        g = 64.0 * rng.integers(-4, 5, (P, n)) if exact else rng.standard_normal((P, n))
        state, _ = implementation(g, u, errors, served, float(beta), scale)
        u, errors, served = np.asarray(state.momentum[seed % P]), state.worker_errors, state.server_errors
        if not frozen and t:
            roots = roots * 2.0 ** rng.integers(-1, 2, n)
        inverse = 1 / lifted(roots, exact)
        x = x - gamma_ * inverse * lifted(u, exact)
        moved = moved + ranks_mean(lifted(g, exact))
        largest = max(largest, float(np.abs(u).max()), float(np.abs(errors).max()), float(np.abs(g).max()))
    over_all = lifted(served, exact) + ranks_mean(lifted(errors, exact))
    made = moved + (beta_ * (first - lifted(u, exact)) - over_all) / (1 - beta_)
    slack = 0.0 if exact else 512 * onebit_steps * EPS * (1 + largest) * 4 / (1 - float(beta))
    return Outcome(np.abs(x + gamma_ * inverse * made).max(), {}, slack)


def _held(P: int, n: int, scale: str, beta: Fraction, onebit_steps: int) -> bool:
    return scale == "mean" and onebit_steps <= 3 and all(map(halved, (Fraction(1, P), Fraction(1, n), beta)))


_RUNS = Family(
    _COLUMN,
    _SUBJECT,
    Space(
        nothing,
        {
            "P": RANKS,
            "n": (2, 4, 8, 7),
            "beta": (Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)),
            "gamma": (Fraction(1, 4), Fraction(1, 8)),
            "onebit_steps": (1, 2, 3, 20),
            "scale": ("mean", "norm"),
            "frozen": (True, False),
            "exact": (Of("binary fractions hold every number", _held), False),
        },
        options=("beta", "scale", "frozen"),
    ),
    run=_defect,
    searched=False,
    arrays=2,
)

# --- bytes -----------------------------------------------------------------------------------------------------------


def _bytes(implementation: Any, P: int, n: int, dtype: str) -> Outcome:
    x = np.ones((P, n), dtype)
    _, traffic = implementation(x, x[0], x, x[0])
    return Outcome(int(traffic.sent.max()), {"scalebytes": x.dtype.itemsize})


_BLOCKS = (Of("8 P", lambda P: 8 * P), Of("16 P", lambda P: 16 * P), Of("40 P", lambda P: 40 * P))
_SENT = Family(
    _COLUMN, _SUBJECT, Space(nothing, {"P": RANKS, "n": (*_BLOCKS, 9), "dtype": ("float32", "float64")}), searched=False
)
_BY_RANKS = [_SENT.over("P", (2, 3, 4, 5, 6, 8, 10, 12), n=960, dtype="float32")]

SIGNS = (
    *_LEFT_OUT.studies(_left_out, "error", "contracts", curves=_UNITS),
    *_LEFT_OUT.studies(
        _left_out, "worst", extremal=_LEFT_OUT.every(data=["one entry"], n=(1, 2, 4, 5, 16, 100)), curves=_UNITS
    ),
    *_QUIET.studies(
        as_found,
        "silent_entry",
        extremal=_QUIET.every(n=[4], quiet=[1], scale=["mean"], seed=(0, 1)),
        curves=[_QUIET.over("onebit_steps", range(1, 13), "one gradient")],
    ),
    *_QUIET.studies(
        as_found,
        "silent_momentum",
        extremal=_QUIET.of([_MADE_UP]),
        curves=[_QUIET.over("onebit_steps", range(1, 13), "one gradient")],
    ),
    *_QUIET.studies(as_found, "accumulates", curves=[_QUIET.over("onebit_steps", range(1, 13), "one gradient")]),
    *_RUNS.studies(as_found, "nothing_lost", "moving_variance"),
    *_SENT.studies(_bytes, "bytes", curves=_BY_RANKS),
    *_SENT.studies(_bytes, "thirty_two", extremal=_SENT.every(P=(2, 3, 8)), curves=_BY_RANKS),
)
