"""Ok-Topk SGD: exact runs on integers, the mean residual, the pair of ranks that stalls."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.verify.experiments.oktopk.cases import exists
from commbounds.verify.experiments.oktopk.quadratics import QUADRATIC, kept_largest
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Settings, Space, nothing
from commbounds.verify.stack_families import FAMILIES, stack
from commbounds.verify.study import Case, Curve, Outcome, Study

_EPS = float(np.finfo(np.float64).eps)
_ETA = 0.25
_SIZES = {
    "k": (2, 1, Of("P", lambda P: P)),
    "n": (Of("2 P k", lambda P, k: 2 * P * k), Of("P k + k", lambda P, k: P * k + k), Of("k", lambda k: k)),
}


def _space(make: Callable[..., Any], families: tuple[str, ...], **axes: tuple[Any, ...]) -> Space:
    space = Space(make, {"P": RANKS, **_SIZES, "family": families, **axes}, options=tuple(axes))
    return space.without(
        "The family does not exist at these sizes.", lambda P, n, k, family: not exists(P, n, k, family)
    ).search(k=(1, 9), n=(1, 40), steps=(1, 6))


# --- the iterates and the mean residual ---------------------------------------------------------------------------


def _gradients(P: int, n: int, k: int, family: Any, steps: int, seed: int) -> Array:
    """Every step's gradients: rows that are given, or whole numbers that P divides, so that means are exact."""
    if not isinstance(family, str):
        return np.array(family)
    drawn = np.array([stack(family, P, n, k, seed + t, np.float64) for t in range(steps)])
    return P * np.rint(drawn * (100.0 / (np.abs(drawn).max() or 1.0))).reshape(steps * P, n)


def _off_plain(
    implementation: Any, x: Array, P: int, n: int, k: int, steps: int, tau_prime: int, tau: int, accumulate: str,
    halved: bool,
) -> Outcome:  # fmt: skip
    """Thresholds are found anew every `tau_prime` steps, regions every `tau`.

    Residuals are scaled or raw, by `accumulate`; the step size is constant or `halved` in every step.
    """
    sgd = implementation(k, _ETA, accumulate=accumulate, options={"tau_prime": tau_prime, "tau": tau})
    state = sgd.start(np.zeros(n), P)
    plain, worst, eta, waited = np.zeros(n), Fraction(0), _ETA, False
    for gradients in x.reshape(steps, P, n):
        state, _, _ = sgd.step(gradients, state, step_size=eta)
        plain = plain - eta * gradients.mean(axis=0)  # exact: small integers, powers of two
        unit = eta if accumulate == "raw" else 1.0
        gap = state.weights - plain - unit * state.residuals.mean(axis=0)
        worst = max(worst, Fraction(float(np.abs(gap).max())))
        waited |= bool(state.residuals.any())
        eta /= 2 if halved else 1
    return Outcome(worst, {}, active=waited)


_ITERATES = _space(
    _gradients,
    tuple(FAMILIES),
    steps=(4,),
    tau_prime=(1, 2, 3),
    tau=(2,),
    accumulate=("scaled", "raw"),
    halved=(True, False),
).without(
    "With a constant step size raw residuals are scaled ones.",
    lambda accumulate, halved: accumulate == "raw" and not halved,
)
_PUBLISHED = _ITERATES.every(
    P=(1, 2, 3, 5, 8), k=[2], n=lambda P: [2 * P + 1], family=["iid"], steps=[66], tau_prime=[32], tau=[64],
    halved=[False],
)  # fmt: skip
"""Steps in which the published periods of 32 and 64 steps come round; P does not divide n."""
_RUNS = Family("oktopk.sgd", "OkTopkSGD", _ITERATES.including(*_PUBLISHED), exact=False)


def _three_steps() -> Iterator[Any]:
    for entries in itertools.product((0.0, -1.0, 2.0), repeat=4):
        first = np.array(entries).reshape(2, 2)
        for second in (first, first[::-1], -first[:, ::-1]):
            yield tuple(map(tuple, np.concatenate([first, second, first]).tolist()))


