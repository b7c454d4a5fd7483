"""The columns (a paper, or a family of methods, each), in the book's order, and where their parts are found.

Every room keeps its part of a column in a folder of the column's name: ``theory/NAME/``, ``compressors/NAME/``,
``collectives/NAME/``, ``verify/experiments/NAME/``; or, while one file holds it all, in a module of that name. A new
column is one more name in `COLUMNS`, and edits no other file that is not named after it.

Columns that are not part of the package lie in folders that the environment variable ``COMMBOUNDS_COLUMNS`` names,
separated as in ``PATH``. Each holds the same rooms, and every folder and module in its ``theory/`` is a column. They
come after ours, by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

COLUMNS = (
    "sparsifiers",
    "quantizers",
    "lowrank",
    "dense",
    "precision",
    "sparse",
    "oktopk",
    "arctopk",
    "majority",
    "feedback",
    "variance_reduced",
    "orthogonal",
    "sketched",
    "moshpit",
    "gossip",
    "packetloss",
    "dropcompute",
    "flashcomm",
    "blockformats",
    "rotations",
    "lowcomm",
    "shipped",
    "powergossip",
)
"""The table of contents."""

FURTHER = "COMMBOUNDS_COLUMNS"
"""The environment variable that names folders with further columns."""


def _further() -> list[Path]:
    return [Path(folder).resolve() for folder in os.environ.get(FURTHER, "").split(os.pathsep) if folder]


def columns() -> tuple[str, ...]:
    """Names of all columns: ours, then those of further folders.

    Raises
    ------
    ValueError
        A further folder has no column, or one whose name is taken.
    """
    names = list(COLUMNS)
    for folder in _further():
        found = sorted(
            [init.parent.name for init in folder.glob("theory/*/__init__.py")]
            + [module.stem for module in folder.glob("theory/[!_]*.py")]
        )
        if not found:
            raise ValueError(
                f"{FURTHER} names {folder}, where there is no theory/NAME/__init__.py and no theory/NAME.py"
            )
        for name in found:
            if name in names:
                raise ValueError(f"{FURTHER} names {folder}, whose column {name} there is already")
            names.append(name)
    return tuple(names)


def extended(path: Iterable[str], room: str) -> list[str]:
    """Where the room's packages are looked for: `path`, and the rooms of further folders."""
    return [*path, *(str(folder / room) for folder in _further() if (folder / room).is_dir())]


def part(room: str, column: str, module: str = "") -> ModuleType | None:
    """The column's package in a room, or a module of it; None where the column has no such part.

    A column that is a single module in the room has all its parts there: that module is returned for any of them, and
    need not hold what is looked for.

    Parameters
    ----------
    room : str
        Name of the room within ``commbounds``, such as ``verify.experiments``.
    column : str
        Name of the column.
    module : str
        Name within the column's package; empty for the package itself.
    """
    whole = f"commbounds.{room}.{column}"
    found = find_spec(whole)
    if found is None:
        return None
    if not module or found.submodule_search_locations is None:
        return import_module(whole)
    return import_module(f"{whole}.{module}") if find_spec(f"{whole}.{module}") is not None else None


def parts(room: str, module: str = "") -> Iterator[tuple[str, ModuleType]]:
    """The columns that have such a part, with it, in the book's order."""
    for column in columns():
        found = part(room, column, module)
        if found is not None:
            yield column, found


def entries(table: str, room: str, module: str = "") -> dict[str, Any]:
    """The dictionaries called `table` in all columns' parts, as one.

    Raises
    ------
    ValueError
        Two columns have an entry of the same name.
    """
    joined: dict[str, Any] = {}
    for column, found in parts(room, module):
        for name, entry in getattr(found, table, {}).items():
            if name in joined:
                raise ValueError(f"{table} of {column} has an entry {name!r}, as that of another column has")
            joined[name] = entry
    return joined


class Table(Mapping[str, Any]):
    """What `entries` gives, read when it is first asked for: a column may use what reads it, and have a part in it.

    Parameters
    ----------
    table, room, module : str
        As `entries` takes them.
    """

    def __init__(self, table: str, room: str, module: str = "") -> None:
        self._asked = table, room, module

    @cached_property
    def _entries(self) -> dict[str, Any]:
        return entries(*self._asked)

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
