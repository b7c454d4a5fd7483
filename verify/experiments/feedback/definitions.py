"""Error feedback beside its definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds import compressors
from commbounds.array_types import Array
from commbounds.compressors import EF14, EF21, Compressor, EControl, Feedback, Message, TopK
from commbounds.compressors.base import Law, checked_array
from commbounds.verify.data import KINDS, stack_of
from commbounds.verify.definition import Definition, Given, chosen, givens
from commbounds.verify.definitions import feedback
from commbounds.verify.differences import Said
from commbounds.verify.experiments.feedback.vectors import (
    begun,
    descended,
    descent_cases,
    feedback_cases,
    feedback_steps,
)
from commbounds.verify.space import RANKS, TILES, Space, sizes


@dataclass(frozen=True, eq=False)
class _LeadingMessage(Message):
    rows: Array

    @property
    def bits(self) -> int:
        return self.rows.size * 8 * self.dtype.itemsize


@dataclass(frozen=True)
class LeadingRows(Compressor):
    """The first k rows of a matrix: no compressor of matrices that is registered has bits that a definition fixes."""

    k: int = 1
    ndim = 2

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> _LeadingMessage:
        """Those rows."""
        array = checked_array(x, 2)
        return _LeadingMessage(array.shape, array.dtype, array[: self.k].copy())

    def decompress(self, message: _LeadingMessage) -> Array:
        """They, and zeros below."""
        out = np.zeros(message.shape, message.dtype)
        out[: self.k] = message.rows
        return out

    def law(self, x: Any) -> Law:
        """Not asked for."""
        raise NotImplementedError


def _share(n: int) -> int:
    return max(n // 3, 1)


COMPRESSORS: Mapping[str, Callable[[int], Compressor]] = {
    "one entry": lambda n: compressors.TopK(1),
    "a third": lambda n: compressors.TopK(_share(n)),
    "all entries": lambda n: compressors.TopK(n),
    "signs": lambda n: compressors.Sign(),
    "two bits": lambda n: compressors.Sign(zero=0),
    "scaled signs": lambda n: compressors.ScaledSign(),
    "powers": lambda n: compressors.NearestPower(),
    "threshold": lambda n: compressors.HardThreshold(0.6),
    "chunks": lambda n: compressors.ChunkTopK(1, 3),
    "blocks": lambda n: compressors.BlockTopK(1, 2),
    "everything": lambda n: compressors.Identity(),
    "one drawn": lambda n: compressors.RandK(1, scaled=False),
    "a third drawn": lambda n: compressors.RandK(_share(n)),
    "drawn levels": lambda n: compressors.MaxDithering(4),
    "drawn powers": lambda n: compressors.NaturalCompression(),
    "an entry by size": lambda n: compressors.AdaptiveSparsification(),
    "rows": lambda n: LeadingRows(),
}
DRAWING = ("one drawn", "a third drawn", "drawn levels", "drawn powers", "an entry by size")
"""Those that take draws: each worker's from the same stream, or one after another."""
TOGETHER: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "ARC": lambda n: {"record": "ArcRows", "K": _share(n)},
    "ARC, two columns": lambda n: {"record": "ArcRows", "K": 1, "rank": 2, "options": {"sketch_format": "bfloat16"}},
    "ARC, given sketch": lambda n: {
        "record": "ArcRows", "K": n, "rank": 1,
        "options": {"sketch": [[-0.5]], "allreduce": "recursive_doubling_allreduce"},
    },
    "ARC of rows": lambda n: {"record": "ArcRows", "K": 1, "rank": 2, "options": {"sketch": [[1.0, 0.0], [0.0, -2.0]]}},
    "ARC, own orders": lambda n: {
        "record": "ArcRows", "K": _share(n), "options": {"agree": False, "sketch": [[1.0]]},
    },
    "gathered": lambda n: {"record": "GatheredTopK", "k": _share(n)},
    "gathered whole": lambda n: {"record": "GatheredTopK", "k": n},
    "Ok-Topk": lambda n: {"record": "OkTopK", "k": _share(n)},
    "Ok-Topk, every step": lambda n: {
        "record": "OkTopK", "k": _share(n), "options": {"tau": 1, "tau_prime": 1, "allgather": "ring"},
    },
    "Ok-Topk, every second step": lambda n: {
        "record": "OkTopK", "k": n, "options": {"tau": 2, "tau_prime": 2, "balance": "never", "threshold": "strict"},
    },
}  # fmt: skip
"""What compresses for all workers together, by name, with the options that are given."""
OF_MATRICES = ("rows", "ARC of rows")
ONE_BY_ONE = (
    "one entry", "a third", "all entries", "signs", "scaled signs", "threshold", "one drawn", "drawn levels", "rows",
)  # fmt: skip
"""Compressors that a descent is run with: sparse and dense messages, of equal and of unequal lengths, drawn or not."""
DATA = tuple(kind for kind in KINDS if kind != "one rank")
SHAPES = ("vector", "one row", "3 rows")


