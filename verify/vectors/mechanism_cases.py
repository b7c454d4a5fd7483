"""The cases of matrices, of group quantisers, of packed codes, and of error feedback over several steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.compressors import (
    EF14,
    EF21,
    EF21M,
    Feedback,
    FeedbackState,
    GroupQuantizer,
    LowRank,
    NearestPower,
    Plain,
    PowerSGD,
    RandK,
    ScaledSign,
    StochasticGroupQuantizer,
    TopK,
    packed,
    packed_bytes,
)
from commbounds.compressors._random import key_from
from commbounds.verify.vectors.case import Case
from commbounds.verify.vectors.compressor_cases import MOST, hostile_cases, parameters_of, switch_cases
from commbounds.verify.vectors.compressors import keyed, parts_of
from commbounds.verify.vectors.inputs import REFUSED, array, flags_of, hostile, ordinary, uniforms
from commbounds.verify.vectors.numbers import Record

__all__ = [
    "feedback_cases",
    "feedback_steps",
    "group_cases",
    "low_rank",
    "matrix_cases",
    "packed_cases",
    "packed_codes",
    "stochastic_group_cases",
]

Array = NDArray[Any]
Pair = tuple[Any, str, tuple[str, ...], tuple[str, ...]]

# --- matrices ----------------------------------------------------------------------------------------------------

_EXACT = "Every operation is exact here, so any order of additions gives these bits."
_MATRICES: tuple[tuple[str, str, Any, Any], ...] = (
    ("one column", "M S has norm 2. " + _EXACT, [[1, 1, 0], [1, -1, 2], [1, 1, 0], [1, -1, -2]], [[1], [0], [0]]),
    ("two columns", "The second column is orthogonalised against the first. " + _EXACT,
     [[1, 1, 0], [1, -1, 2], [1, 1, 0], [1, -1, -2]], [[1, 0], [0, 1], [0, 0]]),
    ("dependent columns", "M S has rank one: the second column of P is zero. " + _EXACT,
     [[2, 4], [2, 4], [2, 4], [2, 4]], [[1, 1], [0, 2]]),
    ("zero matrix", "Nothing to orthogonalise: both factors are zero.", [[0, 0], [0, 0]], [[1], [1]]),
    ("one entry", "A 1 x 1 matrix is reproduced.", [[-3]], [[2]]),
    ("wide", "More columns than rows; entries far from one are scaled by a power of two.",
     [[2.0**40, 0, 0, -(2.0**41)], [0, 2.0**40, 0, 0]], [[1], [0], [0], [0]]),
    ("dense sketch", "Neither sketch nor P has a zero, the matrix is diagonal. " + _EXACT,
     [[4, 0, 0, 0], [0, 4, 0, 0], [0, 0, 4, 0], [0, 0, 0, 4]], [[1, 1], [1, -1], [1, 1], [1, -1]]),
)  # fmt: skip
_DIAGONALS: tuple[tuple[str, str, Any, int], ...] = (
    ("diagonal", "The largest singular value is kept.", [[3, 0], [0, 1]], 1),
    ("permuted", "Singular values out of order.", [[0, 2, 0], [3, 0, 0], [0, 0, -1]], 2),
    ("full rank", "Nothing is left out.", [[0, 2], [-1, 0]], 2),
    ("wide", "More columns than rows.", [[0, 0, -5], [4, 0, 0]], 1),
    ("tall", "More rows than columns.", [[0, 4], [0, 0], [5, 0]], 1),
    ("zero matrix", "All singular values are zero.", [[0, 0], [0, 0]], 1),
    ("one entry", "A 1 x 1 matrix.", [[-3]], 1),
    ("rank one", "A product of two vectors is reproduced.", [[2, 4], [1, 2]], 1),
)


def matrix_cases(name: str) -> Iterator[Case]:
    """The cases of `PowerSGD` or of `LowRank`."""
    for dtype in ("float32", "float64"):
        if name == "PowerSGD":
            for about, why, x, sketch in _MATRICES:
                given, wanted = array(x, dtype), np.array(sketch, np.float64)
                parameters = parameters_of(PowerSGD(wanted.shape[1]))
                if wanted.shape[1] <= min(given.shape):
                    title = f"{about}, {dtype}"
                    yield Case(title, why, {"x": given}, parameters, {"sketch": wanted}, flags_of(given))
        else:
            for about, why, x, rank in _DIAGONALS:
                given = array(x, dtype)
                yield Case(
                    f"{about}, {dtype}", why, {"x": given}, parameters_of(LowRank(rank)), {}, flags_of(given), law=True
                )


def low_rank(case: Case) -> Mapping[str, Any]:
    """The best approximation by its exact law, and the size of its message: the factors are the library's business."""
    x, compressor = case.inputs["x"], LowRank(**case.parameters)
    ((_, output),) = compressor.law(x.tolist())
    if not all(isinstance(value, Fraction | int) for value in output):
        raise ArithmeticError(f"{case.name}: the best approximation must be rational, got {output}")
    exact = np.array([float(value) for value in output], x.dtype).reshape(x.shape)
    return {"bits": compressor.compress(x).bits, "output": exact}


