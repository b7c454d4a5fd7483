"""Claims about what else one worker does: dynamic map, INCEPTIONN, spectral ATOMO, switching, signs with a memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.compressors.shipped import truncation_binades
from commbounds.verify.experiment import Budget
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import Space, nothing
from commbounds.verify.study import Case, Outcome, Study, over, studies

Array = NDArray[Any]

# --- bitsandbytes' dynamic map ----------------------------------------------------------------------------------------


def _worst(n: int, dtype: Any = np.float64) -> Array:
    """One largest entry that is negative, all others on the lowest border of the top decade."""
    x = np.full(n, 73.0, dtype)
    x[0] = -640.0
    return x


def _mapped_input(family: str, n: int, dtype: Any) -> Array:
    rng = np.random.default_rng([n, 7])
    makers: dict[str, Callable[[], Array]] = {
        "normal": lambda: rng.standard_normal(n),
        "heavy tails": lambda: rng.standard_normal(n) ** 5,
        "all scales": lambda: np.ldexp(rng.choice([-1.0, 1.0], n), -rng.integers(0, 30, n)),
        "worst": lambda: _worst(n),
        "minus worst": lambda: -_worst(n),
        "one negative": lambda: -1.0 * (np.arange(n) == n - 1),
        "one positive": lambda: 1.0 * (np.arange(n) == 0),
        "near the border to zero": lambda: np.where(np.arange(n) == 0, 1.0, 4e-7),
    }
    return makers[family]().astype(dtype)


_FAMILIES = (
    "normal",
    "heavy tails",
    "all scales",
    "worst",
    "minus worst",
    "one negative",
    "one positive",
    "near the border to zero",
)


def _tree_case(
    family: str, n: int, dtype: str = "float64", scale: float = 1.0, rounds: int = 1, block: int = 2048
) -> Case:
    x = _mapped_input(family, n, np.float64) * scale
    settings = {"family": family, "n": n, "dtype": dtype, "scale": scale, "recompressions": rounds, "block": block}
    return Case(settings, x.astype(dtype))


def _tree(budget: Budget) -> Iterator[Case]:
    for family, n, dtype in product(_FAMILIES, (*budget.sizes, 64, 2048), ("float32", "float64")):
        yield _tree_case(family, n, dtype)
    for family, scale in product(_FAMILIES, (1e-30, 1e30)):
        yield _tree_case(family, 7, "float32", scale)
    for family, (n, block) in product(_FAMILIES, ((5, 1), (6, 3), (7, 3), (2100, 512))):
        yield _tree_case(family, n, block=block)


def _rounded(budget: Budget) -> Iterator[Case]:
    for family, n, rounds in product(_FAMILIES, (1, 2, 5), (0, 1, 2, 3, 7, 30, 200)):
        yield _tree_case(family, n, "float64", rounds=rounds)


def _parts(implementation: Any, case: Case) -> tuple[Array, Array, float]:
    """Entries and outputs over the largest entry, in float64; and the dtype's precision."""
    x = case.array
    y = np.asarray(implementation(x, case.settings["block"]).values)
    top = float(np.abs(x).max())
    return x.astype(np.float64) / top, y.astype(np.float64) / top, float(np.finfo(x.dtype).eps)


def _entry_error(implementation: Any, case: Case) -> Outcome:
    x, y, eps = case.once(_parts, implementation)
    return Outcome(float(np.abs(y - x).max()), {"n": x.size}, 4 * eps)


def _top_error(implementation: Any, case: Case) -> Outcome:
    x, y, eps = case.once(_parts, implementation)
    return Outcome(float(np.abs(y - x)[np.abs(x) == 1.0].min()), {"n": x.size}, 4 * eps)


def _smallest_sent(implementation: Any, case: Case) -> Outcome:
    x, y, eps = case.once(_parts, implementation)
    return Outcome(float(np.abs(y[y != 0]).min()), {"n": x.size}, 4 * eps)


def _tree_relative(implementation: Any, case: Case) -> Outcome:
    x, y, eps = case.once(_parts, implementation)
    error = float(((y - x) ** 2).sum() / (x @ x))
    # every output is rounded, and so is every term
    return Outcome(error, {"n": x.size}, 4 * eps * math.sqrt(error) + 4 * x.size * 2.0**-53 * error + eps**2)