def _shaped(stack: Array, shape: str) -> Array:
    """Vectors as they are, or as matrices of as many entries or more, of two columns where there are several rows."""
    if shape == "vector":
        return stack
    if shape == "one row":
        return stack[:, None, :]
    return np.concatenate([stack, stack[:, ::-1]], axis=1).reshape(len(stack), -1, 2)


def _gradients(data: str, P: int, n: int, dtype: str, shape: str, rounds: int, seed: int) -> list[Array]:
    return [_shaped(stack_of(data, P, n, dtype, seed + 1009 * t), shape) for t in range(rounds)]


def _alone(n: int, data: str, dtype: str, shape: str, rounds: int, compressor: str, seed: int, **options: Any) -> Given:
    first, *gradients = [stack[-1] for stack in _gradients(data, 2, n, dtype, shape, rounds + 1, seed)]
    inputs = {"gradients": gradients, **({"start": first} if seed % 2 else {})}
    parameters = {"compressor": COMPRESSORS[compressor](n), **chosen(**options)}
    return Given(inputs, parameters, {"seed": seed} if compressor in DRAWING else {})


def _unlike(compressor: str, shape: str) -> bool:
    return (compressor in OF_MATRICES) != (shape != "vector")


def _open(compressor: str, dtype: str) -> bool:
    return compressor == "scaled signs" and dtype == "float64"


def _mechanism(**options: Sequence[Any]) -> Space:
    return (
        Space(
            _alone,
            {
                "n": (1, 2, 3, 5, 8, 6, *TILES),
                "data": DATA,
                "dtype": ("float32", "float64"),
                "shape": SHAPES,
                "rounds": (3, 5),
                "compressor": tuple(COMPRESSORS),
                **options,
            },
        )
        .without("A compressor of the other shape.", _unlike)
        .without("A mean of float64 magnitudes, whose order of additions is left open.", _open)
        .hidden_by(rounds=(34,))
        .search(n=(1, 40), rounds=(1, 6))
    )


ETAS = (None, 0.5, 0.8, 1.0, 1e-3)
WHOLE = (None, True, False)
"""Whether the first gradient is sent whole; None leaves an option to its default."""

SPACES = {
    "Plain": _mechanism(),
    "EF14": _mechanism(),
    "EF21": _mechanism(dense=WHOLE),
    "EF21M": _mechanism(dense=WHOLE, eta=ETAS),
    "EControl": _mechanism(dense=WHOLE, eta=(*ETAS, 0.0)),
}


def _stepped(implementation: Any, given: Given) -> Said:
    """Steps as test vectors have them, and what the mechanism offers at first, which is memory of its own."""
    said, mechanism = feedback_steps(implementation, given), implementation(**given.parameters)
    first = given.inputs["gradients"][0]
    return {**said, "offered": mechanism.offered(mechanism.start(given.inputs.get("start", first)), first)}


