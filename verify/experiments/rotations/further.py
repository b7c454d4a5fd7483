"""Claims about Kashin's representation, subtractive dithering, uniform rotations and rounding with feedback."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.experiment import Budget
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)


@cache
def sylvester(d: int) -> Array:
    """The matrix from its definition."""
    return np.array([[(-1.0) ** (i & j).bit_count() for j in range(d)] for i in range(d)])


def _length(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _signs(case: Case) -> Array:
    """All of them 1 for the seed 0, else drawn."""
    n, seed = case.settings["n"], case.settings["seed"]
    return np.random.default_rng([seed, n]).choice((-1, 1), n) if seed else np.ones(n, np.int64)


# --- Kashin's representation -----------------------------------------------------------------------------------------


@cache
def frame_constant(n: int, size: int, most: int) -> float:
    """The norm of the frame on all vectors with at most `most` nonzero entries: alike vectors enumerated together."""
    kinds: dict[bytes, tuple[Array, int]] = {}
    for column in (sylvester(size)[:n] / math.sqrt(size)).T:
        column = np.ascontiguousarray(column * np.sign(column[0]))
        kinds[column.tobytes()] = (column, kinds.get(column.tobytes(), (column, 0))[1] + 1)
    columns, counts = zip(*kinds.values(), strict=True)
    largest = 0.0
    for chosen in itertools.product(*(range(min(count, most) + 1) for count in counts)):
        if sum(chosen) == min(most, size):
            part = np.array(columns).T * np.sqrt(np.array(chosen, float))
            largest = max(largest, float(np.linalg.norm(part, 2)))
    return largest


def _kashin_case(
    entries: Sequence[float], rounds: int, rate: float, most: float, size: int, exact: bool, seed: int = 0
) -> Case:
    n = len(entries)
    settings = {
        "n": n,
        "seed": seed,
        "length": size,
        "clip_rounds": rounds,
        "clip_rate": rate,
        "clip_share": most / size,
    }
    constant = frame_constant(n, size, int(most)) if n == 3 else 1.0
    return Case({**settings, "exact_round": exact, "frame_constant": constant}, np.array(entries, float))


_ELEVEN = (-1, 1, -1, 1, 0, 1, -1, -1, -1, 0, 1)
_FRAMES = ((8, 3), (16, 6), (16, 7), (32, 12), (32, 13))
"""Coefficients, and how many of them have an uncertainty principle with three entries and are clipped somewhere."""


def _triples() -> Iterator[tuple[float, ...]]:
    for x in itertools.product((0, 1, 2, -3), repeat=3):
        if any(x):
            yield tuple(map(float, x))


def _defaults(exact: bool) -> Iterator[Case]:
    """As Google's stage has it: three rounds, 0.9, and the level that n gives."""
    for x in (*_triples(), (1.0,) * 13, _ELEVEN, (5.0, 1, 0, 0, -1), (1.0,) * 5):
        for seed in (0, 1):
            yield _kashin_case(x, 3, 0.9, len(x), _length(len(x)), exact, seed)


def _exact_cases(_budget: Budget) -> Iterator[Case]:
    yield from _defaults(True)
    for rounds in (1, 2, 5):
        yield _kashin_case(_ELEVEN, rounds, 0.5, 4, 16, True)
        yield _kashin_case((1.0,) * 13, rounds, 0.5, 16, 16, True)


def _principled(_budget: Budget) -> Iterator[Case]:
    """Frames whose constant is known, with the rate that it gives."""
    for (size, most), x, rounds in itertools.product(_FRAMES, _triples(), (1, 2, 4)):
        yield _kashin_case(x, rounds, frame_constant(3, size, most), most, size, False)


def _clipped(budget: Budget) -> Iterator[Case]:
    yield from _defaults(False)
    yield from _principled(budget)
    for rounds, rate in itertools.product((1, 2, 3, 6), (0.5, 0.9)):
        yield _kashin_case((1.0,) * 13, rounds, rate, 16, 16, False)


def _unprincipled(budget: Budget) -> Iterator[Case]:
    yield from _clipped(budget)
    yield _half(1)
    yield _half(2)


def _half(rounds: int) -> Case:
    return _kashin_case((1.0,) * 256 + (0.0,) * 44, rounds, 0.9, 300, 512, False)


def _ones_clipped(_budget: Budget) -> Iterator[Case]:
    for rounds in (1, 2, 3):
        yield _kashin_case((1.0,) * 13, rounds, 0.5, 16, 16, False)


def _coefficients(represent: Any, case: Case) -> tuple[Array, Array, Array, float]:
    """Coefficients; those of the transform; what is not represented; and room for rounding, relative to x."""
    x, s, signs = case.array, case.settings, _signs(case)
    given = {"length": s["length"], "exact": s["exact_round"]}
    a = represent(x, signs, s["clip_rounds"], s["clip_rate"], s["clip_share"], **given)
    U = sylvester(s["length"])[: x.size] * signs[:, None] / math.sqrt(s["length"])
    return a, U.T @ x, x - U @ a, 64.0 * s["length"] * s["clip_rounds"] * EPS


