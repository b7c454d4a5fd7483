"""Calls with one hostile argument: what may come of them, and the calls of every public face that they spoil."""

import contextlib
import inspect
import re
import resource
import signal
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numba import get_num_threads

get_num_threads()  # starts them, whose stacks are as many as there are processors, before memory is limited
SECONDS = 1.0
"""Processor time that a call may take, once what it runs is compiled."""
MEMORY = 1 << 30
"""Bytes that the process may grow by."""
_ENDS = 20.0
"""Processor time after which a call is broken off, compilation and all."""


class Anything:
    """An object that nothing is known of."""

    def __repr__(self):
        return "Anything()"


SCALARS = {
    "None": lambda: None,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "2**64": lambda: 2**64,
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "0": lambda: 0,
    "-3": lambda: -3,
    "-0.5": lambda: -0.5,
    "1.5": lambda: 1.5,
    "Fraction": lambda: Fraction(1, 3),
    "True": lambda: True,
    "complex": lambda: 1 + 2j,
    "'x'": lambda: "x",
    "''": lambda: "",
    "bytes": lambda: b"x",
    "int64": lambda: np.int64(4),
    "uint8": lambda: np.uint8(2),
    "float16": lambda: np.float16(0.5),
    "numpy bool": lambda: np.bool_(True),
    "numpy NaN": lambda: np.float64("nan"),
    "0-d": lambda: np.array(2.0),
    "0-d of int": lambda: np.array(2),
    "list": lambda: [1, 2],
    "empty list": lambda: [],
    "tuple": lambda: (1.0,),
    "dict": lambda: {"x": 1},
    "set": lambda: {1, 2},
    "object": Anything,
    "type": lambda: int,
    "function": lambda: len,
    "array": lambda: np.array([1.0, 2.0]),
    "array of int": lambda: np.array([[1, 2], [3, 4]]),
    "array of strings": lambda: np.array(["a", "b"]),
    "array of objects": lambda: np.array([None, "x"], object),
    "empty array": lambda: np.array([]),
}
"""Kind -> a maker of the value, whatever is asked for."""


def arrays_like(good):
    """Kind -> an array that is nearly `good`."""
    kinds = {
        "complex": good.astype(complex) + 1j,
        "strings": good.astype(str),
        "objects": good.astype(object),
        "nested lists": good.tolist(),
        "masked": np.ma.masked_array(good, np.arange(good.size).reshape(good.shape) % 2 == 0),
        "one axis more": good[None],
        "one axis less": good.sum(0) if good.ndim else good,
        "one row more": np.concatenate([good, good[:1]]) if good.ndim else good,
        "one column more": np.concatenate([good, good[..., :1]], -1) if good.ndim else good,
        "no row": good[:0] if good.ndim else good,
        "no column": good[..., :0] if good.ndim else good,
        "float16": good.astype(np.float16),
        "long double": good.astype(np.longdouble),
        "int8": good.astype(np.int8),
        "uint64": good.astype(np.uint64),
        "bool": good.astype(bool),
        "dates": good.astype(np.int64).astype("datetime64[s]"),
        "other bytes": good.astype(good.dtype.newbyteorder()),
        "record": np.zeros(good.shape, [("a", "f4"), ("b", "i4")]),
    }
    if good.dtype.kind == "f":
        for name, value in (("NaN", np.nan), ("inf", np.inf), ("-inf", -np.inf), ("largest", np.finfo(good.dtype).max)):
            kinds[f"one {name}"] = np.concatenate([[value], good.ravel()[1:]]).astype(good.dtype).reshape(good.shape)
        kinds["all largest"] = np.full_like(good, np.finfo(good.dtype).max)
        kinds["all least"] = np.full_like(good, np.finfo(good.dtype).smallest_subnormal)
    if good.dtype.kind in "iu":
        kinds["one negative"] = np.concatenate([[-1], good.ravel()[1:]]).astype(np.int64).reshape(good.shape)
        kinds["all huge"] = np.full(good.shape, 2**62)
        kinds["all alike"] = np.zeros_like(good)
    return {f"{name}, shaped": (lambda value=value: value) for name, value in kinds.items()}


def same_arrays(good):
    """Kind -> another array of the same values, for which the answer is the same."""
    frozen = good.copy()
    frozen.flags.writeable = False
    spread = np.repeat(good, 2, axis=-1)[..., ::2]
    return {"read-only": frozen, "not contiguous": spread, "in Fortran's order": np.asfortranarray(good)}