def _bad_steps() -> list[Given]:
    """What every mechanism refuses."""
    ones = [np.ones(3)] * 2
    gradients = [
        [np.ones(3), np.ones(4)],
        [np.ones(3), np.ones((1, 3))],
        [np.ones(3), np.ones(3, np.float32)],
        [np.ones(3), np.full(3, np.nan, np.float32)],
        [np.ones(3), np.full(4, np.nan, np.float32)],
        [np.ones(3, np.float32), np.ones(3)],
        [np.ones(3), np.array([1.0, np.nan, 0.0])],
        [np.ones(3), np.array([1.0, 0.0, np.inf])],
        [np.array([-np.inf, 0.0])],
        [np.ones(0)],
        [np.ones((1, 1, 2))],
        [np.array(1.0)],
        [np.ones(3, np.float16)],
        [np.ones(3, np.int64)],
    ]
    top = TopK(1)
    return [
        *(Given({"gradients": rows}, {"compressor": top}) for rows in gradients),
        *(Given({"gradients": ones, "start": np.full(3, bad)}, {"compressor": top}) for bad in (np.nan, np.inf)),
        Given({"gradients": ones}),
        Given({"gradients": ones}, {"compressor": None}),
        Given({"gradients": ones}, {"compressor": 3}),
        Given({"gradients": ones}, {"compressor": TopK(4)}),
        Given({"gradients": ones}, {"compressor": compressors.RandK(1)}),
    ]


def _bad_options(name: str) -> list[Given]:
    ones, top = {"gradients": [np.ones(3)] * 2}, TopK(1)
    found = []
    if "eta" in SPACES[name].axes:
        etas = (-0.1, 1.5, np.nan, np.inf, True, "a half", np.nextafter(1.0, 2.0), 0.0, 5e-324)
        found += [Given(ones, {"compressor": top, "eta": eta}) for eta in etas]
    if "dense" in SPACES[name].axes:
        found += [Given(ones, {"compressor": top, "dense": dense}) for dense in (1, 0, "yes")]
    return found


@cache
def _steps_by_hand(name: str) -> list[Given]:
    return [*givens(feedback_cases(name)), *_bad_steps(), *_bad_options(name)]


def _descent(
    P: int, n: int, data: str, dtype: str, shape: str, rounds: int, mechanism: str, sends: str, dense: bool | None,
    eta: float | None, step_size: float, shared: bool | None, allgather: str | None, stream: bool, seed: int,
) -> Given:  # fmt: skip
    gradients = _gradients(data, P, n, dtype, shape, rounds, seed)
    given = {"eta": eta, "dense": dense}
    options = chosen(**{name: given[name] for name in given if name in SPACES[mechanism].axes})
    parameters = {"step_size": step_size, **chosen(shared=shared, allgather=allgather)}
    if sends in TOGETHER:
        parameters["aggregator"] = TOGETHER[sends](len(gradients[0][0]))
        parameters["mechanism"] = compressors.MECHANISMS[mechanism](**options)
    else:
        parameters["mechanism"] = compressors.MECHANISMS[mechanism](COMPRESSORS[sends](n), **options)
    drawn = {"seed": seed} if stream or sends in ("ARC", "ARC, two columns", *DRAWING) else {}
    weights = _shaped(stack_of("normal", 1, n, dtype, seed), shape)[0]
    return Given({"weights": weights, "gradients": gradients}, parameters, drawn)


def _unlike_in(sends: str, shape: str) -> bool:
    return (sends in OF_MATRICES) != (shape != "vector") or (sends == "ARC of rows" and shape != "3 rows")


DESCENTS = (
    Space(
        _descent,
        {
            "P": RANKS,
            "n": sizes(17),
            "data": tuple(KINDS),
            "dtype": ("float32", "float64"),
            "shape": SHAPES,
            "rounds": (3, 5),
            "mechanism": tuple(SPACES),
            "sends": (*ONE_BY_ONE, *TOGETHER),
            "dense": WHOLE,
            "eta": (None, 0.5, 1.0),
            "step_size": (0.5, 0.1, 3.0),
            "shared": (None, True, False),
            "allgather": (None, "ring", "bruck", "recursive-doubling"),
            "stream": (False, True),
        },
        options=("mechanism", "sends", "dense", "shared", "allgather"),
    )
    .without("A compressor of the other shape.", _unlike_in)
    .without(
        "A mean of float64 magnitudes, whose order of additions is left open.", lambda sends, dtype: _open(sends, dtype)
    )
    .hidden_by(rounds=(34,), n=(33, 65, 129))
    .search(P=(1, 12), n=(1, 30), rounds=(1, 6))
)

