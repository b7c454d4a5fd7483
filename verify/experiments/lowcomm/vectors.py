"""Test vectors of the column: small dyadic numbers, which every order of addition gives the same bits."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import case_of, held_to
from commbounds.verify.vectors.inputs import array, eighths

_SIZES = (
    (1, 4, "float64", "One worker: nothing is sent."),
    (2, 6, "float32", "Two workers."),
    (4, 8, "float64", "Four workers: sums over them are halved twice, exactly."),
    (8, 8, "float32", "Eight workers."),
    (5, 4, "float64", "Five workers and four entries: some blocks are empty."),
)
"""Sums over workers are exact: only their averages may be rounded."""


def _numbers(key: int, *shape: int, dtype: str) -> Any:
    return (eighths(key, *shape) - 2).astype(dtype)


def _outer_cases() -> Iterator[VectorCase]:
    for number, (P, n, dtype, why) in enumerate(_SIZES):
        given = {
            "stack": _numbers(301 + number, P, n, dtype=dtype),
            "anchor": _numbers(311 + number, n, dtype=dtype),
            "momentum": _numbers(321 + number, n, dtype=dtype),
        }
        yield case_of(why, given, {"outer_lr": 0.75, "mu": 0.5})
        part = {"outer_lr": 0.75, "mu": 0.5, "start": 1, "stop": n - 1, "blend": 0.25}
        yield case_of("A fragment, of which a worker keeps a quarter.", given, part, about="fragment")
    stack, anchor = _numbers(330, 2, 3, dtype="float64"), _numbers(331, 3, dtype="float64")
    begun = {"stack": stack, "anchor": anchor}
    yield case_of("An average of parameters.", begun, {"outer_lr": 1.0, "mu": 0.0}, about="average")
    yield case_of("Polyak's momentum.", begun, {"outer_lr": 0.5, "mu": 0.5, "rule": "heavy-ball"})
    yield case_of(
        "The wrong sign.", begun, {"outer_lr": 0.5, "mu": 0.5, "direction": "local - anchor"}, about="reversed"
    )
    yield case_of("An empty fragment.", begun, {"start": 2, "stop": 2}, about="empty", refused=True)


def _pair_cases() -> Iterator[VectorCase]:
    options = {"momentum": 0.5, "outer_lr": 0.75, "pull": 0.5}
    for number, (P, dtype, why) in enumerate(
        (
            (1, "float64", "One worker, by itself."),
            (2, "float32", "A pair."),
            (3, "float64", "One is left over."),
            (6, "float32", "Three pairs."),
            (5, "float64", "Two pairs, and one left over."),
        )
    ):
        order = np.random.default_rng(number).permutation(P)
        yield case_of(why, {"workers": _numbers(340 + number, P, 3, 4, dtype=dtype), "order": order}, options)
    twice = {"workers": _numbers(349, 2, 3, 1, dtype="float64"), "order": array([0, 0], "int64")}
    yield case_of("Nobody may come twice.", twice, options, about="twice", refused=True)


def _merge_cases() -> Iterator[VectorCase]:
    stack = _numbers(350, 4, 3, dtype="float64")
    tokens = array([3.0, 1.0, 2.0, 2.0], "float64")
    for about, there, divisor in (
        ("all", [1, 1, 1, 1], "arrived"),
        ("the first and the second", [1, 1, 0, 0], "arrived"),
        ("all but the server", [0, 1, 1, 1], "expected"),
        ("two", [0, 0, 1, 1], "expected"),
        ("nobody", [0, 0, 0, 0], "arrived"),
    ):
        given = {"stack": stack, "tokens": tokens, "arrived": array(there, "bool")}
        yield case_of(f"Of four workers {about}.", given, {"divisor": divisor}, about=about)
    five = {"stack": _numbers(351, 5, 3, dtype="float32"), "tokens": array([1.0, 2.0, 1.0, 4.0, 8.0], "float64")}
    yield case_of("Five workers, and all of them.", five, {})
    one = {"stack": stack[:1], "tokens": tokens[:1]}
    yield case_of("One worker, which is the server.", one, {})
    none = {"stack": stack[:1], "tokens": array([0.0], "float64")}
    yield case_of("Tokens are positive.", none, {}, about="no tokens", refused=True)


def _sparse_cases() -> Iterator[VectorCase]:
    for number, (P, n, dtype, why) in enumerate(_SIZES):
        workers = _numbers(360 + number, P, 2, n, dtype=dtype)
        yield case_of(why, {"workers": workers}, {"k": 1, "chunk": 2, "beta": 0.75})
        largest = {"k": 1, "chunk": n, "beta": 1.0}
        yield case_of("One of all entries.", {"workers": workers}, largest, about="one")
    alike = _numbers(369, 1, 2, 4, dtype="float64").repeat(2, axis=0)
    both = {"k": 2, "chunk": 4, "beta": 1.0, "share": "senders"}
    yield case_of("Divided by senders.", {"workers": alike}, both, about="senders")
    pair = array([[[4.0, 4.0, 1.0, -8.0], [0.0, 0.0, 0.0, 0.0]]], "float64")
    yield case_of("In two bins; halves.", {"workers": pair}, {"k": 4, "chunk": 4, "beta": 0.5, "bins": 2}, about="bins")
    yield case_of("One bin is none.", {"workers": pair}, {"k": 1, "chunk": 2, "bins": 1}, about="one bin", refused=True)


def _demo_cases() -> Iterator[VectorCase]:
    for number, (P, n, dtype, why) in enumerate(_SIZES):
        workers = _numbers(370 + number, P, 2, n, dtype=dtype)
        yield case_of(why, {"workers": workers}, {"k": 1, "chunk": 1, "beta": 0.75})
        yield case_of(
            "Chunks of two.", {"workers": workers}, {"k": 1, "chunk": 2, "beta": 0.5, "share": "ranks"}, about="pairs"
        )
    yield case_of("Chunks divide the entries.", {"workers": workers}, {"k": 1, "chunk": 3}, about="three", refused=True)


def _loco_cases() -> Iterator[VectorCase]:
    for number, (P, n, dtype, why) in enumerate(_SIZES):
        workers = _numbers(380 + number, P, 2, n, dtype=dtype)
        for fresh, bits in ((0.25, 4), (1.0, 2)):
            yield case_of(why, {"workers": workers}, {"step": 0.5, "bits": bits, "fresh": fresh})
    yield case_of(
        "A reset.", {"workers": workers}, {"step": 0.5, "bits": 4, "fresh": 0.25, "reset": True}, about="reset"
    )
    for kept in (0.125, 0.0625):
        given = {"step": 0.5, "bits": 4, "fresh": 0.5, "kept": kept}
        yield case_of("The error is kept in eight bits.", {"workers": workers}, given, about=f"kept {kept}")
    yield case_of("One bit is too few.", {"workers": workers}, {"step": 0.5, "bits": 1}, about="one bit", refused=True)


def _scatter_cases() -> Iterator[VectorCase]:
    for P, node in ((2, 1), (3, 1), (4, 2), (6, 3), (6, 2)):
        stack = _numbers(390 + P, P, 2 * P, dtype="float32")
        for way in ("one-hop", "hierarchical", "ring"):
            yield case_of("Quantised blocks.", {"stack": stack}, {"step": 0.25, "bits": 5, "way": way, "node": node})
    stack = _numbers(399, 4, 4, dtype="float64")
    row = {"step": 0.25, "bits": 8, "way": "hierarchical", "node": 2, "reorder": False}
    yield case_of("Slices as they lie.", {"stack": stack}, row, about="in a row")
    yield case_of("Nodes are of one size.", {"stack": stack}, {"step": 1.0, "node": 3}, about="three", refused=True)


def _power_cases() -> Iterator[VectorCase]:
    for number, dtype in enumerate(("float32", "float64")):
        values = _numbers(410 + number, 9, dtype=dtype)
        yield case_of("Powers of two and zero.", {"values": values}, about=dtype)
    values = np.array([1.0, -0.75, 0.375, 2.0**-7, 3 * 2.0**-8, -(2.0**-6), 0.0])
    yield case_of("Half-way.", {"values": values})
    yield case_of("One value.", {"values": np.array([-3.0])})
    yield case_of("Zeros.", {"values": np.zeros(3, np.float32)})
    yield case_of("Not finite.", {"values": np.array([1.0, np.nan])}, refused=True)


def _bin_cases() -> Iterator[VectorCase]:
    for about, values, bins in (
        ("six", [-6.0, -1.0, 1.0, 1.0, 1.0, 4.0], 4),
        ("one value", [2.0], 4),
        ("equal values", [1.5, 1.5, 1.5, 1.5], 4),
        ("far below", [-15.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 4),
        ("an odd number of bins", [-8.0, 0.0, 0.0, 8.0], 5),
    ):
        yield case_of("Means of bins.", {"values": array(values, "float64")}, {"bins": bins}, about=about)
    yield case_of(
        "One bin is too few.", {"values": array([1.0], "float64")}, {"bins": 1}, about="one bin", refused=True
    )


def _lengths() -> Iterator[VectorCase]:
    for n, target in ((96, 64), (97, 64), (64, 64), (50257, 64), (10, 64), (1, 1), (12, 5)):
        yield case_of("The largest divisor.", {}, {"n": n, "target": target}, about=f"{n} by {target}")
    yield case_of("No entries.", {}, {"n": 0, "target": 4}, about="none", refused=True)


def _reset_cases() -> Iterator[VectorCase]:
    for L, T, passes in ((4, 7, 10), (4, 8, 10), (1, 0, 3), (6, 3, 9), (3, 100, 5), (5, 4, 0)):
        yield case_of(
            "Resets of every tensor.", {}, {"tensors": L, "reset_after": T, "passes": passes}, about=f"{L} by {T}"
        )
    yield case_of("A tensor at least.", {}, {"tensors": 0, "reset_after": 1, "passes": 1}, about="none", refused=True)


def _bit_cases() -> Iterator[VectorCase]:
    for positions in ("one by one", "as a set"):
        for n, k, chunk, bits in ((4096, 64, 4096, 2), (12, 1, 4, 2), (12, 4, 4, 8), (6, 2, 3, 1), (5, 1, 1, 32)):
            given = {"n": n, "k": k, "chunk": chunk, "value_bits": bits, "positions": positions}
            yield case_of("Bits of a message.", {}, given, about=f"{n}")
    yield case_of("Chunks divide the entries.", {}, {"n": 5, "k": 1, "chunk": 2}, about="odd", refused=True)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [
        *held_to(
            DEFINITIONS,
            demo_round=_demo_cases,
            diloco_round=_outer_cases,
            loco_round=_loco_cases,
            noloco_round=_pair_cases,
            quantised_reduce_scatter=_scatter_cases,
            quorum_merge=_merge_cases,
            sparseloco_round=_sparse_cases,
        ),
        *held_to(
            DEFINITIONS,
            "",
            binned=_bin_cases,
            chunk_length=_lengths,
            e3m0=_power_cases,
            resets=_reset_cases,
            sparse_bits=_bit_cases,
        ),
    ]
