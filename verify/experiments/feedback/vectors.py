"""Test vectors: error feedback."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from commbounds import collectives
from commbounds.array_types import Array
from commbounds.collectives import COLLECTIVES, ArcRows, FeedbackSGD, FeedbackSGDState, GatheredTopK, OkTopK
from commbounds.compressors import (
    EF14,
    EF21,
    EF21M,
    MECHANISMS,
    EControl,
    FeedbackState,
    NearestPower,
    Plain,
    RandK,
    ScaledSign,
    TopK,
)
from commbounds.compressors._random import key_from
from commbounds.verify.definition import Given
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, collective, descent_case, every_round
from commbounds.verify.vectors.compressor_cases import mechanism
from commbounds.verify.vectors.compressors import parts_of
from commbounds.verify.vectors.inputs import array, flags_of, hostile, ordinary
from commbounds.verify.vectors.numbers import Record


def descent_cases() -> Iterator[VectorCase]:
    """Descents around Top-K, every mechanism among them, and with what compresses for all workers together."""
    top = TopK(2)
    for P, n, dtype, why in SIZES:
        yield descent_case(P, n, dtype, why, mechanism=EF14(top), step_size=0.5)
    for memory in (Plain(top), EF21(top), EF21(top, dense=False), EF21M(top, eta=0.5), EControl(top, eta=0.5)):
        yield descent_case(3, 5, "float32", f"{type(memory).__name__} around Top-K.", mechanism=memory, step_size=0.5)
    yield descent_case(4, 6, "float32", "The all-gather goes round a ring.", mechanism=EF14(top), step_size=0.5,
                   allgather="ring")  # fmt: skip
    for aggregator in (GatheredTopK(2), OkTopK(2), ArcRows(2, 1, {"sketch": [[1.0]]})):
        kind = type(aggregator).__name__
        yield descent_case(3, 6, "float32", f"{kind} compresses for all workers together.", mechanism=EF14(),
                       step_size=0.5, aggregator=aggregator)  # fmt: skip


def descended(implementation: Any, given: Given | VectorCase) -> Mapping[str, Any]:
    """State and traffic of every step of a descent; where it draws, also what its stream gives after them."""
    rng = np.random.default_rng(given.randomness["seed"]) if given.randomness else None
    (sgd, state), done = begun(implementation, given), []
    for stack in given.inputs["gradients"]:
        state, traffic = sgd.step(stack, state, rng)
        done.append({"state": state, "traffic": traffic})
    return {**every_round(done), **({} if rng is None else {"next draw": int(rng.integers(2**63))})}


def begun(implementation: Any, given: Given | VectorCase) -> tuple[FeedbackSGD, FeedbackSGDState]:
    """The descent, and its state before the first step."""
    options, P = dict(given.parameters), len(given.inputs["gradients"][0])
    if isinstance(options.get("aggregator"), Mapping):  # by name, so that what is not given has its default
        options["aggregator"] = _aggregator(**options["aggregator"])
    sgd = implementation(**options)
    return sgd, sgd.start(given.inputs["weights"], given.inputs.get("P", P))


def _aggregator(record: str, options: Mapping[str, Any] | None = None, **given: Any) -> Any:
    if options is None:
        return getattr(collectives, record)(**given)
    made = {name: COLLECTIVES[value] if name == "allreduce" else value for name, value in options.items()}
    return getattr(collectives, record)(**given, options=made)


_OFFERS: tuple[tuple[dict[str, Any], str, int], ...] = (
    ({"compressor": TopK(2)}, "float32", 4),
    ({"compressor": TopK(2)}, "float64", 4),
    ({"compressor": ScaledSign()}, "float32", 3),
    ({"compressor": NearestPower()}, "float32", 3),
    ({"compressor": RandK(2, scaled=False)}, "float32", 3),
)


_MORE: dict[str, tuple[tuple[dict[str, Any], str, int], ...]] = {
    "EF14": (),
    "Plain": (),
    "EF21": (({"compressor": TopK(2), "dense": False}, "float32", 4),),
    "EF21M": (
        ({"compressor": TopK(2), "eta": 0.5}, "float32", 4),
        ({"compressor": TopK(2), "eta": 1.0, "dense": False}, "float64", 3),
    ),
    "EControl": (
        ({"compressor": TopK(2), "eta": 0.5}, "float32", 4),
        ({"compressor": TopK(2), "eta": 1.0, "dense": False}, "float64", 3),
    ),
}


def _gradients(steps: int, dtype: str) -> list[Array]:
    return [ordinary(30 + t, 6, dtype) for t in range(steps)]


def feedback_cases(name: str) -> Iterator[VectorCase]:
    """Several steps with one state: ordinary gradients, and what is hostile to a memory."""
    for parameters, dtype, steps in (*_OFFERS, *_MORE[name]):
        shown = ", ".join(f"{key}={value}" for key, value in parameters.items())
        randomness: dict[str, Any] = {}
        if parameters["compressor"].randomised:
            rng = np.random.default_rng(7)
            keys = [f"0x{int(key_from(rng)):016x}" for _ in range(steps)]
            randomness = {"seed": 7, "keys": keys, "generator": "splitmix64 bounded"}
        why = f"{steps} steps: what a step leaves in the state decides the next message."
        yield VectorCase(f"{shown}, {dtype}", why, {"gradients": _gradients(steps, dtype)}, parameters, randomness)
    top = np.finfo(np.float32).max
    small: dict[str, Any] = {"compressor": TopK(1)}
    if name in ("EF21M", "EControl"):
        small["eta"] = 0.5  # halves of small multiples of 1/8 are exact
    for about, why, rows in (
        ("zeros", "Nothing to send, and nothing left over.", [[0.0, -0.0, 0.0]] * 2),
        ("one entry", "A vector of one entry.", [[2.5], [-1.25], [0.0]]),
        ("ties", "Equal magnitudes: the lowest index first, the other one a step later.", [[1.0, -1.0, 1.0]] * 3),
        ("subnormals", "Left-overs below the smallest normal number.", [hostile("subnormals", "float32").tolist()] * 2),
        ("cancellation", "What was left over cancels the next gradient.", [[4.0, 1.0, 2.0], [0.0, -1.0, -2.0]]),
        ("alternating", "The estimate of EF21 chases a gradient of changing sign.", [[3.0, 1.0], [-3.0, -1.0]] * 2),
    ):
        gradients = [array(row, "float32") for row in rows]
        yield VectorCase(about, why, {"gradients": gradients}, small, {}, flags_of(np.stack(gradients)))
    huge = [array([top, top / 2, 1.0], "float32"), array([top, -top / 2, top], "float32")]
    if name == "EF14":
        huge.append(array([top, top, top], "float32"))
        why = "The residual and the gradient add up to more than the largest number."
        yield VectorCase(
            "overflow", why, {"gradients": huge}, small, {}, (*flags_of(huge[0]), "overflow"), refused=True
        )
    else:
        yield VectorCase(
            "largest", "The largest finite numbers.", {"gradients": huge[:1]}, small, {}, flags_of(huge[0])
        )


def _state(state: FeedbackState) -> Record:
    beside = {"momentum": state.momentum, "error": state.error}
    held = {"memory": state.memory, **{name: array for name, array in beside.items() if array is not None}}
    return Record("FeedbackState", held)


def feedback_steps(implementation: Any, given: Given | VectorCase) -> Mapping[str, Any]:
    """The state at the outset, and for every step the message, its size, what is read of it, and the state after it."""
    mechanism, gradients = implementation(**given.parameters), given.inputs["gradients"]
    rng = np.random.default_rng(given.randomness["seed"]) if given.randomness else None
    state = mechanism.start(given.inputs.get("start", gradients[0]))
    start, steps = _state(state), []
    for gradient in gradients:
        message, state = mechanism.step(state, gradient, rng)
        output = mechanism.compressor.decompress(message)
        made = {"message": parts_of(message), "bits": message.bits, "output": output}
        steps.append(Record("step", {**made, "state": _state(state)}))
    return {"start": start, "steps": steps}


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [
        *(mechanism(name, partial(feedback_cases, name), partial(feedback_steps, MECHANISMS[name])) for name in _MORE),
        collective("FeedbackSGD", descent_cases, partial(descended, FeedbackSGD)),
    ]
