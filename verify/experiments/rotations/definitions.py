"""Rotation-based compressors, mechanisms and sums beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.compressor_run import EXACT
from commbounds.verify.data import EDGES, IDLE, KINDS, stack_of, vector_of
from commbounds.verify.definition import Definition, Given, called, chosen, compressed
from commbounds.verify.definitions import rotations
from commbounds.verify.differences import Said
from commbounds.verify.experiments.blockformats.definitions import of_hostile
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes

LENGTHS = (1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 64, 65, 129)
"""Powers of two, and one off them: what is padded most and least."""
OWN: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "constant": lambda rng, n: np.full(n, -0.7),
    "negative zeros": lambda rng, n: np.full(n, -0.0),
    "one entry": lambda rng, n: np.where(np.arange(n) == n // 2, rng.standard_normal(n), -0.0),
    "one huge": lambda rng, n: np.where(np.arange(n) == n - 1, 2.0**100, rng.standard_normal(n)),
}
"""Further vectors: of rotated entries all but one are zero, or all are alike, or what is small is lost."""
DATA = (*OWN, *(kind for kind in KINDS if kind not in ("alike", "cancelling", "one rank")), *EDGES)
DTYPES = ("float32", "float64")
SIGNS = ("drawn", "ones", "minus ones", "first", "last")
PADDED = Of("d", lambda n: rotations.padded(n))


def vector(data: str, n: int, dtype: str, seed: int) -> Array:
    """A vector of one of the kinds here."""
    return OWN[data](np.random.default_rng(seed), n).astype(dtype) if data in OWN else vector_of(data, n, dtype, seed)


def signs_of(signs: str, n: int, seed: int) -> Array:
    """Signs, drawn or by hand, of several dtypes."""
    at = np.arange(n)
    made = {
        "drawn": np.random.default_rng([seed, 1]).choice((-1, 1), n).astype(np.int8),
        "ones": np.ones(n, np.int64),
        "minus ones": np.full(n, -1, np.int32),
        "first": np.where(at == 0, -1, 1),
        "last": np.where(at == n - 1, -1, 1).astype(np.int16),
    }
    return np.asarray(made[signs])


# --- compressors -----------------------------------------------------------------------------------------------------


def _turned(n: int, data: str, dtype: str, signs: str, seed: int, **options: Any) -> Given:
    drawn = {"seed": seed} if signs == "seed" else {"signs": signs_of(signs, n, seed)}
    return Given({"x": vector(data, n, dtype, seed)}, chosen("default", **options), drawn)


def _dithered(n: int, data: str, dtype: str, signs: str, dither: str, levels: int, seed: int) -> Given:
    x, d = vector(data, n, dtype, seed), rotations.padded(n)
    if signs == "seed":
        return Given({"x": x}, {"levels": levels}, {"seed": seed})
    made = {
        "drawn": np.random.default_rng([seed, 2]).random(d),
        "least": np.zeros(d),
        "largest": np.full(d, 1 - 2.0**-53),
        "halves": 0.5 + 2.0**-53 * (np.arange(d) % 3 - 1),
    }
    return Given({"x": x}, {"levels": levels}, {"dither": made[dither], "signs": signs_of(signs, n, seed)})


def _kept(n: int, data: str, dtype: str, signs: str, k: int, kept: str, seed: int) -> Given:
    x, d = vector(data, n, dtype, seed), rotations.padded(n)
    if signs == "seed":
        return Given({"x": x}, {"k": k}, {"seed": seed})
    places = np.random.default_rng([seed, 3]).permutation(d)[:k]
    made = {"drawn": np.sort(places), "first": np.arange(k), "last": np.arange(d - k, d, dtype=np.int32)}
    return Given({"x": x}, {"k": k}, {"kept": made[kept], "signs": signs_of(signs, n, seed)})


def _vectors(make: Any, **options: Any) -> Space:
    axes = {"n": LENGTHS, "data": DATA, "dtype": DTYPES, "signs": ("seed", *SIGNS), **options}
    return Space(make, axes).hidden_by(n=(63, 127, 255, 257)).search(n=(1, 140))


ONES = {"signs": np.ones(3, np.int64)}
ANY = np.array([1.0, -2.0, 0.5])
WRONG_SIGNS: tuple[Any, ...] = ([1, 1], [1, 0, 1], [1, 2, -1], [1.0, 1.0, 1.0])
BAD: dict[str, list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {
    "DRIVE": [({"scale": "best"}, {}), ({"scale": "norm"}, {})],
    "EDEN": [({"width": 0}, {}), ({"width": 9}, {}), ({"width": 2, "scale": "unit"}, {})],
    "RotatedDithering": [
        ({"levels": 0}, {"dither": np.zeros(4)}),
        ({"levels": 2**14 + 1}, {"dither": np.zeros(4)}),
        *(({"levels": 2}, {"dither": np.array(u)}) for u in ([0.5] * 3, [1.0] * 4, [-(2.0**-60)] * 4, [np.nan] * 4)),
    ],
    "HadamardSketch": [
        ({"k": 0}, {"kept": np.array([0])}),
        ({"k": 5}, {"kept": np.arange(5)}),
        *(({"k": 2}, {"kept": np.array(kept)}) for kept in ([1, 1], [2, 1], [-1, 0], [3, 4], [0, 1, 2], [2])),
    ],
}
"""Hyper-parameters, and what is drawn, that are refused with three entries."""
GOOD: dict[str, tuple[Mapping[str, Any], Callable[[int], Mapping[str, Any]]]] = {
    "DRIVE": ({}, lambda n: {}),
    "EDEN": ({"width": 3}, lambda n: {}),
    "RotatedDithering": ({"levels": 3}, lambda n: {"dither": np.full(rotations.padded(n), 0.25)}),
    "HadamardSketch": ({"k": 1}, lambda n: {"kept": np.zeros(1, np.int64)}),
}

FIRST: dict[str, list[dict[str, Any]]] = {
    "DRIVE": [{"scale": "biased"}, {}],
    "EDEN": [{"width": 1}, {"width": 2, "scale": "norm"}],
    "RotatedDithering": [{"levels": 1}],
    "HadamardSketch": [{}],
}
"""Hyper-parameters for what is next to nothing: where the estimate's zeros get their signs."""


