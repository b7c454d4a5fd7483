"""Studies of averaging in random groups: all groups and failures of small sizes enumerated; sequential tests beyond."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import (
    common_multiple,
    distortions,
    farthest,
    masks,
    some_vectors,
    spanning,
)
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.finding import Series
from commbounds.verify.space import Of, Space, nothing, rationals
from commbounds.verify.study import Outcome, Stream

_CUT = ("cut", "blocks", "occupied")


def _sizes(N: int, r: int, sizes: str) -> tuple[int, ...]:
    """Those given, or as even as can be."""
    return tuple(map(int, sizes.split("+"))) if sizes else tuple(N // r + (g < N % r) for g in range(r))


def all_choices(reading: str, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every admitted way to choose, all equally likely."""
    found = READINGS[reading]
    ranges = [range(size) for size in found.ranges(sum(sizes), len(sizes))]
    return [choices for choices in itertools.product(*ranges) if found.labels(sizes, choices) is not None]


def _factor(
    name: str, implementation: Any, N: int, r: int, rounds: int, reading: str, rule: str, failure: Fraction, sizes: str
) -> Outcome:
    """E D_T / D_0 over all groups and failures, on the spanning input that is farthest from the bound."""
    given, x = _sizes(N, r, sizes), spanning(N, common_multiple(N, rounds))
    admitted, totals = all_choices(reading, given), [Fraction(0)] * x.shape[1]

    @cache  # other groups have the same averages
    def left(result: bytes) -> list[Fraction]:
        return distortions(np.frombuffer(result).reshape(x.shape), x)

    for alive, probability in masks(N, rounds, failure):
        for choices in itertools.product(admitted, repeat=rounds):
            result, _ = implementation(
                x, r, rounds, reading=reading, sizes=given, choices=choices, alive=alive, rule=rule
            )
            here = left(np.asarray(result, np.float64).tobytes())
            totals = [total + probability * value for total, value in zip(totals, here, strict=True)]
    values = {"N": N, "r": r, "rounds": rounds, "failure": failure, "M": given[0]}
    values["blocks"] = _expected_blocks(reading, given, failure, rule)
    count = len(admitted) ** rounds
    ratios = [total / count / start for total, start in zip(totals, distortions(x), strict=True) if start]
    return Outcome(farthest(name, ratios, values), values)


def _expected_blocks(reading: str, sizes: tuple[int, ...], p: Fraction, rule: str) -> Fraction:
    """E R, from the groups themselves."""
    admitted, N = all_choices(reading, sizes), sum(sizes)
    total = Fraction(0)
    for choices in admitted:
        labels = READINGS[reading].labels(sizes, choices)
        assert labels is not None
        for alive, probability in masks(N, 1, p):
            groups = labels.copy()
            alone = ~alive[0] if rule == "skip" else np.isin(labels, labels[~alive[0]])
            total += probability * (np.unique(groups[~alone]).size + int(alone.sum()))
    return total / len(admitted)


_MANY = "Groups of more than three peers over two rounds, as all are gone through."
_EVERY = (
    Space(
        nothing,
        {
            "N": (2, 1, 3, 4),
            "r": (1, 2, 3, 4),
            "rounds": (1, 2),
            "reading": ("cut",),
            "rule": ("skip",),
            "failure": rationals(0),
            "sizes": ("",),
        },
        combined=(("N", "r", "rounds", "reading"),),
    )
    .without("More groups than peers.", lambda N, r: r > N)
    .without(_MANY, lambda N, rounds: rounds > 1 and N > 3)
)
_UNEVEN = [
    _EVERY.at(N=5, r=2),
    *(_EVERY.at(N=4, r=sizes.count("+") + 1, sizes=sizes) for sizes in ("1+3", "3+1", "1+1+2")),
]


def _family(space: Space, searched: bool = False) -> Family:
    return Family("moshpit.random_groups", "random_groups", space, searched=searched)


