"""Errors that LoCo keeps in eight bits, and E3M0: the claims bound to their implementations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.lowbit import Followed, followed
from commbounds.verify.experiments.lowcomm.outer import exact, study
from commbounds.verify.experiments.moshpit.averaging import settings
from commbounds.verify.study import Case, Outcome, over

# --- LoCo --------------------------------------------------------------------------------------------------------


def _rounds(implementation: Any, case: Case) -> Followed:
    given = case.settings
    P, seed = given["P"], given["seed"]
    rng = np.random.default_rng([seed, given["outerrounds"]])

    def gradient(_: int, error: Any) -> Any:
        if seed == 0:
            return P * 0.5 - error
        return np.full((P, 3), P * 0.5) if seed == 1 else P * rng.integers(-8, 9, (P, 3)) / 4

    return followed(implementation, case, gradient, 4, kept=P * given["keptstep"])


def _values(case: Case, largest: Fraction) -> dict[str, Any]:
    given = case.settings
    return {
        "fresh": Fraction(given["fresh"]),
        "keptstep": Fraction(given["keptstep"]),
        "outerrounds": given["outerrounds"],
        "largest_code": largest,
        "room": Fraction(15, 2),
    }


def _most(implementation: Any, case: Case) -> Outcome:
    errors, _, largest = case.once(_rounds, implementation)
    return Outcome(max(errors), _values(case, largest))


def _owed(implementation: Any, case: Case) -> Outcome:
    _, owed, largest = case.once(_rounds, implementation)
    return Outcome(max(map(abs, owed)), _values(case, largest))


def _run(fresh: float, keptstep: float, T: int, seed: int = 0, P: int = 1) -> Case:
    return settings(fresh=fresh, keptstep=keptstep, outerrounds=T, seed=seed, P=P, kept_in_bits=True)


def _runs(level: int) -> Iterator[Case]:
    for fresh, kept in itertools.product((0.25, 0.5, 1.0), (0.0625, 0.125, 0.25, 0.3125, 0.375, 0.5, 1.0)):
        for T, seed in ((1, 0), (4, 2), (6, 1), *(((12, 3), (9, 0)) if level else ())):
            yield _run(fresh, kept, T, seed)
    for P, fresh, seed in itertools.product((2, 3, 5, 8), (0.25, 1.0), (0, 1, 2)):
        yield _run(fresh, 0.25, 3, seed, P)


def _just_below_one(_budget: Any) -> Iterator[Case]:
    yield _run(1.0, 1.0 - 2.0**-20, 1)


def _never_sent(_budget: Any) -> Iterator[Case]:
    yield _run(0.25, 0.25, 12, 1)


def _long(_budget: Any) -> Iterator[Case]:
    for T in (1, 5, 12):
        yield _run(1.0, 1.0, T, 1)


# --- E3M0 --------------------------------------------------------------------------------------------------------


def _off(e3m0: Any, case: Case) -> Outcome:
    x = exact(case.array)
    shares = [abs(y - v) / abs(v) for v, y in zip(x, exact(e3m0(case.array)), strict=True) if v]
    return Outcome(max(shares, default=Fraction(0)), {"n": len(x)})


def _lost(e3m0: Any, case: Case) -> Outcome:
    x = exact(case.array)
    square = sum((v * v for v in x), Fraction(0))
    error = sum(((y - v) ** 2 for v, y in zip(x, exact(e3m0(case.array)), strict=True)), Fraction(0))
    return Outcome(error / (square or 1), {"n": len(x)})


def _vector(*entries: float) -> Case:
    return Case({}, np.array(entries))


def _vectors(level: int) -> Iterator[Case]:
    few = (0.0, 2.0**-8, 2.0**-7, 3 * 2.0**-8, 2.0**-6, 3 * 2.0**-7, 0.375, 0.625, 0.75, 0.9375, 1.0)
    for a, b in itertools.product(few if level else few[1:], repeat=2):
        yield _vector(1.0, -a, b)
    for a in few[1:]:
        yield _vector(a)
        yield Case({}, np.array([1.0, *[a] * 7]))


def _alike(n: int, entry: float) -> Case:
    return Case({}, np.array([1.0, *[entry] * (n - 1)]))


def _worst(_budget: Any) -> Iterator[Case]:
    for n, entry in ((2, 0.75), (16, 0.75), (2046, 0.75), (2100, 2.0**-7), (40000, 2.0**-7)):
        yield _alike(n, entry)


_LOCO = "up to six rounds, three weights, seven steps of the error; three rounds of up to 8 workers; exact"
_E3M0 = "two entries of ten beside one, and seven alike; exact"
_of_loco = partial(study, subject="loco_round", grid=_runs, enumerated=_LOCO)
_of_e3m0 = partial(study, subject="e3m0", grid=_vectors, enumerated=_E3M0)
KEPT_STUDIES = (
    _of_loco("loco.kept_compensation", trial=_most, extremal=_just_below_one,
             curves=[over("keptstep", "the newest error kept whole", [_run(1.0, k / 16, 1) for k in range(1, 16)])]),
    _of_loco("loco.kept_dead", trial=_most),
    _of_loco("loco.kept_late", trial=_owed, extremal=_never_sent),
    _of_loco("loco.kept_late_rounds", trial=_owed, extremal=_long,
             curves=[over("outerrounds", "weight and step 1/4", [_run(0.25, 0.25, T, 1) for T in (1, 2, 4, 8, 16)])]),
    _of_e3m0("e3m0.relative", trial=_off, extremal=lambda _: iter([_vector(1.0, 2.0**-7)])),
    _of_e3m0("e3m0.relative_above", trial=_off, extremal=lambda _: iter([_vector(1.0, 0.75)])),
    _of_e3m0("e3m0.contraction", trial=_lost, extremal=_worst,
             curves=[over("n", "entries of 3/4", [_alike(n, 0.75) for n in (2, 4, 8, 16, 64, 256)])]),
)  # fmt: skip
