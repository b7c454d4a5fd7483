"""Views with the entries of an array: strided, reversed, transposed, off the usual alignment."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from commbounds.array_types import Array

_OTHER = 7
"""What lies between the entries: whoever reads memory in its order sees it."""


def _strided(x: Array) -> Array:
    whole = np.full((*x.shape[:-1], 2 * x.shape[-1]), _OTHER, x.dtype)
    view = whole[..., ::2]
    view[...] = x
    return view


def _offset(x: Array) -> Array:
    view = np.full(x.size + 1, _OTHER, x.dtype)[1:].reshape(x.shape)
    view[...] = x
    return view


LAYOUTS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "every second entry of a longer array": _strided,
        "an array in the opposite order, turned round": lambda x: x[..., ::-1].copy()[..., ::-1],
        "an array that begins one entry after another": _offset,
        "the transpose of an array in the opposite order of axes": lambda x: x.T.copy().T,
    }
)
"""Views by what they are views of; they can be written to."""
