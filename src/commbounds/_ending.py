"""How commands end that neither succeed nor judge: by a signal, or because the machine fails them."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from commbounds._terminal import plain

_ENDING = ("SIGTERM", "SIGHUP")
"""Signals that end a command as Ctrl-C does: what it made for itself is removed."""


class Stopped(click.ClickException):
    """Neither the findings nor the usage are wrong: the workers or the machine failed."""

    exit_code = 3


class Commands(click.Group):
    """Commands that end with 130 when interrupted, and with one sentence and status 3 where the machine fails them."""

    def invoke(self, ctx: click.Context) -> Any:
        received: list[int] = []
        try:
            with _interrupted_by(received):
                result = super().invoke(ctx)
        except click.ClickException as error:
            error.message = plain(error.message)  # type: ignore[misc] # names of files and of subjects may hold anything
            raise
        except KeyboardInterrupt:
            number = received[0] if received else signal.SIGINT
            with suppress(OSError):
                click.echo(
                    "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}", err=True
                )
            sys.exit(128 + number)
        except MemoryError as error:
            raise Stopped(f"memory is used up{': ' * bool(str(error))}{error}") from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # nobody reads any more: click knows what to do
            raise Stopped(_sentence(error)) from error
        return result


@contextmanager
def _interrupted_by(received: list[int]) -> Iterator[None]:
    """While it is open, signals that would end the process at once raise KeyboardInterrupt, and their number is noted.

    What has been printed is out when it closes.
    """

    def ring(number: int, _frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread() and not _launched()
    known = [getattr(signal, name) for name in _ENDING if here and hasattr(signal, name)]
    taken = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, ring)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        _flushed()


def _launched() -> bool:
    """Whether a launcher of ranks started this process: it ends them itself, in the middle of a call of MPI too."""
    return any(name in os.environ for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"))


def _flushed() -> None:
    """See that what was printed is out, as long as it can still be told that it is not."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:
            with suppress(OSError):  # what is left is tried again at the end, and told of then
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _sentence(error: OSError) -> str:
    """What failed, and where, in the words of the system."""
    said = error.strerror or str(error) or type(error).__name__
    where = f"{error.filename}: " if error.filename not in (None, "") else ""
    return f"the system failed: {where}{said}; what was written before is whole, and the same command may go on from it"
