"""Numbers as JSON holds them without loss: arrays with their bits, fractions, long integers as text, records."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.traffic import Traffic

_SAFE = 2**53
"""Readers that keep all numbers in float64 know the integers below this in magnitude, and no others."""
_FLOATS = {"float64": np.uint64, "float32": np.uint32, "float16": np.uint16, "bfloat16": np.uint16}
_WIDTH = 110
"""Characters of a list of plain values that is written on one line at most; longer ones are wrapped."""


@dataclass(frozen=True, eq=False)
class Record:
    """Named values under a name of their own."""

    name: str
    fields: Mapping[str, Any]


def json_of(value: Any) -> Any:
    """`value` in what JSON has: null, true, numbers, text, lists and objects with text keys.

    Parameters
    ----------
    value : Any
        None, bool, int, float, str, Fraction, numpy scalars and arrays, Traffic, dataclasses, mappings, and lists or
        tuples of these.

    Returns
    -------
    Any
        Floats and arrays as `array_json` has them; integers of 2^53 and more in magnitude as decimal text; a Fraction
        as ``{"fraction": "1/3"}``; a Traffic as its counts; a dataclass as ``{"record": name, "fields": {...}}``; a
        mapping as a record called "mapping"; a type as its name.

    Raises
    ------
    TypeError
        Anything else.

    Examples
    --------
    >>> json_of(2**53), json_of(7), json_of(Fraction(1, 3))
    ('9007199254740992', 7, {'fraction': '1/3'})
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return _integer(int(value))
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, float | np.floating):
        return array_json(np.asarray(value))
    if isinstance(value, np.ndarray):
        return array_json(value)
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, Traffic):
        return {"traffic": value.as_dict()}
    if isinstance(value, Record):
        return {"record": value.name, "fields": {name: json_of(entry) for name, entry in value.fields.items()}}
    if isinstance(value, Mapping):
        return {"record": "mapping", "fields": {str(name): json_of(entry) for name, entry in value.items()}}
    if isinstance(value, list | tuple):
        return [json_of(entry) for entry in value]
    if is_dataclass(value) and not isinstance(value, type):
        held = {field.name: json_of(getattr(value, field.name)) for field in fields(value)}
        return {"record": type(value).__name__, "fields": held}
    raise TypeError(f"value must have a form in JSON, got {type(value).__name__}")


def array_json(array: Array) -> dict[str, Any]:
    """An array of any shape: its dtype, its shape, and its entries in row order.

    Parameters
    ----------
    array : array of float64, float32, float16, bfloat16, bool or integers

    Returns
    -------
    dict
        ``dtype`` and ``shape``; ``values``; and for floats ``bits``, the bits as hexadecimal integers, and ``hex``, the
        value as C99 hexadecimal. Among the values of floats, what JSON has no number for is text: "-0.0", "inf",
        "-inf", "nan".

    Examples
    --------
    >>> array_json(np.array([1.0, -0.0], np.float32))["bits"]
    ['0x3f800000', '0x80000000']
    >>> array_json(np.array([1.0, -0.0], np.float32))["values"]
    [1.0, '-0.0']
    """
    flat, name = array.reshape(-1), array.dtype.name
    held: dict[str, Any] = {"dtype": name, "shape": [int(size) for size in array.shape]}
    if name in _FLOATS:
        wide = [float(v) for v in flat.astype(np.float64)]
        return {**held, "values": [_number(v) for v in wide], "hex": [v.hex() for v in wide], "bits": bits_of(flat)}
    if array.dtype.kind == "b":
        return {**held, "values": [bool(v) for v in flat]}
    if array.dtype.kind not in "iu":
        raise TypeError(f"array must be of floats, integers or booleans, got {array.dtype}")
    return {**held, "values": [_integer(int(v)) for v in flat]}


def bits_of(flat: Array) -> list[str]:
    """The bits of every float as a hexadecimal integer of its width, highest bit first.

    A NaN is the quiet one without payload: which NaN an operation makes differs between processors.
    """
    words = np.ascontiguousarray(flat).view(_FLOATS[flat.dtype.name]).copy()
    words[np.isnan(flat.astype(np.float64))] = np.array(np.nan).astype(flat.dtype).view(words.dtype)
    return [f"0x{int(word):0{2 * words.itemsize}x}" for word in words]


def _integer(value: int) -> int | str:
    return value if abs(value) < _SAFE else str(value)


def _number(value: float) -> float | str:
    return value if np.isfinite(value) and (value != 0 or not np.signbit(value)) else repr(value)


def text_of(value: Any, indent: int = 0) -> str:
    """`value`, made of what JSON has, as text: keys sorted, an entry a line, lists of plain values wrapped.

    Examples
    --------
    >>> print(text_of({"b": [1, 2], "a": {"c": None}}))
    {
     "a": {"c": null},
     "b": [1, 2]
    }
    """
    if not isinstance(value, dict | list):
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {text_of(value[name], indent + 1)}" for name in sorted(value)]
    else:
        parts = [text_of(entry, indent + 1) for entry in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    pad, room = " " * (indent + 1), _WIDTH - indent
    whole = isinstance(value, dict) and indent == 0
    if not whole and sum(len(part) + 2 for part in parts) <= room and not any("\n" in part for part in parts):
        return first + ", ".join(parts) + last
    if isinstance(value, dict) or any(isinstance(entry, dict | list) for entry in value):
        inside = ",\n".join(pad + part for part in parts)
    else:
        lines, used = [pad], 0
        for part in parts:
            if used and used + len(part) + 2 > room:
                lines[-1] += ","
                lines.append(pad)
                used = 0
            lines[-1] += f", {part}" if used else part
            used += len(part) + 2
        inside = "\n".join(lines)
    return f"{first}\n{inside}\n{' ' * indent}{last}"