_THREE_STEPS: dict[str, Any] = {
    "grid": _RUNS.every(
        P=[2], n=[2], family=_three_steps, steps=[3], k=lambda level: (1, 2)[: 1 + level],
        tau_prime=lambda level: (1, 3)[: 1 + level], accumulate=("scaled", "raw"), halved=(True, False),
    ),
    "enumerated": "three steps of two ranks with two entries: every first gradient in {0, -1, 2}, three second ones, "
    "step sizes constant or halved, residuals scaled or raw",
}  # fmt: skip


def _mean_residual(
    implementation: Any, P: int, n: int, k: int, family: str, steps: int, cancels: bool, seed: int
) -> Outcome:
    """Norm of the mean residual after the last step, with the symbols of its bounds."""
    sgd = implementation(k, _ETA, options={"tau_prime": 1})
    state = sgd.start(np.zeros(n), P)
    before, move, acc, update, largest_acc = 0.0, 0.0, np.zeros(n), np.zeros(n), 0.0
    for t in range(steps):
        if family == "along the residual" and t > 0:
            gradients = np.tile(state.residuals.mean(axis=0), (P, 1))
        else:
            gradients = _floats(family, P, n, k, seed + t)
        if cancels and t == steps - 1:
            gradients = _cancelling(gradients)
        before = float(np.linalg.norm(state.residuals.mean(axis=0)))
        move = float(np.linalg.norm(_ETA * gradients.mean(axis=0)))
        every = state.residuals + _ETA * gradients
        acc, largest_acc = every.mean(axis=0), float(np.linalg.norm(every))
        state, result, _ = sgd.step(gradients, state)
        update = result.update / P
    missed = float(np.linalg.norm(kept_largest(acc, k) - update))
    # every entry of a residual, a mean and an update carries P + 3 roundings, a norm n/2 + 2 more
    slack = (2 * P + n + 10) * _EPS * (largest_acc + before + 2.0 * move + missed)
    values = {"n": float(n), "k": float(k), "before": before, "move": move, "missed": missed}
    if move > 0.0:  # without, there is no xi, and no claim about it admits the case
        values["xi"] = missed / move
    return Outcome(float(np.linalg.norm(state.residuals.mean(axis=0))), values, slack)


def _cancelling(gradients: Array) -> Array:
    """The first ranks' gradients and, on the others, their opposites; zero on one that is left over."""
    half = len(gradients) // 2
    return np.concatenate([gradients[:half], -gradients[:half], np.zeros_like(gradients[: len(gradients) % 2])])


def _floats(family: str, P: int, n: int, k: int, seed: int) -> Array:
    made = _MADE.get(family)
    return stack(family, P, n, k, seed, np.float64) if made is None else made(P, n)


def _near_equal(P: int, n: int) -> Array:
    return np.tile(1.0 + 1e-6 * np.arange(n), (P, 1))


def _opposed(P: int, n: int) -> Array:
    """Ranks 0 and 1 nearly cancel, and select different entries: the mean is small, and the update is not."""
    x = np.zeros((P, n))
    x[:2, :2] = ((1.0 + 2e-6, -1.0), (-1.0, 1.0 + 1e-6))
    return x


_MADE: Mapping[str, Callable[[int, int], Array]] = MappingProxyType(
    {"nearly equal": _near_equal, "along the residual": _near_equal, "opposed": _opposed}
)
"""Gradients, in the first step of those along the residual, that make the bounds on the residual tight."""


_RESIDUALS = _space(nothing, (*FAMILIES, *_MADE), steps=(1, 3), cancels=(False, True)).without(
    "Two ranks at least are opposed.", lambda P, n, family: family == "opposed" and min(P, n) < 2
)
_ALONG = [
    row
    for P, n, k in ((1, 100, 1), (2, 50, 1), (3, 50, 5), (5, 100, 10), (8, 100, 2))
    for row in _RESIDUALS.every(P=[P], n=[n], k=[k], family=("nearly equal", "along the residual"), steps=[2])
]
_LAGS = Family(
    "oktopk.sgd",
    "OkTopkSGD",
    _RESIDUALS.including(*_ALONG),
    run=_mean_residual,
    exact=False,
)
_WORST = [
    *(_RESIDUALS.at(P=P, n=n, k=k, family="nearly equal") for P, n, k in ((1, 4, 1), (3, 10, 2), (8, 50, 20))),
    *(_RESIDUALS.at(P=P, n=2 * P, k=1, family="opposed") for P in (2, 3, 5, 8)),
]


