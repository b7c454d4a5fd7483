"""Which files of the package a column's findings are made from: what its modules import, name by name.

Nothing is imported for it: the imports are read. A package that only hands names on is asked for those names, so that
``from commbounds.compressors import TopK`` leads to the module of `TopK` and to no other compressor. What cannot be
followed name by name is taken whole.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from commbounds.columns import columns, extended

ROOT = "commbounds"
SEVERAL = ("theory", "compressors", "collectives", "verify.experiments", "verify.definitions")
"""The rooms that every column has a part in."""
ENGINE = ("columns", "verify.confront", "verify.experiments")
"""What runs the claims of every column."""
NOT_RUN = ("bench", "exhibits", "vectors")
"""Modules of a column that no claim's run looks for; they count where another module imports them."""
BY_CODE = ("encodings", "injections")
"""Modules of a column's experiments with tables by the classes of messages, and by what their compressors take."""
LOOKED_UP = (*BY_CODE, "setups")
"""Modules of a column's experiments whose tables are read for other columns, too."""
_ROOMS = ("theory", "compressors", "collectives", "verify", "figures")
_NAME = re.compile(r"[\w.]+(?: [\w.]+)*")
"""How a string looks that may be a name: sentences are none."""


@dataclass(frozen=True)
class _Import:
    """``from module import name``, or ``import module`` with an empty name; and the name that it binds."""

    module: str
    name: str
    bound: str


