"""Claims about sums in block formats, bound to the collectives."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.blockformats import rounding_stages
from commbounds.compressors.blockformats import ELEMENTS, NVFP4, Microscaling, StochasticMicroscaling
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.blockformats.cases import error_of_sums
from commbounds.verify.study import Case, Outcome, Study, over, these

_R, _H, _C = "blockformats.requantised.", "blockformats.homomorphic.", "blockformats.correlated."
_SUM, _CODES = "requantised_allreduce", "homomorphic_allreduce"
_CELLS = 8
"""Shares of small whole numbers are eighths."""


def _case(x: Any, **settings: Any) -> Case:
    stack = np.asarray(x, np.float64)
    return Case({"P": stack.shape[0], "n": stack.shape[1], **settings}, stack)


# --- bytes -------------------------------------------------------------------------------------------------------


def _quantiser(case: Case) -> Microscaling | NVFP4:
    settings = case.settings
    return Microscaling(settings["element"], settings["block"], settings["scale"])


def _byte_values(case: Case) -> dict[str, Any]:
    settings = case.settings
    return {"P": settings["P"], "n": settings["n"], "block": settings["block"],
            "elementbits": ELEMENTS[settings["element"]].width}  # fmt: skip


def _busiest(implementation: Any, case: Case) -> int:
    return int(implementation(case.array, _quantiser(case), case.settings["schedule"])[1].sent.max())


def _bytes(implementation: Any, case: Case) -> Outcome:
    return Outcome(case.once(_busiest, implementation), _byte_values(case), active=case.settings["P"] > 1)


def _price(implementation: Any, case: Case) -> Outcome:
    P, n = case.settings["P"], case.settings["n"]
    return Outcome(Fraction(8 * case.once(_busiest, implementation) * P, 2 * (P - 1) * n), _byte_values(case))


def _sized(P: int, n: int, element: str, block: int, schedule: str) -> Case:
    return _case(np.ones((P, n)), element=element, block=block, scale="floor", schedule=schedule)


def _sizes(level: int) -> Iterator[Case]:
    schedules = itertools.cycle(("ring", "direct"))
    for P, element, block in itertools.product((1, 2, 3, 4, 5), ("e2m1", "e3m2", "e4m3"), (8, 32, 1)):
        for n in (P, 3 * P, 8 * P, 32 * P, *((96 * P, 7) if level else ())):
            yield _sized(P, n, element, block, next(schedules))


# --- errors ------------------------------------------------------------------------------------------------------


def _known(_implementation: Any, case: Case) -> dict[str, Any]:
    return {"P": case.settings["P"], "block": case.settings["block"]}


def _total_error(implementation: Any, case: Case) -> Outcome:
    sums = implementation(case.array, _quantiser(case), case.settings["schedule"])[0][0]
    return Outcome(error_of_sums(case.array, sums), {"P": len(case.array), "block": case.settings["block"]})


def _e2m1(x: Any, schedule: str, **settings: Any) -> Case:
    return _case(x, element="e2m1", block=1, scale="floor", schedule=schedule, **settings)


def _small_stacks(level: int) -> Iterator[Case]:
    """Every stack of up to three ranks of one entry each, as columns of one stack."""
    few = (0.0, 0.9, 1.0, 1.3, 2.5, 3.9, 5.1, 7.9) if level else (0.0, 0.9, 1.3, 3.9, 5.1)
    few = tuple(sorted({*few, *(-v for v in few[1:])}))
    for P, schedule in itertools.product((1, 2, 3), ("ring", "direct")):
        columns = np.array(list(itertools.product(few, repeat=P))).T
        yield _e2m1(columns, schedule)


def _stagnating(P: int, schedule: str = "ring") -> Case:
    return _e2m1([[4.0], *[[0.9]] * (P - 1)], schedule)


def _stacks(budget: Budget) -> Iterator[Case]:
    for P, seed, schedule in itertools.product((2, 3, 5, 9), range(2 + budget.level), ("ring", "direct")):
        yield _e2m1(np.random.default_rng([P, seed]).standard_normal((P, 40)), schedule, seed=seed)
    for P, schedule in itertools.product((4, 8, 16), ("ring", "direct")):
        yield _stagnating(P, schedule)


def _halves(count: int) -> Case:
    """Terms just above 5, 5/4, ...: a sum of sixes of which 5/6 of a power of two is left, a little more."""
    parts: list[Fraction] = []
    left, power = Fraction(5, 6), Fraction(1, 2)
    while len(parts) < count:
        if power <= left:
            parts.append(power)
            left -= power
        power /= 2
    parts[-1] *= 2  # above 5/6
    return _e2m1([[5.0 * (1 + 2.0**-40) * float(p)] for p in parts], "direct")


# --- means -------------------------------------------------------------------------------------------------------


def _mean_sum(implementation: Any, case: Case) -> Outcome:
    """Expected sums of one entry a rank: all uniforms in eighths are columns, each with a scale of its own."""
    P, schedule, scale = (case.settings[key] for key in ("P", "schedule", "scale"))
    entries = [Fraction(v) for v in case.array[:, 0].tolist()]
    draws, size = P if schedule == "ring" else P + 1, case.settings.get("cells", _CELLS)
    # every rank's part of the columns holds all of them
    cells = (np.tile(np.array(list(itertools.product(range(size), repeat=draws))).T, P) + 0.5) / size
    n = cells.shape[1]
    uniforms = np.zeros((rounding_stages(schedule, P), P, n))
    for stage in range(uniforms.shape[0]):
        # round the ring one rank rounds a column at a time; directly all do, and then the owner
        uniforms[stage] = cells[stage] if schedule == "ring" else cells[:P] if stage == 0 else cells[P]
    stack = np.repeat(case.array, n, axis=1)
    sums = implementation(stack, StochasticMicroscaling("e2m1", 1, scale), schedule, uniforms=uniforms)[0][0]
    mean = sum(map(Fraction, sums.tolist()), Fraction(0)) / n
    size = sum(map(abs, entries))
    return Outcome(abs(mean - sum(entries)) / size if size else abs(mean), {"P": P, "block": 1})


def _means(level: int) -> Iterator[Case]:
    for P, schedule, scale in itertools.product((1, 2), ("ring", "direct"), ("rceil", "floor", "ceil", "even")):
        for x in itertools.product((0, 5, -5, 7, 9, 12), repeat=P):
            yield _case([[v] for v in x], element="e2m1", block=1, scale=scale, schedule=schedule)
    for scale in ("rceil", "floor"):
        for x in ((5, 7, 9), (7, -5, 9), (5, -7, 3), (7, 7, 7))[: 4 if level else 3]:
            for schedule in ("ring", "direct"):
                yield _case([[v] for v in x], element="e2m1", block=1, scale=scale, schedule=schedule)
    # shares are quarters
    yield _case([[5], [4], [6], [-5], [3]], element="e2m1", block=1, scale="rceil", schedule="direct", cells=4)


# --- codes that share a scale --------------------------------------------------------------------------------------


def _code_values(case: Case) -> dict[str, Any]:
    settings = case.settings
    width = settings["width"]
    return {"P": settings["P"], "n": settings["n"], "block": settings["block"],
            "codebits": width, "codetop": 2 ** (width - 1) - 1}  # fmt: skip


def _summed(implementation: Any, case: Case) -> tuple[Array, Any]:
    settings = case.settings
    rng = np.random.default_rng(settings.get("seed", 0))
    found, traffic = implementation(case.array, settings["width"], settings["block"], settings["rounding"], rng)
    return found[0], traffic


def _exponent(case: Case) -> Array:
    """The shared exponent of every entry, by its definition."""
    x, block, top = case.array, case.settings["block"], 2 ** (case.settings["width"] - 1) - 1
    found = []
    for start in range(0, x.shape[1], block):
        part = np.abs(x[:, start : start + block])
        largest, e = Fraction(float(part.max())), -40
        while largest > top * Fraction(2) ** e:
            e += 1
        found += [e] * part.shape[1]
    return np.array(found)


def _homomorphic(implementation: Any, case: Case) -> Outcome:
    """Against the ranks' own codes, from the definition of the shared exponent."""
    settings, x = case.settings, case.array
    width, block = settings["width"], settings["block"]
    codes = np.rint(np.ldexp(x, -_exponent(case)))
    meant = np.ldexp(codes.sum(axis=0), _exponent(case))
    found = implementation(x, width, block, "nearest")[0]
    return Outcome(int((found != meant).any(axis=0).sum()), _code_values(case))


