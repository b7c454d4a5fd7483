"""Studies of Moshpit all-reduce on grids, full or not, with failures or without."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.moshpit.allreduce import initial_keys
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import (
    common_multiple,
    distortions,
    grid_study,
    identity,
    masks,
    no_corpus,
    of_grid,
    settings,
)
from commbounds.verify.finding import Series
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Stream, over

_GRIDS = ((1, 1), (1, 2), (2, 1), (3, 1), (5, 1), (8, 1), (2, 2), (3, 2), (2, 3), (4, 2), (2, 4), (3, 3))
_SLOTS = "every way to deal out chunk indices on grids 2 and 2 x 2, some on larger ones; a unit vector for each peer"


@cache
def _orders(M: int) -> tuple[tuple[int, ...], ...]:
    return tuple(itertools.permutations(range(M)))


def _slots(rule: Any, M: int, d: int, rounds: int) -> tuple[Any, Any]:
    """What `moshpit` takes as slots, and its Generator: ranks, sampled from a seed, or the way of that number."""
    if rule == "rank":
        return "rank", None
    kind, _, number = rule.partition(" ")
    if kind == "sample":
        return "sample", np.random.default_rng(int(number))
    digits, place = [], int(number)
    for _ in range(rounds * M ** (d - 1)):
        place, digit = divmod(place, len(_orders(M)))
        digits.append(_orders(M)[digit])
    return np.array(digits, np.int64).reshape(rounds, M ** (d - 1), M), None


def _swept(implementation: Any, case: Case, x: Any, rounds: int, keys: Any = None) -> Any:
    """The result of `rounds` rounds, after `before` rounds of others that leave their keys."""
    M, d = case.settings["M"], case.settings["d"]
    keys = initial_keys(len(x), M, d) if keys is None else keys
    before = case.settings.get("before", 0)
    slots, rng = _slots(case.settings["slots"], M, d, before)
    (_, keys), _ = implementation(x, keys, M, before, rng, slots=slots)
    slots, rng = _slots(case.settings["slots"], M, d, rounds)
    return implementation(x, keys, M, rounds, rng, slots=slots)


def _exact(implementation: Any, case: Case) -> Outcome:
    M, d = case.settings["M"], case.settings["d"]
    (result, _), _ = _swept(implementation, case, identity(M**d, M**d), d)
    return Outcome(sum(distortions(result)), {"N": M**d, "M": M, "dims": d}, active=M > 1)


def _iid(implementation: Any, case: Case) -> Outcome:
    M, d, t = (case.settings[key] for key in ("M", "d", "rounds"))
    x = identity(M**d, M**t)
    (result, _), _ = _swept(implementation, case, x, t)
    left, start = sum(distortions(result)), sum(distortions(x))
    return Outcome(Fraction(left) / start, {"N": M**d, "M": M, "dims": d, "rounds": t})


def _repeats(implementation: Any, case: Case) -> Outcome:
    """How often two peers get the same mean of distinct powers of two, round by round."""
    M, d = case.settings["M"], case.settings["d"]
    N, keys = M**d, initial_keys(M**d, M, d)
    meetings = np.zeros((N, N), np.int64)
    for t in range(d):
        slots, rng = _slots(case.settings["slots"] if case.settings["slots"] == "rank" else f"sample {t}", M, d, 1)
        # unit vectors: after one round two peers hold the same row exactly if they were in one group
        (result, keys), _ = implementation(identity(N, M), keys, M, 1, rng, slots=slots)
        meetings += (result[:, None, :] == result[None, :, :]).all(axis=2)
    np.fill_diagonal(meetings, 0)
    return Outcome(int(meetings.max()), {"N": N, "M": M, "dims": d}, active=M > 1)


def _key_of_d_digits(more: int, implementation: Any, case: Case) -> Outcome:
    M, d = case.settings["M"], case.settings["d"]
    N = M**d
    keys = np.array([[i // M**j % M for j in range(d)] for i in range(N)])
    (result, _), _ = implementation(identity(N, M ** (d + 1)), keys, M, d + more, slots="rank")
    return Outcome(sum(distortions(result)), {"N": N, "M": M, "dims": d})


def _rectangular(implementation: Any, case: Case) -> Outcome:
    M, size = case.settings["M"], case.settings["size"]
    N = M * size
    keys = np.arange(N)[:, None] // size
    (result, _), _ = implementation(identity(N, N), keys, M, 2, slots="rank")
    return Outcome(sum(distortions(result)), {"N": N, "M": M}, active=N > 1)


def _full(level: int) -> Iterator[Case]:
    for number in range(2):
        yield settings(M=2, d=1, slots=f"way {number}")
    for number in range(16):
        yield settings(M=2, d=2, slots=f"way {number}")
    for number in range(4096 if level else 0):
        yield settings(M=2, d=3, slots=f"way {number}")
    for M, d in _GRIDS[: 10 + level]:
        for slots, before in (("rank", 0), ("sample 1", 0), ("sample 2", 1), ("rank", d)):
            yield settings(M=M, d=d, slots=slots, before=before)


def _partial_sweeps(level: int) -> Iterator[Case]:
    for M, d in _GRIDS[: 10 + level]:
        for t, slots in itertools.product(range(d + 1), ("rank", "sample 1")):
            yield settings(M=M, d=d, rounds=t, slots=slots)


def _grids_of_side_two(_budget: Any) -> Iterator[Case]:
    for M, d in ((2, 1), (2, 2), (3, 2), (2, 3)):
        yield settings(M=M, d=d, slots="rank")


def _shapes() -> st.SearchStrategy[Case]:
    return st.builds(
        lambda shape, kind, seed, before: settings(
            M=shape[0], d=shape[1], slots="rank" if kind == "rank" else f"sample {seed}", before=before
        ),
        among(_GRIDS),
        among(("rank", "sample")),
        whole(0, 2**20),
        whole(0, 4),
    )


# --- failures, empty cells ---------------------------------------------------------------------------------------


def _cells(M: int, d: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product(range(M), repeat=d)))


def _failing_grid(implementation: Any, case: Case) -> Outcome:
    """E D_d of independent inputs of unit variance, over all failures."""
    M, d, p = case.settings["M"], case.settings["d"], Fraction(case.settings["p"])
    N, scale = M**d, common_multiple(M, d)
    x, total = identity(N, scale), Fraction(0)
    for alive, probability in masks(N, d, p):
        result, _ = implementation(x, _cells(M, d), M, d, alive=alive)
        total += probability * sum(distortions(result))
    return Outcome(total / scale**2, {"N": N, "M": M, "dims": d, "failure": p})


def _failing_grids(level: int) -> Iterator[Case]:
    for (M, d), p in itertools.product(((2, 1), (3, 1), (2, 2)), ("0", "1/100", "1/3", "1")):
        yield settings(M=M, d=d, p=p)
    if level > 1:
        yield settings(M=3, d=2, p="1/7")


def _failing_streams(implementation: Any) -> list[Stream]:
    """Distortions of unit vectors, of which the claim gives the mean; D_d is at most D_0 = 1 - 1/N."""
    streams = []
    for M, p in ((3, 0.5),):  # a factor near 1/2 is told apart soonest, up and down
        N = M * M
        claimed = float(claims()["moshpit.grid.failures"].bound(N=N, M=M, dims=2, failure=p))

        def draw(
            rng: np.random.Generator, count: int, N: int = N, M: int = M, p: float = p, claimed: float = claimed
        ) -> NDArray[np.float64]:
            found = np.empty(count)
            for j in range(count):
                alive = rng.random((2, N)) >= p
                result, _ = implementation(np.eye(N), _cells(M, 2), M, 2, alive=alive)
                found[j] = result.var(axis=0).sum()
            return found - claimed

        streams.append(Stream(f"D_2 on {M} x {M}, p={p}", draw, -claimed, 1 - 1 / N - claimed, unit=claimed, cost=20))
    return streams


def _failure_curve(implementation: Any, seed: int) -> list[Series]:
    """E D_2 against p on 8 x 8, means of 60 runs."""
    rates, rng = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0], np.random.default_rng(seed)
    bounds = [float(claims()["moshpit.grid.failures"].bound(N=64, M=8, dims=2, failure=p)) for p in rates]
    means = []
    for p in rates:
        found = [
            implementation(np.eye(64), _cells(8, 2), 8, 2, alive=rng.random((2, 64)) >= p)[0].var(axis=0).sum()
            for _ in range(60)
        ]
        means.append(float(np.mean(found)))
    return [Series("8 x 8, means of 60 runs", "failure", rates, bounds, means)]


def _partial_grid(implementation: Any, case: Case) -> Outcome:
    """E D_2 over all places of N peers in an M x M grid."""
    N, M = case.settings["N"], case.settings["M"]
    scale, count, total = common_multiple(M, 2), 0, Fraction(0)
    for chosen in itertools.combinations(range(M * M), N):
        result, _ = implementation(identity(N, scale), np.array(_cells(M, 2)[list(chosen)]), M, 2)
        total += sum(distortions(result))
        count += 1
    return Outcome(total / count / scale**2, {"N": N, "M": M})


def _partial_grids(level: int) -> Iterator[Case]:
    for M in range(1, 4 + (level > 1)):
        for N in range(1, M * M + 1):
            yield settings(N=N, M=M)


GRID_STUDIES = (
    grid_study("grid.exact", "moshpit", _exact, _full, _SLOTS, corpus=no_corpus, cases=_shapes),
    *(
        grid_study(
            f"grid.{statement}",
            "moshpit",
            partial(_key_of_d_digits, more),
            lambda _level: (settings(M=M, d=d) for M, d in ((2, 1), (2, 2), (3, 2), (2, 3), (4, 2))),
            "five grids; a unit vector for every peer",
        )
        for statement, more in (("key_of_d_digits", 0), ("late", 1))
    ),
    grid_study(
        "grid.factor",
        "moshpit",
        _iid,
        _partial_sweeps,
        "every number of rounds on small grids; a unit vector for every peer",
        known=of_grid,
        curves=[over("rounds", "4 x 4 x 4", (settings(M=4, d=3, rounds=t, slots="sample 1") for t in range(4)))],
    ),
    grid_study(
        "grid.no_repeats",
        "moshpit",
        _repeats,
        _full,
        _SLOTS,
        corpus=no_corpus,
        cases=_shapes,
        extremal=_grids_of_side_two,
    ),
    grid_study(
        "grid.rectangular",
        "moshpit",
        _rectangular,
        lambda level: (settings(M=M, size=size) for M in range(1, 5 + level) for size in range(1, M + 1)),
        "M up to 4, all sizes; a unit vector for every peer",
    ),
    grid_study(
        "grid.failures",
        "grid_average",
        _failing_grid,
        _failing_grids,
        "all failures on the grids 2, 3 and 2 x 2; a unit vector for every peer",
        streams=_failing_streams,
        curves=_failure_curve,
    ),
    grid_study(
        "grid.partial",
        "grid_average",
        _partial_grid,
        _partial_grids,
        "all places on grids up to 3 x 3",
        curves=[
            over(
                "N",
                "3 x 3, all places",
                (settings(N=N, M=3) for N in range(1, 10)),
            )
        ],
    ),
)
"""One study for every claim about grids."""
