"""What every compressor is: `Compressor`, `Message`, and the checks on their input."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import wraps
from numbers import Real
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from commbounds._notebook import Cell, NotebookTable
from commbounds.array_types import Array

Q = ParamSpec("Q")
R = TypeVar("R")
Exact = Any
"""A Fraction, or an exact sympy number where the value is irrational."""
Law = list[tuple[Exact, tuple[Exact, ...]]]
"""An exact distribution: (probability, output) pairs; outputs distinct, probabilities positive and summing to 1."""

MAX_ENTRIES = 2**31 - 1
_SHORT = 1 << 16
"""Entries that are copied sooner than a kernel is compiled once more."""
_FEW = 1 << 10
"""Truth values that are looked at sooner as bytes than by numpy."""
_REALS: Any = Real
_SHOWN = 200
"""Characters of a value that an error shows at most."""
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_OWN = object()
"""The mark of messages that were made here; a pickle cannot hold it."""


@dataclass(frozen=True, eq=False)
class Message:
    """What one worker sends: base of every message. Compares by identity, as arrays inside have no single equality.

    Parameters
    ----------
    shape : tuple of int
        Shape of the compressed array.
    dtype : numpy.dtype
        Its dtype, float32 or float64.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    @abstractmethod
    def bits(self) -> int:
        """Exact size on the wire, in bits; what both sides know beforehand (hyper-parameters, shape) is not sent."""

    @property
    def parts(self) -> dict[str, Any]:
        """What it consists of, by name: arrays and numbers, all fields but shape and dtype."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("shape", "dtype")}

    def check(self) -> None:
        """See that the parts fit the shape, one another and their ranges, before a kernel trusts them.

        Raises
        ------
        TypeError
            A part is of another kind or dtype.
        ValueError
            A part is missing, has another shape, or entries out of its range.
        """
        if missing := [name for name in self.__dataclass_fields__ if not hasattr(self, name)]:  # as in altered pickles
            raise ValueError(f"a message must have all parts of {type(self).__name__}, not all but {missing}")
        if not isinstance(self.dtype, np.dtype) or self.dtype not in FLOATS:
            raise TypeError(f"dtype of a message must be float32 or float64, got {shown(self.dtype)}")
        whole = type(self.shape) is tuple and all(type(size) is int for size in self.shape)
        if not whole or len(self.shape) not in (1, 2):
            raise TypeError(f"shape of a message must be one or two integers, got {shown(self.shape)}")
        if min(self.shape) < 1 or math.prod(self.shape) > MAX_ENTRIES:
            raise ValueError(f"a message must be of 1 to 2^31 - 1 entries, got the shape {shown(self.shape)}")


@dataclass(frozen=True)
class Compressor(NotebookTable, ABC):
    """A gradient compressor: a frozen record of its hyper-parameters.

    Attributes
    ----------
    randomised : bool
        Whether `compress` needs a Generator.
    ndim : int
        1 for compressors of vectors, 2 for compressors of matrices.
    claims : tuple of str
        Names of its column's claims about it that hold.
    """

    randomised: ClassVar[bool] = False
    ndim: ClassVar[int] = 1
    claims: ClassVar[tuple[str, ...]] = ()

    def _heading(self) -> str:
        return type(self).__name__

    def _rows(self) -> list[tuple[Cell, ...]]:
        parameters: list[tuple[Cell, ...]] = [(f.name, shown(getattr(self, f.name))) for f in fields(self)]
        taken = "a vector" if self.ndim == 1 else "a matrix"
        random = "needs a Generator" if self.randomised else "none"
        return [*parameters, ("compresses", taken), ("randomness", random), *(("claim", name) for name in self.claims)]

    @abstractmethod
    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Any:
        """The message for `x`.

        Parameters
        ----------
        x : (n,) or (m, n) float32 or float64
            Finite, not empty; at most 2^31 - 1 entries. Neither mutated nor kept.
        rng : numpy.random.Generator
            Required by randomised compressors, ignored by the others.

        Raises
        ------
        TypeError
            `x` has another dtype, or a randomised compressor got no Generator.
        ValueError
            `x` is empty, not finite, or has the wrong number of dimensions.
        """

    @abstractmethod
    def decompress(self, message: Any) -> Array:
        """The array that `message` stands for, with the shape and dtype of the compressed one."""

    @abstractmethod
    def law(self, x: Any) -> Law:
        """The exact distribution of the output for a small rational input: the kernels' slow, obviously right twin.

        Parameters
        ----------
        x : sequence of int, Fraction or float (sequence of rows for matrices)
            Floats are taken at their exact binary value. The number of outcomes can grow like 2^n.

        Returns
        -------
        list of (probability, output)
            Outputs are flat tuples, in row order for matrices.
        """

    def __call__(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Array:
        """`x` compressed and decompressed."""
        return self.decompress(own(self.compress(x, rng)))


def shown(value: Any) -> str:
    """A value as errors show it: its repr, cut short."""
    try:
        text = repr(value)
    except ValueError:  # Python writes out no integers of more than 4300 digits
        text = f"{type(value).__name__} of many digits"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def as_array(value: Any, name: str = "x") -> Array:
    """`value` as an array, which it is itself where it can be.

    Raises
    ------
    TypeError
        Entries are masked, or nested sequences have different lengths.
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(f"{name} must have no masked entries, got a masked array: fill them first, with .filled()")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be an array of numbers, got {shown(value)}") from None


