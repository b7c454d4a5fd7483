"""Stacks of the ranks' vectors by family: what sparse all-reduces meet in practice, and what breaks them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from commbounds.array_types import Array

Make = Callable[[np.random.Generator, int, int, int], Array]
Fits = Callable[[int, int, int], bool]


@dataclass(frozen=True)
class StackFamily:
    """A way to make the ranks' vectors.

    Parameters
    ----------
    make : callable (rng, P, n, k) -> (P, n) float64
        Draws the stack.
    fits : callable (P, n, k) -> bool
        Sizes at which the family is what its name says.
    even : bool
        Whether the family is meant for regions of even length, and not for boundaries that follow the data.
    """

    make: Make
    fits: Fits = lambda P, n, k: k <= n
    even: bool = False


def stack(name: str, P: int, n: int, k: int, seed: int = 0, dtype: type = np.float32) -> Array:
    """One stack of the family `name`.

    Parameters
    ----------
    name : str, one of `FAMILIES`
    P, n, k : int
        Ranks, entries, and entries that every rank is to keep.
    seed : int
        Root of the randomness.
    dtype : type, float32 or float64

    Returns
    -------
    (P, n) dtype
        A function of the arguments alone.

    Raises
    ------
    ValueError
        No such family, or one that does not exist at these sizes.

    Examples
    --------
    >>> stack("tight6k", 2, 4, 2)
    array([[1.   , 0.   , 0.125, 0.   ],
           [0.   , 1.   , 0.125, 0.   ]], dtype=float32)
    """
    if name not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(map(repr, FAMILIES))}, got {name!r}")
    family = FAMILIES[name]
    if min(P, n, k) < 1 or not family.fits(P, n, k):
        raise ValueError(f"the family {name!r} does not exist at P={P}, n={n}, k={k}")
    return family.make(np.random.default_rng([seed, P, n, k]), P, n, k).astype(dtype)


# --- dense vectors -----------------------------------------------------------------------------------------------


def _iid(rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    return rng.standard_normal((P, n))


def _heavy(rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    return rng.standard_t(2.0, (P, n))


def _common(rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    return rng.standard_normal(n) + 0.3 * rng.standard_normal((P, n))


def _identical(rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    return np.tile(rng.standard_normal(n), (P, 1))


_LAYERS = 32
_SPREAD = 2.0
"""Standard deviation of the logarithm of a layer's scale."""


def _layers(rng: np.random.Generator, rows: int, P: int, n: int) -> Array:
    scales = np.exp(_SPREAD * rng.standard_normal((rows, min(_LAYERS, n))))
    layer = np.arange(n) * scales.shape[1] // n
    return rng.standard_normal((P, n)) * scales[:, layer]


