"""Folders that commands write to, the cache and what is asked for; and files written in one step."""

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

FAILURES = frozenset(
    getattr(errno, name)
    for name in ("EAGAIN", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENOLCK", "ENOMEM", "ENOSPC", "ESTALE")
    if hasattr(errno, name)
)
"""Errors of the machine: no other folder that is asked for would help."""


def home() -> Path | None:
    """The user's home: HOME if that is an absolute path, else what the system says; None where it says nothing."""
    named = Path(os.environ.get("HOME", ""))
    if named.is_absolute():
        return named
    import pwd

    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return None


def cache_folder() -> Path:
    """The one folder besides ``--out`` that commands write to; a relative XDG_CACHE_HOME counts as none.

    Raises
    ------
    ValueError
        The user has no home, and no variable names another place.
    """
    if own := os.environ.get("COMMBOUNDS_CACHE"):
        return Path(own).absolute()
    base, place = Path(os.environ.get("XDG_CACHE_HOME", "")), home()
    if base.is_absolute():
        return base / "commbounds"
    if place is None:
        raise ValueError("this user has no home for a cache: name a folder by COMMBOUNDS_CACHE, or set HOME")
    return place / ".cache" / "commbounds"


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
        if error.errno in FAILURES:
            raise
        raise ValueError(f"nothing can be written to {folder}: {error.strerror}") from error


def require_writable(folder: Path) -> None:
    """See that `folder` could be made, or be written to where it is there; nothing is made.

    Raises
    ------
    ValueError
        It could not.
    """
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        if error.errno in FAILURES:
            raise
        raise ValueError(f"nothing can be written to {folder}: {error.strerror}") from error


def shared(found: os.stat_result) -> bool:
    """Whether others than its owner may write to it; a group of the user alone is no other."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _of_one_user(found.st_gid)


def _of_one_user(group: int) -> bool:
    """Whether a group is the user's own, as many systems make one for each: there a umask of 002 shares nothing."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return (found.gr_gid, found.gr_name) == (user.pw_gid, user.pw_name) and set(found.gr_mem) <= {user.pw_name}


def _has_list(place: Path) -> bool:
    """Whether further users and groups may use a folder; its mode shows what all of them may do as the group's."""
    try:
        return "system.posix_acl_access" in os.listxattr(place)
    except (OSError, AttributeError):  # there are none on this disk or system
        return False


def require_private(folder: Path) -> None:
    """See that nobody else can put anything into `folder`, nor another folder in its place.

    Raises
    ------
    ValueError
        The folder, or one above it up to the home or the root, is somebody else's or can be written to by others; or
        the system has no users to tell.
    """
    if not hasattr(os, "geteuid"):
        raise ValueError(f"this system does not say who may write to {folder}")
    folder.stat()  # an OSError for a link to itself, which cannot be resolved
    for start in dict.fromkeys((folder.absolute(), folder.resolve())):
        for place in (start, *start.parents):
            found = place.stat()
            if not {found.st_uid, place.lstat().st_uid} <= {os.geteuid(), 0}:
                raise ValueError(f"{place} belongs to another user")
            listed = found.st_mode & stat.S_IWGRP and _has_list(place)
            if (listed or shared(found)) and (place == start or not found.st_mode & stat.S_ISVTX):
                raise ValueError(f"others may write to {place}")
            if place == home():
                break


def regular(path: Path) -> tuple[bytes, os.stat_result]:
    """What a file holds that this package keeps, and its status; links are not followed, pipes not waited for.

    Raises
    ------
    OSError
        There is none, or it cannot be read.
    ValueError
        It is no regular file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise ValueError(f"{path} must be a regular file") from None
        raise
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise ValueError(f"{path} must be a regular file")
    with open(handle, "rb") as file:
        return file.read(), found


def removed(path: Path) -> None:
    """Remove what is there in place of a file: a folder only if it is empty."""
    with suppress(OSError):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def written(path: Path, content: bytes, lasting: bool = True) -> None:
    """Put `content` at `path`, whose folder is made where it is not there.

    Parameters
    ----------
    path : Path
        The file.
    content : bytes
        The whole of it.
    lasting : bool
        Whether to wait until it is on the disk, so that no crash loses it: milliseconds a file, which thousands that
        can be made again need not take.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = str(path)  # not that of the moment
        raise


def appended(file: IO[bytes], line: bytes, lasting: bool = True) -> None:
    """Put a line at the end of a file: whole, or not at all.

    Parameters
    ----------
    file : file
        Open for appending, without a buffer.
    line : bytes
        With its newline.
    lasting : bool
        Whether to wait until it is on the disk.
    """
    before, left = file.seek(0, os.SEEK_END), memoryview(line)
    try:
        while left:
            left = left[file.write(left) :]
        if lasting:
            os.fsync(file.fileno())
    except BaseException as error:
        with suppress(OSError):
            os.ftruncate(file.fileno(), before)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = str(file.name)
        raise
