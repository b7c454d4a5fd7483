"""Vectors and stacks by kind: what spaces of cases draw from, every kind a function of its size, dtype and seed."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Array

KINDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "ties": lambda rng, P, n: rng.integers(-2, 3, (P, n)).astype(np.float64),
    "normal": lambda rng, P, n: rng.standard_normal((P, n)),
    "zeros": lambda rng, P, n: rng.choice((0.0, -0.0), (P, n)),
    "signs": lambda rng, P, n: rng.choice((-1.0, 1.0), (P, n)),
    "sparse": lambda rng, P, n: rng.standard_normal((P, n)) * (rng.random((P, n)) < 0.2),
    "of all sizes": lambda rng, P, n: rng.standard_normal((P, n)) * 10.0 ** rng.integers(-12, 13, (P, n)),
    "cancelling": lambda rng, P, n: np.where(np.arange(P)[:, None] % 2, -1.0, 1.0) * rng.standard_normal(n),
    "alike": lambda rng, P, n: np.tile(rng.standard_normal(n), (P, 1)),
    "one rank": lambda rng, P, n: np.where(np.arange(P)[:, None] == P - 1, rng.standard_normal((P, n)), 0.0),
    "eighths": lambda rng, P, n: rng.integers(-32, 33, (P, n)) / 8,
    "subnormal": lambda rng, P, n: rng.standard_normal((P, n)) * 1e-39,
}
"""(rng, P, n) -> (P, n) float64, by name; simplest first. Sums and differences of eighths and of ties are exact."""

EDGES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "halves": lambda rng, P, n: rng.integers(-16, 17, (P, n)) / 2,
    "apart": lambda rng, P, n: 100 + rng.standard_normal((P, n)),
    "huge": lambda rng, P, n: rng.uniform(-3.4e38, 3.4e38, (P, n)),
    "over": lambda rng, P, n: rng.uniform(-1.7, 1.7, (P, n)) * 1e308,
    "least": lambda rng, P, n: rng.integers(-3, 4, (P, n)) * 5e-324,
    "NaN": lambda rng, P, n: np.where(np.arange(P * n).reshape(P, n) == P * n - 1, np.nan, rng.random((P, n))),
}
"""More of them, which not everything takes: middles between integers; a small range far from zero; sums of them
overflow in float32; infinite in float32, where sums overflow in float64; subnormal in float64; refused."""


def _opposed(rng: np.random.Generator, P: int, n: int) -> Array:
    made = rng.standard_normal((P, n)) * 10.0 ** rng.integers(-6, 7, (P, n))
    made[0, ::2] *= 1e12
    made[P // 2, ::2] = -made[0, ::2]
    return made


ORDERS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {"opposed": _opposed}
"""Kinds whose sums show in which order ranks were added, if in float64: in every other column the numbers of two ranks
cancel and leave what the others hold, or what is left of it."""


IDLE: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "idle": lambda rng, P, n: rng.standard_normal((P, n)) * (np.arange(P) % 2 == (P > 1))[:, None],
}
"""Kinds of which every second rank, or round, has zeros alone, the first among them."""

_ALL = {**KINDS, **EDGES, **ORDERS, **IDLE}

HIDING = {"data": ("zeros", "sparse", "subnormal", "over", "NaN", "least"), "p": (0.0, 1.0)}
"""Values of axes that may hide what others do: sums and differences of such data are zero or not finite, and nothing is
drawn at such probabilities."""


def stack_of(kind: str, P: int, n: int, dtype: str = "float32", seed: int = 0) -> Array:
    """The ranks' vectors.

    Parameters
    ----------
    kind : str
        A name in `KINDS`, `EDGES`, `ORDERS` or `IDLE`.
    P, n : int
        Ranks and entries.
    dtype : str
        float16, float32 or float64.
    seed : int
        Of what is drawn.

    Returns
    -------
    (P, n) dtype
    """
    return _made(kind, P, n, dtype, seed).copy()


@lru_cache(maxsize=1 << 11)
def _made(kind: str, P: int, n: int, dtype: str, seed: int) -> Array:
    """The same, which definitions and pairings ask for again; not to be changed."""
    with np.errstate(over="ignore"):  # what is too large for the dtype is infinite in it
        made: Array = _ALL[kind](np.random.default_rng([seed, P, n]), P, n).astype(dtype)
    return made


def vector_of(kind: str, n: int, dtype: str = "float32", seed: int = 0) -> Array:
    """One vector (n,) of a kind, as the last rank of a stack of two has it."""
    return np.ascontiguousarray(stack_of(kind, 2, n, dtype, seed)[1])


_SIGNED = (np.int8, np.int16, np.int32, np.int64)


def retyped(value: Any) -> Any:
    """The same numbers of NumPy's narrowest types; an integer array of another type, unsigned where it may be.

    Examples
    --------
    >>> retyped([3, 0.5, 0.1, np.array([1, 2])])
    [np.int8(3), np.float32(0.5), np.float64(0.1), array([1, 2], dtype=uint64)]
    """
    if isinstance(value, list | tuple):
        return type(value)(map(retyped, value))
    if type(value) is int:
        return next((kind(value) for kind in _SIGNED if np.iinfo(kind).min <= value <= np.iinfo(kind).max), value)
    if type(value) is float:
        with np.errstate(over="ignore"):
            narrow = np.float32(value)
        return narrow if float(narrow) == value else np.float64(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size:
        for kind in ("int64", "int8") if value.dtype.kind == "u" else ("uint64", "int8", "int16", "int32"):
            if np.iinfo(kind).min <= value.min() and value.max() <= np.iinfo(kind).max:
                return value.astype(kind)
    return value


def strided(value: Any) -> Any:
    """The same in memory that is not contiguous: every other entry of an array, or of those in a list."""
    if isinstance(value, list):
        return [strided(one) for one in value]
    return np.repeat(value, 2, axis=-1)[..., ::2] if isinstance(value, np.ndarray) and value.ndim else value