def _code_error(implementation: Any, case: Case) -> Outcome:
    x, found = case.array, case.once(_summed, implementation)[0]
    worst = Fraction(0)
    for column, y, e in zip(x.T.tolist(), found.tolist(), _exponent(case).tolist(), strict=True):
        worst = max(worst, abs(Fraction(y) - sum(map(Fraction, column))) / Fraction(2) ** e)
    return Outcome(worst, _code_values(case))


def _sum_bits(implementation: Any, case: Case) -> Outcome:
    """The least width with which all sums of the largest codes, of either sign, are right."""
    settings = case.settings
    P, width = settings["P"], settings["width"]
    top = 2 ** (width - 1) - 1
    # column k: the first k ranks at the top, the others at the bottom; and the sums between, one unit less
    columns = np.array([[top if p < k else -top for k in range(P + 1)] for p in range(P)], np.float64)
    for bits in range(2, 40):
        found = implementation(columns, width, P + 1, "nearest", sum_width=bits)[0][0]
        if (found == columns.sum(axis=0)).all():
            return Outcome(bits, _code_values(case))
    raise ValueError("no width is enough")


def _code_bytes(implementation: Any, case: Case) -> Outcome:
    sent = int(case.once(_summed, implementation)[1].sent.max())
    return Outcome(sent, _code_values(case), active=case.settings["P"] > 1)


