"""What a message of each kind looks like: `check_form` raises AssertionError where one looks otherwise."""

import numpy as np
from mutants.registry import FORMS


def _sparse(message, x):
    indices, values = message.indices, message.values
    assert indices.dtype == np.int32, f"indices are {indices.dtype}"
    assert indices.shape == values.shape, "indices and values differ in number"
    assert (np.diff(indices) > 0).all(), f"indices {indices.tolist()} are not ascending and unique"
    assert not indices.size or (indices[0] >= 0 and indices[-1] < x.size), "an index is out of range"
    assert values.dtype == x.dtype, f"values are {values.dtype}"
    assert message.position_bits >= 0, "positions take less than no bits"


def _coded(message, x):
    assert message.codes.shape == x.shape, "not one code an entry"
    assert np.issubdtype(message.codes.dtype, np.signedinteger), f"codes are {message.codes.dtype}"
    top = int(np.abs(message.codes.astype(np.int64)).max())
    assert top <= message.levels, f"code {top} of {message.levels} levels"
    assert message.norm is None or message.norm.dtype == x.dtype, "the norm is not in the dtype of the vector"


def _signs(message, x):
    assert message.signs.shape == x.shape, "not one sign an entry"
    assert set(message.signs.tolist()) <= {-1, message.zero, 1}, "a sign is neither -1, 1 nor that of zero"
    assert message.scale is None or message.scale.dtype == x.dtype, "the scale is not in the dtype of the vector"


def _dense(message, x):
    assert message.values.shape == x.shape, "not one value an entry"
    assert message.values.dtype == x.dtype, f"values are {message.values.dtype}"


def _factors(message, x):
    assert message.left.shape[0] == x.shape[0], "the left factor has another number of rows"
    assert message.right.shape == (x.shape[1], message.left.shape[1]), "the factors do not fit"
    assert {message.left.dtype, message.right.dtype} == {x.dtype}, "a factor has another dtype"


_FORMS = {"Sparse": _sparse, "Coded": _coded, "Signs": _signs, "Dense": _dense, "Factors": _factors, **FORMS}
"""By the name of the message's class: kinds that several columns send, and the columns' own."""


def check_form(message, x):
    """Check `message`, which stands for something of the shape and dtype of `x`."""
    assert isinstance(message.bits, int), f"bits is {message.bits!r}"
    assert message.bits >= 0, f"bits is {message.bits}"
    kind = next((kind.__name__ for kind in type(message).__mro__ if kind.__name__ in _FORMS), None)
    assert kind, f"FORMS in tests/mutants/NAME.py says nothing of {type(message).__name__}"
    _FORMS[kind](message, x)
