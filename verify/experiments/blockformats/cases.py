"""Vectors for block formats, and what is measured of them in exact arithmetic."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.collectives.blockformats import bytes_of, message_of
from commbounds.compressors.blockformats import ELEMENTS
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.marginals import kernel_marginals
from commbounds.verify.study import Case, Outcome

_SURE = Fraction(1)
Law = list[list[tuple[Fraction, Fraction]]]
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


def _entries(case: Case) -> list[Fraction]:
    return exact(case.array)


def laws(cls: Any, case: Case) -> Law:
    """The law of every entry of the output, read off the kernel.

    Probabilities are multiples of the uniforms' spacing; where the share of the gap is one too, they are exact.
    """
    return law_of(made(cls, case), case.array)


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


def dyadic(case: Case) -> bool:
    """Whether all shares are multiples of the uniforms' spacing: entries are quarters, few and small."""
    x = case.array
    return bool(
        x.dtype == np.float64
        and x.size <= 4
        and (4 * x == np.rint(4 * x)).all()
        and np.abs(x).max() < 64
        and case.settings.get("scale") != "three_quarters"
    )


def symbols(case: Case) -> dict[str, Any]:
    """The symbols of the bounds: lengths, and what the case's format has; not to be changed."""
    found: dict[str, Any] = case.once(_symbols)
    return found


def _symbols(case: Case) -> dict[str, Any]:
    settings, found = case.settings, {"n": case.array.size, "block": case.settings.get("block", 1)}
    if "digits" in settings:
        found["microdigits"] = settings["digits"]
    if "element" in settings:
        element = ELEMENTS[settings["element"]]
        found |= {"elementbits": element.width, "element_unit": element.unit, "overshoot": 2 - element.reach}
        found["peak"] = int(2 * Fraction(2) ** element.emax / element.smallest)
    return found


def _exactly(_cls: Any, _case: Case) -> float:
    return 0.0


def of_law(
    measure: Callable[..., Fraction], slack: Callable[[Any, Case], float] = _exactly, more: Sequence[str] = ()
) -> Callable[[Any, Case], Outcome]:
    """The trial that measures (law, entries, more settings); slack is what probabilities and scales are rounded by."""

    def trial(cls: Any, case: Case) -> Outcome:
        found = measure(case.once(laws, cls), case.once(_entries), *(case.settings[name] for name in more))
        allowed = slack(cls, case)
        return Outcome(float(found) if allowed else found, symbols(case), allowed)

    return trial


