"""What a subject may change by mistake in the process that it runs in: looked at before its calls and after each."""

import builtins
import decimal
import errno
import gc
import locale
import logging
import math
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds.verify.conformance.offspring import ancestors

_FILES = 64 + 4 * (os.cpu_count() or 1)
"""Open files that calls may leave behind for later ones: those of a pool of a process a processor, and more."""
_SHOWN = 80
_TINY = 2.0**-60
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_FOREIGN = (builtins, math, os, time, np, np.linalg, np.random, np.ndarray)
"""Modules and classes whose functions are not the subject's to replace."""


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "(deleted)"


def _group(process: int) -> int:
    """The group of a process; 0 where it is gone or none of ours."""
    try:
        return os.getpgid(process)
    except (OSError, AttributeError):
        return 0


def _umask() -> str | None:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    return next((line.split()[1] for line in status.splitlines() if line.startswith("Umask:")), None)


def _limits() -> dict[str, Any]:
    try:
        import resource
    except ImportError:
        return {}  # the system has none
    return {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}


_STATES: Mapping[str, tuple[Callable[[], Any], bool]] = {
    "the working folder": (_folder, False),
    "the umask": (_umask, False),
    "the user": (lambda: (getattr(os, "geteuid", int)(), getattr(os, "getegid", int)()), False),
    "limits of the process": (_limits, False),
    "the priority of the process": (lambda: getattr(os, "nice", int)(0), False),
    "how often threads take turns": (sys.getswitchinterval, False),
    "what is called for errors": (lambda: [sys.excepthook, sys.unraisablehook, threading.excepthook], True),
    "what finds modules": (lambda: list(sys.meta_path), True),
    "whether garbage is collected": (gc.isenabled, False),
    "when garbage is collected": (gc.get_threshold, True),
    "how floats are rounded": (lambda: (1.0 + _TINY, -1.0 - _TINY, 5e-324 * (1.0 + _TINY)), False),
    "how many digits integers are written with": (sys.get_int_max_str_digits, True),
    "precision of decimal": (lambda: decimal.getcontext().prec, True),
    "where modules are found": (lambda: list(sys.path), True),
    "which messages are logged": (lambda: logging.root.manager.disable, True),
    "whether calls are traced and profiled": (lambda: (bool(sys.gettrace()), bool(sys.getprofile())), False),
    "numpy's error state": (np.geterr, False),
    "how numpy prints": (np.get_printoptions, True),
    "the locale": (lambda: locale.setlocale(locale.LC_ALL), True),
    "handlers of signals": (lambda: {number.name: signal.getsignal(number) for number in signal.Signals}, True),
    "the limit of recursion": (sys.getrecursionlimit, True),
    "the environment": (lambda: dict(os.environ), True),
}
"""What it is called -> how it is read, and whether importing a library may change it."""


def _told(name: str, before: Any, after: Any) -> str:
    """How a state differs from what it was; of a mapping, its first entry that does."""
    if isinstance(before, dict):
        key = next(k for k in [*before, *after] if before.get(k) != after.get(k))
        name, before, after = f"{name}, {key}", before.get(key), after.get(key)
    return f"{name}: {after!s:.{_SHOWN}}, which was {before!s:.{_SHOWN}}"


class _Functions:
    """The functions of a module or class, and which of them are others than at first."""

    def __init__(self, owner: Any) -> None:
        self._owner, self._first = owner, dict(vars(owner))
        self._values = list(self._first.values())

    def replaced(self) -> Iterator[str]:
        now = vars(self._owner)
        if len(now) == len(self._values) and all(a is b for a, b in zip(now.values(), self._values, strict=True)):
            return
        for name, value in self._first.items():
            if now.get(name) is not value:
                yield f"{self._owner.__name__}.{name}, which was replaced"


class Surroundings:
    """The state of this process, and what of it is another one than when this was made."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._states = {name: read() for name, (read, _) in _STATES.items()}
        self._modules, self._files = len(sys.modules), _open_files()
        self._functions = [_Functions(owner) for owner in _FOREIGN]
        self._place, self._written = Path(_folder()), set[str]()
        above = ancestors(os.getpid())
        self._protected = {-1, 1, *above, *(-group for group in map(_group, above) if group)}

    def listen(self) -> None:
        """Hear of files and signals from now on, as long as the process lives."""
        sys.addaudithook(self._hear)

    def left(self, error_state: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """What calls have left behind; `error_state` is numpy's after the last one, where it was to ignore all."""
        found = [f"the thread {thread.name!r}" for thread in threading.enumerate() if thread not in self._threads]
        imported, self._modules = len(sys.modules) != self._modules, len(sys.modules)
        for name, (read, importable) in _STATES.items():
            before, now = self._states[name], read()
            if name == "numpy's error state":
                before, now = dict.fromkeys(error_state, "ignore"), dict(error_state)
            if before == now or now is None:
                continue
            if imported and importable:
                self._states[name] = now
            else:
                found.append(_told(name, before, now))
        if not imported:
            found += [name for functions in self._functions for name in functions.replaced()]
        if _open_files() - self._files > _FILES:
            found.append(f"more than {_FILES} open files")
        return [*found, *self._new_files()]

    def _new_files(self) -> list[str]:
        """Files in the working folder that were opened for writing, and are there."""
        written, self._written = self._written, set()
        temporary = Path(tempfile.gettempdir())
        found = []
        for name in sorted(written):
            place = self._place / name
            if not place.is_relative_to(self._place) or not place.is_file():
                continue
            inside = place.relative_to(self._place)
            elsewhere = place.is_relative_to(temporary) and not self._place.is_relative_to(temporary)
            if not elsewhere and not any(part.startswith((".", "__pycache__")) for part in inside.parts):
                found.append(f"the file {str(inside)!r} in the working folder")
        return found

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of files that are opened for writing; let no signal or limit reach the process that judges."""
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, str) and (flags & _WRITES or (isinstance(mode, str) and set(mode) & set("wax+"))):
                self._written.add(path)
        elif event in ("os.kill", "os.killpg", "resource.prlimit"):
            number = -arguments[0] if event == "os.killpg" else arguments[0]
            if number in self._protected:
                what = "set limits of" if event == "resource.prlimit" else "send signals to"
                raise PermissionError(errno.EPERM, f"a subject must not {what} process {number}")


def _open_files() -> float:
    """How many files this process has open; infinite where it can open no more, 0 where the system does not tell."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError as error:
        return math.inf if error.errno == errno.EMFILE else 0
