"""Studies of all-reduce with restarts: all failures of an attempt enumerated."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import masks
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import RANKS, Space, nothing, rationals
from commbounds.verify.study import Stream


def _attempts(implementation: Any, N: int, failure: Fraction, attempts: int) -> Rounded:
    """Expected attempts A, from all failures of one attempt: A = (attempts of one, expected) / s.

    Attempts are alike and independent: if one fails, which it does with probability 1 - s, A more are expected. Over
    all failures of several: as they were made, and how many more can be expected beyond these. No use is made there of
    what the attempts have to do with one another: that the mean is geometric is what is asked.
    """
    success, spent = Fraction(0), Fraction(0)
    for alive, probability in masks(N, attempts or 1, failure):
        (_, made, done), _ = implementation(np.ones((N, 1)), alive=alive)
        success += probability * int(done)
        spent += probability * made
    if not attempts:
        return Rounded(spent / success, 0.0)
    succeeds = (1 - failure) ** N
    beyond = (1 - succeeds) ** attempts / succeeds
    return Rounded(float(spent), float(beyond) + 8 * float(np.finfo(float).eps) * float(spent))


def _less(count: int, found: Rounded) -> Rounded:
    return Rounded(found.value - count, found.slack)


def _capped(implementation: Any, N: int, failure: Fraction, cap: int) -> Fraction:
    """Expected attempts of at most so many."""
    runs = (
        (probability, implementation(np.ones((N, 1)), alive=alive)) for alive, probability in masks(N, cap, failure)
    )
    return sum((probability * attempts for probability, ((_, attempts, _), _) in runs), Fraction(0))


def _capped_streams(implementation: Any) -> list[Stream]:
    """Attempts at most c, drawn by the implementation itself."""
    N, p, cap = 20, 0.05, 8
    claimed = float(claims()["gossip.restarts.capped"].bound(N=N, failure=p, cap=cap))

    def draw(rng: np.random.Generator, count: int) -> Floats:
        x = np.ones((N, 1))
        return np.array([implementation(x, p, cap, rng)[0][1] for _ in range(count)], np.float64) - claimed

    label = f"attempts, N={N}, p={p}, at most {cap}"
    return [Stream(label, draw, 1 - claimed, cap - claimed, unit=claimed, cost=40)]


_FAILURES = rationals(0, "1/100", "1/3", 1)
_RESTARTS = Family(
    "gossip.restarts",
    "allreduce_with_restarts",
    Space(nothing, {"N": RANKS, "failure": _FAILURES, "attempts": (0,)}),
    run=_attempts,
    searched=False,
)
_SEVERAL = ((1, "1/3", 8), (1, "1/100", 6), (2, "1/10", 4), (3, "1/50", 3), (5, "1/100", 1))
"""Few peers that fail often, and more that hardly fail: nearly all attempts that are ever made are seen."""
_OF_ONE: dict[str, Any] = {
    "grid": _RESTARTS.every(N=(1, 2, 3, 4, 5, 6, 8), failure=_FAILURES),
    "corpus": _RESTARTS.of([_RESTARTS.space.at(N=N, failure=Fraction(p), attempts=many) for N, p, many in _SEVERAL]),
    "enumerated": "all failures of one attempt, up to 8 peers; attempts are alike and independent",
    "curves": [_RESTARTS.over("N", (1, 2, 3, 4, 6, 8), "p = 1/5", failure=Fraction(1, 5))],
}
_CAPPED = Family(
    "gossip.restarts", "allreduce_with_restarts", Space(nothing, {"N": RANKS, "failure": _FAILURES, "cap": (1,)}),
    searched=False,
)  # fmt: skip
_CAPS = {1: (1, 4), 2: (1, 3), 3: (2,), 4: (2,), 5: (1,), 8: (1,)}
RESTART_STUDIES = (
    *_RESTARTS.studies(partial(_less, 0), "attempts", **_OF_ONE),
    *_RESTARTS.studies(partial(_less, 1), "as_restarts", "restarts", **_OF_ONE),
    *_CAPPED.studies(
        _capped,
        "capped",
        grid=_CAPPED.every(
            N=_CAPS,
            cap=lambda N, level: (*_CAPS[N], *((4,) if level and N == 3 else ())),
            failure=_FAILURES,
        ),
        corpus=None,
        enumerated="all failures of all attempts, up to 8 peers and 4 attempts",
        streams=_capped_streams,
        curves=[
            _CAPPED.over("failure", rationals(0, "1/10", "1/4", "1/2", "3/4"), "N = 2, at most 4 attempts", N=2, cap=4)
        ],
    ),
)
"""One study for every claim about restarts."""
