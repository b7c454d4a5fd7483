"""How far a long command is: a bar on a terminal; on a pipe, a line on standard error every ten seconds."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from commbounds._terminal import console, plain

EVERY = 10.0
"""Seconds between two lines on a pipe."""
_SOON = 3.0
"""Seconds after which a first estimate is shown."""
_TRUSTED = 10.0
"""Seconds at the expected pace that are counted in, so that the first thing done does not decide the estimate."""
_COMPILING = "compiling kernels (first run only)"


class Estimate:
    """The time left, from the weights of what is done and of all there is.

    Until the last thing done, so much weight a second was worked off; what is left is worked off at that pace. Where a
    pace is expected, ten seconds at it are counted in.

    Parameters
    ----------
    weight : float
        Of everything.
    pace : float
        Weight that is expected to be worked off in a second; 0 where nothing is expected.
    """

    def __init__(self, weight: float, pace: float = 0.0) -> None:
        self.weight, self.done = weight, 0.0
        self._pace = pace
        self._at = 0.0

    def advance(self, weight: float, elapsed: float) -> None:
        """Count what was done by `elapsed` seconds after the start."""
        self.done += weight
        self._at = elapsed

    def left(self, elapsed: float) -> float | None:
        """Seconds from now, 0 where it may end at any moment; None while nothing is known."""
        trusted = _TRUSTED if self._pace else 0.0
        worked, lasted = self.done + trusted * self._pace, self._at + trusted
        if not worked or not lasted:
            return None
        return max(0.0, (self.weight - self.done) * lasted / worked - (elapsed - self._at))


class Progress:
    """What a command tells of how far it is; made by `progress`.

    Parameters
    ----------
    unit : str
        What is counted, in the plural.
    clock : callable
        Seconds.
    """

    def __init__(self, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._unit, self._clock, self._start = unit, clock, clock()
        self._lock = threading.Lock()
        self._estimate: Estimate | None = None
        self._compiles: Callable[[], bool] = lambda: False
        self._total, self._count, self._doing = 0, 0, "reading the book"
        self._live: Any = None

    def expect(self, total: int, weight: float | None = None, workers: int = 1) -> None:
        """Begin to count, now that it is known how much there is.

        Parameters
        ----------
        total : int
            How many; 0 where that is not known.
        weight : float or None
            What they take of one worker, in about seconds; None where nothing is known but their number.
        workers : int
            That share it; at least 1.
        """
        with self._lock:
            self._start = self._clock()
            self._total, self._count, self._doing = total, 0, ""
            estimate = Estimate(total) if weight is None else Estimate(weight, workers)
            self._estimate = estimate if total else None

    def watch(self, compiles: Callable[[], bool]) -> None:
        """Say that kernels are compiled whenever `compiles` says so."""
        self._compiles = compiles

    def doing(self, what: str) -> None:
        """Name what is being done."""
        with self._lock:
            self._doing = what

    def advance(self, name: str = "", count: int = 1, weight: float | None = None) -> None:
        """Count what is done."""
        with self._lock:
            self._count += count
            self._doing = name or self._doing
            if self._estimate is not None:
                self._estimate.advance(count if weight is None else weight, self._clock() - self._start)

    def say(self, text: str) -> None:
        """Print lines, styled by click, that stay: above the bar, or on standard error."""
        if self._live is None:
            click.echo(text, err=True)
            return
        from rich.text import Text

        self._live.console.print(Text.from_ansi(text), soft_wrap=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While it is open there is no bar, and everything may be printed."""
        if self._live is None:
            yield
            return
        self._live.stop()
        try:
            yield
        finally:
            self._live.start(refresh=True)

    def show(self, text: str) -> None:
        """Print lines, styled by click, on standard output."""
        if self._live is not None and sys.stdout.isatty():
            self.say(text)
        else:
            click.echo(text)
            sys.stdout.flush()  # who reads a pipe sees it now

    @property
    def share(self) -> float:
        """Of everything that is done, from 0 to 1."""
        return 0.0 if not self._estimate or not self._estimate.weight else self._estimate.done / self._estimate.weight

    def line(self) -> str:
        """How many of how many, the time left, and what is being done."""
        with self._lock:
            elapsed = self._clock() - self._start
            parts = [f"{self._count} of {self._total} {self._unit}"] if self._total else []
            parts.append(lasting(elapsed))
            left = None if self._estimate is None or elapsed < _SOON else self._estimate.left(elapsed)
            if left is not None:
                late = not round(left) and self._count < self._total
                parts.append("longer than expected" if late else f"about {lasting(left)} left")
            parts.append(_COMPILING if self._compiles() else self._doing)
            return ", ".join(part for part in parts if part)


def lasting(seconds: float) -> str:
    """A duration in the units that people use: 7 s, 1 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    if whole < 3600:
        return f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def progress(unit: str, quiet: bool = False, every: float = EVERY) -> Iterator[Progress]:
    """What tells how far a command is, as long as it is open.

    Parameters
    ----------
    unit : str
        What is counted, in the plural.
    quiet : bool
        Whether nothing is shown, as by the ranks of an ``mpirun`` but the first.
    every : float
        Seconds between two lines on a pipe.
    """
    shown = Progress(unit)
    if quiet:
        yield shown
    elif sys.stdout.isatty() or sys.stderr.isatty():
        # where both are one screen, what is printed must know of the bar
        with _bar(shown, console(stderr=not sys.stdout.isatty())):
            yield shown
    else:
        with _lines(shown, every):
            yield shown


@contextmanager
def _bar(shown: Progress, terminal: Any) -> Iterator[None]:
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    def drawn() -> Any:
        row = Table.grid(padding=(0, 1))
        row.add_row(
            ProgressBar(1.0, shown.share, width=24), Text(plain(shown.line()), overflow="ellipsis", no_wrap=True)
        )
        return row

    with Live(get_renderable=drawn, console=terminal, transient=True, refresh_per_second=4) as live:
        shown._live = live
        try:
            yield
        finally:
            shown._live = None


@contextmanager
def _lines(shown: Progress, every: float) -> Iterator[None]:
    over = threading.Event()

    def show() -> None:
        while not over.wait(every):
            click.echo(plain(shown.line()), err=True)

    thread = threading.Thread(target=show, name="commbounds-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def compiling_here() -> Callable[[], bool]:
    """Whether a kernel is being compiled in this process, as a function that says so; imports numba."""
    from commbounds.verify.compilation import compilations

    return compilations().running