@dataclass
class _Read:
    """What is read in a module."""

    imports: list[_Import] = field(default_factory=list)
    handed_on: dict[str, _Import] = field(default_factory=dict)
    """Names that its top level imports, or shows type checkers."""
    attributes: dict[str, set[str]] = field(default_factory=dict)
    """By name, what is taken from it by ``name.attribute``."""
    bare: set[str] = field(default_factory=set)
    """Names that are used otherwise than by their attributes."""
    own: set[str] = field(default_factory=set)
    """Names that the top level binds itself."""
    texts: set[str] = field(default_factory=set)
    """Strings, and the first parts of those that are put together."""
    spoken: set[str] = field(default_factory=set)
    """Names of classes, and of what functions take."""
    keys: dict[str, set[str]] = field(default_factory=dict)
    """Of dictionaries that are written out: names that stand for the value of a key."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "imports": [[made.module, made.name, made.bound] for made in self.imports],
            "handed_on": [[made.module, made.name, made.bound] for made in self.handed_on.values()],
            "attributes": {name: sorted(taken) for name, taken in self.attributes.items()},
            "keys": {name: sorted(named) for name, named in self.keys.items()},
            **{name: sorted(getattr(self, name)) for name in ("bare", "own", "texts", "spoken")},
        }


def _read_from(held: Mapping[str, Any]) -> _Read:
    """What `_Read.as_dict` gave."""
    return _Read(
        imports=[_Import(*made) for made in held["imports"]],
        handed_on={made[2]: _Import(*made) for made in held["handed_on"]},
        attributes={name: set(taken) for name, taken in held["attributes"].items()},
        keys={name: set(named) for name, named in held["keys"].items()},
        bare=set(held["bare"]),
        own=set(held["own"]),
        texts=set(held["texts"]),
        spoken=set(held["spoken"]),
    )


class Sources:
    """The modules of the package, as files; what is read in one is remembered.

    Parameters
    ----------
    packages : mapping of str to iterable of Path
        Folders of the package itself and of its rooms, under the name by which each is imported.
    names : iterable of str
        The columns.
    """

    def __init__(self, packages: Mapping[str, Iterable[Path]], names: Iterable[str]) -> None:
        self.remembered: Mapping[str, Mapping[str, Any]] = {}
        """What was read before, as of `memory`."""
        self.has_read = False
        """Whether something was read that was not remembered."""
        self._columns = tuple(names)
        self.folders = tuple(f"{folder}{os.sep}" for folders in packages.values() for folder in folders)
        """Where the package lies, rooms and further columns."""
        self._files: dict[str, Path] = {}
        self._data: dict[str, list[Path]] = {}
        for name, folders in packages.items():
            for folder in folders:
                self._gather(name, folder)
        self._packages = {name for name, path in self._files.items() if path.name == "__init__.py"}
        self._reads: dict[str, _Read] = {}
        self._digests: dict[Path, str] = {}
        self._closures: dict[tuple[str, tuple[str, ...]], frozenset[str]] = {}

    def _gather(self, package: str, folder: Path) -> None:
        """The files of a package, and those of the packages in it."""
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            path = Path(entry.path)
            if entry.is_dir():
                inner = f"{package}.{entry.name}"
                if package == ROOT and entry.name in _ROOMS:
                    continue  # of these it is said where they are imported from
                if (path / "__init__.py").exists():
                    self._gather(inner, path)
                elif entry.name != "__pycache__" and entry.name.isidentifier():
                    kept = [file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
                    self._data.setdefault(package, []).extend(kept)
            elif path.suffix == ".py":
                name = package if path.stem == "__init__" else f"{package}.{path.stem}"
                self._files.setdefault(name, path)
            elif entry.is_file():
                self._data.setdefault(package, []).append(path)

    # --- what a run is made from --------------------------------------------------------------------------------------

    def modules(
        self, column: str, parts: Iterable[str] = (), engine: Iterable[str] = ENGINE, rooms: Iterable[str] = SEVERAL
    ) -> frozenset[str]:
        """Names of the modules that a run of a column's claims depends on.

        Parameters
        ----------
        column : str
            Its name.
        parts : iterable of str
            Of `NOT_RUN`, those that are run all the same.
        engine : iterable of str
            What runs them, by names within the package.
        rooms : iterable of str
            Where the column's own part counts.
        """
        key = (column, (*sorted(parts), "", *engine, "", *rooms))
        if key not in self._closures:
            followed = _Followed(self, column)
            for name in engine:
                followed.follow(f"{ROOT}.{name}")
            followed.take_column(column, set(NOT_RUN) - set(parts), rooms)
            self._closures[key] = frozenset(followed.finished())
        return self._closures[key]

    def files(self, modules: Iterable[str]) -> list[Path]:
        """The files of modules, with the data that lies beside them."""
        names = set(modules)
        packages = {name if name in self._packages else name.rpartition(".")[0] for name in names}
        data = [path for package in packages for path in self._data.get(package, ())]
        return sorted({*(self._files[name] for name in names), *data})

    def digest(self, modules: Iterable[str]) -> str:
        """Of names and contents of the modules and of the data beside them; every file is read once."""
        names = sorted(set(modules))
        whole = hashlib.sha256("\n".join(names).encode())
        for path in self.files(names):
            whole.update(f"{path.parent.name}/{path.name} {self._of_file(path)}\n".encode())
        return whole.hexdigest()

    def _of_file(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._digests[path]

    # --- what there is ------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._columns

    def names(self) -> Iterator[str]:
        """Names of all modules."""
        return iter(self._files)

    def file(self, name: str) -> Path:
        """The file of a module."""
        return self._files[name]

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def is_package(self, name: str) -> bool:
        """Whether the module is a package."""
        return name in self._packages

    def inside(self, name: str) -> Iterator[str]:
        """The module of this name and those within it."""
        return (other for other in self._files if other == name or other.startswith(f"{name}."))

    def read(self, name: str) -> _Read:
        """What is read in a module."""
        if name not in self._reads:
            held = self.remembered.get(f"{name} {self._of_file(self._files[name])}")
            if held is not None:
                self._reads[name] = _read_from(held)
                return self._reads[name]
            package = name if name in self._packages else name.rpartition(".")[0]
            self._reads[name] = _Reader(package).read(self._files[name].read_bytes())
            self.has_read = True
        return self._reads[name]

    def memory(self) -> dict[str, dict[str, Any]]:
        """What is read in every module, by its name and digest."""
        return {f"{name} {self._of_file(path)}": self.read(name).as_dict() for name, path in self._files.items()}

    def column_of(self, name: str) -> str:
        """The column that a module is a part of; empty for what is everybody's."""
        column = name.removeprefix(f"{ROOT}.{_room(name)}.").partition(".")[0]
        return column if column in self._columns else ""

    @cached_property
    def registered(self) -> Mapping[str, list[tuple[str, set[str]]]]:
        """Under every key of a table in a column's part: the module of the table, and the names in the entry."""
        found: dict[str, list[tuple[str, set[str]]]] = {}
        for name in self._files:
            room = _room(name)
            column = self.column_of(name)
            whole = room in ("compressors", "collectives") and name == f"{ROOT}.{room}.{column}"
            if not whole and not (room == "verify.experiments" and name.rpartition(".")[2] in LOOKED_UP):
                continue
            for key, names in self.read(name).keys.items():
                found.setdefault(key, []).append((name, names))
        return found


