"""Vectors for block formats, and what is measured of them in exact arithmetic."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.blockformats import bytes_of, message_of
from commbounds.compressors.blockformats import ELEMENTS
from commbounds.verify import inputs
from commbounds.verify.family import Rounded
from commbounds.verify.marginals import kernel_marginals
from commbounds.verify.space import RANKS, Of, Settings, Space
from commbounds.verify.study import Case, Outcome

_SURE = Fraction(1)
Law = Sequence[Sequence[tuple[Fraction, Fraction]]]
"""Of every entry the (probability, value) pairs."""
SCALES = ("floor", "even", "rceil", "ceil", "double", "nearest", "three_quarters")
_KEYS = ("element", "block", "scale", "dim", "digits", "choice")


def made(cls: Any, case: Case) -> Any:
    """The quantiser of a case."""
    return case.once(_made, cls)


def _made(cls: Any, case: Case) -> Any:
    return cls(**{key: case.settings[key] for key in _KEYS if key in case.settings})


_exactly_known = lru_cache(maxsize=1 << 14)(Fraction)
"""A float as what it is: few numbers are met again and again."""


def exact(x: Array) -> list[Fraction]:
    """The entries as what they are."""
    return list(map(_exactly_known, x.astype(np.float64).tolist()))


def laws(implementation: Any, case: Case) -> Law:
    """The law of every entry of the output, read off the kernel.

    Probabilities are multiples of the uniforms' spacing; where the share of the gap is one too, they are exact.
    """
    return law_of(made(implementation, case), case.array)


def law_of(c: Any, x: Array) -> Law:
    """The same for any quantiser and vector."""
    if not c.randomised:
        return [[(_SURE, y)] for y in exact(c(x))]
    found = kernel_marginals(c, x)
    # both probabilities are multiples of the uniforms' spacing, which floats are up to one
    rows = map(exact, (found.p, found.upper, 1.0 - found.p, found.lower))
    return [[(p, up), (q, down)] for p, up, q, down in zip(*rows, strict=True)]


def resolution(c: Any, x: Array) -> float:
    """How far a probability that is read off may be from the share that it stands for: a cell, and three roundings."""
    return 0.0 if not c.randomised else (2.0**-24 if x.dtype == np.float32 else 2.0**-53) + 4.0 * 2.0**-53


def blocks(x: Sequence[Any], block: int) -> Iterator[tuple[int, int]]:
    """Starts and ends of the blocks."""
    return ((start, min(start + block, len(x))) for start in range(0, len(x), block))


def dyadic(x: Array) -> bool:
    """Whether all shares are multiples of the uniforms' spacing: entries are quarters, few and small."""
    small = x.dtype == np.float64 and x.size <= 4 and float(np.abs(x).max()) < 64
    return small and bool((4 * x == np.rint(4 * x)).all())


def symbols(x: Array, settings: Settings) -> dict[str, Any]:
    """The symbols of the bounds: lengths, and what the case's format has; and the entries as what they are."""
    found = {"n": x.size, "block": settings.get("block", 1), "entries": exact(x)}
    if "digits" in settings:
        found["microdigits"] = settings["digits"]
    if "element" in settings:
        element = ELEMENTS[settings["element"]]
        found |= {"elementbits": element.width, "element_unit": element.unit, "overshoot": 2 - element.reach}
        found |= {"peak": int(2 * Fraction(2) ** element.emax / element.smallest), "emax": element.emax}
    return found


def rounded(value: Fraction, slack: float) -> Fraction | Rounded:
    """The value, with what probabilities and scales are rounded by."""
    return Rounded(float(value), slack) if slack else value