def _kashin_values(case: Case) -> dict[str, Any]:
    values = {name: case.settings[name] for name in ("clip_rounds", "clip_rate", "clip_share", "n")}
    return {**values, "frame_length": case.settings["length"]}


def _defect(represent: Any, case: Case) -> Outcome:
    _, _, left, allowance = case.once(_coefficients, represent)
    return Outcome(float(np.abs(left).max() / np.abs(case.array).max()), _kashin_values(case), allowance)


def _range(represent: Any, case: Case) -> Outcome:
    a, plain, _, allowance = case.once(_coefficients, represent)
    return Outcome(float(np.abs(a).max() / np.abs(plain).max()), _kashin_values(case), allowance)


def _top(represent: Any, case: Case) -> Outcome:
    a, _, _, allowance = case.once(_coefficients, represent)
    value = math.sqrt(a.size) * float(np.abs(a).max()) / float(np.linalg.norm(case.array))
    return Outcome(value, _kashin_values(case), allowance)


def _left(represent: Any, case: Case) -> Outcome:
    _, plain, left, allowance = case.once(_coefficients, represent)
    norm = float(np.linalg.norm(case.array))
    level = norm / math.sqrt(case.settings["clip_share"] * plain.size)
    active = bool(np.abs(plain).max() > level)
    return Outcome(float(np.linalg.norm(left)) / norm, _kashin_values(case), allowance, active=active)


_K, _KASHIN = "rotations.kashin.", "kashin"
_ROUNDS = range(1, 8)
_BY_ROUNDS = over("clip_rounds", "13 ones", [_kashin_case((1.0,) * 13, t, 0.5, 16, 16, False) for t in _ROUNDS])

REPRESENTATIONS = (
    Study(
        _K + "reproduces",
        _KASHIN,
        _defect,
        corpus=_exact_cases,
        curves=[over("clip_rounds", "eleven", [_kashin_case(_ELEVEN, t, 0.9, 11, 16, True) for t in _ROUNDS])],
    ),
    Study(
        _K + "range",
        _KASHIN,
        _range,
        corpus=_exact_cases,
        curves=[over("clip_rounds", "eleven", [_kashin_case(_ELEVEN, t, 0.9, 11, 16, True) for t in _ROUNDS])],
    ),
    Study(_K + "level", _KASHIN, _top, corpus=_clipped, extremal=_ones_clipped, curves=[_BY_ROUNDS]),
    Study(
        _K + "residual",
        _KASHIN,
        _left,
        corpus=_principled,
        curves=[
            over(
                "clip_rounds",
                "(1, 1, 1), 16 coefficients",
                [_kashin_case((1.0,) * 3, t, frame_constant(3, 16, 6), 6, 16, False) for t in _ROUNDS],
            )
        ],
    ),
    Study(
        _K + "finite",
        _KASHIN,
        _left,
        corpus=_principled,
        curves=[
            over(
                "clip_rounds",
                "(1, 1, 1), 16 coefficients",
                [_kashin_case((1.0,) * 3, t, frame_constant(3, 16, 6), 6, 16, False) for t in _ROUNDS],
            )
        ],
    ),
    Study(
        _K + "residual_default",
        _KASHIN,
        _left,
        corpus=_unprincipled,
        curves=[over("clip_rounds", "256 ones of 300", [_half(t) for t in (1, 2, 3, 4)])],
    ),
)

# --- uniform rotations -----------------------------------------------------------------------------------------------


@cache
def _directions(n: int) -> tuple[Array, Array]:
    """Directions and weights that integrate what is smooth between sign changes over the sphere of n <= 3 entries."""
    at, weight = np.polynomial.legendre.leggauss(16)
    at, weight = (at + 1) * math.pi / 4, weight * math.pi / 4
    if n == 1:
        return np.array([[1.0], [-1.0]]), np.array([0.5, 0.5])
    if n == 2:
        first, p = np.stack([np.cos(at), np.sin(at)], axis=1), weight / (2 * math.pi)
    else:
        t, f = (v.ravel() for v in np.meshgrid(at, at, indexing="ij"))
        first = np.stack([np.sin(t) * np.cos(f), np.sin(t) * np.sin(f), np.cos(t)], axis=1)
        p = np.outer(weight * np.sin(at), weight).ravel() / (4 * math.pi)
    corners = list(itertools.product((1.0, -1.0), repeat=n))
    return np.concatenate([first * corner for corner in corners]), np.tile(p, len(corners))


def _onto(x: Array, u: Array) -> Array:
    """An orthogonal matrix that takes the direction of x to u."""
    gap = x / np.linalg.norm(x) - u
    square = float(gap @ gap)
    mirror = np.eye(x.size)
    return mirror if square < 1e-24 else mirror - 2.0 * np.outer(gap, gap) / square


