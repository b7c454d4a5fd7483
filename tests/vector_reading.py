"""Test vectors as anybody reads them who has nothing of ours: JSON, and the bits of the floats."""

from fractions import Fraction

import ml_dtypes
import numpy as np

FLOATS = {"float64": "uint64", "float32": "uint32", "float16": "uint16", "bfloat16": "uint16"}


def read(value):
    """What a value in a file stands for: floats by their bits alone."""
    if isinstance(value, list):
        return [read(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "fraction" in value:
        return Fraction(value["fraction"])
    if "record" in value:
        held = {name: read(entry) for name, entry in value["fields"].items()}
        return held if value["record"] == "mapping" else {"record": value["record"], **held}
    if "traffic" in value:
        return value["traffic"]
    shape, name = tuple(value["shape"]), value["dtype"]
    if name not in FLOATS:
        return np.array([int(v) for v in value["values"]]).astype(name).reshape(shape)
    kind = ml_dtypes.bfloat16 if name == "bfloat16" else name
    words = np.array([int(word, 16) for word in value["bits"]], FLOATS[name])
    return words.view(np.dtype(kind)).reshape(shape)


def entries_of(value):
    """Every array in a JSON value."""
    if isinstance(value, list):
        for entry in value:
            yield from entries_of(entry)
    elif isinstance(value, dict):
        if "dtype" in value:
            yield value
        else:
            for entry in value.values():
                yield from entries_of(entry)


def same(found, expected):
    """Whether an array has these bits; any NaN is as good as another."""
    held = np.asarray(found, expected.dtype)
    if held.shape != expected.shape:
        return False
    gone = np.isnan(expected.astype(np.float64))
    word = f"u{expected.dtype.itemsize}"
    alike = np.ascontiguousarray(held).view(word) == np.ascontiguousarray(expected).view(word)
    return bool((alike | (gone & np.isnan(held.astype(np.float64)))).all())
