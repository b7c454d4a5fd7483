"""Sparse all-reduces: the spaces of the stacks that they are run on, and what their runs give."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import Traffic
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, SEED, Of, Settings, Space, sizes
from commbounds.verify.study import Case, Curve, shared

Rows = tuple[tuple[float, ...], ...]

# --- stacks ------------------------------------------------------------------------------------------------------


def _integers(rng: np.random.Generator, P: int, n: int) -> Array:
    x: Array = rng.integers(-3, 4, (P, n)).astype(np.float64)
    return x


def _identical(rng: np.random.Generator, P: int, n: int) -> Array:
    return np.tile(rng.permutation(n) + 1.0, (P, 1))


def _disjoint(rng: np.random.Generator, P: int, n: int) -> Array:
    return np.where(np.arange(n) % P == np.arange(P)[:, None], _integers(rng, P, n), 0.0)


def _own_regions(_rng: np.random.Generator, P: int, n: int) -> Array:
    region = np.repeat(np.arange(P), [len(part) for part in np.array_split(np.arange(n), P)])
    return np.where(region == np.arange(P)[:, None], np.arange(n) + 1.0, 0.0)


def _one_region(rng: np.random.Generator, P: int, n: int) -> Array:
    return np.where(np.arange(n) < -(-n // P), _integers(rng, P, n), 0.0)


def _one_rank(rng: np.random.Generator, P: int, n: int) -> Array:
    return np.outer(np.arange(P) == 0, rng.permutation(n) + 1.0)


def _few(rng: np.random.Generator, P: int, n: int) -> Array:
    return _integers(rng, P, n) * (rng.random((P, n)) < 0.2)


def _cancelling(rng: np.random.Generator, P: int, n: int) -> Array:
    return np.outer((-1.0) ** np.arange(P), rng.integers(-3, 4, n))


FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "zeros": lambda _rng, P, n: np.zeros((P, n)),
    "small integers": _integers,
    "identical": _identical,
    "disjoint": _disjoint,
    "own regions": _own_regions,
    "one region": _one_region,
    "one rank": _one_rank,
    "few nonzeros": _few,
    "cancelling": _cancelling,
    "rounded normal": lambda rng, P, n: np.rint(2.0**20 * rng.standard_normal((P, n))),
    "normal": lambda rng, P, n: rng.standard_normal((P, n)),
}
"""Stacks by name; simplest first, as examples shrink in this order. All but the last hold integers."""


def stacked(P: int, n: int, data: str | Rows, seed: int) -> Array:
    """A stack of a family, or the rows that are given."""
    if isinstance(data, str):
        return FAMILIES[data](np.random.default_rng([seed, P, n]), P, n)
    return np.array(data)


# --- spaces ------------------------------------------------------------------------------------------------------

GATHERS = ("bruck", "ring", "recursive-doubling")
_FEWEST = Of(
    "the fewest of b-sag",
    lambda P, k, teams, synchronise: -(-(k * teams // P) // teams) if synchronise == "b-sag" else None,
)
_OPTIONS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "topk_allgather": {"allgather": GATHERS},
    "topk_dsa": {"switch": ("model", "code", "never"), "allgather": ("ring", "bruck", "recursive-doubling")},
    "gtopk_allreduce": {"putback": ("conserving", "published")},
    "gaussiank_allreduce": {"adapt": ("none", "vgg", "lstm"), "allgather": GATHERS},
    "spardl_allreduce": {"teams": (1, 2, 3, 4), "synchronise": ("r-sag", "b-sag"), "sag_entries": (None, _FEWEST)},
}
"""What every collective can be asked for, the default first."""
_SPACE = (
    Space(
        stacked,
        {
            "P": RANKS,
            "n": sizes(32, 50),
            "data": tuple(FAMILIES),
            "k": (
                1,
                Of("n // 3, at least 1", lambda n: n // 3 or 1),
                Of("n", lambda n: n),
                Of("P, at most n", lambda P, n: min(P, n)),
            ),
        },
    )
    .search(n=(1, 40), k=(1, 40))
    .without("More entries than there are.", lambda n, k: k > n)
)
_LARGE = [
    {"P": P, "n": 200, "data": data, "k": k}
    for P, data, k in ((16, "few nonzeros", 66), (16, "normal", 1), (33, "small integers", 66))
]
_STACKS = _SPACE.including(*(_SPACE.at(**row) for row in _LARGE))


class Ran(NamedTuple):
    """What a collective gives."""

    result: Any
    traffic: Traffic


def ran(implementation: Any, x: Array, k: int, settings: Settings) -> Ran:
    """The collective, asked for what the settings say; once for small stacks, which several families have."""
    options = tuple((name, settings[name]) for listed in _OPTIONS.values() for name in listed if name in settings)
    if x.size > 128:
        return Ran(*implementation(x, k, **dict(options)))
    return _remembered(implementation, x.tobytes(), x.shape, k, options)


@lru_cache(maxsize=1 << 12)
def _remembered(
    implementation: Any, x: bytes, shape: tuple[int, ...], k: int, options: tuple[tuple[str, Any], ...]
) -> Ran:
    return Ran(*implementation(np.frombuffer(x).reshape(shape).copy(), k, **dict(options)))


@shared
def family_of(
    subject: str,
    make: Callable[..., Array] = stacked,
    facts: Callable[..., Mapping[str, Any]] | None = None,
    **axes: Sequence[Any],
) -> Family:
    """Stacks of every kind, with all options but for the axes that are given."""
    space = replace(_STACKS, make=make).replaced(**{**_OPTIONS[subject], **axes})
    if "teams" in space.axes:
        space = space.without("Teams that do not divide the ranks.", lambda P, teams: P % teams > 0).without(
            "Teams that cannot double.", lambda teams, synchronise: synchronise == "r-sag" and teams & (teams - 1) > 0
        )
        space = replace(space, combined=(("data", "k", "teams", "synchronise"),))
    return Family("sparse", subject, space, facts, run=ran, exact=False)


SMALL_STACKS = (
    "every stack of 1..3 ranks and 2 entries from few small integers, every k; then one vector of P + 1 small "
    "integers, shifted by 0..P from rank to rank, P = 3, 5, 8, k = 1, 2, P + 1"
)
"""What `every_small_stack` enumerates at first."""
_SHAPES = ((1, 2), (2, 2), (3, 2), (2, 3), (4, 2), (3, 3))
"""(P, n), small first."""


def _small(level: int) -> Iterator[Rows]:
    """Every stack of a few small integers, small first, larger ones from level 1 on; shifted ones."""
    for P, n in _SHAPES[: (3, 5, 6)[level]]:
        values = (0.0, 1.0, -1.0, 2.0, -2.0) if P == 1 else (0.0, -1.0, 2.0)
        yield from itertools.product(itertools.product(values, repeat=n), repeat=P)
    for P in (3, 5, 8):
        first = np.resize((2.0, -1.0, 0.0, 1.0, -2.0, 3.0, 0.0), P + 1)
        for shift in range(P + 1):
            yield tuple(tuple(np.roll(first, shift * p).tolist()) for p in range(P))


@shared
def every_small_stack(family: Family, **options: Any) -> Callable[[Any], Iterator[Case]]:
    """Every stack of a few small integers with these options, or the first ones."""
    return family.every(
        data=_small,
        P=lambda data: [len(data)],
        n=lambda data: [len(data[0])],
        k=lambda n: sorted({1, 2, n}),
        **options,
    )


def on_small_stacks(family: Family, **options: Any) -> dict[str, Any]:
    """The grid of a claim."""
    return {"grid": every_small_stack(family, **options), "enumerated": SMALL_STACKS}


def neighbour(rng: np.random.Generator, case: Case) -> Case:
    """The case with one entry changed, moved to another rank or place, or with another k."""
    x, settings = case.array.copy(), {**case.settings, "data": "attacked"}
    P, n = x.shape
    kind, p, i = rng.integers(4), rng.integers(P), rng.integers(n)
    if kind == 0:
        settings["k"] = int(np.clip(settings["k"] + rng.choice((-1, 1)), 1, n))
    elif kind == 1:
        x[p, i] = rng.integers(-3, 4)
    else:
        other = (rng.integers(P), i) if kind == 2 else (p, rng.integers(n))
        x[p, i], x[other] = x[other], x[p, i]
    return Case(settings, x)


# --- what is measured --------------------------------------------------------------------------------------------


def mean_received(traffic: Traffic) -> Fraction:
    """Words that a rank receives."""
    return Fraction(int(traffic.received.sum()), traffic.received.size)


def critical_path(found: Ran) -> int:
    """Words on the critical path, announcements too."""
    return found.traffic.critical_path


# --- what is drawn -----------------------------------------------------------------------------------------------

ALONG = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of ranks along the axis of most curves."""
_DRAWS = 5


@shared
def over_ranks(family: Family, n: int, k: int, *others: str, relative: bool = False) -> tuple[Curve]:
    """Random vectors, and those of `others`, over the number of ranks."""

    def points(seed: int) -> Iterator[tuple[float, list[Case]]]:
        for P in ALONG:
            rows: list[Settings] = [{"data": "rounded normal", SEED: seed % 2**31 + i} for i in range(_DRAWS)]
            rows += [{"data": data} for data in others]
            yield P, [family.case(family.space.at(P=P, n=n, k=k, **row)) for row in rows]

    return (Curve("P", f"n = {n}, k = {k}" + ", over the bound" * relative, points, _DRAWS, relative),)


def along(family: Family, axis: str, values: Iterable[int], **fixed: Any) -> tuple[Curve]:
    """One random stack a point, over the values of an axis."""

    def points(seed: int) -> Iterator[tuple[float, list[Case]]]:
        for value in values:
            row = {**fixed, axis: value, "data": "normal", SEED: seed % 2**31}
            yield value, [family.case(family.space.at(**row))]

    label = ", ".join(f"{name} = {fixed[name]}" for name in ("P", "n", "k") if name in fixed)
    return (Curve(axis, label, points, typical=1),)
