"""Test vectors: group quantisers, bit planes, and quantised all-reduces."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.collectives import (
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer, packed, packed_bytes
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, called, case_of, collective, ranks
from commbounds.verify.vectors.compressor_cases import (
    MOST,
    Setting,
    compressor,
    hostile_cases,
    mechanism,
    parameters_of,
    switch_cases,
)
from commbounds.verify.vectors.inputs import REFUSED, array, flags_of, uniforms


def _quantised(**more: Any) -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        quantiser = GroupQuantizer(4, group=3, metadata=dtype)
        yield case_of(why, {"stack": ranks(P, n, dtype, 30)}, {"quantiser": quantiser, **more})
    for about, quantiser, why in (
        ("bfloat16", GroupQuantizer(8, group=4, metadata="bfloat16"), "Scales and zero points in bfloat16."),
        ("spikes", GroupQuantizer(2, group=4, metadata="bfloat16", spikes=True), "The ends of a group go apart."),
        ("one bit", GroupQuantizer(1, group=8), "Two levels."),
    ):
        yield case_of(why, {"stack": ranks(3, 8, "float32", 31)}, {"quantiser": quantiser, **more}, about=about)
    yield case_of("All zero.", {"stack": np.zeros((2, 5), np.float32)}, {"quantiser": GroupQuantizer(4, 4), **more},
                  about="zeros")  # fmt: skip


def _twostep_cases() -> Iterator[VectorCase]:
    yield from _quantised()
    second = {"quantiser": GroupQuantizer(3, 4), "second": GroupQuantizer(6, 2)}
    yield case_of("Two quantisers.", {"stack": ranks(3, 8, "float32", 32)}, second, about="two quantisers")
    own = {"quantiser": GroupQuantizer(3, 4), "owner_reads_its_code": False}
    yield case_of("Owners keep their sums: ranks disagree.", {"stack": ranks(3, 8, "float32", 32)}, own)
    drawn = {"uniforms": uniforms(33, 2 * 3 * 8, "float32").reshape(2, 3, 8)}
    yield case_of("Injected uniforms: first those of the inputs, then those of the sums, by rank.",
                  {"stack": ranks(3, 8, "float32", 32)}, {"quantiser": StochasticGroupQuantizer(3, 4)}, drawn,
                  about="stochastic")  # fmt: skip


def _twostep(case: VectorCase) -> Mapping[str, Any]:
    if not case.randomness:
        return _twostep_as_it_is(case)
    drawn = case.randomness["uniforms"]
    found = twostep_quantised_allreduce(**case.inputs, **case.parameters, draw=lambda stage, rank: drawn[stage, rank])
    return dict(zip(("result", "traffic"), found, strict=True))


_twostep_as_it_is = called(twostep_quantised_allreduce, "result", "traffic")


def _hierarchical_cases() -> Iterator[VectorCase]:
    quantiser = GroupQuantizer(4, group=3)
    for P, n, node, why in (
        (1, 4, 1, "One rank."),
        (2, 6, 1, "Nodes of one rank: only the exchange."),
        (3, 7, 3, "One node: no exchange."),
        (4, 8, 2, "Two nodes of two."),
        (6, 3, 3, "Fewer entries than ranks."),
        (8, 13, 2, "Four nodes of two."),
        (6, 13, 2, "Three nodes of two."),
    ):
        yield case_of(why, {"stack": ranks(P, n, "float32", 34)}, {"quantiser": quantiser, "node": node})
    own_sums = {"quantiser": quantiser, "node": 2, "both_read_both": False}
    yield case_of("A side keeps its own sum: nodes disagree.", {"stack": ranks(4, 8, "float32", 34)}, own_sums)
    yield case_of("Two does not divide three.", {"stack": ranks(3, 4, "float32")}, {"quantiser": quantiser, "node": 2},
                  refused=True)  # fmt: skip


_GROUPS: tuple[Setting, ...] = (
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


_STOCHASTIC: tuple[Setting, ...] = (
    (StochasticGroupQuantizer(2, group=4), "float32", tuple(n for n in (*MOST, "one entry") if n != "largest"),
     (*REFUSED, "largest")),
    (StochasticGroupQuantizer(6, group=5), "float64", ("ordinary", "subnormals"), ()),
    (StochasticGroupQuantizer(3, group=5, metadata="bfloat16", spikes=True), "float32", ("ordinary", "long"), ()),
)  # fmt: skip


def group_cases() -> Iterator[VectorCase]:
    """The cases of `GroupQuantizer`."""
    for quantiser, dtype, names, refused in _GROUPS:
        yield from hostile_cases(quantiser, dtype, names, refused)
    x = array([0.0, 0.5, 1.5, 3.0], "float32")
    yield VectorCase(
        "half-way between levels", "The quotients 0.5 and 1.5 go to the even code.", {"x": x},
        parameters_of(GroupQuantizer(2, group=4)), {}, (*flags_of(x), "halfway"), law=True,
    )  # fmt: skip


def stochastic_group_cases() -> Iterator[VectorCase]:
    """The cases of `StochasticGroupQuantizer`."""
    for quantiser, dtype, names, refused in _STOCHASTIC:
        yield from hostile_cases(quantiser, dtype, names, refused)
    up = (Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(0))
    for dtype in ("float32", "float64"):
        yield from switch_cases(StochasticGroupQuantizer(2, group=4), (0.0, 0.25, 1.75, 3.0), up, dtype)


def packed_cases() -> Iterator[VectorCase]:
    """Codes of every width, of lengths that fill their bytes and that do not."""
    for bits in range(1, 9):
        for n, why in ((1, "One code: the rest of the byte is zero."), (13, "13 codes: the last bytes are part full.")):
            codes = (uniforms(10 * bits + n, n, "float64") * 2**bits).astype(np.uint8)
            flags = ("n=1",) if n == 1 else ()
            yield VectorCase(f"{bits} bits, n={n}", why, {"codes": codes}, {"bits": bits}, {}, flags)
    full = np.full(16, 7, np.uint8)
    yield VectorCase("3 bits, all ones", "Every bit of every plane is set.", {"codes": full}, {"bits": 3})
    yield VectorCase(
        "code too large", "8 does not fit in 3 bits.", {"codes": full + np.uint8(1)}, {"bits": 3}, refused=True
    )


def packed_codes(case: VectorCase) -> Mapping[str, Any]:
    """The planes, and their bytes together."""
    codes, bits = case.inputs["codes"], case.parameters["bits"]
    return {"planes": packed(codes, bits), "bytes": packed_bytes(codes.size, bits)}


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    whole = ("result", "traffic")
    return [
        compressor("GroupQuantizer", group_cases),
        compressor("StochasticGroupQuantizer", stochastic_group_cases),
        mechanism("packed", packed_cases, packed_codes),
        collective("twostep_quantised_allreduce", _twostep_cases, _twostep, "bytes"),
        collective("ring_quantised_allreduce", _quantised, called(ring_quantised_allreduce, *whole), "bytes"),
        collective("oneshot_quantised_allreduce", _quantised, called(oneshot_quantised_allreduce, *whole), "bytes"),
        collective(
            "hierarchical_quantised_allreduce",
            _hierarchical_cases,
            called(hierarchical_quantised_allreduce, *whole),
            "bytes",
        ),
    ]
