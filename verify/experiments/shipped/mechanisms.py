"""Claims about what else one worker does: dynamic map, INCEPTIONN, spectral ATOMO, switching, signs with a memory."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.shipped import truncation_binades
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import Space, nothing, rationals
from commbounds.verify.study import Case, Outcome, Study, over, studies

# --- bitsandbytes' dynamic map ----------------------------------------------------------------------------------------


def _mapped(family: str, n: int, dtype: str, scale: float) -> Array:
    rng, first = np.random.default_rng([n, 7]), np.arange(n) == 0
    # one largest entry that is negative, all others on the lowest border of the top decade
    worst = np.where(first, -640.0, 73.0)
    makers: dict[str, Callable[[], Array]] = {
        "normal": lambda: rng.standard_normal(n),
        "heavy tails": lambda: rng.standard_normal(n) ** 5,
        "all scales": lambda: np.ldexp(rng.choice([-1.0, 1.0], n), -rng.integers(0, 30, n)),
        "worst": lambda: worst,
        "minus worst": lambda: -worst,
        "one negative": lambda: -1.0 * first[::-1],
        "one positive": lambda: 1.0 * first,
        "near the border to zero": lambda: np.where(first, 1.0, 4e-7),
    }
    return np.asarray((makers[family]() * scale).astype(dtype))


_FAMILIES = (
    "normal", "heavy tails", "all scales", "worst", "minus worst", "one negative", "one positive",
    "near the border to zero",
)  # fmt: skip


def _parts(implementation: Any, x: Array, block: int) -> tuple[Array, Array, float]:
    """Entries and outputs over the largest entry, in float64; and the dtype's precision."""
    y, top = np.asarray(implementation(x, block).values), float(np.abs(x).max())
    return x.astype(np.float64) / top, y.astype(np.float64) / top, float(np.finfo(x.dtype).eps)


Found = tuple[Array, Array, float]


def _entry_error(found: Found) -> Rounded:
    x, y, eps = found
    return Rounded(float(np.abs(y - x).max()), 4 * eps)


def _top_error(found: Found) -> Rounded:
    x, y, eps = found
    return Rounded(float(np.abs(y - x)[np.abs(x) == 1.0].min()), 4 * eps)


def _smallest_sent(found: Found) -> Rounded:
    _, y, eps = found
    return Rounded(float(np.abs(y[y != 0]).min()), 4 * eps)


def _tree_relative(found: Found) -> Rounded:
    x, y, eps = found
    error = float(((y - x) ** 2).sum() / (x @ x))
    # every output is rounded, and so is every term
    return Rounded(error, 4 * eps * math.sqrt(error) + 4 * x.size * 2.0**-53 * error + eps**2)


def _share_left(implementation: Any, x: Array, recompressions: int, block: int) -> Outcome:
    y = x
    for _ in range(recompressions):
        y = np.asarray(implementation(y, block).values)
    share, slack = float(np.abs(y).max()) / float(np.abs(x).max()), 4 * (recompressions + 1) * np.finfo(x.dtype).eps
    return Outcome(share, {}, float(slack), active=recompressions > 0)


def _tree_bits(implementation: Any, x: Array, blocksize: int) -> Outcome:
    return Outcome(int(implementation(x, blocksize).bits), {"itembits": 8 * x.itemsize})


_TREES = Space(
    _mapped,
    {
        "family": _FAMILIES,
        "n": (1, 2, 3, 5, 8, 33, 64, 2048),
        "dtype": ("float32", "float64"),
        "scale": (1.0, 1e-30, 1e30),
        "block": (2048, 1, 3, 512),
    },
    combined=(("family", "n", "dtype"),),
)
_AGAIN = Space(
    _mapped,
    {
        "family": _FAMILIES,
        "n": (1, 2, 5),
        "dtype": ("float64",),
        "scale": (1.0,),
        "block": (2048,),
        "recompressions": (0, 1, 2, 3, 7, 30, 200),
    },
    combined=(("family", "n", "recompressions"),),
)
_BYTES = Space(
    lambda n, dtype: np.arange(1.0, n + 1).astype(dtype),
    {"n": range(1, 16), "blocksize": (1, 2, 3, 4, 7), "dtype": ("float32", "float64")},
    combined=(("n", "blocksize", "dtype"),),
)


def _trees(space: Space, run: Any = None, exact: bool = False) -> Family:
    arrays = 1 if exact else 2
    return Family("shipped.dynamic_tree", "dynamic_tree", space, None, run, exact=exact, arrays=arrays, searched=False)


_TREE, _ROUNDED, _SIZED = _trees(_TREES, _parts), _trees(_AGAIN), _trees(_BYTES, exact=True)


