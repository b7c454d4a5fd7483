"""Claims about sums of table numbers and about roundings hop after hop, bound to the collectives."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from statistics import median_low
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.blockformats import EVEN_TABLE, UNEVEN_TABLE, Thinned, hop_stages
from commbounds.compressors.blockformats import ELEMENTS, Microscaling, StochasticMicroscaling
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.blockformats.cases import error_of_sums
from commbounds.verify.study import Case, Outcome, Study, over, these

_T, _H = "blockformats.table.", "blockformats.multihop."
_TABLE, _HOPS = "table_allreduce", "multihop_allreduce"
_TABLES = {
    "the authors', 1/128": UNEVEN_TABLE,
    "the authors', 1/16": EVEN_TABLE,
    "the authors', three bits": (0, 10, 15, 19, 23, 27, 32, 42),
    "short": (0, 1, 3, 4),
    "two": (0, 1),
    "even": (0, 3, 6, 9),
}
_QUANTILE = 1.8627318674216515
"""Of the normal distribution, for 1/16 beyond it on both sides together; as in the authors' file."""

# --- table numbers -----------------------------------------------------------------------------------------------


def _tabled(table: str, **settings: Any) -> Case:
    gaps = {b - a for a, b in itertools.pairwise(_TABLES[table])}
    return Case({"table": table, "evenly": len(gaps) == 1, "fine": 0, **settings})


def _run(implementation: Any, case: Case, levels: Sequence[Sequence[Fraction]], **given: Any) -> Array:
    """Sums of table numbers, of levels of every rank: the range is chosen so that a level is one."""
    numbers = _TABLES[case.settings["table"]]
    half = numbers[-1] / 2
    stack = np.array([[float(level) - half for level in row] for row in levels])
    options = {"rotated": False, "reach": half, "fine": case.settings["fine"] or None}
    sums: Array = implementation(stack, numbers, **options, **given)[0][0]
    return sums + len(levels) * half


def _levels(case: Case) -> list[Fraction]:
    return [Fraction(v) for v in case.settings["levels"].split()]


def _about(numbers: Sequence[int], level: Fraction) -> tuple[int, int]:
    """The table's numbers about a level, the level itself cut off."""
    level = min(max(level, Fraction(0)), Fraction(numbers[-1]))
    at = min(sum(v <= level for v in numbers) - 1, len(numbers) - 2)
    return numbers[at], numbers[at + 1]


def _cells(case: Case) -> tuple[int, int]:
    """Cells of the first and the second stage whose uniforms go one way as a whole."""
    numbers, fine = _TABLES[case.settings["table"]], case.settings["fine"]
    first, second = 1, 1
    for level in _levels(case):
        level = min(max(level, Fraction(0)), Fraction(numbers[-1]))
        places = [level]
        if fine:
            step = Fraction(numbers[-1], fine)
            below = level // step
            first = lcm(first, (level / step).denominator)
            places = [below * step, min((below + 1) * step, Fraction(numbers[-1]))]
        for place in places:
            low, high = _about(numbers, place)
            second = lcm(second, ((place - low) / (high - low)).denominator)
    return first, second


def _moments(implementation: Any, case: Case) -> tuple[Fraction, Fraction]:
    """Mean and variance of the sum, over all cells of the ranks' uniforms."""
    levels, fine = _levels(case), case.settings["fine"]
    first, second = _cells(case)
    kinds = [range(first) if fine else range(1), range(second)]
    rows = list(itertools.product(*(cell for _ in levels for cell in kinds)))
    cells = np.array(rows, float).T.reshape(len(levels), 2, len(rows))
    stages = [(cells[:, 0] + 0.5) / first] if fine else []
    uniforms = np.stack([*stages, (cells[:, 1] + 0.5) / second])
    sums = _run(implementation, case, [[level] * len(rows) for level in levels], uniforms=uniforms)
    found = [Fraction(round(v)) for v in sums.tolist()]
    mean = sum(found, Fraction(0)) / len(found)
    return mean, sum(((v - mean) ** 2 for v in found), Fraction(0)) / len(found)


