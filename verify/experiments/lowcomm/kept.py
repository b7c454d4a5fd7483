"""Errors that LoCo keeps in eight bits, and E3M0: the claims bound to their implementations."""

from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.lowbit import Followed, followed, most_kept, most_owed
from commbounds.verify.experiments.lowcomm.outer import exact, family
from commbounds.verify.space import RANKS, Space, nothing, rationals

# --- LoCo --------------------------------------------------------------------------------------------------------


def _rounds(
    implementation: Any, P: int, outerrounds: int, fresh: Fraction, keptstep: Fraction, data: str, seed: int
) -> Followed:
    """Gradients of half a step, less the compensation or not, or of quarters."""
    rng = np.random.default_rng([seed, outerrounds])

    def gradient(_: int, error: Any) -> Any:
        if data == "less":
            return P * 0.5 - error
        return np.full((P, 3), P * 0.5) if data == "half" else P * rng.integers(-8, 9, (P, 3)) / 4

    return followed(implementation, P, outerrounds, fresh, gradient, 4, kept=P * float(keptstep))


_RUNS = Space(
    nothing,
    {
        "P": RANKS,
        "fresh": rationals(1, "1/4", "1/2"),
        "keptstep": rationals("1/4", "1/16", "1/8", "5/16", "3/8", "1/2", 1),
        "outerrounds": (1, 3, 4, 6),
        "data": ("less", "half", "drawn"),
        "kept_in_bits": (True,),
    },
    options=("fresh", "data"),
    combined=(("fresh", "keptstep", "data"),),
)
_BELOW_ONE = [_RUNS.at(keptstep=1 - Fraction(1, 2**20))]
_NEVER_SENT = [_RUNS.at(fresh=Fraction(1, 4), outerrounds=12, data="half")]
_LONG = _RUNS.every(keptstep=rationals(1), outerrounds=(1, 5, 12), data=["half"])
_LOCO = family(
    "loco_round", _RUNS.including(*_BELOW_ONE, *_NEVER_SENT, *_LONG), lambda: {"room": Fraction(15, 2)}, _rounds
)

# --- E3M0 --------------------------------------------------------------------------------------------------------


def _vector(first: float, second: float | None, copies: int) -> Any:
    """One, beside two entries or beside so many alike; or an entry by itself."""
    if copies:
        return np.array([1.0, *[first] * copies])
    return np.array([first] if second is None else [1.0, -first, second])


def _off(implementation: Any, x: Any) -> Fraction:
    entries = exact(x)
    shares = [abs(y - v) / abs(v) for v, y in zip(entries, exact(implementation(x)), strict=True) if v]
    return max(shares, default=Fraction(0))


def _lost(implementation: Any, x: Any) -> Fraction:
    entries = exact(x)
    square = sum((v * v for v in entries), Fraction(0))
    error = sum(((y - v) ** 2 for v, y in zip(entries, exact(implementation(x)), strict=True)), Fraction(0))
    return error / (square or 1)


_FEW = (0.75, 2.0**-8, 2.0**-7, 3 * 2.0**-8, 2.0**-6, 3 * 2.0**-7, 0.375, 0.625, 0.9375, 1.0)
_VECTORS = Space(
    _vector, {"first": _FEW, "second": (*_FEW, 0.0, None), "copies": (0, 7)}, combined=(("first", "second"),)
)
_WORST = [
    _VECTORS.at(first=entry, second=None, copies=n - 1)
    for n, entry in ((2, 0.75), (16, 0.75), (2046, 0.75), (2100, 2.0**-7), (40000, 2.0**-7))
]
_E3M0 = family("e3m0", _VECTORS, lambda x: {"n": x.size})

KEPT_STUDIES = (
    *_LOCO.studies(
        most_kept,
        "loco.kept_compensation",
        extremal=_LOCO.of(_BELOW_ONE),
        curves=[_LOCO.over("keptstep", rationals(*(k / 16 for k in range(1, 16))), "the newest error kept whole")],
    ),
    *_LOCO.studies(most_kept, "loco.kept_dead"),
    *_LOCO.studies(most_owed, "loco.kept_late", extremal=_LOCO.of(_NEVER_SENT)),
    *_LOCO.studies(
        most_owed,
        "loco.kept_late_rounds",
        extremal=_LOCO.of(_LONG),
        curves=[_LOCO.over("outerrounds", (1, 2, 4, 8, 16), "weight and step 1/4", fresh=Fraction(1, 4))],
    ),
    *_E3M0.studies(_off, "e3m0.relative", extremal=_E3M0.every(first=[2.0**-7], copies=[1])),
    *_E3M0.studies(_off, "e3m0.relative_above", extremal=_E3M0.every(copies=[1])),
    *_E3M0.studies(
        _lost,
        "e3m0.contraction",
        extremal=_E3M0.of(_WORST),
        curves=[_E3M0.over("n", (1, 3, 7, 15, 63, 255), "entries of 3/4", by="copies", second=None)],
    ),
)
