"""DiLoCo and Streaming DiLoCo: the claims bound to the outer round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.verify.experiments.moshpit.averaging import distortions, settings, some_vectors
from commbounds.verify.study import Case, Outcome, Study, over

_EPS = float(np.finfo(np.float64).eps)


def edges(n: int, fragments: int) -> list[int]:
    """Ends of consecutive fragments that differ by one entry at most."""
    return [n * f // fragments for f in range(fragments + 1)]


def exact(array: Any) -> list[Fraction]:
    """The numbers of an array, exactly."""
    return [Fraction(float(v)) for v in np.ravel(array)]


def square(array: Any) -> Fraction:
    """Sum of squares, exactly."""
    return sum((v * v for v in exact(array)), Fraction(0))


def study(statement: str, subject: str, trial: Any, grid: Any, enumerated: str, **options: Any) -> Study:
    """A study of the column on a finite grid."""
    return Study(f"lowcomm.{statement}", subject, trial, grid=grid, enumerated=enumerated, **options)


# --- words -------------------------------------------------------------------------------------------------------


def _fragment_words(implementation: Any, case: Case) -> Any:
    """Words that every rank sends for every fragment: (F, P)."""
    P, n, F = (case.settings[key] for key in ("P", "n", "fragments"))
    ends = edges(n, F)
    return np.stack(
        [implementation(np.ones((P, n)), np.zeros(n), start=a, stop=b)[1].sent for a, b in itertools.pairwise(ends)]
    )


def _words(measure: Any, implementation: Any, case: Case) -> Outcome:
    sent = case.once(_fragment_words, implementation)
    return Outcome(int(measure(sent)), {key: case.settings[key] for key in ("P", "n", "fragments")})


def _sizes(level: int) -> Iterator[Case]:
    for P, F in itertools.product(range(2, 5 + level), range(1, 4)):
        for n in sorted({F, F + 1, 2 * F + 1, F * P, 2 * F * P, 2 * F * P + 1}):
            yield settings(P=P, n=n, fragments=F)


def _whole(level: int) -> Iterator[Case]:
    return (case for case in _sizes(level) if case.settings["fragments"] == 1)


def _longest_blocks(_budget: Any) -> Iterator[Case]:
    for P, F in ((2, 2), (3, 2), (4, 3)):
        yield settings(P=P, n=F * P, fragments=F)


_FRAGMENTS = "up to 4 ranks, 3 fragments and 25 entries"


def _total(sent: Any) -> int:
    return int(sent.sum(axis=0).max())


# --- the outer step ----------------------------------------------------------------------------------------------


def _round(implementation: Any, case: Case) -> tuple[Any, Any, Any]:
    """Old anchor, the workers' average and the new anchor, of multiples of the number of workers."""
    given = case.settings
    P, n = given["P"], given["n"]
    stack = some_vectors(P, n, given.get("seed", 0), P)
    anchor = some_vectors(1, n, 7 + given.get("seed", 0), P)[0]
    state, _ = implementation(
        stack,
        anchor,
        None,
        given["outerlr"],
        given["outermu"],
        direction=given.get("direction", "anchor - local"),
    )
    return anchor, stack.sum(axis=0) / P, state.anchor[-1]


def _values(case: Case) -> dict[str, Fraction]:
    return {key: Fraction(case.settings[key]) for key in ("outerlr", "outermu")}


def _gap(implementation: Any, case: Case) -> Outcome:
    anchor, mean, new = case.once(_round, implementation)
    return Outcome(square(new - mean) / square(anchor - mean), _values(case))


def _progress(implementation: Any, case: Case) -> Outcome:
    anchor, mean, new = case.once(_round, implementation)
    way = exact(mean - anchor)
    done = sum((a * b for a, b in zip(exact(new - anchor), way, strict=True)), Fraction(0))
    return Outcome(done / sum(v * v for v in way), _values(case))


