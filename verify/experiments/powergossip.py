"""PowerGossip: the claims bound to what they are about, and the cases on which they are judged."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.powergossip import COLLECTIVES, GRAPHS, edges
from commbounds.collectives.traffic import Traffic
from commbounds.verify.data import KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called, chosen, vectors_of
from commbounds.verify.definitions import powergossip as definitions
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import RANKS, Of, Space
from commbounds.verify.study import studies

_EPS = float(np.finfo(np.float64).eps)


def shape_of(P: int, graph: str, rows: int, columns: int, rank: int, rounds: int, warm: bool) -> tuple[int, ...]:
    """Of the factors that are given."""
    one = (len(edges(graph, P)), rows + columns, min(rank, rows, columns))
    return one if warm else (rounds, *one)


# --- definition -------------------------------------------------------------------------------------------------------


def _given(
    P: int, rows: int, columns: int, data: str, dtype: str, graph: str | None, rank: int | None, rounds: int | None,
    start: int | None, warm: bool | None, epsilon: float | None, drawn: str, seed: int,
) -> Given:  # fmt: skip
    options = chosen(rows=rows, rank=rank, rounds=rounds, graph=graph, start=start, warm=warm, epsilon=epsilon)
    times = 1 if rounds is None else rounds
    shape = shape_of(P, graph or "ring", rows, columns, rank or 1, times, warm is not False)
    values = np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float64)
    return Given(
        {"stack": stack_of(data, P, rows * columns, dtype, seed)},
        options,
        {"seed": seed} if drawn == "seed" else {"factors": values},
    )


CASES = Space(
    _given,
    {
        "P": RANKS,
        "rows": (1, 3, 4),
        "columns": (2, 1, 5),
        "data": tuple(KINDS),
        "dtype": ("float32", "float64"),
        "graph": (None, *GRAPHS),
        "rank": (None, 1, 2, 4),
        "rounds": (None, 0, 1, 3, 5),
        "start": (None, 1, 0, 2),
        "warm": (None, True, False),
        "epsilon": (None, 0.0, 0.25),
        "drawn": ("seed", "small integers"),
    },
    options=("dtype", "graph", "rank", "rounds", "start", "warm", "epsilon", "drawn"),
    hiding={"rounds": (9,), "rank": (3,), "rows": (17, 33), "start": (3, 4)},
).search(P=(1, 10), rounds=(0, 6), start=(0, 4))

DEFINITIONS = {
    "powergossip_rounds": Definition(
        CASES,
        called(("result", "factors"), "traffic"),
        definitions.powergossip,
        # one rank has no links: of their factors there is none, in any shape
        examples=lambda: [Given({"stack": np.ones((1, 4))}, {"rows": 2}, {"factors": np.zeros((0, 1))})],
        refused={
            "rows": (0, Of("rows columns + 1", lambda rows, columns: rows * columns + 1)),
            "rank": (0,),
            "rounds": (-1,),
            "start": (-1,),
            "graph": ("star",),
            "epsilon": (-1e-300, np.inf),
        },
    )
}

# --- many ranks -------------------------------------------------------------------------------------------------------


def _facts(P: int, graph: str, rows: int, columns: int, rank: int, rounds: int, start: int) -> dict[str, Any]:
    ends = [end for i, j, _ in edges(graph, P) for end in (i, j)]
    turns = range(max(start, 1), start + rounds)
    odd = sum(t % 2 for t in turns)
    degree = max((ends.count(p) for p in range(P)), default=0)
    sizes = {"m": rows, "n": columns, "r": min(rank, rows, columns)}
    return {"degree": degree, "odd": odd, "even": len(turns) - odd, **sizes}


def _matrices(P: int, rows: int, columns: int, data: str, unseen: bool, seed: int) -> Array:
    stack = stack_of(data, P, rows * columns, "float64", seed)
    if unseen:
        stack.reshape(P, rows, columns)[:, :, 1:] = stack[0].reshape(rows, columns)[:, 1:]
    return stack


def _run(implementation: Any, x: Array, settings: dict[str, Any], rounds: int) -> tuple[Array, Traffic]:
    """The stack after so many rounds, and their traffic."""
    names = ("rows", "rank", "graph", "start", "warm")
    options = {name: settings[name] for name in names}
    shape = shape_of(settings["P"], settings["graph"], settings["rows"], settings["columns"], settings["rank"],
                     settings["rounds"], settings["warm"])  # fmt: skip
    factors = np.random.default_rng(settings["seed"]).standard_normal(shape)
    if settings["unseen"]:
        factors[..., settings["rows"], :] = 0
    given = factors if settings["warm"] else factors[:rounds]
    (stack, _), traffic = implementation(x, **options, rounds=rounds, factors=given)
    return stack, traffic


def _stacks(implementation: Any, x: Array, settings: dict[str, Any]) -> list[Array]:
    """The stack, and what it is after 0, 1, ... rounds."""
    return [x, *(_run(implementation, x, settings, rounds)[0] for rounds in range(settings["rounds"] + 1))]


_AXES = {
    "P": RANKS,
    "rows": (3, 1, 4),
    "columns": (2, 1, 5),
    "data": ("normal", "ties", "of all sizes", "one rank"),
    "graph": GRAPHS,
    "rank": (1, 2, 4),
    "rounds": (3, 0, 1, 6),
    "start": (1, 0, 2),
    "warm": (True, False),
    "unseen": (False, True),
}
_MATRICES = Space(_matrices, _AXES, options=("graph", "rank", "rounds", "start", "warm"))
_SPACE = _MATRICES.without("one column has none that is not seen", lambda columns, unseen: unseen and columns == 1)
MANY = Family("powergossip", "powergossip_rounds", _SPACE, facts=_facts, run=_stacks, exact=False)
COUNTED = Family("powergossip.words", "powergossip_rounds", _SPACE, facts=_facts, run=_run)


def _sent(found: tuple[Array, Traffic]) -> int:
    return int(found[1].sent.max())


def _exact(stack: Array) -> list[list[Fraction]]:
    return [list(map(Fraction, row)) for row in stack.tolist()]


def _means(stack: Array) -> list[Fraction]:
    return [sum(column) / len(stack) for column in zip(*_exact(stack), strict=True)]


def _largest(stacks: list[Array], r: int) -> float:
    """At least the norm of a rank's matrix on the way: between two rounds 2 r times what the ends had is added."""
    return (1 + 2 * r) * max(float(np.linalg.norm(stack, axis=1).max()) for stack in stacks)


