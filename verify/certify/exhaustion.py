"""Kernels run on every bit pattern of a float format, against their exact definitions in integers.

A goal that a run shows says that a kernel is its definition. The run goes through all patterns once, when the
certificate is made (``commbounds certify --exhaustive``), and leaves a record; to check the record is to go through a
fixed share of them, and to compare the sources of what was run then with those of now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from commbounds.verify.certify.certificate import CertificateError
from commbounds.verify.certify.run import Run
from commbounds.verify.certify.runs_flashcomm import FLASHCOMM
from commbounds.verify.certify.runs_quantizers import QUANTIZERS


@cache
def runs() -> dict[str, Run]:
    """All runs, by name."""
    return {**QUANTIZERS, **FLASHCOMM}


def ran(name: str, progress: Callable[[float], None] = lambda _: None) -> dict[str, Any]:
    """The record of a run over all patterns.

    Raises
    ------
    CertificateError
        The kernel is not its definition.
    """
    run = runs()[name]
    record = run.record()
    if different := run.count(1, progress):
        raise CertificateError(f"{name}: the kernel is not its definition at {different} of all patterns")
    return record


def check_record(name: str, record: Any) -> None:
    """Check the record of a run, by its digests and a share of the patterns.

    Raises
    ------
    CertificateError
        There is no such run, what was run is not what would be run now, or the kernel is not its definition.
    """
    if name not in runs():
        raise CertificateError(f"there is no run {name!r}")
    expected = runs()[name].record()
    if not isinstance(record, Mapping) or set(record) != set(expected):
        raise CertificateError(f"the record of a run says {', '.join(expected)}")
    for key, value in expected.items():
        if record[key] != value:
            raise CertificateError(f"another {key} than when {name} was run: run `commbounds certify --exhaustive`")
    if different := _counted(name):
        raise CertificateError(f"{name}: the kernel is not its definition at {different} patterns")


@cache
def _counted(name: str) -> int:
    run = runs()[name]
    return run.count(run.share)
