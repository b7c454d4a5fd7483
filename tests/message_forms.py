"""What a message of each kind looks like: `check_form` raises AssertionError where one looks otherwise."""

import numpy as np

from commbounds.compressors import Coded, Dense, Factors, Signs, Sparse
from commbounds.compressors.rotations import Rotated
from commbounds.compressors.shipped import Maybe, Quartic, Tabled


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


def _rotated(message, x):
    d = 1 << (x.size - 1).bit_length()
    assert message.codes.shape == (message.kept.shape if message.kept.size else (d,)), "not one code a rotated entry"
    assert 0 <= message.codes.min() <= message.codes.max() < message.count, "a code is out of range"
    assert message.numbers.dtype == x.dtype, "the numbers are not in the dtype of the vector"
    assert message.signs.shape == x.shape, "not one sign an entry"
    assert (abs(message.signs) == 1).all(), "a sign is neither -1 nor 1"
    assert not message.kept.size or (np.diff(message.kept) > 0).all(), "what is kept is not ascending and unique"


def _tabled(message, x):
    assert message.codes.shape == x.shape, "not one code an entry"
    assert message.codes.dtype == np.int16, f"codes are {message.codes.dtype}"
    assert message.codes.min() >= 0, "a code is negative"
    assert message.codes.max() < message.table.size, "a code is not in the table"
    assert message.table.dtype == x.dtype, f"values are {message.table.dtype}"


def _quartic(message, x):
    assert message.packed.dtype == np.uint8, f"bytes are {message.packed.dtype}"
    assert 0 < message.packed.size <= -(-x.size // 5), f"{message.packed.size} bytes for {x.size} entries"
    assert message.scale.dtype == x.dtype, "the scale is not in the dtype of the vector"


def _maybe(message, x):
    assert message.values.shape in (x.shape, (0,)), "neither all values nor none"
    assert message.values.dtype == x.dtype, f"values are {message.values.dtype}"


_FORMS = {Rotated: _rotated, Sparse: _sparse, Coded: _coded, Signs: _signs, Dense: _dense, Factors: _factors}
_FORMS |= {Tabled: _tabled, Quartic: _quartic, Maybe: _maybe}


def check_form(message, x):
    """Check `message`, which stands for something of the shape and dtype of `x`."""
    assert isinstance(message.bits, int), f"bits is {message.bits!r}"
    assert message.bits >= 0, f"bits is {message.bits}"
    next(form for kind, form in _FORMS.items() if isinstance(message, kind))(message, x)
