"""Subjects by name: ``module:subject``, ``path/to/file.py:subject``."""

import faulthandler
import importlib
import importlib.util
import math
import os
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from commbounds.compressors.base import shown
from commbounds.verify.conformance.offspring import end_relatives, seconds_waited
from commbounds.verify.conformance.subject import Subject

_FORKS = 2
"""Times that targets are loaded by a forked process that somebody kills."""
_LOOK = 0.005
"""Seconds between two looks whether it has ended."""
_OURS: weakref.WeakSet[ModuleType] = weakref.WeakSet()
"""Modules that were loaded from files."""


class Unloadable(ValueError):
    """A subject's module cannot be loaded; the cause is what it raised."""


def loaded(target: str) -> list[Subject]:
    """The subjects that `target` names, each with its origin.

    Parameters
    ----------
    target : str
        ``module:name`` or ``file.py:name``, where `name` is a subject, or a list, tuple or mapping of subjects; with
        ``name[0]`` or ``name['key']`` one of those. ``module`` or ``file.py`` alone stands for all subjects that have
        names of their own in it. Modules are looked for in the working directory too.

    Raises
    ------
    TypeError
        `target` is no string.
    ValueError
        There is no such module, file or name, or it is no subject.
    Unloadable
        The module raised, or called ``sys.exit``, while it was loaded: a package that it needs may be missing.
    """
    if not isinstance(target, str):
        raise TypeError(f"target must be a string such as 'module:subject', got {shown(target)}")
    place, colon, name = target.partition(":")
    if not place or (colon and not name):
        raise ValueError(f"target must be module:subject or file.py:subject, got {shown(target)}")
    module = _module(place)
    if not colon:
        named = [name for name, value in vars(module).items() if isinstance(value, Subject) and name[0] != "_"]
        if not named:
            raise ValueError(f"{place} gives no subject a name: say which is meant, {place}:NAME")
        return [subject for name in named for subject in _subjects(module, f"{place}:{name}")]
    return _subjects(module, target)


def _subjects(module: ModuleType, target: str) -> list[Subject]:
    place, _, name = target.partition(":")
    base, bracket, key = name.partition("[")
    if not hasattr(module, base):
        raise ValueError(f"{place} has nothing called {base!r}")
    found = getattr(module, base)
    if bracket:
        found = _entry(found, key.removesuffix("]"), target)
    if isinstance(found, Subject):
        return [found.loaded_from(target)]
    if isinstance(found, Mapping):
        entries = [(repr(k), v) for k, v in found.items()]
    elif isinstance(found, list | tuple):
        entries = [(str(i), v) for i, v in enumerate(found)]
    else:
        raise ValueError(f"{target} is no Codec, Stateful or AllReduce, nor a collection of them, but {found!r}")
    wrong = [v for _, v in entries if not isinstance(v, Subject)]
    if wrong or not entries:
        raise ValueError(f"{target} must hold subjects, got {wrong[0]!r}" if wrong else f"{target} is empty")
    return [subject.loaded_from(f"{target}[{index}]") for index, subject in entries]


def require_survivable(targets: Sequence[str], limit: float = math.inf) -> None:
    """See that loading these targets does not end the process, as a crash of compiled code or ``os._exit`` does.

    A forked process loads them first, without input and output: a module that takes long to load takes that twice. What
    a module raises is not told here: `loaded` does. Where processes cannot be forked nothing is tried.

    Parameters
    ----------
    targets : sequence of str
        As for `loaded`; one after the other.
    limit : float
        Seconds that a target may take; that the process waits for a processor does not count, where that is known.

    Raises
    ------
    Unloadable
        The forked process died, or took too long.
    """
    if not hasattr(os, "fork"):
        return
    for _ in range(_FORKS):
        count, code = _survived(targets, limit)
        if count > len(targets):
            return
        if code != -signal.SIGKILL:  # which no module does to itself
            break
    place = targets[count].partition(":")[0]
    if code is None:
        raise Unloadable(f"{place} cannot be loaded: that takes more than {limit:g} s")
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
    raise Unloadable(f"{place} cannot be loaded: it ends the process that loads it, {how}")


def _survived(targets: Sequence[str], limit: float) -> tuple[int, int | None]:
    """How many targets a forked process has loaded, one more if that was all, and its status; None if it took long."""
    done, told = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, of which the child uses none
        child = os.fork()
    if child == 0:
        _try_to_load(targets, told, parent)
    os.close(told)
    os.set_blocking(done, False)  # what a module has started may hold the other end
    count, begun, ended = 0, time.monotonic(), 0
    code: int | None = None
    try:
        while not ended and time.monotonic() - begun - seconds_waited(child) < limit:
            time.sleep(_LOOK)
            ended, status = os.waitpid(child, os.WNOHANG)
            with suppress(BlockingIOError):
                if new := len(os.read(done, len(targets) + 1)):
                    count, begun = count + new, time.monotonic() - seconds_waited(child)
        if ended:
            code = os.waitstatus_to_exitcode(status)
    finally:
        if not ended:
            end_relatives(child, "")
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(done)
    return count, code


def _try_to_load(targets: Sequence[str], told: int, parent: int) -> NoReturn:
    """What the forked process does: one byte for every target behind it, and one in the end."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    try:
        faulthandler.disable()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        threading.Thread(target=watch, daemon=True).start()
        for target in targets:
            with suppress(Exception, SystemExit):  # the process that asked comes by it too
                loaded(target)
            os.write(told, b".")
        os.write(told, b".")
    finally:
        os._exit(0)


def _entry(found: Any, key: str, target: str) -> Any:
    try:
        return found[int(key) if key.lstrip("-").isdigit() else key.strip("'\"")]
    except (LookupError, TypeError) as error:
        raise ValueError(f"{target}: there is no entry {key}") from error


def _module(place: str) -> ModuleType:
    if place.endswith(".py"):
        path = Path(place)
        if not path.is_file():
            raise ValueError(f"there is no file {place}")
        name = path.stem
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{place} is no Python file")
        if str(path.parent.resolve()) not in sys.path:
            sys.path.insert(0, str(path.parent.resolve()))
        module = importlib.util.module_from_spec(spec)
        if name not in sys.modules or sys.modules[name] in _OURS:  # pickle looks for functions there
            sys.modules[name] = module
        _OURS.add(module)
        with _loading(place):
            spec.loader.exec_module(module)
        return module
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    with _loading(place):
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name and (place == error.name or place.startswith(f"{error.name}.")):
                raise Unloadable(f"there is no module {place!r}") from error
            raise


@contextmanager
def _loading(place: str) -> Iterator[None]:
    """Say of what a module raises that it cannot be loaded."""
    try:
        yield
    except Unloadable:
        raise
    except (Exception, SystemExit) as error:
        raise Unloadable(f"{place} cannot be loaded: {type(error).__name__}: {error}") from error
