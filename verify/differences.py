"""`differences`: what an implementation says beside what its definition says of the same case, value by value."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from itertools import product
from types import NoneType
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.traffic import Traffic
from commbounds.verify.vectors.numbers import Record

Said = Mapping[str, Any]
"""What an implementation or a twin says: arrays, numbers, words, and lists, mappings and records of them, by name."""
_NUMBERS = frozenset({int, float, bool, Fraction, np.float64, np.float32, np.int64, np.bool_})
_WHOLE = _NUMBERS | {np.ndarray, str, NoneType}
"""Kinds without parts: most values are of one, and what else they may be is not asked then."""
_NEAR = {"near", "allowance", "dtype"}


@dataclass(frozen=True, eq=False)
class Near:
    """Values that a twin knows up to rounding.

    Parameters
    ----------
    values : array or sequence of Fraction or float
        What the definition gives: an array of numbers with its shape and dtype, nested lists with their shape, a flat
        list by its entries alone.
    allowance : array or float
        By how much each may be missed: derived from the number of operations and the dtype, never by hand.
    dtype : str
        Of the array that is found, where that is part of the definition.

    Notes
    -----
    A twin, which imports nothing of ours, says ``{"near": values, "allowance": allowance}``, and ``"dtype"``.
    """

    values: Any
    allowance: Any
    dtype: str = ""


def differences(found: Said, said: Said, unsaid: Sequence[tuple[str, str]] = ()) -> list[str]:
    """Where what an implementation found is not what its definition says, one line a value.

    Parameters
    ----------
    found : mapping
        What the implementation returns, by name; records and lists are gone through.
    said : mapping
        What the definition says. A name may be a path, ``steps.0.state.memory``. An array is compared with its dtype
        and bits (any NaN is as good as another), a list of numbers by value and sign, Fractions exactly, `Near` within
        its allowance, all else for equality.
    unsaid : sequence of (pattern, reason)
        Paths, shell style, of which the definition says nothing.

    Returns
    -------
    list of str
        Empty where both agree. What only one of them says is a difference.
    """
    return list(_differing(found, _nested(said), unsaid))


def _nested(said: Said) -> dict[str, Any]:
    """Paths as mappings within mappings."""
    whole: dict[str, Any] = {}
    for path, value in said.items():
        *before, last = str(path).split(".")
        at = whole
        for name in before:
            at = at.setdefault(name, {})
        at[last] = value
    return whole


def plain(value: Any) -> Any:
    """A value as a twin gets it, and as a reader of a test vector does: records are mappings, tuples lists.

    Parameters
    ----------
    value : Any
        A dataclass becomes a mapping of its fields, with its class's name under "record"; an array a copy; a number of
        NumPy's types one of Python's.
    """
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Traffic):
        return value.as_dict()
    if is_dataclass(value) and not isinstance(value, type):
        held = {entry.name: plain(getattr(value, entry.name)) for entry in fields(value) if entry.init}
        return {"record": type(value).__name__, **held}
    return value


def identical(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same in all bits, as far as a quick look tells: if not, they may be all the same."""
    kind = type(ours)
    if kind is not type(theirs):
        return False
    if kind is np.ndarray:
        return not _other_form(ours, theirs) and ours.dtype.kind != "O" and ours.tobytes() == theirs.tobytes()
    if kind is dict:
        return ours.keys() == theirs.keys() and all(identical(value, theirs[name]) for name, value in ours.items())
    if kind is list:
        if {*map(type, ours), *map(type, theirs)} == {int}:
            return bool(ours == theirs)
        return len(ours) == len(theirs) and all(map(identical, ours, theirs))
    return ours is theirs or (kind in _WHOLE and bool(ours == theirs) and repr(ours) == repr(theirs))


