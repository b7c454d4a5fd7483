"""Identities and inequalities of one step of DIANA, MARINA, DASHA and lazy aggregation."""

from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.feedback.runs import lifted, square
from commbounds.verify.experiments.variance_reduced.enumeration import (
    HALF,
    WAYS,
    WHOLE,
    Ways,
    every_way,
    halved,
    mean_square,
    own_row,
    ranks_mean,
    total,
    ways_of,
)
from commbounds.verify.family import Family, Rounded, rounded_square
from commbounds.verify.space import RANKS, Of, Space, nothing, sizes
from commbounds.verify.study import Outcome

Values = dict[str, Any]
Choice = tuple[Any, Array, Any]
"""Probability of a choice of all ranks, the estimate, and shifts or parts."""


def _data(P: int, n: int, exact: bool, size: float, seed: int) -> Array:
    """Four stacks, gradients first: small integers times 64, not all zero; or normal numbers."""
    rng = np.random.default_rng([seed, P, n])
    x = 64.0 * rng.integers(-4, 5, (4, P, n)) if exact else size * rng.standard_normal((4, P, n))
    x[0, 0, 0] += 64.0 * float(not x[0].any())
    return x


_EIGHTHS = tuple(Fraction(j, 8) for j in (4, 8, 1, 2, 6))
_OTHER = Of("1/3, but 3/8 in exact arithmetic", lambda exact: Fraction(3, 8) if exact else Fraction(1, 3))
_EXACT = Of(
    "binary fractions hold 1/P, k/n and n/k", lambda P, n, k: all(map(halved, map(Fraction, (1, k, n), (P, n, k))))
)


def _space(*keep: str, **weights: tuple[Any, ...]) -> Space:
    axes: Values = {
        "P": RANKS,
        "n": (2, 1, 3, 4, 5),
        "k": (1, WHOLE, HALF),
        "keep": keep,
        "size": (1.0, 1e-3, 1e3),
        "exact": (_EXACT, False),
    }
    space = Space(_data, {**axes, **weights}).without(
        WAYS, lambda P, n, k, keep: keep == "random" and comb(n, k) ** P > 64
    )
    return space.including(space.at(P=8), space.at(P=9))


def _step(x: Array, P: int, n: int, k: int, keep: str, exact: bool) -> Values:
    """What is known of a step: omega, its ways, roundings and the size of what is rounded."""
    omega, ways = Fraction(n, k) - 1, ways_of(P, n, k, keep)
    # differences, scaling, weights, averages over ranks, before and after, and over all ways, and sums of squares
    operations = 0 if exact else 4 * P + n + len(ways) + 16
    return {"omega": omega, "ways": ways, "operations": operations, "scale": 4 * float(1 + omega) * square(x) ** 0.5}


def _all(states: list[Any], parts: str, seed: int, exact: bool) -> list[Choice]:
    """Choices that are equally likely."""
    p = Fraction(1, len(states)) if exact else 1 / len(states)
    return [(p, own_row(state.estimate, seed, exact), lifted(getattr(state, parts), exact)) for state in states]


def _mean_gap(found: list[Choice], g: Array, operations: int, scale: float) -> Rounded:
    """Mean squared distance of the estimate from the average gradient."""
    mean = ranks_mean(g)
    return rounded_square(total([p * square(estimate - mean) for p, estimate, _ in found]), operations, scale, scale**2)


def _bias(found: list[Choice], g: Array, operations: int, scale: float, facts: Values) -> Rounded:
    """Squared distance of the mean estimate from it."""
    mean = ranks_mean(g)
    expected = total([p * (estimate - mean) for p, estimate, _ in found])
    return rounded_square(square(expected), operations, scale, float(facts.get("estimate_gap", 0)))


def _part_gap(about: str, found: list[Choice], facts: Values, operations: int, scale: float) -> Rounded:
    """Mean squared distance of shifts, or parts, from other vectors."""
    measured = total([p * mean_square(parts - facts[about]) for p, _, parts in found])
    return rounded_square(measured, operations, scale, scale**2)


_NEAR = partial(_part_gap, "g")

# --- DIANA -----------------------------------------------------------------------------------------------------------


