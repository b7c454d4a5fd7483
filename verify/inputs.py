"""Inputs that try to break a claim: exact grids, a hostile corpus, and structured families for the search."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array

Vector = Array
ExactVector = tuple[Fraction, ...]

# --- exact grids -------------------------------------------------------------------------------------------------


def grid(n: int, top: int) -> Iterator[ExactVector]:
    """Every vector of `n` integers in [-top, top] but zero: all sign patterns, ties and zeros; small entries first."""
    values = sorted(range(-top, top + 1), key=lambda v: (abs(v), v < 0))
    for x in itertools.product(values, repeat=n):
        if any(x):
            yield tuple(Fraction(v) for v in x)


_PYTHAGOREAN = (
    (1,),
    (3, 4),
    (5, 12),
    (1, 2, 2),
    (2, 3, 6),
    (4, 4, 7),
    (1, 1, 1, 1),
    (1, 1, 3, 5),
    (2, 4, 5, 6),
    (1, 1, 1, 2, 3),
)
"""Magnitudes whose Euclidean norm is an integer, so that laws stay rational; padded with zeros below."""


def rational_norm_grid(n: int) -> Iterator[ExactVector]:
    """Vectors of `n` entries with rational Euclidean norm: every arrangement and sign pattern of a few magnitudes."""
    for magnitudes in _PYTHAGOREAN:
        if len(magnitudes) > n:
            continue
        padded = magnitudes + (0,) * (n - len(magnitudes))
        for arrangement in sorted(set(itertools.permutations(padded))):
            places = [i for i, v in enumerate(arrangement) if v]
            for signs in itertools.product((1, -1), repeat=len(places)):
                x = list(arrangement)
                for i, sign in zip(places, signs, strict=True):
                    x[i] *= sign
                yield tuple(Fraction(v) for v in x)


def matrix_grid(m: int, n: int, top: int) -> Iterator[tuple[ExactVector, ...]]:
    """Every m x n matrix of integers in [-top, top] but zero, as rows."""
    for flat in grid(m * n, top):
        yield tuple(flat[i * n : (i + 1) * n] for i in range(m))


# --- the hostile corpus ------------------------------------------------------------------------------------------


def _sparse(n: int, entries: int) -> Vector:
    x = np.zeros(n)
    x[np.linspace(0, n - 1, entries).astype(int)] = np.arange(1, entries + 1) * (-1.0) ** np.arange(entries)
    return x


def _huge_entry(n: int) -> Vector:
    x = np.ones(n)
    x[n // 2] = 1e6
    return x


CORPUS: dict[str, Callable[[int], Vector]] = {
    "zero": lambda n: np.zeros(n),
    "constant": lambda n: np.ones(n),
    "all negative": lambda n: -np.ones(n),
    "one entry": lambda n: _sparse(n, 1),
    "two entries": lambda n: _sparse(n, min(2, n)),
    "alternating": lambda n: (-1.0) ** np.arange(n),
    "ties": lambda n: (np.arange(n) % 3).astype(float) - 1.0,
    "ramp": lambda n: np.arange(1.0, n + 1.0),
    "one huge entry": _huge_entry,
    "powers of two": lambda n: 2.0 ** ((np.arange(n) % 40) - 20.0),
    "between powers": lambda n: (4.0 / 3.0) * 2.0 ** ((np.arange(n) % 8) - 4.0),
    "halfway between powers": lambda n: 1.5 * 2.0 ** ((np.arange(n) % 8) - 4.0),
    "just below one half": lambda n: np.full(n, np.nextafter(np.float32(0.5), np.float32(0.0)), dtype=np.float64),
    "geometric": lambda n: 0.5 ** np.minimum(np.arange(n), 60.0),
    "one entry one, rest small": lambda n: np.where(np.arange(n) == 0, 1.0, 1.0 / (1.0 + np.sqrt(n))),
}
"""Hostile vectors, by name; each is taken at several sizes and scales."""

SCALES = (1.0, 1e-38, 1e38, 1e-20, 3.0)
"""Factors applied to the corpus; entries that overflow the dtype are dropped, with their vector."""


def corpus(sizes: tuple[int, ...], dtype: type = np.float32) -> Iterator[tuple[str, Vector]]:
    """The hostile corpus at the given sizes, the first and the last of them at every scale, as (label, vector).

    Only vectors that are finite; subnormal results stay in, and norms beyond the dtype: a compressor has to take them.
    """
    for scale in SCALES:
        for name, make in CORPUS.items():
            for n in sizes if scale == 1.0 else sorted({*sizes[:1], *sizes[-1:]}):
                with np.errstate(over="ignore", under="ignore"):
                    x: Vector = (make(n) * scale).astype(dtype)
                if np.isfinite(x).all():
                    yield f"{name}, n={n}, scale {scale:g}", x


# --- random families ---------------------------------------------------------------------------------------------

FAMILIES: dict[str, Callable[[np.random.Generator, int], Vector]] = {
    "small integers": lambda rng, n: rng.integers(-3, 4, n).astype(np.float64),
    "signs": lambda rng, n: rng.choice((-1.0, 1.0), n),
    "uniform": lambda rng, n: rng.uniform(-1.0, 1.0, n),
    "normal": lambda rng, n: rng.standard_normal(n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "student": lambda rng, n: rng.standard_t(2.0, size=n),
    "lognormal": lambda rng, n: np.exp(2.0 * rng.standard_normal(n)) * rng.choice((-1.0, 1.0), n),
    "sparse": lambda rng, n: rng.standard_normal(n) * (rng.random(n) < 0.1),
}
"""Random vectors, by name; simplest first, as examples shrink in this order."""


def family(name: str, n: int, seed: int, scale: float = 1.0, dtype: type = np.float32) -> Vector:
    """One vector of the family `name`, a function of the arguments alone."""
    return (FAMILIES[name](np.random.default_rng([seed, n]), n) * scale).astype(dtype)


# --- what Hypothesis draws ---------------------------------------------------------------------------------------

_FAR = 1 << 200


@lru_cache(maxsize=1 << 14)
def integers(low: int, high: int) -> st.SearchStrategy[int]:
    """Integers in [low, high]; they shrink towards low.

    Hypothesis tries constants that it finds in whatever modules happen to be loaded, so that one seed would not give
    the same examples everywhere. Here integers are drawn from a range where no constant lies, and moved back.
    """
    return st.integers(low + _FAR, high + _FAR).map(lambda value: value - _FAR)


def sampled_from(options: Sequence[Any]) -> st.SearchStrategy[Any]:
    """One of `options`; shrinks towards the first. As for `whole`, no constant gets in."""
    try:
        return _among(tuple(options), repr(options))
    except TypeError:  # they are not hashable
        return integers(0, len(options) - 1).map(options.__getitem__)


@lru_cache(maxsize=1 << 12)
def _among(options: tuple[Any, ...], _words: str) -> st.SearchStrategy[Any]:
    """Made once for equal options that read the same, as 1 and 1.0 do not: a new strategy takes long to be drawn."""
    return integers(0, len(options) - 1).map(options.__getitem__)


def balanced(top: int) -> tuple[int, ...]:
    """The integers in [-top, top], simplest first."""
    return tuple(sorted(range(-top, top + 1), key=lambda v: (abs(v), v < 0)))


SMALL = balanced(4)


@lru_cache(maxsize=1 << 9)
def small_entries(least: int, most: int) -> st.SearchStrategy[list[int]]:
    """Lists of `least` to `most` small integers."""
    return st.lists(sampled_from(SMALL), min_size=least, max_size=most)


_BOOLEAN = st.booleans()  # False is simpler than True


@st.composite
def _entries(draw: st.DrawFn) -> float:
    """A small integer, a half-precision number below 128, or one at the end of a scale."""
    if not draw(_BOOLEAN):
        return float(draw(sampled_from((*SMALL, 1e-30, -1e30))))
    return float(draw(sampled_from((1.0, -1.0))) * draw(integers(0, 2**11 - 1)) * 2.0 ** -draw(integers(4, 14)))


_FEW = st.lists(_entries(), min_size=1, max_size=6)
_EXPONENTS = balanced(30)


@lru_cache(maxsize=1 << 9)
def _places(n: int) -> st.SearchStrategy[list[tuple[int, float]]]:
    """At most three entries of n, with what to put there."""
    return st.lists(st.tuples(integers(0, n - 1), sampled_from((0.0, 1.0, -1.0))), max_size=3)


@lru_cache(maxsize=1 << 4)
def cases(largest: int = 300, dtype: type = np.float32) -> st.SearchStrategy[Vector]:
    """A vector of at most `largest` entries: short ones entry by entry, so that they shrink; long ones by structure."""
    return _vectors(largest, dtype)


@st.composite
def _vectors(draw: st.DrawFn, largest: int, dtype: type) -> Vector:
    if not draw(_BOOLEAN):
        return np.asarray(draw(_FEW), dtype=dtype)
    n = draw(integers(1, largest))
    x = family(
        draw(sampled_from(tuple(FAMILIES))), n, draw(integers(0, 2**31)), 10.0 ** draw(sampled_from(_EXPONENTS)), dtype
    )
    for place, value in draw(_places(n)):
        x[place] = value * (np.abs(x).max() or 1.0)
    return x