def _differing(found: Any, said: Any, unsaid: Sequence[tuple[str, str]], path: str = "") -> Iterator[str]:
    if type(said) is dict and "near" in said and "allowance" in said and said.keys() <= _NEAR:
        said = Near(said["near"], said["allowance"], said.get("dtype", ""))
    ours, theirs = parts_of(found), parts_of(said)
    if ours is None or theirs is None:
        unlike = _unlike(found, said)
        if unlike:
            yield f"{path}: {unlike}"
        return
    if isinstance(found, Traffic) and list(ours.get("phases", ())) != list(theirs.get("phases", ())):
        yield f"{path}.phases: {', '.join(ours.get('phases', ()))}, by definition {', '.join(theirs.get('phases', ()))}"
        return
    for name in {**ours, **theirs}:
        if name in ours and name in theirs and identical(ours[name], theirs[name]):
            continue
        inner = f"{path}.{name}" if path else name
        if any(fnmatchcase(inner, pattern) for pattern, _ in unsaid):
            continue
        if name not in theirs:
            yield f"{inner}: the definition says nothing of it"
        elif name not in ours:
            yield f"{inner}: the implementation says nothing of it"
        else:
            yield from _differing(ours[name], theirs[name], unsaid, inner)


def parts_of(value: Any) -> dict[str, Any] | None:
    """The named parts of a record, or of a list of more than numbers; None of what is compared as a whole."""
    if type(value) in _WHOLE:
        return None
    if isinstance(value, list | tuple):
        numbers = _are_numbers(value) or not any(map(_is_whole, value))
        return None if numbers else {str(place): entry for place, entry in enumerate(value)}
    if isinstance(value, Traffic):
        return value.as_dict()
    if isinstance(value, Record):
        return dict(value.fields)
    if isinstance(value, Mapping):
        return {str(name): entry for name, entry in value.items() if name != "record"}
    if not is_dataclass(value) or isinstance(value, Near | type):
        return None
    return {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}


def _are_numbers(values: Sequence[Any]) -> bool:
    return _NUMBERS.issuperset(map(type, values))


def arrays_of(value: Any) -> Iterator[Array]:
    """The arrays in a value, in its records and in its lists."""
    if isinstance(value, np.ndarray):
        yield value
    elif not isinstance(value, Traffic):
        within = value if isinstance(value, list | tuple) else [*(parts_of(value) or {}).values()]
        for entry in () if _are_numbers(within) else within:
            if type(entry) not in _NUMBERS:
                yield from arrays_of(entry)


def returned_memory(found: Any, inputs: Mapping[str, Any]) -> Iterator[str]:
    """Arrays among the inputs, alone or listed, in whose memory something is returned.

    A state, which is a record, may go on in the next one.
    """
    returned = [*arrays_of(found)]
    for name, value in inputs.items():
        given = [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, np.ndarray)]
        if any(np.may_share_memory(*pair) for pair in product(returned, given)):
            yield name


def _is_whole(entry: Any) -> bool:
    if type(entry) in _NUMBERS:
        return False
    return entry is None or isinstance(entry, Mapping | np.ndarray | Near | list | tuple | str) or is_dataclass(entry)


def _unlike(found: Any, said: Any) -> str:
    """How a value differs from what is said of it; empty where it does not."""
    if found is None or said is None or isinstance(said, str | bool | np.bool_):
        return "" if type(found) is type(said) and found == said else f"{found!r}, by definition {said!r}"
    if isinstance(said, Near):
        return _apart(found, said)
    if isinstance(said, np.ndarray):
        return other_bits(found, said)
    return _other_values(found, said)