_CUTS = _family(_EVERY.including(*_UNEVEN))
_ALL_CUTS = _family(_EVERY.replaced(reading=_CUT).including(*_UNEVEN), searched=True)
_LABELS, _PARTITIONS = (_family(_EVERY.replaced(reading=(reading,))) for reading in ("labels", "partitions"))
_SLOTS = _family(_EVERY.replaced(reading=("slots",), rounds=(1,)))
_FAILING = replace(
    _EVERY.replaced(N=(2, 3, 4), r=(1, 2), rounds=(1,), failure=rationals(0, "1/5", "1/2", 1)),
    combined=(("N", "r", "failure"),),
)
_SKIPPED, _ABORTED = (_family(_FAILING.replaced(rule=(rule,))) for rule in ("skip", "abort"))
_READINGS = _EVERY.replaced(
    rounds=(1,), reading=("cut", "blocks", "occupied", "labels", "partitions"), rule=("skip", "abort"),
    failure=rationals(0, "1/3", "1/2"),
).without("Failures of four peers, as all are gone through.", lambda N, failure: N > 3 and failure > 0)  # fmt: skip
_GENERAL = replace(_family(_READINGS), arrays=2)


def _repeated(N: int, r: int, reading: str, implementation: Any, rng: np.random.Generator, count: int) -> Floats:
    """D_1 / D_0 of `count` runs from random numbers of the implementation's own."""
    x = some_vectors(N, 3, 1, 1)
    start, centre = float(sum(distortions(x))), x.mean(axis=0)
    found = np.empty(count)
    for j in range(count):
        result, _ = implementation(x, r, 1, rng, reading=reading)
        found[j] = np.square(result - centre).sum() / N / start
    return found


def _streams(
    name: str,
    reading: str,
    implementation: Any,
    shapes: Sequence[tuple[int, int]] = ((12, 3), (40, 8)),
    cost: int = 100,
) -> list[Stream]:
    """D_1 / D_0 lies in [0, 1]: averaging is a projection. A factor near 1/2 is told apart soonest, up and down."""
    streams = []
    for N, r in shapes:
        claimed = float(claims()[name].bound(N=N, r=r, rounds=1))

        def draw(rng: np.random.Generator, count: int, N: int = N, r: int = r, claimed: float = claimed) -> Any:
            return _repeated(N, r, reading, implementation, rng, count) - claimed

        streams.append(
            Stream(f"D_1/D_0, {reading}, N={N}, r={r}", draw, -claimed, 1 - claimed, unit=claimed, cost=cost)
        )
    return streams