_KINDS: tuple[Feedback, ...] = tuple(compressors.MECHANISMS[name](TopK(1)) for name in SPACES)


@cache
def _descents_by_hand() -> list[Given]:
    """Test vectors, sums that overflow, and what a descent refuses."""
    weights, stack = np.zeros(3), np.random.default_rng(0).standard_normal((2, 3))
    inputs, ef = {"weights": weights, "gradients": [stack] * 3}, EF14(TopK(1))
    usual: dict[str, Any] = {"mechanism": ef, "step_size": 0.5}
    bad_options: list[dict[str, Any]] = [
        *({"mechanism": mechanism} for mechanism in (3, TopK(1), EF14(), EF14(TopK(4)), EF14(compressors.RandK(1)))),
        *({"step_size": size} for size in (0.0, -0.5, np.inf, np.nan, True, "large", 5e-324)),
        *({"shared": shared} for shared in (1, "no")),
        *({"allgather": allgather} for allgather in ("star", 1)),
        {"aggregator": {"record": "GatheredTopK", "k": 1}},
        {"mechanism": EF14(), "aggregator": 3},
        {"mechanism": EF14(), "aggregator": {"record": "GatheredTopK", "k": 4}},
        {"mechanism": EF14(), "aggregator": {"record": "OkTopK", "k": 4}},
    ]
    found = [Given(inputs, {**usual, **bad}) for bad in bad_options]
    strange = [np.ones(0), np.array([np.nan, 0.0]), np.ones((1, 1, 1)), np.array(1.0)]
    strange += [np.ones(3, np.int64), np.ones(3, np.float16)]
    found += [Given({"weights": x, "gradients": [np.ones((2, *x.shape))]}, usual) for x in strange]
    found += [Given({**inputs, "P": P}, usual) for P in (0, -1, 3)]
    top = np.finfo(np.float64).max
    for mechanism in _KINDS:
        for second in (
            np.ones((3, 3)), np.ones((2, 4)), np.ones((2, 3), np.float32), np.full((2, 3), np.inf),
            np.array([[1.0, np.nan, 0.0], [0.0] * 3]), np.full((2, 3), top), np.full((2, 3), -top),
        ):  # fmt: skip
            for size in (0.5, 3.0):
                gradients = [np.full((2, 3), top) if size == 3.0 else stack, second]
                found.append(
                    Given({"weights": weights, "gradients": gradients}, {"mechanism": mechanism, "step_size": size})
                )
    late = np.full((2, 3), top / 2)
    for mechanism in (EF21(TopK(1), dense=False), EControl(TopK(2), dense=False, eta=0.0), ef):
        found.append(
            Given(
                {"weights": weights, "gradients": [late, -late, late, late]}, {"mechanism": mechanism, "step_size": 1}
            )
        )
    return [*givens(descent_cases()), *found]


def _descended(implementation: Any, given: Given) -> Said:
    """As in test vectors; and the state at the outset."""
    return {"start": begun(implementation, given)[1], **descended(implementation, given)}


DEFINITIONS = {
    **{
        name: Definition(
            space,
            _stepped,
            partial(feedback.stepped, name),
            unsaid=(("offered", "its values show in messages and states: it is there for whose memory it is"),),
            examples=partial(_steps_by_hand, name),
        )
        for name, space in SPACES.items()
    },
    "FeedbackSGD": Definition(
        DESCENTS,
        _descended,
        feedback.descended,
        unsaid=(("start", "The steps show its values; that its memory is nobody else's is looked at."),),
        examples=_descents_by_hand,
    ),
}