@dataclass(frozen=True)
class HostileFace:
    """A callable, a good call of it, and what is special about its parameters.

    Parameters
    ----------
    name : str
        How it is called in reports.
    call : callable
        Called by keyword.
    good : callable () -> dict
        Arguments of a right call, made anew.
    infinite : str
        Where it is documented that finite input may give a result that is not finite.
    any_value : mapping of str to str
        Parameters that take any value, with the reason.
    """

    name: str
    call: Any
    good: Any
    infinite: str = ""
    any_value: Mapping[str, str] = None
    also: tuple[str, ...] = ()
    """What errors may call an argument beside its name: what is done with it knows it by another."""

    @property
    def parameters(self):
        """Names of the parameters of the good call and of all the others."""
        named = inspect.signature(self.call).parameters.values()
        return [p.name for p in named if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]

    def cases(self):
        """Pairs of a parameter and a kind of value."""
        good = self.good()
        for parameter in self.parameters:
            if parameter in (self.any_value or {}):
                continue
            for kind in SCALARS:
                if not (callable(good.get(parameter)) and kind in ("type", "function")):  # a callable's own affair
                    yield parameter, kind
            if isinstance(good.get(parameter), np.ndarray):
                for kind in arrays_like(good[parameter]):
                    yield parameter, kind

    def value(self, parameter, kind):
        """The value of this kind for the parameter."""
        return SCALARS[kind]() if kind in SCALARS else arrays_like(self.good()[parameter])[kind]()


@contextlib.contextmanager
def _bounded():
    """At most `MEMORY` more, and an exception after `_ENDS` seconds of processor time."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)

    def broken_off(*_):
        raise TimeoutError(f"more than {_ENDS:g} s of processor time")

    before = signal.signal(signal.SIGPROF, broken_off)
    signal.setitimer(signal.ITIMER_PROF, _ENDS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def unclear(parameters, error):
    """Why an error does not say what is wrong: '' where it names a parameter, the rule and the value.

    Where two arguments do not fit each other, either may be named.
    """
    text = str(error)
    if not isinstance(error, TypeError | ValueError) or isinstance(error, UnicodeError):
        return f"{type(error).__name__}: {text[:200]}"
    if not re.search(rf"(?<![\w.])(?:{'|'.join(map(re.escape, parameters))})s?(?!\w)", text):
        return f"names no parameter: {type(error).__name__}: {text[:200]}"
    if not re.search(r"\bmust\b|\bcannot\b|\bneed(s|ed)?\b", text):
        return f"states no rule: {type(error).__name__}: {text[:200]}"
    if not re.search(r"\bgot\b|\bnot\b", text):
        return f"does not say what it got: {type(error).__name__}: {text[:200]}"
    if len(text) > 1000:
        return f"{len(text)} characters: {text[:80]}"
    return ""


def _numbers(value, depth=0):
    """All float arrays and floats inside a result."""
    if depth > 4:
        return
    if isinstance(value, np.ndarray | np.generic | float):
        if np.asarray(value).dtype.kind == "f":
            yield np.asarray(value)
        elif np.asarray(value).dtype.kind == "c":
            yield np.asarray(np.nan)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _numbers(part, depth + 1)
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            yield from _numbers(getattr(value, entry.name), depth + 1)


_ANNOTATED = {
    "int": lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool | np.bool_),
    "str": lambda v: isinstance(v, str),
    "float": lambda v: isinstance(v, int | float | Fraction | np.integer | np.floating) and not isinstance(v, bool),
}


def of_another_type(call, parameter, value):
    """What the annotation says of a value that it does not admit; '' where it admits it, or is more than one word."""
    annotation = inspect.signature(call).parameters[parameter].annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if name.endswith(" | None"):
        if value is None:
            return ""
        name = name.removesuffix(" | None")
    return "" if name not in _ANNOTATED or _ANNOTATED[name](value) else name


def outcome(face, parameter, kind):
    """What is wrong with the answer to a hostile call; '' where nothing is."""
    arguments, value = face.good(), face.value(parameter, kind)
    arguments[parameter] = value
    began = time.process_time()
    result = None
    try:
        with warnings.catch_warnings(), _bounded(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            result = face.call(**arguments)
    except Exception as error:
        why = unclear([*face.parameters, *face.also], error)
    else:
        other = of_another_type(face.call, parameter, value)
        if other or kind == "masked, shaped":
            why = f"taken for {other or 'an array without masks'}"
        elif not face.infinite and not all(np.isfinite(part).all() for part in _numbers(result)):
            why = "a result that is not finite"
        else:
            why = ""
    took = time.process_time() - began
    return why or (f"took {took:.1f} s" if took > SECONDS else "")


def complaints(face, cases):
    """What is wrong with the answers to these calls of a face, as lines; what takes long is run twice."""
    lines = []
    for parameter, kind in cases:
        why = outcome(face, parameter, kind)
        if why.startswith("took "):  # what was compiled then is compiled now
            why = outcome(face, parameter, kind)
        if why:
            lines.append(f"{face.name}({parameter}={kind}): {why}")
    return lines