# --- group quantisers --------------------------------------------------------------------------------------------

_GROUPS: tuple[Pair, ...] = (
    (GroupQuantizer(2, group=4), "float32", tuple(n for n in (*MOST, "one entry") if n != "largest"),
     (*REFUSED, "largest")),
    (GroupQuantizer(8, group=32), "float32", ("long", "ordinary"), ()),
    (GroupQuantizer(5, group=5), "float64", ("ordinary", "halfway", "subnormals"), ("largest",)),
    (GroupQuantizer(4, group=4, metadata="float16"), "float32", ("ordinary", "halfway", "subnormals"), ("largest",)),
    (GroupQuantizer(4, group=4, metadata="bfloat16"), "float32", ("ordinary", "halfway"), ()),
    (GroupQuantizer(3, group=6, metadata="bfloat16", repaired=True), "float32",
     ("ordinary", "all negative", "subnormals"), ()),
    (GroupQuantizer(4, group=4, metadata="float16", quantise_with="exact"), "float32", ("ordinary",), ()),
    (GroupQuantizer(4, group=4, zero="integer"), "float32", ("ordinary", "all negative", "zeros"), ()),
    (GroupQuantizer(4, group=4, zero="clamped"), "float32", ("ordinary", "all negative"), ()),
    (GroupQuantizer(4, group=4, scale="log2", theta=1), "float32", ("ordinary", "zeros"), ()),
    (GroupQuantizer(2, group=4, metadata="bfloat16", spikes=True), "float32",
     ("ordinary", "ties", "one entry", "negative zeros", "long"), ()),
)  # fmt: skip
_STOCHASTIC: tuple[Pair, ...] = (
    (StochasticGroupQuantizer(2, group=4), "float32", tuple(n for n in (*MOST, "one entry") if n != "largest"),
     (*REFUSED, "largest")),
    (StochasticGroupQuantizer(6, group=5), "float64", ("ordinary", "subnormals"), ()),
    (StochasticGroupQuantizer(3, group=5, metadata="bfloat16", spikes=True), "float32", ("ordinary", "long"), ()),
)  # fmt: skip


def group_cases() -> Iterator[Case]:
    """The cases of `GroupQuantizer`."""
    for compressor, dtype, names, refused in _GROUPS:
        yield from hostile_cases(compressor, dtype, names, refused)
    x = array([0.0, 0.5, 1.5, 3.0], "float32")
    yield Case(
        "half-way between levels", "The quotients 0.5 and 1.5 go to the even code.", {"x": x},
        parameters_of(GroupQuantizer(2, group=4)), {}, (*flags_of(x), "halfway"), law=True,
    )  # fmt: skip


def stochastic_group_cases() -> Iterator[Case]:
    """The cases of `StochasticGroupQuantizer`."""

    def drawn(compressor: Any, name: str, x: Array, seed: int) -> dict[str, Any]:
        if name in ("long", *REFUSED):
            return keyed(compressor, x, seed)
        return {"uniforms": uniforms(seed, x.size, x.dtype.name)}

    for compressor, dtype, names, refused in _STOCHASTIC:
        yield from hostile_cases(compressor, dtype, names, refused, drawn)
    up = (Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(0))
    for dtype in ("float32", "float64"):
        yield from switch_cases(StochasticGroupQuantizer(2, group=4), (0.0, 0.25, 1.75, 3.0), up, dtype)


# --- packed codes ------------------------------------------------------------------------------------------------


