"""Test vectors of orthogonalised updates."""

from collections.abc import Iterator

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.orthogonal import RIGHT
from commbounds.verify.experiments.orthogonal.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import case_of, held_to, ranks
from commbounds.verify.vectors.inputs import array

_SIZES = (
    (1, 2, 3, "float32", "One rank: nothing is sent."),
    (2, 3, 2, "float32", "More rows than columns: transposed meanwhile."),
    (3, 2, 2, "float64", "Three ranks; float64."),
    (4, 3, 4, "float32", "A power of two of ranks."),
    (5, 1, 3, "float32", "A single row: a rank-one gradient."),
)


def _matrices(P: int, m: int, n: int, dtype: str, key: int) -> Array:
    return ranks(P, m * n, dtype, key).reshape(P, m, n)


def _muon_cases() -> Iterator[VectorCase]:
    for P, m, n, dtype, why in _SIZES:
        for iteration in ("muon", "cubic", "quintic", "polar_express"):
            given = {"stack": _matrices(P, m, n, dtype, 111)}
            yield case_of(why, given, {"steps": 3, "iteration": iteration}, about=f"{m} rows")
        how = {"steps": 5, "iteration": "muon", "arithmetic": "bfloat16"}
        yield case_of(f"{why} In bfloat16.", {"stack": _matrices(P, m, n, dtype, 111)}, how, about=f"{m} rows")
    zero = {"stack": np.zeros((2, 2, 2), np.float32)}
    yield case_of("Zero stays zero.", zero, {"steps": 5, "iteration": "muon"}, about="zeros")
    yield case_of("There is no such iteration.", zero, {"steps": 5, "iteration": "septic"}, about="name", refused=True)


def _dion_cases() -> Iterator[VectorCase]:
    for P, m, n, dtype, why in _SIZES:
        r = min(m, n)
        given = {"stack": _matrices(P, m, n, dtype, 112), "momentum": _matrices(P, m, n, dtype, 113)}
        basis = np.ascontiguousarray(ranks(1, n * r, dtype, 114).reshape(n, r))
        for right in RIGHT:
            how = {"mu": 0.75, "right": right}
            yield case_of(why, {**given, "basis": basis}, how, about=f"{m} rows, rank {r}")
    same = array([[[1, 2], [2, 4]]], "float32")
    given = {"stack": same, "momentum": 0 * same, "basis": array([[1, 0], [0, 1]], "float32")}
    yield case_of(
        "Parallel columns: nothing is left of the second.", given, {"mu": 0.5, "right": "columns"}, about="dependent"
    )
    yield case_of("mu above one is refused.", given, {"mu": 1.5, "right": "columns"}, about="mu", refused=True)


def _ef21_cases() -> Iterator[VectorCase]:
    for P, m, n, dtype, why in _SIZES:
        given = {"stack": _matrices(P, m, n, dtype, 115), "own": _matrices(P, m, n, dtype, 116)}
        given["estimate"] = np.ascontiguousarray(ranks(1, m * n, dtype, 117).reshape(m, n))
        how = {"k": max(1, m * n // 2), "steps": 2, "iteration": "muon"}
        yield case_of(why, given, how, about=f"{m} rows")
    ties = {"stack": array([[[1, -1], [-1, 1]]], "float32")}
    ties |= {"own": 0 * ties["stack"], "estimate": 0 * ties["stack"][0]}
    how = {"k": 2, "steps": 1, "iteration": "cubic"}
    yield case_of("Of equal magnitudes the first are sent.", ties, how, about="ties")
    yield case_of("k above m n is refused.", ties, {**how, "k": 5}, about="k", refused=True)


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return held_to(DEFINITIONS, muon_update=_muon_cases, ef21_muon=_ef21_cases, dion_update=_dion_cases)