def _known_table(_implementation: Any, case: Case) -> dict[str, Any]:
    settings = case.settings
    numbers, fine = _TABLES[settings["table"]], settings["fine"]
    levels = _levels(case) if "levels" in settings else []
    nested = bool(fine) and all((v * fine) % numbers[-1] == 0 for v in numbers)
    at_number = False
    if fine and len(levels) == 1 and levels[0] in numbers[1:-1]:
        at, step = numbers.index(int(levels[0])), Fraction(numbers[-1], fine)
        at_number = step <= min(numbers[at] - numbers[at - 1], numbers[at + 1] - numbers[at])
    return {
        "P": settings.get("P", len(levels)),
        "n": settings.get("n", 1),
        "inside": all(0 <= level <= numbers[-1] for level in levels),
        "nested": nested,
        "at_number": at_number,
    }


def _noise_values(case: Case) -> dict[str, Any]:
    numbers, levels = _TABLES[case.settings["table"]], _levels(case)
    noise = Fraction(0)
    for level in levels:
        low, high = _about(numbers, level)
        noise += max((level - low) * (high - level), Fraction(0))
    values = {"P": len(levels), "tablenoise": noise, "cutplace": Fraction(0), "finestep": Fraction(1), "bothgaps": 1}
    if case.settings["fine"] and levels[0] in numbers[1:-1]:
        step, at = Fraction(numbers[-1], case.settings["fine"]), numbers.index(int(levels[0]))
        values |= {"finestep": step, "cutplace": (levels[0] / step) % 1, "bothgaps": numbers[at + 1] - numbers[at - 1]}
    return values


def _table_bias(implementation: Any, case: Case) -> Outcome:
    mean = case.once(_moments, implementation)[0]
    return Outcome(abs(mean - sum(_levels(case))), _noise_values(case))


def _table_variance(implementation: Any, case: Case) -> Outcome:
    return Outcome(case.once(_moments, implementation)[1], _noise_values(case))


def _stages(level: int) -> Iterator[Case]:
    singles = ("0", "1/2", "1", "4/3", "2", "5/2", "3", "7/2", "4", "9/2", "-1/2")
    for fine in (0, 3, 4, 6, 8):
        for text in singles:
            yield _tabled("short", levels=text, fine=fine)
    for a, b in itertools.product(singles[1:8:2], singles[2:10:3]):
        for fine in (0, 8, 3)[: 3 if level else 2]:
            yield _tabled("short", levels=f"{a} {b}", fine=fine)
    for text in ("10", "8", "12", "21", "5", "31"):
        yield _tabled("the authors', 1/128", levels=text, fine=1000)
        yield _tabled("the authors', 1/128", levels=text, fine=0)
    for text in ("3/2", "6", "7"):
        yield _tabled("even", levels=text, fine=9)
    for texts in ("1/2 1/4 3/4", "1/2 1/2 1/2"):
        yield _tabled("two", levels=texts)


def _ambiguity(implementation: Any, case: Case) -> Outcome:
    """Every tuple of indices is a column, as levels that are the numbers themselves."""
    P, numbers = case.settings["P"], _TABLES[case.settings["table"]]
    tuples = list(itertools.product(range(len(numbers)), repeat=P))
    levels = [[Fraction(numbers[row[p]]) for row in tuples] for p in range(P)]
    found = _run(implementation, case, levels, uniforms=np.full((1, P, len(tuples)), 0.5))
    sums: dict[int, set[int]] = {}
    for row, total in zip(tuples, found.tolist(), strict=True):
        sums.setdefault(sum(row), set()).add(round(total))
    return Outcome(max(map(len, sums.values())) - 1, {"P": P})


def _table_defect(implementation: Any, case: Case) -> Outcome:
    P, n, numbers = case.settings["P"], case.settings["n"], _TABLES[case.settings["table"]]
    rng = np.random.default_rng([P, n])
    stack, uniforms = rng.integers(-80, 81, (P, n)) / 4, rng.random((1, P, n))
    options = {"rotated": False, "reach": numbers[-1] / 2}
    whole = implementation(stack, numbers, uniforms=uniforms, **options)[0][0]
    alone = [implementation(stack[p : p + 1], numbers, uniforms=uniforms[:, p : p + 1], **options)[0][0]
             for p in range(P)]  # fmt: skip
    return Outcome(int((whole != np.sum(alone, axis=0)).sum()), {"P": P})


