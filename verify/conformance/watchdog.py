"""A watch over calls that cannot be interrupted: a thread that does something when one takes too long."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK = 0.05
"""Seconds between two looks at the clock."""


class Watchdog:
    """Calls `ring` once, in a thread of its own, when a watched call takes too long.

    Parameters
    ----------
    ring : callable (limit)
        Called with the limit in seconds. Once it is called, no watched call ends any more: it has to end the process.
    """

    def __init__(self, ring: Callable[[float], None]) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self._until: float | None = None
        self._limit = 0.0
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """What is inside may take so many seconds."""
        if seconds == float("inf"):
            yield
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        with self._lock:
            self._until, self._limit = time.monotonic() + seconds, seconds
        try:
            yield
        finally:
            with self._lock:  # waits for ever if it rang
                self._until = None

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK)
            with self._lock:
                if self._until is not None and time.monotonic() > self._until:
                    self._ring(self._limit)
                    self._until = None
