"""Laws read off kernels that take places drawn with replacement."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.kernel_law import LawReader, Outcomes, restored

_MOST_PICKS = 1 << 7
"""Sequences of places that are enumerated at most."""


def _all_picks(compressor: Any, x: Array) -> Outcomes | None:
    n, k = x.size, compressor.k
    if n**k > _MOST_PICKS:
        return None
    # every one of k places is uniform on 0 .. n - 1
    picks = itertools.product(range(n), repeat=k)
    y = np.array([restored(compressor, compressor.compress_with(x, np.array(p, dtype=np.int64))) for p in picks])
    return Outcomes(np.full(len(y), 1.0 / len(y)), y)


INJECTIONS: Mapping[str, LawReader] = {"picks": _all_picks}
"""By what ``compress_with`` takes: how the law is read off."""
