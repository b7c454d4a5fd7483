"""What one rank does in a call: the program's answer, checked there, and what else the call changed there."""

import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance import generators
from commbounds.verify.conformance.bench import Unusable, usable
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.subject import AllReduceResult

Act = Callable[[Any, Array, int], Any]
"""Called with this rank's communicator, its row and the seed; returns what `own_outcome` takes."""


class OwnAnswer(NamedTuple):
    """What a rank tells of a call.

    Parameters
    ----------
    outcome : AllReduceResult or None
        Of this rank alone: its array, its counts as integers, its residual; None if there is none.
    error : str
        Why there is none.
    unusable : bool
        Whether that is because of the array that was returned.
    row : array or None
        What became of the rank's row, if the call changed it.
    earlier : array or None
        What became of the array that the rank answered the call before with, if it changed.
    touched : tuple of str
        Global generators that were used.
    """

    outcome: AllReduceResult | None = None
    error: str = ""
    unusable: bool = False
    row: Array | None = None
    earlier: Array | None = None
    touched: tuple[str, ...] = ()


def own_outcome(answer: Any, x: Array) -> AllReduceResult:
    """One rank's answer as an `AllReduceResult`: an array, (array, words sent, words received), or what looks like one.

    Raises
    ------
    Unusable
        It holds no array of the shape and dtype of `x`, or a residual of another shape.
    Unanswered
        A count is no integer.
    """
    if not hasattr(answer, "result"):  # records of a program's own that look like an AllReduceResult will do
        answer = AllReduceResult.of(answer)
    counts: list[int | None] = []
    for name in ("sent", "received"):
        words = getattr(answer, name, None)
        if words is not None:
            if np.ndim(words) != 0 or np.asarray(words).dtype.kind not in "iu":
                raise Unanswered(f"{name} must be an integer on every rank, got {words!r}")
            words = int(words)
        counts.append(words)
    residual = getattr(answer, "residual", None)
    if residual is not None and np.shape(residual) != x.shape:
        raise Unusable(f"returned a residual of shape {np.shape(residual)} for {x.shape}")
    kept = None if residual is None else np.asarray(residual)
    return AllReduceResult(usable(answer.result, x), counts[0], counts[1], kept)


class Actor:
    """A program as one rank carries it out.

    Parameters
    ----------
    act : callable (communicator, row, seed)
        What is called.
    """

    def __init__(self, act: Act) -> None:
        self._act = act
        self._last: tuple[Array, bytes] | None = None

    def answer(self, wire: Any, x: Array, seed: int, watch: int) -> OwnAnswer:
        """What this rank tells of a call with `x`.

        Parameters
        ----------
        wire : communicator
            Handed to the program.
        x : array
            This rank's row, which the program may change.
        seed : int
            Handed to the program.
        watch : int
            If not 0, the global generators are put in the state of that number for the call, and watched.
        """
        before, kept, seen = x.tobytes(), generators.states() if watch else None, dict[str, str]()
        if watch:
            generators.put(watch)
            seen = generators.fingerprints(generators.states())
        own = self._called(wire, x, seed)
        if kept is not None:
            after = generators.fingerprints(generators.states())
            own = own._replace(touched=tuple(sorted(name for name in seen if seen[name] != after.get(name))))
            generators.restored(kept)
        if x.tobytes() != before:
            own = own._replace(row=x)
        if self._last is not None and self._last[0].tobytes() != self._last[1]:
            own = own._replace(earlier=self._last[0])
        self._last = None if own.outcome is None else (own.outcome.result, own.outcome.result.tobytes())
        return own

    def _called(self, wire: Any, x: Array, seed: int) -> OwnAnswer:
        try:
            # what a program prints must not get into the report
            with warnings.catch_warnings(), np.errstate(all="ignore"), redirect_stdout(sys.stderr):
                warnings.simplefilter("ignore")  # what a subject warns of is its own affair
                return OwnAnswer(own_outcome(self._act(wire, x, seed), x))
        except Unusable as error:
            return OwnAnswer(error=str(error), unusable=True)
        except Unanswered as error:
            return OwnAnswer(error=str(error))
        except SystemExit as error:
            return OwnAnswer(error=f"called sys.exit({error.code!r})")
        except Exception as error:
            return OwnAnswer(error=f"raised {type(error).__name__}: {error}")


def doing() -> str:
    """Where the main thread is in somebody's program: file and line; empty if in none.

    The place is the innermost one in the file of the program itself, not in what it calls.
    """
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    inner: list[FrameType] = []
    while frame is not None and frame.f_code is not Actor._called.__code__:
        inner.append(frame)
        frame = frame.f_back
    if frame is None:
        return ""
    foreign = [f for f in inner if not str(f.f_globals.get("__name__", "")).startswith(("commbounds.", "contextlib"))]
    if not foreign:
        return ""
    file = foreign[-1].f_code.co_filename
    place = next(f for f in foreign if f.f_code.co_filename == file)
    return f"{Path(file).name}, line {place.f_lineno}"
