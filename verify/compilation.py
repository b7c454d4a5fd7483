"""`Compilations`: whether Numba compiles a kernel in this process."""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core import event


class Compilations(event.Listener):  # type: ignore[misc]
    """A listener to Numba that counts the compilations that go on; one that the disk's cache spares is none.

    Parameters
    ----------
    tell : callable (int) or None
        Called with the number whenever it changes, by the thread that compiles.
    """

    def __init__(self, tell: Callable[[int], None] | None = None) -> None:
        self.going, self.finished, self._tell = 0, 0, tell

    def on_start(self, event: Any) -> None:
        self._changed(1)

    def on_end(self, event: Any) -> None:
        self.finished += 1
        self._changed(-1)

    def _changed(self, by: int) -> None:
        self.going += by  # Numba holds a lock while it compiles
        if self._tell is not None:
            self._tell(self.going)

    def running(self) -> bool:
        """Whether a kernel is being compiled."""
        return self.going > 0


def listening(tell: Callable[[int], None] | None = None) -> Compilations:
    """A listener that hears of every compilation in this process from now on."""
    listener = Compilations(tell)
    event.register("numba:compile", listener)
    return listener


@cache
def compilations() -> Compilations:
    """The listener of this process's commands."""
    return listening()