def _rounds_of(direction: str, level: int) -> Iterator[Case]:
    for P, n, seed in ((1, 1, 0), (2, 3, 0), (3, 2, 1), (4, 4, 2), (5, 7, 3))[: 4 + level]:
        for lr, mu in ((1.0, 0.0), (0.5, 0.0), (0.75, 0.5), (0.6875, 0.875), (0.0, 0.5), (1.5, 0.25)):
            yield settings(P=P, n=n, seed=seed, outerlr=lr, outermu=mu, direction=direction)


def _moves(rule: str, implementation: Any, case: Case) -> Outcome:
    """One coordinate; every worker ends one below the anchor."""
    given = case.settings
    anchor, momentum, before = np.array([4.0]), np.zeros(1), np.zeros(1)
    for _ in range(given["outerrounds"]):
        before = anchor
        state, _ = implementation(
            np.array([anchor - 0.5, anchor - 1.5]), anchor, momentum, given["outerlr"], given["outermu"], rule=rule
        )
        anchor, momentum = state.anchor[0], state.momentum[1]
    moved = abs(Fraction(float(anchor[0])) - Fraction(float(before[0])))
    return Outcome(moved, {**_values(case), "outerrounds": given["outerrounds"]})


def _constant(level: int) -> Iterator[Case]:
    for t, lr, mu in itertools.product(range(1, 6 + level), (0.5, 0.75), (0.0, 0.5, 0.75)):
        yield settings(outerrounds=t, outerlr=lr, outermu=mu)


# --- stability ---------------------------------------------------------------------------------------------------


def _map(implementation: Any, case: Case) -> tuple[Fraction, Fraction]:
    """Trace and determinant of the map of anchor and momentum, read off two rounds."""
    given = case.settings
    columns = []
    for anchor, momentum in ((np.ones(1), np.zeros(1)), (np.zeros(1), np.ones(1))):
        left = (1 - given["innershare"]) * anchor
        state, _ = implementation(np.stack([left, left]), anchor, momentum, given["outerlr"], given["outermu"])
        columns.append((Fraction(float(state.anchor[0, 0])), Fraction(float(state.momentum[0, 0]))))
    (a, c), (b, d) = columns
    return a + d, a * d - b * c


def _of_map(case: Case) -> dict[str, Fraction]:
    return {**_values(case), "innershare": Fraction(case.settings["innershare"])}


def _stable(implementation: Any, case: Case) -> Outcome:
    trace, det = case.once(_map, implementation)
    stable = abs(det) < 1 and abs(trace) < 1 + det
    return Outcome(int(stable), _of_map(case))


def _radius(implementation: Any, case: Case) -> Outcome:
    trace, det = case.once(_map, implementation)
    discriminant = trace * trace - 4 * det
    real = discriminant >= 0
    radius = (abs(trace) + math.sqrt(discriminant)) / 2 if real else math.sqrt(det)
    return Outcome(radius, _of_map(case), 8 * _EPS * (1 + abs(float(trace))))


def _quadratics(level: int) -> Iterator[Case]:
    shares = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.875, 2.0)
    for lr, mu, c in itertools.product(
        (0.0, 0.25, 0.75, 1.0, 1.25, *((1.5,) if level else ())), (0.0, 0.5, 0.875), shares
    ):
        yield settings(outerlr=lr, outermu=mu, innershare=c)
    for c in (0.5, 1.0, 1.9375, 1.95):
        yield settings(outerlr=0.7, outermu=0.9, innershare=c)


def _radii(_budget: Any) -> Iterator[Case]:
    return (case for case in _quadratics(0) if case.settings["outerlr"] != 0.7)


_ROUNDS = "up to 4 workers, 4 entries, six outer optimisers"
_STABILITY = "steps from 0 to 5/4, momenta 0, 1/2 and 7/8, shares from 1/4 to 2; four with the defaults"