def _coded(x: Any, width: int = 4, block: int = 4, rounding: str = "nearest", **more: Any) -> Case:
    return _case(x, width=width, block=block, rounding=rounding, **more)


def _code_grid(level: int) -> Iterator[Case]:
    few = (0.0, 0.5, 1.5, 3.0, 7.0, -2.5) if level else (0.5, 1.5, 7.0, -2.5)
    for P in (1, 2, 3):
        columns = np.array(list(itertools.product(few, repeat=P))).T
        for width, block in ((4, 4), (2, 3), (8, 5)):
            yield _coded(columns, width, block)


def _code_stacks(budget: Budget) -> Iterator[Case]:
    for P, seed in itertools.product((2, 3, 5, 8), range(2 + budget.level)):
        x = np.random.default_rng([P, seed]).standard_normal((P, 8 * P))
        for width, block in ((4, 8), (8, 32), (3, 5)):
            yield _coded(x, width, block, seed=seed)


def _half_codes(_budget: Budget) -> Iterator[Case]:
    for P in (1, 2, 5, 16):
        yield _coded([[7.0, 0.5, 2.5]] * P, 4, 3)


def _widths(level: int) -> Iterator[Case]:
    for P, width in itertools.product((1, 2, 3, 4, 5, 7, 8, 9, 16, 17, *((31, 33) if level else ())), (2, 3, 4, 8)):
        yield _coded(np.ones((P, 1)), width, 1)


def _code_sizes(level: int) -> Iterator[Case]:
    for P, width, block in itertools.product((1, 2, 3, 4, 5), (2, 4, 8), (1, 32)):
        for n in (P, 8 * P, *((33 * P, 7) if level else (32 * P,))):
            yield _coded(np.ones((P, n)), width, block)


# --- correlated rounding -------------------------------------------------------------------------------------------