def _of_tree(statement: str, measure: Any, family: str, words: str = "", *extremal: int) -> tuple[Study, ...]:
    curve = _TREE.over("n", (1, 2, 4, 16, 64, 256, 1024), words or family, family=family, dtype="float64")
    worst = _TREE.every(family=[family], n=extremal, dtype=["float64"]) if extremal else None
    return _TREE.studies(measure, statement, curves=[curve], extremal=worst)


_BY_ROUNDS = _ROUNDED.over("recompressions", (1, 10, 50, 200), "one negative entry", family="one negative")
TREE = (
    *_of_tree("entry_error", _entry_error, "one negative", "", 1, 3, 64),
    *_of_tree("largest", _top_error, "normal", "normal entries"),
    *_of_tree("largest_positive", _top_error, "one positive", "one positive entry"),
    *_of_tree("largest_negative", _top_error, "one negative", "one negative entry"),
    *_ROUNDED.studies(_share_left, "stays", "decay", curves=[_BY_ROUNDS]),
    *_of_tree("smallest", _smallest_sent, "near the border to zero", "", 2, 3, 64),
    *_of_tree("contraction", _tree_relative, "worst", "", 1, 3, 64, 2048),
    *_SIZED.studies(_tree_bits, "wire", curves=[_SIZED.over("n", range(1, 14), "blocks of three", blocksize=3)]),
)

# --- INCEPTIONN -------------------------------------------------------------------------------------------------------

_BINADES = (0, 1, 2, 3, 5, 6, 7, 8, 10, 14)
_PLACES = {"at": 1.0, "above": 1 + 2.0**-23, "below": 1 - 2.0**-24, "inside": 1.375}
"""Where entries are, over a power of two."""


def _edge(exponent: int, place: str, other: float, dtype: str) -> Array:
    """An entry there, and its opposite or another; or some at once."""
    if place == "some":
        return np.array([0.0, 9.0, -1.0, 0.3, 0.01], dtype)
    entry = _PLACES[place] * 2.0**exponent
    return np.array([entry, other or -entry], dtype)


def _fractions(x: Array) -> list[Fraction]:
    return [Fraction(float(v)) for v in x]


def _truncated(implementation: Any, x: Array, binades: int) -> tuple[list[Fraction], list[Fraction]]:
    return _fractions(x), _fractions(implementation(x, binades).values)


Pairs = tuple[list[Fraction], list[Fraction]]


def _gap(found: Pairs) -> Outcome:
    gap = max(abs(w - v) for v, w in zip(*found, strict=True))
    return Outcome(gap, {}, active=any(abs(v) < 1 or gap for v in found[0]))


def _large_gap(found: Pairs) -> Fraction:
    return max(abs(w - v) for v, w in zip(*found, strict=True))


def _bounded_gap(implementation: Any, x: Array, binades: int) -> Outcome:
    bound = Fraction(2, 10**binades) if binades else Fraction(1)
    found = _truncated(implementation, x, truncation_binades(float(bound)))
    return Outcome(_large_gap(found), {"errorbound": bound})


def _enlarged(found: Pairs) -> Fraction:
    return max(abs(w / v) for v, w in zip(*found, strict=True) if v)


def _tag_bits(implementation: Any, x: Array) -> Outcome:
    return Outcome(int(implementation(x, 10).bits), {"n": x.size})


_EDGES = Space(
    _edge,
    {"binades": _BINADES, "exponent": range(-25, 3), "place": tuple(_PLACES), "other": (0.0,), "dtype": ("float32",)},
    combined=(("binades", "exponent", "place"),),
)
_SOME = _EDGES.every(binades=_BINADES, place=["some"], dtype=["float32", "float64"])
_AT_EDGES = Family("shipped.inceptionn", "inceptionn", _EDGES.including(*_SOME), None, _truncated, searched=False)
_TAGS = Family(
    "shipped.inceptionn",
    "inceptionn",
    Space(
        lambda n, dtype: np.zeros(n, dtype),
        {"n": range(1, 34), "dtype": ("float32", "float64")},
        combined=(("n", "dtype"),),
    ),
    searched=False,
)
_BELOW = [_EDGES.at(binades=m, exponent=e, place="below") for m, e in ((3, -3), (10, -5))]
_KEPT = [_EDGES.at(binades=m, exponent=-m, other=1.0) for m in (3, 7, 8, 10, 14)]


def _of_inceptionn(
    statement: str, measure: Any, place: str, axis: str = "binades", extremal: Any = None
) -> tuple[Study, ...]:
    """Curves of entries at 2^-m, or below it, beside 1."""
    binades = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)[:: -1 if axis == "errorbound" else 1]
    rows = [_EDGES.at(binades=m, exponent=-m, place=place, other=1.0) for m in binades]
    curves = [over(axis, "at the edges", map(_AT_EDGES.case, rows))] if place else ()
    return _AT_EDGES.studies(measure, statement, curves=curves, extremal=extremal)


