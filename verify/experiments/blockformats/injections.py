"""Laws read off kernels that round every entry twice, at random, and send one of the two."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.compressors.blockformats import StochasticFourOverSix
from commbounds.verify.kernel_law import LawReader, Outcomes, restored
from commbounds.verify.marginals import kernel_marginals

_MOST_ENTRIES = 4
"""Of a vector: 2^8 outcomes."""


def _switches(compressor: Any, x: Array, four: int) -> Floats:
    """The probability with which every entry is rounded up, where blocks always end at 6, or at 4."""
    errors = itertools.cycle((four, 1 - four))

    class OneScale(StochasticFourOverSix):
        def compress_with(self, x: Any, uniforms: Any) -> Any:
            return super().compress_with(x, np.stack([uniforms, uniforms]))

        def _block_errors(self, values: Any, tensor: float, scales: Any, codes: Any) -> Any:
            return np.full(scales.size, next(errors))

    return kernel_marginals(OneScale(compressor.block, compressor.scale), x).p


def _all_pairs(compressor: Any, x: Array) -> Outcomes | None:
    """Outcomes of all roundings: uniforms of zero round up, those below one down."""
    if x.size > _MOST_ENTRIES:
        return None
    up = np.concatenate([_switches(compressor, x, four) for four in (0, 1)])
    drawn = np.array(list(itertools.product((True, False), repeat=up.size)))
    p = np.where(drawn, up, 1.0 - up).prod(axis=1)
    resolution = 2.0**-24 if x.dtype == np.float32 else 2.0**-53
    most = x.dtype.type(1 - resolution)
    pairs = [np.where(row, x.dtype.type(0), most).reshape(2, x.size) for row in drawn[p > 0.0]]
    outputs = np.array([restored(compressor, compressor.compress_with(x, u)) for u in pairs])
    return Outcomes(p[p > 0.0], outputs, up.size * resolution)


INJECTIONS: Mapping[str, LawReader] = {"pairs": _all_pairs}
"""By what ``compress_with`` takes: how the law is read off."""
