"""Studies of the mean under averaging in groups, and of what Moshpit all-reduce sends."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.collectives.moshpit.allreduce import initial_keys
from commbounds.verify.experiments.moshpit.averaging import (
    common_multiple,
    distortions,
    farthest,
    grid_study,
    masks,
    mean_of,
    mean_shift,
    no_corpus,
    of_grid,
    settings,
    some_vectors,
    spanning,
    whole_numbers,
)
from commbounds.verify.experiments.moshpit.random_groups import all_choices
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Study, over


def _preserved(implementation: Any, case: Case) -> Outcome:
    N, groups, seed = case.settings["N"], case.settings["groups"], case.settings["seed"]
    x = some_vectors(N, case.settings["n"], seed, common_multiple(N, 1))
    labels = np.random.default_rng(seed).integers(-1, groups, N)
    result, _ = implementation(x, labels)
    return Outcome(mean_shift(x, result), {"N": N}, active=_somebody_averages(labels))


def _somebody_averages(labels: Any) -> bool:
    """Whether any group has two members."""
    return bool((np.bincount(labels[labels >= 0]) > 1).any())


def _labelled(level: int) -> Iterator[Case]:
    for N, groups, seed in itertools.product((1, 2, 3, 4, 5, 6, 8), (1, 2, 3), range(6 + 4 * level)):
        yield settings(N=N, n=3, groups=groups, seed=seed)


def _of_group(implementation: Any, case: Case) -> Outcome:
    """The largest squared distance from the mean of the group, in whole numbers that groups of any size divide."""
    N, groups, seed = case.settings["N"], case.settings["groups"], case.settings["seed"]
    x = some_vectors(N, case.settings["n"], seed, common_multiple(N, 1))
    labels = np.random.default_rng(seed).integers(-1, groups, N)
    result, _ = implementation(x, labels)
    members = (labels[:, None] == labels) & (labels >= 0)
    members[labels < 0] = np.eye(N, dtype=np.bool_)[labels < 0]
    numbers, scale = whole_numbers(np.asarray(result, np.float64))
    whole = members.astype(np.int64) @ x.astype(np.int64) // members.sum(axis=1)[:, None] * scale
    error = Fraction(int(np.square(numbers - whole).sum(axis=1).max()), scale**2)
    return Outcome(error, {"N": N}, active=_somebody_averages(labels))


def _grouped(level: int) -> Iterator[Case]:
    for N, n, groups in itertools.product((1, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5), (1, 2, 3)):
        for seed in range(2 + 4 * level):
            yield settings(N=N, n=n, groups=groups, seed=seed)


def _one_way(implementation: Any, case: Case) -> Outcome:
    """E ||shift||^2 over all groups and all ways to be deaf."""
    N, r, q = case.settings["N"], case.settings["r"], Fraction(case.settings["q"])
    x, admitted = spanning(N, common_multiple(N, 1)), all_choices("blocks", (*(1,) * (r - 1), N - r + 1))
    totals = [Fraction(0)] * x.shape[1]
    for receives, probability in masks(N, 1, q):
        for choices in admitted:
            result, _ = implementation(x, r, 1, reading="blocks", choices=[choices], receives=receives)
            moved = zip(mean_of(x), mean_of(result), strict=True)
            totals = [t + probability * (a - b) ** 2 for t, (a, b) in zip(totals, moved, strict=True)]
    return _at_farthest(
        "moshpit.mean.one_way", [t / len(admitted) for t in totals], x, {"N": N, "r": r, "deaf": q, "rounds": 1}
    )


def _at_farthest(name: str, shifts: list[Fraction], x: Any, values: dict[str, Any]) -> Outcome:
    """Of the columns, all of which share a bound relative to their distortion, the one that is farthest from it."""
    pairs = [(shift, start) for shift, start in zip(shifts, distortions(x), strict=True) if start]
    ratios = [shift / start for shift, start in pairs]
    shift, start = pairs[ratios.index(farthest(name, ratios, {**values, "spread": Fraction(1)}))]
    return Outcome(shift, {**values, "spread": start})


def _deaf(level: int) -> Iterator[Case]:
    for N in range(2, 5 + (level > 0)):
        for r, q in itertools.product(range(1, N + 1), ("0", "1/3", "1")):
            yield settings(N=N, r=r, q=q, rounds=1)
    yield settings(N=5, r=2, q="1/3", rounds=1)


def _leaving(implementation: Any, case: Case) -> Outcome:
    """E ||shift||^2 over all groups and all sets of survivors, of one column."""
    N, r, rounds, stay = (case.settings[key] for key in ("N", "r", "rounds", "stay"))
    x, admitted = spanning(N, common_multiple(N, rounds)), all_choices("blocks", (*(1,) * (r - 1), N - r + 1))
    totals, count = [Fraction(0)] * x.shape[1], 0
    for choices in itertools.product(admitted, repeat=rounds):
        result, _ = implementation(x, r, rounds, reading="blocks", choices=choices)
        for survivors in itertools.combinations(range(N), stay):
            moved = zip(mean_of(x), mean_of(result[list(survivors)]), strict=True)
            totals = [t + (a - b) ** 2 for t, (a, b) in zip(totals, moved, strict=True)]
            count += 1
    values = {"N": N, "r": r, "rounds": rounds, "survivors": stay}
    return _at_farthest("moshpit.mean.leaving", [t / count for t in totals], x, values)


def _departures(level: int) -> Iterator[Case]:
    for N in range(2, 5 + (level > 0)):
        for r, rounds, stay in itertools.product(range(1, N + 1), (0, 1), range(1, N + 1)):
            yield settings(N=N, r=r, rounds=rounds, stay=stay)
    yield settings(N=3, r=2, rounds=2, stay=2)
    yield settings(N=5, r=2, rounds=1, stay=2)


# --- what is sent ------------------------------------------------------------------------------------------------


def _sent(count: Callable[[Any], int], implementation: Any, case: Case) -> Outcome:
    M, d, n, rounds = (case.settings[key] for key in ("M", "d", "n", "rounds"))
    x = np.arange(float(M**d * n)).reshape(M**d, n)
    _, traffic = implementation(x, initial_keys(M**d, M, d), M, rounds, slots="rank")
    return Outcome(int(count(traffic)), {"N": M**d, "M": M, "n": n, "rounds": rounds}, active=M > 1 and rounds > 0)


def _sizes(level: int) -> Iterator[Case]:
    for M, d in ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (5, 1))[: 6 + level]:
        for n, rounds in itertools.product((1, 2, 3, 4, 5, 6, 12)[: 7 + level], (0, 1, 2, 3)):
            yield settings(M=M, d=d, n=n, rounds=rounds)


def _equal_chunks(_budget: Any) -> Iterator[Case]:
    for M, d in ((2, 1), (2, 2), (3, 2), (4, 2)):
        yield settings(M=M, d=d, n=2 * M, rounds=2)


def _any_size() -> st.SearchStrategy[Case]:
    return st.builds(
        lambda shape, n, rounds: settings(M=shape[0], d=shape[1], n=n, rounds=rounds),
        among(((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (2, 3), (4, 2))),
        whole(1, 40),
        whole(0, 4),
    )


def _traffic(statement: str, count: Callable[[Any], int], **options: Any) -> Study:
    name = f"moshpit.traffic.{statement}"
    trial = partial(_sent, count)
    drawn = statement in ("words", "equal_chunks", "critical_path")
    sizes = (settings(M=4, d=2, n=n, rounds=2) for n in (1, 2, 3, 4, 6, 8, 16, 64, 256))
    curves = [over("n", "M = 4, two rounds", sizes)] if drawn else []
    shown = "sides, dimensions, lengths and rounds up to 5, 2, 12 and 3"
    return Study(name, "moshpit", trial, grid=_sizes, enumerated=shown, curves=curves, known=of_grid, **options)


FLOW_STUDIES = (
    grid_study(
        "mean.preserved", "group_average", _preserved, _labelled, "some labels of up to 8 peers, some sitting out"
    ),
    grid_study(
        "mean.of_group",
        "group_average",
        _of_group,
        _grouped,
        "some labels of up to 8 peers, some sitting out; 1, 2, 3 and 5 entries",
    ),
    grid_study(
        "mean.one_way",
        "random_groups",
        _one_way,
        _deaf,
        "all groups and all ways to be deaf, up to 4 peers, on inputs that span all quadratic forms",
        curves=[
            over(
                "deaf",
                "N = 4, r = 2",
                (settings(N=4, r=2, q=q, rounds=1) for q in ("0", "1/8", "1/4", "1/2", "3/4", "1")),
            )
        ],
    ),
    grid_study(
        "mean.leaving",
        "random_groups",
        _leaving,
        _departures,
        "all groups and all survivors, up to 4 peers, on inputs that span all quadratic forms",
        curves=[
            over(
                "survivors",
                "N = 5, r = 3, one round",
                (settings(N=5, r=3, rounds=1, stay=stay) for stay in range(1, 6)),
            )
        ],
    ),
    _traffic("words", lambda t: t.sent.max(), corpus=no_corpus, extremal=_equal_chunks, cases=_any_size),
    _traffic("equal_chunks", lambda t: t.sent.max()),
    _traffic("critical_path", lambda t: t.critical_path),
    _traffic("messages", lambda t: t.messages.max()),
    _traffic("steps", lambda t: t.steps),
)
"""One study for every claim about the mean and traffic."""