def _curve(name: str, reading: str, implementation: Any, seed: int) -> list[Series]:
    """E D_1 / D_0 against N for N/2 groups, means of 400 runs."""
    sizes, rng = [2, 4, 8, 16, 32, 64], np.random.default_rng(seed)
    bounds = [float(claims()[name].bound(N=N, r=N // 2, rounds=1)) for N in sizes]
    means, low, high = [], [], []
    for N in sizes:
        found = _repeated(N, N // 2, reading, implementation, rng, 400)
        means.append(float(found.mean()))
        low.append(float(np.quantile(found, 0.05)))
        high.append(float(np.quantile(found, 0.95)))
    return [Series("r = N/2, one round", "N", [float(N) for N in sizes], bounds, means, low, means, high)]


def _failure_curve(name: str, rule: str, implementation: Any, seed: int) -> list[Series]:
    """E D_1 / D_0 against p for 8 groups of 4, means of 300 runs."""
    rates, rng = [0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0], np.random.default_rng(seed)
    N, r = 32, 8
    x = some_vectors(N, 3, 1, 1)
    start, means = float(sum(distortions(x))), []
    for p in rates:
        total = 0.0
        for _ in range(300):
            result, _ = implementation(x, r, 1, rng, alive=rng.random((1, N)) >= p, rule=rule)
            total += float(np.square(result - x.mean(axis=0)).sum()) / N / start
        means.append(total / 300)
    bounds = [float(claims()[name].bound(N=N, M=N // r, failure=p)) for p in rates]
    return [Series("N = 32, M = 4, mean of 300 runs", "failure", rates, bounds, means)]


def _regrouped(implementation: Any, N: int, M: int, failure: Fraction, rounds: int) -> Outcome:
    """E D_1 / D_0 over all failures and orders."""
    name = "moshpit.random_groups.regrouping"
    x = spanning(N, common_multiple(N, 1))
    totals = [Fraction(0)] * x.shape[1]
    for alive, probability in masks(N, 1, failure):
        orders = list(itertools.permutations(np.flatnonzero(alive[0]).tolist()))
        for order in orders:
            result, _ = implementation(x, M, rounds, orders=[order], alive=alive)
            left = distortions(result, x)
            totals = [t + probability / len(orders) * value for t, value in zip(totals, left, strict=True)]
    ratios = [total / start for total, start in zip(totals, distortions(x), strict=True) if start]
    return Outcome(farthest(name, ratios, {"N": N, "M": M, "failure": failure}), {})


_REGROUPED = Family(
    "moshpit.random_groups",
    "regrouping",
    Space(
        nothing,
        {"N": (2, 3, 4), "M": (1, 2, 3, 4, 5), "failure": rationals("1/3", 0), "rounds": (1,)},
        combined=(("N", "M", "failure"),),
    ).without("Groups that need two peers more than there are.", lambda N, M: M > N + 1),
    searched=False,
)


def _of(family: Family, statement: str, **options: Any) -> tuple[FamilyStudy, ...]:
    return family.studies(partial(_factor, f"moshpit.random_groups.{statement}"), statement, **options)


def _drawn(statement: str, reading: str) -> dict[str, Any]:
    name = f"moshpit.random_groups.{statement}"
    return {"streams": partial(_streams, name, reading), "curves": partial(_curve, name, reading)}


RANDOM_STUDIES = (
    *_of(_CUTS, "as_recalled", curves=partial(_curve, "moshpit.random_groups.as_recalled", "cut")),
    *_of(
        _ALL_CUTS,
        "factor",
        streams=lambda implementation: [
            stream
            for reading in _CUT
            for stream in _streams("moshpit.random_groups.factor", reading, implementation, ((9, 5),), 9)
        ],
        curves=partial(_curve, "moshpit.random_groups.factor", "cut"),
    ),
    *_of(
        _ALL_CUTS,
        "upper",
        extremal=_ALL_CUTS.every(N=(2, 3, 4), r=[Of("N", lambda N: N)]),
        curves=partial(_curve, "moshpit.random_groups.upper", "cut"),
    ),
    *_of(
        _GENERAL,
        "general",
        curves=[
            _GENERAL.over(
                "blocks", range(1, 5), "N = 4, independent labels, 1 to 4 of them", by="r", N=4, reading="labels"
            )
        ],
    ),
    *_of(_LABELS, "labels", **_drawn("labels", "labels")),
    *_of(_PARTITIONS, "all_partitions", **_drawn("all_partitions", "partitions")),
    *_of(_SLOTS, "with_replacement", curves=[_SLOTS.over("N", (2, 3, 4), r=2)]),
    *_of(_SKIPPED, "skip", curves=partial(_failure_curve, "moshpit.random_groups.skip", "skip")),
    *_of(_ABORTED, "abort", curves=partial(_failure_curve, "moshpit.random_groups.abort", "abort")),
    *_REGROUPED.studies(
        _regrouped,
        "regrouping",
        curves=[_REGROUPED.over("failure", rationals(0, "1/8", "1/4", "1/2", "3/4", 1), "N = 4, M = 2", N=4, M=2)],
    ),
)
"""One study for every claim about random groups."""
