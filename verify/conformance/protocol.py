"""The protocol of executables: a line of JSON, then raw little-endian arrays; requests on stdin, replies on stdout.

A message is a JSON object on one line, ended by a newline, whose member ``arrays`` lists the arrays that follow it
without anything in between: ``{"dtype": "float32", "shape": [5]}``. ``docs/protocol.md`` describes every request.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from commbounds.array_types import Array

VERSION = 1
"""Of the protocol."""

_DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "float16": np.dtype("<f2"),
        "bfloat16": np.dtype(ml_dtypes.bfloat16),
        "float32": np.dtype("<f4"),
        "float64": np.dtype("<f8"),
        "int64": np.dtype("<i8"),
    }
)
_LONGEST_HEADER = 1 << 20
_MOST_BYTES = 1 << 33
_MOST_ARRAYS = 64
_MOST_AXES = 32


class BadMessage(ValueError):
    """What came is no message."""


def encoded(header: Mapping[str, Any], arrays: Sequence[Array] = ()) -> bytes:
    """A message.

    Raises
    ------
    TypeError
        An array has a dtype that the protocol does not know.
    """
    listed = []
    for array in arrays:
        if array.dtype.name not in _DTYPES:
            raise TypeError(f"arrays must be of {', '.join(_DTYPES)}, got {array.dtype}")
        listed.append({"dtype": array.dtype.name, "shape": list(array.shape)})
    line = json.dumps({**header, "arrays": listed}, sort_keys=True, allow_nan=False).encode() + b"\n"
    return line + b"".join(np.ascontiguousarray(array, dtype=_DTYPES[array.dtype.name]).tobytes() for array in arrays)


def header_of(line: bytes) -> tuple[dict[str, Any], list[tuple[np.dtype[Any], tuple[int, ...]]]]:
    """The header in a line, and dtype and shape of every array that follows.

    Raises
    ------
    BadMessage
        The line is no header.
    """
    try:
        header = json.loads(line)
        forms = [_form(entry) for entry in header.get("arrays", [])]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise BadMessage(f"no header, but {line[:80]!r}") from None
    if not isinstance(header, dict):
        raise BadMessage(f"no header, but {line[:80]!r}")
    if len(forms) > _MOST_ARRAYS:
        raise BadMessage(f"a header that announces {len(forms)} arrays, and not at most {_MOST_ARRAYS}: {line[:80]!r}")
    if sum(dtype.itemsize * math.prod(max(size, 1) for size in shape) for dtype, shape in forms) > _MOST_BYTES:
        raise BadMessage(f"a header that announces more than 8 GiB: {line[:80]!r}")
    return header, forms


def _form(entry: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Dtype and shape of an entry of ``arrays``.

    Raises
    ------
    ValueError, TypeError, KeyError
        It has none, or a shape that no array has.
    """
    shape = tuple(entry["shape"])
    if len(shape) > _MOST_AXES or any(
        isinstance(size, bool) or not isinstance(size, int) or size < 0 for size in shape
    ):
        raise ValueError(f"shape must hold at most {_MOST_AXES} integers that are not negative, got {shape[:8]}")
    return _DTYPES[entry["dtype"]], shape


def read_message(
    read_line: Callable[[int], bytes], read_exactly: Callable[[int], bytes]
) -> tuple[dict[str, Any], list[Array]] | None:
    """The next message, or None at the end of the stream.

    Parameters
    ----------
    read_line : callable (limit) -> bytes
        The next line with its newline, at most `limit` bytes; empty at the end.
    read_exactly : callable (count) -> bytes
        The next bytes, fewer only at the end.

    Raises
    ------
    BadMessage
        What came is no message, or was cut short.
    """
    line = read_line(_LONGEST_HEADER)
    if not line:
        return None
    header, forms = header_of(line)
    arrays = []
    for dtype, shape in forms:
        count = dtype.itemsize * math.prod(shape)
        data = read_exactly(count)
        if len(data) != count:
            raise BadMessage(f"an array of {count} bytes was announced, {len(data)} came")
        arrays.append(np.frombuffer(data, dtype).reshape(shape).copy())
    return header, arrays