def _shift(found: list[Array], r: int, degree: int, rounds: int) -> Rounded:
    before, after = _means(found[0]), _means(found[-1])
    shift = float(sum((a - b) ** 2 for a, b in zip(after, before, strict=True)))
    # the mean is off by what the additions of the moves round, one a neighbour and round
    return Rounded(shift, (rounds * degree * _EPS * _largest(found, r)) ** 2)


def _distortion(stack: Array) -> Fraction:
    means = _means(stack)
    return sum(((v - c) ** 2 for row in _exact(stack) for v, c in zip(row, means, strict=True)), Fraction(0)) / len(
        stack
    )


def _grown(found: list[Array], settings: dict[str, Any], degree: int, r: int) -> Rounded:
    before, after = float(_distortion(found[0])), float(_distortion(found[-1]))
    # a move's entry: a column's norm, a product, a difference, r terms and a weight; all of them with every neighbour
    operations = settings["rounds"] * degree * (2 * max(settings["rows"], settings["columns"]) + r + 8)
    error = operations * _EPS * _largest(found, r) * r
    return Rounded(after / before, (2 * after**0.5 * error + 3 * error**2) / before)


def _curve(axis: str, ranks: int, rank: int) -> Any:
    fixed = {"P": ranks, "rows": 5, "columns": 5, "data": "normal", "graph": "ring", "rank": rank, "start": 1}
    values = (1, 3, 5, 9, 17)
    return [MANY.over(axis, values, f"a ring of {ranks}, 5 x 5, {rank} columns", by="rounds", **fixed)]


_UNSEEN = MANY.every(P=(2, 3), columns=(2, 5), unseen=(True,), rounds=(1,), start=(1,), rank=(1,), graph=("ring",))
_STUDIES = (
    *COUNTED.studies(_sent, "sent", curves=_curve("odd", 4, 2)),
    *MANY.studies(_shift, "mean.kept"),
    *MANY.studies(_grown, "distances.one_column", extremal=_UNSEEN, curves=_curve("odd", 8, 1)),
)

# --- two ranks --------------------------------------------------------------------------------------------------------


