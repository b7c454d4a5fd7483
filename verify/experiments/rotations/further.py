"""Claims about Kashin's representation, subtractive dithering, uniform rotations and rounding with feedback."""

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import Of, Settings, Space
from commbounds.verify.study import Curve, Outcome

Values = dict[str, Any]
EPS = float(np.finfo(np.float64).eps)


@cache
def sylvester(d: int) -> Array:
    """The matrix from its definition."""
    return np.array([[(-1.0) ** (i & j).bit_count() for j in range(d)] for i in range(d)])


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


def _in_frame(n: int, length: int, most: int) -> Values:
    constant = frame_constant(n, length, most) if n == 3 else 1.0
    return {"frame_length": length, "clip_share": most / length, "frame_constant": constant}


def _represented(
    implementation: Any, x: Array, n: int, seed: int, length: int, clip_rounds: int, clip_rate: float,
    clip_share: float, exact_round: bool,
) -> tuple[Array, Array, Array, float]:  # fmt: skip
    """Coefficients; those of the transform; what is not represented; and what is rounded, relative to x."""
    # all signs are 1 for the seed 0, else drawn
    signs = np.random.default_rng([seed, n]).choice((-1, 1), n) if seed else np.ones(n, np.int64)
    a = implementation(x, signs, clip_rounds, clip_rate, clip_share, length=length, exact=exact_round)
    U = sylvester(length)[:n] * signs[:, None] / math.sqrt(length)
    return a, U.T @ x, x - U @ a, 64.0 * length * clip_rounds * EPS


def _defect(found: Any, x: Array) -> Rounded:
    _, _, left, rounded = found
    return Rounded(float(np.abs(left).max() / np.abs(x).max()), rounded)


def _range(found: Any) -> Rounded:
    a, plain, _, rounded = found
    return Rounded(float(np.abs(a).max() / np.abs(plain).max()), rounded)


def _top(found: Any, x: Array) -> Rounded:
    a, _, _, rounded = found
    return Rounded(math.sqrt(a.size) * float(np.abs(a).max()) / float(np.linalg.norm(x)), rounded)


def _left(found: Any, x: Array, clip_share: float) -> Outcome:
    _, plain, left, rounded = found
    norm = float(np.linalg.norm(x))
    clipped = bool(np.abs(plain).max() > norm / math.sqrt(clip_share * plain.size))
    return Outcome(float(np.linalg.norm(left)) / norm, {}, rounded, active=clipped)


_ELEVEN = (-1, 1, -1, 1, 0, 1, -1, -1, -1, 0, 1)
_ONES = (1.0,) * 13
_TRIPLES = tuple(x for x in itertools.product((0.0, 1.0, 2.0, -3.0), repeat=3) if any(x))
_FRAMES = Space(
    lambda entries: np.array(entries, float),
    {
        "entries": (*_TRIPLES, _ONES, _ELEVEN, (5.0, 1, 0, 0, -1), (1.0,) * 5),
        "n": (Of("their number", lambda entries: len(entries)),),
        "length": (Of("the least power of two", lambda n: 1 << (n - 1).bit_length()),),
        "most": (Of("n", lambda n: n),),
        "clip_rounds": (3,),
        "clip_rate": (0.9,),
        "exact_round": (False, True),
    },
)
"""First values are those of Google's stage: three rounds, 0.9, and the level that n gives."""
_KASHIN = Family("rotations.kashin", "kashin", _FRAMES, _in_frame, _represented, exact=False)
_BY_FRAME = Of("the frame's constant", lambda length, most: frame_constant(3, length, most))


def _defaults(exact: bool) -> list[Settings]:
    return _FRAMES.every(entries=_FRAMES.axes["entries"], seed=(0, 1), exact_round=[exact])


def _clipped_ones(*rounds: int, rates: tuple[float, ...] = (0.5,), exact: bool = False) -> list[Settings]:
    return _FRAMES.every(entries=[_ONES], most=[16], clip_rounds=rounds, clip_rate=rates, exact_round=[exact])