def _of_diana(x: Array, P: int, n: int, k: int, keep: str, exact: bool) -> Values:
    g, h, target = lifted(x[:3], exact)
    return {
        **_step(x, P, n, k, keep, exact), "g": g, "target": target, "shift_gap": mean_square(g - h),
        "shift_error": mean_square(h - target), "target_gap": mean_square(g - target),
    }  # fmt: skip


def _after_diana(
    implementation: Any, x: Array, k: int, weight: Fraction, ways: Ways, seed: int, exact: bool
) -> list[Choice]:
    states = every_way(implementation, ways, k, float(weight), x[0], x[1], ranks_mean(x[1]))
    return _all(states, "shifts", seed, exact)


def _defect(found: list[Choice], operations: int, scale: float) -> Outcome:
    measured = max(np.abs(estimate - ranks_mean(shifts)).max() for _, estimate, shifts in found)
    return Outcome(measured, {}, operations * np.finfo(np.float64).eps * scale)


_BEST = {"P": (1, 2), "n": (2, 4), "weight": (Of("k/n", lambda k, n: Fraction(k, n)),)}
_WEIGHTED = _space("random", "largest", weight=(*_EIGHTHS, Fraction(0), _OTHER))
_SHIFTED = _WEIGHTED.including(*_WEIGHTED.every(**_BEST))
_DIANA = Family("variance_reduced.diana", "diana_step", _SHIFTED, _of_diana, _after_diana)


def _line(family: Family, axis: str = "weight", parts: range = range(17)) -> list[Any]:
    return [family.over(axis, [Fraction(j, 16) for j in parts], P=2, n=4, k=1)]


_BY_OMEGA = _DIANA.over("omega", (1, 2, 3, 4, 6, 8), by="n", k=1, weight=Fraction(1, 4))
_EVERY_BEST = _DIANA.every(**_BEST)

DIANA = (
    *_DIANA.studies(_bias, "unbiased", "biased"),
    *_DIANA.studies(_mean_gap, "variance", curves=[_DIANA.over("P", (1, 2, 3, 4, 6), n=2, k=1)]),
    *_DIANA.studies(_NEAR, "shift", curves=_line(_DIANA)),
    *_DIANA.studies(_NEAR, "shift_contracts", extremal=_EVERY_BEST, curves=_line(_DIANA, parts=range(5))),
    *_DIANA.studies(_NEAR, "shift_any_weight", extremal=_DIANA.every(weight=[Fraction(1)]), curves=_line(_DIANA)),
    *_DIANA.studies(_NEAR, "shift_least", extremal=_EVERY_BEST, curves=[_BY_OMEGA]),
    *_DIANA.studies(partial(_part_gap, "target"), "shift_target", curves=_line(_DIANA)),
    *_DIANA.studies(_defect, "weight_one"),
)

# --- MARINA ----------------------------------------------------------------------------------------------------------


def _of_marina(x: Array, P: int, n: int, k: int, keep: str, exact: bool) -> Values:
    g, before = lifted(x[:2], exact)
    estimate = lifted(x[3, 0], exact)
    known = {"g": g, "estimate_gap": square(estimate - ranks_mean(before)), "mean_turn": mean_square(g - before)}
    return {**_step(x, P, n, k, keep, exact), **known}


def _after_marina(
    implementation: Any, x: Array, k: int, full_probability: Fraction, ways: Ways, seed: int, exact: bool
) -> list[Choice]:
    """A full step, and every choice of a compressed one."""
    p, given = full_probability if exact else float(full_probability), (x[0], x[1], x[3, 0])
    turned = every_way(implementation, ways, k, False, *given)
    results = [(p, implementation(*given, k, True)[0]), *(((1 - p) / len(ways), result) for result in turned)]
    return [(p, own_row(result, seed, exact), None) for p, result in results]


def _coin_words(implementation: Any, P: int, n: int, k: int, full_probability: Fraction) -> Fraction:
    """Of a full step and a compressed one, weighed by the coin."""
    x = np.ones((P, n))
    sent = [
        int(implementation(x, x, x[0], k, full, **how)[1].sent.max())
        for full, how in ((True, {}), (False, {"kept": np.tile(np.arange(k), (P, 1))}))
    ]
    return full_probability * sent[0] + (1 - full_probability) * sent[1]


