"""Subjects by name: ``module:subject``, ``path/to/file.py:subject``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from commbounds.verify.conformance.subject import Subject

_OURS: weakref.WeakSet[ModuleType] = weakref.WeakSet()
"""Modules that were loaded from files."""


def loaded(target: str) -> list[Subject]:
    """The subjects that `target` names, each with its origin.

    Parameters
    ----------
    target : str
        ``module:name`` or ``file.py:name``, where `name` is a subject, or a list, tuple or mapping of subjects; with
        ``name[0]`` or ``name['key']`` one of those. Modules are looked for in the working directory too.

    Raises
    ------
    ValueError
        There is no such module, file or name, or it is no subject.
    """
    place, colon, name = target.partition(":")
    if not colon or not place or not name:
        raise ValueError(f"{target!r} must be module:subject or file.py:subject")
    base, bracket, key = name.partition("[")
    module = _module(place)
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
        spec.loader.exec_module(module)
        return module
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise ValueError(f"there is no module {place!r}") from error
        raise