def installed() -> Sources:
    """The package as it is imported here, with further columns."""
    return _installed(columns(), *(tuple(extended([], room.replace(".", "/"))) for room in SEVERAL))


@cache
def _installed(names: tuple[str, ...], *further: tuple[str, ...]) -> Sources:
    packages = {name: _places(name) for name in (ROOT, *(f"{ROOT}.{room}" for room in _ROOMS))}
    for room, places in zip(SEVERAL, further, strict=True):
        packages.setdefault(f"{ROOT}.{room}", []).extend(map(Path, places))
    return Sources(packages, names)


def _room(name: str) -> str:
    """The room of a module; empty for what lies in none that columns have parts in."""
    return next((room for room in SEVERAL if name.startswith(f"{ROOT}.{room}.")), "")


def _places(package: str) -> list[Path]:
    """The folders of a package; what it lies in is imported for that."""
    found = find_spec(package)
    return [Path(folder) for folder in found.submodule_search_locations or ()] if found is not None else []


class _Followed:
    """Modules that were reached, from one to the next."""

    def __init__(self, sources: Sources, column: str) -> None:
        self._sources, self._column = sources, column
        self._reached: set[str] = set()
        self._done: set[tuple[str, str]] = set()
        self._looked_up: set[str] = set()

    def finished(self) -> set[str]:
        """All that was reached, with what is looked up by name."""
        while True:
            unread = [name for name in self._reached - self._looked_up if self._sources.column_of(name)]
            if not unread:
                return self._reached
            for name in sorted(unread):
                self._looked_up.add(name)
                read = self._sources.read(name)
                if _room(name) == "verify.experiments":
                    for text in read.texts:
                        self._look_up(text)
                elif _room(name) == "compressors":
                    for word in read.spoken:
                        self._look_up(word, BY_CODE)

    def take_column(self, column: str, without: Iterable[str], rooms: Iterable[str]) -> None:
        """The column's part in these rooms."""
        for room in rooms:
            for name in list(self._sources.inside(f"{ROOT}.{room}.{column}")):
                if not (room == "verify.experiments" and name.rpartition(".")[2] in without):
                    self.follow(name)

    def follow(self, name: str) -> None:
        """The module, and all that it imports."""
        if name not in self._sources or (name, "") in self._done:
            return
        self._done.add((name, ""))
        self._reach(name)
        read = self._sources.read(name)
        for wanted in read.imports:
            self._import(wanted, read)

    def _reach(self, name: str) -> None:
        """The module without what it imports, and the packages that it lies in."""
        while name:
            if name in self._sources:
                self._reached.add(name)
            name = name.rpartition(".")[0]

    def _import(self, wanted: _Import, read: _Read) -> None:
        whole = f"{wanted.module}.{wanted.name}" if wanted.name else wanted.module
        if not self._sources.is_package(whole):
            if wanted.name:
                self.need(wanted.module, wanted.name)
            else:
                self.follow(wanted.module)
            return
        self._reach(whole)
        if wanted.bound in read.bare or not wanted.name:
            self._whole(whole)
            return
        for attribute in read.attributes.get(wanted.bound, ()):
            self.need(whole, attribute)

    def need(self, module: str, name: str) -> None:
        """What a name in a module stands for."""
        if module not in self._sources or (module, name) in self._done:
            return
        self._done.add((module, name))
        inner = f"{module}.{name}"
        if inner in self._sources:
            self._reach(module)
            if self._sources.is_package(inner):
                self._whole(inner)
            else:
                self.follow(inner)
            return
        if not self._sources.is_package(module):
            self.follow(module)
            return
        self._reach(module)
        read = self._sources.read(module)
        if name in read.handed_on:
            self._import(read.handed_on[name], read)
        elif name not in read.own and module.removeprefix(f"{ROOT}.") in SEVERAL:
            if name not in self._sources.registered:
                self._whole(module)
            self._look_up(name)  # the room hands on what a column registers under that name
        elif module.removeprefix(f"{ROOT}.") not in (*SEVERAL, "verify"):
            self.follow(module)
        # what is left is a registry of all columns: of those, a run reads its own column's part

    def _whole(self, package: str) -> None:
        """The package with all that it hands on; of a room, every column's part."""
        self.follow(package)
        if package.removeprefix(f"{ROOT}.") in SEVERAL:
            for column in self._sources.columns:
                self.follow(f"{package}.{column}")

    def _look_up(self, text: str, within: Iterable[str] = ()) -> None:
        """What is registered under a word, and the book's part of a column whose claim the word names.

        Parameters
        ----------
        text : str
            The word.
        within : iterable of str
            Of `LOOKED_UP`, the modules that count; all by default, and those of kernels.
        """
        for module, names in self._sources.registered.get(text, ()):
            if within and module.rpartition(".")[2] not in within:
                continue
            self._reach(module)
            if names and module.startswith((f"{ROOT}.compressors.", f"{ROOT}.collectives.")):
                for name in names:
                    self._name_in(module, name)
            else:
                self.follow(module)
        column, dot, _ = text.partition(".")
        if dot and column in self._sources.columns:
            for name in list(self._sources.inside(f"{ROOT}.theory.{column}")):
                self.follow(name)

    def _name_in(self, module: str, name: str) -> None:
        read = self._sources.read(module)
        if name in read.handed_on:
            self._import(read.handed_on[name], read)
        elif name in read.own:
            self.follow(module)


