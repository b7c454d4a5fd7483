"""PowerSGD with error feedback, run on sequences of gradients that may depend on what was lost."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array, Floats
from commbounds.compressors import PowerSGD
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget, bound_at
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Stream, Study

_EPS = float(np.finfo(np.float64).eps)
_P = "lowrank.powersgd_ef14."


def _equal(m: int, n: int) -> Array:
    """All singular values equal, norm one."""
    return np.eye(m, n) / math.sqrt(min(m, n))


def _single(shape: tuple[int, ...], i: int) -> Array:
    """The i-th entry of the diagonal alone is not zero."""
    out = np.zeros(shape)
    out[i, i] = 1.0
    return out


def _along(residual: Array, t: int, rank: int) -> Array:
    """Along what was lost; equal singular values where nothing was."""
    norm = float(np.linalg.norm(residual))
    out: Array = residual / norm if norm > 0 else _equal(*residual.shape)
    return out


def _across(residual: Array, t: int, rank: int) -> Array:
    """0.54 along every direction that was lost to 1 along the others."""
    u, sigma, vt = np.linalg.svd(residual, full_matrices=False)
    weights = np.where(np.arange(sigma.size) < (sigma.size - rank if t else 0), 0.54, 1.0)
    out: Array = (u * (weights / np.linalg.norm(weights))) @ vt
    return out


SEQUENCES: dict[str, Callable[[Array, int, int], Array]] = {
    "constant": lambda residual, t, rank: _equal(*residual.shape),
    "alternating": lambda residual, t, rank: (-1.0) ** t * _equal(*residual.shape),
    "along": _along,
    "across": _across,
    "turning": lambda residual, t, rank: _single(residual.shape, t % min(residual.shape)),
    "missed": lambda residual, t, rank: _single(residual.shape, min(t, 1)),
    "last": lambda residual, t, rank: _single(residual.shape, min(residual.shape) - 1),
}
"""Gradients of norm one by the residual, the number of the step and the rank."""


def _gradients(case: Case) -> Callable[[Array, int], Array]:
    """The case's gradients: of a sequence times M, or normal ones in a dtype and of a scale."""
    s = case.settings
    if s["sequence"] == "normal":
        rng, dtype = np.random.default_rng(s["seed"]), np.dtype(s.get("dtype", "float64"))
        return lambda residual, t: (s["M"] * rng.standard_normal(residual.shape)).astype(dtype)
    sequence = SEQUENCES[s["sequence"]]
    return lambda residual, t: s["M"] * sequence(residual, t, s["r"])


def _start(case: Case) -> Array:
    """The first sketch: columns of the identity, or normal."""
    s = case.settings
    if s["sketch"] == "drawn":
        return np.random.default_rng([s["seed"], 1]).standard_normal((s["n"], s["r"]))
    return np.eye(s["n"], s["r"])


def _steps(ef14: Any, case: Case, sketches: Sequence[Array] | None = None) -> Iterator[tuple[Array, Array, Array]]:
    """Gradient, what was sent, and residual of every step; the sketches are warm-started if they are not given."""
    s, gradients = case.settings, _gradients(case)
    compressor = PowerSGD(s["r"])
    mechanism = ef14(compressor)
    zero = np.zeros((s["m"], s["n"]), s.get("dtype", "float64"))
    state, sketch = mechanism.start(zero), _start(case) if sketches is None else sketches[0]
    for t in range(s["steps"]):
        gradient = gradients(state.memory, t)
        offered, momentum = mechanism.offered(state, gradient)
        message = compressor.compress_with(offered, sketch if sketches is None else sketches[t])
        sent = compressor.decompress(message)
        state, sketch = mechanism.after(state, offered, momentum, sent), message.right
        yield gradient, sent, state.memory


def _fresh_steps(ef14: Any, case: Case, rng: np.random.Generator) -> Iterator[tuple[Array, Array, Array]]:
    """The same with a fresh sketch in every step."""
    s, gradients = case.settings, _gradients(case)
    compressor = PowerSGD(s["r"])
    mechanism = ef14(compressor)
    state = mechanism.start(np.zeros((s["m"], s["n"]), s.get("dtype", "float64")))
    for t in range(s["steps"]):
        gradient = gradients(state.memory, t)
        message, state = mechanism.step(state, gradient, rng)
        yield gradient, compressor.decompress(message), state.memory


def _square(matrix: Array) -> float:
    return float(np.square(matrix.astype(np.float64)).sum())


def _values(case: Case, reach: float) -> dict[str, Any]:
    s = case.settings
    return {"m": s["m"], "n": s["n"], "r": s["r"], "horizon": s["steps"], "reach": reach}