_COIN = _space("random", full_probability=(*_EIGHTHS, _OTHER))
_MARINA = Family("variance_reduced.marina", "marina_step", _COIN, _of_marina, _after_marina)
_SENT: Values = {"P": RANKS, "n": sizes(60), "k": (1, WHOLE, HALF)}
_SHARE = Of("k/n", lambda k, n: Fraction(k, n))
_PAID = Family(
    "variance_reduced.marina",
    "marina_step",
    Space(nothing, {**_SENT, "full_probability": (Fraction(1, 3), Fraction(1), _SHARE)}),
    arrays=4,
    searched=False,
)
_MANY = (2, 3, 4, 6, 8, 12, 16)

MARINA = (
    *_MARINA.studies(_mean_gap, "error", curves=_line(_MARINA, "full_probability", range(1, 17))),
    *_MARINA.studies(_bias, "bias", "unbiased", curves=_line(_MARINA, "full_probability", range(1, 17))),
    *_PAID.studies(
        _coin_words,
        "words",
        "words_at_ratio",
        curves=[_PAID.over("P", _MANY, n=960, k=96, full_probability=Fraction(1, 10))],
    ),
)

# --- DASHA -----------------------------------------------------------------------------------------------------------


def _of_dasha(x: Array, P: int, n: int, k: int, keep: str, parts: str, weight: Fraction, exact: bool) -> Values:
    """In aligned cases the turns are -a times what the workers' parts of the estimate are off by."""
    own = x[1] - (x[0] - x[1]) / float(weight) if parts == "aligned" else x[2]
    a = weight if exact else float(weight)
    g, before, held = lifted(x[0], exact), lifted(x[1], exact), lifted(own, exact)
    return {
        **_step(np.stack([x[0], x[1], own]), P, n, k, keep, exact), "g": g, "own": own,
        "estimate_gap": square(ranks_mean(held) - ranks_mean(before)), "part_gap": mean_square(held - before),
        "mean_turn": mean_square(g - before), "part_offer": mean_square(g - before - a * (held - before)),
    }  # fmt: skip


def _after_dasha(
    implementation: Any, x: Array, own: Array, k: int, weight: Fraction, ways: Ways, seed: int, exact: bool
) -> list[Choice]:
    states = every_way(implementation, ways, k, float(weight), x[0], x[1], own, ranks_mean(own))
    return _all(states, "own", seed, exact)


_TRACKED = _WEIGHTED.replaced(keep=("random",), parts=("drawn",))
_ALIGNED = _TRACKED.every(
    P=(1, 2),
    n=(2, 3, 4),
    parts=["aligned"],
    exact=[False],
    weight=[Of("k/(2 n - k)", lambda k, n: Fraction(k, 2 * n - k))],
)
_DASHA = Family("variance_reduced.dasha", "dasha_step", _TRACKED.including(*_ALIGNED), _of_dasha, _after_dasha)

DASHA = (
    *_DASHA.studies(_mean_gap, "error", curves=_line(_DASHA)),
    *_DASHA.studies(_NEAR, "part_error", curves=_line(_DASHA)),
    *_DASHA.studies(_bias, "bias", curves=_line(_DASHA)),
    *_DASHA.studies(_NEAR, "part_contracts", extremal=_DASHA.of(_ALIGNED), curves=_line(_DASHA, parts=range(3))),
)

# --- lazy aggregation ------------------------------------------------------------------------------------------------


def _whole_root(value: Fraction) -> bool:
    """Whether the value is a binary fraction squared."""
    return halved(Fraction(float(value) ** 0.5)) and Fraction(float(value) ** 0.5) ** 2 == value


