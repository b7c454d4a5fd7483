"""Stacks on which dense collectives are run, and what is measured there."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.space import RANKS, Settings, Space, nothing
from commbounds.verify.study import Case

ALGORITHMS = ("ring", "bruck", "recursive-doubling")
WINDOW = 12
"""Ranks whose terms are told apart in one run: 4^12 times the longest vector stays far below 2^53."""


# --- sizes ------------------------------------------------------------------------------------------------------------


def ranks(level: int) -> Sequence[int]:
    """Every P up to 16 and some beyond; small first."""
    return ((*range(1, 18), 24, 31, 32, 33), (*range(1, 34), 48, 63, 64, 65), range(1, 66))[level]


def words(level: int) -> Sequence[int]:
    """Lengths of vectors shorter and longer than P."""
    some = (1, 2, 3, 5, 8, 15, 31, 64)
    more = (*range(1, 10), 15, 16, 17, 31, 32, 33, 65, 127, 128)
    return (some, more, (*range(1, 66), 127, 128, 129, 255, 256, 257))[level]


# --- blocks of which only the lengths are told -----------------------------------------------------------------------


def _halves(P: int, n: int) -> list[int]:
    """Half of the words, half of the rest, and so on; what is left at the last rank."""
    cut = [(n >> r) - (n >> (r + 1)) for r in range(P - 1)]
    return [*cut, n - sum(cut)]


LENGTHS: dict[str, Callable[[int, int], list[int]]] = {
    "even": lambda P, n: [n // P + (r < n % P) for r in range(P)],
    "one rank": lambda P, n: [n * (r == P // 2) for r in range(P)],
    "halves": _halves,
}
"""How `P` ranks share `n` words."""


def units(level: int) -> Sequence[int]:
    """Words, and more of them than 32 bits count."""
    return [unit * n for n in words(level) for unit in (1, 2**31 + 1)]


BLOCKS = Space(nothing, {"P": RANKS, "n": (5, 1), "lengths": tuple(LENGTHS), "algorithm": ALGORITHMS}).search(
    P=(1, 70), n=(1, 2**50)
)

# --- stacks -----------------------------------------------------------------------------------------------------------


def _cancelling(rng: np.random.Generator, P: int, n: int) -> Array:
    """Large terms that cancel and leave small ones."""
    x = rng.standard_normal((P, n))
    large = 2.0 ** rng.integers(20, 60, (P // 2, n))
    x[0 : 2 * (P // 2) : 2] += large
    x[1 : 2 * (P // 2) : 2] -= large
    return np.asarray(rng.permuted(x, axis=0))


FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "ones": lambda rng, P, n: np.ones((P, n)),
    "places": lambda rng, P, n: np.tile(np.arange(1.0, n + 1.0), (P, 1)),
    "integers": lambda rng, P, n: rng.integers(-1000, 1001, (P, n)).astype(np.float64),
    "normal": lambda rng, P, n: rng.standard_normal((P, n)),
    "wide": lambda rng, P, n: rng.choice((-1.0, 1.0), (P, n)) * 2.0 ** rng.uniform(-30.0, 30.0, (P, n)),
    "cancelling": _cancelling,
    "zeros of both signs": lambda rng, P, n: rng.choice((0.0, -0.0), (P, n)),
    "subnormal": lambda rng, P, n: rng.standard_normal((P, n)) * 2.0**-140,
    "one rank": lambda rng, P, n: np.where(np.arange(P)[:, None] == rng.integers(P), rng.standard_normal((P, n)), 0.0),
}
"""What ranks hold, by name; simplest first."""


@cache
def _textbook(dtype: str) -> dict[str, Array]:
    """Stacks on which the order of sums shows, and whether magnitudes stay below the largest number."""
    about = np.finfo(dtype)
    unit, beyond = float(about.eps) / 2, 4 / float(about.eps)
    columns = ((1.0, beyond, -beyond), (1.0, -beyond, beyond, 1.0), (beyond, 1.0, -beyond, 1.0, 1.0))
    stacks = {
        f"beyond the significand, {len(column)} ranks": np.repeat(np.array(column, dtype)[:, None], 2, axis=1)
        for column in columns
    }
    # added to 1 one by one, three quarters of half an ulp are lost each time; among themselves they add up
    stacks["lost one by one"] = np.full((12, 2), 0.75 / beyond * 2.0, dtype)
    stacks["lost one by one"][0] = 1.0
    # in every order in every block: some order loses u twice, down any tree
    for terms in ((1.0, unit, unit), (1.0, unit, unit / 2, unit / 2)):
        orders = sorted(set(itertools.permutations(terms)))
        stacks[f"lost in some order of {len(terms)}"] = np.tile(np.array(orders, dtype).T, len(terms))
    # 3 ulps to the largest number, and four times three quarters: as a sum the largest, one by one an ulp beyond
    ulp = np.ldexp(1.0, about.maxexp - about.nmant - 1)
    column = np.array([float(about.max) - 3.0 * ulp, *(4 * [0.75 * ulp])])
    for share in (0.5, 1.0):
        rolled = np.array([np.roll(share * column, shift) for shift in range(5)], dtype)
        stacks[f"{share:g} of the largest number"] = np.tile(rolled, 5)
    # the sum of 1 and the unit roundoff lies halfway between neighbours and is rounded to the even, 1
    return {**stacks, "halfway": np.array([[1.0], [unit]], dtype)}


def stacked(P: int, n: int, family: str, dtype: str, seed: int, first: int) -> Array:
    """The ranks' vectors. Of digits, 4^p (i + 1) from rank p in entry i, for a window of ranks, zero from all others.

    Digits to base 4 tell how often every rank was added, up to three times, and the factor i + 1 to which entry.
    """
    if family in _textbook(dtype):
        return _textbook(dtype)[family].copy()
    if family == "digits":
        place = np.arange(P) - first
        return np.outer(np.where((place >= 0) & (place < WINDOW), 4.0**place, 0.0), np.arange(1.0, n + 1.0))
    return FAMILIES[family](np.random.default_rng([seed, P, n]), P, n).astype(dtype)


_DTYPES = ("float64", "float32")
STACKS = Space(
    stacked,
    {"P": (*RANKS, 12), "n": (5, 1, 9), "family": tuple(FAMILIES), "dtype": _DTYPES, "first": (0,)},
    combined=(("P", "family", "dtype"),),
)
TEXTBOOK: list[Settings] = [
    STACKS.at(P=len(stack), n=stack.shape[1], family=name, dtype=dtype)
    for dtype in _DTYPES
    for name, stack in _textbook(dtype).items()
]
SMALL = STACKS.search(P=(1, 12), n=(1, 9)).including(*TEXTBOOK)
"""Every family at small sizes in both dtypes, and the textbook stacks."""


def nudged(rng: np.random.Generator, case: Case) -> Case:
    """One entry a power of two times larger or smaller, moved by an ulp or two, or negated."""
    stack = case.array.copy()
    place = tuple(rng.integers(length) for length in stack.shape)
    value = stack[place]
    kind = rng.integers(4)
    if kind == 0:
        value = value * stack.dtype.type(2.0 ** rng.integers(-3, 4))
    elif kind == 1:
        value = -value
    elif kind == 2:
        value = value + np.spacing(value) * stack.dtype.type(rng.integers(-2, 3))
    else:
        value = stack.dtype.type(1.0 + rng.integers(2**20) * 2.0**-20)
    stack[place] = value
    return Case({**case.settings, "family": "climbed"}, stack)


# --- measures ---------------------------------------------------------------------------------------------------------


def wrong_entries(result: Array, expected: Array, P: int) -> int:
    """Entries of a (P, n) result that are not `expected` (n,); all of them where the shape is another."""
    if result.shape != (P, expected.size):
        return P * expected.size
    return int((result != expected).sum())


def bits_differing(rows: Array, row: Array) -> int:
    """Entries of `rows` whose bits are not those of `row`."""
    kind = f"u{rows.dtype.itemsize}"
    return int((np.ascontiguousarray(rows).view(kind) != np.ascontiguousarray(row).view(kind)).sum())


def in_rank_order(stack: Array) -> Array:
    """The sum of the rows, one after another, in their dtype."""
    total = stack[0].copy()
    for row in stack[1:]:
        total = total + row
    return np.asarray(total)


def exact_error(result: Array, stack: Array) -> Fraction | float:
    """Largest |entry - exact sum| / sum of magnitudes over all ranks, exactly; infinite for NaN and infinity."""
    largest = Fraction(0)
    for i, column in enumerate(stack.T):
        terms = [Fraction(float(v)) for v in column]
        total, magnitude = sum(terms), sum(map(abs, terms))
        for value in set(result[:, i].tolist()):
            if not np.isfinite(value) or (magnitude == 0 and value != 0):
                return float("inf")
            if magnitude:
                largest = max(largest, abs(Fraction(value) - total) / magnitude)
    return largest


def joined(rows: Sequence[Array]) -> Array:
    """Blocks one behind the other."""
    return np.concatenate([np.asarray(row) for row in rows])