def as_numbers(value: Any, name: str, dtype: DTypeLike | None = None, kinds: str = "fiu") -> Array:
    """`value` as an array of real numbers, of `dtype` if it is given.

    Parameters
    ----------
    value : array_like
        The candidate.
    name : str
        What errors call it.
    dtype : dtype or None
        Of the result.
    kinds : str
        Kinds of dtypes that are taken, as numpy abbreviates them: floats and integers by default.

    Raises
    ------
    TypeError
        It holds other things than numbers of these kinds; as `as_array` says.
    """
    array = as_array(value, name)
    if array.dtype.kind not in kinds and not (array.size == 0 and isinstance(value, list | tuple)):
        expected = "integers" if "f" not in kinds else "numbers"
        raise TypeError(f"{name} must be an array of {expected}, got {shown(value)} of {array.dtype}")
    if dtype is None or array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):  # what overflows is found where numbers have to be finite
        return array.astype(dtype)


def checked_array(x: ArrayLike, ndim: int = 1, *, finite: bool = True, name: str = "x") -> Array:
    """`x` as a C-contiguous native float array, refused where a compressor could not be right.

    Parameters
    ----------
    x : array_like
        The candidate.
    ndim : int
        Required number of dimensions.
    finite : bool
        Whether to look for NaN and infinities here; a kernel that finds them itself passes False.
    name : str
        What errors call it.

    Returns
    -------
    (n,) or (m, n) float32 or float64
        `x` itself where it already fits; of a short read-only array a copy, as kernels are compiled once more for
        arrays that are read-only.

    Raises
    ------
    TypeError
        Another dtype than float32 and float64, or masked entries.
    ValueError
        Wrong number of dimensions, no entry, too many, or a non-finite one.
    """
    array = as_array(x, name)
    native = array.dtype if array.dtype in FLOATS else array.dtype.newbyteorder("=")
    if native not in FLOATS:
        raise TypeError(
            f"{name} must be float32 or float64, got {array.dtype}: convert it first, "
            f"for example {name}.astype(np.float32)"
        )
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if array.size > MAX_ENTRIES:
        raise ValueError(f"{name} must have at most 2**31 - 1 entries, got {array.size}")
    array = np.ascontiguousarray(array, dtype=native)
    if finite and not is_finite(array):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return writable(array)


def is_finite(array: Array) -> bool:
    """Whether an array holds neither NaN nor an infinity."""
    finite = np.isfinite(array)
    return 0 not in finite.tobytes() if array.size <= _FEW else bool(finite.all())  # in a third of the time


def writable(array: Array) -> Array:
    """`array`, or a copy of it where it is read-only and short: kernels are compiled anew for read-only arrays."""
    return array if array.flags.writeable or array.size > _SHORT else array.copy()


def checked_rng(rng: np.random.Generator | None) -> np.random.Generator:
    """`rng` itself, or a TypeError that says what to pass."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator (np.random.default_rng(seed)), got {shown(rng)}")
    return rng


def checked_count(name: str, value: Any, low: int = 1, high: int | None = None) -> int:
    """`value` as an int in [low, high], or an error that names the rule."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be in [{low}, {'...' if high is None else high}], got {shown(value)}")
    return int(value)