def _examples(name: str) -> list[Given]:
    parameters, drawn = GOOD[name]

    def made(x: Array) -> Given:
        return Given({"x": x}, parameters, {**drawn(x.size), "signs": signs_of("drawn", x.size, 5)})

    found = of_hostile(made)()
    found += [made(x) for x in (np.ones(3, np.float16), np.zeros(0), np.full(4, 3e38, np.float32), np.full(4, 1.7e308))]
    # what is next to the largest is lost: the last rotated entry would be of the sign of the last one
    found += [
        made(np.array([1e308, 1e308, -5e-324])),
        made(np.array([1.7e308, 0.0, 0.0, 0.0])),
        made(np.array([1.7e308])),
    ]
    # the largest entry is not the first one, and squares of what is not brought next to one are none
    found += [made(np.array([1.0, 1e300, -3e299])), made(np.array([0.0, 1e-300, -3e-300, 2e-301]))]
    found += [Given({"x": np.array([-1e-323, 0.0])}, {**parameters, **first}, {**drawn(2), "signs": np.array(signs)})
              for first in FIRST[name] for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1])]  # fmt: skip
    found += [Given({"x": ANY}, options, {**of, **ONES}) for options, of in BAD[name]]
    if name == "RotatedDithering":  # rotated, 0, 1, 49 and 0: 1/49 times 49 is below one in float64
        drawn_last = {"dither": np.full(4, 1 - 2.0**-53), "signs": np.ones(4, np.int64)}
        found.append(Given({"x": np.array([50.0, 48.0, -48.0, -50.0])}, {"levels": 49}, drawn_last))
    return [*found, *(Given({"x": ANY}, parameters, {**drawn(3), "signs": np.array(s)}) for s in WRONG_SIGNS)]


def _compressor(name: str, space: Space) -> Definition:
    return Definition(space, compressed, getattr(rotations, name), examples=partial(_examples, name), exact=EXACT)


# --- mechanisms ------------------------------------------------------------------------------------------------------


def _transformed(n: int, data: str, dtype: str, signs: str, inverse: Any, seed: int) -> Given:
    given = {"signs": signs_of(signs, n, seed)}
    if dtype == "int64":
        entries = np.random.default_rng(seed).integers(-(2**53), 2**53, n) if data == "normal" else np.arange(n) - 2
        return Given({"x": entries, **given}, chosen("default", inverse=inverse))
    return Given({"x": vector(data, n, dtype, seed), **given}, chosen("default", inverse=inverse))


