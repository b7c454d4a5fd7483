"""LoCo's compensation and quantised reduce-scatters: the claims bound to their implementations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.outer import exact, study
from commbounds.verify.experiments.moshpit.averaging import settings
from commbounds.verify.study import Case, Outcome, Study, over

# --- LoCo --------------------------------------------------------------------------------------------------------


def _gradients(case: Case) -> Any:
    """Quarters of a step, of all workers and three entries, for every round."""
    given = case.settings
    rng = np.random.default_rng([given["seed"], given["outerrounds"]])
    return rng.integers(-12, 13, (given["outerrounds"], given["P"], 3)) / 4


Followed = tuple[list[Fraction], list[Fraction], Fraction]


def followed(
    implementation: Any, case: Case, gradient: Callable[[int, Any], Any], bits: int, **kept: float
) -> Followed:
    """All compensations of a run, what is owed at its end, and the largest code that was asked for, in steps.

    The step is the number of workers, so that their average is exact. `gradient` tells of a round and the compensations
    before it, (P, 3), what the workers add.
    """
    given = case.settings
    P = given["P"]
    error, owed, largest, errors = np.zeros((P, 3)), [Fraction(0)] * 3, Fraction(0), [Fraction(0)]
    for t in range(given["outerrounds"]):
        g = gradient(t, error)
        after, _ = implementation(np.stack([g, error], axis=1), float(P), bits, given["fresh"], **kept)
        largest = max(largest, *(abs(a + b) / P for a, b in zip(exact(g), exact(error), strict=True)))
        mean = [sum(column, Fraction(0)) / P for column in zip(*map(exact, g), strict=True)]
        owed = [a + (b - c) / P for a, b, c in zip(owed, mean, exact(after[-1, 0]), strict=True)]
        error = after[:, 1]
        errors += [abs(v) / P for v in exact(error)]
    return errors, owed, largest


def _compensated(implementation: Any, case: Case) -> Followed:
    given = case.settings
    P, bits = given["P"], given["bits"]
    offered = {"half": 0.5, "one over": 2.0 ** (bits - 1)}.get(given["seed"])
    if offered is not None:
        return followed(implementation, case, lambda _, error: P * offered - error, bits)
    drawn = case.once(_gradients)
    return followed(implementation, case, lambda t, _: P * drawn[t], bits)


def _loco_values(case: Case, largest: Fraction) -> dict[str, Any]:
    given = case.settings
    room = Fraction(2 ** (given["bits"] - 1) - 1) + Fraction(1, 2)
    return {
        "fresh": Fraction(given["fresh"]),
        "outerrounds": given["outerrounds"],
        "largest_code": largest,
        "room": room,
    }


def _compensation(implementation: Any, case: Case) -> Outcome:
    errors, _, largest = case.once(_compensated, implementation)
    return Outcome(max(errors), _loco_values(case, largest))


def _late(implementation: Any, case: Case) -> Outcome:
    _, owed, largest = case.once(_compensated, implementation)
    return Outcome(max(map(abs, owed)), _loco_values(case, largest))


def _run(fresh: float, T: int, seed: Any = "half", bits: int = 4, P: int = 1) -> Case:
    return settings(fresh=fresh, outerrounds=T, seed=seed, bits=bits, P=P)


def _runs(level: int) -> Iterator[Case]:
    seeds: tuple[Any, ...] = ("half", "one over", 0, 1)
    for fresh, T in itertools.product((0.5, 0.25, 1.0, 0.75), range(1, 5 + level)):
        for seed in seeds:
            yield _run(fresh, T, seed)
        yield _run(fresh, T, 2, bits=2)
    for fresh, P, seed in itertools.product((0.25, 1.0), (2, 3, 5, 8), seeds[:3]):
        yield _run(fresh, 3, seed, P=P)


def _halves(_budget: Any) -> Iterator[Case]:
    for fresh, T, P in ((0.5, 1, 1), (0.25, 4, 1), (1.0, 2, 1), (0.25, 2, 3)):
        yield _run(fresh, T, P=P)


def _whole_halves(_budget: Any) -> Iterator[Case]:
    return (_run(1.0, T, P=P) for T, P in ((1, 1), (3, 1), (2, 3)))


def _one_over(_budget: Any) -> Iterator[Case]:
    return (_run(1.0, T, "one over", P=P) for T, P in ((1, 1), (3, 1), (2, 3)))


def _all_over(_budget: Any) -> Iterator[Case]:
    return (
        _run(fresh, T, "one over", bits, P) for fresh, T, bits, P in ((0.25, 4, 4, 1), (0.5, 3, 2, 1), (0.25, 3, 4, 3))
    )


def _reset(resets: Any, case: Case) -> Outcome:
    given = case.settings
    found = resets(given["tensors"], given["reset_after"], given["passes"])
    values = {"tensors": given["tensors"], "shared_turns": given["shared_turns"]}
    return Outcome(int((found > 0).sum()), values)


def _models(level: int) -> Iterator[Case]:
    for L, T in itertools.product(range(1, 9 + 4 * level), range(0, 9)):
        for passes in (T + 1, 2 * T + 3):
            yield settings(tensors=L, reset_after=T, passes=passes, shared_turns=gcd(L, T + 1))


# --- quantised reduce-scatters -----------------------------------------------------------------------------------


def _across(way: str, implementation: Any, case: Case) -> Outcome:
    P, n, X = (case.settings[key] for key in ("P", "n", "pernode"))
    _, traffic = implementation(np.ones((P, n)), 1.0, way=way, node=X)
    return Outcome(int(traffic.phases["across"].sent.max()), {"P": P, "n": n, "pernode": X})


def _clusters(level: int) -> Iterator[Case]:
    for P in (1, 2, 3, 4, 5, 6, 8, *((9, 12) if level else ())):
        for X in (X for X in range(1, P + 1) if P % X == 0):
            for width in (1, 2):
                yield settings(P=P, n=width * P, pernode=X)


def _stack(case: Case) -> Any:
    """Quarters of a step; or what is off by as much as it can be."""
    given = case.settings
    P, n, family = given["P"], given["n"], given["family"]
    if family == "half":
        return np.full((P, n), 0.5)
    if family == "nodes of four":
        return np.tile(np.array([[0.5], [0.5], [0.5], [2.5]]), (P // 4, n))
    if family == "rising":  # the h-th rank of block b, beginning with rank b + 1, has h/2
        width = n // P
        return np.array([[((p - 1 - e // width) % P + 1) / 2 for e in range(n)] for p in range(P)])
    return np.random.default_rng([given["family"], P, n]).integers(-20, 21, (P, n)) / 4


def _off(way: str, implementation: Any, case: Case) -> Outcome:
    given = case.settings
    P, n, X, bits = given["P"], given["n"], given["pernode"], given["bits"]
    stack = case.once(_stack)
    blocks, _ = implementation(stack, 1.0, bits, way, X)
    sums = [sum(column, Fraction(0)) for column in zip(*map(exact, stack), strict=True)]
    off = max(abs(a - b) for a, b in zip(exact(blocks), sums, strict=True))
    values = {
        "P": P,
        "n": n,
        "pernode": X,
        "largest_code": Fraction(float(abs(stack).max())) + P,
        "room": 2 ** (bits - 1) - 1,
    }
    return Outcome(off, values)


def _stacks(level: int) -> Iterator[Case]:
    for P, X in (
        (1, 1),
        (2, 1),
        (2, 2),
        (3, 1),
        (4, 1),
        (4, 2),
        (5, 1),
        (6, 3),
        (6, 2),
        *(((8, 4), (8, 2)) if level else ()),
    ):
        for family in ("half", "rising", 0, 1, 2):
            yield settings(P=P, n=2 * P, pernode=X, bits=8, family=family)
    yield settings(P=8, n=8, pernode=4, bits=8, family="nodes of four")
    yield settings(P=2, n=2, pernode=1, bits=3, family=0)


def _sized(P: int, family: str) -> Case:
    return settings(P=P, n=P, pernode=1, bits=8, family=family)


def _worst(family: str, *sizes: tuple[int, int]) -> Any:
    return lambda _budget: (settings(P=P, n=P, pernode=X, bits=8, family=family) for P, X in sizes)


def _elsewhere(reorder: bool, implementation: Any, case: Case) -> Outcome:
    """Blocks whose sums are multiples of the second step, and differ: how many ranks have another's."""
    P, n, X = (case.settings[key] for key in ("P", "n", "pernode"))
    stack = np.tile(np.repeat(np.arange(1.0, P + 1), n // P), (P, 1))
    blocks, _ = implementation(stack, 1.0, 8, "hierarchical", X, reorder=reorder)
    expected = P * np.repeat(np.arange(1.0, P + 1)[:, None], n // P, axis=1)
    return Outcome(int((blocks != expected).any(axis=1).sum()), {"P": P, "n": n, "pernode": X})


_RUNS = "up to 4 rounds, four weights, gradients in quarters of a step; 3 rounds of up to 8 workers"
_CLUSTERS = "up to 8 ranks in nodes of every size"
_STACKS = "up to 8 ranks; entries in quarters of a step"


def _of_stacks(statement: str, way: str, worst: Any, **options: Any) -> Study:
    return study(
        f"qgz.{statement}", "quantised_reduce_scatter", partial(_off, way), _stacks, _STACKS, extremal=worst, **options
    )


def _of_clusters(statement: str, trial: Any, **options: Any) -> Study:
    return study(f"qgz.{statement}", "quantised_reduce_scatter", trial, _clusters, _CLUSTERS, **options)


LOWBIT_STUDIES = (
    study("loco.compensation", "loco_round", _compensation, _runs, _RUNS, extremal=_whole_halves),
    study("loco.cut_off", "loco_round", _compensation, _runs, _RUNS),
    study(
        "loco.late",
        "loco_round",
        _late,
        _runs,
        _RUNS,
        extremal=_halves,
        curves=[
            over(
                "outerrounds",
                "weight 1/4, gradients of half a step less the compensation",
                (_run(0.25, T) for T in range(1, 15)),
            )
        ],
    ),
    study("loco.cut_once", "loco_round", _compensation, _runs, _RUNS, extremal=_one_over),
    study(
        "loco.late_cut",
        "loco_round",
        _late,
        _runs,
        _RUNS,
        extremal=_all_over,
        curves=[
            over("outerrounds", "weight 1/4, one code too many", (_run(0.25, T, "one over") for T in range(1, 11)))
        ],
    ),
    study("loco.late_at_once", "loco_round", _late, _runs, _RUNS),
    study("loco.late_ef14", "loco_round", _late, _runs, _RUNS, extremal=_whole_halves),
    study("loco.resets", "resets", _reset, _models, "up to 8 tensors, intervals of up to 8"),
    study("loco.resets_all", "resets", _reset, _models, "up to 8 tensors, intervals of up to 8"),
    _of_clusters(
        "across",
        partial(_across, "hierarchical"),
        curves=[over("P", "nodes of four", (settings(P=4 * N, n=4 * N, pernode=4) for N in range(1, 9)))],
    ),
    _of_clusters(
        "across_one_hop",
        partial(_across, "one-hop"),
        curves=[over("P", "nodes of four", (settings(P=4 * N, n=4 * N, pernode=4) for N in range(1, 9)))],
    ),
    _of_stacks(
        "one_hop",
        "one-hop",
        _worst("half", (1, 1), (4, 2), (6, 1)),
        curves=[
            over(
                "P",
                "entries of half a step",
                (settings(P=P, n=P, pernode=1, bits=8, family="half") for P in range(1, 9)),
            )
        ],
    ),
    _of_stacks("two_hops", "hierarchical", _worst("nodes of four", (4, 4), (8, 4))),
    _of_stacks(
        "ring",
        "ring",
        _worst("rising", (2, 1), (4, 1), (6, 2)),
        curves=[
            over(
                "P",
                "the worst for a ring",
                (settings(P=P, n=P, pernode=1, bits=8, family="rising") for P in range(2, 9)),
            )
        ],
    ),
    _of_clusters("order", partial(_elsewhere, True)),
    _of_clusters("in_a_row", partial(_elsewhere, False)),
)