def _uniform_error(estimate: Any, case: Case) -> Outcome:
    x, square = case.array, float(case.array @ case.array)
    directions, p = _directions(x.size)
    errors = [np.square(estimate(x, _onto(x, u), case.settings["scale"]) - x).sum() / square for u in directions]
    # Gauss-Legendre with 16 nodes a quarter is exact to rounding for these
    return Outcome(float(p @ np.array(errors)), {"n": x.size}, 1e-12)


def _mirrored(estimate: Any, case: Case) -> Outcome:
    x, scale, square = case.array, case.settings["scale"], float(case.array @ case.array)
    mirror, worst = 2.0 * np.outer(x, x) / square - np.eye(x.size), 0.0
    rng = np.random.default_rng([case.settings["seed"], x.size])
    for _ in range(8):
        R = np.linalg.qr(rng.standard_normal((x.size, x.size)))[0]
        mean = (estimate(x, R, scale) + estimate(x, R @ mirror, scale)) / 2
        worst = max(worst, float(np.abs(mean - x).max() / np.abs(x).max()))
    return Outcome(worst, {"n": x.size}, 256.0 * x.size**2 * EPS)


def _vectors_of(*scales: str, lengths: Sequence[int] = (1, 2, 3)) -> Callable[[Budget], Iterator[Case]]:
    def cases(_budget: Budget) -> Iterator[Case]:
        for entries in ((2.0,), (3.0, 1.0), (1.0, 1.0), (0.0, -2.0), (1.0, 2.0, -3.0), (5.0, 0.0, 0.0)):
            for scale in scales:
                if len(entries) in lengths:
                    yield Case({"n": len(entries), "scale": scale, "seed": 0}, np.array(entries))

    return cases


def _longer(_budget: Budget) -> Iterator[Case]:
    for n in (1, 2, 3, 4, 7, 16):
        x = np.random.default_rng(n).integers(-4, 5, n).astype(float)
        x[0] = 5.0
        yield Case({"n": n, "scale": "unbiased", "seed": n}, x)


_R, _SIGNED = "rotations.rotated_signs.", "rotated_signs"


def _of_ones(scale: str, *lengths: int) -> list[Case]:
    return [Case({"n": n, "scale": scale, "seed": 0}, np.arange(1.0, n + 1)) for n in lengths]


ROTATED = (
    Study(
        _R + "unbiased",
        _SIGNED,
        _mirrored,
        corpus=_longer,
        curves=[over("n", "1, 2, ..., n", _of_ones("unbiased", 1, 2, 3, 4, 8, 16))],
    ),
    Study(
        _R + "plane",
        _SIGNED,
        _uniform_error,
        corpus=_vectors_of("unbiased", lengths=(2,)),
        curves=[over("n", "(1, 2)", _of_ones("unbiased", 2))],
    ),
    Study(
        _R + "space",
        _SIGNED,
        _uniform_error,
        corpus=_vectors_of("unbiased", lengths=(3,)),
        curves=[over("n", "(1, 2, 3)", _of_ones("unbiased", 3))],
    ),
    Study(
        _R + "biased",
        _SIGNED,
        _uniform_error,
        corpus=_vectors_of("biased"),
        curves=[over("n", "1, 2, ..., n", _of_ones("biased", 1, 2, 3))],
    ),
)

# --- a matrix, rotated from both sides -------------------------------------------------------------------------------


def _two_sided(rotate: Any, case: Case) -> Outcome:
    W, s = case.array, case.settings
    rows, columns = W.shape
    tops = []
    for left in itertools.product((1, -1), repeat=rows):
        half = np.array([rotate(W[:, j].copy(), left) for j in range(columns)]).T
        for right in itertools.product((1, -1), repeat=columns):
            tops.append(max(int(np.abs(rotate(row.copy(), right)).max()) for row in half))
    square, reach = int((W * W).sum()), int(sorted(tops)[-1 - s["rank"]])
    chance = Fraction(sum(top >= reach for top in tops), len(tops))
    values = {"left_size": rows, "right_size": columns, "tail_at": reach / math.sqrt(square)}
    return Outcome(float(chance), values, 1e-15)


def _matrices(_budget: Budget) -> Iterator[Case]:
    for rows, columns, rank in ((2, 2, 0), (4, 2, 0), (4, 4, 0)):
        yield _ones(rows, columns, rank)
    W = np.arange(1, 9, dtype=np.int64).reshape(2, 4)
    yield Case({"rows": 2, "columns": 4, "rank": 0}, W)


def _ones(rows: int, columns: int, rank: int) -> Case:
    return Case({"rows": rows, "columns": columns, "rank": rank}, np.ones((rows, columns), np.int64))


BOTH_SIDES = (
    Study(
        "rotations.randomised_hadamard.two_sided",
        "randomised_hadamard",
        _two_sided,
        corpus=_matrices,
        curves=[over("tail_at", "equal entries, 2 x 2 to 4 x 4", [_ones(2, 2, 0), _ones(4, 2, 0), _ones(4, 4, 0)])],
    ),
)

FURTHER = (*REPRESENTATIONS, *ROTATED, *BOTH_SIDES)
