"""DiLoCo and Streaming DiLoCo: the claims bound to the outer round."""

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.verify.experiments.moshpit.averaging import distortions, some_vectors
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals

_EPS = float(np.finfo(np.float64).eps)
LONE = "One worker, who differs from nobody."


def edges(n: int, fragments: int) -> list[int]:
    """Ends of consecutive fragments that differ by one entry at most."""
    return [n * f // fragments for f in range(fragments + 1)]


def exact(array: Any) -> list[Fraction]:
    """The numbers of an array, exactly."""
    return [Fraction(v) for v in np.asarray(array, np.float64).ravel().tolist()]


def square(array: Any) -> Fraction:
    """Sum of squares, exactly."""
    return sum((v * v for v in exact(array)), Fraction(0))


def family(subject: str, space: Space, facts: Any = None, run: Any = None, **options: Any) -> Family:
    """Claims of the column about one subject, on the rows of a space."""
    return Family("lowcomm", subject, space, facts, run, searched=False, **options)


# --- words -------------------------------------------------------------------------------------------------------


def _fragment_words(implementation: Any, P: int, n: int, fragments: int) -> Any:
    """Words that every rank sends for every fragment: (F, P)."""
    ends = edges(n, fragments)
    return np.stack(
        [implementation(np.ones((P, n)), np.zeros(n), start=a, stop=b)[1].sent for a, b in itertools.pairwise(ends)]
    )


_FRAGMENTS = Space(
    nothing,
    {
        "P": RANKS,
        "fragments": (1, 2, 3),
        "n": (
            Of("F P", lambda P, fragments: fragments * P),
            Of("F", lambda fragments: fragments),
            Of("2 F + 1", lambda fragments: 2 * fragments + 1),
            Of("2 F P", lambda P, fragments: 2 * fragments * P),
            Of("2 F P + 1", lambda P, fragments: 2 * fragments * P + 1),
        ),
    },
)
_WHOLE, _STREAMED = (
    family("diloco_round", s, run=_fragment_words, arrays=2) for s in (_FRAGMENTS.replaced(fragments=(1,)), _FRAGMENTS)
)


def _peak(found: Any) -> int:
    return int(found.max())


# --- the outer step ----------------------------------------------------------------------------------------------


def _round(
    implementation: Any, P: int, n: int, outerlr: Fraction, outermu: Fraction, direction: str, seed: int
) -> tuple[Any, Any, Any]:
    """Old anchor, the workers' average, which is another, and the new anchor, of multiples of the number of workers."""
    stack, anchor = some_vectors(P, n, seed, P), some_vectors(1, n, 7 + seed, P)[0]
    mean = stack.sum(axis=0) / P
    anchor[0] += P * float(np.array_equal(anchor, mean))
    state, _ = implementation(stack, anchor, None, float(outerlr), float(outermu), direction=direction)
    return anchor, mean, state.anchor[-1]


def _gap(found: Any) -> Fraction:
    anchor, mean, new = found
    return square(new - mean) / square(anchor - mean)


def _progress(found: Any) -> Fraction:
    anchor, mean, new = found
    way = exact(mean - anchor)
    done = sum((a * b for a, b in zip(exact(new - anchor), way, strict=True)), Fraction(0))
    return done / sum(v * v for v in way)


_ROUNDS = Space(
    nothing,
    {
        "P": RANKS,
        "n": (4, 1, 3, 7),
        "outerlr": rationals(1, "1/2", "3/4", "11/16", 0, "3/2"),
        "outermu": rationals(0, "1/2", "7/8", "1/4"),
        "direction": ("anchor - local",),
    },
)
_TOWARDS, _AWAY = (
    family("diloco_round", s, run=_round) for s in (_ROUNDS, _ROUNDS.replaced(direction=("local - anchor",)))
)


def _moves(rule: str, implementation: Any, outerrounds: int, outerlr: Fraction, outermu: Fraction) -> Fraction:
    """One coordinate; every worker ends one below the anchor."""
    anchor, momentum, before = np.array([4.0]), np.zeros(1), np.zeros(1)
    for _ in range(outerrounds):
        before = anchor
        state, _ = implementation(
            np.array([anchor - 0.5, anchor - 1.5]), anchor, momentum, float(outerlr), float(outermu), rule=rule
        )
        anchor, momentum = state.anchor[0], state.momentum[1]
    return abs(Fraction(float(anchor[0])) - Fraction(float(before[0])))


_CONSTANT = family(
    "diloco_round",
    Space(
        nothing,
        {"outerrounds": (1, 2, 3, 4, 5), "outerlr": rationals("1/2", "3/4"), "outermu": rationals(0, "1/2", "3/4")},
        combined=(("outerrounds", "outerlr", "outermu"),),
    ),
)

# --- stability ---------------------------------------------------------------------------------------------------


def _map(implementation: Any, outerlr: Fraction, outermu: Fraction, innershare: Fraction) -> tuple[Fraction, Fraction]:
    """Trace and determinant of the map of anchor and momentum, read off two rounds."""
    columns = []
    for anchor, momentum in ((np.ones(1), np.zeros(1)), (np.zeros(1), np.ones(1))):
        left = (1 - float(innershare)) * anchor
        state, _ = implementation(np.stack([left, left]), anchor, momentum, float(outerlr), float(outermu))
        columns.append((Fraction(float(state.anchor[0, 0])), Fraction(float(state.momentum[0, 0]))))
    (a, c), (b, d) = columns
    return a + d, a * d - b * c


def _stable(found: tuple[Fraction, Fraction]) -> int:
    trace, det = found
    return int(abs(det) < 1 and abs(trace) < 1 + det)


def _radius(found: tuple[Fraction, Fraction]) -> Rounded:
    trace, det = found
    discriminant = trace * trace - 4 * det
    radius = (abs(trace) + math.sqrt(discriminant)) / 2 if discriminant >= 0 else math.sqrt(det)
    return Rounded(radius, 8 * _EPS * (1 + abs(float(trace))))


_SHARES = rationals("1/4", "1/2", "3/4", 1, "5/4", "3/2", "7/4", "15/8", 2)
_QUADRATICS = Space(
    nothing,
    {"outerlr": rationals("3/4", 0, "1/4", 1, "5/4"), "outermu": rationals(0, "1/2", "7/8"), "innershare": _SHARES},
    combined=(("outerlr", "outermu", "innershare"),),
)
_DEFAULTS = _QUADRATICS.every(
    outerlr=rationals(0.7), outermu=rationals(0.9), innershare=rationals("1/2", 1, "31/16", 1.95)
)
_OF_RADIUS = family("diloco_round", _QUADRATICS, run=_map, exact=False)
_OF_STABILITY = family("diloco_round", _QUADRATICS.including(*_DEFAULTS), run=_map)

# --- fragments that are blended ----------------------------------------------------------------------------------


def _blended(implementation: Any, P: int, n: int, fragments: int, blendweight: Fraction) -> Fraction:
    """Of the last fragment: the workers' spread after it was synchronised, over before."""
    start, stop = edges(n, fragments)[-2:]
    stack = some_vectors(P, n, 3, P)
    stack[0, start] += P * (1.0 + 9 * np.ptp(stack[:, start]))
    anchor = some_vectors(1, n, 5, P)[0]
    state, _ = implementation(stack, anchor, None, 1.0, 0.0, start=start, stop=stop, blend=float(blendweight))
    after, before = (sum(distortions(rows[:, start:stop])) for rows in (state.parameters, stack))
    return after / Fraction(before)


_BLENDS = family(
    "diloco_round",
    Space(
        nothing,
        {"P": RANKS, "fragments": (1, 2, 3, 5), "n": (7, 5, 9), "blendweight": rationals(0, "1/4", "1/2", 1)},
        options=("blendweight",),
    ).without(LONE, lambda P: P == 1),
)
_LOCAL_STEPS = rationals(*(lr / 8 for lr in range(13)))
_ALL_SHARES = rationals(*(c / 16 for c in range(1, 33)))

OUTER_STUDIES = (
    *_WHOLE.studies(_peak, "diloco.words", curves=[_WHOLE.over("n", (8, 16, 32, 64), "8 ranks", P=8)]),
    *_STREAMED.studies(lambda found: int(found.sum(axis=0).max()), "streaming.cycle"),
    *_STREAMED.studies(
        _peak,
        "streaming.peak",
        curves=[_STREAMED.over("n", (12, 24, 48, 96), "4 ranks, 3 fragments", P=4, fragments=3)],
    ),
    *_STREAMED.studies(_peak, "streaming.peak_any"),
    *_STREAMED.studies(
        _peak,
        "streaming.peak_longest",
        extremal=_STREAMED.every(P=(2, 3, 4), fragments=(2, 3)),
        curves=[_STREAMED.over("fragments", range(1, 13), "2 ranks, 24 entries", P=2, n=24)],
    ),
    *_BLENDS.studies(_blended, "streaming.blend"),
    *_TOWARDS.studies(_gap, "diloco.average"),
    *_TOWARDS.studies(
        _gap,
        "diloco.first_round",
        curves=[_TOWARDS.over("outerlr", _LOCAL_STEPS, "momentum 7/8", P=4, outermu=Fraction(7, 8))],
    ),
    *_TOWARDS.studies(_progress, "diloco.progress"),
    *_AWAY.studies(_progress, "diloco.reversed"),
    *_CONSTANT.studies(
        partial(_moves, "nesterov"),
        "diloco.effective_step",
        curves=[
            _CONSTANT.over(
                "outerrounds", range(1, 16), "step 3/4, momentum 3/4", outerlr=Fraction(3, 4), outermu=Fraction(3, 4)
            )
        ],
    ),
    *_CONSTANT.studies(partial(_moves, "heavy-ball"), "diloco.ball_step", "diloco.ball_is_nesterov"),
    *_OF_RADIUS.studies(
        _radius,
        "diloco.radius",
        curves=[
            _OF_RADIUS.over("innershare", _ALL_SHARES, f"step 3/4, momentum {mu:g}", outermu=Fraction(mu))
            for mu in (0.0, 0.5, 0.875)
        ],
    ),
    *_OF_STABILITY.studies(_stable, "diloco.stable", "diloco.contraction_suffices", "diloco.moderate"),
)
