"""What ARC-Top-K loses, in expectation over its sketch: measured through the implementation where angles tell it."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Array, Floats
from commbounds.collectives.arctopk.law import kept_of_orthogonal_rows, kept_of_planar_rows, sectors
from commbounds.theory import claims
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import RANKS, Of, Space
from commbounds.verify.study import Case, Curve, Stream

_A = "arctopk.allreduce."
_EPS = float(np.finfo(np.float64).eps)
_ATTACKED = "attacked"
"""Family of the attack's cases: several hundred of them, of rows alike."""


def _stack(rows: Array, P: int) -> Array:
    """Gradients of P ranks that average to `rows`: the ranks differ, and in pairs they cancel."""
    stack = np.repeat(rows[None], P, axis=0)
    for p in range(0, P - 1, 2):
        stack[p] += 8.0
        stack[p + 1] -= 8.0
    return stack


def _joined(z: NDArray[np.complex128], K: int, middle: Array, width: Array) -> tuple[Array, Array]:
    """Neighbouring sectors in which the same K rows score highest as one: the middle of its widest, and their width."""
    scores = np.abs(z) + np.real(z * np.exp(-1j * middle[:, None]))
    kept = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :K], axis=1)
    begins = np.flatnonzero(np.r_[True, (kept[1:] != kept[:-1]).any(axis=1)])
    widest = [start + int(width[start:stop].argmax()) for start, stop in pairwise([*begins, len(middle)])]
    return middle[widest], np.add.reduceat(width, begins)


def _by_angles(arc: Any, rows: Array, K: int, P: int, joined: bool = False) -> tuple[float, float]:
    """Relative error with a sketch of rank 1: the implementation, run once in every sector of directions.

    Or once where neighbouring sectors should keep the same rows: enough to see where the error is large.
    """
    z = (rows[:, 0] + 1j * rows[:, 1]) ** 2
    middle, width = sectors(np.abs(z), z, 1.0)
    allowance = 2e-9 * len(middle) + 64.0 * len(rows) * P * _EPS
    if joined:
        middle, width = _joined(z, K, middle, width)
    stack, total = _stack(rows, P), 0.0
    average = stack.mean(axis=0)
    for psi, share in zip(middle, width, strict=True):
        if share < 1e-9:  # so narrow that the rounding of a score decides; counted in the slack
            continue
        sketch = [[math.cos(psi / 2)], [math.sin(psi / 2)]]
        error = arc(stack, K, 1, sketch=sketch)[0].mean[0] - average
        total += share * float(np.square(error).sum())
    square = float(np.square(average).sum())
    return total / (2 * math.pi) / square, allowance


def _error(implementation: Any, x: Array, m: int, K: int, rank: int, P: int, data: str) -> Rounded:
    """Relative error of planar or of orthogonal rows that are not all zero."""
    square = float(np.square(x).sum())
    if data.startswith("orthogonal"):
        norms = np.square(x).sum(axis=1)
        if np.ptp(norms) == 0.0:  # every selection loses the same: one sketch tells
            error = implementation(_stack(x, P), K, rank, np.random.default_rng(m))[0].mean[0] - x
            return Rounded(float(np.square(error).sum()) / square, 64 * m * P * _EPS)
        kept, allowance = kept_of_orthogonal_rows(norms, K, rank)
        return Rounded(1 - kept / square, allowance / square + 64 * _EPS)
    if rank == 1:
        return Rounded(*_by_angles(implementation, x, K, P, joined=data == _ATTACKED))
    kept, allowance = kept_of_planar_rows(x, K, rank)
    return Rounded(1 - kept / square, allowance / square + 64 * m * _EPS)


# --- rows ------------------------------------------------------------------------------------------------------------


def _rows(data: str, m: int, weight: float, angle: float, seed: int) -> Array:
    """Rows in a plane, or orthogonal ones; `weight` is the squared norm of the one that is unlike others.

    Rows that turn are each turned by the angle; their norms, as those that fall, are between one and that of the last.
    """
    rng, falling = np.random.default_rng([seed, m]), math.sqrt(weight) ** (np.arange(m) / (m - 1))
    made: dict[str, Callable[[], Array]] = {
        "normal": lambda: rng.standard_normal((m, 2)),
        "small integers": lambda: rng.integers(-4, 5, (m, 2)).astype(np.float64),
        _UNEVEN: lambda: np.array([[1.0, 0.0]] * (m - 1) + [[0.0, math.sqrt(weight)]]),
        "turning": lambda: falling[:, None] * np.array([[math.cos(angle * i), math.sin(angle * i)] for i in range(m)]),
        "orthogonal, falling": lambda: np.diag(falling),
        _EQUAL: lambda: np.diag([1.0] * (m - 1) + [math.sqrt(weight)]),
        "orthogonal, drawn": lambda: np.diag(rng.standard_normal(m)),
    }
    return made[data]()


