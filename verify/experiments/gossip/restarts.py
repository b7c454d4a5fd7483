"""Studies of all-reduce with restarts: all failures of an attempt enumerated."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import masks, settings
from commbounds.verify.study import Case, Outcome, Stream, Study, over


def _attempts(less: int, implementation: Any, case: Case) -> Outcome:
    """Expected attempts A, less one or not, from all failures of one attempt: A = (attempts of one, expected) / s.

    Attempts are alike and independent: if one fails, which it does with probability 1 - s, A more are expected.
    """
    N, p = case.settings["N"], Fraction(case.settings["p"])
    if "attempts" in case.settings:
        expected, slack = case.once(_seen_attempts, implementation)
        return Outcome(expected - less, {"N": N, "failure": p}, slack)
    success, spent = case.once(_one_attempt, implementation)
    return Outcome(spent / success - less, {"N": N, "failure": p})


def _one_attempt(implementation: Any, case: Case) -> tuple[Fraction, Fraction]:
    """The probability that an attempt succeeds, and how many are made, which is one."""
    N, success, spent = case.settings["N"], Fraction(0), Fraction(0)
    for alive, probability in masks(N, 1, Fraction(case.settings["p"])):
        (_, attempts, done), _ = implementation(np.ones((N, 1)), alive=alive)
        success += probability * int(done)
        spent += probability * attempts
    return success, spent


def _seen_attempts(implementation: Any, case: Case) -> tuple[float, float]:
    """Attempts over all failures of several, as they were made, and how many more can be expected beyond these.

    No use is made of what the attempts have to do with one another: that the mean is geometric is what is asked.
    """
    N, p, most = case.settings["N"], Fraction(case.settings["p"]), case.settings["attempts"]
    total = Fraction(0)
    for alive, probability in masks(N, most, p):
        total += probability * implementation(np.ones((N, 1)), alive=alive)[0][1]
    success = (1 - p) ** N
    beyond = (1 - success) ** most / success
    return float(total), float(beyond) + 8 * float(np.finfo(float).eps) * float(total)


def _several(_budget: Any) -> Iterator[Case]:
    """Few peers that fail often, and more that hardly fail: nearly all attempts that are ever made are seen."""
    for N, p, attempts in ((1, "1/3", 8), (1, "1/100", 6), (2, "1/10", 4), (3, "1/50", 3), (5, "1/100", 1)):
        yield settings(N=N, p=p, attempts=attempts)


def _capped(implementation: Any, case: Case) -> Outcome:
    N, c, p = case.settings["N"], case.settings["cap"], Fraction(case.settings["p"])
    total = Fraction(0)
    for alive, probability in masks(N, c, p):
        (_, attempts, _), _ = implementation(np.ones((N, 1)), alive=alive)
        total += probability * attempts
    return Outcome(total, {"N": N, "cap": c, "failure": p})


def _rate(_implementation: Any, case: Case) -> dict[str, Fraction]:
    """The probability of failure, for hypotheses."""
    return {"failure": Fraction(case.settings["p"])}


def _rates(level: int) -> Iterator[Case]:
    for N, p in itertools.product((1, 2, 3, 4, 5, 6, 8), ("0", "1/100", "1/3", "1")):
        yield settings(N=N, p=p)


def _caps(level: int) -> Iterator[Case]:
    for (N, cap), p in itertools.product(
        ((1, 1), (1, 4), (2, 1), (2, 3), (3, 2), (4, 2), (5, 1), (8, 1)), ("0", "1/100", "1/3", "1")
    ):
        yield settings(N=N, cap=cap, p=p)
    if level:
        yield settings(N=3, cap=4, p="1/5")


def _capped_streams(implementation: Any) -> list[Stream]:
    """Attempts at most c, drawn by the implementation itself."""
    N, p, cap = 20, 0.05, 8
    claimed = float(claims()["gossip.restarts.capped"].bound(N=N, failure=p, cap=cap))

    def draw(rng: np.random.Generator, count: int) -> Floats:
        x = np.ones((N, 1))
        return np.array([implementation(x, p, cap, rng)[0][1] for _ in range(count)], np.float64) - claimed

    label = f"attempts, N={N}, p={p}, at most {cap}"
    return [Stream(label, draw, 1 - claimed, cap - claimed, unit=claimed, cost=40)]


def _restarts(statement: str, less: int) -> Study:
    name = f"gossip.restarts.{statement}"
    return Study(
        name,
        "allreduce_with_restarts",
        partial(_attempts, less),
        grid=_rates,
        corpus=_several,
        known=_rate,
        enumerated="all failures of one attempt, up to 8 peers; attempts are alike and independent",
        curves=[over("N", "p = 1/5", (settings(N=N, p="1/5") for N in (1, 2, 3, 4, 6, 8)))],
    )


RESTART_STUDIES = (
    _restarts("attempts", 0),
    _restarts("as_restarts", 1),
    _restarts("restarts", 1),
    Study(
        "gossip.restarts.capped",
        "allreduce_with_restarts",
        _capped,
        grid=_caps,
        known=_rate,
        enumerated="all failures of all attempts, up to 8 peers and 4 attempts",
        streams=_capped_streams,
        curves=[
            over(
                "failure",
                "N = 2, at most 4 attempts",
                (settings(N=2, cap=4, p=p) for p in ("0", "1/10", "1/4", "1/2", "3/4")),
            )
        ],
    ),
)
"""One study for every claim about restarts."""
