"""Claims about sums of table numbers and about roundings hop after hop, bound to the collectives."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import lcm
from statistics import median_low
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.blockformats import EVEN_TABLE, UNEVEN_TABLE, Thinned, hop_stages
from commbounds.compressors.blockformats import ELEMENTS, Microscaling, StochasticMicroscaling
from commbounds.verify.experiments.blockformats.cases import ERRORS, error_of_sums, of_a_column, ones, parts_of
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals
from commbounds.verify.study import Outcome

_table = partial(Family, "blockformats.table", "table_allreduce", searched=False)
_multihop = partial(Family, "blockformats.multihop", "multihop_allreduce", searched=False)
TABLES = {
    "the authors', 1/128": UNEVEN_TABLE,
    "the authors', 1/16": EVEN_TABLE,
    "the authors', three bits": (0, 10, 15, 19, 23, 27, 32, 42),
    "short": (0, 1, 3, 4),
    "two": (0, 1),
    "even": (0, 3, 6, 9),
}
_QUANTILE = 1.8627318674216515
"""Of the normal distribution, for 1/16 beyond it on both sides together; as in the authors' file."""

# --- numbers of tables -------------------------------------------------------------------------------------------

Levels = Sequence[Fraction]


def sums_of(implementation: Any, table: str, levels: Sequence[Levels], fine: int = 0, **given: Any) -> Array:
    """Sums of table numbers, of levels of every rank: the range is chosen so that a level is one."""
    numbers = TABLES[table]
    half = numbers[-1] / 2
    stack = np.array([[float(level) - half for level in row] for row in levels])
    options = {"rotated": False, "reach": half, "fine": fine or None}
    sums: Array = implementation(stack, numbers, **options, **given)[0][0]
    return sums + len(levels) * half


def _table_defect(implementation: Any, P: int, entries: int, table: str) -> int:
    rng = np.random.default_rng([P, entries])
    stack, uniforms = rng.integers(-80, 81, (P, entries)) / 4, rng.random((1, P, entries))
    run = partial(implementation, table=TABLES[table], rotated=False, reach=TABLES[table][-1] / 2)
    alone = [run(stack[p : p + 1], uniforms=uniforms[:, p : p + 1])[0][0] for p in range(P)]
    return int((run(stack, uniforms=uniforms)[0][0] != np.sum(alone, axis=0)).sum())


def _table_bytes(implementation: Any, P: int, entries: int, table: str, rotated: bool) -> Outcome:
    stack, rng = np.ones((P, entries)), np.random.default_rng(1)
    sent = implementation(stack, TABLES[table], 2.0, rng, rotated=rotated)[1].sent
    return Outcome(int(sent.max()), {}, active=P > 1)


def _of_table(table: str) -> dict[str, Any]:
    numbers = TABLES[table]
    evenly = len({b - a for a, b in itertools.pairwise(numbers)}) == 1
    return {"tablesize": len(numbers), "tabletop": numbers[-1], "evenly": evenly}


def _of_entries(table: str, entries: int, rotated: bool) -> dict[str, Any]:
    return {**_of_table(table), "n": 1 << (entries - 1).bit_length() if rotated else entries}


