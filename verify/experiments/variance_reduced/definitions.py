"""Methods with memory beside their definitions: several rounds from a state that is given, and the spaces of cases."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.variance_reduced import padded_size
from commbounds.verify.data import IDLE, stack_of
from commbounds.verify.definition import Definition, Given, chosen, in_rounds
from commbounds.verify.definitions import variance_reduced as twins
from commbounds.verify.space import RANKS, Of, Space, sizes

DATA = ("ties", "normal", "sparse", "of all sizes", "cancelling", "alike", "zeros", "subnormal")
COUNTS = (1, Of("n", lambda n: n), Of("max(n // 3, 1)", lambda n: max(n // 3, 1)))
ROUNDS = (3, 1)
Bounds = tuple[float | None, float | None]


class _Draws:
    """States and gradients of a case: rows of the kind of data; states of normal entries, or of integers that tie.

    Beside sparse data they are sparse, too: most entries are zeros, of either sign.
    """

    def __init__(self, P: int, n: int, data: str, dtype: str, seed: int) -> None:
        self.P, self.n, self.data, self.dtype, self.seed = P, n, data, dtype, seed
        self.rng = np.random.default_rng([seed, P, n])

    def stacks(self, rounds: int) -> list[Array]:
        return [stack_of(self.data, self.P, self.n, self.dtype, self.seed + 17 * t) for t in range(rounds)]

    def rows(self, n: int | None = None) -> Array:
        shape = (self.P, n or self.n)
        tied = self.data in ("ties", "alike")
        drawn = self.rng.integers(-2, 3, shape) if tied else self.rng.standard_normal(shape)
        return (drawn * (self.rng.random(shape) < 0.2) if self.data == "sparse" else drawn).astype(self.dtype)

    def row(self, n: int | None = None) -> Array:
        return np.ascontiguousarray(self.rows(n)[0])

    def kept(self, rounds: int, k: int, keep: str | None) -> dict[str, list[Array]]:
        if keep == "largest":
            return {}
        drawn = [[np.sort(self.rng.permutation(self.n)[:k]) for _ in range(self.P)] for _ in range(rounds)]
        return {"kept": [np.array(rows, np.int64) for rows in drawn]}


def _diana(
    P: int, n: int, data: str, dtype: str, k: int, weight: float, keep: str | None, rounds: int, seed: int
) -> Given:
    draws = _Draws(P, n, data, dtype, seed)
    state = {"shifts": draws.rows(), "mean": draws.row()}
    return Given(
        {"stacks": draws.stacks(rounds), **state}, chosen(k=k, weight=weight, keep=keep), draws.kept(rounds, k, keep)
    )


def _tracking(draws: _Draws, rounds: int) -> dict[str, Any]:
    state = {"previous": draws.rows(), "own": draws.rows(), "estimate": draws.row()}
    return {"stacks": draws.stacks(rounds), **state}


def _marina(
    P: int, n: int, data: str, dtype: str, k: int, full: tuple[bool, ...], keep: str | None, rounds: int, seed: int
) -> Given:
    draws = _Draws(P, n, data, dtype, seed)
    inputs, coins = _tracking(draws, rounds), list(full[:rounds])
    del inputs["own"]
    kept = draws.kept(rounds, k, keep)
    if kept:
        kept = {"kept": [None if coin else rows for coin, rows in zip(coins, kept["kept"], strict=True)]}  # type: ignore[misc]
    return Given(inputs, chosen(k=k, full=coins, keep=keep), kept)


def _dasha(
    P: int, n: int, data: str, dtype: str, k: int, weight: float, keep: str | None, rounds: int, seed: int
) -> Given:
    draws = _Draws(P, n, data, dtype, seed)
    return Given(_tracking(draws, rounds), chosen(k=k, weight=weight, keep=keep), draws.kept(rounds, k, keep))


def _lazy(
    P: int, n: int, data: str, dtype: str, k: int, trigger: float, keep: str | None, rounds: int, seed: int
) -> Given:
    draws = _Draws(P, n, data, dtype, seed)
    inputs = _tracking(draws, rounds)
    if seed % 2:  # so near that the trigger decides
        inputs["own"] = inputs["previous"]
    return Given(inputs, chosen(k=k, trigger=trigger, keep=keep), draws.kept(rounds, k, keep or "largest"))


def _primal(P: int, n: int, data: str, dtype: str, k: int, step_size: float, rounds: int, seed: int) -> Given:
    draws = _Draws(P, n, data, dtype, seed)
    inputs = {"stacks": draws.stacks(rounds), "weights": draws.row(), "model": draws.row()}
    return Given(inputs, {"k": k, "step_size": step_size})


def _errors(draws: _Draws, n: int | None = None) -> dict[str, Array]:
    return {"worker_errors": draws.rows(n), "server_errors": draws.row(n)}


def _onebit(
    P: int, n: int, data: str, dtype: str, beta: float | None, scale: str | None, rounds: int, seed: int
) -> Given:
    draws = _Draws(P, n, data, dtype, seed)
    return Given(
        {"stacks": draws.stacks(rounds), "momentum": draws.row(), **_errors(draws)}, chosen(beta=beta, scale=scale)
    )


def _zeroone(
    P: int, n: int, data: str, dtype: str, kappa: int | None, clock: tuple[int, int, int], second_beta: float | None,
    scale: str | None, rounds: int, seed: int,
) -> Given:  # fmt: skip
    draws = _Draws(P, n, data, dtype, seed)
    inputs = {"stacks": draws.stacks(rounds), "momentum": draws.row(), "variance": draws.row() ** 2, **_errors(draws)}
    given = chosen(kappa=kappa, beta=None if seed % 2 else 0.75, second_beta=second_beta, scale=scale)
    return Given({**inputs, "clock": np.array(clock, np.int64)}, given)


def _local(
    P: int, n: int, data: str, dtype: str, average: tuple[bool, ...], step_size: float | None, beta: float | None,
    decay: float | None, epsilon: float | None, scale: str | None, rounds: int, seed: int,
) -> Given:  # fmt: skip
    draws = _Draws(P, n, data, dtype, seed)
    state = {"weights": draws.rows(), "momentum": draws.rows(), "moved": draws.rows(), "variance": draws.row() ** 2}
    options = chosen(step_size=step_size, beta=beta, decay=decay, epsilon=epsilon, scale=scale)
    inputs = {"stacks": draws.stacks(rounds), **state, **_errors(draws), "elapsed": np.array([0.5])}
    return Given(inputs, {"average": list(average[:rounds]), **options})


def _layers(n: int, layers: int) -> Array:
    cuts = [n * j // layers for j in range(layers + 1)]
    return np.diff(cuts).astype(np.int64)


def _warmup(
    P: int, n: int, data: str, dtype: str, layers: int, beta: float | None, second_beta: float | None,
    decay: float | None, epsilon: float | None, bounds: Bounds, coefficient_beta: float | None, rounds: int, seed: int,
) -> Given:  # fmt: skip
    draws = _Draws(P, n, data, dtype, seed)
    weights = draws.row() * (0 if seed % 5 == 0 else 1)
    state = {"weights": weights.astype(dtype), "momentum": draws.row(), "variance": draws.row() ** 2}
    further = {"trust": np.abs(draws.rng.standard_normal(layers)), "layers": _layers(n, layers)}
    options = chosen(
        beta=beta, second_beta=second_beta, decay=decay, epsilon=epsilon, coefficient_min=bounds[0],
        coefficient_max=bounds[1], coefficient_beta=coefficient_beta, step_size=0.25 if seed % 2 else None,
    )  # fmt: skip
    return Given({"stacks": draws.stacks(rounds), **state, **further}, options)


def _lamb(
    P: int, n: int, data: str, dtype: str, layers: int, beta: float | None, second_beta: float | None,
    decay: float | None, epsilon: float | None, bounds: Bounds, threshold: float | None,
    scale: str | None, masked: bool, rounds: int, seed: int,
) -> Given:  # fmt: skip
    draws, m = _Draws(P, n, data, dtype, seed), padded_size(n, P)
    state = {"weights": draws.row(), "momentum": draws.row(m), "variance": draws.row() ** 2, "fresh": draws.row() ** 2}
    of_layers = {name: 0.25 + draws.rng.random(layers) for name in ("coefficients", "trust", "factors")}
    mask = {"mask": draws.rng.random(n) < 0.7} if masked else {}
    inputs = {
        "stacks": draws.stacks(rounds),
        **state,
        **_errors(draws, m),
        **of_layers,
        "layers": _layers(n, layers),
        **mask,
    }
    options = chosen(
        beta=beta, second_beta=second_beta, decay=decay, epsilon=epsilon, factor_min=bounds[0], factor_max=bounds[1],
        threshold=threshold, scale=scale, step_size=0.25 if seed % 2 else None,
    )  # fmt: skip
    return Given(inputs, options)


LONG: Mapping[str, tuple[Any, ...]] = {"n": (65,), "data": tuple(IDLE)}


def _space(make: Callable[..., Given], data: tuple[str, ...] = DATA, n: Any = None, **axes: Any) -> Space:
    shape = {"P": RANKS, "n": n or sizes(8, 9, 33), "data": data, "dtype": ("float32", "float64")}
    return Space(make, {**shape, **axes, "rounds": ROUNDS}, options=("dtype", *tuple(axes)[-3:]), hiding=LONG)


_T, _F = True, False
KEEPS = ("random", "largest", None)
BETAS = (None, 0.75, 0.0)
SCALES = (None, "norm", "mean")
POSITIVE = tuple(kind for kind in DATA if kind not in ("zeros", "subnormal"))
COINS = ((_F, _F, _T), (_F, _T, _F), (_T, _F, _F))
LAYERS = (1, Of("min(n, 3)", lambda n: min(n, 3)), Of("n", lambda n: n))

SPACES = {
    "diana_step": _space(_diana, k=COUNTS, weight=(0.375, 0.0, 1.0), keep=KEEPS),
    "marina_step": _space(_marina, k=COUNTS, full=COINS, keep=KEEPS),
    "dasha_step": _space(_dasha, k=COUNTS, weight=(0.3125, 0.0, 1.0), keep=KEEPS),
    "lazy_step": _space(_lazy, k=COUNTS, trigger=(0.9375, 0.0, 4.0, 1e6), keep=KEEPS),
    "primal_step": _space(_primal, k=COUNTS, step_size=(0.125, 1.0)),
    "onebit_momentum": _space(_onebit, beta=BETAS, scale=SCALES),
    "zeroone_gradient": Space(
        _zeroone,
        {
            "P": RANKS,
            "n": sizes(8, 9, 17),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "kappa": (1, 2, 3, None),
            "clock": ((0, 1, 0), (5, 2, 1), (15, 1, 15), (30, 2, 0)),
            "second_beta": (None, 0.875),
            "scale": SCALES,
            "rounds": (3, 7),
        },
        periods=("kappa",),
        hiding=LONG,
    ),
    "zeroone_local": _space(
        _local, n=sizes(8, 17), average=((_T, _F, _T), (_F, _F, _T), (_T, _T, _T), (_F, _F, _F)),
        step_size=(None, 0.25), beta=BETAS, decay=(None, 0.125), epsilon=(0.5, None), scale=SCALES,
    ),
    "lamb_warmup": _space(
        _warmup, POSITIVE, sizes(8, 17, least=3), layers=LAYERS, beta=BETAS, second_beta=(None, 0.875, 0.0),
        decay=(None, 0.125), epsilon=(0.5, None), bounds=((None, None), (0.0625, 0.75), (1.0, 1.0), (None, 1.0)),
        coefficient_beta=(None, 0.75, 0.0),
    ),
    "onebit_lamb": _space(
        _lamb, POSITIVE[:4], (3, 8, 17), layers=LAYERS, beta=BETAS, second_beta=(None, 0.875),
        decay=(None, 0.125), epsilon=(0.5, None), bounds=((None, None), (0.9, 1.25)), threshold=(None, 0.25, 0.0),
        scale=SCALES, masked=(_F, _T),
    ),
}  # fmt: skip

OWN = {"server_errors": "a rank has its own block of it", "weights": "the server alone has them"}
BEYOND: dict[str, Any] = {"scale": ("largest",), "k": (0, Of("n + 1", lambda n: n + 1))}
DEFINITIONS = {
    name: Definition(
        space,
        in_rounds("estimate", partial(twins.carried, name), twins.of_round),
        twins.in_rounds(name),
        refused={axis: beyond for axis, beyond in BEYOND.items() if axis in space.axes},
        own=OWN if name != "zeroone_local" else {"server_errors": OWN["server_errors"]},
    )
    for name, space in SPACES.items()
}