def _same_layers(rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    return _layers(rng, 1, P, n)


def _own_layers(rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    return _layers(rng, P, P, n)


def _ties(rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    return rng.choice((-1.0, 1.0), (P, n))


# --- k nonzeros at chosen places ---------------------------------------------------------------------------------


def _supports(rng: np.random.Generator, P: int, n: int, k: int, where: Callable[[int], tuple[int, int]]) -> Array:
    """Rank p holds k normal entries, drawn from the entries low..high - 1 = where(p)."""
    x = np.zeros((P, n))
    for p in range(P):
        low, high = where(p)
        x[p, low + rng.choice(high - low, k, replace=False)] = rng.standard_normal(k)
    return x


def _disjoint(rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    return _supports(rng, P, n, k, lambda p: (p * n // P, (p + 1) * n // P))


def _clusters(rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    width = min(2 * k, n // 2)
    return _supports(rng, P, n, k, lambda p: (0, width) if 2 * p < P else (n - width, n))


def _outlier(rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    width = min(2 * k, n // 2)
    return _supports(rng, P, n, k, lambda p: (n - width, n) if p == P - 1 > 0 else (0, width))


def _region_zero(rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    return _supports(rng, P, n, k, lambda p: (0, n // P))


def _zeros(rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    """Half of the k entries are missing everywhere, all of them on the last rank."""
    x = _supports(rng, P, n, max(1, k // 2), lambda p: (0, n))
    x[P - 1] = 0.0
    return x


def _cancelling(rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    """Neighbours hold opposite values at half of the k places, so that their sum is exactly zero there."""
    x = _supports(rng, P, n, k, lambda p: (0, n))
    for p in range(0, P - 1, 2):
        places = np.flatnonzero(x[p])[::2]
        x[p + 1, np.flatnonzero(x[p + 1])[: places.size]] = 0.0
        x[p + 1, places] = -x[p, places]
    return x


# --- constructions: every rank holds exactly k entries, at places that no draw changes ------------------------------


def _small(P: int) -> float:
    """A power of two of which P add up to at most a quarter."""
    return 0.25 / (1 << (P - 1).bit_length())


def _owners(count: int, P: int, n: int, k: int) -> Array:
    """Every rank holds k/P entries of every region of n/P; the k winners lie in the first `count` regions.

    In those regions P/count ranks take turns to the right, so that k/count different entries are held there; in all
    others the ranks hold the same k/P entries, too small to win.
    """
    x, part, region = np.zeros((P, n)), k // P, n // P
    for p in range(P):
        for r in range(P):
            begin = r * region + (p % (P // count)) * part * (r < count)
            x[p, begin : begin + part] = 1.0 if r < count else _small(P)
    return x


def _tight6k(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    return _owners(1, P, n, k)


def _quarter(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    return _owners(max(1, P // 4), P, n, k)


def _uniform(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    return _owners(P, P, n, k)


def _rank_zero_alone(P: int, n: int, k: int, alone: float, others: float) -> Array:
    """Rank 0 holds the last k entries, everybody else the first k."""
    x = np.zeros((P, n))
    x[0, n - k :] = alone
    x[1:, :k] = others
    return x


def _worst_received(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    return _rank_zero_alone(P, n, k, 1.0, _small(P))


def _worst_sent(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    return _rank_zero_alone(P, n, k, 0.5, 1.0)


def _crowded_cut(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    """All ranks but 0 hold the entry at which the first cut by global counts falls, k - 1 are before it."""
    x = np.zeros((P, n))
    x[1, :k] = _small(P)
    x[2:, k - 1 : 2 * k - 1] = _small(P)
    x[0, n - k :] = 1.0
    return x


def _limited_inbound(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    """(2 - 3/P) k entries of ranks 1 and 2 lie in the first even region; rank 0's entries, in the next, win."""
    x, region = np.zeros((P, n)), n // P
    second = k - 3 * k // P
    x[1, :k] = _small(P)
    x[2, :second] = _small(P)
    x[2, 2 * region : 2 * region + k - second] = _small(P)
    x[0, region : region + k] = 1.0
    for p in range(3, P):
        x[p, p * region : p * region + k] = _small(P)
    return x


def _handed_on(_rng: np.random.Generator, P: int, n: int, _k: int) -> Array:
    """Rank 1 owns the only winner, which rank 0 held, and holds a loser of the last region."""
    x = np.zeros((P, n))
    x[0, n // P] = 1.0
    x[1, n - 1] = 0.5
    return x


def _own_regions(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    """Every rank holds k entries of its own region only, k/P of them winners."""
    x, region = np.zeros((P, n)), n // P
    for p in range(P):
        x[p, p * region : p * region + k] = 0.5
        x[p, p * region : p * region + k // P] = 1.0
    return x


def _one_rank(_rng: np.random.Generator, P: int, n: int, k: int) -> Array:
    x = np.zeros((P, n))
    x[0, :k] = 1.0
    return x


def _in_blocks(P: int, n: int, k: int) -> bool:
    return k <= n // P


def _in_halves(P: int, n: int, k: int) -> bool:
    return k <= n // 2


def _divisible(P: int, n: int, k: int) -> bool:
    return k % P == 0 and n % P == 0 and k <= n // P


def _quantiles_behind(P: int, n: int, k: int) -> bool:
    # the average of the ranks' first quantiles has to lie behind the first k entries
    return P >= 2 and n >= (P + 1) * k


def _power_of_two(P: int, n: int, k: int) -> bool:
    return _divisible(P, n, k) and P & (P - 1) == 0 and 4 * k % P == 0


FAMILIES: Mapping[str, StackFamily] = MappingProxyType(
    {
        "iid": StackFamily(_iid),
        "heavy-tailed": StackFamily(_heavy),
        "common + noise": StackFamily(_common),
        "identical": StackFamily(_identical),
        "same hot layers": StackFamily(_same_layers),
        "own hot layers": StackFamily(_own_layers),
        "disjoint blocks": StackFamily(_disjoint, _in_blocks),
        "two clusters": StackFamily(_clusters, _in_halves),
        "one outlier rank": StackFamily(_outlier, _in_halves),
        "stale boundaries": StackFamily(_region_zero, _in_blocks, even=True),
        "tight6k": StackFamily(_tight6k, _divisible),
        "ties": StackFamily(_ties),
        "zeros": StackFamily(_zeros),
        "cancellations": StackFamily(_cancelling),
        "worst received": StackFamily(_worst_received, _quantiles_behind),
        "worst sent": StackFamily(_worst_sent, _quantiles_behind),
        "crowded cut": StackFamily(_crowded_cut, lambda P, n, k: P >= 2 and n >= 3 * k),
        "limited inbound": StackFamily(_limited_inbound, lambda P, n, k: P >= 3 and _divisible(P, n, k), even=True),
        "handed on": StackFamily(_handed_on, lambda P, n, k: P >= 3 and k == 1 and n % P == 0, even=True),
        "quarter of the owners": StackFamily(_quarter, _power_of_two, even=True),
        "all ranks own": StackFamily(_uniform, _divisible),
        "own regions": StackFamily(_own_regions, _divisible, even=True),
        "one rank": StackFamily(_one_rank),
    }
)
"""Every family under its name; simplest first, as examples shrink in this order."""

SWEPT = tuple(FAMILIES)[:11]
"""The families of the volume sweep."""