_TABLED = _table(
    Space(
        nothing,
        {
            "P": RANKS,
            "entries": (24, 25, *parts_of(1, 3, 8, 33), Of("P, and half as many", lambda P: P + P // 2)),
            "table": tuple(TABLES),
            "rotated": (False, True),
        },
        options=("table",),
    ),
    _of_entries,
)


def _ambiguity(implementation: Any, P: int, table: str) -> int:
    """Every tuple of indices is a column, as levels that are the numbers themselves."""
    tuples = list(itertools.product(range(len(TABLES[table])), repeat=P))
    levels = [[Fraction(TABLES[table][row[p]]) for row in tuples] for p in range(P)]
    found = sums_of(implementation, table, levels, uniforms=np.full((1, P, len(tuples)), 0.5))
    sums: dict[int, set[int]] = {}
    for row, total in zip(tuples, found.tolist(), strict=True):
        sums.setdefault(sum(row), set()).add(round(total))
    return max(map(len, sums.values())) - 1


def _table_sum_bits(implementation: Any, P: int, table: str, tabletop: int) -> int:
    levels = [[Fraction(tabletop if p < k else 0) for k in range(P + 1)] for p in range(P)]
    for bits in range(1, 40):
        found = sums_of(implementation, table, levels, uniforms=np.full((1, P, P + 1), 0.5), sum_bits=bits)
        if found.tolist() == [float(k * tabletop) for k in range(P + 1)]:
            return bits
    raise ValueError("no width is enough")


_RANKS_AND_TABLES = Space(nothing, {"P": RANKS, "table": tuple(TABLES)})
_WIDE = _table(_RANKS_AND_TABLES.replaced(P=(*RANKS, 17)), _of_table)
_INDICES = _table(
    _RANKS_AND_TABLES.without("More than 600 tuples of indices.", lambda P, table: len(TABLES[table]) ** P > 600),
    _of_table,
)

# --- levels between them -----------------------------------------------------------------------------------------


def about(numbers: Sequence[int], level: Fraction) -> tuple[int, int]:
    """The table's numbers about a level, the level itself cut off."""
    level = min(max(level, Fraction(0)), Fraction(numbers[-1]))
    at = min(sum(v <= level for v in numbers) - 1, len(numbers) - 2)
    return numbers[at], numbers[at + 1]


def _cells(numbers: Sequence[int], levels: Levels, fine: int) -> tuple[int, int]:
    """Cells of the first and the second stage whose uniforms go one way as a whole."""
    first, second = 1, 1
    for level in levels:
        level = min(max(level, Fraction(0)), Fraction(numbers[-1]))
        places = [level]
        if fine:
            step = Fraction(numbers[-1], fine)
            below = level // step
            first = lcm(first, (level / step).denominator)
            places = [below * step, min((below + 1) * step, Fraction(numbers[-1]))]
        for place in places:
            low, high = about(numbers, place)
            second = lcm(second, ((place - low) / (high - low)).denominator)
    return first, second


def _moments(implementation: Any, table: str, levels: Levels, fine: int) -> tuple[Fraction, Fraction]:
    """Mean and variance of the sum, over all cells of the ranks' uniforms."""
    first, second = _cells(TABLES[table], levels, fine)
    kinds = [range(first) if fine else range(1), range(second)]
    rows = list(itertools.product(*(cell for _ in levels for cell in kinds)))
    cells = np.array(rows, float).T.reshape(len(levels), 2, len(rows))
    stages = [(cells[:, 0] + 0.5) / first] if fine else []
    uniforms = np.stack([*stages, (cells[:, 1] + 0.5) / second])
    sums = sums_of(implementation, table, [[level] * len(rows) for level in levels], fine, uniforms=uniforms)
    found = [Fraction(round(v)) for v in sums.tolist()]
    mean = sum(found, Fraction(0)) / len(found)
    return mean, sum(((v - mean) ** 2 for v in found), Fraction(0)) / len(found)


def _of_levels(table: str, levels: Levels, fine: int) -> dict[str, Any]:
    numbers, noise = TABLES[table], Fraction(0)
    for level in levels:
        low, high = about(numbers, level)
        noise += max((level - low) * (high - level), Fraction(0))
    facts = {
        "P": len(levels), "tablenoise": noise, "cutplace": Fraction(0), "finestep": Fraction(1), "bothgaps": 1,
        "inside": all(0 <= level <= numbers[-1] for level in levels),
        "nested": bool(fine) and all((v * fine) % numbers[-1] == 0 for v in numbers),
        "at_number": False,
    }  # fmt: skip
    if fine and levels[0] in numbers[1:-1]:
        step, at = Fraction(numbers[-1], fine), numbers.index(int(levels[0]))
        below, above = numbers[at] - numbers[at - 1], numbers[at + 1] - numbers[at]
        facts |= {"finestep": step, "cutplace": (levels[0] / step) % 1, "bothgaps": below + above}
        facts["at_number"] = len(levels) == 1 and step <= min(below, above)
    return facts


def _table_bias(found: tuple[Fraction, Fraction], levels: Levels) -> Fraction:
    return abs(found[0] - sum(levels))


def _table_variance(found: tuple[Fraction, Fraction]) -> Fraction:
    return found[1]


_SHORT = rationals("0", "1/2", "1", "4/3", "2", "5/2", "3", "7/2", "4", "9/2", "-1/2")
_PLACES = Space(nothing, {"table": ("short",), "levels": [(v,) for v in _SHORT], "fine": (0, 3, 4, 6, 8)})
_AUTHORS: dict[str, Any] = {"table": ["the authors', 1/128"], "levels": [(v,) for v in rationals(10, 8, 12, 21, 5, 31)]}
_STAGES = _table(
    _PLACES.including(
        *_PLACES.every(levels=itertools.product(_SHORT[1:8:2], _SHORT[2:10:3]), fine=(0, 8, 3)),
        *_PLACES.every(**_AUTHORS, fine=(1000, 0)),
        *_PLACES.every(table=["even"], levels=[(v,) for v in rationals("3/2", 6, 7)], fine=[9]),
        *_PLACES.every(table=["two"], levels=(rationals("1/2", "1/4", "3/4"), *(rationals("1/2") * P for P in RANKS))),
    ),
    _of_levels,
    _moments,
)

# --- entries beyond the range ------------------------------------------------------------------------------------


def _at_the_ends(implementation: Any, x: Array, top: float, every: bool) -> Outcome:
    """Entries that are read as an end of the range whatever is drawn, in expectation over all signs given."""
    d, signs = x.shape[1], list(itertools.product((1, -1), repeat=x.shape[1]))
    shares = []
    for turn in signs if every else signs[:1]:
        given = {"table": (0, 1, 2), "top": top, "signs": list(turn)}
        read = [implementation(x, uniforms=np.full((1, 1, d), u), **given)[0][0] for u in (0.0, 1 - 2.0**-53)]
        # back in the rotated domain, over the range: -1, 0 or 1
        turned = [_turned(y, turn) / (top * np.linalg.norm(x) / np.sqrt(d)) for y in read]
        ends = (np.abs(turned[0] - turned[1]) < 0.5) & (np.abs(turned[0]) > 0.5)
        shares.append(Fraction(int(ends.sum()), d))
    values = {"tableroom": Fraction(top), "tailshare": Fraction(1, 16)}
    return Outcome(sum(shares, Fraction(0)) / len(shares), values)


def _turned(x: Array, signs: Sequence[int]) -> Array:
    d = x.size
    matrix = np.array([[(-1.0) ** bin(i & j).count("1") for j in range(d)] for i in range(d)])
    turned: Array = matrix @ (np.array(signs) * x) / np.sqrt(d)
    return turned


_FOURS = ((1, 1, 1, 1), (1, 0, 0, 0), (1, 1, 0, 0), (3, 1, 0, 0), (2, 1, 1, 1), (1, 2, 3, 4), (1, 1, 1, 0))
_RANGES = _table(
    Space(
        lambda entries: np.array([entries], float),
        {"entries": _FOURS, "top": (2.0, _QUANTILE, 1.0, 1.25), "every": (True, False)},
        combined=(("entries", "top", "every"),),
    ),
    lambda top, every: {"by_quantile": every and top == _QUANTILE},
)

# --- hops --------------------------------------------------------------------------------------------------------


def _rounded_by(topology: str, P: int, part: int) -> list[tuple[int, int]]:
    """Of every rounding that a part goes through: stage and rank."""
    if topology == "ring":
        return [(hop, (part + hop) % P) for hop in range(P)]
    found, stage, half = [], 0, P // 2
    while half:
        top = half.bit_length() - 1
        found += [(stage, r) for r in range(P) if r >> (top + 1) == part >> (top + 1) and (r ^ part) >> top & 1]
        stage, half = stage + 1, half // 2
    return [*found, (stage, part)]


Moments = tuple[list[Fraction], list[Fraction]]
"""Means and variances by parts."""


def _hop_moments(implementation: Any, x: Array, P: int, topology: str, message: str, keep: float) -> Moments:
    """Of the sum of one entry a rank: every outcome of every rounding is a column of each part.

    All parts but the last have a column more.
    """
    thinned = message == "thinned"
    cells = 2 if thinned else 16
    outcomes = np.array(list(itertools.product(range(cells), repeat=P)))
    n = P * len(outcomes) + P - 1
    uniforms = np.full((hop_stages(topology, P), P, n), 0.5)
    parts = [slice(start, start + len(outcomes)) for start in range(0, n, len(outcomes) + 1)]
    for part, columns in enumerate(parts):
        for number, (stage, rank) in enumerate(_rounded_by(topology, P, part)):
            chosen = outcomes[:, number]
            uniforms[stage, rank, columns] = np.where(chosen, 0.0, 0.999) if thinned else (chosen + 0.5) / cells
    quantiser = Thinned(keep) if thinned else StochasticMicroscaling("e2m1", 1, "rceil")
    sums = implementation(np.repeat(x, n, axis=1), quantiser, topology, uniforms=uniforms)[0][0]
    weights = [Fraction(1, len(outcomes))] * len(outcomes)
    if thinned:
        share = Fraction(keep)
        weights = [share**k * (1 - share) ** (P - k) for k in outcomes.sum(axis=1).tolist()]
    means, variances = [], []
    for columns in parts:
        found = [Fraction(v) for v in sums[columns].tolist()]
        mean = sum((w * v for w, v in zip(weights, found, strict=True)), Fraction(0))
        means.append(mean)
        variances.append(sum((w * (v - mean) ** 2 for w, v in zip(weights, found, strict=True)), Fraction(0)))
    return means, variances


def _of_hops(x: Array, P: int, message: str, keep: float) -> dict[str, Any]:
    growth = sum(k * k * Fraction(25, 24) ** (P - k) for k in range(1, P + 1))
    noise = {"hopnoise": 1 / Fraction(keep) - 1} if message == "thinned" else {}
    return {"halvings": P.bit_length() - 1, "hopgrowth": growth, "alike": bool((x == x[0]).all()), **noise}


def _hop_bias(found: Moments, x: Array) -> Fraction:
    return max(abs(mean - Fraction(x.sum())) for mean in found[0])


def _hop_variance(found: Moments, x: Array) -> Fraction:
    """The variance of the part that is unlike the others, where there is one."""
    middle = median_low(found[1])
    return max(found[1], key=lambda v: abs(v - middle)) / Fraction(x[0, 0]) ** 2


def _hop_largest(found: Moments, x: Array) -> Fraction:
    return max(found[1]) / Fraction(x[0, 0]) ** 2


def _hop_share(found: Moments, x: Array) -> Fraction:
    return max(found[1]) / Fraction(x.sum()) ** 2


def _hop_entries(P: int, unit: int, data: str, seed: int) -> Array:
    drawn = np.random.default_rng([P, seed]).integers(-4, 6, P - 1).tolist()
    return unit * of_a_column([5, *drawn] if data == "drawn" else [1] * P)


def _is_odd(P: int, topology: str) -> bool:
    return topology == "butterfly" and bool(P & (P - 1))


_HALVES = "Halves are swapped by a power of two of ranks."
_MESSAGES = Space(
    _hop_entries,
    {
        "P": RANKS,
        "topology": ("ring", "butterfly"),
        "keep": (0.5, 0.25, 0.875),
        # so that P divisions by the share that is kept are exact
        "unit": (Of("a power of what is kept", lambda P, keep: Fraction(keep).numerator ** P),),
        "data": ("alike", "drawn"),
        "message": ("thinned",),
        "element": ("e2m1",),
        "scale": ("rceil",),
        "block": (1,),
    },
).without(_HALVES, _is_odd)
HOPS = _multihop(_MESSAGES, _of_hops, _hop_moments)
_IN_MXFP4 = {
    "grid": HOPS.every(
        P=(1, 2, 3),
        topology=lambda P: ("ring", "butterfly")[: 1 + (P == 2)],
        message=["e2m1"],
        unit=lambda P, level: (5, 7) if P == 3 else (*range(1, 14, 2), *((15, 19, 21) if level else ())),
    ),
    "enumerated": "up to three ranks of one whole number each, every rounding in sixteenths; exact",
}


def _hop_bytes(implementation: Any, x: Array, P: int, element: str, block: int, topology: str) -> Outcome:
    sent = implementation(x, Microscaling(element, block), topology)[1].sent
    return Outcome(int(sent.max()), {}, active=P > 1)


_SIZED = _multihop(
    Space(
        ones,
        {
            "P": (*RANKS, 16),
            "n": parts_of(32, 8, 96),
            "topology": ("butterfly", "ring"),
            "element": ("e2m1", "e3m2", "e4m3"),
            "block": (32, 8, 4, 1),
            "message": ("nearest",),
        },
        options=("topology", "block"),
    ).without(_HALVES, _is_odd),
    lambda element: {"elementbits": ELEMENTS[element].width},
)


def _hop_error(implementation: Any, x: Array) -> Fraction:
    return error_of_sums(x, implementation(x, Microscaling("e2m1", 1), "butterfly")[0][0])


_NEAREST = _multihop(
    ERRORS.replaced(topology=("butterfly",), message=("nearest",)).without(_HALVES, _is_odd),
    lambda P: {"halvings": P.bit_length() - 1},
)

# --- studies -----------------------------------------------------------------------------------------------------

_HALF = "half is kept"
TABLE = (
    *_TABLED.studies(_table_defect, "sums"),
    *_INDICES.studies(_ambiguity, "index_sums", extremal=_INDICES.every(P=[2])),
    *_INDICES.studies(_ambiguity, "index_sums_of_even"),
    *_STAGES.studies(_table_bias, "unbiased"),
    *_STAGES.studies(_table_bias, "unbiased_beyond",
                     extremal=_STAGES.every(table=["two"], levels=[rationals("3/2")])),
    *_STAGES.studies(_table_variance, "variance", curves=[_STAGES.over(
        "tablenoise", [(Fraction(k, 8),) for k in range(8, 17)], "one rank", by="levels")]),
    *_STAGES.studies(_table_variance, "two_stages", extremal=_STAGES.of([
        _PLACES.at(table="the authors', 1/128", levels=rationals(10), fine=1000)])),
    *_STAGES.studies(_table_variance, "two_stages_nested", "at_a_number"),
    *_WIDE.studies(_table_sum_bits, "sum_bits", curves=[_WIDE.over("P", (1, 2, 4, 8, 9, 16), "the authors' table")]),
    *_TABLED.studies(_table_bytes, "bytes"),
    *_RANGES.studies(_at_the_ends, "beyond", extremal=_RANGES.every(every=[False])),
    *_RANGES.studies(_at_the_ends, "beyond_as_gaussian", extremal=_RANGES.every(top=[_QUANTILE])),
)  # fmt: skip
MULTIHOP = (
    *HOPS.studies(_hop_bias, "unbiased"),
    *HOPS.studies(_hop_variance, "ring_law", curves=[HOPS.over("P", range(1, 9), _HALF)]),
    *HOPS.studies(_hop_variance, "butterfly_law",
                  curves=[HOPS.over("halvings", (1, 2, 4, 8), _HALF, by="P", topology="butterfly")]),
    *HOPS.studies(_hop_share, "butterfly_bounded"),
    *HOPS.studies(_hop_share, "ring_bounded", extremal=HOPS.every(P=[8])),
    *HOPS.studies(_hop_largest, "mxfp4_ring", **_IN_MXFP4),
    *_SIZED.studies(_hop_bytes, "bytes", curves=[_SIZED.over("P", (2, 4, 8, 16), "MXFP4, n = 1536", n=1536)]),
    *_NEAREST.studies(_hop_error, "nearest_error", "nearest_error_grown", curves=[_NEAREST.over(
        "halvings", (1, 2, 4, 8), "entries next to 8", by="P", terms="next to 8")]),
)  # fmt: skip