class _Reader(ast.NodeVisitor):
    """Reads a module's imports, and what it does with what it imports.

    Parameters
    ----------
    package : str
        That the module lies in, or is; relative imports begin there.
    """

    def __init__(self, package: str) -> None:
        self._package, self._found = package, _Read()
        self._depth = 0

    def read(self, text: bytes) -> _Read:
        """What is in the text of the module; one that is no Python imports nothing, as it cannot be run."""
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return self._found
        self.visit(tree)
        imported = {made.bound for made in self._found.imports}
        self._found.bare &= imported
        self._found.attributes = {n: taken for n, taken in self._found.attributes.items() if n in imported}
        return self._found

    def visit_If(self, node: ast.If) -> None:
        """What only type checkers see is not run; but a package may hand on by name what it shows them."""
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)
            return
        for shown in node.body:
            for made in self._made(shown) if isinstance(shown, ast.ImportFrom) else ():
                self._found.handed_on.setdefault(made.bound, made)
        for other in node.orelse:
            self.visit(other)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] == ROOT:
                self._found.imports.append(_Import(alias.name, "", alias.asname or ROOT))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for made in self._made(node):
            self._found.imports.append(made)
            if not self._depth:
                self._found.handed_on[made.bound] = made

    def _made(self, node: ast.ImportFrom) -> list[_Import]:
        """The imports of a statement that are from the package."""
        module = node.module or ""
        if node.level:
            above = self._package.split(".")
            module = ".".join([*above[: len(above) - node.level + 1], *([module] if module else [])])
        if module.partition(".")[0] != ROOT:
            return []
        if any(alias.name == "*" for alias in node.names):
            raise ValueError(f"a module in {self._package} imports all of {module}, which is not followed")
        return [_Import(module, alias.name, alias.asname or alias.name) for alias in node.names]

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self._found.attributes.setdefault(node.value.id, set()).add(node.attr)
            return
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._found.bare.add(node.id)
        if isinstance(node.ctx, ast.Store) and not self._depth:
            self._found.own.add(node.id)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _NAME.fullmatch(node.value):
            self._found.texts.add(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._table(node.targets, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._table([node.target], node.value)
        self.generic_visit(node)

    def _table(self, targets: Iterable[ast.expr], value: ast.expr | None) -> None:
        """Note the keys of a public table that the top level writes out, also within a call."""
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if self._depth or value is None or not any(name.isupper() and name[0] != "_" for name in names):
            return
        for table in ast.walk(value):
            for key, entry in zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ():
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    inner = {name.id for name in ast.walk(entry) if isinstance(name, ast.Name)}
                    self._found.keys.setdefault(key.value, set()).update(inner)

    def visit_arg(self, node: ast.arg) -> None:
        self._found.spoken.add(node.arg)
        self.generic_visit(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if isinstance(node, ast.ClassDef):
            self._found.spoken.add(node.name)
        if not self._depth:
            self._found.own.add(node.name)
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._definition(node)