OUTER_STUDIES = (
    study(
        "diloco.words",
        "diloco_round",
        partial(_words, lambda sent: sent.max()),
        _whole,
        "up to 4 ranks and 9 entries",
        curves=[over("n", "8 ranks", (settings(P=8, n=n, fragments=1) for n in (8, 16, 32, 64)))],
    ),
    study("streaming.cycle", "diloco_round", partial(_words, _total), _sizes, _FRAGMENTS),
    study(
        "streaming.peak",
        "diloco_round",
        partial(_words, lambda sent: sent.max()),
        _sizes,
        _FRAGMENTS,
        curves=[over("n", "4 ranks, 3 fragments", (settings(P=4, n=n, fragments=3) for n in (12, 24, 48, 96)))],
    ),
    study("streaming.peak_any", "diloco_round", partial(_words, lambda sent: sent.max()), _sizes, _FRAGMENTS),
    study(
        "streaming.peak_longest",
        "diloco_round",
        partial(_words, lambda sent: sent.max()),
        _sizes,
        _FRAGMENTS,
        extremal=_longest_blocks,
        curves=[over("fragments", "2 ranks, 24 entries", (settings(P=2, n=24, fragments=f) for f in range(1, 13)))],
    ),
    study(
        "streaming.blend",
        "diloco_round",
        lambda implementation, case: _blended(implementation, case),
        lambda level: (
            settings(P=P, n=n, fragments=F, blendweight=b)
            for P, n, F in ((2, 3, 1), (3, 4, 2), (4, 7, 3), (5, 5, 5))[: 3 + level]
            for b in (0.0, 0.25, 0.5, 1.0)
        ),
        "up to 4 workers, 7 entries and 3 fragments",
    ),
    study("diloco.average", "diloco_round", _gap, partial(_rounds_of, "anchor - local"), _ROUNDS),
    study(
        "diloco.first_round",
        "diloco_round",
        _gap,
        partial(_rounds_of, "anchor - local"),
        _ROUNDS,
        curves=[
            over(
                "outerlr",
                "momentum 7/8",
                (settings(P=4, n=4, outerlr=lr / 8, outermu=0.875) for lr in range(0, 13)),
            )
        ],
    ),
    study("diloco.progress", "diloco_round", _progress, partial(_rounds_of, "anchor - local"), _ROUNDS),
    study("diloco.reversed", "diloco_round", _progress, partial(_rounds_of, "local - anchor"), _ROUNDS),
    study(
        "diloco.effective_step",
        "diloco_round",
        partial(_moves, "nesterov"),
        _constant,
        "up to 5 rounds",
        curves=[
            over(
                "outerrounds",
                "step 3/4, momentum 3/4",
                (settings(outerrounds=t, outerlr=0.75, outermu=0.75) for t in range(1, 16)),
            )
        ],
    ),
    study("diloco.ball_step", "diloco_round", partial(_moves, "heavy-ball"), _constant, "up to 5 rounds"),
    study("diloco.ball_is_nesterov", "diloco_round", partial(_moves, "heavy-ball"), _constant, "up to 5 rounds"),
    Study(
        "lowcomm.diloco.radius",
        "diloco_round",
        _radius,
        corpus=_radii,
        curves=[
            over(
                "innershare",
                f"step 3/4, momentum {mu:g}",
                (settings(outerlr=0.75, outermu=mu, innershare=c / 16) for c in range(1, 33)),
            )
            for mu in (0.0, 0.5, 0.875)
        ],
    ),
    study("diloco.stable", "diloco_round", _stable, _quadratics, _STABILITY),
    study("diloco.contraction_suffices", "diloco_round", _stable, _quadratics, _STABILITY),
    study("diloco.moderate", "diloco_round", _stable, _quadratics, _STABILITY),
)


def _blended(implementation: Any, case: Case) -> Outcome:
    """Of the last fragment: the workers' spread after it was synchronised, over before."""
    given = case.settings
    P, n = given["P"], given["n"]
    start, stop = edges(n, given["fragments"])[-2:]
    stack = some_vectors(P, n, 3, P)
    stack[0, start] += P * (1.0 + 9 * np.ptp(stack[:, start]))
    anchor = some_vectors(1, n, 5, P)[0]
    state, _ = implementation(stack, anchor, None, 1.0, 0.0, start=start, stop=stop, blend=given["blendweight"])
    after, before = (sum(distortions(rows[:, start:stop])) for rows in (state.parameters, stack))
    return Outcome(
        after / Fraction(before),
        {"blendweight": Fraction(given["blendweight"]), "n": n, "fragments": given["fragments"]},
    )