def _moments(implementation: Any, case: Case) -> tuple[Fraction, Fraction]:
    """Bias and variance of the sum of the codes, in units of the scale: all orders and all cells are columns.

    Fractions are multiples of 1/(P parts): a cell's uniform goes up or not as a whole.
    """
    settings = case.settings
    P, parts, rounding = settings["P"], settings["parts"], settings["rounding"]
    numerators = [int(v) for v in settings["numerators"].split()]
    orders = list(itertools.permutations(range(P))) if rounding == "correlated" else [tuple(range(P))]
    cells = parts if rounding == "correlated" else parts * P
    rows = [(order, cell) for order in orders for cell in itertools.product(range(cells), repeat=P)]
    # a first column holds the scale at one: 7 is the largest code of four bits
    x = np.array([[7.0, *[numerator / (P * parts)] * len(rows)] for numerator in numerators])
    uniforms = np.array([[0.5, *[(cell[p] + 0.5) / cells for _, cell in rows]] for p in range(P)])
    given = {"uniforms": uniforms}
    if rounding == "correlated":
        given["orders"] = np.array([[p, *[order[p] for order, _ in rows]] for p in range(P)])
    sums = implementation(x, 4, len(rows) + 1, rounding, **given)[0][0][1:]
    found = [Fraction(v) for v in sums.tolist()]
    mean = sum(found, Fraction(0)) / len(found)
    variance = sum(((v - mean) ** 2 for v in found), Fraction(0)) / len(found)
    return abs(mean - sum(Fraction(v, P * parts) for v in numerators)), variance


def _fraction_values(case: Case) -> dict[str, Any]:
    settings = case.settings
    P, parts = settings["P"], settings["parts"]
    shares = [Fraction(int(v), P * parts) % 1 for v in settings["numerators"].split()]
    named = {"ownfraction": shares[0], "otherfraction": shares[-1], "fraction": shares[0]}
    return {"P": P, "fractionnoise": sum(f * (1 - f) for f in shares), **named}


def _code_bias(implementation: Any, case: Case) -> Outcome:
    return Outcome(case.once(_moments, implementation)[0], _fraction_values(case))


def _code_variance(implementation: Any, case: Case) -> Outcome:
    return Outcome(case.once(_moments, implementation)[1], _fraction_values(case))


def _shares(P: int, parts: int, numerators: Sequence[int], rounding: str) -> Case:
    alike = len(set(numerators)) == 1
    text = " ".join(map(str, numerators))
    return Case({"P": P, "parts": parts, "numerators": text, "rounding": rounding, "alike": alike})


def _fractions(level: int) -> Iterator[Case]:
    for rounding in ("correlated", "independent"):
        for a, b in itertools.product(range(0, 9), repeat=2):
            yield _shares(2, 4, (a, b), rounding)
        for a in range(4):
            yield _shares(1, 4, (a,), rounding)
        some = (0, 1, 3, 5, 6, 8) if level else (0, 2, 3, 5)
        for triple in itertools.product(some, repeat=3):
            yield _shares(3, 3, triple, rounding)
        for a in range(0, 10):
            yield _shares(3, 3, (a, a, a), rounding)
    for a in range(0, 8):
        yield _shares(4, 2, (a,) * 4, "correlated")
    for numerators in ((1,) * 5, (3,) * 5, (1, 2, 3, 4, 0), (4, 4, 2, 2, 1)):
        yield _shares(5, 1, numerators, "correlated")
    yield _shares(5, 1, (1, 2, 3, 4, 0), "independent")


# --- studies -----------------------------------------------------------------------------------------------------


def _known_codes(_implementation: Any, case: Case) -> dict[str, Any]:
    return {"P": case.settings["P"], "n": case.settings.get("n", 1)}


def _study(name: str, subject: str, trial: Callable[[Any, Case], Outcome], enumerated: str, **sources: Any) -> Study:
    known = _known if subject == _SUM else _known_codes
    return Study(name, subject, trial, enumerated=enumerated, known=known, **sources)


_UP_TO = "up to five ranks and 32 entries a rank, three formats and lengths of a block, either schedule"
_EVERY = "up to three ranks, with one entry of nine values each, either schedule; exact"
_ALL_MEANS = "one or two ranks of six values, some of three and five; every rounding of each; exact"
_PRICED = partial(_sized, element="e2m1", block=32, schedule="ring")
_RANKS = (2, 3, 4, 6, 8, 12, 16)

