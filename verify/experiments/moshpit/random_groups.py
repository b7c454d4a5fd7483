"""Studies of averaging in random groups: all groups and failures of small sizes enumerated; sequential tests beyond."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import (
    common_multiple,
    distortions,
    farthest,
    masks,
    settings,
    some_vectors,
    spanning,
)
from commbounds.verify.finding import Series
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Stream, Study, over

_EVERY = "all groups that can be drawn, on inputs that span all quadratic forms"
_CUT = ("cut", "blocks", "occupied")


def _sizes(case: Case) -> tuple[int, ...]:
    given = case.settings.get("sizes")
    if given:
        return tuple(int(size) for size in given.split("+"))
    N, r = case.settings["N"], case.settings["r"]
    return tuple(N // r + (g < N % r) for g in range(r))


def all_choices(reading: str, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every admitted way to choose, all equally likely."""
    found = READINGS[reading]
    ranges = [range(size) for size in found.ranges(sum(sizes), len(sizes))]
    return [choices for choices in itertools.product(*ranges) if found.labels(sizes, choices) is not None]


def _factor(name: str, implementation: Any, case: Case) -> Outcome:
    """E D_T / D_0 over all groups and failures, on the spanning input that is farthest from the bound."""
    N, r, rounds = (case.settings[key] for key in ("N", "r", "rounds"))
    reading, rule = case.settings.get("reading", "cut"), case.settings.get("rule", "skip")
    p, sizes = Fraction(case.settings.get("p", "0")), _sizes(case)
    x = spanning(N, common_multiple(N, rounds))
    admitted = all_choices(reading, sizes)
    totals = [Fraction(0)] * x.shape[1]
    for alive, probability in masks(N, rounds, p):
        for choices in itertools.product(admitted, repeat=rounds):
            result, _ = implementation(
                x, r, rounds, reading=reading, sizes=sizes, choices=choices, alive=alive, rule=rule
            )
            left = distortions(result, x)
            totals = [total + probability * value for total, value in zip(totals, left, strict=True)]
    values = {"N": N, "r": r, "rounds": rounds, "failure": p, "M": sizes[0]}
    values["blocks"] = _expected_blocks(reading, sizes, p, rule)
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


def _grid(readings: tuple[str, ...], rounds: tuple[int, ...], level: int) -> Iterator[Case]:
    for N in range(1, 5 + (level > 1)):
        for r, reading, T in itertools.product(range(1, N + 1), readings, rounds):
            if T == 1 or (9 + 7 * level >= N**T and r**N <= 81):
                yield settings(N=N, r=r, rounds=T, reading=reading)
    if "cut" in readings:
        yield settings(N=5, r=2, rounds=1, reading="cut")
        for sizes in ("1+3", "3+1", "1+1+2"):
            yield settings(N=4, r=sizes.count("+") + 1, rounds=1, reading="cut", sizes=sizes)
        if level:
            for N, r in ((5, 1), (5, 3), (6, 2)):
                yield settings(N=N, r=r, rounds=1, reading="cut")


def _failing(rule: str, level: int) -> Iterator[Case]:
    for (N, r), p in itertools.product(((2, 1), (2, 2), (3, 1), (3, 2), (4, 2)), ("0", "1/5", "1/2", "1")):
        yield settings(N=N, r=r, rounds=1, reading="cut", p=p, rule=rule)
    if level:
        for p in ("1/5", "1/2"):
            yield settings(N=4, r=1, rounds=1, reading="cut", p=p, rule=rule)
            yield settings(N=5, r=1, rounds=1, reading="cut", p=p, rule=rule)


def _every_reading(level: int) -> Iterator[Case]:
    for reading in ("cut", "blocks", "occupied", "labels", "partitions"):
        for N in (2, 3, 4):
            for r in range(1, N + 1) if reading != "partitions" else (1,):
                yield settings(N=N, r=r, rounds=1, reading=reading)
    for reading, rule, p in itertools.product(("blocks", "labels", "partitions"), ("skip", "abort"), ("1/3", "1/2")):
        yield settings(N=3, r=2, rounds=1, reading=reading, p=p, rule=rule)
    if level:
        for rule in ("skip", "abort"):
            yield settings(N=4, r=2, rounds=1, reading="cut", sizes="3+1", p="1/3", rule=rule)


