"""Studies of Moshpit all-reduce on grids, full or not, with failures or without."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Integers
from commbounds.collectives.moshpit.allreduce import initial_keys
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import common_multiple, distortions, identity, masks
from commbounds.verify.family import Family
from commbounds.verify.finding import Series
from commbounds.verify.space import Of, Space, nothing, rationals
from commbounds.verify.study import Outcome, Stream


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


def _swept(implementation: Any, M: int, d: int, rule: str, before: int, x: Any, rounds: int) -> Any:
    """The vectors after `rounds` rounds, after `before` rounds of others that leave their keys."""
    keys = initial_keys(len(x), M, d)
    slots, rng = _slots(rule, M, d, before)
    (_, keys), _ = implementation(x, keys, M, before, rng, slots=slots)
    slots, rng = _slots(rule, M, d, rounds)
    return implementation(x, keys, M, rounds, rng, slots=slots)[0][0]


def _exact(implementation: Any, M: int, d: int, slots: str, before: int) -> Outcome:
    result = _swept(implementation, M, d, slots, before, identity(M**d, M**d), d)
    return Outcome(sum(distortions(result)), {}, active=M > 1)


def _iid(implementation: Any, M: int, d: int, slots: str, rounds: int) -> Fraction:
    x = identity(M**d, M**rounds)
    return Fraction(sum(distortions(_swept(implementation, M, d, slots, 0, x, rounds)))) / sum(distortions(x))


def _repeats(implementation: Any, M: int, d: int, slots: str) -> Outcome:
    """How often two peers get the same mean of distinct powers of two, round by round."""
    N, keys = M**d, initial_keys(M**d, M, d)
    meetings = np.zeros((N, N), np.int64)
    for t in range(d):
        rule, rng = _slots(slots if slots == "rank" else f"sample {t}", M, d, 1)
        # unit vectors: after one round two peers hold the same row exactly if they were in one group
        (result, keys), _ = implementation(identity(N, M), keys, M, 1, rng, slots=rule)
        meetings += (result[:, None, :] == result[None, :, :]).all(axis=2)
    np.fill_diagonal(meetings, 0)
    return Outcome(int(meetings.max()), {}, active=M > 1)


def _key_of_d_digits(more: int, implementation: Any, M: int, d: int) -> Fraction:
    N = M**d
    keys = np.array([[i // M**j % M for j in range(d)] for i in range(N)])
    (result, _), _ = implementation(identity(N, M ** (d + 1)), keys, M, d + more, slots="rank")
    return sum(distortions(result), Fraction(0))


def _rectangular(implementation: Any, M: int, size: int) -> Outcome:
    N = M * size
    (result, _), _ = implementation(identity(N, N), np.arange(N)[:, None] // size, M, 2, slots="rank")
    return Outcome(sum(distortions(result)), {"N": N}, active=N > 1)


def _of_grid(M: int, d: int) -> dict[str, int]:
    return {"N": M**d, "dims": d}


def _family(subject: str, space: Space, searched: bool = False, arrays: int = 1) -> Family:
    return Family("moshpit.grid", subject, space, _of_grid, searched=searched, arrays=arrays)


_SHAPES: dict[str, Any] = {"M": (2, 1, 3, 4, 5, 8), "d": (1, 2, 3, 4)}
_RULES = ("rank", "sample 1", "sample 2")
_GRIDS = Space(nothing, _SHAPES).without("Grids of more than 27 cells.", lambda M, d: M**d > 27)
_SWEEPS = _GRIDS.replaced(slots=_RULES, before=(0, 1, Of("d", lambda d: d)))
_WAYS = [
    *_SWEEPS.every(M=[2], d=[1], slots=(f"way {number}" for number in range(2))),
    *_SWEEPS.every(M=[2], d=[2], slots=(f"way {number}" for number in range(16))),
]
"""Every way to deal out chunk indices on the grids 2 and 2 x 2."""
_FULL = _family("moshpit", _SWEEPS.including(*_WAYS), searched=True, arrays=2)
_PARTIAL = _family(
    "moshpit",
    replace(
        _GRIDS.replaced(slots=_RULES[:2], rounds=(0, 1, 2, 3, 4)), combined=(("M", "d", "slots", "rounds"),)
    ).without("More rounds than dimensions.", lambda d, rounds: rounds > d),
)
_KEYED = _family("moshpit", _GRIDS)
_RECTANGLES = Family(
    "moshpit.grid",
    "moshpit",
    Space(nothing, {"M": (2, 1, 3, 4), "size": (1, 2, 3, 4)}).without(
        "Groups larger than M.", lambda M, size: size > M
    ),
    searched=False,
)

# --- failures, empty cells ---------------------------------------------------------------------------------------


@cache
def _cells(M: int, d: int) -> Integers:
    return np.array(list(itertools.product(range(M), repeat=d)))


def _failing_grid(implementation: Any, M: int, d: int, failure: Fraction) -> Fraction:
    """E D_d of independent inputs of unit variance, over all failures."""
    N, scale = M**d, common_multiple(M, d)
    x, total = identity(N, scale), Fraction(0)
    for alive, probability in masks(N, d, failure):
        result, _ = implementation(x, _cells(M, d), M, d, alive=alive)
        total += probability * sum(distortions(result))
    return total / scale**2


def _failing_streams(implementation: Any) -> list[Stream]:
    """Distortions of unit vectors, of which the claim gives the mean; D_d is at most D_0 = 1 - 1/N."""
    streams = []
    for M, p in ((3, 0.5),):  # a factor near 1/2 is told apart soonest, up and down
        N = M * M
        claimed = float(claims()["moshpit.grid.failures"].bound(N=N, M=M, dims=2, failure=p))

        def draw(
            rng: np.random.Generator, count: int, N: int = N, M: int = M, p: float = p, claimed: float = claimed
        ) -> Floats:
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


def _partial_grid(implementation: Any, N: int, M: int) -> Fraction:
    """E D_2 over all places of N peers in an M x M grid."""
    scale, count, total = common_multiple(M, 2), 0, Fraction(0)
    for chosen in itertools.combinations(range(M * M), N):
        result, _ = implementation(identity(N, scale), np.array(_cells(M, 2)[list(chosen)]), M, 2)
        total += sum(distortions(result))
        count += 1
    return total / count / scale**2


_FAILING = _family(
    "grid_average",
    Space(nothing, {**_SHAPES, "failure": rationals("1/3", 0, "1/100", 1)}).without(
        "More than 256 ways to fail, as all are gone through.", lambda M, d: d * M**d > 8
    ),
)
_PLACED = Family(
    "moshpit.grid",
    "grid_average",
    Space(nothing, {"M": (2, 1, 3), "N": tuple(range(1, 10))}).without(
        "More peers than cells.", lambda N, M: N > M * M
    ),
    searched=False,
)

GRID_STUDIES = (
    *_FULL.studies(_exact, "exact"),
    *_KEYED.studies(partial(_key_of_d_digits, 0), "key_of_d_digits"),
    *_KEYED.studies(partial(_key_of_d_digits, 1), "late"),
    *_PARTIAL.studies(
        _iid, "factor", curves=[_PARTIAL.over("rounds", range(4), "4 x 4 x 4", M=4, d=3, slots="sample 1")]
    ),
    *_FULL.studies(_repeats, "no_repeats", extremal=_FULL.every(M=(2, 3), d=(1, 2))),
    *_RECTANGLES.studies(_rectangular, "rectangular"),
    *_FAILING.studies(_failing_grid, "failures", streams=_failing_streams, curves=_failure_curve),
    *_PLACED.studies(_partial_grid, "partial", curves=[_PLACED.over("N", range(1, 10), "3 x 3, all places", M=3)]),
)
"""One study for every claim about grids."""