def _transforms() -> list[Given]:
    signs = np.ones(2, np.int64)
    bad = [np.array(x) for x in ([1.0, np.nan], [1.0, -np.inf], [2**62, 2**62], [-(2**63), 0])]
    found = [Given({"x": x, "signs": signs}) for x in (*bad, np.ones(2, np.float16), np.ones(2, np.int32))]
    found += [Given({"x": x, "signs": signs}) for x in (np.zeros(0), np.ones((1, 2)), np.array([2**62, -(2**62) + 1]))]
    found += [Given({"x": ANY, "signs": np.array(wrong)}) for wrong in WRONG_SIGNS]
    return [*found, Given({"x": ANY, **ONES}, {"inverse": True}), Given({"x": np.full(4, 1.7e308), "signs": [1] * 4})]


def _represented(n: int, data: str, dtype: str, signs: str, rounds: int | None, seed: int, **options: Any) -> Given:
    found = {"x": vector(data, n, dtype, seed), "signs": signs_of(signs, n, seed)}
    return Given(found, chosen("default", **options, rounds="default" if rounds is None else rounds))


def _representations() -> list[Given]:
    x = {"x": ANY, **ONES}
    wrong: tuple[dict[str, Any], ...] = (
        {"rounds": 0}, {"rounds": 1001}, {"eta": 1.0}, {"eta": 0.0}, {"delta": 0.0}, {"delta": 1.0 + 2.0**-52},
        {"delta": np.nan}, {"length": 2}, {"length": 6}, {"length": 0},
    )  # fmt: skip
    long = {"x": np.full(33, 0.7), "signs": np.ones(33, np.int64)}
    rounds: list[dict[str, Any]] = [
        {"rounds": number, "eta": eta, "exact": exact, "length": 128}
        for number in range(1, 10)
        for eta in (0.5, 0.95)
        for exact in (True, False)
    ]
    right: tuple[dict[str, Any], ...] = ({"rounds": 1000}, {"delta": 5e-324}, {"eta": 1 - 2.0**-53, "rounds": 40})
    found = [Given(x, options) for options in (*wrong, *right)] + [Given(long, options) for options in rounds]
    found += [Given({"x": ANY, "signs": np.array(signs)}) for signs in WRONG_SIGNS]
    for bad in (np.full(4, 1.7e308), np.ones(4, np.float16), np.ones(4, np.int64)):
        found.append(Given({"x": bad, "signs": np.ones(4, np.int64)}))
    return found


def _offsets(offsets: str, d: int, seed: int) -> Array:
    made = {
        "one": np.array(np.random.default_rng([seed, 4]).random() - 0.5),
        "each": np.random.default_rng([seed, 4]).random(d) - 0.5,
        "quarters": np.arange(d) % 4 / 4 - 0.5,
        "least": np.array(-0.5),
        "largest": np.full(d, 0.5 - 2.0**-54),
        "none": np.zeros(d, np.float32),
    }
    return np.asarray(made[offsets])


def _with_offsets(
    n: int, data: str, dtype: str, signs: str, offsets: str, step: float, reach: Any, seed: int
) -> Given:  # fmt: skip
    held = {
        "x": vector(data, n, dtype, seed),
        "signs": signs_of(signs, n, seed),
        "offsets": _offsets(offsets, rotations.padded(n), seed),
    }
    return Given(held, {"step": step, **chosen("default", reach=reach)})


def _ditherings() -> list[Given]:
    x, free = {"x": ANY, **ONES}, {"offsets": np.zeros(4)}
    found = [Given({**x, **free}, {"step": step}) for step in (0.0, -1.0, np.inf, 1e-300, np.nan, 2.0**-51, 2.0**-53)]
    wrong = ([0.1] * 3, [0.1], [0.5] * 4, [-0.5 - 2.0**-53] * 4, [np.nan] * 4, 0.5)
    found += [Given({**x, "offsets": np.array(offsets)}, {"step": 1.0}) for offsets in wrong]
    found += [Given({**x, **free}, {"step": 1.0, "reach": reach}) for reach in (-1, 2**52 + 1, 2**52)]
    found += [Given({"x": ANY, "signs": np.array(signs), **free}, {"step": 1.0}) for signs in WRONG_SIGNS]
    halfway = {"x": np.array([0.5 - 2.0**-40]), "signs": np.ones(1, np.int64), "offsets": np.zeros(1)}  # in float32
    found.append(Given(halfway, {"step": 1.0}))
    ones = {"signs": np.ones(4, np.int64), **free}
    over = (np.full(4, 1.7e308), np.array([1.7e308, 0, 0, 0]), np.ones(4, np.float16), np.array([1, np.nan, 0, 0]))
    return [*found, *(Given({"x": bad, **ones}, {"step": 1e300}) for bad in over)]