def _half(*rounds: int) -> list[Settings]:
    """Half of 512 coefficients are of ones, of 300 entries."""
    return _FRAMES.every(entries=[(1.0,) * 256 + (0.0,) * 44], clip_rounds=rounds)


_FIXED = _FRAMES.every(entries=[_ELEVEN], most=[4], clip_rounds=(1, 2, 5), clip_rate=[0.5], exact_round=[True])
_EXACTLY = _KASHIN.of([*_defaults(True), *_FIXED, *_clipped_ones(1, 2, 5, exact=True)])
# frames whose constant is known, with the rate that it gives: coefficients, and how many of them have an uncertainty
# principle with three entries and are clipped somewhere
_PRINCIPLED = [
    row
    for length, most in ((8, 3), (16, 6), (16, 7), (32, 12), (32, 13))
    for row in _FRAMES.every(
        entries=_TRIPLES, length=[length], most=[most], clip_rounds=(1, 2, 4), clip_rate=[_BY_FRAME]
    )
]
_CLIPPED = [*_defaults(False), *_PRINCIPLED, *_clipped_ones(1, 2, 3, 6, rates=(0.5, 0.9))]
_IN_PRINCIPLE = _KASHIN.of(_PRINCIPLED)


def _by_rounds(label: str, rounds: Iterable[int] = range(1, 8), **fixed: Any) -> list[Curve]:
    return [_KASHIN.over("clip_rounds", rounds, label, **fixed)]


_BY_ELEVEN = _by_rounds("eleven", entries=_ELEVEN, exact_round=True)
_BY_THREE = _by_rounds(
    "(1, 1, 1), 16 coefficients", entries=(1.0,) * 3, length=16, most=6, clip_rate=frame_constant(3, 16, 6)
)
_NO_GRID: Values = {"grid": None, "cases": None}

