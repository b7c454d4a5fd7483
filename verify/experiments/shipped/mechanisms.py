"""Claims about what else one worker does: dynamic map, INCEPTIONN, spectral ATOMO, switching, signs with a memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.compressors.shipped import truncation_binades
from commbounds.verify.experiment import Budget
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


def _switch_case(chances: tuple[str, ...], keeps: tuple[str, ...]) -> Case:
    total = float(sum(map(Fraction, chances)))
    return Case({"chances": " ".join(chances), "keeps": " ".join(keeps), "total": total})


def _switches(level: int) -> Iterator[Case]:
    chances = ("0", "1/4", "1/2", "3/4", "1", "1/16", "15/16")
    for keep in ("1", "1/2"):
        for p in chances[1:]:
            yield _switch_case((p,), (keep,))
    for p, q in product(chances, repeat=2):
        if Fraction(p) + Fraction(q):
            yield _switch_case((p, q), ("1", "1/3"))
            yield _switch_case((p, q, "1/4"), ("1/4", "1/3", "1/2"))


def _switch_error(implementation: Any, case: Case) -> Outcome:
    """Lazy compressors have the error 1/keep - 1 on every vector, and nothing has one."""
    chances = [Fraction(p) for p in case.settings["chances"].split()]
    omegas = [1 / Fraction(keep) - 1 for keep in case.settings["keeps"].split()]
    # all edges are multiples of 1/64 or beyond one: the middles of as many cells say all
    chosen = [implementation([float(p) for p in chances], (2 * i + 1) / (2 * _CELLS)) for i in range(_CELLS)]
    error = Fraction(sum(1 if c < 0 else omegas[c] for c in chosen)) / _CELLS
    edges = [min(Fraction(1), sum(chances[:i], Fraction(0))) for i in range(len(chances) + 1)]
    used = sum(((b - a) * w for a, b, w in zip(edges[:-1], edges[1:], omegas, strict=True)), Fraction(0))
    stated = sum((p * w for p, w in zip(chances, omegas, strict=True)), Fraction(0)) / sum(chances)
    return Outcome(error, {"statedvariance": stated, "usedvariance": used, "unused": 1 - edges[-1]})


def _of_switch(statement: str, axis: str) -> Study:
    halves = [_switch_case((f"{i}/8", f"{8 - i}/8"), ("1", "1/3")) for i in range(8, -1, -1)]
    short = [_switch_case(("1/4", f"{i}/8"), ("1/2", "1/3")) for i in range(1, 7)]
    return Study(
        f"shipped.switched.{statement}",
        "switched",
        _switch_error,
        grid=_switches,
        curves=[over(axis, "two lazy compressors", halves if statement == "variance_whole" else short)],
        enumerated="one to three lazy compressors, probabilities that add up to less, to one, and to more",
    )


SWITCHED = (
    _of_switch("variance", "statedvariance"),
    _of_switch("variance_whole", "statedvariance"),
    _of_switch("used", "usedvariance"),
)

# --- signs with a memory ----------------------------------------------------------------------------------------------


def _turned(momentum: str, before: int, after: int = 16, dtype: str = "float64") -> Case:
    gradients = np.concatenate([np.ones(before), -np.ones(after)])[:, None].astype(dtype)
    return Case({"momentum": momentum, "before": before, "after": after}, gradients)


def _turns(level: int) -> Iterator[Case]:
    for momentum, before in product(("1/4", "1/2", "5/8", "3/4", "7/8", "15/16"), (1, 2, 5)):
        yield _turned(momentum, before)


def _late(implementation: Any, case: Case) -> Outcome:
    momentum = Fraction(case.settings["momentum"])
    signs = np.asarray(implementation(case.array, float(momentum)))[case.settings["before"] :, 0]
    return Outcome(int((signs > 0).sum()), {"turning": momentum})


def _of_signum(statement: str) -> Study:
    return Study(
        f"shipped.signum_signs.{statement}",
        "signum_signs",
        _late,
        grid=_turns,
        curves=[over("turning", "one step before the turn", [_turned(f"{i}/16", 1) for i in range(2, 16)])],
        enumerated="six momenta, three lengths before the turn, sixteen steps after it",
    )


def _signed_case(T: int, n: int, rate: str, seed: int, dtype: str = "float64") -> Case:
    rng = np.random.default_rng([seed, T, n])
    gradients = rng.integers(1, 5, (T, n)) * rng.choice([-1, 1], (T, n))
    return Case({"rate": rate, "seed": seed, "dtype": dtype}, gradients.astype(dtype))


def _signed_cases(level: int) -> Iterator[Case]:
    for T, n, rate, seed, dtype in product((1, 2, 3), (1, 2, 4), ("1", "1/2", "1/4"), range(2), ("float32", "float64")):
        yield _signed_case(T, n, rate, seed, dtype)
    # of four entries a step takes two bits more, so that sixteen are exact
    for T, n, rate in product((5, 16), (1, 2, 4), ("1", "1/2", "1/4")):
        yield _signed_case(T, n, rate, 2)


def _signed_values(case: Case) -> dict[str, Any]:
    return {"efrate": Fraction(case.settings["rate"]), "firstlargest": int(np.abs(case.array[0]).max())}


def _signed_run(implementation: Any, case: Case) -> Any:
    return implementation(case.array, float(Fraction(case.settings["rate"])))


def _first_ratio(implementation: Any, case: Case) -> Outcome:
    run = case.once(_signed_run, implementation)
    mean = sum(abs(v) for v in _fractions(case.array[0])) / case.array.shape[1]
    first = max(map(abs, _fractions(run.updates[0])), default=Fraction(0))
    return Outcome(first / mean, case.once(_signed_values), active=case.settings["rate"] != "1")


def _unapplied(implementation: Any, case: Case) -> Outcome:
    run, rate = case.once(_signed_run, implementation), Fraction(case.settings["rate"])
    gaps = []
    for i in range(case.array.shape[1]):
        applied, wanted = sum(_fractions(run.updates[:, i])), sum(_fractions(case.array[:, i]))
        gaps.append(abs(rate * (applied - wanted) + Fraction(float(run.residuals[-1, i]))))
    return Outcome(max(gaps), case.once(_signed_values), active=case.settings["rate"] != "1")


def _of_signed(statement: str, trial: Any) -> Study:
    cases = [_signed_case(2, 4, rate, 1) for rate in ("1/16", "1/8", "1/4", "1/2", "1")]
    return Study(
        f"shipped.ef_signs.{statement}",
        "ef_signs",
        trial,
        grid=_signed_cases,
        curves=[over("efrate", "two steps, four entries", cases)],
        enumerated="up to three steps of one, two and four whole numbers, three step sizes, both dtypes, and sixteen",
    )


def _ridge_case(slope: str, step: str, steps: int, feedback: bool = False, tie: int = 1) -> Case:
    return Case({"slope": slope, "step": step, "steps": steps, "feedback": feedback, "tie": tie})


def _ridges(level: int) -> Iterator[Case]:
    for slope, step, steps in product(("1/4", "1/2", "3/4"), ("1/2", "1/8", "1/32"), (1, 2, 5, 64)):
        yield _ridge_case(slope, step, steps)
    for tie, slope, steps in product((0, -1), ("1/4", "3/4"), (1, 2, 5, 64)):
        yield _ridge_case(slope, "1/8", steps, tie=tie)


def _fed_ridges(_budget: Budget) -> Iterator[Case]:
    for slope, step, steps in product(("1/16", "1/2", "15/16"), ("1", "1/2", "1/8", "1/64"), (1, 2, 5, 64, 1024)):
        yield _ridge_case(slope, step, steps, True)
    for tie, slope, steps in product((0, -1), ("1/16", "15/16"), (1, 5, 64)):
        yield _ridge_case(slope, "1/8", steps, True, tie)


def _path(implementation: Any, case: Case) -> Array:
    s = case.settings
    sizes = (float(Fraction(s["slope"])), float(Fraction(s["step"])))
    path: Array = implementation(*sizes, s["steps"], s["feedback"], s["tie"])
    return path


def _ridge_values(case: Case) -> dict[str, Any]:
    s = case.settings
    return {"ridgeslope": Fraction(s["slope"]), "ridgestep": Fraction(s["step"]), "ridgesteps": s["steps"]}


def _across(implementation: Any, case: Case) -> Outcome:
    moved = max(abs(sum(_fractions(point), Fraction(-2))) for point in case.once(_path, implementation))
    return Outcome(moved, case.once(_ridge_values), active=True)


def _height(implementation: Any, case: Case) -> Outcome:
    slope = Fraction(case.settings["slope"])
    points = [_fractions(point) for point in case.once(_path, implementation)]
    least = min(slope * abs(x + y) + abs(x - y) for x, y in points)
    if case.settings["feedback"]:
        # coordinates stay below four, and each is rounded twice a step
        return Outcome(float(least), case.once(_ridge_values), 64.0 * case.settings["steps"] * 2.0**-52)
    return Outcome(least, case.once(_ridge_values))


def _of_ridge(statement: str, trial: Any, axis: str = "ridgesteps", **options: Any) -> Study:
    feedback = statement == "feedback"
    cases = [_ridge_case("1/2", "1/32", T, feedback, int(statement != "stuck_any")) for T in (1, 4, 16, 64, 256)]
    if axis == "ridgeslope":
        cases = [_ridge_case(f"{i}/8", "1/8", 16) for i in range(1, 8)]
    return Study(
        f"shipped.ridge_descent.{statement}",
        "ridge_descent",
        trial,
        **{
            "grid": None if feedback else _ridges,
            "corpus": _fed_ridges if feedback else None,
            "curves": [over(axis, "slope 1/2, step 1/32" if axis == "ridgesteps" else "step 1/8", cases)],
            "enumerated": "" if feedback else "three slopes, three step sizes, up to 64 steps, signs of zero",
            **options,
        },
    )


MEMORIES = (
    _of_signum("follows"),
    _of_signum("late"),
    _of_signed("first_step", _first_ratio),
    _of_signed("first_large", _first_ratio),
    _of_signed("conserved", _unapplied),
    _of_signed("excess", _unapplied),
    _of_ridge("stuck", _across),
    _of_ridge("stuck_any", _across),
    _of_ridge("converges", _height),
    _of_ridge("least", _height, "ridgeslope"),
    _of_ridge("feedback", _height),
)

MECHANISMS = studies(*TREE, *TRUNCATED, *SPECTRAL, *SWITCHED, *MEMORIES)
"""The studies by the name of their claim."""
