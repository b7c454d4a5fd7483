"""Compiled kernels on disk: code, so they are loaded only from where no one else can write, and only as they were kept.

Numba unpickles what lies in its cache, whoever put it there. The kernels of this package have a cache of the same place
and the same names, but every file says the digest of what it holds, and nothing is unpickled that has another one.
"""

import hashlib
import os
import pickle
import stat
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching, dispatcher

from commbounds.folders import regular, removed, require_private, shared

_OURS = __name__.partition(".")[0]
_told: set[str] = set()


def _tell(what: str, of: str) -> None:
    """Warn of it, once a process."""
    if what not in _told:
        _told.add(what)
        warnings.warn(f"{what}: {of}", RuntimeWarning, stacklevel=2)


@cache
def _trusted(folder: str, sources: str) -> bool:
    """Whether code may be loaded from there: beside the sources, or where no one else can write."""
    if Path(folder).parent == Path(sources):
        return True
    try:
        require_private(Path(folder))
    except (OSError, ValueError) as error:
        _tell("compiled kernels are neither taken from the cache nor kept in it", str(error))
        return False
    return True


class _Files(caching.IndexDataCacheFile):  # type: ignore[misc]
    """An index and its data files, each with a first line that says what made it and the digest of the rest."""

    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        self._index_path = os.path.join(cache_path, f"{filename_base}.index")
        self._data_name_pattern = f"{filename_base}.{{number:d}}.kernel"

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = self._held(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._put(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._held(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._put(self._data_path(name), data)

    def _head(self, pickled: bytes) -> bytes:
        return f"numba {self._version} {hashlib.sha256(pickled).hexdigest()}".encode()

    def _held(self, path: str) -> Any:
        """What was put there by this version of Numba; None where that is nothing, or damaged and now removed."""
        try:
            held, whose = regular(Path(path))
        except FileNotFoundError:
            return None
        except ValueError:  # a link, a pipe, a folder
            held, whose = b"", os.lstat(path)
        head, _, pickled = held.partition(b"\n")
        ours = bool(held) and whose.st_uid in (os.geteuid(), 0) and not shared(whose)
        if ours and head == self._head(pickled):
            return pickle.loads(pickled)
        if not ours or not head.startswith(b"numba ") or head.startswith(f"numba {self._version} ".encode()):
            _tell("damaged files among the compiled kernels are removed, and the kernels compiled again", path)
        removed(Path(path))
        return None

    def _put(self, path: str, value: Any) -> None:
        pickled = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(self._head(pickled) + b"\n" + pickled)
        os.chmod(path, stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH)


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """The cache of one kernel."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._sources = os.path.dirname(py_func.__code__.co_filename)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())
        folder = Path(self._cache_path)
        found = folder.stat()
        if shared(found) and found.st_uid == os.geteuid() and not any(folder.iterdir()):
            folder.chmod(0o700)  # Numba has just made it, as the umask says

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not _trusted(self._cache_path, self._sources):
            return None
        try:
            return super().load_overload(sig, target_context)
        except OSError as error:
            _tell("compiled kernels cannot be read, and are compiled again", str(error))
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if not _trusted(self._cache_path, self._sources):
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _tell("compiled kernels are not kept", str(error))


def _cache_of(py_func: Any) -> Any:
    ours = str(py_func.__module__).partition(".")[0] == _OURS
    return KernelCache(py_func) if ours else caching.FunctionCache(py_func)


if hasattr(os, "geteuid"):  # else nothing tells whose files are, and Numba's own cache does as it does
    # the kernels that are defined from now on; those of other packages have Numba's
    dispatcher.FunctionCache = _cache_of  # type: ignore[attr-defined]