def _share_left(implementation: Any, case: Case) -> Outcome:
    x, rounds = case.array, case.settings["recompressions"]
    y = x
    for _ in range(rounds):
        y = np.asarray(implementation(y, case.settings["block"]).values)
    share = float(np.abs(y).max()) / float(np.abs(x).max())
    return Outcome(
        share, {"recompressions": rounds}, 4 * (rounds + 1) * float(np.finfo(x.dtype).eps), active=rounds > 0
    )


def _byte_cases(level: int) -> Iterator[Case]:
    for n, block, dtype in product(range(1, 8 + 8 * level), (1, 2, 3, 4, 7), ("float32", "float64")):
        yield Case({"n": n, "blocksize": block, "dtype": dtype}, np.arange(1.0, n + 1).astype(dtype))


def _tree_bits(implementation: Any, case: Case) -> Outcome:
    x, block = case.array, case.settings["blocksize"]
    return Outcome(int(implementation(x, block).bits), {"n": x.size, "blocksize": block, "itembits": 8 * x.itemsize})


def _of_tree(statement: str, trial: Any, worst: str = "", sizes: tuple[int, ...] = (1, 3, 64), **options: Any) -> Study:
    def extremal(_budget: Budget) -> Iterator[Case]:
        for n in sizes:
            yield _tree_case(worst, n)

    curve = over(
        "n", worst or "normal entries", [_tree_case(worst or "normal", n) for n in (1, 2, 4, 16, 64, 256, 1024)]
    )
    if statement == "largest_negative":
        curve = over("n", "one negative entry", [_tree_case("one negative", n) for n in (1, 2, 4, 16, 64)])
    elif statement == "largest_positive":
        curve = over("n", "one positive entry", [_tree_case("one positive", n) for n in (1, 2, 4, 16, 64)])
    return Study(
        f"shipped.dynamic_tree.{statement}",
        "dynamic_tree",
        trial,
        **{"corpus": _tree, "curves": [curve], "extremal": extremal if worst else None, **options},
    )


_ROUNDS: dict[str, Any] = {
    "corpus": _rounded,
    "curves": [
        over(
            "recompressions", "one negative entry", [_tree_case("one negative", 1, rounds=r) for r in (1, 10, 50, 200)]
        )
    ],
}
TREE = (
    _of_tree("entry_error", _entry_error, "one negative"),
    _of_tree("largest", _top_error),
    _of_tree("largest_positive", _top_error),
    _of_tree("largest_negative", _top_error),
    _of_tree("stays", _share_left, **_ROUNDS),
    _of_tree("decay", _share_left, **_ROUNDS),
    _of_tree("smallest", _smallest_sent, "near the border to zero", (2, 3, 64)),
    _of_tree("contraction", _tree_relative, "worst", (1, 3, 64, 2048)),
    _of_tree(
        "wire",
        _tree_bits,
        corpus=None,
        grid=_byte_cases,
        curves=[over("n", "blocks of three", [Case({"blocksize": 3}, np.ones(n)) for n in range(1, 14)])],
        enumerated="up to seven entries, five sizes of blocks, both dtypes",
    ),
)

# --- INCEPTIONN -------------------------------------------------------------------------------------------------------

_BINADES = (0, 1, 2, 3, 5, 6, 7, 8, 10, 14)


def _edge(exponent: int, place: str) -> float:
    power = 2.0**exponent
    return {"at": power, "above": power * (1 + 2.0**-23), "below": power * (1 - 2.0**-24), "inside": 1.375 * power}[
        place
    ]


def _edges(level: int) -> Iterator[Case]:
    """Entries alone: powers of two, their neighbours in float32, and one between."""
    for binades, exponent, place in product(_BINADES, range(-17 - 8 * level, 3), ("at", "below", "above", "inside")):
        settings = {"binades": binades, "exponent": exponent, "place": place}
        yield Case(settings, np.array([_edge(exponent, place), -_edge(exponent, place)], np.float32))
    for binades, dtype in product(_BINADES, ("float32", "float64")):
        yield Case({"binades": binades, "exponent": 9, "place": dtype}, np.array([0.0, 9.0, -1.0, 0.3, 0.01], dtype))


def _fractions(x: Array) -> list[Fraction]:
    return [Fraction(float(v)) for v in x]


def _truncated(implementation: Any, case: Case) -> tuple[list[Fraction], list[Fraction]]:
    return _fractions(case.array), _fractions(implementation(case.array, case.settings["binades"]).values)


