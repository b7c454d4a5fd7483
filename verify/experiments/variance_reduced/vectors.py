"""Test vectors of compression with memory: one step from a state that is given."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.variance_reduced import padded_size
from commbounds.verify.experiments.variance_reduced.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, held_to, ranks
from commbounds.verify.vectors.inputs import array

Given = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def _kept(P: int, n: int, k: int) -> Array:
    """Entries p, p + 2, ... of rank p, counted round n; ascending."""
    return np.array([sorted((p + 2 * j) % n for j in _odd_steps(n, k)) for p in range(P)], np.int64)


def _odd_steps(n: int, k: int) -> list[int]:
    """Numbers whose doubles are k different entries counted round n."""
    found: list[int] = []
    for j in range(2 * n):
        if len(found) < k and all((2 * j - 2 * other) % n for other in found):
            found.append(j)
    return found


def _count(n: int) -> int:
    """Entries that are sent: as many of them can be told by `_odd_steps`."""
    return max(1, n // 3)


def _rows(P: int, n: int, dtype: str, key: int) -> Array:
    return ranks(P, n, dtype, key)


def _vector(n: int, dtype: str, key: int) -> Array:
    return np.ascontiguousarray(ranks(1, n, dtype, key)[0])


def _diana(P: int, n: int, dtype: str) -> Given:
    given = {"stack": _rows(P, n, dtype, 91), "shifts": _rows(P, n, dtype, 92), "mean": _vector(n, dtype, 93)}
    k = _count(n)
    return given, {"k": k, "weight": 0.375}, {"kept": _kept(P, n, k)}


def _tracking(P: int, n: int, dtype: str) -> dict[str, Any]:
    given = {"stack": _rows(P, n, dtype, 94), "previous": _rows(P, n, dtype, 95), "own": _rows(P, n, dtype, 96)}
    return {**given, "estimate": _vector(n, dtype, 97)}


def _marina(P: int, n: int, dtype: str) -> Given:
    given, k = _tracking(P, n, dtype), _count(n)
    del given["own"]
    return given, {"k": k, "full": False}, {"kept": _kept(P, n, k)}


def _dasha(P: int, n: int, dtype: str) -> Given:
    k = _count(n)
    return _tracking(P, n, dtype), {"k": k, "weight": 0.3125}, {"kept": _kept(P, n, k)}


def _lazy(P: int, n: int, dtype: str) -> Given:
    return _tracking(P, n, dtype), {"k": _count(n), "trigger": 0.9375}, {}


def _primal(P: int, n: int, dtype: str) -> Given:
    given = {"stack": _rows(P, n, dtype, 98), "weights": _vector(n, dtype, 99), "model": _vector(n, dtype, 100)}
    return given, {"k": _count(n), "step_size": 0.125}, {}


def _onebit(P: int, n: int, dtype: str) -> Given:
    given = {"stack": _rows(P, n, dtype, 101), "momentum": _vector(n, dtype, 102)}
    given |= {"worker_errors": _rows(P, n, dtype, 103), "server_errors": _vector(n, dtype, 104)}
    return given, {"beta": 0.75, "scale": "norm"}, {}


def _zeroone_gradient(P: int, n: int, dtype: str) -> Given:
    given, _, _ = _onebit(P, n, dtype)
    variance = _vector(n, dtype, 105) ** 2
    ordered = {"stack": given["stack"], "momentum": given["momentum"], "variance": variance}
    ordered |= {name: given[name] for name in ("worker_errors", "server_errors")}
    options = {"kappa": 2, "beta": 0.75, "second_beta": 0.875, "scale": "norm"}
    return {**ordered, "clock": np.array([5, 2, 1], np.int64)}, options, {}


def _zeroone_local(P: int, n: int, dtype: str) -> Given:
    given, _, _ = _onebit(P, n, dtype)
    ordered = {"stack": given["stack"]} | {
        name: _rows(P, n, dtype, key) for key, name in enumerate(("weights", "momentum", "moved"), 106)
    }
    ordered |= {"variance": _vector(n, dtype, 105) ** 2}
    ordered |= {name: given[name] for name in ("worker_errors", "server_errors")}
    options = {"average": True, "step_size": 0.25, "beta": 0.75, "decay": 0.125, "epsilon": 0.5, "scale": "norm"}
    return {**ordered, "elapsed": np.array([0.5])}, options, {}


_FUSED = ((1, 5, "float64", "One rank: nothing is sent, and three entries are padded."),
          (2, 6, "float32", "Two ranks: sixteen entries, of which ten are padded."),
          (3, 2, "float32", "Three ranks, more than entries: padded to 72, where 24 would do."),
          (2, 16, "float32", "Two ranks, and nothing is padded."))  # fmt: skip
"""Of 1-bit LAMB, whose messages are padded."""


def _two_layers(n: int) -> Array:
    first = max(1, n // 3)
    return np.array([first, n - first], np.int64)


def _lamb_warmup(P: int, n: int, dtype: str) -> Given:
    given = {"stack": _rows(P, n, dtype, 111), "weights": _vector(n, dtype, 112), "momentum": _vector(n, dtype, 113)}
    given |= {"variance": _vector(n, dtype, 114) ** 2, "trust": np.array([0.5, 0.0]), "layers": _two_layers(n)}
    options = {"step_size": 0.25, "beta": 0.75, "second_beta": 0.875, "decay": 0.125, "epsilon": 0.5}
    return given, {**options, "coefficient_min": 0.0625, "coefficient_max": 0.75, "coefficient_beta": 0.75}, {}


def _onebit_lamb(P: int, n: int, dtype: str) -> Given:
    m = padded_size(n, P)
    given = {"stack": _rows(P, n, dtype, 115), "weights": _vector(n, dtype, 112), "momentum": _vector(m, dtype, 116)}
    given |= {"variance": _vector(n, dtype, 114) ** 2, "fresh": _vector(n, dtype, 117) ** 2}
    given |= {"worker_errors": _rows(P, m, dtype, 118), "server_errors": _vector(m, dtype, 119)}
    given |= {"coefficients": np.array([0.75, 1.5]), "trust": np.array([0.375, 2.5])}
    given |= {"factors": np.array([1.0, 0.75]), "layers": _two_layers(n)}
    options = {"step_size": 0.25, "beta": 0.75, "second_beta": 0.875, "decay": 0.125, "epsilon": 0.5}
    return given, {**options, "factor_min": 0.5, "factor_max": 4.0, "threshold": 0.125, "scale": "norm"}, {}


def _sized(
    made: Callable[[int, int, str], Given], sizes: Sequence[tuple[int, int, str, str]] = SIZES
) -> Iterator[VectorCase]:
    for P, n, dtype, why in sizes:
        yield case_of(why, *made(P, n, dtype))


def _with(made: Callable[[int, int, str], Given], why: str, about: str, **options: Any) -> VectorCase:
    inputs, parameters, randomness = made(3, 6, "float32")
    refused = bool(options.pop("refused", False))
    if options.get("keep") == "largest" or options.get("full"):
        randomness = {}
    return case_of(why, inputs, {**parameters, **options}, randomness, about=about, refused=refused)


def _diana_cases() -> Iterator[VectorCase]:
    yield from _sized(_diana)
    yield _with(_diana, "Top-K, not multiplied: the largest entries of the differences.", "largest", keep="largest")
    yield _with(_diana, "A weight above one is refused.", "weight", weight=1.5, refused=True)


def _marina_cases() -> Iterator[VectorCase]:
    yield from _sized(_marina)
    for P, n, dtype, why in SIZES:
        inputs, parameters, _ = _marina(P, n, dtype)
        yield case_of(why, inputs, {**parameters, "full": True}, about="whole gradients")
    yield _with(_marina, "k above n is refused.", "k", k=7, refused=True)


def _dasha_cases() -> Iterator[VectorCase]:
    yield from _sized(_dasha)
    yield _with(_dasha, "Top-K, not multiplied.", "largest", keep="largest")
    yield _with(_dasha, "A negative weight is refused.", "weight", weight=-0.5, refused=True)


def _lazy_cases() -> Iterator[VectorCase]:
    yield from _sized(_lazy)
    yield _with(_lazy, "A trigger of zero: everybody sends.", "EF21", trigger=0.0)
    yield _with(_lazy, "A large trigger: nobody sends.", "silence", trigger=1e6)
    grad, own = array([[4, 3], [2, 1]], "float32"), array([[4, 1], [0, 1]], "float32")
    inputs = {"stack": grad, "previous": array([[4, 2], [0, 1]], "float32"), "own": own, "estimate": own[0]}
    why = "Off by twice the turn, and by the turn itself, which is not more than that."
    yield case_of(why, inputs, {"k": 2, "trigger": 1.0}, about="at the trigger")
    yield _with(_lazy, "An infinite trigger is refused.", "trigger", trigger=-1.0, refused=True)


def _primal_cases() -> Iterator[VectorCase]:
    yield from _sized(_primal)
    yield _with(_primal, "A step size of zero is refused.", "step size", step_size=0.0, refused=True)


def _onebit_cases() -> Iterator[VectorCase]:
    yield from _sized(_onebit)
    yield _with(_onebit, "Signs times the mean magnitude.", "mean", scale="mean")
    yield _with(_onebit, "Without momentum: the compressed all-reduce itself.", "all-reduce", beta=0.0)
    zero = array([[0, -0.0], [0, 0]], "float32")
    inputs = {"stack": zero, "momentum": zero[0], "worker_errors": zero, "server_errors": zero[1]}
    yield case_of("Zeros of both signs: the sign of zero is +1.", inputs, {"beta": 0.0, "scale": "norm"}, about="zeros")
    yield _with(_onebit, "beta = 1 is refused.", "beta", beta=1.0, refused=True)


def _gradient_cases() -> Iterator[VectorCase]:
    yield from _sized(_zeroone_gradient, SIZES[:-1])
    for P, n, dtype, why in SIZES[:4]:
        inputs, parameters, _ = _zeroone_gradient(P, n, dtype)
        yield case_of(why, {**inputs, "clock": np.array([4, 2, 1], np.int64)}, parameters, about="between refreshes")
    yield _with(_zeroone_gradient, "kappa below one is refused.", "kappa", kappa=0, refused=True)


def _local_cases() -> Iterator[VectorCase]:
    yield from _sized(_zeroone_local, SIZES[:-1])
    yield _with(_zeroone_local, "A local step: nothing is sent.", "local", average=False)
    yield _with(_zeroone_local, "Signs times the mean magnitude.", "mean", scale="mean")
    yield _with(
        _zeroone_local, "A step size of zero, which an average divides by.", "step", step_size=0.0, refused=True
    )


def _warmup_cases() -> Iterator[VectorCase]:
    yield from _sized(_lamb_warmup, (*SIZES[:3], SIZES[4]))
    yield _with(_lamb_warmup, "A coefficient of one is not averaged.", "one", coefficient_min=1.0, coefficient_max=1.0)
    yield _with(_lamb_warmup, "Bounds the wrong way round are refused.", "bounds", coefficient_min=1.0, refused=True)


def _lamb_cases() -> Iterator[VectorCase]:
    yield from _sized(_onebit_lamb, _FUSED)
    for why, about, given in (
        ("Without weight decay nothing is mixed.", "no decay", {"decay": 0.0}),
        ("Signs times the mean magnitude, and a factor that stays.", "still", {"scale": "mean", "threshold": 0.0}),
    ):
        inputs, parameters, _ = _onebit_lamb(1, 5, "float32")
        yield case_of(why, inputs, {**parameters, **given}, about=about)
    inputs, parameters, _ = _onebit_lamb(2, 6, "float32")
    mask = np.array([True, False, True, True, True, False])
    yield case_of("What is masked is zero, whatever was sent.", {**inputs, "mask": mask}, parameters, about="mask")
    inputs, parameters, _ = _onebit_lamb(1, 5, "float32")
    off = {**inputs, "layers": np.array([2, 2], np.int64)}
    yield case_of("Layers that are not all of the entries are refused.", off, parameters, about="layers", refused=True)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [
        *held_to(
            DEFINITIONS,
            diana_step=_diana_cases,
            marina_step=_marina_cases,
            dasha_step=_dasha_cases,
            lazy_step=_lazy_cases,
            primal_step=_primal_cases,
        ),
        *held_to(
            DEFINITIONS,
            "bytes",
            onebit_momentum=_onebit_cases,
            zeroone_gradient=_gradient_cases,
            zeroone_local=_local_cases,
            lamb_warmup=_warmup_cases,
            onebit_lamb=_lamb_cases,
        ),
    ]