def _repeated(case: Case, implementation: Any, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Minus the claimed factor, D_T / D_0 of `count` runs from random numbers of the implementation's own."""
    N, r, rounds = (case.settings[key] for key in ("N", "r", "rounds"))
    reading = case.settings["reading"]
    x = some_vectors(N, 3, case.settings["seed"], 1)
    start, centre = float(sum(distortions(x))), x.mean(axis=0)
    found = np.empty(count)
    for j in range(count):
        result, _ = implementation(x, r, rounds, rng, reading=reading)
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
        case = settings(N=N, r=r, rounds=1, reading=reading, seed=1)
        claimed = float(claims()[name].bound(N=N, r=r, rounds=1))

        def draw(rng: np.random.Generator, count: int, case: Case = case, claimed: float = claimed) -> Any:
            return _repeated(case, implementation, rng, count) - claimed

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
        case = settings(N=N, r=N // 2, rounds=1, reading=reading, seed=1)
        found = _repeated(case, implementation, rng, 400)
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


def _study(statement: str, grid: Callable[[int], Iterator[Case]], **options: Any) -> Study:
    name = f"moshpit.random_groups.{statement}"
    trial = partial(_factor, name)
    return Study(name, "random_groups", trial, grid=grid, enumerated=options.pop("enumerated", _EVERY), **options)


def _upper_cases() -> st.SearchStrategy[Case]:
    return st.builds(
        lambda N, r, reading: settings(N=N, r=min(N, r), rounds=1, reading=reading),
        whole(2, 4),
        whole(1, 4),
        among(_CUT),
    )


def _single_peers(_budget: Any) -> Iterator[Case]:
    for N in (2, 3, 4):
        yield settings(N=N, r=N, rounds=1, reading="cut")


def _regrouped(implementation: Any, case: Case) -> Outcome:
    """E D_1 / D_0 over all failures and orders."""
    N, M, p = case.settings["N"], case.settings["M"], Fraction(case.settings["p"])
    name = "moshpit.random_groups.regrouping"
    x = spanning(N, common_multiple(N, 1))
    totals = [Fraction(0)] * x.shape[1]
    for alive, probability in masks(N, 1, p):
        orders = list(itertools.permutations(np.flatnonzero(alive[0]).tolist()))
        for order in orders:
            result, _ = implementation(x, M, case.settings["rounds"], orders=[order], alive=alive)
            left = distortions(result, x)
            totals = [t + probability / len(orders) * value for t, value in zip(totals, left, strict=True)]
    values = {"N": N, "M": M, "failure": p}
    ratios = [total / start for total, start in zip(totals, distortions(x), strict=True) if start]
    return Outcome(farthest(name, ratios, values), values)


def _regrouping_grid(level: int) -> Iterator[Case]:
    for N in range(2, 5 + level):
        for M, p in itertools.product(range(1, N + 2), ("0", "1/3")):
            yield settings(N=N, M=M, p=p, rounds=1)


RANDOM_STUDIES = (
    _study("printed", partial(_grid, ("cut",), (1, 2)), curves=partial(_curve, "moshpit.random_groups.printed", "cut")),
    _study(
        "factor",
        partial(_grid, _CUT, (1, 2)),
        streams=lambda implementation: [
            stream
            for reading in _CUT
            for stream in _streams("moshpit.random_groups.factor", reading, implementation, ((9, 5),), 9)
        ],
        curves=partial(_curve, "moshpit.random_groups.factor", "cut"),
    ),
    _study(
        "upper",
        partial(_grid, _CUT, (1, 2)),
        corpus=lambda _budget: iter(()),
        cases=_upper_cases,
        extremal=_single_peers,
        curves=partial(_curve, "moshpit.random_groups.upper", "cut"),
    ),
    _study(
        "general",
        _every_reading,
        enumerated="all groups and failures, " + _EVERY.partition(", ")[2],
        curves=[
            over(
                "blocks",
                "N = 4, independent labels, 1 to 4 of them",
                (settings(N=4, r=r, rounds=1, reading="labels") for r in range(1, 5)),
            )
        ],
    ),
    _study(
        "labels",
        partial(_grid, ("labels",), (1, 2)),
        streams=partial(_streams, "moshpit.random_groups.labels", "labels"),
        curves=partial(_curve, "moshpit.random_groups.labels", "labels"),
    ),
    _study(
        "all_partitions",
        partial(_grid, ("partitions",), (1, 2)),
        streams=partial(_streams, "moshpit.random_groups.all_partitions", "partitions"),
        curves=partial(_curve, "moshpit.random_groups.all_partitions", "partitions"),
    ),
    _study(
        "with_replacement",
        partial(_grid, ("slots",), (1,)),
        curves=[
            over(
                "N",
                "r = 2",
                (settings(N=N, r=2, rounds=1, reading="slots") for N in range(2, 5)),
            )
        ],
    ),
    _study(
        "skip",
        partial(_failing, "skip"),
        enumerated="all groups and failures, " + _EVERY.partition(", ")[2],
        curves=partial(_failure_curve, "moshpit.random_groups.skip", "skip"),
    ),
    _study(
        "abort",
        partial(_failing, "abort"),
        enumerated="all groups and failures, " + _EVERY.partition(", ")[2],
        curves=partial(_failure_curve, "moshpit.random_groups.abort", "abort"),
    ),
    Study(
        "moshpit.random_groups.regrouping",
        "regrouping",
        _regrouped,
        grid=_regrouping_grid,
        enumerated="all failures and orders, " + _EVERY.partition(", ")[2],
        curves=[
            over(
                "failure",
                "N = 4, M = 2",
                (settings(N=4, M=2, p=p, rounds=1) for p in ("0", "1/8", "1/4", "1/2", "3/4", "1")),
            )
        ],
    ),
)
"""One study for every claim about random groups."""