def _tables_and_ranks(level: int) -> Iterator[Case]:
    for table, P in itertools.product(_TABLES, (1, 2, *((3,) if level else ()))):
        yield _tabled(table, P=P, n=24)
    for table in ("short", "two", "even"):
        yield _tabled(table, P=3, n=25)
    for P in (5, 8):
        yield _tabled("two", P=P, n=27)


def _table_sum_bits(implementation: Any, case: Case) -> Outcome:
    P, numbers = case.settings["P"], _TABLES[case.settings["table"]]
    g = numbers[-1]
    levels = [[Fraction(g if p < k else 0) for k in range(P + 1)] for p in range(P)]
    values = {"P": P, "tabletop": g}
    for bits in range(1, 40):
        found = _run(implementation, case, levels, uniforms=np.full((1, P, P + 1), 0.5), sum_bits=bits)
        if found.tolist() == [float(k * g) for k in range(P + 1)]:
            return Outcome(bits, values)
    raise ValueError("no width is enough")


def _widths(level: int) -> Iterator[Case]:
    for table, P in itertools.product(_TABLES, (1, 2, 3, 5, 8, 9, *((17, 33) if level else ()))):
        yield _tabled(table, P=P)


def _table_bytes(implementation: Any, case: Case) -> Outcome:
    P, n, numbers = case.settings["P"], case.settings["n"], _TABLES[case.settings["table"]]
    entries = case.settings.get("padded", n)
    _, traffic = implementation(np.ones((P, entries)), numbers, 2.0, np.random.default_rng(1), rotated=entries < n)
    values = {"P": P, "n": n, "tablesize": len(numbers), "tabletop": numbers[-1]}
    return Outcome(int(traffic.sent.max()), values, active=P > 1)


def _table_sizes(level: int) -> Iterator[Case]:
    for table, P in itertools.product(_TABLES, (1, 2, 3, 5)):
        for n in (P, 3 * P, 8 * P, *((33 * P,) if level else ())):
            yield _tabled(table, P=P, n=n)
    for table, (P, entries, n) in itertools.product(("short", "two"), ((1, 3, 4), (2, 3, 4), (4, 13, 16), (8, 33, 64))):
        yield _tabled(table, P=P, n=n, padded=entries)


def _at_the_ends(implementation: Any, case: Case) -> Outcome:
    """Entries that are read as an end of the range whatever is drawn, in expectation over all signs given."""
    settings = case.settings
    x = np.array([[float(v) for v in settings["x"].split()]])
    d, signs = x.shape[1], list(itertools.product((1, -1), repeat=x.shape[1]))
    shares = []
    for turn in signs if settings["every"] else signs[:1]:
        given = {"table": (0, 1, 2), "top": settings["top"], "signs": list(turn)}
        read = [implementation(x, uniforms=np.full((1, 1, d), u), **given)[0][0] for u in (0.0, 1 - 2.0**-53)]
        # back in the rotated domain, over the range: -1, 0 or 1
        turned = [_turned(y, turn) / (settings["top"] * np.linalg.norm(x) / np.sqrt(d)) for y in read]
        ends = (np.abs(turned[0] - turned[1]) < 0.5) & (np.abs(turned[0]) > 0.5)
        shares.append(Fraction(int(ends.sum()), d))
    values = {"tableroom": Fraction(settings["top"]), "tailshare": Fraction(1, 16)}
    return Outcome(sum(shares, Fraction(0)) / len(shares), values)


def _turned(x: Array, signs: Sequence[int]) -> Array:
    d = x.size
    matrix = np.array([[(-1.0) ** bin(i & j).count("1") for j in range(d)] for i in range(d)])
    turned: Array = matrix @ (np.array(signs) * x) / np.sqrt(d)
    return turned


def _ranges(level: int) -> Iterator[Case]:
    vectors = ("1 1 1 1", "1 0 0 0", "1 1 0 0", "3 1 0 0", "2 1 1 1", "1 2 3 4", "1 1 1 0")
    for text, top in itertools.product(vectors, (2.0, _QUANTILE, 1.0, 1.25)):
        for every in (True, False):
            yield _tabled("two", x=text, top=top, every=every, by_quantile=every and top == _QUANTILE)


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


