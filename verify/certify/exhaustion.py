"""Kernels run on every bit pattern of a float format, against their exact definitions in integers.

A goal that a `Run` shows says that a kernel is its definition. The run goes through all patterns once, when the
certificate is made (``commbounds certify --exhaustive``), and leaves a record; to check the record is to go through a
fixed share of them, and to compare the sources of what was run then with those of now.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.certify.certificate import CertificateError

Patterns = NDArray[np.uint32]

_BLOCK = 1 << 15


@dataclass(frozen=True)
class Run:
    """A kernel, its definition, and the patterns that they are compared on.

    Parameters
    ----------
    words : str
        What is compared, for which patterns.
    patterns : int
        How many there are; they are numbered from 0.
    differences : function
        Of pattern numbers: at how many of them the kernel is not its definition.
    kernel, definition : tuple of function
        Whose sources the record holds digests of.
    each : int
        How many values one number stands for, all of which are run.
    share : int
        A check runs every which number: a prime, so that all positions of the bits are met.
    """

    words: str
    patterns: int
    differences: Callable[[Patterns], int]
    kernel: tuple[Any, ...]
    definition: tuple[Any, ...]
    each: int = 1
    share: int = 1021

    def record(self) -> dict[str, Any]:
        """What a certificate says of the run."""
        patterns = self.patterns * self.each
        return {"patterns": patterns, "kernel": digest(self.kernel), "definition": digest(self.definition)}

    def count(self, every: int = 1, progress: Callable[[float], None] = lambda _: None) -> int:
        """At how many of every `every`th pattern the kernel is not its definition."""
        found = 0
        numbers, block = range(0, self.patterns, every), max(1, _BLOCK // self.each)
        for start in range(0, len(numbers), block):
            part = numbers[start : start + block]
            found += self.differences((part.start + np.arange(len(part)) * every).astype(np.uint32))
            progress((start + len(part)) / len(numbers))
        return found


def digest(functions: tuple[Any, ...]) -> str:
    """SHA-256 of the functions' sources."""
    sources = [inspect.getsource(getattr(f, "py_func", getattr(f, "__wrapped__", f))) for f in functions]
    return sha256("\n".join(sources).encode()).hexdigest()


@cache
def runs() -> dict[str, Run]:
    """All runs, by name."""
    from commbounds.verify.certify.runs_flashcomm import FLASHCOMM
    from commbounds.verify.certify.runs_quantizers import QUANTIZERS

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