def _gap(implementation: Any, case: Case) -> Outcome:
    x, y = case.once(_truncated, implementation)
    gap = max(abs(w - v) for v, w in zip(x, y, strict=True))
    return Outcome(gap, {"binades": case.settings["binades"]}, active=any(abs(v) < 1 or gap for v in x))


def _large_gap(implementation: Any, case: Case) -> Outcome:
    x, y = case.once(_truncated, implementation)
    return Outcome(max(abs(w - v) for v, w in zip(x, y, strict=True)), {})


def _bounded_gap(implementation: Any, case: Case) -> Outcome:
    bound = Fraction(2, 10 ** case.settings["binades"]) if case.settings["binades"] else Fraction(1)
    y = _fractions(implementation(case.array, truncation_binades(float(bound))).values)
    return Outcome(max(abs(w - v) for v, w in zip(_fractions(case.array), y, strict=True)), {"errorbound": bound})


def _enlarged(implementation: Any, case: Case) -> Outcome:
    x, y = case.once(_truncated, implementation)
    grown = max(abs(w / v) for v, w in zip(x, y, strict=True) if v)
    return Outcome(grown, {"binades": case.settings["binades"]})


def _tags(level: int) -> Iterator[Case]:
    for n, dtype in product(range(1, 18 + 16 * level), ("float32", "float64")):
        yield Case({"n": n, "dtype": dtype}, np.zeros(n, dtype))


def _tag_bits(implementation: Any, case: Case) -> Outcome:
    return Outcome(int(implementation(case.array, 10).bits), {"n": case.array.size})


def _just_below(_budget: Budget) -> Iterator[Case]:
    for binades, exponent in ((3, -3), (10, -5)):
        x = np.array([_edge(exponent, "below")], np.float32)
        yield Case({"binades": binades, "exponent": exponent, "place": "below"}, x)


def _least_kept(_budget: Budget) -> Iterator[Case]:
    for binades in (3, 7, 8, 10, 14):
        x = np.array([2.0**-binades, 1.0], np.float32)
        yield Case({"binades": binades, "exponent": -binades, "place": "at"}, x)


def _of_inceptionn(statement: str, trial: Any, cases: list[Case], axis: str = "binades", **options: Any) -> Study:
    return Study(
        f"shipped.inceptionn.{statement}",
        "inceptionn",
        trial,
        **{
            "grid": _edges,
            "enumerated": "powers of two down to 2^-17, their neighbours in float32, nine numbers of binades",
            "curves": [over(axis, "at the edges", cases)],
            **options,
        },
    )


def _single(value: Callable[[int], float]) -> list[Case]:
    return [
        Case({"binades": m, "exponent": 0, "place": "curve"}, np.array([value(m), 1.0], np.float32))
        for m in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
    ]


_ZERO_CASES = {"grid": _tags, "enumerated": "up to 17 zeros, both dtypes"}
_DROPPED = _single(lambda m: 2.0**-m * (1 - 2.0**-24))
TRUNCATED = (
    _of_inceptionn("bound", _bounded_gap, _DROPPED[::-1], "errorbound"),
    _of_inceptionn("entry_error", _gap, _DROPPED, extremal=_just_below),
    _of_inceptionn("shrinks", _enlarged, _single(lambda m: 2.0**-m)),
    _of_inceptionn("enlarged", _enlarged, _single(lambda m: 2.0**-m), extremal=_least_kept),
    _of_inceptionn("large", _large_gap, _single(lambda m: 1.5), "", curves=()),
    _of_inceptionn("tags", _tag_bits, [Case({"n": n}, np.zeros(n)) for n in range(1, 14)], "n", **_ZERO_CASES),
    _of_inceptionn("wire_zeros", _tag_bits, [Case({"n": n}, np.zeros(n)) for n in range(1, 14)], "n", **_ZERO_CASES),
)

# --- spectral ATOMO ---------------------------------------------------------------------------------------------------

_SPECTRA = ((1,), (1, 1), (3, 1), (4, 2, 1), (1, 1, 1), (10, 1, 1, 1), (1, 1, 1, 1))
_TURN = np.array([[0.6, -0.8], [0.8, 0.6]])


