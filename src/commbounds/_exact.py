"""Inputs whose sums have the same bits in every order of additions: `exact_inputs`, `assert_exact`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds._arrays import FLOATS, format_of, named, place, rows_of, same_bits
from commbounds._mistakes import Suspect, explanations
from commbounds._sums import rank_sums
from commbounds.array_types import Array, Integers
from commbounds.theory.precision.formats import Format

_TILE = 1 << 20  # terms at a time
_AT_LEAST = 3
"""Entries in which every rank brings something: of a P-th part of them, on average."""


def exact_inputs(P: int, n: int, dtype: str = "float32", seed: int = 0) -> Array:
    """Inputs of `P` ranks for which every order of additions gives the same bits.

    Of every entry all terms are multiples of one power of two, and their magnitudes add up to less than 2^digits of
    them. So every partial sum is a number of the format, and nothing is rounded, in whatever order and in whatever
    wider format the sums are made.

    Parameters
    ----------
    P, n : int
        Ranks and entries, at least 1.
    dtype : str
        A name in `theory.precision.formats.FORMATS`.
    seed : int
        Other inputs for another seed, at least 0.

    Returns
    -------
    (P, n) array
        Two ranks bring something to an entry, and more where n is small: every rank brings something to three of n/P
        neighbouring entries on average, and to one at least, as far as the digits suffice (at most 2^(digits - 1)
        ranks an entry). Signs, exponents and ranks are mixed. All sums differ from zero and are odd multiples: a sum
        that is rounded to fewer digits differs wherever the sum needs them. All numbers but the zeros are normal, and
        no sum overflows.

    Raises
    ------
    TypeError, ValueError
        A number is no integer or out of range, or there is no such format.

    Examples
    --------
    >>> x = exact_inputs(8, 1000, "bfloat16")
    >>> bool((x.sum(axis=0) == x[::-1].sum(axis=0)).all())
    True
    """
    for name, value, least in (("P", P, 1), ("n", n, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"{name} must be an integer, got {value!r}")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    form = named(dtype)
    rng = np.random.default_rng(seed)
    few = min(P, max(2, -(-_AT_LEAST * P * P // n)), 2 ** (form.digits - 1))
    return _with_terms(np.zeros((P, n), FLOATS[form.name]), _mixed(P, n, few, rng), form, rng)


def covering_inputs(P: int, n: int, form: Format, times: int = 1, seed: int = 0) -> Iterator[Array]:
    """Exact inputs, of which every rank brings something to every entry of one: as few as the digits allow.

    Those after them have one term an entry, of all normal magnitudes. `times` is a power of two by which sums may be
    divided and remain exact.
    """
    rng = np.random.default_rng(seed)
    few, ranks = min(P, 2 ** (form.digits - 1)), rng.permutation(P)
    tile = max(1, _TILE // few)
    for start in range(0, P, few):
        x = np.zeros((P, n), FLOATS[form.name])
        for begin in range(0, n, tile):
            entries = np.arange(begin, min(n, begin + tile))
            places = start + np.arange(few)[:, None] + entries
            _with_terms(x[:, begin : begin + tile], ranks[places % P], form, rng, times)
        yield x
    lone = np.zeros((P, n), FLOATS[form.name])
    _with_terms(lone, ranks[np.arange(n) % P][None], form, rng, times, in_turn=True)
    yield lone * lone.dtype.type(2.0 ** (1 - form.digits))


def _with_terms(
    x: Array, ranks: Integers, form: Format, rng: np.random.Generator, times: int = 1, in_turn: bool = False
) -> Array:
    """The same array, with terms of the ranks of every entry, (few, n), whose sums are exact, of drawn sizes or all."""
    few, n = ranks.shape
    # the first term makes the magnitudes add up to an odd number that needs all digits
    total = 2 * rng.integers(2 ** (form.digits - 2), 2 ** (form.digits - 1), n) + 1
    most = (form.digits - 2) - np.log2(max(1, few - 1))
    magnitudes = np.floor(np.exp2(rng.uniform(0.0, max(0.0, most), (few, n)))).astype(np.int64)
    magnitudes[0] = total - magnitudes[1:].sum(axis=0)
    # the exponents: normal numbers, and twice the largest sum neither overflows nor is too large for `rank_sums`
    lowest = int(form.normal.denominator).bit_length() - times.bit_length()
    highest = min(int(form.largest).bit_length() - 1, 900) - form.digits
    highest = max(-lowest, highest)
    drawn = rng.integers(-lowest, highest, n, endpoint=True)
    exponents = np.arange(n) % (highest + lowest + 1) - lowest if in_turn else drawn
    x[ranks, np.arange(n)] = np.ldexp(magnitudes * rng.choice((-1.0, 1.0), (few, n)), exponents)
    return x


def _mixed(P: int, n: int, few: int, rng: np.random.Generator) -> Integers:
    """(few, n): different ranks for every entry, all equally often, none always with the same others."""
    # few places of one order of the ranks, as far apart as they can be, for P entries; then the next order
    places = np.arange(P) + (np.arange(few) * P // few)[:, None]
    rows = [rng.permutation(P)[places % P] for _ in range(-(-n // P))]
    return np.concatenate(rows, axis=1)[:, :n]


def assert_exact(actual: Any, inputs: Any, *, op: str = "sum") -> None:
    """Raise an AssertionError unless `actual` has the bits of the exact sums of `inputs`.

    Parameters
    ----------
    actual : array, tensor, or sequence of them
        The result of one rank, of the shape of an input; or of all ranks.
    inputs : array, tensor, or sequence of them
        Such as `exact_inputs` makes: all partial sums are numbers of the result's format, in every order.
    op : {"sum", "mean"}
        What is asked for; the mean where it is exact too, as it is for a power of two of ranks.

    Raises
    ------
    AssertionError
        An entry of some rank has other bits. The message names the first, and the known mistakes that explain all.
    ValueError
        Shapes do not fit, or an order of additions rounds: the inputs say nothing, whatever the result is.
    TypeError
        Something holds no floating-point numbers.

    Examples
    --------
    >>> x = exact_inputs(4, 100)
    >>> assert_exact(x.sum(axis=0), x)
    >>> assert_exact(x[:3].sum(axis=0), x)
    Traceback (most recent call last):
    AssertionError: all-reduce of 4 ranks: 50 of 100 entries differ from the exact sum
        first: entry (1,) is 102.03517150878906, the sum is 102.03519439697266
        what fits: rank 3 is missing, in entries 1 to 98
    """
    flat, rows, shape, of_all = rows_of(actual, inputs, op)
    P, n = flat.shape
    format_of(flat, "inputs")
    form = format_of(rows, "actual")
    _require_exact(flat, form, shape)
    sums = rank_sums(flat)
    times = P if op == "mean" else 1
    wanted = (sums.high / times).astype(rows.dtype)  # the sums are numbers of the format: the low parts are zero
    if (sums.distance(wanted, times) != 0.0).any():
        raise ValueError(f"the mean over P = {P} ranks is rounded: ask for the sum, or give terms that P divides")
    for rank, row in enumerate(rows):
        wrong = np.flatnonzero(~same_bits(row, wanted))
        if wrong.size:
            suspect = Suspect(flat, sums, row, times, sums.slack, wrong, float(form.unit))
            on = f" on rank {rank}" if of_all else ""
            first = int(wrong[0])
            where, has, due = place(first, shape), float(row[first]), float(wanted[first])
            raise AssertionError(
                f"all-reduce of {P} ranks: {wrong.size} of {n} entries{on} differ from the exact {op}\n"
                f"    first: entry {where}{on} is {has!r}, the {op} is {due!r}\n"
                f"    what fits: {'; '.join(explanations(suspect, {})) or 'none of the mistakes that are known here'}"
            )


def _require_exact(flat: Array, form: Format, shape: tuple[int, ...]) -> None:
    """That of every entry the terms are multiples of a power of two, of which 2^digits are not exceeded."""
    sizes, unit = np.zeros(flat.shape[1]), np.full(flat.shape[1], np.inf)
    for row in flat:
        x = np.abs(row.astype(np.float64))
        sizes += x
        fraction, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
        whole = np.ldexp(fraction, 53).astype(np.int64)
        lowest = np.ldexp((whole & -whole).astype(np.float64), exponent - 53)
        np.minimum(unit, lowest, out=unit, where=x > 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        limit = np.minimum(unit * 2.0**form.digits, float(form.largest))
        rounds = ~((sizes <= limit) & (unit >= float(form.smallest)))
    if rounds.any():
        where = place(np.flatnonzero(rounds)[0], shape)
        raise ValueError(
            f"some order of additions rounds entry {where} in {form.name}: give inputs such as exact_inputs makes, "
            f"or compare with assert_allreduce_close"
        )