ROTATIONS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "identity": lambda rng, n: np.eye(n),
    "permutation": lambda rng, n: np.eye(n)[rng.permutation(n)] * rng.choice((-1.0, 1.0), n),
    "reflection": lambda rng, n: np.eye(n) - 2.0 / n,
    "any": lambda rng, n: np.linalg.qr(rng.standard_normal((n, n)))[0],
    "float32": lambda rng, n: np.eye(n, dtype=np.float32)[::-1],
    "almost": lambda rng, n: np.eye(n) * (1 + 2.0**-28),
    "not quite": lambda rng, n: np.eye(n) * (1 + 2.0**-26),
    "skew": lambda rng, n: np.eye(n) + 2.0**-25 * np.eye(n, k=1),
}
"""Orthogonal matrices, sums by the first three of which are exact where powers of two are; and two that are refused,
if there is more than one row."""


def _by_any(n: int, data: str, dtype: str, rotation: str, scale: str, seed: int) -> Given:
    made = ROTATIONS[rotation](np.random.default_rng([seed, 5]), n)
    return Given({"x": vector(data, n, dtype, seed), "rotation": made}, chosen("default", scale=scale))


def _any_rotations() -> list[Given]:
    eye = np.eye(3)
    wrong = (
        np.eye(2),
        np.full((3, 3), np.nan),
        np.ones((3, 3)),
        np.eye(3, dtype=np.int64),
        eye[:2],
        np.diag([1.0, 1.0, np.inf]),
    )
    found = [Given({"x": ANY, "rotation": rotation}) for rotation in wrong]
    found += [Given({"x": ANY, "rotation": eye}, {"scale": scale}) for scale in ("norm", "")]
    bad = (np.ones(3, np.float16), np.array([1.0, np.inf, 0.0]), np.full(3, 1.7e308), np.array([1.0, np.nan, 0.0]))
    return [*found, *(Given({"x": x, "rotation": eye}) for x in bad)]


HESSIANS = ("identity", "dyadic", "halves", "any", "diagonal", "float32", "singular", "indefinite")


def _hessian(hessian: str, n: int, seed: int) -> Array:
    rng = np.random.default_rng([seed, 6])
    below = np.tril(rng.integers(-2, 3, (n, n)), -1)
    powers = 2.0 ** rng.integers(-2, 3, n)
    G = rng.standard_normal((n, n))
    made: dict[str, Callable[[], Array]] = {
        "identity": lambda: np.eye(n),
        "dyadic": lambda: (below + np.eye(n)) * powers @ (below + np.eye(n)).T,
        "halves": lambda: (below / 2 + np.eye(n)) * powers @ (below / 2 + np.eye(n)).T,
        "any": lambda: G @ G.T + np.eye(n) / 8,
        "diagonal": lambda: np.diag(np.abs(G).sum(axis=1)),
        "float32": lambda: (G @ G.T + np.eye(n)).astype(np.float32),
        "singular": lambda: np.ones((n, n)),
        "indefinite": lambda: np.eye(n) - 2.0 / n,
    }
    found = made[hessian]()
    return np.asarray((found + found.T) / 2)


WEIGHTS = ("halves", "ties", "zeros", "eighths", "normal", "apart", "least", "one entry")


def _with_feedback(n: int, data: str, dtype: str, hessian: str, levels: Any, seed: int) -> Given:
    inputs = {"weights": vector(data, n, dtype, seed), "hessian": _hessian(hessian, n, seed)}
    return Given(inputs, chosen("default", levels=levels))


