"""What one worker's memory does: EF14's residual, with noise and without, and EF21's lag."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from math import log2
from operator import add
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import FeedbackState
from commbounds.verify.experiments.feedback.runs import (
    ALL,
    BUT_ONE,
    HALVES,
    MOST,
    Kept,
    compressor_of,
    contraction,
    drawn_values,
    is_rational,
    lifted,
    over_kept,
    root,
    square,
    squares,
)
from commbounds.verify.family import Family, Rounded, rounded_square
from commbounds.verify.space import Of, Space
from commbounds.verify.study import Study

Values = dict[str, Any]

# --- EF14's residual -------------------------------------------------------------------------------------------------


def _gradients(n: int, kind: str, steps: int, mean: float, exact: bool, seed: int) -> Array:
    """A sequence (steps, n)."""
    rng, first = np.random.default_rng([seed, n, steps]), np.ones(n)
    rows: dict[str, Callable[[], Array]] = {
        "constant": lambda: np.tile(drawn_values(rng, exact, n), (steps, 1)),
        "equal": lambda: np.tile(first, (steps, 1)),
        "drawn": lambda: drawn_values(rng, exact, steps, n),
        "ramp": lambda: np.tile(np.arange(1.0, n + 1), (steps, 1)),
        "alternating": lambda: np.outer((-1.0) ** np.arange(steps), first),
        "drifting": lambda: drawn_values(rng, exact, 1, n) + 0.125 * drawn_values(rng, exact, steps, n),
    }
    return np.asarray(mean * rows[kind]())


def _of_gradients(x: Array, n: int, kept: Kept, gamma: float, sigma: float, exact: bool) -> Values:
    """Noise is `noise` or its opposite."""
    noise = sigma * np.arange(1.0, n + 1.0)
    reach = root(max(squares(gamma * x, exact)))
    return {
        "alpha": contraction(kept, n), "reach": reach, "stepsize": Fraction(gamma), "noise": noise,
        "variance": square(lifted(noise, exact)),
    }  # fmt: skip


def _residual(
    implementation: Any, x: Array, noise: Array, n: int, kept: Kept, gamma: float, exact: bool, facts: Values
) -> Rounded:
    """The largest expected squared residual of gradients with noise: all its signs."""
    most = _largest(implementation, n, kept, gamma, exact, x.tobytes(), noise.tobytes())
    scale = (float(facts["reach"]) + gamma * float(facts["variance"]) ** 0.5) / (1 - float(1 - facts["alpha"]) ** 0.5)
    return rounded_square(most, 0 if exact else 4 * len(x) + n, scale)


@lru_cache(maxsize=1 << 8)
def _largest(implementation: Any, n: int, kept: Kept, gamma: float, exact: bool, means: bytes, noise: bytes) -> Any:
    """The same of one run: an attack comes back to it again and again."""
    x, u = np.frombuffer(means).reshape(-1, n), np.frombuffer(noise)
    mechanism, T = implementation(compressor_of(kept)), len(x)
    signs = (1.0, -1.0) if u.any() else (1.0,)
    states, totals, memories = [mechanism.start(x[0])], [], []
    for gradients in gamma * (x[:, None] + np.outer(signs, u)):
        states = [mechanism.step(state, gradient)[1] for state in states for gradient in gradients]
        memories += [state.memory for state in states]
    lengths = iter(squares(np.array(memories), exact))
    for t in range(1, T + 1):
        later = len(signs) ** (T - t)  # as many sequences go on from each
        of_step = itertools.islice(lengths, len(signs) ** t)
        totals.append(reduce(add, (value for value in of_step for _ in range(later))))
    return max(totals) / len(states)


_BINARY = Of(
    "the root of 1 - alpha is rational, and the steps are few",
    lambda n, kept, steps: is_rational(kept, n) and steps * (1 if isinstance(kept, int) else -log2(kept)) <= 12,
)
_CONSTANT = tuple(
    {"kind": "equal", "n": 3, "kept": q, "steps": steps, "mean": size, "exact": False}
    for q, steps, size in (
        (0.25, 120, 1.0), (0.5, 120, 0.125), (0.75, 120, 8.0), (0.875, 120, 1.0), (63 / 64, 900, 1.0)
    )
)  # fmt: skip
"""Constant gradients that bring the memory to its limit."""
_SEQUENCES = Space(
    _gradients,
    {
        "n": (4, 1, 2, 3, 5, 9, 20),
        "kept": (MOST, 1, BUT_ONE, ALL, 0.5, 0.25),
        "kind": ("drawn", "equal", "constant", "ramp", "alternating", "drifting"),
        "steps": (6, 1, 2, 40),
        "mean": (1.0, 2.0**-10, 8.0),
        "gamma": (1.0,),
        "sigma": (0.0,),
        "exact": (_BINARY, False),
    },
).search(n=(1, 8), steps=(1, 8), kept=(0.75, HALVES))
_NOISY = _SEQUENCES.replaced(
    steps=(2, 1, 4, 7), mean=(1.0, 0.0, 0.125), gamma=(1.0, 0.5, 4.0), sigma=(1.0, 0.0, 3.0, 0.125)
)
_ALONE = _NOISY.every(
    n=[1], kept=[1 / 16, 0.32], kind=["equal"], steps=[5], mean=[0.0], gamma=[0.5, 4.0], exact=[False]
)
"""Noise that alone comes to 1/(1 + q) of the bound."""
_CONSTANTS = [_SEQUENCES.at(**row) for row in _CONSTANT]
_QUIET = Family("feedback.ef14", "EF14", _SEQUENCES.including(*_CONSTANTS), _of_gradients, arrays=2, exact_arrays=12)
_UNDER_NOISE = Family(
    "feedback.ef14", "EF14", _NOISY.search(steps=(1, 5)).including(*_ALONE), _of_gradients, arrays=2, exact_arrays=4
)

# --- EF21's lag ------------------------------------------------------------------------------------------------------


def _turn(n: int, kept: Kept, turn: float, start: str, exact: bool, seed: int) -> Array:
    """An estimate, and the gradients before and after; along one another if it is zero, and as is worst if aligned."""
    rng = np.random.default_rng([seed, n])
    rows = drawn_values(rng, exact, 3, n)
    if start == "aligned":
        q = (1 - float(contraction(kept, n))) ** 0.5 or 1.0
        return np.outer([0.0, 1.0, 1 / q], np.ones(n))
    rows[2] = rows[1] + turn * rows[1 if start == "zero" else 2]
    rows[0] *= float(start != "zero")
    return rows


def _lag(implementation: Any, x: Array, kept: Kept, n: int, exact: bool, facts: Values) -> Rounded:
    """One step from the estimate and the gradients."""
    _, state = implementation(compressor_of(kept)).step(FeedbackState(x[0].copy()), x[2])
    off = lifted(state.memory, exact) - facts["after"]
    return rounded_square(square(off), 0 if exact else n + 6, 4 * float(square(x)) ** 0.5)


def _of_turn(x: Array, kept: Kept, n: int, exact: bool) -> Values:
    g, before, after = lifted(x, exact)
    return {"alpha": contraction(kept, n), "lag": square(g - before), "turn": square(after - before), "after": after}


_TURNS = Space(
    _turn,
    {
        "n": (4, 1, 2, 3, 5, 9, 30),
        "kept": (MOST, 1, BUT_ONE, ALL, 0.5, 0.25, 0.75),
        "turn": (1.0, 0.0, 0.125, 8.0),
        "start": ("drawn", "zero", "aligned"),
        "exact": (
            Of(
                "the root of 1 - alpha is rational, and its inverse binary where it is asked for",
                lambda n, kept, start: is_rational(kept, n) and (start != "aligned" or kept in (0.5, 0.25)),
            ),
            False,
        ),
    },
).search(n=(1, 8), kept=(HALVES,))
_ALIGNED = _TURNS.every(n=[2], kept=[0.25, 0.5, 0.75], start=["aligned"], exact=[False])
_EF21 = Family("feedback.ef21", "EF21", _TURNS.including(*_ALIGNED), _of_turn, arrays=2, exact_arrays=72)

WORKERS: tuple[Study, ...] = (
    *_QUIET.studies(
        _residual,
        "residual",
        "residual_simple",
        mutate=_QUIET.neighbour,
        extremal=_QUIET.of(_CONSTANTS),
        curves=[over_kept(_QUIET, "equal gradients, 200 steps, n = 8", 8, kind="equal", steps=200, exact=False)],
    ),
    *_UNDER_NOISE.studies(
        _residual,
        "residual_noisy",
        extremal=_UNDER_NOISE.of(_CONSTANTS),
        curves=[
            _UNDER_NOISE.over(
                "alpha",
                (0.875, 0.75, 0.5, 0.25, 0.125),
                "noise alone, nine steps, the compressor that returns 1 - q",
                by="kept",
                n=1,
                steps=9,
                mean=0.0,
                exact=False,
            )
        ],
    ),
    *_EF21.studies(
        _lag,
        "contraction",
        mutate=_EF21.neighbour,
        extremal=_EF21.of(_ALIGNED),
        curves=[over_kept(_EF21, "turns of the gradient itself, n = 8", 8, start="zero", exact=False)],
    ),
)
