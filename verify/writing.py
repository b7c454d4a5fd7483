"""Files written in one step: readers see the old one or the new one, never half of it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def written(path: Path, content: bytes) -> None:
    """Put `content` at `path`, whose folder is made where it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def replaced(path: Path, lines: Sequence[str]) -> None:
    """Write the file anew with these lines."""
    written(path, "".join(f"{line}\n" for line in lines).encode())


def ready(folder: Path) -> None:
    """Make `folder` where it is not there, and see that files can be made in it, before any work is done for it.

    Raises
    ------
    ValueError
        None can.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(f"nothing can be written to {folder}: {error.strerror}") from error


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Be the only run that writes to `path`, whose folder is made where it is not there.

    What is locked is a file beside it, ``.NAME.lock``, which is gone in the end: `path` itself is replaced. A process
    that dies lets go of its lock.

    Raises
    ------
    ValueError
        Another run writes to it, or nothing can be written there.
    """
    ready(path.parent)
    lock = path.with_name(f".{path.name}.lock")
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another run is writing to {path}: choose another file, or wait for it") from None
            if not _is(lock, handle):
                continue  # whoever held it has removed it since
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return
        finally:
            os.close(handle)


def _is(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
