"""Laws read off kernels that rotate: all patterns of the rotation's signs, and all subsets of the rotated entries."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.kernel_law import LawReader, Outcomes, restored

_MOST_ENTRIES = 4
"""Of a vector whose patterns are enumerated, rotated entries counted."""


def _all_signs(compressor: Any, x: Array) -> Outcomes | None:
    """Outcomes of a rotation by all patterns of signs; of one in groups, `dim` signs for each, by those it meets."""
    if x.size > _MOST_ENTRIES:
        return None
    signs = getattr(compressor, "dim", x.size)
    patterns = np.ones((2 ** min(signs, x.size), signs), np.int8)
    patterns[:, : x.size] = list(itertools.product((1, -1), repeat=min(signs, x.size)))
    y = np.array([restored(compressor, compressor.compress_with(x, signs)) for signs in patterns])
    return Outcomes(np.full(len(y), 1.0 / len(y)), y)


def _all_kept(compressor: Any, x: Array) -> Outcomes | None:
    """Outcomes of a rotation of few entries, by all patterns of signs and all subsets of the rotated entries."""
    d = 1 << (x.size - 1).bit_length()
    if d > _MOST_ENTRIES:
        return None
    patterns = np.array(list(itertools.product((1, -1), repeat=x.size)), np.int8)
    subsets = np.array(list(itertools.combinations(range(d), compressor.k)), np.int64)
    y = np.array([restored(compressor, compressor.compress_with(x, kept, s)) for s in patterns for kept in subsets])
    return Outcomes(np.full(len(y), 1.0 / len(y)), y)


INJECTIONS: Mapping[str, LawReader] = {"signs": _all_signs, "kept": _all_kept}
"""By what ``compress_with`` takes: how the law is read off."""