def packed_cases() -> Iterator[Case]:
    """Codes of every width, of lengths that fill their bytes and that do not."""
    for bits in range(1, 9):
        for n, why in ((1, "One code: the rest of the byte is zero."), (13, "13 codes: the last bytes are part full.")):
            codes = (uniforms(10 * bits + n, n, "float64") * 2**bits).astype(np.uint8)
            flags = ("n=1",) if n == 1 else ()
            yield Case(f"{bits} bits, n={n}", why, {"codes": codes}, {"bits": bits}, {}, flags)
    full = np.full(16, 7, np.uint8)
    yield Case("3 bits, all ones", "Every bit of every plane is set.", {"codes": full}, {"bits": 3})
    yield Case("code too large", "8 does not fit in 3 bits.", {"codes": full + np.uint8(1)}, {"bits": 3}, refused=True)


def packed_codes(case: Case) -> Mapping[str, Any]:
    """The planes, and their bytes together."""
    codes, bits = case.inputs["codes"], case.parameters["bits"]
    return {"planes": packed(codes, bits), "bytes": packed_bytes(codes.size, bits)}


# --- error feedback ----------------------------------------------------------------------------------------------

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
}
_KINDS: dict[str, type[Feedback]] = {"EF14": EF14, "EF21": EF21, "EF21M": EF21M, "Plain": Plain}


def _gradients(steps: int, dtype: str) -> list[Array]:
    return [ordinary(30 + t, 6, dtype) for t in range(steps)]


def feedback_cases(name: str) -> Iterator[Case]:
    """Several steps with one state: ordinary gradients, and what is hostile to a memory."""
    for parameters, dtype, steps in (*_OFFERS, *_MORE[name]):
        shown = ", ".join(f"{key}={value}" for key, value in parameters.items())
        randomness: dict[str, Any] = {}
        if parameters["compressor"].randomised:
            rng = np.random.default_rng(7)
            keys = [f"0x{int(key_from(rng)):016x}" for _ in range(steps)]
            randomness = {"seed": 7, "keys": keys, "generator": "splitmix64 bounded"}
        why = f"{steps} steps: what a step leaves in the state decides the next message."
        yield Case(f"{shown}, {dtype}", why, {"gradients": _gradients(steps, dtype)}, parameters, randomness)
    top = np.finfo(np.float32).max
    small: dict[str, Any] = {"compressor": TopK(1)}
    if name == "EF21M":
        small["eta"] = 0.5  # averages of small multiples of 1/8 are exact
    for about, why, rows in (
        ("zeros", "Nothing to send, and nothing left over.", [[0.0, -0.0, 0.0]] * 2),
        ("one entry", "A vector of one entry.", [[2.5], [-1.25], [0.0]]),
        ("ties", "Equal magnitudes: the lowest index first, the other one a step later.", [[1.0, -1.0, 1.0]] * 3),
        ("subnormals", "Left-overs below the smallest normal number.", [hostile("subnormals", "float32").tolist()] * 2),
        ("cancellation", "What was left over cancels the next gradient.", [[4.0, 1.0, 2.0], [0.0, -1.0, -2.0]]),
        (
            "alternating",
            "The estimate of EF21 chases a gradient of changing sign.",
            [[3.0, 1.0], [-3.0, -1.0]] * 2,
        ),
    ):
        gradients = [array(row, "float32") for row in rows]
        yield Case(about, why, {"gradients": gradients}, small, {}, flags_of(np.stack(gradients)))
    huge = [array([top, top / 2, 1.0], "float32"), array([top, -top / 2, top], "float32")]
    if name == "EF14":
        huge.append(array([top, top, top], "float32"))
        why = "The residual and the gradient add up to more than the largest number."
        yield Case("overflow", why, {"gradients": huge}, small, {}, (*flags_of(huge[0]), "overflow"), refused=True)
    else:
        yield Case("largest", "The largest finite numbers.", {"gradients": huge[:1]}, small, {}, flags_of(huge[0]))


def _state(state: FeedbackState) -> Record:
    held = {"memory": state.memory} if state.momentum is None else {"memory": state.memory, "momentum": state.momentum}
    return Record("FeedbackState", held)


def feedback_steps(name: str, case: Case) -> Mapping[str, Any]:
    """The state at the outset, and for every step the message, its size, what is read of it, and the state after it."""
    mechanism = _KINDS[name](**case.parameters)
    rng = np.random.default_rng(case.randomness["seed"]) if case.randomness else None
    compressor, gradients = case.parameters["compressor"], case.inputs["gradients"]
    state = mechanism.start(gradients[0])
    start, steps = _state(state), []
    for gradient in gradients:
        message, state = mechanism.step(state, gradient, rng)
        made = {"message": parts_of(message), "bits": message.bits, "output": compressor.decompress(message)}
        steps.append(Record("step", {**made, "state": _state(state)}))
    return {"start": start, "steps": steps}
