"""PowerSGD with error feedback, run on sequences of gradients that may depend on what was lost."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.compressors import EF14, PowerSGD
from commbounds.theory import claims
from commbounds.verify.experiment import bound_at
from commbounds.verify.family import Family
from commbounds.verify.finding import Series
from commbounds.verify.space import Of, Settings, Space, nothing
from commbounds.verify.study import Curve, Outcome, Stream

_EPS = float(np.finfo(np.float64).eps)
_P = "lowrank.powersgd_ef14"


def _equal(m: int, n: int) -> Array:
    """All singular values equal, norm one."""
    return np.eye(m, n) / math.sqrt(min(m, n))


def _single(shape: tuple[int, ...], i: int) -> Array:
    """The i-th entry of the diagonal alone is not zero, counted round."""
    out, i = np.zeros(shape), i % min(shape)
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


_SEQUENCES: dict[str, Callable[[Array, int, int], Array]] = {
    "constant": lambda residual, t, rank: _equal(*residual.shape),
    "alternating": lambda residual, t, rank: (-1.0) ** t * _equal(*residual.shape),
    "along": _along,
    "across": _across,
    "turning": lambda residual, t, rank: _single(residual.shape, t),
    "missed": lambda residual, t, rank: _single(residual.shape, min(t, 1)),
    "last": lambda residual, t, rank: _single(residual.shape, -1),
}
"""Gradients of norm one by the residual, the number of the step and the rank; besides there are normal ones."""


def _gradients(settings: Settings) -> Callable[[Array, int], Array]:
    """The gradients of a case: as many times its reach."""
    reach, rank, dtype = float(settings["reach"]), settings["r"], settings["dtype"]
    if settings["sequence"] == "normal":
        rng = np.random.default_rng(settings["seed"])
        return lambda residual, t: (reach * rng.standard_normal(residual.shape)).astype(dtype)
    sequence = _SEQUENCES[settings["sequence"]]
    return lambda residual, t: (reach * sequence(residual, t, rank)).astype(dtype)


def _steps(
    ef14: type[EF14], settings: Settings, rng: np.random.Generator | None = None, sketches: Sequence[Array] = ()
) -> Iterator[tuple[Array, Array, Array]]:
    """Gradient, what was sent, and residual of every step.

    The sketches are those given, or fresh ones, or those of a warm start: from columns of the identity, or normal ones.
    """
    n, rank, kind = settings["n"], settings["r"], settings["sketch"]
    rng = np.random.default_rng([settings["seed"], 1]) if rng is None else rng
    gradients, compressor = _gradients(settings), PowerSGD(rank)
    mechanism = ef14(compressor)
    state = mechanism.start(np.zeros((settings["m"], n), settings["dtype"]))
    sketch = rng.standard_normal((n, rank)) if kind == "drawn" else np.eye(n, rank)
    for t in range(settings["horizon"]):
        gradient = gradients(state.memory, t)
        if kind == "fresh":
            message, state = mechanism.step(state, gradient, rng)
            sent = compressor.decompress(message)
        else:
            offered, momentum = mechanism.offered(state, gradient)
            message = compressor.compress_with(offered, sketches[t] if sketches else sketch)
            sent = compressor.decompress(message)
            state, sketch = mechanism.after(state, offered, momentum, sent), message.right
        yield gradient, sent, state.memory


def _square(matrix: Array) -> float:
    return float(np.square(matrix.astype(np.float64)).sum())


def _last_square(steps: Iterator[tuple[Array, Array, Array]]) -> float:
    """The squared residual after the last step."""
    *_, (_, _, residual) = steps
    return _square(residual)


def _allowance(m: int, n: int, horizon: int, reach: float) -> float:
    """Of a squared residual: products with m + n terms in every step, relative to (t M)^2."""
    return float(16 * (m + n) * horizon * _EPS * (horizon * reach) ** 2)


_RANKS = (
    1,
    Of("half of the smaller side, at least 1", lambda m, n: max(min(m, n) // 2, 1)),
    Of("the smaller side - 1, at least 1", lambda m, n: max(min(m, n) - 1, 1)),
    Of("the smaller side", lambda m, n: min(m, n)),
)
_RUNS = Space(
    nothing,
    {
        "m": (2, 3, 5, 1),
        "n": (2, 3, 4, 1),
        "r": _RANKS,
        "horizon": (3, 1, 2, 12),
        "reach": (1.0, 0.25, 3.0),
        "sequence": ("normal", *_SEQUENCES),
        "sketch": ("drawn", "axes"),
        "dtype": ("float64",),
    },
)


def _streams(
    claim: str, sketch: str, *runs: tuple[int, int, int, str, int], cost: int = 40, equal: bool = False
) -> Callable[[type[EF14]], list[Stream]]:
    """Draws of the squared residual after these runs (m, n, rank, gradients, steps), whose reach is 1."""

    def stream(ef14: type[EF14], m: int, n: int, rank: int, sequence: str, steps: int) -> Stream:
        settings = _RUNS.at(m=m, n=n, r=rank, sequence=sequence, horizon=steps, sketch=sketch)
        bound = float(bound_at(claims()[f"{_P}.{claim}"], settings))

        def draw(rng: np.random.Generator, count: int) -> Floats:
            return np.array([_last_square(_steps(ef14, settings, rng)) / bound - 1.0 for _ in range(count)])

        # no step adds more than 1 to the residual
        high = steps**2 / bound - 1.0 if equal else math.inf
        label, values = f"{m} x {n}, rank {rank}, {sequence}, {steps} steps", settings if equal else {}
        return Stream(label, draw, -1.0, high, two_sided=equal, cost=cost * steps, values=values)

    return lambda ef14: [stream(ef14, *run) for run in runs]


# --- what is sent and what is kept -----------------------------------------------------------------------------------


def _lost(implementation: type[EF14], settings: Settings, m: int, n: int, dtype: str) -> Outcome:
    """Gradients less messages less the residual, summed exactly."""
    terms, allowance, residual = [], 0.0, np.zeros((m, n), dtype)
    for gradient, sent, after in _steps(implementation, settings):
        allowance += float(np.abs(residual + gradient).max()) + float(np.abs(after).max())
        terms += [gradient.ravel(), -sent.ravel()]
        residual = after
    columns = np.array([*terms, -residual.ravel()], np.float64).T.tolist()
    lost = max(abs(math.fsum(column)) for column in columns)
    # a rounding moves a number by u of itself at most; the sum itself is rounded once
    return Outcome(lost, {}, float(np.finfo(dtype).eps) / 2 * allowance * (1 + 4 * _EPS))


_TELESCOPED = Family(
    _P,
    "EF14",
    _RUNS.replaced(reach=(1.0, 1e-15), sketch=("drawn", "fresh"), dtype=("float64", "float32")).search(
        m=(1, 5), n=(1, 5), horizon=(1, 6), reach=tuple(10.0**e for e in range(-10, 11))
    ),
    exact=False,
    arrays=3,
)


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


def _averaged(
    implementation: type[EF14], settings: Settings, m: int, n: int, r: int, horizon: int, reach: float
) -> Outcome:
    """The squared residual of up to three steps of equal singular values, expected over the sketches.

    The first step leaves a projection whatever its sketch is, and by symmetry one stands for all.
    """
    first, (counts, off) = np.eye(n, r), _LATTICE[horizon]
    lattice = itertools.product(*(_directions(n, count) for count in counts))
    squares = [_last_square(_steps(implementation, settings, sketches=[first, *sketches])) for sketches in lattice]
    measured = sum(squares) / len(squares)
    return Outcome(measured, {}, _allowance(m, n, horizon, reach) + off * measured)


_FIRST_STEPS = _RUNS.replaced(m=(2, 3, 5, 7), n=(2, 3, 4, 9), horizon=(1,), sequence=("constant",), sketch=("all",))
_LATER = [
    *_FIRST_STEPS.every(m=(2, 3), n=lambda m: (2,) if m == 3 else (2, 3), horizon=[2], reach=(1.0, 0.25, 3.0, 30.0)),
    _FIRST_STEPS.at(horizon=3, reach=3.0),
]
"""Of rank 1 and two singular values, where the error is known over every angle of a sketch."""
# a first step comes near the limit of many steps where one direction of seven is left out
_SEVEN = _FIRST_STEPS.every(m=[7], n=[9], r=[6], reach=(1.0, 0.25, 3.0))
_FRESH = Family(_P, "EF14", _FIRST_STEPS.including(*_LATER, *_SEVEN), run=_averaged, exact=False, searched=False)
_FEW_ROWS = _FRESH.every(m=(2, 3, 5), n=(2, 3, 4), r=lambda m, n: range(1, min(m, n)), reach=(1.0, 0.25, 3.0))


def _mean_curve(
    claim: str, m: int, n: int, rank: int, sequences: Sequence[str], steps: Sequence[int] = (1, 2, 3, 5, 10)
) -> Callable[[type[EF14], int], list[Series]]:
    """Means of runs."""

    def curves(ef14: type[EF14], seed: int) -> list[Series]:
        found, runs = [], 25
        for sequence in sequences:
            settings = _RUNS.at(m=m, n=n, r=rank, sequence=sequence, horizon=max(steps), sketch="fresh")
            rng, total = np.random.default_rng([seed, m]), np.zeros(max(steps))
            for _ in range(runs):
                total += [_square(residual) for _, _, residual in _steps(ef14, settings, rng)]
            bound = [float(bound_at(claims()[f"{_P}.{claim}"], {**settings, "horizon": step})) for step in steps]
            measured = [float(total[step - 1]) / runs for step in steps]
            label = f"{m} x {n}, rank {rank}, gradients {sequence}, mean of {runs} runs"
            found.append(Series(label, "horizon", [float(step) for step in steps], bound, measured))
        return found

    return curves


def _given(found: Outcome) -> Outcome:
    return found


# --- warm start ------------------------------------------------------------------------------------------------------


def _warm(implementation: type[EF14], settings: Settings, m: int, n: int, horizon: int) -> Outcome:
    """The squared residual after the last step."""
    gradients, _, residuals = zip(*_steps(implementation, settings), strict=True)
    reach = math.sqrt(max(map(_square, gradients)))
    return Outcome(_square(residuals[-1]), {"reach": reach}, _allowance(m, n, horizon, reach))


def _warm_family(searched: bool = False, **axes: Sequence[Any]) -> Family:
    space = _RUNS.replaced(**axes).search(m=(1, 5), n=(1, 5), horizon=(1, 8))
    return Family(_P, "EF14", space, exact=False, arrays=2, searched=searched)


def _warm_curves(family: Family, sketch: str, *sequences: str) -> list[Curve]:
    return [
        family.over(
            "horizon",
            (1, 2, 3, 5, 10),
            f"2 x 2, rank 1, gradients {sequence}, first sketch {sketch}",
            sequence=sequence,
            sketch=sketch,
        )
        for sequence in sequences
    ]


# with all of the rank the bound is zero, and no ratio tells by how much it is missed
_MISSED = _warm_family(sequence=("missed",), sketch=("drawn",), m=(2, 3, 5), n=(2, 3, 4), r=_RANKS[:3])
_GROWING = _warm_family(searched=True)
_ALONG = _warm_family(sequence=("along",), sketch=("drawn",))
_NOT_ALL: dict[str, Any] = {
    "m": (2, 3, 5),
    "n": (2, 4),
    "r": lambda m, n: range(1, min(m, n)),
    "horizon": (1, 2, 3, 12),
}
"""Ranks that leave something out."""

FEEDBACK = (
    *_TELESCOPED.studies(_lost, "telescoping"),
    *_FRESH.studies(
        _given,
        "steps",
        streams=_streams("steps", "fresh", (2, 2, 1, "across", 3), (5, 4, 1, "constant", 4)),
        curves=_mean_curve("steps", 5, 4, 2, ("constant", "across")),
        extremal=_FEW_ROWS,
    ),
    *_FRESH.studies(
        _given,
        "residual",
        streams=_streams(
            "residual",
            "fresh",
            (2, 2, 1, "constant", 12),
            (3, 2, 1, "across", 12),
            (2, 3, 1, "turning", 4),
            (5, 4, 1, "along", 4),
            (5, 4, 2, "alternating", 5),
        ),
        curves=_mean_curve("residual", 4, 5, 2, ("constant", "along")),
    ),
    *_FRESH.studies(
        _given,
        "two",
        streams=_streams("two", "fresh", (2, 2, 1, "across", 8), (3, 2, 1, "constant", 8)),
        curves=_mean_curve("two", 2, 2, 1, ("across", "constant")),
    ),
    *_FRESH.studies(
        _given,
        "equal",
        streams=_streams("equal", "fresh", (2, 2, 1, "constant", 3), (3, 2, 1, "constant", 2), cost=20, equal=True),
        curves=_mean_curve("equal", 2, 2, 1, ("constant",), (1, 2, 3)),
    ),
    *_MISSED.studies(_warm, "warm_start_residual", curves=_warm_curves(_MISSED, "axes", "missed", "constant")),
    *_GROWING.studies(
        _warm,
        "warm_start_growth",
        extremal=_GROWING.every(**_NOT_ALL, sequence=["last"], sketch=["axes"]),
        curves=_warm_curves(_GROWING, "axes", "last", "constant"),
    ),
    *_ALONG.studies(
        _warm,
        "warm_start_gaussian",
        extremal=_ALONG.every(**_NOT_ALL),
        streams=_streams(
            "warm_start_gaussian",
            "drawn",
            (2, 2, 1, "turning", 5),
            (5, 4, 2, "across", 4),
            (3, 5, 1, "missed", 4),
            cost=60,
        ),
        curves=_warm_curves(_ALONG, "drawn", "along"),
    ),
)
"""What PowerSGD leaves out, step by step."""
