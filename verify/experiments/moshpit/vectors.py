"""Test vectors: averaging in groups, and Moshpit SGD."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds.collectives import initial_keys
from commbounds.verify.experiments.moshpit.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, held_to, ranks
from commbounds.verify.vectors.inputs import array, eighths, mask, uniforms


def _local_cases() -> Iterator[VectorCase]:
    for N, n, steps, period, why in (
        (1, 2, 2, 1, "One peer."),
        (2, 3, 4, 2, "Two local steps, then an average."),
        (4, 2, 3, 1, "Two groups of two, and then one of four."),
        (4, 3, 3, 5, "The run ends before the first average."),
    ):
        labels = [[np.arange(N) % 2, np.zeros(N, np.int64)]] * (steps // period)
        inputs = {"points": eighths(70, N, n), "noise": eighths(71, steps, N, n) - 2}
        given = {"gradient": "identity", "gamma": 0.5, "period": period, "groups": labels}
        yield case_of(why, inputs, given)


def _group_cases() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        stack = ranks(P, n, dtype, 60)
        yield case_of(why, {"stack": stack, "groups": np.zeros(P, np.int64)}, about="one group")
        yield case_of("Two groups, the members not next to each other.",
                      {"stack": stack, "groups": np.arange(P) % 2}, about="two groups")  # fmt: skip
    five = ranks(5, 7, "float32", 61)
    yield case_of("Negative labels sit out.", {"stack": five, "groups": np.array([0, -1, 0, 3, -2])}, about="absent")
    gets = {"receives": np.array([True, False, True, True, False])}
    yield case_of("Peers that only give.", {"stack": five, "groups": np.zeros(5, np.int64)}, gets, about="givers")
    yield case_of("Labels must be integers.", {"stack": five, "groups": np.zeros(5)}, about="labels", refused=True)


def _moshpit_cases() -> Iterator[VectorCase]:
    for N, M, d, n, dtype, why in (
        (1, 2, 1, 3, "float32", "One peer."),
        (2, 2, 1, 4, "float32", "One group of all peers."),
        (4, 2, 2, 5, "float32", "A full grid: exact after two rounds."),
        (3, 2, 2, 4, "float32", "A grid with a gap."),
        (5, 3, 2, 2, "float64", "Five peers on nine cells, vectors shorter than groups."),
        (8, 2, 3, 3, "float32", "A cube."),
    ):
        keys = initial_keys(N, M, d)
        rank = {"M": M, "rounds": d, "slots": "rank"}
        yield case_of(why, {"stack": ranks(N, n, dtype, 62), "keys": keys}, rank)
    orders = np.argsort(uniforms(63, 2 * 4 * 2, "float64").reshape(2, 4, 2), axis=2)
    stack, keys = ranks(8, 3, "float32", 63), initial_keys(8, 2, 3)
    for rule in ("skip", "abort"):
        given = {"M": 2, "rounds": 2, "rule": rule}
        yield case_of("Injected chunk indices, and peers that fail.", {"stack": stack, "keys": keys}, given,
                      {"slots": orders, "alive": mask(64, (2, 8))}, about="failures")  # fmt: skip
    yield case_of("No rounds: nothing happens.", {"stack": stack, "keys": keys}, {"M": 2, "rounds": 0, "slots": "rank"})
    once = {"M": 2, "rounds": 1, "slots": "rank"}
    yield case_of("A digit must be below M.", {"stack": stack, "keys": keys + 1}, once, about="digits", refused=True)


def _grid_cases() -> Iterator[VectorCase]:
    for N, M, d, n, dtype, why in (
        (1, 1, 1, 3, "float32", "One peer."),
        (2, 2, 1, 3, "float32", "One line."),
        (3, 2, 2, 4, "float32", "A corner of the grid is empty."),
        (4, 2, 2, 5, "float64", "A full grid: exact after two rounds."),
        (5, 3, 2, 2, "float32", "Vectors shorter than lines."),
        (8, 2, 3, 3, "float32", "A cube."),
    ):
        cells = np.array([[i // M ** (d - 1 - axis) % M for axis in range(d)] for i in range(N)], np.int64)
        yield case_of(why, {"stack": ranks(N, n, dtype, 65), "cells": cells}, {"M": M, "rounds": d})
    stack, cells = ranks(4, 3, "float32", 66), np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for rule in ("skip", "abort"):
        yield case_of("Peers that fail.", {"stack": stack, "cells": cells}, {"M": 2, "rounds": 3, "rule": rule},
                      {"alive": mask(67, (3, 4))}, about="failures")  # fmt: skip
    yield case_of("Beginning with another axis.", {"stack": stack, "cells": cells}, {"M": 2, "rounds": 1, "start": 1})
    yield case_of("Two peers share a cell.", {"stack": stack, "cells": 0 * cells}, {"M": 2, "rounds": 1},
                  about="shared", refused=True)  # fmt: skip


def _random_group_cases() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        choices = [[0] * P] if P < 3 else [[P - 1 - i for i in range(P)], [(i * 7) % (P - i) for i in range(P)]]
        yield case_of(why, {"stack": ranks(P, n, dtype, 68)}, {"r": min(2, P), "rounds": len(choices)},
                      {"choices": choices})  # fmt: skip
    stack = ranks(4, 3, "float32", 69)
    for reading, choice, why in (
        ("cut", [3, 0, 1, 0], "A permutation by Fisher and Yates, cut into groups of prescribed sizes."),
        ("blocks", [4], "A set partition into exactly two blocks, by its number."),
        ("occupied", [1, 0, 1, 1], "Labels of which none is missing."),
        ("labels", [1, 1, 1, 1], "Labels, one of them unused."),
        ("partitions", [9], "Any set partition, by its number."),
        ("slots", [2, 2, 0, 1], "Slots with replacement: a peer may be drawn twice or not at all."),
    ):
        yield case_of(why, {"stack": stack}, {"r": 2, "reading": reading}, {"choices": [choice]})
    yield case_of("An empty group is not admitted.", {"stack": stack}, {"r": 2, "reading": "occupied"},
                  {"choices": [[1, 1, 1, 1]]}, about="empty group", refused=True)  # fmt: skip
    sizes = {"r": 2, "sizes": [1, 3], "rule": "abort"}
    yield case_of("Prescribed sizes; a group with a failed member does nothing.", {"stack": stack}, sizes,
                  {"choices": [[3, 0, 1, 0]], "alive": array([[True, True, False, True]], "bool")})  # fmt: skip


def _regrouping_cases() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        orders = [list(reversed(range(P))), list(range(P))]
        given = {"M": 2, "rounds": 2}
        yield case_of(why, {"stack": ranks(P, n, dtype, 70)}, given, {"orders": orders})
    alive = array([[True, False, True, True, True]], "bool")
    yield case_of("One is missing, and one is left over and dealt out.", {"stack": ranks(5, 3, "float32", 71)},
                  {"M": 3, "rounds": 1}, {"orders": [[4, 0, 3, 2]], "alive": alive}, about="failures")  # fmt: skip
    yield case_of("Too few for a group: nobody averages.", {"stack": ranks(2, 3, "float32", 71)},
                  {"M": 3, "rounds": 1}, {"orders": [[1, 0]]}, about="too few")  # fmt: skip


def _trial_cases() -> Iterator[VectorCase]:
    several: tuple[tuple[int, int, str, int, dict[str, Any], str], ...] = (
        (4, 1, "random", 2, {}, "Random groups: a shuffle of the peers every round."),
        (5, 2, "random", 2, {"p": 0.25}, "Groups whose sizes differ, and peers that fail."),
        (4, 2, "fixed", 2, {}, "Cells of a grid, by one shuffle."),
        (6, 2, "fixed", 2, {"d": 3, "p": 0.25, "rule": "abort"}, "Groups with a failed member do nothing."),
        (8, 3, "keys", 2, {"d": 3}, "Keys that chunk indices renew."),
        (7, 2, "keys", 3, {"p": 0.5}, "Keys, and many failures."),
        (4, 1, "random", 2, {"first": 2}, "Trials 2 and 3 of the first case: a trial depends on its number alone."),
    )
    for N, n, kind, M, more, why in several:
        given = {"kind": kind, "M": M, "rounds": 3, "trials": 4 - more.get("first", 0), **more}
        seed = {"seed": 11, "generator": "splitmix64"}
        yield case_of(why, {"stack": ranks(N, n, "float64", 73)}, given, seed)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [
        *held_to(
            DEFINITIONS,
            moshpit_sgd=_local_cases,
            group_average=_group_cases,
            moshpit=_moshpit_cases,
            grid_average=_grid_cases,
            random_groups=_random_group_cases,
            regrouping=_regrouping_cases,
        ),
        *held_to(DEFINITIONS, "", group_trials=_trial_cases),
    ]


OTHER_SIZES = {
    "grid_average": "a grid has M^d places",
    "moshpit": "keys say who meets whom, for as many as there are",
    "moshpit_sgd": "groups are given, for as many as there are",
}
"""Collectives whose ranks and entries are not those of every vector, and what they take."""
