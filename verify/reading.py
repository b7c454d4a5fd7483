"""Records as JSON, and read back from it, every field checked against its declared type."""

import json
import math
import types
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers of which JSON has none, by their texts."""


def line_of(value: Any, non_finite: Callable[[float], Any]) -> str:
    """One line of JSON, whose objects have their keys in order.

    Parameters
    ----------
    value : object
        A dataclass, or a mapping, a list, a tuple of such values, a text, a number, a truth value or None.
    non_finite : callable (float) -> object
        What is written in place of an infinity or NaN, so that any JSON reader takes it.

    Raises
    ------
    ValueError
        `non_finite` gives an infinity or NaN.
    """
    return json.dumps(_plain(value, non_finite), sort_keys=True, allow_nan=False)


def _plain(value: Any, non_finite: Callable[[float], Any]) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else non_finite(value)
    if isinstance(value, list | tuple):
        return [_plain(one, non_finite) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one, non_finite) for key, one in value.items()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), non_finite) for field in fields(value)}
    return value


def parsed(line: str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    ValueError
        It is none, or nested too deeply to be one of ours.
    """
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def record(kind: type[T], value: Any, number: Callable[[Any], Any] = lambda value: value) -> T:
    """An instance of the dataclass `kind` from what `dataclasses.asdict` and JSON made of one.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are str, int, float, bool, enumerations, dataclasses, and optional values, lists,
        tuples and dictionaries of these. Any is taken as it comes.
    value : object
        As `parsed` gives it.
    number : callable (value) -> value
        What a float was written as, turned back into it: JSON has no infinities and no NaN.

    Returns
    -------
    instance of kind
        Fields that are not there have their defaults.

    Raises
    ------
    ValueError
        A field is missing, unknown, or not of its type; the message names it.
    """
    made: T = _record(kind, value, number, "")
    return made


@cache
def _types(kind: type) -> dict[str, tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    return {f.name: (f, hints[f.name]) for f in fields(kind)}


def _record(kind: Any, value: Any, number: Callable[[Any], Any], where: str) -> Any:
    if not isinstance(value, dict):
        raise _not(where, "an object", value)
    known = _types(kind)
    for name in value:
        if name not in known:
            raise ValueError(f"{where}{name!r:.80} is no field of a {kind.__name__}")
    given = {}
    for name, (field, hint) in known.items():
        if name in value:
            given[name] = _read(hint, value[name], number, f"{where}{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{where}{name} is missing")
    return kind(**given)


def _read(hint: Any, value: Any, number: Callable[[Any], Any], where: str) -> Any:
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return _any(value, number)
    if origin in (Union, types.UnionType):
        (some,) = (one for one in inside if one is not type(None))
        return None if value is None else _read(some, value, number, where)
    if origin in (list, tuple):
        if not isinstance(value, list):
            raise _not(where, "a list", value)
        return origin(_read(inside[0], entry, number, f"{where}[{i}]") for i, entry in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise _not(where, "an object", value)
        return {key: _read(inside[1], entry, number, f"{where}[{key!r}]") for key, entry in value.items()}
    if is_dataclass(hint):
        return _record(hint, value, number, f"{where}.")
    if issubclass(hint, Enum):
        if value not in [member.value for member in hint]:
            raise _not(where, f"one of {', '.join(str(member.value) for member in hint)}", value)
        return hint(value)
    if hint is float:
        value = number(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _not(where, "a number", value)
        return value
    if type(value) is not hint:
        raise _not(where, {int: "an integer", bool: "true or false", str: "a text"}[hint], value)
    return value


def _any(value: Any, number: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_any(entry, number) for entry in value]
    return number(value)


def _not(where: str, what: str, value: Any) -> ValueError:
    shown = repr(value)
    return ValueError(f"{where or 'it'} must be {what}, got {shown if len(shown) <= 80 else shown[:80] + '...'}")
