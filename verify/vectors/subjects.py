"""What has test vectors: every compressor, mechanism and collective, and those that are left out, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import MappingProxyType
from typing import Any

from commbounds.compressors import COMPRESSORS, MECHANISMS
from commbounds.verify.vectors import (
    dense_cases,
    descent_cases,
    lossy_cases,
    mechanism_cases,
    oktopk_cases,
    peer_cases,
)
from commbounds.verify.vectors.case import Case, Subject
from commbounds.verify.vectors.compressor_cases import vector_cases
from commbounds.verify.vectors.compressors import received

__all__ = ["LEFT_OUT", "subjects"]

LEFT_OUT = MappingProxyType(
    {
        "StepLaw": "expected times by quadrature and convolution: numbers with an error bound, whose last bits belong "
        "to the library of special functions, and no algorithm to port",
        "gaussian_maximum": "a number by quadrature with an error bound (1e-12, relative): its last bits belong to the "
        "library of special functions",
    }
)
"""Names in the registries without vectors, and why."""

_MATRICES = ("PowerSGD", "LowRank")
_GROUPS = MappingProxyType(
    {
        "GroupQuantizer": mechanism_cases.group_cases,
        "StochasticGroupQuantizer": mechanism_cases.stochastic_group_cases,
    }
)


def _summary(registered: Any) -> str:
    return (registered.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").replace("    ", "")


def _compressor(name: str, kind: str, registered: Any, cases: Callable[[], Iterable[Case]]) -> Subject:
    """A subject whose cases give the hyper-parameters of the compressor."""
    return Subject(
        name,
        kind,
        _summary(registered),
        cases,
        lambda case: received(registered(**case.parameters), case),
        lambda case: registered(**case.parameters).law(case.inputs["x"].tolist()),
    )


def _of_compressors() -> list[Subject]:
    found = []
    for name, registered in COMPRESSORS.items():
        make = partial(mechanism_cases.matrix_cases if name in _MATRICES else vector_cases, name)
        subject = _compressor(name, "compressor", registered, make)
        if name == "LowRank":  # which last bits its factors have is up to the library of linear algebra
            subject = Subject(name, "compressor", subject.summary, make, mechanism_cases.low_rank, subject.law)
        found.append(subject)
    return found


def _of_mechanisms() -> list[Subject]:
    found = []
    for name, registered in MECHANISMS.items():
        if name in _GROUPS:
            found.append(_compressor(name, "mechanism", registered, _GROUPS[name]))
        elif name == "packed":
            cases, run = mechanism_cases.packed_cases, mechanism_cases.packed_codes
            found.append(Subject(name, "mechanism", _summary(registered), cases, run))
        else:
            steps, run = partial(mechanism_cases.feedback_cases, name), partial(mechanism_cases.feedback_steps, name)
            found.append(Subject(name, "mechanism", _summary(registered), steps, run))
    return found


def subjects() -> dict[str, Subject]:
    """Everything that has vectors, under its name."""
    collectives = [
        subject
        for cases in (dense_cases, oktopk_cases, peer_cases, lossy_cases, descent_cases)
        for subject in cases.subjects()
    ]
    return {subject.name: subject for subject in (*_of_compressors(), *_of_mechanisms(), *collectives)}
