"""Group quantisers, bit planes and quantised sums beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from commbounds.collectives.flashcomm import QuantisedSum
from commbounds.compressors.base import index_bits
from commbounds.compressors.flashcomm import (
    GroupCodes,
    GroupQuantizer,
    StochasticGroupQuantizer,
    message_from_bytes,
    packed_bytes,
    wire_bytes,
)
from commbounds.verify.compressor_run import EXACT
from commbounds.verify.data import EDGES, KINDS, stack_of, vector_of
from commbounds.verify.definition import Definition, Given, chosen, compressed, givens
from commbounds.verify.definitions import flashcomm, groupquant
from commbounds.verify.differences import Said, other_bits
from commbounds.verify.experiments.flashcomm.vectors import group_cases, packed_cases, stochastic_group_cases
from commbounds.verify.experiments.quantizers.definitions import DRAWN, uniforms_of
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes
from commbounds.verify.vectors.case import VectorCase
from commbounds.verify.vectors.compressors import sent

DATA = tuple(kind for kind in (*KINDS, *EDGES) if kind not in ("huge", "over", "NaN"))
FORMS = ("default", "float64", "float32", "float16", "bfloat16")


def _given(n: int, data: str, dtype: str, seed: int, drawn: str = "", **options: Any) -> Given:
    randomness = uniforms_of(drawn, n, dtype, seed) if drawn else {}
    return Given({"x": vector_of(data, n, dtype, seed)}, chosen("default", **options), randomness)


GROUPS = (
    Space(
        _given,
        {
            "n": (1, 2, 3, 7, 8, 9, 16, 64, *TILES),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "width": (2, 1, 3, 4, 5, 6, 7, 8),
            "group": (4, "default", 1, 2, 3, 16, 32),
            "metadata": FORMS,
            "repaired": ("default", True),
            "quantise_with": ("default", "stored", "exact"),
            "scale": ("default", "float", "log2"),
            "theta": ("default", 1, 3),
            "spikes": ("default", True),
        },
    )
    .without(
        "of fractional powers of two the last bit of a float64 is up to the C library.",
        lambda dtype, scale, theta: scale == "log2" and dtype == "float64" and theta != 1,
    )
    .without(
        "scales and zero points beyond float16.",
        lambda data, metadata: data == "of all sizes" and metadata == "float16",
    )
    .search(n=(1, 70))
)
NEAREST = GROUPS.replaced(zero=("default", "integer", "clamped")).without(
    "repaired needs zero points that are floats.", lambda repaired, zero: repaired is True and zero != "default"
)
_SPIKED: Mapping[str, tuple[Any, ...]] = {
    "n": (33,), "dtype": ("float32",), "group": (4, 16, 32), "scale": ("log2",), "theta": (1, 3), "spikes": (True,),
}  # fmt: skip
"""Groups of which more than one entry is left beside the spikes."""
NEAREST = NEAREST.including(
    *NEAREST.every(
        n=(33, 129), data=DATA[:2], dtype=("float32", "float64"), group=(4, 16, 32), metadata=("float32", "float64")
    ),
    *NEAREST.every(
        n=(33,), data=DATA[:2], dtype=("float32", "float64"), metadata=("float32", "float64"), spikes=(True,)
    ),
    *NEAREST.every(**_SPIKED),
)
"""Scales and zero points that are stored as they are: a call takes these vectors in one pass."""
STOCHASTIC = GROUPS.replaced(drawn=DRAWN)
STOCHASTIC = STOCHASTIC.including(*STOCHASTIC.every(**_SPIKED))


@cache
def _quantised(name: str) -> list[Given]:
    drawn = {"seed": 3} if name == "StochasticGroupQuantizer" else {}
    plain = {"width": 3, "group": 8}
    found = [
        Given({"x": vector_of(data, n, dtype, 5)}, plain, drawn)
        for data, n, dtype in (
            *(("normal", 70_001, "float32"), ("huge", 9, "float32"), ("huge", 9, "float64"), ("over", 9, "float64")),
            *(("NaN", 9, "float64"), ("normal", 9, "float16"), ("ties", 0, "float32")),
        )
    ]
    found += [
        Given({"x": np.full(5, 3.0, np.float32)}, {"width": 2, "zero": "integer", "repaired": True}, drawn),
        Given({"x": np.array([1e6, 1e6 + 1, 7e4], np.float64)}, {"width": 8, "metadata": "float16"}, drawn),
        Given({"x": np.array([1.0, 1 + 2.0**-52])}, {"width": 8, "zero": "integer"}, drawn),
        # a scale of zero, and a zero point that no 32 bits hold
        Given({"x": np.array([3e9, 3e9 + 2.0**-21])}, {"width": 8, "metadata": "float16", "zero": "integer"}, drawn),
        Given({"x": vector_of("over", 9, "float64", 5)}, {**plain, "metadata": "float64"}, drawn),
        # a range just above a power of two, whose logarithm is rounded down to it; and one that is a power of two
        Given({"x": np.array([0, 16 + 2.0**-48, 0, 16])}, {"width": 1, "group": 2, "scale": "log2", "theta": 1}, drawn),
    ]
    # the first zero points that no 32 bits hold, and the last ones that they do
    whole = {"width": 1, "group": 2, "zero": "integer"}
    lows = (-(2.0**31), 1 - 2.0**31, 2.0**31, 2.0**31 - 1)
    found += [Given({"x": np.array([low, low + 1])}, whole, drawn) for low in lows]
    pairs = {"width": 1, "group": 2}
    # quarters of the least numbers, and of four of them
    for form, power in (("float16", -24), ("bfloat16", -133), ("float32", -149), ("float64", -1072)):
        x = np.ldexp(np.random.default_rng(6).integers(-9, 10, 64) / 4, power)
        found += [Given({"x": x}, {**pairs, "metadata": form, "repaired": up}, drawn) for up in (False, True)]
    for theta, most in ((1, 2.0**127), (127, 2.0)):  # the largest scale, the next number above it, and the least scale
        ends = [np.array([0, end], np.float32) for end in (most, np.nextafter(np.float32(most), np.inf), 2.0**-130)]
        found += [Given({"x": x}, {**pairs, "scale": "log2", "theta": theta}, drawn) for x in ends]
    return [*givens(group_cases() if name == "GroupQuantizer" else stochastic_group_cases()), *found]


def _codes(n: int, bits: int, data: str, seed: int) -> Given:
    rng, top = np.random.default_rng(seed), 2**bits - 1
    made = {"drawn": rng.integers(0, top + 1, n), "least": np.zeros(n), "largest": np.full(n, top)}
    return Given({"codes": made[data].astype(np.uint8)}, {"bits": bits})


def _packed(packed: Any, given: Given) -> Said:
    codes, bits = given.inputs["codes"], given.parameters["bits"]
    return {"planes": packed(codes, bits), "bytes": packed_bytes(codes.size, bits)}


CODES = Space(
    _codes,
    {
        "n": (1, 2, 3, 4, 5, 7, 8, 9, 16, 32, 64, *TILES),
        "bits": tuple(range(1, 9)),
        "data": ("drawn", "least", "largest"),
    },
).search(n=(1, 70))


# --- sums -------------------------------------------------------------------------------------------------------------


NEITHER = ("nothing", "nothing, of a generator")
"""Where sums are not drawn: without a generator, and with one all the same."""


def _sum(
    P: int, n: int, data: str, dtype: str, width: int, group: int, metadata: str, spikes: bool, zero: str, drawn: str,
    seed: int, second: str = "default", **options: Any,
) -> Given:  # fmt: skip
    cls = GroupQuantizer if drawn in NEITHER else StochasticGroupQuantizer
    held = chosen("default", group=group, metadata=metadata, spikes=spikes, zero=zero)
    parameters = {"quantiser": cls(width, **held), **chosen("default", **options)}
    if second != "default":
        parameters["second"] = GroupQuantizer(5, 2) if second == "other" else StochasticGroupQuantizer(2, 3)
    unit = 2.0**-24 if dtype == "float32" else 2.0**-53
    uniforms = np.floor(np.random.default_rng(seed).random((2, P, n)) / unit) * unit
    injected: dict[str, Any] = {"uniforms": uniforms.astype(dtype)} if drawn.startswith("uniforms") else {"seed": seed}
    if drawn == "uniforms, and a generator":
        injected["seed"] = seed
    if drawn == "nothing" and second != "stochastic":
        injected = {}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, parameters, injected)


def _summed(allreduce: Any, given: Given) -> Said:
    drawn = given.randomness
    how: dict[str, Any] = {}
    if "uniforms" in drawn:
        how["draw"] = lambda stage, rank: drawn["uniforms"][stage, rank]
    if "seed" in drawn:
        how["rng"] = np.random.default_rng(drawn["seed"])
    result, traffic = allreduce(**given.inputs, **given.parameters, **how)
    unlike = [first for first in range(len(result.values) + 1) if result.bridge_bytes(first) != _over(result, first)]
    return {"result": result, "traffic": traffic, **({"bridges with other bytes": unlike} if unlike else {})}


def _over(result: QuantisedSum, first: int) -> tuple[int, int]:
    """Bytes from the first ranks to the others, and back, message by message: of them no definition says anything."""
    moved, before, behind = result.moves.sum(axis=0).tolist(), range(first), range(first, len(result.values))
    return sum(moved[p][r] for p in before for r in behind), sum(moved[r][p] for p in before for r in behind)


HIDING = ("ties", "zeros", "signs", "alike", "one rank")
"""Data that few levels hold exactly, or most of which are zeros: a sum that is coded once more may be the same."""
SUMS = (
    Space(
        _sum,
        {
            "P": RANKS,
            "n": sizes(16, *TILES),
            "data": tuple(kind for kind in KINDS if kind not in ("subnormal", *HIDING)),
            "dtype": ("float32", "float64"),
            "width": (2, 1, 4, 7, 8),
            "group": (4, "default", 1, 3),
            "metadata": ("default", "float64", "bfloat16"),
            "spikes": ("default", True),
            "zero": ("default", "integer", "clamped"),
            "drawn": ("nothing", "seed"),
        },
        options=("dtype", "group", "drawn", "spikes", "metadata"),
    )
    .without(
        "zero points of stochastic quantisers are floats.",
        lambda zero, drawn: zero != "default" and drawn not in NEITHER,
    )
    .hidden_by(data=HIDING, width=(3, 5, 6), group=(2, 5, 16, 32), drawn=NEITHER[1:])
    .search(n=(1, 24))
)
FLAG = ("default", True, False)
TWOSTEP = SUMS.replaced(
    second=("default", "other", "stochastic"),
    owner_reads_its_code=FLAG,
    drawn=("nothing", "seed", "uniforms", "uniforms, and a generator"),
)
NODES = SUMS.replaced(
    node=(
        1,
        Of("P", lambda P: P),
        Of("the least divisor", lambda P: next(d for d in (2, 3, 5, 7, 1) if P % d == 0)),
        Of("the largest divisor below P", lambda P: max((d for d in range(1, P) if P % d == 0), default=1)),
    ),
    both_read_both=FLAG,
)

NODES = NODES.including(
    *NODES.every(
        P=(4, 6, 8, 9), n=(33,), node=NODES.axes["node"][2:], both_read_both=(True, False), drawn=("nothing", "seed")
    )
)
TWOSTEP = TWOSTEP.including(
    *TWOSTEP.every(P=RANKS, n=(33,), second=("default", "other"), owner_reads_its_code=(True, False))
)
"""Groups of one entry, short vectors and spikes lose nothing: these rows do."""


def _of_sums(space: Space, twin: Callable[[Mapping[str, Any]], Said], *options: str) -> Definition:
    wider = replace(space, options=(*SUMS.options, *options))
    own = {"uniforms": "a rank rounds by its own row of them alone"}
    return Definition(wider, _summed, twin, examples=lambda: _refused(bool(options) and "node" in options), own=own)


@cache
def _refused(nodes: bool) -> list[Given]:
    quantiser = {"quantiser": GroupQuantizer(4, 3), **({"node": 1} if nodes else {})}
    found = [
        Given({"stack": stack_of(*what)}, quantiser)
        for what in (("NaN", 2, 3, "float32"), ("huge", 3, 8, "float32"), ("normal", 2, 3, "float16"))
    ]
    return found if not nodes else [*found, Given({"stack": np.ones((4, 3))}, {**quantiser, "node": 3})]


def _coded(implementation: Any, given: Given) -> Said:
    """As `compressed`: what is refused a call refuses, too, and a message that was sent as bytes is the same."""
    x, compressor = given.inputs["x"], partial(implementation, **given.parameters)
    again = VectorCase("", "", given.inputs, given.parameters, deepcopy(given.randomness))
    try:
        said = compressed(implementation, given)
    except (TypeError, ValueError):
        if given.randomness:
            raise
        return {"called": compressor()(x)}
    if x.size > 2**10:
        return said
    message = sent(compressor(), again)
    first = wire_bytes(message)
    held = message_from_bytes(first, compressor(), x.size, x.dtype)
    second, output = wire_bytes(held), compressor().decompress(held)
    alike = np.array_equal(first, second) and not other_bits(output, np.asarray(said["output"]))
    said = {**said, **_taken_of(message, compressor())}
    return said if alike else {**said, "of its bytes": {"bytes": second, "output": output}}


def _taken_of(message: GroupCodes, quantiser: GroupQuantizer) -> Said:
    """Who takes the message with a spike just behind its last group, where there are bits to say so: nobody may."""
    about, (n,), taken = message.ranges, message.shape, list[str]()
    behind = n - (about.count - 1) * quantiser.group
    if about.positions is None or behind >= 2 ** index_bits(quantiser.group):
        return {}
    places = about.positions.copy()
    places[-1, 1] = behind
    other = replace(message, ranges=replace(about, positions=places))
    with suppress(ValueError):
        quantiser.decompress(other)
        taken.append("the message")
    with suppress(ValueError):
        message_from_bytes(wire_bytes(other), quantiser, n, message.dtype)
        taken.append("its bytes")
    return {"taken with a spike in no group": taken} if taken else {}


def _lawful(given: Mapping[str, Any]) -> bool:
    """Whether scales and zero points are stored as they are."""
    floats = given.get("zero", "float") == given.get("scale", "float") == "float"
    return floats and given.get("metadata", "float32") in ("float32", "float64")


def _quantiser(name: str, space: Space) -> Definition:
    twin, examples = getattr(groupquant, name), partial(_quantised, name)
    exact = (*EXACT, tuple(map(Fraction, (7, -9, 3, 40, -2))))  # between two spikes one that is on no level
    return Definition(space, _coded, twin, examples=examples, exact=exact, lawful=_lawful)


DEFINITIONS = {
    "GroupQuantizer": _quantiser("GroupQuantizer", NEAREST),
    "StochasticGroupQuantizer": _quantiser("StochasticGroupQuantizer", STOCHASTIC),
    "packed": Definition(
        CODES, _packed, groupquant.packed, examples=lambda: givens(packed_cases()), refused={"bits": (0, 9)}
    ),
    "twostep_quantised_allreduce": _of_sums(TWOSTEP, flashcomm.twostep_said, "second", "owner_reads_its_code"),
    "ring_quantised_allreduce": _of_sums(SUMS, flashcomm.ring_said),
    "oneshot_quantised_allreduce": _of_sums(SUMS, flashcomm.oneshot_said),
    "hierarchical_quantised_allreduce": _of_sums(NODES, flashcomm.hierarchical_said, "node", "both_read_both"),
}