def relative_error(found: Law, entries: list[Fraction]) -> Fraction:
    """Expected squared error over the squared norm; in whole numbers, over one denominator."""
    values = math.lcm(*(v.denominator for v in entries), *(y.denominator for law in found for _, y in law))
    shares = math.lcm(*(p.denominator for law in found for p, _ in law))
    total = square = 0
    for law, v in zip(found, entries, strict=True):
        whole = v.numerator * (values // v.denominator)
        square += whole * whole
        for p, y in law:
            total += p.numerator * (shares // p.denominator) * (y.numerator * (values // y.denominator) - whole) ** 2
    return Fraction(total, shares * square)


def maximum_error(found: Law, entries: list[Fraction], block: int) -> Fraction:
    """Largest relative error of a largest entry of a block."""
    worst = Fraction(0)
    for start, stop in blocks(entries, block):
        at = max(range(start, stop), key=lambda i: abs(entries[i]))
        if entries[at]:
            worst = max(worst, *(abs(y - entries[at]) / abs(entries[at]) for p, y in found[at] if p))
    return worst


def bias(found: Law, entries: list[Fraction]) -> Fraction:
    """Largest error of an expected entry, over the largest entry."""
    means = (law[0][1] if len(law) == 1 else sum(p * y for p, y in law) for law in found)
    worst: Fraction = max(abs(mean - v) for mean, v in zip(means, entries, strict=True))
    return worst / (max(map(abs, entries)) or 1)


def changed_again(implementation: Any, case: Case) -> Outcome:
    """Entries that rounding once more changes."""
    c = made(implementation, case)
    once = c(case.array)
    allowance = 0.0
    if case.settings.get("scale") == "three_quarters":  # 4/3 is rounded: an entry counts if an element is lost
        allowance = 8.0 * float(np.finfo(once.dtype).eps) * float(np.abs(once).max())
    return Outcome(int((np.abs(c(once) - once) > allowance).sum()), {}, active=bool(once.any()))


def wire_bits(implementation: Any, case: Case) -> int:
    """Bits of a message, whose bytes say so and are read back; -1 where they are not."""
    c, x = made(implementation, case), case.array
    message = c.compress(x, np.random.default_rng(0))
    sent = bytes_of(message)
    read = c.decompress(message_of(sent, c, x.size, x.dtype))
    right = read.tobytes() == c.decompress(message).tobytes() and sent.size == -(-message.bits // 8)
    return int(message.bits) if right else -1


# --- vectors -----------------------------------------------------------------------------------------------------

Entries = tuple[Any, ...]
"""Numbers; and pairs of how often, and of a number or of such entries."""


def _entries(data: Entries) -> Array:
    if not any(isinstance(part, tuple) for part in data):
        return np.array(data, np.float64)
    pairs = (part if isinstance(part, tuple) else (1, part) for part in data)
    return np.concatenate([np.tile(_entries(v) if isinstance(v, tuple) else [float(v)], often) for often, v in pairs])


def _vector(data: str | Entries, length: int, times: float, dtype: str, seed: int) -> Array:
    """A hostile vector, or one of a family, by its name; or the entries themselves."""
    if isinstance(data, str):
        if data in inputs.FAMILIES:
            return inputs.family(data, length, seed, times, np.dtype(dtype).type)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(inputs.CORPUS[data](length) * times).astype(dtype)
    return _entries(data)


def _overflows(data: str | Entries, length: int, times: float, dtype: str) -> bool:
    return times > 1e30 and (data in inputs.FAMILIES or not np.isfinite(_vector(data, length, times, dtype, 0)).all())


VECTORS = (
    Space(
        _vector,
        {
            "data": (*inputs.CORPUS, *inputs.FAMILIES),
            "length": (1, 5, 33, 64),
            "times": inputs.SCALES,
            "dtype": ("float32", "float64"),
            "exact": (False,),
        },
    )
    .without("Entries beyond the dtype, or a family's that may be.", _overflows)
    .search(length=(1, 70))
    .taking_last(data=("zero",))
)
"""The inputs of every format."""

# --- stacks ------------------------------------------------------------------------------------------------------


def ones(P: int, n: int) -> Array:
    """Of every rank the same."""
    return np.ones((P, n))


def of_a_column(entries: Sequence[float]) -> Array:
    """One entry a rank."""
    return np.array(entries, float)[:, None]


def parts_of(*entries: int) -> tuple[Of, ...]:
    """Lengths of which every rank has a part of so many entries."""
    return tuple(Of(f"{each} P", partial(lambda each, P: each * P, each)) for each in entries)


_MAGNITUDES = (0.0, 0.9, 1.3, 5.1, 3.9, 1.0, 2.5, 7.9, 7.5, 7.75, 7.9375, 3.96875)


def _halves(count: int) -> list[float]:
    """Terms just above 5, 5/4, ...: a sum of sixes of which 5/6 of a power of two is left, a little more."""
    parts: list[Fraction] = []
    left, power = Fraction(5, 6), Fraction(1, 2)
    while len(parts) < count:
        if power <= left:
            parts.append(power)
            left -= power
        power /= 2
    parts[-1] *= 2  # above 5/6
    return [5.0 * (1 + 2.0**-40) * float(p) for p in parts]


def _stack(P: int, terms: str, seed: int) -> Array:
    if terms == "drawn":
        return np.random.default_rng([P, seed]).standard_normal((P, 40))
    if terms == "every":
        few = _MAGNITUDES[: (12, 12, 8, 4)[P - 1]]
        return np.array(list(itertools.product(sorted({*few, *(-v for v in few)}), repeat=P))).T
    columns = {"stagnating": [4.0, *[0.9] * (P - 1)], "halves": _halves(P), "next to 8": [7.9375] * P}
    return of_a_column(columns[terms])


ERRORS = Space(
    _stack,
    {
        "P": (*RANKS, 16),
        "terms": ("drawn", "every", "stagnating", "halves", "next to 8"),
        "element": ("e2m1",),
        "scale": ("floor",),
        "block": (1,),
        "exact": (Of("every", lambda terms: terms == "every"),),
    },
).without("More than 3375 combinations of a few values.", lambda P, terms: terms == "every" and P > 4)
"""Sums in MXFP4, of entries with scales of their own."""


def error_of_sums(stack: Array, sums: Array) -> Fraction:
    """The largest error of the sum of a column over the sum of its magnitudes."""
    worst = Fraction(0)
    for column, found in zip(stack.T.tolist(), sums.tolist(), strict=True):
        terms = [Fraction(v) for v in column]
        if any(terms):
            worst = max(worst, abs(Fraction(found) - sum(terms)) / sum(map(abs, terms)))
    return worst