def _over_k(seed: int) -> Iterator[tuple[float, list[Case]]]:
    """From one to nearly all of 64 entries on 8 ranks."""
    for k in (1, 2, 4, 8, 16, 32, 63):
        drawn = [{"family": "iid", "seed": seed % 2**31 + 10 * j, "steps": 1 + j} for j in range(12)]
        rows: list[Settings] = [*drawn, {"family": "nearly equal"}]
        yield k, [_LAGS.case(_RESIDUALS.at(P=8, n=64, k=k, **row)) for row in rows]


# --- the pair that stalls -----------------------------------------------------------------------------------------


def _realised_xi(implementation: Any, n: int, steps: int, B: int, tau_prime: int) -> Fraction:
    """The xi of the last step, exactly: all numbers are small integers times powers of two.

    The large entries of the pair are +-B and cancel.
    """
    sgd = implementation(1, _ETA, options={"tau_prime": tau_prime})
    weights = np.zeros(n)
    weights[1] = 1.0
    state = sgd.start(weights, 2)
    square = Fraction(0)
    for _ in range(steps):
        gradients = np.tile(np.where(np.arange(n) == 1, state.weights, 0.0), (2, 1))
        gradients[0, 0], gradients[1, 0] = B, -B
        acc = (state.residuals + _ETA * gradients).mean(axis=0)
        step = _ETA * gradients.mean(axis=0)
        state, result, _ = sgd.step(gradients, state)
        off = [Fraction(float(v)) for v in kept_largest(acc, 1) - result.update / 2]
        moved = sum(Fraction(float(v)) ** 2 for v in step)
        square = sum((v * v for v in off), Fraction(0)) / moved if moved else Fraction(0)
    root = sp.sqrt(sp.Rational(square.numerator, square.denominator))
    assert root.is_Rational  # one entry of either vector is not zero
    return Fraction(int(root.p), int(root.q))


_PAIR = Space(nothing, {"P": (2,), "n": (2, 5), "k": (1,), "steps": (1,), "B": (1024,), "xi": (0,), "tau_prime": (1,)})
_STALLING = Family(
    "oktopk.sgd",
    "OkTopkSGD",
    _PAIR.without("The pair is two ranks.", lambda P: P != 2),
    lambda steps: {"horizon": steps},
    searched=False,
)
"""After so many steps; `xi` is the constant that xi may have."""

DESCENTS: tuple[Study, ...] = (
    *_RUNS.studies(_off_plain, "iterate", "iterate_raw", **_THREE_STEPS),
    *_LAGS.studies(
        lambda found: found,
        "residual",
        "residual_missed",
        extremal=_LAGS.of(_WORST),
        curves=[Curve("k", "n = 64, 8 ranks, up to 12 steps", _over_k, 12, relative=True)],
    ),
    *QUADRATIC,
    *_STALLING.studies(
        _realised_xi,
        "assumption",
        grid=None,
        corpus=_STALLING.every(xi=(1, 3, 10), steps=lambda xi: (xi, xi + 1, 2 * xi + 1)),
        extremal=_STALLING.every(xi=[1], steps=[40]),
    ),
    *_STALLING.studies(
        _realised_xi,
        "stall",
        grid=_STALLING.every(
            steps=lambda level: range(1, (12, 40, 200)[level]), B=lambda steps: (steps + 1, 1024), n=(2, 5)
        ),
        corpus=None,
        enumerated="all t from 1 to 11, B = t + 1 and 1024, n = 2 and 5",
        curves=[_STALLING.over("horizon", (1, 2, 5, 10, 20, 50), "P = 2, k = 1, B = 1024", by="steps")],
    ),
)