def _weights() -> list[Given]:
    eye, two = np.eye(2), np.array([0.25, 2.5])
    wrong = (-eye, np.array([[1.0, 0.5], [0.0, 1.0]]), np.eye(3), np.full((2, 2), np.nan), np.diag([1.0, np.inf]))
    found = [Given({"weights": two, "hessian": H}) for H in (*wrong, eye.astype(np.int64))]
    found += [Given({"weights": two, "hessian": eye}, {"levels": levels}) for levels in (0, -1, 1)]
    bad = (
        np.zeros(0),
        np.zeros(1025),
        two * 2.0**39,
        two * 2.0**40,
        np.array([2.0**40, -(2.0**40)]),
        np.array([1.0, np.nan]),
        two.astype(np.float16),
    )
    return [*found, *(Given({"weights": w, "hessian": np.eye(w.size)}) for w in bad)]


def _named(implementation: Any, given: Given) -> Said:
    return dict(implementation(**given.parameters)._asdict())


# --- what ranks do together ------------------------------------------------------------------------------------------


def _means(
    P: int, n: int, data: str, dtype: str, width: Any, seeds: str, drawn: str, seed: int
) -> Given:  # fmt: skip
    given: dict[str, Any] = {"seed": seed}
    if drawn != "seed":
        given = {"signs": np.array([signs_of(drawn, n, seed + p) for p in range(P)])}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, chosen("default", width=width, seeds=seeds), given)


def _sums(P: int, n: int, data: str, dtype: str, levels: int, drawn: str, dither: str, seed: int) -> Given:
    d = rotations.padded(n)
    given: dict[str, Any] = {} if drawn == "seed" else {"signs": signs_of(drawn, n, seed)}
    if dither != "seed":
        made = {"drawn": np.random.default_rng(seed).random((P, d)), "least": np.zeros((P, d))}
        given["dither"] = made.get(dither, np.full((P, d), 1 - 2.0**-53))
    if "seed" in (drawn, dither):
        given["seed"] = seed
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, {"levels": levels}, given)


STACK = np.array([[1.0, -2.0, 0.5], [0.25, 0.0, -0.0]])
TWO_ROWS = {"signs": np.ones((2, 3), np.int64)}


def _mean_examples() -> list[Given]:
    wrong: tuple[dict[str, Any], ...] = ({"width": 0}, {"width": 9}, {"seeds": "public"})
    found = [Given({"stack": STACK}, options, TWO_ROWS) for options in wrong]
    found += [Given({"stack": STACK}, {}, {"signs": np.array([s, s])}) for s in WRONG_SIGNS]
    for bad in (STACK.astype(np.float16), STACK.astype(np.int64), np.full((2, 3), np.nan), np.full((2, 3), 1.7e308)):
        found.append(Given({"stack": bad}, {}, TWO_ROWS))
    return found


def _sum_examples() -> list[Given]:
    given = {"dither": np.zeros((2, 4)), **ONES}
    found = [Given({"stack": STACK}, {"levels": levels}, given) for levels in (0, -1, 2**20, 2**20 + 1)]
    found += [Given({"stack": STACK}, {"levels": 2}, {**given, "signs": np.array(s)}) for s in WRONG_SIGNS]
    dithers: Sequence[Any] = (np.zeros((2, 3)), np.ones((2, 4)), np.full((2, 4), -(2.0**-60)), np.full((2, 4), np.nan))
    found += [Given({"stack": STACK}, {"levels": 2}, {**given, "dither": dither}) for dither in dithers]
    for bad in (STACK.astype(np.float16), STACK.astype(np.int64), np.full((2, 3), np.nan), np.full((2, 3), 1.7e308)):
        found.append(Given({"stack": bad}, {"levels": 2}, given))
    # a step that underflows, and sums beyond float32
    found += [Given({"stack": STACK * 5e-324}, {"levels": levels}, given) for levels in (1, 3, 100)]
    return [*found, Given({"stack": np.full((2, 3), 3e38, np.float32)}, {"levels": 2}, given)]