def _of_lazy(x: Array, P: int, n: int, k: int, trigger: Fraction, start: str, exact: bool) -> Values:
    """Gradients before, and the parts.

    In silent cases they are off by just the root of the trigger times the turn, or by 5/4 of it; in flat ones by v, and
    turned by -v (1/q - 1).
    """
    g, previous, own = x[0], x[1], x[1] if start == "fresh" else x[2]
    if start in ("silent", "not silent"):
        own = g - (1.0 if start == "silent" else 1.25) * float(trigger) ** 0.5 * (g - previous)
    if start == "flat":
        previous = g + (1 / (1 - k / n) ** 0.5 - 1) * 64.0
        own = previous + 64.0
    new, before, held = lifted(g, exact), lifted(previous, exact), lifted(own, exact)
    fresh = np.array_equal(previous, own) and bool((g != previous).any(axis=1).all())
    scale = 4 * square(np.stack([g, previous, own])) ** 0.5
    return {
        "previous": previous, "own": own, "g": new, "fresh": fresh, "part_gap": mean_square(held - before),
        "mean_turn": mean_square(new - before), "kept_share": Fraction(k, n), "operations": 0 if exact else P + n + 8,
        "scale": scale,
    }  # fmt: skip


def _after_lazy(implementation: Any, x: Array, previous: Array, own: Array, k: int, trigger: Fraction) -> Any:
    return implementation(x[0], previous, own, ranks_mean(own), k, float(trigger), keep="largest")


def _lazy_gap(found: Any, g: Array, exact: bool, operations: int, scale: float) -> Rounded:
    return rounded_square(mean_square(lifted(found[0].own, exact) - g), operations, scale, scale**2)


def _lazy_words(found: Any) -> Outcome:
    return Outcome(int(found[1].sent.sum()), {"senders": int(np.sum(found[0].sent))})


def _held(n: int, k: int, trigger: Fraction, start: str) -> bool:
    if start == "flat":
        return k < n and _whole_root(1 - Fraction(k, n)) and halved(1 / Fraction((1 - k / n) ** 0.5))
    return start in ("any", "fresh") or _whole_root(trigger)


_LAZY_SPACE = Space(
    _data,
    {
        "P": RANKS,
        "n": (4, 1, 2, 3, 6, 9),
        "k": (WHOLE, 1, Of("n - n // 4", lambda n: n - n // 4)),
        "trigger": tuple(
            Fraction(*pair) for pair in ((1, 4), (0, 1), (1, 2), (15, 16), (1, 1), (4, 1), (9, 1), (1, 10))
        ),
        "keep": ("largest",),
        "start": ("any", "fresh", "silent", "not silent", "flat"),
        "size": (1.0, 1e3),
        "exact": (Of("binary fractions hold every number", _held), False),
    },
).without("Flat starts at k = n, where nothing is left out.", lambda k, n, start: start == "flat" and k == n)
_SILENT = _LAZY_SPACE.every(P=(1, 2, 3), n=(2, 3, 4), trigger=[Fraction(4), Fraction(1), Fraction(9)], start=["silent"])
_FLAT = _LAZY_SPACE.every(P=(1, 2, 3), n=(4, 9), k=[Of("n - n // 4", lambda n: n - n // 4)], start=["flat"])
_LAZY = Family("variance_reduced", "lazy_step", _LAZY_SPACE.including(*_SILENT, *_FLAT), _of_lazy, _after_lazy)


def _by_trigger(k: int) -> list[Any]:
    return [_LAZY.over("trigger", [Fraction(j, 2) for j in range(1, 13)], P=4, n=6, k=k)]


LAZY = (
    *_LAZY.studies(_lazy_gap, "lag.error", extremal=_LAZY.of(_SILENT), curves=_by_trigger(6)),
    *_LAZY.studies(_lazy_gap, "clag.error", extremal=_LAZY.of(_FLAT), curves=_by_trigger(3)),
    *_LAZY.studies(lambda found: int(np.sum(found[0].sent)), "lag.never_silent"),
    *_LAZY.studies(_lazy_words, "lag.words"),
)

# --- words -----------------------------------------------------------------------------------------------------------


def _diana_words(implementation: Any, P: int, n: int, k: int) -> int:
    x = np.ones((P, n))
    return int(implementation(x, x, x[0], k, 0.5, kept=np.tile(np.arange(k), (P, 1)))[1].sent.max())


_SIZED = Family("variance_reduced.diana", "diana_step", Space(nothing, _SENT), arrays=4, searched=False)
WORDS = _SIZED.studies(_diana_words, "words", curves=[_SIZED.over("P", _MANY, n=100, k=10)])

ONE_STEP = (*DIANA, *MARINA, *DASHA, *LAZY, *WORDS)