def _allowance(case: Case, reach: float) -> float:
    """Of a squared residual: products with m + n terms in every step, relative to (t M)^2."""
    s = case.settings
    return float(16 * (s["m"] + s["n"]) * s["steps"] * _EPS * (s["steps"] * reach) ** 2)


# --- what is sent and what is kept -----------------------------------------------------------------------------------


def _lost(ef14: Any, case: Case) -> Outcome:
    """Gradients less messages less the residual, summed exactly."""
    s = case.settings
    runs = _steps(ef14, case) if s["warm"] else _fresh_steps(ef14, case, np.random.default_rng([s["seed"], 2]))
    terms, allowance, residual = [], 0.0, np.zeros((s["m"], s["n"]), s["dtype"])
    for gradient, sent, after in runs:
        allowance += float(np.abs(residual + gradient).max()) + float(np.abs(after).max())
        terms += [gradient.ravel(), -sent.ravel()]
        residual = after
    columns = np.array([*terms, -residual.ravel()], np.float64).T.tolist()
    lost = max(abs(math.fsum(column)) for column in columns)
    # a rounding moves a number by u of itself at most; the sum itself is rounded once
    return Outcome(lost, {}, float(np.finfo(s["dtype"]).eps) / 2 * allowance * (1 + 4 * _EPS))


def _telescoped(_budget: Budget) -> Iterator[Case]:
    for (m, n, r), steps, warm, dtype, size in itertools.product(
        ((1, 1, 1), (2, 2, 1), (3, 2, 1), (5, 4, 2)), (1, 2, 12), (False, True), ("float32", "float64"), (1.0, 1e-15)
    ):
        settings: dict[str, Any] = {"m": m, "n": n, "r": r, "steps": steps, "M": size, "sketch": "drawn"}
        yield Case({**settings, "sequence": "normal", "seed": m + n, "warm": warm, "dtype": dtype})


@st.composite
def _drawn(draw: st.DrawFn) -> Case:
    m, n = draw(inputs.integers(1, 5)), draw(inputs.integers(1, 5))
    settings: dict[str, Any] = {
        "m": m,
        "n": n,
        "r": draw(inputs.integers(1, min(m, n))),
        "steps": draw(inputs.integers(1, 6)),
    }
    settings |= {"M": 10.0 ** draw(inputs.integers(-10, 10)), "sequence": "normal", "sketch": "drawn"}
    settings |= {
        "warm": draw(inputs.sampled_from((True, False))),
        "dtype": draw(inputs.sampled_from(("float32", "float64"))),
    }
    return Case({**settings, "seed": draw(inputs.integers(0, 2**31))})


# --- fresh sketches --------------------------------------------------------------------------------------------------


def _directions(n: int, count: int) -> list[Array]:
    """Sketches of one column whose first two entries point into all directions of the plane, at equal angles."""
    angles = np.pi * (np.arange(count) + 0.25) / count
    return [np.concatenate(([math.cos(a), math.sin(a)], np.zeros(n - 2)))[:, None] for a in angles]


_LATTICE: dict[int, tuple[tuple[int, ...], float]] = {
    1: ((), 0.0),
    2: ((33,), 4 * 3.0**-33),
    3: ((21, 41), 4 * 3.0**-21 + 4 * (7 / 11) ** 41),
}
"""By steps: directions of the second and of the third sketch, and the error of the mean over them, relative to it.

The squared error of singular values a >= b over the angle of the sketch is a b (1 + 2 sum rho^j cos(2 j angle)) with
rho = (a - b)/(a + b): the mean over N directions is off by 2 rho^N/(1 - rho^N). In step 2 a = 2 b; what it leaves has,
with 1 + 1/(1 + 4 t^2), the same rho as a trace; in step 3 a is at most 3 c and a b at least 2 c^2, so rho <= 7/11.
"""


def _averaged(ef14: Any, case: Case) -> Outcome:
    """The squared residual of up to three steps of equal singular values, expected over the sketches.

    The first step leaves a projection whatever its sketch is, and by symmetry one stands for all.
    """
    s = case.settings
    first, (counts, off) = np.eye(s["n"], s["r"]), _LATTICE[s["steps"]]
    lattice = itertools.product(*(_directions(s["n"], count) for count in counts))
    squares = [_square(list(_steps(ef14, case, [first, *sketches]))[-1][2]) for sketches in lattice]
    measured = sum(squares) / len(squares)
    return Outcome(measured, _values(case, s["M"]), _allowance(case, s["M"]) + off * measured)


def _expected(ef14: Any, case: Case) -> Outcome:
    """The same, worked out once for all claims."""
    outcome: Outcome = case.once(_averaged, ef14)
    return outcome