def _pair(rows: int, columns: int, kind: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    u, v = rng.integers(1, 4, rows) * rng.choice((-1, 1), rows), rng.integers(1, 4, columns)
    if kind == "one entry":
        u[1:] = v[1:] = 0
    base = rng.integers(-4, 5, rows * columns) if kind != "from zero" else np.zeros(rows * columns)
    return np.stack([base + 0.0, base + np.outer(u, v).ravel()])


_SIZES = {"rows": (3, 1, 4, 7), "columns": (2, 1, 5)}
_KIND = {"kind": ("one entry", "from zero", "any")}
_PAIR = {"graph": "path", "rank": 1}


def _left(x: Array, rows: int, factor: Fraction) -> dict[str, Any]:
    """A multiple of the difference's first column, and its norm."""
    column = (x[1] - x[0]).reshape(rows, -1)[:, 0] * float(factor)
    return {"column": column, "r": 1, "seen": float(np.linalg.norm(column))}


def _even(implementation: Any, x: Array, rows: int, columns: int, column: Array, guard: Fraction) -> Array:
    factors = np.concatenate([column, np.zeros(columns)]).reshape(1, rows + columns, 1)
    given: dict[str, Any] = {**_PAIR, "start": 2, "epsilon": float(guard), "factors": factors}
    (stack, _), _traffic = implementation(x, rows, **given)
    return stack  # type: ignore[no-any-return]


def _remaining(x: Array, found: Array, rows: int, columns: int, seen: float, guard: Fraction) -> Rounded:
    before, after = float(_distortion(x)), float(_distortion(found))
    kept = (seen / (seen + float(guard))) ** 2
    # norm, its division, a product over the rows, the outer product, the weight and the addition
    error = (2 * rows + 8) * _EPS * (float(np.linalg.norm(x)) + 2 * before**0.5) / before**0.5
    return Rounded(after / before, 2 * (1 - kept) * error + 3 * error**2 + 8 * _EPS)


ALIGNED = Family(
    "powergossip.pair",
    "powergossip_rounds",
    Space(
        _pair,
        {
            **_SIZES,
            **_KIND,
            "factor": (Fraction(1), Fraction(-3), Fraction(1, 1024)),
            "guard": (Fraction(0), Fraction(1, 4), Fraction(1), Fraction(1, 10**8)),
        },
    ),
    facts=_left,
    run=_even,
    exact=False,
)


def _once_agreed(implementation: Any, x: Array, rows: int, columns: int, start: int, seed: int) -> Array:
    factors = np.random.default_rng(seed).standard_normal((1, rows + columns, 1))
    (_, held), _traffic = implementation(np.stack([x[0], x[0]]), rows, **_PAIR, start=start, factors=factors)
    (stack, _), _traffic = implementation(x, rows, **_PAIR, rounds=2, start=start + 1, factors=held)
    return stack  # type: ignore[no-any-return]


def _unchanged(x: Array, found: Array) -> Fraction:
    return _distortion(found) / _distortion(x)


AGREED = Family(
    "powergossip.pair",
    "powergossip_rounds",
    Space(_pair, {**_SIZES, **_KIND, "start": (1, 2)}),
    facts=lambda start: {"r": 1, "odd": 1},
    run=_once_agreed,
)


# --- many columns -----------------------------------------------------------------------------------------------------


def _dependent(implementation: Any, x: Array, rows: int, rank: int, rounds: int, seed: int) -> list[Array]:
    factors = np.random.default_rng(seed).standard_normal((1, x.shape[1] // rows + rows, min(rank, rows)))
    return [x, *(implementation(x, rows, rank, t, graph="ring", factors=factors)[0][0] for t in range(rounds + 1))]


DEPENDENT = Family(
    "powergossip.distances",
    "powergossip_rounds",
    Space(
        lambda rows, seed: _pair(rows, rows, "from zero", seed),
        {"rows": (5, 4), "rank": (4, 3), "rounds": (6, 4, 2), "again": tuple(range(12))},
    ),
    facts=lambda rows, rank, rounds: {"r": min(rank, rows), "degree": 1, "columns": rows, "odd": (rounds + 1) // 2},
    run=_dependent,
    exact=False,
)


def _apart(found: list[Array], settings: dict[str, Any], degree: int, r: int) -> Rounded:
    return _grown(found, {**settings, "columns": settings["rows"]}, degree, r)


EXPERIMENTS = studies(
    *_STUDIES,
    *DEPENDENT.studies(_apart, "columns"),
    *ALIGNED.studies(_remaining, "epsilon"),
    *AGREED.studies(_unchanged, "recovers"),
)

# --- test vectors -----------------------------------------------------------------------------------------------------


def subjects() -> list[Any]:
    """What has test vectors here."""
    from commbounds.verify.vectors.collectives import SIZES, case_of, collective, ranks

    def cases() -> Iterator[Any]:
        for graph, (P, n, dtype, why) in zip(itertools.cycle(GRAPHS), SIZES, strict=False):
            given = {"rows": 1, "rounds": 3, "graph": graph}
            yield case_of(why, {"stack": ranks(P, n, dtype, 91)}, given, {"seed": 5})
        stack = {"stack": ranks(3, 15, "float32", 92)}
        for about, options in {
            "two columns": {"rank": 2, "rounds": 4},
            "factors anew": {"warm": False, "rounds": 3},
            "from round 0": {"start": 0, "rounds": 3},
        }.items():
            yield case_of(f"Matrices of 3 x 5: {about}.", stack, {"rows": 3, **options}, {"seed": 6}, about=about)
        yield case_of("Rows do not divide the entries.", stack, {"rows": 4}, {"seed": 6}, refused=True)

    run = vectors_of(DEFINITIONS["powergossip_rounds"], COLLECTIVES["powergossip_rounds"])
    return [collective("powergossip_rounds", cases, run)]