REQUANTISED = (
    _study(_R + "bytes", _SUM, _bytes, _UP_TO, grid=_sizes,
           curves=[over("P", "MXFP4, n = 1536", [_PRICED(P, 1536) for P in _RANKS])]),
    _study(_R + "bits_an_entry", _SUM, _price, _UP_TO, grid=_sizes, extremal=these(_sized(4, 32, "e2m1", 32, "ring")),
           curves=[over("n", "MXFP4, P = 4", [_PRICED(4, n) for n in (4, 8, 16, 32, 64, 128, 256)])]),
    _study(_R + "bits_an_entry_of_whole_blocks", _SUM, _price, _UP_TO, grid=_sizes,
           curves=[over("n", "MXFP4, P = 4", [_PRICED(4, n) for n in (128, 256, 512)])]),
    _study(_R + "direct_error", _SUM, _total_error, _EVERY, grid=_small_stacks, corpus=_stacks,
           extremal=these(_halves(9)),
           curves=[over("P", "4, and 9/10 on all other ranks", [_stagnating(P, "direct") for P in _RANKS])]),
    _study(_R + "ring_error", _SUM, _total_error, _EVERY, grid=_small_stacks, corpus=_stacks,
           extremal=these(_stagnating(8)),
           curves=[over("P", "4, and 9/10 on all other ranks", [_stagnating(P) for P in _RANKS])]),
    _study(_R + "unbiased", _SUM, _mean_sum, _ALL_MEANS, grid=_means),
    _study(_R + "unbiased_by_specification", _SUM, _mean_sum, _ALL_MEANS, grid=_means,
           extremal=these(_case([[7.0], [7.0]], element="e2m1", block=1, scale="floor", schedule="ring"))),
)  # fmt: skip

_ALL_CODES = "up to three ranks, with one entry of four values each, three widths; exact"
HOMOMORPHIC = (
    _study(_H + "sums", _CODES, _homomorphic, _ALL_CODES, grid=_code_grid, corpus=_code_stacks),
    _study(_H + "error", _CODES, _code_error, _ALL_CODES, grid=_code_grid, corpus=_code_stacks, extremal=_half_codes,
           curves=[over("P", "all half-way", [_coded([[7.0, 0.5]] * P, 4, 2) for P in _RANKS])]),
    _study(_H + "sum_bits", _CODES, _sum_bits, "up to 17 ranks, codes of 2, 3, 4 and 8 bits", grid=_widths,
           curves=[over("P", "four bits", [_coded(np.ones((P, 1)), 4, 1) for P in _RANKS])]),
    _study(_H + "sum_bits_added", _CODES, _sum_bits, "up to 17 ranks, codes of 2, 3, 4 and 8 bits", grid=_widths,
           extremal=these(_coded(np.ones((5, 1)), 2, 1))),
    _study(_H + "bytes", _CODES, _code_bytes, "up to five ranks, three widths, two lengths of a block",
           grid=_code_sizes,
           curves=[over("P", "n = 1536", [_coded(np.ones((P, 1536)), 4, 32) for P in _RANKS])]),
)  # fmt: skip

_ALL_ORDERS = "up to five ranks, fractions in ninths, eighths or fifths, all orders and uniforms; exact"
CORRELATED = (
    _study(_C + "unbiased", _CODES, _code_bias, _ALL_ORDERS, grid=_fractions),
    _study(_C + "independent", _CODES, _code_variance, _ALL_ORDERS, grid=_fractions),
    _study(_C + "equal", _CODES, _code_variance, _ALL_ORDERS, grid=_fractions,
           curves=[over("fraction", "three ranks", [_shares(3, 3, (a,) * 3, "correlated") for a in range(9)])]),
    _study(_C + "pair", _CODES, _code_variance, _ALL_ORDERS, grid=_fractions,
           curves=[over("ownfraction", "the other at 3/8",
                        [_shares(2, 4, (a, 3), "correlated") for a in range(8)])]),
    _study(_C + "never_worse", _CODES, _code_variance, _ALL_ORDERS, grid=_fractions,
           extremal=these(_shares(2, 4, (3, 8), "correlated"), _shares(3, 3, (4, 0, 9), "correlated"))),
)  # fmt: skip
