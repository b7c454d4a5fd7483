"""Files written in one step: readers see the old one or the new one, never half of it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from commbounds.folders import ready
from commbounds.folders import written as written  # what writes lines writes bytes too


def replaced(path: Path, lines: Sequence[str]) -> None:
    """Write the file anew with these lines."""
    written(path, "".join(f"{line}\n" for line in lines).encode())


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Be the only run that writes to `path`, whose folder is made where it is not there.

    What is locked is a file beside it, ``.NAME.lock``, which is gone in the end: `path` itself is replaced. A process
    that dies lets go of its lock.

    Raises
    ------
    ValueError
        Another run writes to it, or nothing can be written there.
    """
    import fcntl  # systems without it can import the package

    ready(path.parent)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a regular file, and it is a folder, a pipe or a device")
    lock = path.with_name(f".{path.name}.lock")
    while True:
        ours = not lock.exists()
        if lock.is_symlink():
            raise ValueError(f"{lock} must be a regular file, and it is a symbolic link: remove it")
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another run is writing to {path}: choose another file, or wait for it") from None
            except OSError as error:
                if ours:
                    lock.unlink(missing_ok=True)
                error.filename = str(lock)
                raise
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