TRUNCATED = (
    *_of_inceptionn("bound", _bounded_gap, "below", "errorbound"),
    *_of_inceptionn("entry_error", _gap, "below", extremal=_AT_EDGES.of(_BELOW)),
    *_of_inceptionn("shrinks", _enlarged, "at"),
    *_of_inceptionn("enlarged", _enlarged, "at", extremal=_AT_EDGES.of(_KEPT)),
    *_of_inceptionn("large", _large_gap, ""),
    *_TAGS.studies(_tag_bits, "tags", "wire_zeros", curves=[_TAGS.over("n", range(1, 14), "zeros")]),
)

# --- spectral ATOMO ---------------------------------------------------------------------------------------------------

_SPECTRA = ((1,), (1, 1), (3, 1), (4, 2, 1), (1, 1, 1), (10, 1, 1, 1), (1, 1, 1, 1))
_TURN = np.array([[0.6, -0.8], [0.8, 0.6]])


def _matrix(spectrum: tuple[int, ...], shape: str, scale: float) -> Array:
    r = len(spectrum)
    matrix = np.zeros((r, r + 1) if shape == "wide" else (r, r))
    matrix[:, :r] = np.diag(np.array(spectrum, float)) * scale
    if shape == "turned" and r > 1:
        matrix[:2] = _TURN @ matrix[:2]
    return matrix


def _of_spectrum(spectrum: tuple[int, ...], budget: Fraction, scale: float) -> dict[str, Any]:
    """What the code's rule gives for the spectrum, which is known."""
    p = [min(Fraction(1), budget * v / sum(spectrum)) for v in spectrum]
    none = math.prod((1 - q for q in p), start=Fraction(1))
    return {
        "nonedrawn": float(none), "planned": float(sum(p)), "atombudget": float(budget),
        "topsingular": spectrum[0] * scale, "rank": len(spectrum),
    }  # fmt: skip


def _sampled(implementation: Any, x: Array, atombudget: float) -> tuple[Array, float]:
    """The mean matrix and the mean number of atoms, over all sets of atoms."""
    draws = [implementation(x, atombudget, np.random.default_rng(i)) for i in range(64)]
    p = np.asarray(draws[0].probabilities)
    again = all(np.asarray(draw.kept).any() for draw in draws)  # else some of the draws kept none
    mean, atoms, whole = np.zeros(x.shape), 0.0, 1.0 - float(np.prod(1.0 - p)) if again else 1.0
    for kept in product((False, True), repeat=p.size):
        mask = np.array(kept)
        chance = float(np.where(mask, p, 1.0 - p).prod()) / whole
        if mask.any() and chance > 0:
            mean += chance * np.asarray(implementation(x, atombudget, kept=mask).values)
            atoms += chance * int(mask.sum())
    return mean, atoms


def _matrix_bias(found: tuple[Array, float], x: Array) -> Rounded:
    slack = 1024.0 * 2.0**-52 * len(x)  # an SVD, sums over sixteen sets at most, and divisions by p >= 1/26
    return Rounded(float(np.linalg.norm(found[0] - x) / np.linalg.norm(x)), slack)


def _atoms(found: tuple[Array, float], x: Array) -> Rounded:
    return Rounded(found[1], 256.0 * 2.0**-52 * len(x))


_ATOMS = Family(
    "shipped.spectral_atoms",
    "spectral_atoms",
    Space(
        _matrix,
        {
            "spectrum": _SPECTRA,
            "budget": rationals("1/2", 1, "3/2", 2, 4),
            "shape": ("square", "wide", "turned"),
            "scale": (1.0, 1e-7, 1e5),
        },
        combined=(("spectrum", "budget", "shape"), ("spectrum", "budget", "scale")),
    ),
    _of_spectrum,
    _sampled,
    exact=False,
    arrays=2,
    searched=False,
)


def _of_spectral(measure: Any, axis: str, *statements: str, scale: float = 1.0) -> tuple[Study, ...]:
    budgets = rationals("1/4", "1/2", 1, "3/2", 2)[:: -1 if axis == "nonedrawn" else 1]
    curve = _ATOMS.over(axis, budgets, "singular values 3, 1, 1", by="budget", spectrum=(3, 1, 1), scale=scale)
    return _ATOMS.studies(measure, *statements, curves=[curve])


SPECTRAL = (
    *_of_spectral(_matrix_bias, "nonedrawn", "unbiased", "bias"),
    *_of_spectral(_atoms, "nonedrawn", "kept"),
    *_of_spectral(_atoms, "atombudget", "budget", "met"),
    *_of_spectral(_atoms, "atombudget", "tiny", scale=1e-7),
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
        {"first": _CHANCES, "second": _CHANCES, "keeps": tuple(map(_parts_of, ("1 1/3", "1", "1/2", "1/4 1/3 1/2")))},
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
    space = Space(nothing, {**axes, "feedback": (feedback,), "tie": (1, 0, -1)}, combined=((*axes, "tie"),))
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