def _matrix_case(spectrum: tuple[int, ...], budget: str, shape: str, scale: float = 1.0) -> Case:
    r = len(spectrum)
    matrix = np.zeros((r, r + 1) if shape == "wide" else (r, r))
    matrix[:, :r] = np.diag(np.array(spectrum, float)) * scale
    if shape == "turned" and r > 1:
        matrix[:2] = _TURN @ matrix[:2]
    settings = {
        "spectrum": str(spectrum),
        "budget": budget,
        "shape": shape,
        "topsingular": spectrum[0] * scale,
        "rank": r,
    }
    return Case({**settings, "atombudget": float(Fraction(budget))}, matrix)


def _spectra(_budget: Budget) -> Iterator[Case]:
    for spectrum, budget, shape in product(_SPECTRA, ("1/2", "1", "3/2", "2", "4"), ("square", "wide", "turned")):
        yield _matrix_case(spectrum, budget, shape)
    for spectrum, budget in product(_SPECTRA, ("1", "2")):
        yield _matrix_case(spectrum, budget, "square", 1e-7)
        yield _matrix_case(spectrum, budget, "square", 1e5)


def _drawn_again(implementation: Any, case: Case) -> bool:
    """Whether some of 64 draws kept none."""
    return all(
        np.asarray(implementation(case.array, case.settings["atombudget"], np.random.default_rng(i)).kept).any()
        for i in range(64)
    )


def _sampled(implementation: Any, case: Case) -> tuple[Array, float]:
    """The mean matrix and the mean number of atoms, over all sets of atoms."""
    budget = case.settings["atombudget"]
    first = implementation(case.array, budget, np.random.default_rng(0))
    p = np.asarray(first.probabilities)
    mean, atoms, again = np.zeros(case.array.shape), 0.0, _drawn_again(implementation, case)
    whole = 1.0 - float(np.prod(1.0 - p)) if again else 1.0
    for kept in product((False, True), repeat=p.size):
        mask = np.array(kept)
        chance = float(np.where(mask, p, 1.0 - p).prod()) / whole
        if mask.any() and chance > 0:
            mean += chance * np.asarray(implementation(case.array, budget, kept=mask).values)
            atoms += chance * int(mask.sum())
    return mean, atoms


def _atom_values(case: Case) -> dict[str, Any]:
    """What the code's rule gives for the spectrum, which is known."""
    budget = Fraction(case.settings["budget"])
    spectrum = [int(v) for v in case.settings["spectrum"].strip("(),").split(",")]
    p = [min(Fraction(1), budget * v / sum(spectrum)) for v in spectrum]
    none = math.prod((1 - q for q in p), start=Fraction(1))
    return {"nonedrawn": float(none), "planned": float(sum(p)), "atombudget": float(budget)}


def _matrix_bias(implementation: Any, case: Case) -> Outcome:
    mean, _ = case.once(_sampled, implementation)
    x = case.array
    slack = 1024.0 * 2.0**-52 * len(x)  # an SVD, sums over sixteen sets at most, and divisions by p >= 1/26
    return Outcome(float(np.linalg.norm(mean - x) / np.linalg.norm(x)), case.once(_atom_values), slack)


def _atoms(implementation: Any, case: Case) -> Outcome:
    _, atoms = case.once(_sampled, implementation)
    return Outcome(atoms, case.once(_atom_values), 256.0 * 2.0**-52 * len(case.array))


def _of_spectral(statement: str, trial: Any, axis: str) -> Study:
    scale = 1e-7 if statement == "tiny" else 1.0
    budgets = ("2", "3/2", "1", "1/2", "1/4") if axis == "nonedrawn" else ("1/4", "1/2", "1", "3/2", "2")
    cases = [_matrix_case((3, 1, 1), b, "square", scale) for b in budgets]
    return Study(
        f"shipped.spectral_atoms.{statement}",
        "spectral_atoms",
        trial,
        corpus=_spectra,
        curves=[over(axis, "singular values 3, 1, 1", cases)],
    )


SPECTRAL = (
    _of_spectral("unbiased", _matrix_bias, "nonedrawn"),
    _of_spectral("bias", _matrix_bias, "nonedrawn"),
    _of_spectral("budget", _atoms, "atombudget"),
    _of_spectral("kept", _atoms, "nonedrawn"),
    _of_spectral("tiny", _atoms, "atombudget"),
    _of_spectral("met", _atoms, "atombudget"),
)

# --- switching --------------------------------------------------------------------------------------------------------

_CELLS = 64


def _parts_of(text: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, text.split()))