def _first_steps(_budget: Budget) -> Iterator[Case]:
    for (m, n, r), M in itertools.product(
        ((2, 2, 1), (3, 2, 1), (2, 3, 1), (3, 5, 1), (5, 4, 2), (6, 5, 4), (7, 9, 4)), (1.0, 0.25, 3.0)
    ):
        yield Case({"m": m, "n": n, "r": r, "steps": 1, "M": M, "sequence": "constant"})


def _early(budget: Budget) -> Iterator[Case]:
    yield from _first_steps(budget)
    for (m, n), M in (((2, 2), 1.0), ((3, 2), 3.0), ((2, 3), 0.25), ((2, 2), 30.0)):
        yield Case({"m": m, "n": n, "r": 1, "steps": 2, "M": M, "sequence": "constant"})
    yield Case({"m": 2, "n": 2, "r": 1, "steps": 3, "M": 3.0, "sequence": "constant"})


def _fresh_stream(ef14: Any, name: str, case: Case, equal: bool = False) -> Stream:
    s = case.settings
    values = _values(case, s["M"])
    bound = float(bound_at(claims()[name], values))

    def draw(rng: np.random.Generator, count: int) -> Floats:
        out = np.empty(count)
        for i in range(count):
            *_, (_, _, residual) = _fresh_steps(ef14, case, rng)
            out[i] = _square(residual) / bound - 1.0
        return out

    # no step adds more than M to the residual
    high = (s["steps"] * s["M"]) ** 2 / bound - 1.0 if equal else math.inf
    label = f"{s['m']} x {s['n']}, rank {s['r']}, {s['sequence']}, {s['steps']} steps"
    return Stream(
        label, draw, -1.0, high, two_sided=equal, cost=(20 if equal else 40) * s["steps"],
        values=values if equal else {},
    )  # fmt: skip


def _fresh_streams(name: str, *which: tuple[int, int, int, str, int]) -> Callable[[Any], list[Stream]]:
    def streams(ef14: Any) -> list[Stream]:
        return [
            _fresh_stream(
                ef14,
                _P + name,
                Case({"m": m, "n": n, "r": r, "sequence": sequence, "steps": steps, "M": 1.0}),
                name == "equal",
            )
            for m, n, r, sequence, steps in which
        ]

    return streams


def _fresh_curve(name: str, m: int, n: int, r: int, sequences: tuple[str, ...], steps: Sequence[int]) -> Any:
    """Means of runs."""

    def curves(ef14: Any, seed: int) -> list[Series]:
        found = []
        for sequence in sequences:
            case = Case({"m": m, "n": n, "r": r, "sequence": sequence, "steps": max(steps), "M": 1.0})
            rng, runs = np.random.default_rng([seed, m]), 25
            total = np.zeros(max(steps))
            for _ in range(runs):
                total += [_square(residual) for _, _, residual in _fresh_steps(ef14, case, rng)]
            bound = [float(bound_at(claims()[_P + name], {**_values(case, 1.0), "horizon": step})) for step in steps]
            measured = [float(total[step - 1]) / runs for step in steps]
            label = f"{m} x {n}, rank {r}, gradients {sequence}, mean of {runs} runs"
            found.append(Series(label, "horizon", [float(step) for step in steps], bound, measured))
        return found

    return curves


def _fresh_study(
    name: str,
    streamed: Sequence[tuple[int, int, int, str, int]],
    curve: Any,
    extremal: Callable[[Budget], Iterator[Case]] | None = None,
) -> Study:
    """Expectations worked out after the first steps, means of draws after later ones."""
    streams = _fresh_streams(name, *streamed)
    return Study(_P + name, "EF14", _expected, corpus=_early, extremal=extremal, streams=streams, curves=curve)


# --- warm start ------------------------------------------------------------------------------------------------------


def _warm(ef14: Any, case: Case) -> Outcome:
    """The squared residual after the last step."""
    reach, residual = 0.0, np.zeros(0)
    for gradient, _, after in _steps(ef14, case):
        reach, residual = max(reach, math.sqrt(_square(gradient))), after
    return Outcome(_square(residual), _values(case, reach), _allowance(case, reach))


_SHAPES = (((2, 2, 1), 1.0), ((3, 2, 1), 0.25), ((2, 3, 1), 3.0), ((5, 4, 2), 1.0), ((3, 5, 1), 0.25))
"""(m, n, r), and M."""


def _sequences(sketch: str, *names: str) -> Callable[[Budget], Iterator[Case]]:
    def cases(_budget: Budget) -> Iterator[Case]:
        for ((m, n, r), M), steps, name in itertools.product(_SHAPES, (1, 2, 3, 12), names):
            yield Case({"m": m, "n": n, "r": r, "M": M, "steps": steps, "sequence": name, "sketch": sketch, "seed": 1})

    return cases


