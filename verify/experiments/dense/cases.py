"""Stacks on which dense collectives are run, and what is measured there."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.verify.experiment import Budget
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case

ALGORITHMS = ("ring", "bruck", "recursive-doubling")
_WINDOW = 12
"""Ranks whose terms are told apart in one run: 4^12 times the longest vector stays far below 2^53."""


# --- sizes ------------------------------------------------------------------------------------------------------------


def sizes(level: int, **settings: Any) -> Iterator[Case]:
    """Every P up to 16 and some beyond, with vectors shorter and longer than P; small first."""
    ranks = (*range(1, 17), 17, 24, 31, 32, 33)
    lengths: tuple[int, ...] = (1, 2, 3, 5, 8, 15, 31, 64)
    if level:
        ranks, lengths = (*range(1, 34), 48, 63, 64, 65), (*range(1, 10), 15, 16, 17, 31, 32, 33, 65, 127, 128)
    if level > 1:
        ranks, lengths = tuple(range(1, 66)), (*range(1, 66), 127, 128, 129, 255, 256, 257)
    for P in ranks:
        for n in lengths:
            yield Case({"P": P, "n": n, **settings})


@st.composite
def sizes_drawn(draw: st.DrawFn, /, **settings: Any) -> Case:
    """Up to 70 ranks and 400 words, of any family."""
    family = draw(sampled_from(tuple(FAMILIES)))
    drawn = {
        "P": draw(integers(1, 70)),
        "n": draw(integers(1, 400)),
        "family": family,
        "seed": draw(integers(0, 2**31)),
    }
    return Case({**drawn, **settings})


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


def lengths_of(case: Case) -> list[int]:
    """The words of every rank's block."""
    return LENGTHS[case.settings.get("lengths", "even")](case.settings["P"], case.settings["n"])


def lengths(level: int) -> Iterator[Case]:
    """As `sizes`, shared in every way, and with more words than 32 bits count."""
    for case in sizes(level):
        for name in LENGTHS:
            for unit in (1, 2**31 + 1):
                yield Case({"P": case.settings["P"], "n": unit * case.settings["n"], "lengths": name})


@st.composite
def lengths_drawn(draw: st.DrawFn, /, **settings: Any) -> Case:
    """Up to 70 ranks and 2^50 words."""
    drawn = {"P": draw(integers(1, 70)), "n": draw(integers(1, 2**50)), "lengths": draw(sampled_from(tuple(LENGTHS)))}
    return Case({**drawn, **settings})


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


def stack_of(case: Case) -> Array:
    """The ranks' vectors: given, or made from the settings."""
    if case.x is not None:
        return case.x
    settings = case.settings
    rng = np.random.default_rng([settings.get("seed", 0), settings["P"], settings["n"]])
    made = FAMILIES[settings.get("family", "places")](rng, settings["P"], settings["n"])
    return made.astype(settings.get("dtype", "float64"))


def digits(level: int, **settings: Any) -> Iterator[Case]:
    """4^p (i + 1) from rank p in entry i, for a window of ranks at a time, and zero from all others.

    Digits to base 4 tell how often every rank was added, up to three times, and the factor i + 1 to which entry.
    """
    for case in sizes(level):
        P, n = case.settings["P"], case.settings["n"]
        for start in range(0, P, _WINDOW):
            weights = np.zeros(P)
            members = np.arange(start, min(P, start + _WINDOW))
            weights[members] = 4.0 ** (members - start)
            stack = weights[:, None] * np.arange(1.0, n + 1.0)
            yield Case({**case.settings, "first rank": start, **settings}, stack)


def _lost_one_by_one(dtype: str) -> Iterator[Array]:
    """1, u and u, and 1, u, u/2 and u/2, in every order in every block: some order loses u twice, down any tree."""
    unit = float(np.finfo(dtype).eps) / 2
    for terms in ((1.0, unit, unit), (1.0, unit, unit / 2, unit / 2)):
        orders = sorted(set(itertools.permutations(terms)))
        yield np.tile(np.array(orders, dtype).T, len(terms))


def _about_the_limit(dtype: str) -> Iterator[Array]:
    """Sums of magnitudes that are half of the largest number, and all of it."""
    about = np.finfo(dtype)
    ulp = np.ldexp(1.0, about.maxexp - about.nmant - 1)
    # 3 ulps to the largest number, and four times three quarters: as a sum the largest, one by one an ulp beyond
    column = np.array([float(about.max) - 3.0 * ulp, *(4 * [0.75 * ulp])])
    for share in (0.5, 1.0):
        yield np.tile(np.array([np.roll(share * column, shift) for shift in range(5)], dtype), 5)


def hostile(_budget: Budget) -> Iterator[Case]:
    """Every family at small sizes in both dtypes, and the textbook stacks on which the order of sums shows."""

    def given(stack: Array, family: str) -> Case:
        P, n = stack.shape
        return Case({"P": P, "n": n, "dtype": stack.dtype.name, "family": family}, stack)

    for dtype in ("float64", "float32"):
        beyond = 2.0 ** (54 if dtype == "float64" else 25)
        for column in ((1.0, beyond, -beyond), (1.0, -beyond, beyond, 1.0), (beyond, 1.0, -beyond, 1.0, 1.0)):
            yield given(np.repeat(np.array(column, dtype)[:, None], 2, axis=1), "beyond the significand")
        # added to 1 one by one, three quarters of half an ulp are lost each time; among themselves they add up
        stack = np.full((12, 2), 0.75 / beyond * 2.0, dtype)
        stack[0] = 1.0
        yield given(stack, "lost one by one")
        yield from (given(stack, "lost one by one") for stack in _lost_one_by_one(dtype))
        yield from (given(stack, "about the largest number") for stack in _about_the_limit(dtype))
        for name in FAMILIES:
            for P in (1, 2, 3, 4, 5, 6, 7, 8, 12):
                case = Case({"P": P, "n": 5, "dtype": dtype, "family": name, "seed": 0})
                yield Case(case.settings, stack_of(case))


def halfway(_budget: Budget) -> Iterator[Case]:
    """Two ranks with 1 and the unit roundoff: the sum lies halfway between neighbours and is rounded to the even, 1."""
    for dtype in (np.float64, np.float32):
        unit = np.finfo(dtype).eps / 2
        yield Case({"P": 2, "n": 1, "dtype": np.dtype(dtype).name, "family": "halfway"}, np.array([[1], [unit]], dtype))


@st.composite
def stacks_drawn(draw: st.DrawFn) -> Case:
    """Up to twelve ranks and nine words, of any family, in both dtypes."""
    drawn = {"P": draw(integers(1, 12)), "n": draw(integers(1, 9)), "dtype": draw(sampled_from(("float64", "float32")))}
    case = Case({**drawn, "family": draw(sampled_from(tuple(FAMILIES))), "seed": draw(integers(0, 2**31))})
    return Case(case.settings, stack_of(case))


def nudged(rng: np.random.Generator, case: Case) -> Case:
    """One entry a power of two times larger or smaller, moved by an ulp or two, or negated."""
    stack = stack_of(case).copy()
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
