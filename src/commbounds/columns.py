"""The columns (a paper, or a family of methods, each), in the book's order, and where their parts are found.

Every room keeps its part of a column in a folder of the column's name: ``theory/NAME/``, ``compressors/NAME/``,
``collectives/NAME/``, ``verify/experiments/NAME/``; or, while one file holds it all, in a module of that name. A new
column is one more name in `COLUMNS`, and edits no other file that is not named after it.

Columns that are not part of the package lie in folders that the environment variable ``COMMBOUNDS_COLUMNS`` names,
separated as in ``PATH``. Each holds the same rooms, and every folder and module in its ``theory/`` is a column. They
come after ours, by name.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from commbounds.folders import require_private, shared

V = TypeVar("V")

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
    "shipped_collectives",
)
"""The table of contents."""

FURTHER = "COMMBOUNDS_COLUMNS"
"""The environment variable that names folders with further columns."""

_QUOTED = re.compile(r'"([^"\\\n]+)"')


_ROOMS = ("theory", "compressors", "collectives", "verify", "figures", "tests")


def _further() -> tuple[Path, ...]:
    return _trusted(os.environ.get(FURTHER, ""))


@cache
def _trusted(named: str) -> tuple[Path, ...]:
    """The folders that are named, whose code runs: no one else may write there."""
    folders = tuple(Path(folder).resolve() for folder in named.split(os.pathsep) if folder)
    for folder in folders:
        try:
            require_private(folder)
            for room in _ROOMS:
                for path in (folder / room, *(folder / room).rglob("*")):
                    if path.exists() and (shared(path.stat()) or path.stat().st_uid not in (os.geteuid(), 0)):
                        raise ValueError(f"others may write to {path}")
        except FileNotFoundError:
            continue  # said by what looks for columns there
        except ValueError as error:
            raise ValueError(f"{FURTHER} names {folder}, whose code is not run: {error}") from None
    return folders


def columns() -> tuple[str, ...]:
    """Names of all columns: ours, then those of further folders.

    Raises
    ------
    ValueError
        A further folder has no column, or one whose name is taken; or others may write there.
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


class Registry(Mapping[str, V]):
    """The dictionaries of one name in all columns' parts, as one; a column is imported when a name of its is asked for.

    What is named after a column, ``COLUMN.name``, is that column's. Any other name is looked for in the texts of the
    files where the dictionaries are written out. To go through all of it imports every column.

    Parameters
    ----------
    table : str
        What the dictionaries are called.
    room, module : str
        Where they are, as of `part`.
    read : callable (column, module) -> mapping, or None
        What a column's part has, where that is not the dictionary itself.
    written : bool or tuple of str
        Whether the names are written out in the files of the dictionaries, or the modules in whose files they are.
        Where they are put together, columns are imported until a name is found.
    """

    def __init__(
        self,
        table: str,
        room: str,
        module: str = "",
        read: Callable[[str, ModuleType], Mapping[str, V]] | None = None,
        written: bool | tuple[str, ...] = True,
    ) -> None:
        self.table, self._room, self._module = table, room, module
        self._read = read or self._listed
        self._written = (module,) if written is True else written or ()
        self._of: dict[str, Mapping[str, V]] = {}

    def _listed(self, _column: str, found: ModuleType) -> Mapping[str, V]:
        listed: Mapping[str, V] = getattr(found, self.table, {})
        return listed

    def of_column(self, column: str) -> Mapping[str, V]:
        """The entries of one column, in its order; its part is imported for them."""
        if column not in self._of:
            found = part(self._room, column, self._module)
            self._of[column] = {} if found is None else self._read(column, found)
        return self._of[column]

    def __getitem__(self, name: str) -> V:
        for column in self._columns_of(name):
            if name in self.of_column(column):
                return self.of_column(column)[name]
        raise KeyError(name)

    def _columns_of(self, name: str) -> Iterator[str]:
        """The columns that may have an entry of this name."""
        known = columns()
        owner, dot, _ = name.partition(".")
        if dot and owner in known:
            yield owner
            return
        for column in known:
            if not self._written or any(name in written_out(self._room, column, held) for held in self._written):
                yield column

    @cached_property
    def _whole(self) -> dict[str, V]:
        return self.joined()

    def joined(self) -> dict[str, V]:
        """The entries of all columns.

        Raises
        ------
        ValueError
            Two columns have an entry of the same name, or it could not be told whose an entry is.
        """
        joined: dict[str, V] = {}
        for column in columns():
            for name, entry in self.of_column(column).items():
                if name in joined:
                    raise ValueError(f"{self.table} of {column} has an entry {name!r}, as that of another column has")
                if column not in self._columns_of(name):
                    raise ValueError(
                        f"{self.table} of {column} has an entry {name!r}, which is not written out beside it"
                    )
                joined[name] = entry
        return joined

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


@cache
def written_out(room: str, column: str, module: str = "") -> frozenset[str]:
    """The strings in quotes in the file of a column's part, which is not imported for it; none where it has no such."""
    found = find_spec(f"commbounds.{room}.{column}")
    if found is None or found.origin is None:
        return frozenset()
    file = Path(found.origin)
    if module and found.submodule_search_locations is not None:
        file = file.with_name(f"{module}.py")
    return frozenset(_QUOTED.findall(file.read_text("utf-8"))) if file.exists() else frozenset()


class Face(ModuleType):
    """A room's package, whose names are imported when they are asked for.

    Those are the names that it shows type checkers, and all that columns list in the registries that it has. A package
    becomes one by ``sys.modules[__name__].__class__ = Face``.
    """

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            module = _shown(str(self.__file__)).get(name)
            if module is not None:
                within = module == self.__name__
                value = import_module(f"{module}.{name}") if within else getattr(import_module(module), name)
                super().__setattr__(name, value)
                return value
            for registry in [held for held in vars(self).values() if isinstance(held, Registry)]:
                if name in registry:
                    return registry[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        # what a face shows under a name goes before the module of that name, which an import would put in its place
        if not (isinstance(value, ModuleType) and _shown(str(self.__file__)).get(name, self.__name__) != self.__name__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *_shown(str(self.__file__))})


@cache
def _shown(file: str) -> dict[str, str]:
    """The names that a package imports for type checkers, each with the module that it is from."""
    blocks = [node for node in ast.parse(Path(file).read_bytes()).body if isinstance(node, ast.If)]
    shown = [node for block in blocks if ast.unparse(block.test) == "TYPE_CHECKING" for node in block.body]
    return {
        alias.asname or alias.name: str(node.module)
        for node in shown
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
