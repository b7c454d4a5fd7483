"""`SubjectClaim`: a promise of somebody's implementation, and how it is judged."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, fields
from numbers import Real
from typing import Any, ClassVar

from commbounds.compressors.base import shown
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict

Number = float | Callable[..., float]
"""A number, or a function that gives it: of n, of (m, n) for matrices, of the input, as the claim says."""


_LARGEST = sys.float_info.max


COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather")
"""Kinds of subjects that ranks are together."""


class NotHere(Exception):
    """A claim says nothing about this case, or nothing can be measured there."""


class NoBound(Exception):
    """A claim's number is none, or one that no bound of its kind can be: the claim cannot be judged, and fails."""


class SubjectClaim(ABC):
    """A promise. Subclasses are frozen dataclasses whose fields are its numbers.

    Attributes
    ----------
    about : tuple of str
        Kinds of subjects that can make it.
    universal : bool
        Whether every subject is held to it, and it can be waived.
    """

    about: ClassVar[tuple[str, ...]] = ()
    universal: ClassVar[bool] = False
    in_book: ClassVar[tuple[str, ...]] = ()
    """Claims of the book that say the same of compressors and collectives of ours: same quantity, same relation."""
    statistical: ClassVar[bool] = False
    """Whether a sequential test may judge it, which then gets its part of the report's false-alarm rate."""

    @abstractmethod
    def judge(self, bench: Any) -> CheckFinding:
        """The verdict on the subject of a `Bench`, which is no type here: it holds a subject, and that holds claims."""

    def unjudged(self, message: str, evidence: str = "") -> CheckFinding:
        """The finding that it could not be judged, and why."""
        return CheckFinding(str(self), CheckVerdict.NOT_JUDGED, evidence, message)

    def consistent(self, evidence: str, e_value: float, alpha: float, detects: float) -> CheckFinding:
        """The finding that draws do not refute it."""
        return CheckFinding(str(self), CheckVerdict.PASS, evidence, e_value=e_value, alpha=alpha, detects=detects)

    def __str__(self) -> str:
        shown = []
        for entry in fields(self):  # type: ignore[arg-type]
            value = getattr(self, entry.name)
            if entry.default is MISSING or repr(value) != repr(entry.default):  # arrays have no single equality
                shown.append(f"{entry.name}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__)).replace("<lambda>", "...")
    text = repr(value)
    return (
        text if len(text) <= 40 else f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else "..."
    )


class Sure(SubjectClaim):
    """A claim that holds on every single case, or not: judged by hostile inputs, search, and shrinking."""

    @abstractmethod
    def violation(self, bench: Any, case: CheckCase) -> str | None:
        """What is wrong at `case`, as numbers; None if nothing is.

        Raises
        ------
        NotHere
            The claim says nothing about this case.
        Unanswered
            The subject did not answer.
        """

    def judge(self, bench: Any) -> CheckFinding:
        found: CheckFinding = bench.searched(self)
        return found


def checked(name: str, value: Any, low: float = 0.0, high: float = math.inf) -> None:
    """See that a claim's number is a finite one in [low, high], or a function, which is looked at when it is asked.

    Raises
    ------
    TypeError
        It is neither a real number nor callable.
    ValueError
        It is not finite, or out of its range.
    """
    if callable(value):
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number or a function that gives one, got {shown(value)}")
    given: Any = value.item() if hasattr(value, "item") else value  # which compares with large floats
    if not (low <= given <= high and abs(given) <= _LARGEST):
        raise ValueError(f"{name} must be {_range(low, high)}, got {shown(value)}")


def number(name: str, value: Number, *arguments: Any, low: float = 0.0, high: float = math.inf) -> float:
    """`value`, or what it gives for `arguments`, as a float.

    Raises
    ------
    NoBound
        A function gave what `checked` refuses.
    """
    if not callable(value):
        return float(value)
    given = value(*arguments)
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise NoBound(f"{name} is {given!r} for {_listed(arguments)}, which is no number") from None
    if not (math.isfinite(found) and low <= found <= high):
        raise NoBound(f"{name} must be {_range(low, high)}, and is {found!r} for {_listed(arguments)}")
    return found


def _range(low: float, high: float) -> str:
    return f"finite and at least {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"


def _listed(arguments: tuple[Any, ...]) -> str:
    return ", ".join(f"{argument:g}" if isinstance(argument, Real) else repr(argument) for argument in arguments)
