"""Studies of the mean under averaging in groups, and of what Moshpit all-reduce sends."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.collectives.moshpit.allreduce import initial_keys
from commbounds.verify.experiments.moshpit.averaging import (
    common_multiple,
    distortions,
    farthest,
    masks,
    mean_of,
    mean_shift,
    some_vectors,
    spanning,
    whole_numbers,
)
from commbounds.verify.experiments.moshpit.random_groups import all_choices
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals
from commbounds.verify.study import Outcome


def _averaged(implementation: Any, N: int, n: int, groups: int, seed: int) -> tuple[Any, Any, Any]:
    """Vectors in whole numbers that groups of any size divide, labels, some of whom sit out, and the result."""
    x = some_vectors(N, n, seed, common_multiple(N, 1))
    labels = np.random.default_rng(seed).integers(-1, groups, N)
    return x, labels, implementation(x, labels)[0]


def _somebody_averages(labels: Any) -> bool:
    """Whether any group has two members."""
    return bool((np.bincount(labels[labels >= 0]) > 1).any())


def _preserved(found: tuple[Any, Any, Any]) -> Outcome:
    x, labels, result = found
    return Outcome(mean_shift(x, result), {}, active=_somebody_averages(labels))


def _of_group(found: tuple[Any, Any, Any]) -> Outcome:
    """The largest squared distance from the mean of the group."""
    x, labels, result = found
    members = (labels[:, None] == labels) & (labels >= 0)
    members[labels < 0] = np.eye(len(x), dtype=np.bool_)[labels < 0]
    numbers, scale = whole_numbers(np.asarray(result, np.float64))
    whole = members.astype(np.int64) @ x.astype(np.int64) // members.sum(axis=1)[:, None] * scale
    error = Fraction(int(np.square(numbers - whole).sum(axis=1).max()), scale**2)
    return Outcome(error, {}, active=_somebody_averages(labels))


_GROUPED = Family(
    "moshpit.mean",
    "group_average",
    Space(nothing, {"N": RANKS, "n": (3, 1, 2, 5), "groups": (1, 2, 3)}),
    run=_averaged,
    arrays=5,
    searched=False,
)


def _one_way(implementation: Any, N: int, r: int, deaf: Fraction) -> Outcome:
    """E ||shift||^2 over all groups and all ways to be deaf."""
    x, admitted = spanning(N, common_multiple(N, 1)), all_choices("blocks", (*(1,) * (r - 1), N - r + 1))
    totals = [Fraction(0)] * x.shape[1]
    for receives, probability in masks(N, 1, deaf):
        for choices in admitted:
            result, _ = implementation(x, r, 1, reading="blocks", choices=[choices], receives=receives)
            moved = zip(mean_of(x), mean_of(result), strict=True)
            totals = [t + probability * (a - b) ** 2 for t, (a, b) in zip(totals, moved, strict=True)]
    values = {"N": N, "r": r, "deaf": deaf, "rounds": 1}
    return _at_farthest("moshpit.mean.one_way", [t / len(admitted) for t in totals], x, values)


def _at_farthest(name: str, shifts: list[Fraction], x: Any, values: dict[str, Any]) -> Outcome:
    """Of the columns, all of which share a bound relative to their distortion, the one that is farthest from it."""
    pairs = [(shift, start) for shift, start in zip(shifts, distortions(x), strict=True) if start]
    ratios = [shift / start for shift, start in pairs]
    shift, start = pairs[ratios.index(farthest(name, ratios, {**values, "spread": Fraction(1)}))]
    return Outcome(shift, {**values, "spread": start})


def _leaving(implementation: Any, N: int, r: int, rounds: int, survivors: int) -> Outcome:
    """E ||shift||^2 over all groups and all sets of survivors, of one column."""
    x, admitted = spanning(N, common_multiple(N, rounds)), all_choices("blocks", (*(1,) * (r - 1), N - r + 1))
    totals, count = [Fraction(0)] * x.shape[1], 0
    for choices in itertools.product(admitted, repeat=rounds):
        result, _ = implementation(x, r, rounds, reading="blocks", choices=choices)
        for stay in itertools.combinations(range(N), survivors):
            moved = zip(mean_of(x), mean_of(result[list(stay)]), strict=True)
            totals = [t + (a - b) ** 2 for t, (a, b) in zip(totals, moved, strict=True)]
            count += 1
    values = {"N": N, "r": r, "rounds": rounds, "survivors": survivors}
    return _at_farthest("moshpit.mean.leaving", [t / count for t in totals], x, values)


_FEW = (2, 3, 4)
_GROUPS = Space(nothing, {"N": _FEW, "r": (1, 2, 3, 4), "rounds": (1,)}).without(
    "More groups than peers.", lambda N, r: r > N
)
_DEAF_SPACE = _GROUPS.replaced(deaf=rationals("1/3", 0, 1))
_DEAF = Family(
    "moshpit.mean",
    "random_groups",
    _DEAF_SPACE.including(_DEAF_SPACE.at(N=5, r=2), *_DEAF_SPACE.every(N=_FEW, r=(1, 2), deaf=rationals("1/3", 0, 1))),
    searched=False,
)
_SEVERAL = "Several rounds of three peers or more, as all groups are gone through."
_LEFT_SPACE = replace(
    _GROUPS.replaced(rounds=(1, 0, 2, 3), survivors=(1, 2, 3, 4))
    .without("More survivors than peers.", lambda N, survivors: survivors > N)
    .without(_SEVERAL, lambda N, rounds: rounds > 1 and N > 2),
    combined=(("N", "r", "rounds", "survivors"),),
)
_LEFT = Family(
    "moshpit.mean",
    "random_groups",
    _LEFT_SPACE.including(_LEFT_SPACE.at(N=3, r=2, rounds=2, survivors=2), _LEFT_SPACE.at(N=5, r=2, survivors=2)),
    searched=False,
)

# --- what is sent ------------------------------------------------------------------------------------------------


def _run(implementation: Any, M: int, d: int, n: int, rounds: int) -> Any:
    x = np.arange(float(M**d * n)).reshape(M**d, n)
    return implementation(x, initial_keys(M**d, M, d), M, rounds, slots="rank")[1]


def _sent(count: Callable[[Any], int], found: Any, M: int, rounds: int) -> Outcome:
    return Outcome(int(count(found)), {}, active=M > 1 and rounds > 0)


_TRAFFIC = Family(
    "moshpit.traffic",
    "moshpit",
    Space(
        nothing,
        {
            "M": (2, 1, 3, 4, 5),
            "d": (1, 2, 3),
            "n": (1, 2, 3, 4, 5, 6, 12, Of("2 M", lambda M: 2 * M), Of("M", lambda M: M)),
            "rounds": (2, 0, 1, 3),
        },
        combined=(("M", "n", "rounds"),),
    )
    .without("Grids of more than 16 peers.", lambda M, d: M**d > 16)
    .search(n=(1, 40)),
    lambda M, d: {"N": M**d, "dims": d},
    _run,
    arrays=2,
)
_BY_ENTRIES = [_TRAFFIC.over("n", (1, 2, 3, 4, 6, 8, 16, 64, 256), "M = 4, two rounds", M=4, d=2)]
_busiest, _path = partial(_sent, lambda t: t.sent.max()), partial(_sent, lambda t: t.critical_path)

FLOW_STUDIES = (
    *_GROUPED.studies(_preserved, "preserved"),
    *_GROUPED.studies(_of_group, "of_group"),
    *_DEAF.studies(
        _one_way,
        "one_way",
        curves=[_DEAF.over("deaf", rationals(0, "1/8", "1/4", "1/2", "3/4", 1), "N = 4, r = 2", N=4, r=2)],
    ),
    *_LEFT.studies(
        _leaving, "leaving", curves=[_LEFT.over("survivors", range(1, 6), "N = 5, r = 3, one round", N=5, r=3)]
    ),
    *_TRAFFIC.studies(
        _busiest,
        "words",
        extremal=_TRAFFIC.every(M=(2, 3, 4), d=(1, 2), n=[Of("2 M", lambda M: 2 * M)]),
        curves=_BY_ENTRIES,
    ),
    *_TRAFFIC.studies(_busiest, "equal_chunks", curves=_BY_ENTRIES),
    *_TRAFFIC.studies(_path, "critical_path", curves=_BY_ENTRIES),
    *_TRAFFIC.studies(partial(_sent, lambda t: t.messages.max()), "messages"),
    *_TRAFFIC.studies(partial(_sent, lambda t: t.steps), "steps"),
)
"""One study for every claim about the mean and traffic."""