def _hop_moments(implementation: Any, case: Case) -> tuple[list[Fraction], list[Fraction]]:
    """Means and variances by parts of the sum of one entry a rank: every outcome of every rounding is a column of each.

    All parts but the last have a column more.
    """
    settings = case.settings
    P, topology = settings["P"], settings["topology"]
    entries = [Fraction(v) for v in settings["entries"].split()]
    cells, thinned = settings["cells"], settings["message"] == "thinned"
    kinds = range(2) if thinned else range(cells)
    outcomes = np.array(list(itertools.product(kinds, repeat=P)))
    n = P * len(outcomes) + P - 1
    uniforms = np.full((hop_stages(topology, P), P, n), 0.5)
    parts = [slice(start, start + len(outcomes)) for start in range(0, n, len(outcomes) + 1)]
    for part, columns in enumerate(parts):
        for number, (stage, rank) in enumerate(_rounded_by(topology, P, part)):
            chosen = outcomes[:, number]
            uniforms[stage, rank, columns] = np.where(chosen, 0.0, 0.999) if thinned else (chosen + 0.5) / cells
    quantiser = Thinned(settings["keep"]) if thinned else StochasticMicroscaling("e2m1", 1, "rceil")
    stack = np.repeat(np.array([[float(v)] for v in entries]), n, axis=1)
    sums = implementation(stack, quantiser, topology, uniforms=uniforms)[0][0]
    keep = Fraction(settings["keep"])
    weights = [Fraction(1, len(outcomes))] * len(outcomes)
    if thinned:
        kept = outcomes.sum(axis=1).tolist()
        weights = [keep**k * (1 - keep) ** (P - k) for k in kept]
    means, variances = [], []
    for columns in parts:
        found = [Fraction(v) for v in sums[columns].tolist()]
        mean = sum((w * v for w, v in zip(weights, found, strict=True)), Fraction(0))
        means.append(mean)
        variances.append(sum((w * (v - mean) ** 2 for w, v in zip(weights, found, strict=True)), Fraction(0)))
    return means, variances


def _hop_values(case: Case) -> dict[str, Any]:
    settings = case.settings
    P = settings["P"]
    growth = sum(k * k * Fraction(25, 24) ** (P - k) for k in range(1, P + 1))
    values: dict[str, Any] = {"P": P, "halvings": P.bit_length() - 1, "hopgrowth": growth}
    if settings["message"] == "thinned":
        values["hopnoise"] = 1 / Fraction(settings["keep"]) - 1
    return values


def _hop_bias(implementation: Any, case: Case) -> Outcome:
    entries = [Fraction(v) for v in case.settings["entries"].split()]
    means = case.once(_hop_moments, implementation)[0]
    return Outcome(max(abs(mean - sum(entries)) for mean in means), _hop_values(case))


def _hop_variance(implementation: Any, case: Case) -> Outcome:
    """The variance of the part that is unlike the others, where there is one."""
    a, variances = Fraction(case.settings["entries"].split()[0]), case.once(_hop_moments, implementation)[1]
    middle = median_low(variances)
    return Outcome(max(variances, key=lambda v: abs(v - middle)) / a**2, _hop_values(case))


def _hop_largest(implementation: Any, case: Case) -> Outcome:
    a = Fraction(case.settings["entries"].split()[0])
    return Outcome(max(case.once(_hop_moments, implementation)[1]) / a**2, _hop_values(case))


def _hop_share(implementation: Any, case: Case) -> Outcome:
    total = sum(Fraction(v) for v in case.settings["entries"].split())
    return Outcome(max(case.once(_hop_moments, implementation)[1]) / total**2, _hop_values(case))


def _hop_case(P: int, topology: str, entries: str, message: str = "thinned", keep: float = 0.5, cells: int = 1) -> Case:
    return Case(
        {"P": P, "n": P, "block": 1, "topology": topology, "entries": entries, "message": message, "keep": keep,
         "cells": cells, "alike": len(set(entries.split())) == 1, "element": "e2m1", "scale": "rceil"}
    )  # fmt: skip


def _alike(P: int, topology: str, keep: float = 0.5) -> Case:
    # P divisions by the share that is kept are exact
    entry = str(Fraction(keep).numerator ** P)
    return _hop_case(P, topology, " ".join([entry] * P), keep=keep)


