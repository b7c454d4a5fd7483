"""Sparse all-reduces: the stacks to measure them on, and what is measured."""

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.collectives import COLLECTIVES, Traffic
from commbounds.verify.experiment import Budget
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Curve, Outcome, Study, shared

Measure = Callable[[Case, Any, Traffic], Any]
Values = Callable[[Case, Any, Traffic], dict[str, Any]]

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


def case_of(P: int, n: int, k: int, family: str = "small integers", seed: int = 0, **options: Any) -> Case:
    """One stack of a family, a function of the arguments alone, to be reduced with `options`."""
    x = FAMILIES[family](np.random.default_rng([seed, P, n]), P, n)
    return Case({"P": P, "n": n, "k": k, **options, "family": family, "seed": seed}, x)


def grid(
    ranks: Sequence[int], sizes: Sequence[int], *choices: dict[str, Any], families: Sequence[str] = ("small integers",)
) -> Callable[[int], Iterator[Case]]:
    """Every number of ranks (twice as many from level 1 on), size, k, choice of options and family."""

    def cases(level: int) -> Iterator[Case]:
        more = range(1, 2 * max(ranks) + 1) if level else ranks
        for P, n in itertools.product(more, sizes):
            for k, options, family in itertools.product(range(1, n + 1), choices or ({},), families):
                yield case_of(P, n, k, family, **options)

    return cases


SMALL_STACKS = (
    "every stack of 1..3 ranks and 2 entries from few small integers, every k; then one vector of P + 1 small "
    "integers, shifted by 0..P from rank to rank, P = 3, 5, 8, k = 1, 2, P + 1"
)
"""What `every_small_stack` enumerates at first."""
_SHAPES = ((1, 2), (2, 2), (3, 2), (2, 3), (4, 2), (3, 3))
"""(P, n), small first."""


@shared
def every_small_stack(*choices: dict[str, Any]) -> Callable[[int], Iterator[Case]]:
    """Every stack of a few small integers, small first, with every k, larger ones from level 1 on; shifted ones."""

    def cases(level: int) -> Iterator[Case]:
        for P, n in _SHAPES[: (3, 5, 6)[level]]:
            values = (0.0, 1.0, -1.0, 2.0, -2.0) if P == 1 else (0.0, -1.0, 2.0)
            for entries in itertools.product(values, repeat=P * n):
                x = np.array(entries).reshape(P, n)
                for k, options in itertools.product(range(1, n + 1), choices or ({},)):
                    yield Case({"P": P, "n": n, "k": k, **options}, x)
        for P in (3, 5, 8):
            first = np.resize((2.0, -1.0, 0.0, 1.0, -2.0, 3.0, 0.0), P + 1)
            for shift, k, options in itertools.product(range(P + 1), (1, 2, P + 1), choices or ({},)):
                x = np.array([np.roll(first, shift * p) for p in range(P)])
                yield Case({"P": P, "n": P + 1, "k": k, **options}, x)

    return cases