def check_uniforms(name: str, uniforms: Array) -> None:
    """A ValueError where one of them is not in [0, 1): NaN is not."""
    inside = (uniforms >= 0) & (uniforms < 1)
    if not inside.all():
        raise ValueError(f"{name} must be in [0, 1), got {uniforms[~inside][0]}")


def python_number(value: Any) -> Any:
    """Python's number for one of NumPy's types, whose sums wrap around or lose digits; all else as it is.

    Examples
    --------
    >>> python_number(np.int8(100)) + 100, python_number("ring")
    (200, 'ring')
    """
    return value.item() if isinstance(value, np.number | np.bool_) else value


def of_python_numbers(function: Callable[Q, R]) -> Callable[Q, R]:
    """The function, given Python's numbers for NumPy's: np.int8(100) + 100 is -56, and what follows is wrong."""

    @wraps(function)
    def called(*args: Q.args, **settings: Q.kwargs) -> R:
        given = {name: python_number(value) for name, value in settings.items()}
        return function(*map(python_number, args), **given)

    return called


def hold_python_numbers(record: Any) -> None:
    """Put Python's numbers for NumPy's into the fields of a frozen dataclass."""
    for one in fields(record):
        object.__setattr__(record, one.name, python_number(getattr(record, one.name)))


def checked_real(name: str, value: Any) -> float:
    """`value` as a float, whatever its range: NaN and infinity too, which a range refuses.

    Raises
    ------
    TypeError
        It is no single real number.
    ValueError
        It is beyond all floats.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number within the range of floats, got {shown(value)}") from None


def checked_flag(name: str, value: Any) -> bool:
    """`value` as a bool; a TypeError for what is none, as nearly everything is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def checked_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """`value` itself, if it is one of the words in `choices`; else a TypeError, or a ValueError that lists them."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {shown(value)}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def checked_kind(name: str, value: Any, kind: type) -> None:
    """See that `value` is an object of the class `kind`: else a TypeError says what it is."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {shown(value)}")


def checked_message(message: Any, kind: type[Message], ndim: int = 1) -> None:
    """See that `message` is a `kind` of message of `ndim` dimensions, and, but for an `own` one, that its parts fit.

    Raises
    ------
    TypeError, ValueError
        As `Message.check` raises.
    """
    checked_kind("message", message, kind)
    if message.__dict__.get("_mark") is not _OWN:
        message.check()
    if len(message.shape) != ndim:
        raise ValueError(f"shape of the message must have {ndim} dimensions, got {message.shape}")


def own(message: Any) -> Any:
    """`message` itself, which is decompressed without a check: it was just made here, and nobody else can alter it."""
    if isinstance(message, Message):
        object.__setattr__(message, "_mark", _OWN)
    return message


def check_part(
    name: str, part: Any, shape: tuple[int, ...] | None, dtypes: Collection[DTypeLike], low: float = 0, high: float = 0
) -> None:
    """See that a part of a message is an array of this shape and one of these dtypes.

    Parameters
    ----------
    shape : tuple of int or None
        None for one dimension of any size.
    low, high : float
        The least and the largest entry allowed, where `low` is below `high`; floats must be finite.

    Raises
    ------
    TypeError
        It is no array, one of a subclass such as masked arrays, or of another dtype.
    ValueError
        It has another shape, or an entry out of range.
    """
    if type(part) is not np.ndarray or part.dtype not in dtypes:
        found = part.dtype if type(part) is np.ndarray else type(part).__name__
        raise TypeError(f"{name} of the message must be {' or '.join(np.dtype(d).name for d in dtypes)}, got {found}")
    if part.shape != (shape := (part.size,) if shape is None else shape):
        raise ValueError(f"{name} of the message must have the shape {shape}, got {part.shape}")
    if not part.size:
        return
    if part.dtype.kind == "f":
        if not is_finite(part):
            raise ValueError(f"{name} of the message must be finite")
    elif low < high:
        least, most = int(part.min()), int(part.max())
        if least < low or most > high:
            raise ValueError(f"{name} of the message must be in [{low}, {high}], got {least} to {most}")