def _thinned(level: int) -> Iterator[Case]:
    for P, keep in itertools.product((1, 2, 3, 4, 5, 8), (0.5, 0.25, 0.875)):
        yield _alike(P, "ring", keep)
        if P & (P - 1) == 0:
            yield _alike(P, "butterfly", keep)
    for topology in ("ring", "butterfly"):
        for entries in ("1 2", "3 -1", "1 2 3 4", "5 -1 0 2"):
            yield _hop_case(len(entries.split()), topology, entries, keep=0.25)
    if level:
        yield _hop_case(3, "ring", "1 -2 7")


def _in_mxfp4(level: int) -> Iterator[Case]:
    for a in (1, 3, 5, 7, 9, 11, 13, *((15, 19, 21) if level else ())):
        yield _hop_case(1, "ring", str(a), "e2m1", cells=16)
        for topology in ("ring", "butterfly"):
            yield _hop_case(2, topology, f"{a} {a}", "e2m1", cells=16)
    for a in (5, 7):
        yield _hop_case(3, "ring", f"{a} {a} {a}", "e2m1", cells=16)


def _hop_bytes(implementation: Any, case: Case) -> Outcome:
    settings = case.settings
    quantiser = Microscaling(settings["element"], settings["block"])
    _, traffic = implementation(np.ones((settings["P"], settings["n"])), quantiser, settings["topology"])
    width = ELEMENTS[settings["element"]].width
    values = {"P": settings["P"], "n": settings["n"], "block": settings["block"], "elementbits": width}
    return Outcome(int(traffic.sent.max()), values, active=settings["P"] > 1)


def _sized(P: int, n: int, element: str, block: int, topology: str) -> Case:
    return Case({"P": P, "n": n, "element": element, "block": block, "topology": topology, "message": "nearest",
                 "elementbits": ELEMENTS[element].width})  # fmt: skip


def _hop_sizes(level: int) -> Iterator[Case]:
    for P, topology in ((1, "ring"), (2, "ring"), (3, "ring"), (2, "butterfly"), (4, "butterfly"), (8, "butterfly")):
        for element, block in (("e2m1", 8), ("e3m2", 4), ("e4m3", 1), ("e2m1", 32)):
            for n in (8 * P, 32 * P, *((96 * P,) if level else ())):
                yield _sized(P, n, element, block, topology)


def _known_sizes(_implementation: Any, case: Case) -> dict[str, Any]:
    return {key: case.settings[key] for key in ("P", "n", "block")} | {
        "elementbits": ELEMENTS[case.settings["element"]].width
    }


def _known_entries(implementation: Any, case: Case) -> dict[str, Any]:
    entries = np.array([[float(v)] for v in case.settings["entries"].split()])
    return {**_known_sizes(implementation, case), "x": entries}


def _hop_error(implementation: Any, case: Case) -> Outcome:
    x = case.array
    worst = error_of_sums(x, implementation(x, Microscaling("e2m1", 1), "butterfly")[0][0])
    return Outcome(worst, {"P": len(x), "halvings": len(x).bit_length() - 1})


def _stacked(x: Any) -> Case:
    stack = np.asarray(x, np.float64)
    settings = {"P": len(stack), "n": stack.shape[1], "block": 1, "element": "e2m1", "topology": "butterfly",
                "message": "nearest"}  # fmt: skip
    return Case(settings, stack)


def _nearest_grid(level: int) -> Iterator[Case]:
    few = (0.0, 0.9, 1.3, 3.9, 5.1) if level else (0.0, 0.9, 1.3, 5.1)
    few = tuple(sorted({*few, *(-v for v in few[1:])}))
    for P, entries in ((1, (*few, 7.5, 7.75, -7.9375)), (2, few), (2, (7.9375, 0.9, -3.96875))):
        yield _stacked(np.array(list(itertools.product(entries, repeat=P))).T)
    yield _stacked(np.array(list(itertools.product(few[::2], repeat=4))).T)


def _nearest_stacks(_budget: Budget) -> Iterator[Case]:
    for P in (4, 8, 16):
        yield _stacked([[4.0], *[[0.9]] * (P - 1)])
        yield _stacked(np.random.default_rng(P).standard_normal((P, 40)))


def _study(name: str, subject: str, trial: Any, enumerated: str, known: Any = None, **sources: Any) -> Study:
    options = {} if known is None else {"known": known}
    return Study(name, subject, trial, enumerated=enumerated, **options, **sources)


