"""Calls of somebody else's code: with a time limit, and with every way of going wrong told apart."""

import contextlib
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
START_LIMIT = 50.0
"""Seconds that a subject may take to be loaded, or to answer ``hello``: imports, compilation."""


def first_limit(limit: float) -> float:
    """Seconds that a first call may take, which may have to compile: ten times as many, up to `START_LIMIT`.

    Examples
    --------
    >>> first_limit(2.0), first_limit(30.0), first_limit(100.0)
    (20.0, 50.0, 100.0)
    """
    return max(limit, min(10.0 * limit, START_LIMIT))


class Unanswered(Exception):
    """The subject did not give a usable answer: it raised, ran out of time, died, or returned something else."""


class TimedOut(Unanswered):
    """A call took longer than its limit."""


class Died(Unanswered):
    """The process that the subject ran in is gone."""


class Hopeless(Exception):
    """The subject hangs or dies so often that the rest of the run would only wait."""


class OutOfTime(Hopeless):
    """The claim has used up its seconds."""


class _Alarm(BaseException):
    """Raised by the timer inside the subject; no Exception, so that the subject does not swallow it."""


def called(function: Callable[..., T], *arguments: Any, limit: float, **options: Any) -> T:
    """What `function` returns.

    Parameters
    ----------
    function : callable
        The subject.
    limit : float
        Seconds; infinite for none.

    Raises
    ------
    TimedOut
        It took longer than `limit`. In the main thread a timer stops it; elsewhere it goes on in a thread of its own,
        and is left alone. Code that never returns to the interpreter cannot be stopped this way: run it in a process
        of its own, as ``commbounds check`` does.
    Unanswered
        It raised; the exception is the cause.
    """
    try:
        if limit == float("inf"):
            return function(*arguments, **options)
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
            return _timed(function, arguments, options, limit)
        return _watched(function, arguments, options, limit)
    except (Unanswered, Hopeless, KeyboardInterrupt):
        raise
    except _Alarm:
        raise TimedOut(f"no answer within {limit:g} s") from None
    except SystemExit as error:
        raise Unanswered(f"called sys.exit({error.code!r})") from error
    except Exception as error:
        raise Unanswered(f"raised {type(error).__name__}: {error}") from error


def raised_at(error: Unanswered) -> str:
    """Where the subject raised: its last three lines, the innermost first; empty where it was not entered.

    Examples
    --------
    >>> raised_at(Unanswered("no answer"))
    ''
    """
    traced = None if error.__cause__ is None else error.__cause__.__traceback__
    ours = Path(__file__).parent
    own = [frame for frame in traceback.extract_tb(traced) if Path(frame.filename).parent != ours]
    lines = [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in reversed(own[-3:])]
    return f"; {', called from '.join(lines)}" if lines else ""


def _ring(_number: int, _frame: Any) -> None:
    raise _Alarm


_ready = 0
"""How many `timer_ready` are open in the main thread."""


@contextlib.contextmanager
def timer_ready() -> Iterator[None]:
    """While it is open, calls need not put their alarm in place one by one: many short ones cost a third less."""
    global _ready
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    _ready += 1
    try:
        yield
    finally:
        _ready -= 1
        signal.signal(signal.SIGALRM, before)


def _timed(function: Callable[..., T], arguments: Any, options: Any, limit: float) -> T:
    if not _ready:
        with timer_ready():
            return _timed(function, arguments, options, limit)
    # again and again: an alarm that comes while a callback from compiled code runs is lost
    signal.setitimer(signal.ITIMER_REAL, limit, limit)
    try:
        return function(*arguments, **options)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _watched(function: Callable[..., T], arguments: Any, options: Any, limit: float) -> T:
    box: list[Any] = []

    def run() -> None:
        try:
            box.append((True, function(*arguments, **options)))
        except BaseException as error:
            box.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit)
    if not box:
        raise _Alarm
    good, value = box[0]
    if not good:
        raise value
    return value  # type: ignore[no-any-return]