@st.composite
def _drawn_warm(draw: st.DrawFn) -> Case:
    m, n = draw(inputs.integers(1, 5)), draw(inputs.integers(1, 5))
    settings: dict[str, Any] = {
        "m": m,
        "n": n,
        "r": draw(inputs.integers(1, min(m, n))),
        "steps": draw(inputs.integers(1, 8)),
    }
    settings |= {"sequence": draw(inputs.sampled_from(("normal", "along", "across", "alternating"))), "M": 1.0}
    return Case(
        {**settings, "sketch": draw(inputs.sampled_from(("drawn", "axes"))), "seed": draw(inputs.integers(0, 2**31))}
    )


def _warm_streams(ef14: Any) -> list[Stream]:
    """Gaussian first sketches, and gradients that do not depend on them."""
    name, found = _P + "warm_start_gaussian", []
    for m, n, r, sequence, steps in ((2, 2, 1, "turning", 5), (5, 4, 2, "across", 4), (3, 5, 1, "missed", 4)):
        case = Case({"m": m, "n": n, "r": r, "sequence": sequence, "steps": steps, "M": 1.0, "sketch": "drawn"})
        bound = float(bound_at(claims()[name], _values(case, 1.0)))

        def draw(rng: np.random.Generator, count: int, case: Case = case, bound: float = bound) -> Array:
            out = np.empty(count)
            for i in range(count):
                drawn = Case({**case.settings, "seed": int(rng.integers(2**31))})
                *_, (_, _, residual) = _steps(ef14, drawn)
                out[i] = _square(residual) / bound - 1.0
            return out

        label = f"{m} x {n}, rank {r}, {sequence}, {steps} steps"
        found.append(Stream(label, draw, -1.0, math.inf, two_sided=False, cost=60 * steps))
    return found


def _warm_curve(name: str, sketch: str, *sequences: str) -> Any:
    def curves(ef14: Any, seed: int) -> list[Series]:
        steps, found = [1, 2, 3, 5, 10], []
        for sequence in sequences:
            settings = {"m": 2, "n": 2, "r": 1, "M": 1.0, "sequence": sequence, "sketch": sketch, "seed": seed % 2**31}
            outcomes = [_warm(ef14, Case({**settings, "steps": t})) for t in steps]
            bound = [float(bound_at(claims()[_P + name], o.values)) for o in outcomes]
            measured = [float(o.measured) for o in outcomes]
            label = f"2 x 2, rank 1, gradients {sequence}, first sketch {sketch}"
            found.append(Series(label, "horizon", [float(t) for t in steps], bound, measured))
        return found

    return curves


FEEDBACK = (
    Study(_P + "telescoping", "EF14", _lost, corpus=_telescoped, cases=_drawn),
    _fresh_study(
        "steps",
        ((2, 2, 1, "across", 3), (5, 4, 1, "constant", 4)),
        _fresh_curve("steps", 5, 4, 2, ("constant", "across"), (1, 2, 3, 5, 10)),
        extremal=_first_steps,
    ),
    _fresh_study(
        "residual",
        (
            (2, 2, 1, "constant", 12),
            (3, 2, 1, "across", 12),
            (2, 3, 1, "turning", 4),
            (5, 4, 1, "along", 4),
            (5, 4, 2, "alternating", 5),
        ),
        _fresh_curve("residual", 4, 5, 2, ("constant", "along"), (1, 2, 3, 5, 10)),
    ),
    _fresh_study(
        "two",
        ((2, 2, 1, "across", 8), (3, 2, 1, "constant", 8)),
        _fresh_curve("two", 2, 2, 1, ("across", "constant"), (1, 2, 3, 5, 10)),
    ),
    _fresh_study(
        "equal",
        ((2, 2, 1, "constant", 3), (3, 2, 1, "constant", 2)),
        _fresh_curve("equal", 2, 2, 1, ("constant",), (1, 2, 3)),
    ),
    Study(
        _P + "warm_start_residual",
        "EF14",
        _warm,
        corpus=_sequences("drawn", "missed"),
        curves=_warm_curve("warm_start_residual", "axes", "missed", "constant"),
    ),
    Study(
        _P + "warm_start_growth",
        "EF14",
        _warm,
        corpus=_sequences("axes", "constant", "along", "across", "missed"),
        cases=_drawn_warm,
        extremal=_sequences("axes", "last"),
        curves=_warm_curve("warm_start_growth", "axes", "last", "constant"),
    ),
    Study(
        _P + "warm_start_gaussian",
        "EF14",
        _warm,
        corpus=_sequences("drawn", "along"),
        extremal=_sequences("drawn", "along"),
        streams=_warm_streams,
        curves=_warm_curve("warm_start_gaussian", "drawn", "along"),
    ),
)
"""What PowerSGD leaves out, step by step."""