def _of_table(name: str, trial: Any, enumerated: str, **sources: Any) -> Study:
    return _study(_T + name, _TABLE, trial, enumerated, _known_table, **sources)


def _of_hops(name: str, trial: Any, enumerated: str, known: Any = _known_sizes, **sources: Any) -> Study:
    return _study(_H + name, _HOPS, trial, enumerated, known, **sources)


_DRAWS = "one to three ranks, levels in halves and thirds, both stages' draws; exact"
_TUPLES = "six tables, the authors' among them, every tuple of indices of two ranks, some of three; exact"
TABLE = (
    _of_table("sums", _table_defect, "six tables, up to eight ranks; exact", grid=_tables_and_ranks),
    _of_table("index_sums", _ambiguity, _TUPLES, grid=_tables_and_ranks,
              extremal=these(_tabled("the authors', 1/128", P=2, n=24))),
    _of_table("index_sums_of_even", _ambiguity, _TUPLES, grid=_tables_and_ranks),
    _of_table("unbiased", _table_bias, _DRAWS, grid=_stages),
    _of_table("unbiased_beyond", _table_bias, _DRAWS, grid=_stages, extremal=these(_tabled("two", levels="3/2"))),
    _of_table("variance", _table_variance, _DRAWS, grid=_stages,
              curves=[over("tablenoise", "one rank", [_tabled("short", levels=f"{k}/8") for k in range(8, 17)])]),
    _of_table("two_stages", _table_variance, _DRAWS, grid=_stages,
              extremal=these(_tabled("the authors', 1/128", levels="10", fine=1000))),
    _of_table("two_stages_nested", _table_variance, _DRAWS, grid=_stages),
    _of_table("at_a_number", _table_variance, _DRAWS, grid=_stages),
    _of_table("sum_bits", _table_sum_bits, "six tables, up to nine ranks", grid=_widths,
              curves=[over("P", "the authors' table", [_tabled("the authors', 1/128", P=P)
                                                       for P in (1, 2, 4, 8, 9, 16)])]),
    _of_table("bytes", _table_bytes, "six tables, up to five ranks", grid=_table_sizes),
    _of_table("beyond", _at_the_ends, "vectors of four, four ranges, given signs or all; exact", grid=_ranges,
              extremal=these(_tabled("two", x="1 1 1 1", top=2.0, every=False, by_quantile=False))),
    _of_table("beyond_as_gaussian", _at_the_ends, "vectors of four, all signs; exact", grid=_ranges,
              extremal=these(_tabled("two", x="1 1 1 1", top=_QUANTILE, every=True, by_quantile=True))),
)  # fmt: skip

_OUTCOMES = "up to eight ranks, three shares that are kept, every outcome of every rounding; exact"
_FOUR_BITS = "up to three ranks of one whole number each, every rounding in sixteenths; exact"
MULTIHOP = (
    _of_hops("unbiased", _hop_bias, _OUTCOMES, grid=_thinned),
    _of_hops("ring_law", _hop_variance, _OUTCOMES, grid=_thinned,
             curves=[over("P", "half is kept", [_alike(P, "ring") for P in range(1, 9)])]),
    _of_hops("butterfly_law", _hop_variance, _OUTCOMES, grid=_thinned,
             curves=[over("halvings", "half is kept", [_alike(P, "butterfly") for P in (1, 2, 4, 8)])]),
    _of_hops("butterfly_bounded", _hop_share, _OUTCOMES, grid=_thinned),
    _of_hops("ring_bounded", _hop_share, _OUTCOMES, grid=_thinned, extremal=these(_alike(8, "ring"))),
    _of_hops("mxfp4_ring", _hop_largest, _FOUR_BITS, _known_entries, grid=_in_mxfp4),
    _of_hops("bytes", _hop_bytes, "up to eight ranks, four formats", grid=_hop_sizes,
             curves=[over("P", "MXFP4, n = 1536", [_sized(P, 1536, "e2m1", 32, "butterfly") for P in (2, 4, 8, 16)])]),
    *(_of_hops(name, _hop_error, "up to four ranks of one entry each; exact", grid=_nearest_grid,
               corpus=_nearest_stacks,
               curves=[over("halvings", "entries next to 8", [_stacked([[7.9375]] * P) for P in (1, 2, 4, 8)])])
      for name in ("nearest_error", "nearest_error_grown")),
)  # fmt: skip