def _apart(found: Any, said: Near) -> str:
    if isinstance(said.values, np.ndarray) and said.values.dtype.kind != "O":
        unlike = _other_form(np.asarray(found), said.values)
        if unlike:
            return unlike
    elif np.ndim(said.values) > 1 and np.shape(found) != np.shape(said.values):
        return f"values of shape {np.shape(found)}, by definition {np.shape(said.values)}"
    values = np.ravel(said.values).tolist()
    given = np.ravel(found)
    if given.size != len(values):
        return f"{given.size} values, by definition {len(values)}"
    if said.dtype and given.dtype != said.dtype:
        return f"{given.dtype}, by definition {said.dtype}"
    room = np.broadcast_to(np.ravel(np.asarray(said.allowance, dtype=object)), given.shape)
    for place, (value, expected, allowance) in enumerate(zip(given.tolist(), values, room.tolist(), strict=True)):
        if value == expected and math.isfinite(value):
            continue
        expected = expected if isinstance(expected, Fraction) else float(expected)
        if not math.isfinite(value) or _is_farther(value, expected, allowance):
            return f"entry {place} is {value!r}, by definition {float(expected)!r} within {float(allowance):.3g}"
    return ""


def _is_farther(a: Any, b: Any, distance: Any) -> bool:
    """Whether two numbers differ by more than that, in whole numbers."""
    (p, q), (r, s), (over, under) = (number.as_integer_ratio() for number in (a, b, distance))
    return bool(abs(p * s - r * q) * under > over * q * s)


def _other_form(ours: Array, said: Array) -> str:
    if (ours.dtype, ours.shape) == (said.dtype, said.shape):
        return ""
    return f"{ours.dtype} of shape {ours.shape}, by definition {said.dtype} of shape {said.shape}"


def other_bits(found: Any, said: Array) -> str:
    """How an array differs from what is said of it, in dtype, shape or bits; empty where it does not."""
    ours = np.asarray(found)
    unlike_form = _other_form(ours, said)
    if unlike_form:
        return unlike_form
    if said.dtype.kind == "O":
        return "" if ours.tolist() == said.tolist() else f"{ours.tolist()}, by definition {said.tolist()}"
    if ours.tobytes() == said.tobytes():
        return ""
    word = f"V{said.dtype.itemsize}"
    a, b = np.ascontiguousarray(ours).ravel(), np.ascontiguousarray(said).ravel()
    unlike = a.view(word) != b.view(word)
    if said.dtype.kind not in "iub":
        unlike &= ~(np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64)))
    places = np.flatnonzero(unlike)
    if not places.size:
        return ""
    at = int(places[0])
    return f"{places.size} of {a.size} entries differ, entry {at} is {a[at]!r}, by definition {b[at]!r}"


def _other_values(found: Any, said: Any) -> str:
    """Numbers and lists of numbers: by value, and by sign where they are zero."""
    if isinstance(found, np.ndarray) and isinstance(said, list | tuple) and said and np.shape(said) != found.shape:
        return f"an array of shape {found.shape}, by definition {np.shape(said)}"
    ours, theirs = _numbers(found), _numbers(said)
    if {*map(type, ours), *map(type, theirs)} == {float} and np.array(ours).tobytes() == np.array(theirs).tobytes():
        return ""
    if len(ours) != len(theirs):
        return f"{len(ours)} values, by definition {len(theirs)}"
    for place, (value, expected) in enumerate(zip(ours, theirs, strict=True)):
        if not _same_number(value, expected):
            return f"value {place} is {value!r}, by definition {expected!r}"
    return ""


def _numbers(values: Any) -> list[Any]:
    """The entries of nested lists, or of an array, in their order."""
    if isinstance(values, np.ndarray):
        return list(values.ravel().tolist())
    if isinstance(values, list | tuple):
        return list(values) if _are_numbers(values) else [number for entry in values for number in _numbers(entry)]
    return [values]


def _same_number(value: Any, expected: Any) -> bool:
    if isinstance(expected, float | np.floating) and isinstance(value, float):
        if np.isnan(expected):
            return bool(np.isnan(value))
        return bool(value == float(expected) and np.signbit(value) == np.signbit(expected))
    if isinstance(value, float) and not np.isfinite(value):
        return False
    return bool(value == expected) if not isinstance(value, float) else Fraction(value) == Fraction(expected)