REPRESENTATIONS = (
    *_KASHIN.studies(_defect, "reproduces", corpus=_EXACTLY, curves=_BY_ELEVEN, **_NO_GRID),
    *_KASHIN.studies(_range, "range", corpus=_EXACTLY, curves=_BY_ELEVEN, **_NO_GRID),
    *_KASHIN.studies(
        _top,
        "level",
        corpus=_KASHIN.of(_CLIPPED),
        extremal=_KASHIN.of(_clipped_ones(1, 2, 3)),
        curves=_by_rounds("13 ones", entries=_ONES, most=16, clip_rate=0.5),
        **_NO_GRID,
    ),
    *_KASHIN.studies(_left, "residual", "finite", corpus=_IN_PRINCIPLE, curves=_BY_THREE, **_NO_GRID),
    *_KASHIN.studies(
        _left,
        "residual_default",
        corpus=_KASHIN.of([*_CLIPPED, *_half(1, 2)]),
        curves=_by_rounds("256 ones of 300", range(1, 5), entries=(1.0,) * 256 + (0.0,) * 44),
        **_NO_GRID,
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


def _uniform_error(implementation: Any, x: Array, scale: str) -> Rounded:
    square = float(x @ x)
    directions, p = _directions(x.size)
    errors = [np.square(implementation(x, _onto(x, u), scale) - x).sum() / square for u in directions]
    # Gauss-Legendre with 16 nodes a quarter is exact to rounding for these
    return Rounded(float(p @ np.array(errors)), 1e-12)


def _mirrored(implementation: Any, x: Array, scale: str, seed: int) -> Rounded:
    mirror, worst = 2.0 * np.outer(x, x) / float(x @ x) - np.eye(x.size), 0.0
    rng = np.random.default_rng([seed, x.size])
    for _ in range(8):
        R = np.linalg.qr(rng.standard_normal((x.size, x.size)))[0]
        mean = (implementation(x, R, scale) + implementation(x, R @ mirror, scale)) / 2
        worst = max(worst, float(np.abs(mean - x).max() / np.abs(x).max()))
    return Rounded(worst, 256.0 * x.size**2 * EPS)


def _integers(entries: tuple[float, ...] | str, n: int, seed: int) -> Array:
    """The entries; or 1, 2, ..., n; or small integers that are drawn, after a five."""
    if entries == "1, 2, ..., n":
        return np.arange(1.0, n + 1)
    if entries == "drawn":
        return np.array([5.0, *np.random.default_rng(seed).integers(-4, 5, n)[1:].tolist()])
    return np.array(entries)


_FEW = ((2.0,), (3.0, 1.0), (1.0, 1.0), (0.0, -2.0), (1.0, 2.0, -3.0), (5.0, 0.0, 0.0))
_TURNED = Family(
    "rotations.rotated_signs",
    "rotated_signs",
    Space(
        _integers,
        {"entries": _FEW, "n": (Of("their number", lambda entries: len(entries)),), "scale": ("unbiased", "biased")},
    ),
    exact=False,
)


def _of_length(*lengths: int, scale: str = "unbiased") -> Any:
    chosen = [entries for entries in _FEW if len(entries) in lengths]
    return _TURNED.of([_TURNED.space.at(entries=entries, scale=scale) for entries in chosen])


def _by_length(label: str, *lengths: int, scale: str = "unbiased") -> list[Curve]:
    return [_TURNED.over("n", lengths, label, entries="1, 2, ..., n", scale=scale)]


_DRAWN = _TURNED.of([_TURNED.space.at(entries="drawn", n=n, seed=n) for n in (1, 2, 3, 4, 7, 16)])
ROTATED = (
    *_TURNED.studies(
        _mirrored, "unbiased", corpus=_DRAWN, curves=_by_length("1, 2, ..., n", 1, 2, 3, 4, 8, 16), **_NO_GRID
    ),
    *_TURNED.studies(_uniform_error, "plane", corpus=_of_length(2), curves=_by_length("(1, 2)", 2), **_NO_GRID),
    *_TURNED.studies(_uniform_error, "space", corpus=_of_length(3), curves=_by_length("(1, 2, 3)", 3), **_NO_GRID),
    *_TURNED.studies(
        _uniform_error,
        "biased",
        corpus=_of_length(1, 2, 3, scale="biased"),
        curves=_by_length("1, 2, ..., n", 1, 2, 3, scale="biased"),
        **_NO_GRID,
    ),
)

# --- a matrix, rotated from both sides -------------------------------------------------------------------------------


def _two_sided(implementation: Any, x: Array) -> Outcome:
    """How often the largest entry is reached, over all signs of rows and of columns."""
    rows, columns = x.shape
    tops = []
    for left in itertools.product((1, -1), repeat=rows):
        half = np.array([implementation(x[:, j].copy(), left) for j in range(columns)]).T
        for right in itertools.product((1, -1), repeat=columns):
            tops.append(max(int(np.abs(implementation(row.copy(), right)).max()) for row in half))
    reach = max(tops)
    chance = Fraction(tops.count(reach), len(tops))
    values = {"left_size": rows, "right_size": columns, "tail_at": reach / math.sqrt(int((x * x).sum()))}
    return Outcome(float(chance), values, 1e-15)


def _matrix(shape: tuple[int, int], entries: str) -> Array:
    ones = np.ones(shape, np.int64)
    return ones if entries == "equal" else ones.cumsum().reshape(shape)


_MATRICES = Family(
    "rotations.randomised_hadamard",
    "randomised_hadamard",
    Space(_matrix, {"shape": ((2, 2), (4, 2), (4, 4)), "entries": ("equal",)}).including(
        {"shape": (2, 4), "entries": "1, 2, ..., 8", "seed": 0}
    ),
    exact=False,
    searched=False,
)
BOTH_SIDES = _MATRICES.studies(
    _two_sided,
    "two_sided",
    curves=[_MATRICES.over("tail_at", ((2, 2), (4, 2), (4, 4)), "equal entries, 2 x 2 to 4 x 4", by="shape")],
)

FURTHER = (*REPRESENTATIONS, *ROTATED, *BOTH_SIDES)