_UNEVEN, _EQUAL = "parallel and one", "orthogonal, all but one alike"
_WEIGHTS = (0.6, 0.1, 0.296, 0.5, 1.0, 4.0, 100.0, 1e4, 0.0)
_SPACE = Space(
    _rows,
    {
        "P": (2, 1, *RANKS[2:]),
        "m": (4, 2, 3, 5, 9),
        "data": ("normal", "small integers", _UNEVEN, "turning", "orthogonal, falling", _EQUAL, "orthogonal, drawn"),
        "weight": _WEIGHTS,
        "angle": (0.3, 0.0, math.pi / 4, math.pi / 2),
        "K": (1, Of("(m + 1) // 2", lambda m: (m + 1) // 2), Of("m - 1", lambda m: m - 1), Of("m", lambda m: m)),
        "rank": (1, 2, 3, 8),
    },
    options=("K",),
)
_ROWS, _PAIRS = (
    Family(
        "arctopk.allreduce",
        "arctopk_allreduce",
        space,
        lambda K, rank, weight: {"k": K, "r": rank, "odd_square": weight},
        _error,
        exact=False,
    )
    for space in (
        _SPACE.including(
            *_SPACE.every(m=(2, 3, 5, 9), data=[_UNEVEN], weight=_WEIGHTS),
            *_SPACE.every(P=(1, 2, 3, 5, 8), m=[10], data=["turning"], weight=[1.0], angle=[0.0]),
        ),
        _SPACE.replaced(m=(2,), K=(1,)),
    )
)


def _moved(rng: np.random.Generator, case: Case) -> Case:
    """Rows nearby, one of them sometimes replaced by another."""
    x = case.array * (1 + 0.2 * rng.standard_normal(case.array.shape)) + 0.05 * rng.standard_normal(case.array.shape)
    if rng.random() < 0.2 and len(x) > 1:
        i, j = rng.permutation(len(x))[:2]
        x[i] = x[j]
    # with rank 1, where the implementation is run
    return Case({**case.settings, "data": _ATTACKED, "rank": 1}, x / np.abs(x).max())


# --- draws and curves ------------------------------------------------------------------------------------------------


def _stream(arc: Any, name: str, rows: Array, K: int, rank: int) -> Stream:
    """Relative errors of the implementation's own draws, over the bound."""
    stack, square = _stack(rows, 2), float(np.square(rows).sum())
    bound = float(claims()[name].bound(m=len(rows), k=K, r=rank))

    def draw(rng: np.random.Generator, count: int) -> Floats:
        errors = [np.square(arc(stack, K, rank, rng)[0].mean[0] - rows).sum() for _ in range(count)]
        return np.array(errors) / square / bound / (1 + 1e-12) - 1.0

    label = f"m = {len(rows)}, K = {K}, rank {rank}"
    return Stream(label, draw, -1.0, math.inf, two_sided=False, cost=40)


def _kept_stream(arc: Any, rows: Array, K: int, rank: int, label: str, cost: float) -> Stream:
    """Share of the bound by which what the implementation's own draws keep falls short of rho(m, r) K/m.

    What is kept tells more than what is lost, of which K/m is a small part.
    """
    norms = np.square(rows).sum(axis=1)
    least = (1.0 - float(claims()[_A + "contraction_rho"].bound(m=len(rows), k=K, r=rank))) * float(norms.sum())
    stack, most = _stack(rows, 3), float(np.sort(norms)[-K:].sum())

    def draw(rng: np.random.Generator, count: int) -> Floats:
        errors = np.array([np.square(arc(stack, K, rank, rng)[0].mean[0] - rows).sum() for _ in range(count)])
        return np.asarray(1 - (norms.sum() - errors) / least)

    allowance = 64 * len(rows) * _EPS * float(np.square(stack).max())
    label = f"{label}, m = {len(rows)}, K = {K}, rank {rank}"
    return Stream(label, draw, 1 - most / least - allowance, math.inf, two_sided=False, cost=cost)


def _rho_streams(arc: Any) -> list[Stream]:
    """Random rows; two rows at eight angles, of which every fixed direction misjudges one; decoys at a large rank."""
    rng = np.random.default_rng(11)
    streams = []
    for rows in (rng.standard_normal((12, 4)), np.repeat(rng.standard_normal((3, 4)), 4, axis=0)):
        streams += [_kept_stream(arc, rows, K, rank, "random rows", 60) for K, rank in ((1, 2), (3, 4))]
    for j in range(8):
        c, s = math.cos(j * math.pi / 8), math.sin(j * math.pi / 8)
        rows = np.array([[c, s], [-0.22 * s, 0.22 * c]])  # tan(pi/16) < 0.22
        streams.append(_kept_stream(arc, rows, 1, 1, f"a long row at {j}/8 pi", 8))
    decoys = np.zeros((100, 21))
    decoys[:80, 0], decoys[80:, 1:] = 1.0, 0.5 * np.eye(20)
    return [*streams, _kept_stream(arc, decoys, 1, 256, "decoys", 12)]


def _streams(name: str) -> Callable[[Any], list[Stream]]:
    def streams(arc: Any) -> list[Stream]:
        rows = [np.diag([3.0, 2.0, 1.0, 1.0, 0.5]), np.diag(np.ones(8))]
        return [_stream(arc, name, x, K, rank) for x in rows for K, rank in ((1, 2), (3, 4))]

    return streams


def _curve(data: str, weights: tuple[float, ...], drawn: str, axis: str = "m", angle: float = 0.3) -> Curve:
    """Error over the number of rows, or the rank: the worst of these rows, and random ones."""

    def points(seed: int) -> Iterator[tuple[None, list[Case]]]:
        for size in (1, 2, 3, 5, 8) if axis == "r" else (2, 3, 4, 6, 8):
            m, rank = (2, size) if axis == "r" else (size, 1)
            random = _SPACE.every(m=[m], rank=[rank], data=[drawn], seed=range(5 * seed, 5 * seed + 5))
            worst = _SPACE.every(m=[m], rank=[rank], data=[data], weight=weights, angle=[angle])
            yield None, list(map(_ROWS.case, (*random, *worst)))

    kind = "orthogonal rows" if drawn.startswith("orthogonal") else "normal rows in a plane"
    label = "one of two rows kept" if axis == "r" else f"one row kept, rank 1; random: {kind}"
    return Curve(axis, label, points, typical=5)


def _found(found: Rounded) -> Rounded:
    return found


_PLANAR = _curve(_UNEVEN, (0.1, 0.3, 0.6, 0.9), "normal")
_ODD = _ROWS.over("m", (2, 3, 4, 6, 8, 16), "odd row of squared norm 0.6", data=_UNEVEN)
ERRORS = (
    *_ROWS.studies(_found, "parallel_and_one", curves=[_ODD]),
    *_ROWS.studies(
        _found,
        "contraction",
        # of more rows than three a heavy one among weak parallel ones
        extremal=_ROWS.every(
            m=lambda level: (3, 5, 10, 30, 100)[: 3 + level],
            data=[_UNEVEN],
            weight=lambda m: [0.6 if m == 3 else m - 1.0],
            K=lambda m: [1 if m == 3 else m - 1],
        ),
        curves=[_PLANAR],
    ),
    *_ROWS.studies(
        _found,
        "contraction_orthogonal",
        extremal=_ROWS.every(
            m=(2, 3, 7, 16),
            data=[_EQUAL],
            weight=[1.0],
            K=lambda m: sorted({1, m // 2, m}),
            rank=(1, 4),
            P=lambda rank: [3 if rank == 1 else 8],
        ),
        streams=_streams(_A + "contraction_orthogonal"),
        curves=[_curve(_EQUAL, (1.0,), "orthogonal, drawn")],
    ),
    *_PAIRS.studies(
        _found,
        "contraction_two_rows",
        mutate=_moved,
        extremal=_PAIRS.every(m=[2], data=["turning"], weight=[1.0], angle=(0.5, math.pi / 2), rank=(1, 2, 5)),
        curves=[_curve("turning", (1.0,), "normal", "r", math.acos(0.6))],
    ),
    *_ROWS.studies(_found, "contraction_rho", mutate=_moved, streams=_rho_streams, curves=[_PLANAR]),
)
"""In the order of the book."""