def _lazy_ones(first: Fraction, second: Fraction, keeps: tuple[Fraction, ...]) -> dict[str, Any]:
    """Of lazy compressors, whose error is 1/keep - 1 on every vector: how often each is used, and their mean."""
    chances = (first, second, Fraction(1, 4))[: len(keeps)]
    omegas = [1 / keep - 1 for keep in keeps]
    edges = [min(Fraction(1), sum(chances[:i], Fraction(0))) for i in range(len(chances) + 1)]
    used = sum(((b - a) * w for (a, b), w in zip(pairwise(edges), omegas, strict=True)), Fraction(0))
    stated = sum((p * w for p, w in zip(chances, omegas, strict=True)), Fraction(0)) / sum(chances)
    found = {"statedvariance": stated, "usedvariance": used, "unused": 1 - edges[-1], "total": float(sum(chances))}
    return {"chances": chances, "omegas": omegas, **found}


def _switch_error(implementation: Any, chances: tuple[Fraction, ...], omegas: list[Fraction]) -> Fraction:
    """Where nothing is chosen the error is one."""
    # all edges are multiples of 1/64 or beyond one: the middles of as many cells say all
    chosen = [implementation([float(p) for p in chances], (2 * i + 1) / (2 * _CELLS)) for i in range(_CELLS)]
    return Fraction(sum(1 if c < 0 else omegas[c] for c in chosen)) / _CELLS


_CHANCES = _parts_of("1/4 0 1/2 3/4 1 1/16 15/16")
SWITCH = Family(
    "shipped.switched",
    "switched",
    Space(
        nothing,
        {
            "first": _CHANCES,
            "second": _CHANCES,
            "keeps": tuple(map(_parts_of, ("1 1/3", "1", "1/2", "1/4 1/3 1/2"))),
        },
        combined=(("first", "second", "keeps"),),
    )
    .without("one compressor has one probability.", lambda keeps, second: len(keeps) == 1 and second != _CHANCES[0])
    .without("probabilities that are all zero.", lambda first, second, keeps: not first + second * (len(keeps) > 1)),
    _lazy_ones,
    searched=False,
)
_HALVES = [SWITCH.case(SWITCH.space.at(first=Fraction(i, 8), second=Fraction(8 - i, 8))) for i in range(8, -1, -1)]
_SHORT = [SWITCH.case(SWITCH.space.at(second=Fraction(i, 8), keeps=_parts_of("1/2 1/3"))) for i in range(1, 7)]


def _of_switch(statement: str, axis: str, cases: list[Case]) -> tuple[Study, ...]:
    return SWITCH.studies(_switch_error, statement, curves=[over(axis, "two lazy compressors", cases)])


SWITCHED = (
    *_of_switch("variance", "statedvariance", _SHORT),
    *_of_switch("variance_whole", "statedvariance", _HALVES),
    *_of_switch("used", "usedvariance", _SHORT),
)

# --- signs with a memory ----------------------------------------------------------------------------------------------

DTYPES = ("float64", "float32")


def _turned(before: int, after: int, dtype: str) -> Array:
    return np.repeat([1.0, -1.0], (before, after))[:, None].astype(dtype)


SIGNUM = Family(
    "shipped.signum_signs",
    "signum_signs",
    Space(
        _turned,
        {"turning": _parts_of("1/4 1/2 5/8 3/4 7/8 15/16"), "before": (1, 2, 5), "after": (16,), "dtype": DTYPES},
        combined=(("turning", "before", "dtype"),),
    ),
    searched=False,
)


def _late(implementation: Any, x: Array, turning: Fraction, before: int) -> int:
    return int((np.asarray(implementation(x, float(turning)))[before:, 0] > 0).sum())


_TURNS = SIGNUM.over("turning", [Fraction(i, 16) for i in range(2, 16)], "one step before the turn")


def _whole_gradients(T: int, n: int, dtype: str, seed: int) -> Array:
    rng = np.random.default_rng([seed, T, n])
    x: Array = (rng.integers(1, 5, (T, n)) * rng.choice([-1, 1], (T, n))).astype(dtype)
    return x