def relative_error(law: Law, x: list[Fraction]) -> Fraction:
    """Expected squared error over the squared norm; in whole numbers, over one denominator."""
    values = math.lcm(*(v.denominator for v in x), *(y.denominator for entry in law for _, y in entry))
    shares = math.lcm(*(p.denominator for entry in law for p, _ in entry))
    total = square = 0
    for entry, v in zip(law, x, strict=True):
        whole = v.numerator * (values // v.denominator)
        square += whole * whole
        for p, y in entry:
            total += p.numerator * (shares // p.denominator) * (y.numerator * (values // y.denominator) - whole) ** 2
    return Fraction(total, shares * square)


def maximum_error(law: Law, x: list[Fraction], block: int) -> Fraction:
    """Largest relative error of a largest entry of a block."""
    worst = Fraction(0)
    for start, stop in blocks(x, block):
        at = max(range(start, stop), key=lambda i: abs(x[i]))
        if x[at]:
            worst = max(worst, *(abs(y - x[at]) / abs(x[at]) for p, y in law[at] if p))
    return worst


def bias(law: Law, x: list[Fraction]) -> Fraction:
    """Largest error of an expected entry, over the largest entry."""
    top = max(map(abs, x))
    means = (entry[0][1] if len(entry) == 1 else sum(p * y for p, y in entry) for entry in law)
    worst: Fraction = max(abs(mean - v) for mean, v in zip(means, x, strict=True))
    return worst / (top or 1)


def changed_again(cls: Any, case: Case) -> Outcome:
    """Entries that rounding once more changes."""
    c = made(cls, case)
    once = c(case.array)
    allowance = 0.0
    if case.settings.get("scale") == "three_quarters":  # 4/3 is rounded: an entry counts if an element is lost
        allowance = 8.0 * float(np.finfo(once.dtype).eps) * float(np.abs(once).max())
    return Outcome(int((np.abs(c(once) - once) > allowance).sum()), symbols(case), active=bool(once.any()))


def wire_bits(cls: Any, case: Case) -> Outcome:
    """Bits of a message, whose bytes say so and are read back; -1 where they are not."""
    c, x = made(cls, case), case.array
    message = c.compress(x, np.random.default_rng(0))
    sent = bytes_of(message)
    read = c.decompress(message_of(sent, c, x.size, x.dtype))
    right = read.tobytes() == c.decompress(message).tobytes() and sent.size == -(-message.bits // 8)
    return Outcome(int(message.bits) if right else -1, symbols(case))


# --- vectors -----------------------------------------------------------------------------------------------------

_FEW = tuple(Fraction(v, 4) for v in (0, 1, 2, 4, 5, 10, 12, 14, 20, 24, 26, 31, 36))
"""Quarters: half-way points, elements and clipped ones of E2M1."""
_FEWER = tuple(Fraction(v, 4) for v in (0, 1, 5, 14, 31))


def small_vectors() -> Iterator[tuple[Fraction, ...]]:
    """One, two and three such entries, signs among them."""
    for v in _FEW[1:]:
        yield (v,)
        yield (-v,)
    for a, b in itertools.product(_FEW, repeat=2):
        if a or b:
            yield (a, -b)
    for triple in itertools.product(_FEWER, repeat=3):
        if any(triple):
            yield triple


def exact_case(x: Sequence[Fraction], **settings: Any) -> Case:
    """A case whose entries are dyadic, as float64."""
    return Case(settings, np.array([float(v) for v in x]))


COMBINATIONS = (
    *(("e2m1", scale) for scale in SCALES),
    *((element, "floor") for element in ELEMENTS if element != "e2m1"),
    ("e4m3", "rceil"),
    ("int8", "rceil"),
    ("e4m3", "nearest"),
    ("e2m3", "nearest"),
    ("e3m2", "even"),
    ("int4", "three_quarters"),
)
"""Elements and rules of the scale that cases go through."""


def grid(level: int) -> Iterator[Case]:
    """The small vectors in every format, in blocks of one entry and of two."""
    for x in small_vectors():
        for element, scale in COMBINATIONS:
            for block in (1, 2) if len(x) > 1 else (2,):
                # three quarters of an entry, and four thirds of an element, are no dyadic numbers
                if scale != "three_quarters":
                    yield exact_case(x, element=element, scale=scale, block=block)
    if level:
        for a, b, c, d in itertools.product(_FEWER, repeat=4):
            for scale in SCALES[:-1]:
                yield exact_case((a, b, c, d), element="e2m1", scale=scale, block=4)


def corpus(budget: Budget) -> Iterator[Case]:
    """Hostile vectors, in blocks of 32 and of seven; and one large entry among small ones."""
    for (element, scale), top in itertools.product(COMBINATIONS, (3.001, 5.0, 7.5)):
        x = np.full(32, 0.25)
        x[0] = top
        yield Case({"element": element, "scale": scale, "block": 32}, x)
    yield from _HOSTILE(budget)


FLOATS = (np.float32, np.float64)
Ways = Sequence[Mapping[str, Any]]


def ways(**settings: Sequence[Any]) -> Ways:
    """All combinations of values of some settings."""
    return [dict(zip(settings, values, strict=True)) for values in itertools.product(*settings.values())]


def hostile(of: Ways, few: int, many: int, dtypes: Sequence[Any] = FLOATS) -> Callable[[Budget], Iterator[Case]]:
    """Hostile vectors, each in some of the ways in turn."""

    def cases(budget: Budget) -> Iterator[Case]:
        turn = itertools.cycle(of)
        for dtype in dtypes:
            for _, x in inputs.corpus((1, 5, 33, 64), dtype):
                for settings in itertools.islice(turn, many if budget.level else few):
                    yield Case(dict(settings), x)

    return cases


def of_families(of: Ways, most: int = 70, dtypes: Sequence[Any] = FLOATS) -> Callable[[], st.SearchStrategy[Case]]:
    """Vectors of the families, in any of the ways."""

    def case(family: str, n: int, seed: int, settings: Mapping[str, Any], dtype: Any) -> Case:
        return Case({**settings, "family": family, "seed": seed}, inputs.family(family, n, seed, 1.0, dtype))

    families = sampled_from(tuple(inputs.FAMILIES))
    return lambda: st.builds(
        case, families, integers(1, most), integers(0, 2**20), sampled_from(tuple(of)), sampled_from(dtypes)
    )


_FORMATS = [{"element": element, "scale": scale} for element, scale in COMBINATIONS]
drawn = of_families([{**about, **more} for about in _FORMATS for more in ways(block=(1, 2, 5, 16, 32, 64))])
_HOSTILE = hostile([{**about, **more} for about in _FORMATS for more in ways(block=(32, 7))], 3, 7)


def largest_just_below(
    _budget: Budget, elements: Sequence[str] = tuple(ELEMENTS), scale: str = "floor"
) -> Iterator[Case]:
    """One entry just below a power of two, or below where the scale changes, others small."""
    for element, n in itertools.product(elements, (1, 32)):
        x = np.zeros(n)
        x[0] = 2.0 - 2.0**-20 if scale == "floor" else float(ELEMENTS[element].reach) * 0.75 - 2.0**-20
        yield Case({"element": element, "scale": scale, "block": 32}, x)


def error_of_sums(stack: Array, sums: Array) -> Fraction:
    """The largest error of the sum of a column over the sum of its magnitudes."""
    worst = Fraction(0)
    for column, found in zip(stack.T.tolist(), sums.tolist(), strict=True):
        terms = [Fraction(v) for v in column]
        if any(terms):
            worst = max(worst, abs(Fraction(found) - sum(terms)) / sum(map(abs, terms)))
    return worst
