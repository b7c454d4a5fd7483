"""What packages ship beside its definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.data import EDGES, IDLE, KINDS, stack_of, vector_of
from commbounds.verify.definition import Definition, Given, called, chosen, givens, with_generator
from commbounds.verify.definitions import shipped as twins
from commbounds.verify.differences import Said
from commbounds.verify.experiments.quantizers.definitions import DRAWN, uniforms_of
from commbounds.verify.experiments.shipped.vectors import cases
from commbounds.verify.experiments.sparsifiers.definitions import BETWEEN, COUNTS, DTYPES, FEW, LENGTHS, defined
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes

# --- vectors -----------------------------------------------------------------------------------------------------

LEVELS = (1.5, -3.0, 1e-40, 3e38)
VECTORS: Mapping[str, Callable[[int, int], Array]] = {
    "constant": lambda n, seed: np.full(n, LEVELS[seed % 4]),
    "constant but one": lambda n, seed: np.where(np.arange(n) == seed % n, 1.0, LEVELS[seed % 4] / 4),
    "two values": lambda n, seed: np.where(np.random.default_rng(seed).random(n) < 0.3, -0.75, LEVELS[seed % 2]),
    "cancelling inside": lambda n, seed: np.random.default_rng(seed).permutation(
        np.resize((0.5, 1e20, 1.25, -1e20, 2.0, -0.75), n)
    ),
    "of both ends": lambda n, seed: np.random.default_rng(seed).choice((1e308, -1e-300, 3e-310, 1e300, -2.5e307), n),
}
"""(n, seed) -> (n,) float64: what counts of different entries and sums of very large and very small ones tell."""
_BOTH = (*VECTORS, *(kind for kind in (*KINDS, *EDGES) if kind != "NaN"))


def _vector(data: str, n: int, dtype: str, seed: int) -> Array:
    if data not in VECTORS:
        return vector_of(data, n, dtype, seed)
    return VECTORS[data](n, seed).astype(dtype)


def _space(make: Callable[..., Given], **options: Sequence[Any]) -> Space:
    combined = tuple(("n", "dtype", name) for name in options)
    space = Space(make, {"n": LENGTHS, "data": _BOTH, "dtype": DTYPES, **options}, combined=combined).search(n=(1, 70))
    return space.hidden_by(n=BETWEEN).without(
        "infinite in float32.", lambda data, dtype: data in ("over", "of both ends") and dtype == "float32"
    )


def _given(n: int, data: str, dtype: str, seed: int, **options: Any) -> Given:
    return Given({"x": _vector(data, n, dtype, seed)}, chosen(**options))


def _picked(n: int, data: str, dtype: str, k: int, added: bool | None, drawn: str, seed: int) -> Given:
    picks = {"one place": np.full(k, seed % n), "the last ones": n - 1 - np.arange(k) % n}
    picks["picks"] = np.random.default_rng(seed).integers(0, n, k)
    randomness = {"seed": seed} if drawn == "seed" else {"picks": picks[drawn]}
    return Given({"x": _vector(data, n, dtype, seed)}, chosen(k=k, added=added), randomness)


def _lazily(n: int, data: str, dtype: str, keep: Any, u: Any, seed: int) -> Given:
    edge = float(keep) if u != "below keep" else float(np.nextafter(float(keep), 0))
    uniform = min(edge, 1 - 2.0**-53) if isinstance(u, str) else u
    return Given(
        {"x": _vector(data, n, dtype, seed)}, {"keep": keep}, {"seed": seed} if u == "seed" else {"u": uniform}
    )


def _drawn(n: int, data: str, dtype: str, drawn: str, seed: int, **options: Any) -> Given:
    return Given({"x": _vector(data, n, dtype, seed)}, chosen(**options), uniforms_of(drawn, n, dtype, seed))


def _decided(n: int, data: str, dtype: str, budget: Any, drawn: str, seed: int) -> Given:
    """Uniforms that fall where the level is rounded are zeros."""
    made = _drawn(n, data, dtype, drawn, seed, budget=budget)
    if drawn != "seed":
        with np.errstate(all="ignore"):
            uniforms = made.randomness["uniforms"]
            uniforms[twins.undecided(made.inputs["x"], budget, uniforms)] = 0
    return made


BUCKETS, MORE_BUCKETS = (None, 2, 3, 4, 9, 15, 1000, 2**15 - 1), (5, 7, 8, 16, 32)
SPACES = {
    "ReplacementRandK": _space(
        _picked,
        k=(*COUNTS, *FEW, Of("2 n + 1", lambda n: 2 * n + 1)),
        added=(None, False, True),
        drawn=("seed", "picks", "one place", "the last ones"),
    ),
    "BernoulliLazy": _space(
        _lazily,
        keep=(Fraction(1, 2), 0.75, Fraction(1, 3), 1, 2.0**-60, 1e-300, 1 - 2.0**-53),
        u=("seed", 0.0, 0.25, "keep", "below keep", 1 - 2.0**-53),
    ).hidden_by(keep=(0.25, 0.1, Fraction(2, 3))),
    "Atomic": _space(
        _decided,
        budget=(
            *(Fraction(1, 2), 1, Fraction(3, 2), 2, Fraction(7, 3), 2.5, 1e-310),
            *(Of("n / 2", lambda n: n / 2), Of("n - 1/3", lambda n: Fraction(3 * n - 1, 3)), Of("n", lambda n: n)),
        ),
        drawn=DRAWN,
    ).hidden_by(budget=(3, 4, 5)),
    "ClippedTernGrad": _space(
        _drawn, clip=(None, 1, Fraction(1, 2), 0.25, Fraction(4, 3), 8, 1e300), drawn=DRAWN
    ).hidden_by(clip=(0.1, Fraction(3, 2), 2, 3, 4)),
    "TwoMeans": _space(_given),
    "ThreeLC": _space(
        _given, sparsity=(None, 1, 1.5, Fraction(7, 4), Fraction(4, 3), 2 - 2.0**-40), zero_run=(None, True, False)
    ),
    "UniformBuckets": _space(_given, buckets=BUCKETS, sigmas=(None, 1, 2, 6)).hidden_by(
        buckets=MORE_BUCKETS, sigmas=(3, 4)
    ),
    "QuantileBuckets": _space(_given, buckets=BUCKETS).hidden_by(buckets=MORE_BUCKETS),
}
_ODD = np.array([1.0, 1.0, -1.0, -1.0, 0.0])
"""Six deviations over 3, 9 or 15 buckets are twice, two thirds or two fifths of one: entries lie on halves."""
_EIGHT = np.arange(1.0, 9.0)
MORE: Mapping[str, tuple[tuple[Array, Mapping[str, Any], Mapping[str, Any]], ...]] = {
    "ReplacementRandK": (
        (np.arange(1.0, 998.0), {"k": 997, "added": True}, {"seed": 6166}),
        *((np.ones(n, np.float32), {"k": 2**16 + 60, "added": True}, {"seed": 1}) for n in (5, 2**17, 3 * 2**16)),
        # multiples that fit twice and not three times, of three entries; whether they are drawn or not
        *((np.full(3, 8e307), {"k": 3, "added": added}, {"picks": np.zeros(3, np.int64)}) for added in (False, True)),
        *((_EIGHT, {"k": k}, {"seed": 1}) for k in (0, 2**31)),
        (_EIGHT, {"k": 2}, {"picks": np.array([0, 8])}),
        (_EIGHT, {"k": 2}, {"picks": np.array([-1, 0])}),
        (_EIGHT, {"k": 2}, {"picks": np.array([0])}),
    ),
    "BernoulliLazy": (
        *((_EIGHT, {"keep": keep}, {"seed": 1}) for keep in (0, -1, 1 + 2.0**-52)),
        *((_EIGHT, {"keep": 0.5}, {"u": u}) for u in (1.0, -(2.0**-60))),
    ),
    "Atomic": tuple((_EIGHT, {"budget": budget}, {"seed": 1}) for budget in (0, -1, np.inf)),
    "ClippedTernGrad": tuple((_EIGHT, {"clip": clip}, {"seed": 1}) for clip in (0, -1, np.inf)),
    "ThreeLC": (
        *((_EIGHT, {"sparsity": sparsity}, {}) for sparsity in (1 - 2.0**-53, 2, 0)),
        (np.array([11184810 * 2.0**104], np.float32), {"sparsity": 1.5}, {}),
        (np.array([11184811 * 2.0**104], np.float32), {"sparsity": 1.5}, {}),
        *((np.array([*[0.0] * zeros, 1.0, *[-0.0] * 7]), {}, {}) for zeros in (4, 5, 65, 69, 70, 71, 75, 76, 145, 350)),
        *((np.array([-1.0, *[0.0] * zeros, 0.5]), {}, {}) for zeros in (8, 13, 73, 74, 78, 153)),
    ),
    "UniformBuckets": (
        *((_ODD, {"buckets": buckets}, {}) for buckets in (3, 9, 15)),
        *((_EIGHT, bad, {}) for bad in ({"buckets": 1}, {"buckets": 2**15}, {"sigmas": 0}, {"sigmas": 2**31})),
    ),
    "QuantileBuckets": tuple((_EIGHT, {"buckets": buckets}, {}) for buckets in (1, 2**15)),
}
"""Vectors, hyper-parameters and what is drawn: a draw that is drawn again; more draws than a block has, some on the
edge of being drawn again; other edges; what is refused."""
_REFUSED = (("ties", 4, "float16"), ("ties", 0, "float32"), ("NaN", 300, "float64"), ("over", 3, "float32"))
_LONG = (("normal", 1025, "float32"), ("ties", 2050, "float64"))


@cache
def _examples(name: str) -> list[Given]:
    held = cases(name)
    drawn = {"seed": 11} if any(case.randomness for case in held) else {}
    found = [Given({"x": vector_of(*shape)}, held[0].parameters, drawn) for shape in (*_LONG, *_REFUSED)]
    return [*givens(held), *found, *(Given({"x": x}, given, drawn) for x, given, drawn in MORE.get(name, ()))]


# --- eight bits and fewer ----------------------------------------------------------------------------------------


def _around(values: Sequence[Fraction], dtype: str) -> Array:
    """Numbers, and those next to them."""
    at = np.array([float(v) for v in values]).astype(dtype)
    return np.concatenate([at, np.nextafter(at, np.full_like(at, -2)), np.nextafter(at, np.full_like(at, 2))])


_BORDERS = [(low + high) / 2 for low, high in pairwise(twins.dynamic_values())]
_BINADES = [way * Fraction(1, 2**m) for m in range(31) for way in (1, -1)]


def _coded(n: int, data: str, dtype: str, seed: int, **options: Any) -> Given:
    """Of points and numbers next to them some, under a largest entry of one in every block."""
    points = {"borders": _BORDERS, "binades": _BINADES}.get(data)
    if points is None:
        return Given({"x": _vector(data, n, dtype, seed)}, chosen(**options))
    x = np.resize(np.random.default_rng(seed).permutation(_around(points, dtype)), n)
    if data == "borders":
        x[:: options["block"] or n] = 1
    return Given({"x": x}, chosen(**options))


def _parts(*names: str) -> Callable[[Any, Given], Said]:
    def run(implementation: Any, given: Given) -> Said:
        sent = implementation(*given.inputs.values(), **given.parameters)
        return {**{name: getattr(sent, name) for name in names}, "output": sent.values, "bits": sent.bits}

    return run


def _codes(data: str, **options: Sequence[Any]) -> Space:
    space = _space(_coded, **options)
    return space.replaced(data=(*space.axes["data"], data), n=(*LENGTHS, 4, 5, 48, 768))


TREE = _codes("borders", block=(None, 1, 2, 3, 16, 17, 64, 4096)).hidden_by(block=(4, 5, 8, 32, 33, 63, 65))
TRUNCATED = _codes("binades", binades=(None, *range(16), 21, 28))


def _of_x(*bad: Mapping[str, Any]) -> Callable[[], list[Given]]:
    refused = [Given({"x": vector_of(*shape)}) for shape in _REFUSED]
    longer = Given({"x": vector_of("normal", 4100, "float32")})
    return lambda: [longer, *refused, *(Given({"x": _EIGHT}, given) for given in bad)]


# --- spectral ATOMO, and switching -------------------------------------------------------------------------------

MATRICES: Mapping[str, Callable[[np.random.Generator, int, int], Array]] = {
    "ties": lambda rng, m, n: rng.integers(-2, 3, (m, n)).astype(float),
    "normal": lambda rng, m, n: rng.standard_normal((m, n)),
    "equal": lambda rng, m, n: 2 * np.eye(m, n),
    "diagonal": lambda rng, m, n: np.eye(m, n) * 2.0 ** -np.arange(n),
    "one large": lambda rng, m, n: np.eye(m, n) * np.where(np.arange(n) == 0, 1.0, 0.125),
    "rank one": lambda rng, m, n: np.outer(rng.integers(1, 4, m), rng.integers(-3, 4, n)),
    "zeros": lambda rng, m, n: np.zeros((m, n)),
    "small": lambda rng, m, n: 1e-6 * (1 - 2.0**-20) * np.eye(m, n),
    "at the edge": lambda rng, m, n: 1e-6 * np.eye(m, n),
    "just not small": lambda rng, m, n: 1e-6 * (1 + 2.0**-20) * np.eye(m, n),
    "huge": lambda rng, m, n: rng.uniform(1, 3, (m, n)) * 1e36,
}


def _matrix(rows: int, columns: int, data: str, dtype: str, budget: Any, drawn: str, seed: int) -> Given:
    rng = np.random.default_rng(seed)
    matrix, r = MATRICES[data](rng, rows, columns).astype(dtype), min(rows, columns)
    kept = {
        "all": np.ones(r, bool),
        "first": np.arange(r) == 0,
        "last": np.arange(r) == r - 1,
        "none": np.zeros(r, bool),
    }
    kept["some"] = rng.random(r) < 0.5
    return Given({"matrix": matrix}, {"budget": budget}, {"seed": seed} if drawn == "seed" else {"kept": kept[drawn]})


SPECTRAL = Space(
    _matrix,
    {
        "rows": (1, 2, 3, 4, 7),
        "columns": (1, 2, 3, 5, 8),
        "data": tuple(MATRICES),
        "dtype": DTYPES,
        "budget": (1, 2.0**-10, 0.5, Fraction(1, 3), 2, 3.5, 100),
        "drawn": ("seed", "all", "first", "last", "some", "none"),
    },
    combined=(("rows", "columns", "budget"),),
    hiding={"rows": (5, 6, 8, 9, 17, 33), "columns": (4, 6, 7, 9, 17, 33), "budget": (3, 1.5)},
).search(rows=(1, 6), columns=(1, 6))


def _atoms(implementation: Any, given: Given) -> Said:
    found = implementation(**given.inputs, **given.parameters, **with_generator(given.randomness))
    return {**vars(found), "dtype": found.values.dtype.name}


def _spectral_edges() -> list[Given]:
    """Without a generator, which a small matrix does not need; and what is refused."""
    given = {"matrix": np.eye(2)}
    found = [Given(given, {"budget": budget}, {"seed": 1}) for budget in (0, 2.0**-11, np.inf)]
    return [
        *found,
        Given(given, {"budget": 1}),
        Given({"matrix": 1e-7 * np.eye(2)}, {"budget": 1}),
        Given({"matrix": 1e-6 * np.eye(2)}, {"budget": 0.5}, {"seed": 1}),
        Given(given, {"budget": 1}, {"kept": np.array([True])}),
        Given({"matrix": np.full((2, 2), np.nan)}, {"budget": 1}, {"seed": 1}),
    ]


CHANCES: Mapping[str, Callable[[np.random.Generator, int], list[float]]] = {
    "quarters": lambda rng, count: [0.25] * count,
    "tenths": lambda rng, count: [0.1] * count,
    "zeros": lambda rng, count: [0.0] * count,
    "ones": lambda rng, count: [1.0] * count,
    "zero first": lambda rng, count: [0.0, *[0.5] * count][:count],
    "drawn": lambda rng, count: rng.random(count).tolist(),
}


def _thrown(count: int, chances: str, dice: Any, seed: int) -> Given:
    """Dice as given, or on the end of a cell, or next to it."""
    found = CHANCES[chances](np.random.default_rng(seed), count)
    if isinstance(dice, str):
        total = 0.0
        for p in found[: 1 + seed % count]:
            total += p
        dice = min(max({"an end": total, "below": np.nextafter(total, -1), "above": np.nextafter(total, 2)}[dice], 0.0),
                   1 - 2.0**-53)  # fmt: skip
    return Given({"probabilities": found, "dice": float(dice)})


SWITCHED = Space(
    _thrown,
    {
        "count": (1, 2, 3, 4, 5, 10, 12),
        "chances": tuple(CHANCES),
        "dice": (0.0, 0.25, 0.5, "an end", "below", "above", 1 - 2.0**-53),
    },
    combined=(("count", "chances", "dice"),),
    hiding={"count": (6, 7, 8, 9, 11, 16, 17, 33, 65)},
)
_SWITCHED_REFUSED = [
    Given({"probabilities": probabilities, "dice": dice})
    for probabilities, dice in (([], 0.5), ([-1e-300], 0.5), ([np.inf], 0.5), ([0.0] * 4097, 0.5), ([1.0], 1.0),
                                ([1.0], -1e-300), ([0.0] * 4095 + [1.0], 0.5))
]  # fmt: skip

# --- signs with a memory -----------------------------------------------------------------------------------------


def _rows(rounds: int, n: int, data: str, dtype: str, seed: int, **options: Any) -> Given:
    """Gradients; some turn once and back, and some bring a momentum next to zero every other time."""
    rows = stack_of(data if data in KINDS or data in EDGES or data in IDLE else "normal", rounds, n, dtype, seed)
    if data == "turned":
        rows = (np.where(np.arange(rounds) % 8 < 2, 1, -1)[:, None] * np.abs(rows[:1])).astype(dtype)
    if data == "balanced":
        momentum = float(options["momentum"]) if options["momentum"] is not None else 0.9
        for t in range(1, rounds, 2):
            rows[t] = rows[t - 1] * (-momentum if t > 1 else -momentum / (1 - momentum))
    return Given({"gradients": rows}, chosen(**options))


def _remembered(*more: str, **options: Sequence[Any]) -> Space:
    data = (*(kind for kind in KINDS if kind != "one rank"), "turned", *more, "halves", "apart", "huge", "least")
    axes = {"rounds": (3, 1, 2, 17), "n": (1, 2, 3, 8, 9, 16, 33), "data": data, "dtype": DTYPES}
    space = Space(_rows, {**axes, **options}, combined=tuple(("rounds", "n", name) for name in options))
    return space.hidden_by(rounds=(4, 5, 6, 9), n=(4, 5, 7, 17, 31, 65, 127), data=tuple(IDLE)).search(
        rounds=(1, 6), n=(1, 20)
    )


SIGNUM = _remembered("balanced", momentum=(None, 0.0, 0.5, 0.75, 0.9, 0.99, Fraction(1, 3), 0.25, 0.1))
SIGNED = _remembered(rate=(None, 0.25, 0.5, 1, 2.0, Fraction(1, 3), 1e-3), scaled=(None, False, True))


def _of_gradients(*options: Mapping[str, Any]) -> Callable[[], list[Given]]:
    rows = np.array([[0.0, -0.0, 2.0], [1.0, -1.0, -1.0], [0.0, 0.0, 0.0]])  # one third of 2 and two of -1 are zero
    found = [Given({"gradients": rows.astype(dtype)}) for dtype in ("float32", "float64", "float16")]
    found += [Given({"gradients": stack_of("over", 3, n, "float64", n)}) for n in (1, 3, 8)]
    found += [Given({"gradients": stack_of("NaN", 3, 2, "float32")}), Given({"gradients": np.zeros((0, 3))})]
    return lambda: [*found, *(Given({"gradients": rows}, given) for given in options)]


def _signs(implementation: Any, given: Given) -> Said:
    found: Said = vars(implementation(**given.inputs, **given.parameters))
    return found


RIDGE = Space(
    lambda seed, **options: Given({}, chosen(**options)),
    {
        "slope": (0.25, 0.5, 0.1, 1 - 2.0**-53, 1e-300),
        "step": (0.125, 0.3, 1.0, 2.5, 1e-3),
        "steps": (3, 1, 2, 9, 41),
        "feedback": (None, False, True),
        "tie": (None, 1, 0, -1),
    },
    combined=(("slope", "feedback", "tie"), ("step", "feedback", "tie"), ("steps", "feedback", "tie")),
    hiding={"steps": (4, 5, 6, 7, 8, 17, 33, 65)},
)
_RIDGES = [
    Given({}, {"slope": 0.5, "step": 0.5, "steps": 4, "feedback": True, **bad})
    for bad in ({"slope": 1.0}, {"slope": 0.0}, {"step": 0.0}, {"step": np.inf}, {"steps": 0}, {"steps": 2**20 + 1},
                {"step": 1.7e308}, {"tie": 2}, {"tie": -2})
]  # fmt: skip

# --- collectives -------------------------------------------------------------------------------------------------


def _owned(P: int, n: int, data: str, dtype: str, owners: str, seed: int) -> Given:
    made = {"drawn": np.random.default_rng(seed).integers(0, P, n), "in turn": np.arange(n) % P}
    made |= {"the first": np.zeros(n, int), "the last": np.full(n, P - 1)}
    drawn = {"seed": seed} if owners == "seed" else {"owners": made[owners]}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, {}, drawn)


def _placed(P: int, n: int, data: str, dtype: str, k: int, places: str, seed: int) -> Given:
    made = {"drawn": np.sort(np.random.default_rng(seed).permutation(n)[:k]), "the first": np.arange(k)}
    made["the last"] = np.arange(max(n - k, 0), n)
    drawn = {"seed": seed} if places == "seed" else {"places": made[places]}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, {"k": k}, drawn)


def _stepped(P: int, n: int, data: str, dtype: str, k: int, rounds: int, seed: int, **options: Any) -> Given:
    rows = [stack_of(data, P, n, dtype, 97 * seed + t) for t in range(rounds)]
    return Given({"stack": np.concatenate(rows, 1)}, {"steps": rounds, "k": k, **chosen(**options)})


def _ranked(make: Callable[..., Given], **options: Sequence[Any]) -> Space:
    axes = {"P": RANKS, "n": sizes(16, *TILES), "data": tuple(KINDS), "dtype": DTYPES}
    return Space(make, {**axes, **options}).hidden_by(data=tuple(IDLE)).search(P=(1, 12), n=(1, 40))


def _steps(implementation: Any, given: Given) -> Said:
    run, traffic = implementation(**given.inputs, **given.parameters)
    return {**vars(run), "traffic": traffic}


def _edges(*cases_: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Callable[[], list[Given]]:
    """Two ranks of three entries; entries that overflow when they are added, and what is not finite."""
    stack = np.arange(1.0, 7.0).reshape(2, 3)
    given, drawn = cases_[0]
    large = [
        Given({"stack": np.tile(stack_of("over", 1, 3, "float64", seed), (3, 1))}, given, drawn) for seed in (1, 2)
    ]
    large += [Given({"stack": stack_of("NaN", 2, 3, "float32")}, given, drawn)]
    return lambda: [*large, *(Given({"stack": stack}, parameters, randomness) for parameters, randomness in cases_)]


def _cancelled(*cases_: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Callable[[], list[Given]]:
    """`_edges`, and an entry that is sent though it has come to zero; its momentum has not."""
    gradients = np.array([[1.0, 4.0, -1.5, 0.0, 0.0, 0.0, 1.0, 0.0]])
    zero = [Given({"stack": gradients}, {"steps": 4, "k": 1, "factor": 0.5, "masking": on}) for on in (True, False)]
    return lambda: [*_edges(*cases_)(), *zero]


PERMUTED = _ranked(_owned, owners=("seed", "drawn", "in turn", "the first", "the last"))
SHARED = (
    _ranked(_placed, k=COUNTS, places=("seed", "drawn", "the first", "the last"))
    .without("two of one entry: refused.", lambda n, k: k > n)
    .hidden_by(k=FEW)
)
DGC = (
    _ranked(
        _stepped, k=COUNTS, rounds=(3, 1, 5), factor=(None, 0.0, 0.5, 0.7, Fraction(1, 3)), masking=(None, True, False)
    )
    .without("two of one entry: refused.", lambda n, k: k > n)
    .hidden_by(k=FEW, rounds=(2, 4, 9))
)

DEFINITIONS = {
    **defined(SPACES, twins, _examples),
    "dynamic_tree": Definition(TREE, _parts("codes", "scales"), twins.dynamic_tree, examples=_of_x({"block": 0})),
    "inceptionn": Definition(
        TRUNCATED, _parts("classes"), twins.inceptionn, examples=_of_x({"binades": -1}, {"binades": 29})
    ),
    "spectral_atoms": Definition(SPECTRAL, _atoms, twins.spectral_atoms, examples=_spectral_edges),
    "signum_signs": Definition(
        SIGNUM,
        called("signs"),
        twins.signum_signs,
        examples=_of_gradients(*({"momentum": m} for m in (1.0, -1e-300, Fraction(1, 3)))),
    ),
    "ef_signs": Definition(
        SIGNED, _signs, twins.ef_signs, examples=_of_gradients({"rate": 0.0}, {"rate": np.inf}, {"rate": 1e-320})
    ),
    "ridge_descent": Definition(RIDGE, called("path"), twins.ridge_descent, examples=lambda: _RIDGES),
    "switched": Definition(SWITCHED, called("chosen"), twins.switched, examples=lambda: _SWITCHED_REFUSED),
    "permk_mean": Definition(
        PERMUTED,
        called("mean", "traffic"),
        twins.permk_mean,
        examples=_edges(*(({}, {"owners": np.array(owners)}) for owners in ([0, 1, 1], [0, 2, 1], [0, -1, 1], [0, 1]))),
    ),
    "shared_randk_mean": Definition(
        SHARED,
        called("mean", "traffic"),
        twins.shared_randk_mean,
        examples=_edges(
            *(({"k": 2}, {"places": np.array(places)}) for places in ([0, 2], [1, 0], [1, 1], [0], [1, 3], [-1, 0])),
            ({"k": 2}, {"places": np.array([1, 0], np.uint8)}),
            *(({"k": k}, {"seed": 1}) for k in (0, 4)),
        ),
    ),
    "dgc_steps": Definition(
        DGC,
        _steps,
        twins.dgc_steps,
        examples=_cancelled(
            ({"steps": 3, "k": 1}, {}),
            *(({"steps": steps, "k": k}, {}) for steps, k in ((2, 1), (0, 1), (1, 0), (1, 4), (3, 2))),
            *(({"steps": 1, "k": 1, "factor": factor}, {}) for factor in (1.0, -1e-300)),
        ),
    ),
}