_SIGNED = Space(
    _whole_gradients,
    {"T": (1, 2, 3), "n": (1, 2, 4), "efrate": _parts_of("1 1/2 1/4"), "dtype": DTYPES},
    combined=(("T", "n", "efrate", "dtype"),),
)
# of four entries a step takes two bits more, so that sixteen are exact
SIGNED = Family(
    "shipped.ef_signs",
    "ef_signs",
    _SIGNED.including(*_SIGNED.every(T=(5, 16), n=(1, 2, 4), efrate=_SIGNED.axes["efrate"])),
    lambda x: {"firstlargest": int(np.abs(x[0]).max())},
    lambda implementation, x, efrate: implementation(x, float(efrate)),
    arrays=2,
    searched=False,
)


def _first_ratio(found: Any, x: Array, efrate: Fraction) -> Outcome:
    mean = sum(abs(v) for v in _fractions(x[0])) / x.shape[1]
    return Outcome(max(map(abs, _fractions(found.updates[0]))) / mean, {}, active=efrate != 1)


def _unapplied(found: Any, x: Array, efrate: Fraction) -> Outcome:
    gaps = []
    for i in range(x.shape[1]):
        applied, wanted = sum(_fractions(found.updates[:, i])), sum(_fractions(x[:, i]))
        gaps.append(abs(efrate * (applied - wanted) + Fraction(float(found.residuals[-1, i]))))
    return Outcome(max(gaps), {}, active=efrate != 1)


_BY_RATE = SIGNED.over("efrate", _parts_of("1/16 1/8 1/4 1/2 1"), "two steps, four entries", T=2, n=4)


def _path(
    implementation: Any, ridgeslope: Fraction, ridgestep: Fraction, ridgesteps: int, feedback: bool, tie: int
) -> list[list[Fraction]]:
    path = implementation(float(ridgeslope), float(ridgestep), ridgesteps, feedback, tie)
    return [_fractions(point) for point in path]


def _ridges(feedback: bool, slopes: str, lengths: str, *steps: int) -> Family:
    axes = {"ridgeslope": _parts_of(slopes), "ridgestep": _parts_of(lengths), "ridgesteps": steps}
    space = Space(
        nothing,
        {**axes, "feedback": (feedback,), "tie": (1, 0, -1)},
        combined=((*axes, "tie"),),
    )
    return Family("shipped.ridge_descent", "ridge_descent", space, None, _path, exact=not feedback, searched=False)


RIDGE = _ridges(False, "1/2 1/4 3/4", "1/8 1/2 1/32", 1, 2, 5, 64)
FED_RIDGE = _ridges(True, "1/2 1/16 15/16", "1/8 1 1/2 1/64", 1, 2, 5, 64, 1024)


def _across(found: list[list[Fraction]]) -> Outcome:
    return Outcome(max(abs(sum(point, Fraction(-2))) for point in found), {}, active=True)


def _height(found: list[list[Fraction]], ridgeslope: Fraction, ridgesteps: int, feedback: bool) -> Fraction | Rounded:
    least = min(ridgeslope * abs(x + y) + abs(x - y) for x, y in found)
    # coordinates stay below four, and each is rounded twice a step
    return Rounded(float(least), 64.0 * ridgesteps * 2.0**-52) if feedback else least


def _of_ridge(family: Family, measure: Any, statement: str, **fixed: Any) -> tuple[Study, ...]:
    given = {"ridgeslope": Fraction(1, 2), "ridgestep": Fraction(1, 32), **fixed}
    curve = family.over("ridgesteps", (1, 4, 16, 64, 256), "slope 1/2, step 1/32", **given)
    return family.studies(measure, statement, curves=[curve])


_BY_SLOPE = RIDGE.over("ridgeslope", [Fraction(i, 8) for i in range(1, 8)], "step 1/8", ridgesteps=16)
MEMORIES = (
    *SIGNUM.studies(_late, "follows", "late", curves=[_TURNS]),
    *SIGNED.studies(_first_ratio, "first_step", "first_large", curves=[_BY_RATE]),
    *SIGNED.studies(_unapplied, "conserved", "excess", curves=[_BY_RATE]),
    *_of_ridge(RIDGE, _across, "stuck"),
    *_of_ridge(RIDGE, _across, "stuck_any", tie=0),
    *_of_ridge(RIDGE, _height, "converges"),
    *RIDGE.studies(_height, "least", curves=[_BY_SLOPE]),
    *_of_ridge(FED_RIDGE, _height, "feedback"),
)

MECHANISMS = studies(*TREE, *TRUNCATED, *SPECTRAL, *SWITCHED, *MEMORIES)
"""The studies by the name of their claim."""
