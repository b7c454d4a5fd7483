"""What is run on every bit pattern: `Run`, a kernel beside its definition."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