STACKS = {"P": RANKS, "n": sizes(8, 16, *TILES), "data": (*KINDS, "huge", "over", "least"), "dtype": DTYPES}
COUNTS = (
    1,
    Of("min(3, d)", lambda n: min(3, rotations.padded(n))),
    Of("ceil(d / 2)", lambda n: (rotations.padded(n) + 1) // 2),
    Of("max(d - 1, 1)", lambda n: max(rotations.padded(n) - 1, 1)),
    PADDED,
)

DEFINITIONS = {
    "DRIVE": _compressor("DRIVE", _vectors(_turned, scale=("default", "unbiased", "biased"))),
    "EDEN": _compressor(
        "EDEN", _vectors(_turned, width=tuple(range(1, 9)), scale=("default", "unbiased", "biased", "norm"))
    ),
    "RotatedDithering": _compressor(
        "RotatedDithering",
        _vectors(_dithered, levels=(1, 2, 3, 4, 7, 127, 2**14), dither=("drawn", "least", "largest", "halves")),
    ),
    "HadamardSketch": _compressor("HadamardSketch", _vectors(_kept, k=COUNTS, kept=("drawn", "first", "last"))),
    "randomised_hadamard": Definition(
        Space(
            _transformed,
            {
                "n": LENGTHS,
                "data": DATA,
                "dtype": (*DTYPES, "int64"),
                "signs": SIGNS,
                "inverse": ("default", False, True),
            },
        ).search(n=(1, 140)),
        called("rotated"),
        rotations.randomised_hadamard,
        examples=_transforms,
    ),
    "lloyd_max": Definition(
        Space(lambda bits, seed: Given({}, {"bits": bits}), {"bits": (1, *range(2, 13), 0, 13)}),
        _named,
        rotations.lloyd_max,
    ),
    "kashin": Definition(
        Space(
            _represented,
            {
                "n": LENGTHS,
                "data": DATA,
                "dtype": DTYPES,
                "signs": SIGNS,
                "rounds": (None, 1, 2, 3, 5, 9),
                "eta": ("default", 0.5, 0.75, 0.99),
                "delta": ("default", 1.0, 0.5, 0.125),
                "length": (
                    "default",
                    None,
                    PADDED,
                    Of("2 d", lambda n: 2 * rotations.padded(n)),
                    Of("4 d", lambda n: 4 * rotations.padded(n)),
                ),
                "exact": ("default", True, False),
            },
        ).search(n=(1, 140)),
        called("coefficients"),
        rotations.kashin,
        examples=_representations,
    ),
    "dithered_hadamard": Definition(
        Space(
            _with_offsets,
            {
                "n": LENGTHS,
                "data": DATA,
                "dtype": DTYPES,
                "signs": SIGNS,
                "offsets": ("one", "each", "quarters", "least", "largest", "none"),
                "step": (0.5, 1.0, 0.75, 1 / 3, 1e-3, 1e24),
                "reach": ("default", None, 0, 1, 5, 2**52),
            },
        ).search(n=(1, 140)),
        called("codes", "estimate"),
        rotations.dithered_hadamard,
        examples=_ditherings,
    ),
    "rotated_signs": Definition(
        Space(
            _by_any,
            {
                "n": (1, 2, 3, 4, 5, 8, 16, 17),
                "data": DATA,
                "dtype": DTYPES,
                "rotation": tuple(ROTATIONS),
                "scale": ("default", "unbiased", "biased"),
            },
        ).search(n=(1, 20)),
        called("estimate"),
        rotations.rotated_signs,
        examples=_any_rotations,
    ),
    "ldlq": Definition(
        Space(
            _with_feedback,
            {
                "n": (1, 2, 3, 4, 5, 8, 16, 17, 33),
                "data": WEIGHTS,
                "dtype": DTYPES,
                "hessian": HESSIANS,
                "levels": ("default", None, 1, 2, 3, 16),
            },
            combined=(("data", "hessian", "levels"),),
        ).search(n=(1, 40)),
        called("codes"),
        rotations.ldlq,
        examples=_weights,
    ),
    "rotated_mean": Definition(
        Space(
            _means,
            {
                **STACKS,
                "width": ("default", 1, 2, 3, 4, 5, 8),
                "seeds": ("default", "private", "shared"),
                "drawn": ("seed", *SIGNS),
            },
            options=("width", "seeds"),
            hiding={"data": tuple(IDLE)},
        ).search(P=(1, 12), n=(1, 40)),
        called("mean", "traffic"),
        rotations.rotated_mean,
        examples=_mean_examples,
    ),
    "rotated_sum": Definition(
        Space(
            _sums,
            {
                **STACKS,
                "levels": (1, 2, 3, 7, 8, 100, 2**20),
                "drawn": ("seed", *SIGNS),
                "dither": ("seed", "drawn", "least", "largest"),
            },
            options=("levels", "dither"),
            hiding={"data": tuple(IDLE)},
        ).search(P=(1, 12), n=(1, 40)),
        called("total", "traffic"),
        rotations.rotated_sum,
        examples=_sum_examples,
    ),
}