@shared
def by_hand(*choices: dict[str, Any]) -> Callable[[Budget], Iterator[Case]]:
    """Every family at a few sizes."""

    def cases(budget: Budget) -> Iterator[Case]:
        shapes = ((1, 5), (2, 7), (3, 6), (4, 32), (7, 50), (8, 8)) + ((16, 200), (33, 500)) * bool(budget.level)
        for (P, n), family, options in itertools.product(shapes, FAMILIES, choices or ({},)):
            for k in sorted({1, n // 3 or 1, n}):
                yield case_of(P, n, k, family, **options)

    return cases


@st.composite
def _drawn(draw: st.DrawFn, choices: tuple[dict[str, Any], ...], ranks: int, largest: int) -> Case:
    P, n = draw(integers(1, ranks)), draw(integers(1, largest))
    k, options = draw(integers(1, n)), draw(sampled_from(choices or ({},)))
    return case_of(P, n, k, draw(sampled_from(tuple(FAMILIES))), draw(integers(0, 2**31)), **options)


@shared
def drawn(*choices: dict[str, Any], ranks: int = 9, largest: int = 40) -> Callable[[], st.SearchStrategy[Case]]:
    """Generated stacks: P, n, k, options, family and seed."""
    return partial(_drawn, choices, ranks, largest)


def neighbour(rng: np.random.Generator, case: Case) -> Case:
    """The case with one entry changed, moved to another rank or place, or with another k."""
    assert case.x is not None
    x, settings = np.array(case.x), {**case.settings, "family": "attacked"}
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

_SMALL = 128
"""Entries of small stacks."""
_OPTIONS = ("allgather", "switch", "putback", "adapt", "teams", "synchronise", "sag_entries")


def data(traffic: Traffic) -> Traffic:
    """Words of entries and of dense blocks, without the announcements of sizes."""
    return traffic.only("split", "allgather", "dense")


@lru_cache(maxsize=64)
def _defaults(function: Callable[..., Any]) -> Mapping[str, Any]:
    """What the options of a collective are where a case does not set them."""
    given = inspect.signature(function).parameters.values()
    return {option.name: option.default for option in given if option.default is not option.empty}


def options_of(subject: str, case: Case) -> dict[str, Any]:
    """Every option of the collective on the case."""
    return {name: case.settings.get(name, default) for name, default in _defaults(COLLECTIVES[subject]).items()}


def performed(implementation: Any, case: Case) -> tuple[Any, Traffic]:
    """What the collective returns for the case and its options; once for small stacks, which several claims have."""
    defaults, x = _defaults(implementation), case.array
    given = {name: case.settings[name] for name in _OPTIONS if name in case.settings}
    options = {name: value for name, value in given.items() if name not in defaults or value != defaults[name]}
    if x.size > _SMALL:
        return _returned(implementation, x, case.settings["k"], options)
    return _small(implementation, x.tobytes(), x.shape, case.settings["k"], tuple(options.items()))


def _returned(implementation: Any, x: Array, k: int, options: Mapping[str, Any]) -> tuple[Any, Traffic]:
    result, traffic = implementation(x, k, **options)
    return result, traffic


@lru_cache(maxsize=1 << 12)
def _small(implementation: Any, x: bytes, shape: tuple[int, ...], k: int, options: Any) -> tuple[Any, Traffic]:
    return _returned(implementation, np.frombuffer(x).reshape(shape).copy(), k, dict(options))


def trial(
    measure: Measure,
    values: Values | None = None,
    slack: Callable[[Case], float] | None = None,
    active: Callable[[Case], bool] = lambda _case: True,
) -> Callable[[Any, Case], Outcome]:
    """Runs the collective on a case and measures it; `values` are the symbols that depend on the result."""

    def run(implementation: Any, case: Case) -> Outcome:
        result, traffic = case.once(performed, implementation)
        known: dict[str, Any] = {
            name: case.settings[name] for name in ("P", "n", "k", "teams") if name in case.settings
        }
        more = {} if values is None else values(case, result, traffic)
        return Outcome(measure(case, result, traffic), {**known, **more}, slack(case) if slack else 0.0, active(case))

    return run


def study(name: str, subject: str, run: Callable[[Any, Case], Outcome], **sources: Any) -> Study:
    """The study of a claim of this column; hypotheses know all options of the collective."""
    return Study(name, subject, run, known=lambda _implementation, case: options_of(subject, case), **sources)


# --- what is drawn -----------------------------------------------------------------------------------------------

RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of ranks along the axis of most curves."""
_DRAWS = 5


@shared
def _over_ranks(n: int, k: int, *others: str, **options: Any) -> Callable[[int], Iterator[tuple[float, list[Case]]]]:
    def points(seed: int) -> Iterator[tuple[float, list[Case]]]:
        for P in RANKS:
            typical = [case_of(P, n, k, "rounded normal", seed % 2**31 + i, **options) for i in range(_DRAWS)]
            yield P, [*typical, *(case_of(P, n, k, family, **options) for family in others)]

    return points


def over_ranks(
    n: int,
    k: int,
    *others: str,
    worst: Callable[[int], list[Case]] | None = None,
    relative: bool = False,
    **options: Any,
) -> tuple[Curve]:
    """Random vectors, and those of the families `others` and of `worst`, over the number of ranks."""
    shown = _over_ranks(n, k, *others, **options)

    points = shown if worst is None else partial(_and_worst, shown, worst)
    return (Curve("P", f"n = {n}, k = {k}" + ", over the bound" * relative, points, _DRAWS, relative),)


def _and_worst(
    shown: Callable[[int], Iterator[tuple[float, list[Case]]]], worst: Callable[[int], list[Case]], seed: int
) -> Iterator[tuple[float, list[Case]]]:
    return ((P, [*cases, *worst(int(P))]) for P, cases in shown(seed))