def check_number(name: str, value: Any, dtype: np.dtype[Any]) -> None:
    """See that a part of a message is a float, and finite in this dtype: else a TypeError or a ValueError."""
    if type(value) not in (float, np.float32, np.float64):  # kernels take no others
        raise TypeError(f"{name} of the message must be a float, got {shown(value)}")
    held = value
    if type(value) is not dtype.type:
        with np.errstate(over="ignore"):
            held = dtype.type(value)
    if not math.isfinite(held):
        raise ValueError(f"{name} of the message must be finite in {dtype}, got {shown(value)}")


def zeros_for(message: Message) -> Array:
    """Zeros of the message's shape and dtype.

    Raises
    ------
    ValueError
        They do not fit in memory: a message of a few entries may speak of any length.
    """
    try:
        return np.zeros(message.shape, message.dtype)
    except MemoryError:
        raise ValueError(f"shape of the message must fit in memory, got {message.shape}") from None


def finite_reading(array: Array) -> Array:
    """What a message stands for, if all of it is finite: parts may be, and their product may not.

    Raises
    ------
    ValueError
        It is not.
    """
    if not is_finite(array):
        raise ValueError(f"the message must stand for finite numbers, not for what leaves the range of {array.dtype}")
    return array


def check_same(name: str, value: Any, expected: Any) -> None:
    """See that a part of a message is what the compressor would send: else a ValueError."""
    if type(value) is not type(expected) or value != expected:
        raise ValueError(f"{name} of the message must be {expected}, got {shown(value)}")


_MOST_BITS = 1 << 12
"""Of the terms of an exact number: floats have about half as many, and laws of longer ones would take hours."""


def checked_exact(x: Any, name: str = "x") -> tuple[Fraction, ...]:
    """`x` as Fractions: ints and Fractions as they are, floats at their exact binary value.

    Raises
    ------
    TypeError
        It is no sequence, or holds other things than real numbers.
    ValueError
        It is empty, or holds NaN, an infinity or a fraction of more than 4096 bits.
    """
    if isinstance(x, np.ndarray):
        as_array(x, name)
    if isinstance(x, str | bytes | Set | Mapping | type) or not hasattr(x, "__len__") or getattr(x, "ndim", 1) != 1:
        raise TypeError(f"{name} must be a sequence of numbers, got {shown(x)}")
    if not len(x):
        raise ValueError(f"{name} must not be empty, got {shown(x)}")
    return tuple(_exact(v, name) for v in x)


def _exact(value: Any, name: str) -> Fraction:
    # of numpy's numbers, those of other sizes than Python's have no exact value of their own
    number: Any = float(value) if isinstance(value, np.floating) else value
    if isinstance(value, np.integer | np.bool_):
        number = value.item()
    if isinstance(number, bool) or not isinstance(number, _REALS):
        raise TypeError(f"{name} must hold numbers, got {shown(value)}")
    try:
        exact = Fraction(number)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} must be finite, got {shown(value)}") from None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _MOST_BITS:
        raise ValueError(f"{name} must hold fractions of at most {_MOST_BITS} bits, got {shown(value)}")
    return exact


def index_bits(count: int) -> int:
    """Bits that tell one of `count` things apart: ceil(log2(count)), computed in integers; `count` >= 1."""
    return (count - 1).bit_length()


def merged_law(outcomes: Sequence[tuple[Exact, Any]]) -> list[tuple[Exact, Any]]:
    """`outcomes` with equal outputs merged and zero probabilities dropped, in order of first appearance."""
    merged: dict[Any, Exact] = {}
    for probability, output in outcomes:
        if probability != 0:
            merged[output] = merged.get(output, Fraction(0)) + probability
    return [(probability, output) for output, probability in merged.items()]


def product_law(marginals: Sequence[Sequence[tuple[Exact, Exact]]]) -> Law:
    """The law of independent entries, from the (probability, value) pairs of each; outcomes multiply."""
    law: list[tuple[Exact, tuple[Exact, ...]]] = [(Fraction(1), ())]
    if math.prod(len(m) for m in marginals) > 2**16:
        raise ValueError("the law has more than 2**16 outcomes: use a shorter x")
    for marginal in marginals:
        merged = merged_law(marginal)  # of distinct values, outputs are distinct
        law = [(p * q, (*output, value)) for p, output in law for q, value in merged]
    return law
