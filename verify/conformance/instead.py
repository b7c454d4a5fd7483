"""What a subject could claim instead: the number that holds at all inputs tried, where its own does not."""

import contextlib
import math
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Floats
from commbounds.verify.conformance.aims import (
    aim,
    aimed_share,
    brought_out,
    farthest,
    magnitudes,
    require_room,
    roundings,
    sized,
    square_error,
)
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Hopeless, Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NoBound, NotHere, SubjectClaim
from commbounds.verify.conformance.claims.error import AbsoluteError, Bounded, Contraction, RelativeError
from commbounds.verify.conformance.claims.expected import Variance
from commbounds.verify.conformance.report import CheckFinding

Array = NDArray[np.generic]

_TRIED, _TRIED_AT_RANDOM, _DRAWS = 200, 60, 16
_LONG = 4_200
"""Entries of an input that is left out."""
_FIELDS: dict[type[SubjectClaim], str] = {
    Contraction: "alpha",
    Variance: "omega",
    AbsoluteError: "bound",
    RelativeError: "bound",
    Bounded: "factor",
}


def instead(bench: Bench, claim: SubjectClaim, finding: CheckFinding) -> str:
    """The largest alpha, or smallest other number, that holds wherever it was tried; empty where there is no number.

    Errors of random subjects that are claimed in the mean are those of means of 16 draws.
    """
    field = _FIELDS.get(type(claim))
    if field is None:
        return ""
    value = getattr(claim, field)
    in_mean = isinstance(claim, Contraction | Variance) and bench.randomised
    most = max(5, int((_TRIED_AT_RANDOM if in_mean else _TRIED) * bench.subject.effort))
    cases = [case for case in islice(bench.hostile(), 8 * most) if _plain(bench, case.x)]
    cases = [cases[i] for i in np.unique(np.linspace(0, len(cases) - 1, most).astype(int))] if cases else []
    if finding.counterexample is not None:
        cases.append(bench.case_of(finding))
    found: list[float] = []
    for case in cases:
        with contextlib.suppress(Unanswered, NotHere, NoBound, Hopeless):
            require_room(bench.subject, case.x)
            seeds = range(_DRAWS) if in_mean else (case.seed,)
            ys = [brought_out(bench.subject, bench.output(CheckCase(case.x, seed))) for seed in seeds]
            found.append(_needed(bench, claim, value, case.x, ys))
    if not found:
        return ""
    return _said(claim, field, value, found) + (f" (means of {_DRAWS} draws)" if in_mean else "")


def _plain(bench: Bench, x: Array) -> bool:
    """Whether an input is short, not zero, and of numbers that are not lost for being small."""
    sizes = np.abs(x.astype(np.float64))
    return x.size <= _LONG and bool(x.any()) and float(sizes[sizes > 0.0].min()) >= bench.tiny / bench.eps**2


def _needed(bench: Bench, claim: SubjectClaim, value: object, x: Array, ys: list[Floats]) -> float:
    """The number that just holds at an input; of a function's numbers the factor that does."""
    subject = bench.subject
    if isinstance(claim, Contraction | Variance):
        error = float(np.mean([square_error(subject, x, y) for y in ys], axis=0).max())
        if isinstance(claim, Variance):
            return _over(error, sized("omega", claim.omega, subject, x) if callable(value) else 1.0)
        share = 1.0 - _over(error, aimed_share(subject, x))
        claimed = sized("alpha", claim.alpha, subject, x) if callable(value) else 1.0
        return share / claimed if claimed > 0.0 else math.inf  # where nothing is claimed any factor holds
    (y,), sizes = ys, magnitudes(subject, x)
    rounded = (4.0 + roundings(subject, x)) * bench.eps * (sizes if isinstance(claim, RelativeError) else sizes.max())
    error_of = np.maximum(np.abs(y - aim(subject, x)) - rounded, 0.0)
    number = value if callable(value) else 1.0
    if isinstance(claim, AbsoluteError):
        limit = np.ones_like(sizes) if np.isscalar(value) else claim.limit(x, sizes)
    elif isinstance(claim, RelativeError):
        limit = sized("bound", number, subject, x) * sizes
    else:
        limit, error_of = sized("factor", number, subject, x) * farthest(subject, x), np.abs(y)
    return max(map(_over, error_of.ravel(), limit.ravel()))


def _over(error: float, size: float) -> float:
    if error == 0.0:
        return 0.0
    return float(error / size) if size > 0.0 and error == error else math.inf


def _said(claim: SubjectClaim, field: str, value: object, found: list[float]) -> str:
    down = isinstance(claim, Contraction)
    number = min(found) if down else max(found)
    if down and not number > 0.0:
        return f"no {field} above 0 held at the {len(found)} inputs tried"
    if not math.isfinite(number):
        return f"no {field} held at the {len(found)} inputs tried"
    step = 10.0 ** (math.floor(math.log10(number)) - 2) if number > 0.0 else 1.0
    shown = f"{(math.floor(number / step) if down else math.ceil(number / step)) * step:.3g}"
    what = f"{type(claim).__name__}({field}={shown})" if np.isscalar(value) else f"{shown} times this {field}"
    return f"{what} held at the {len(found)} inputs tried"
