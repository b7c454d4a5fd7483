"""Which functions a subject's implementation reaches: by the names that its source uses, through all modules."""

import ast
from collections import deque

Place = tuple[str, str]
"""A module, by its path from the folder of the rooms, and a name of its own: a function, a class, a constant."""


class Reach:
    """The uses of names in modules.

    Parameters
    ----------
    sources : dict of str to str
        Path -> text of every module, as `sources` gives them.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self._trees = {path: ast.parse(text) for path, text in sources.items()}
        self._own: dict[str, dict[str, list[ast.stmt]]] = {}
        self._imported: dict[str, dict[str, tuple[str, str]]] = {}
        for path, tree in self._trees.items():
            own, imported = self._own.setdefault(path, {}), self._imported.setdefault(path, {})
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("commbounds."):
                    whole = (node.module or "").removeprefix("commbounds.").replace(".", "/")
                    imported |= {alias.asname or alias.name: (whole, alias.name) for alias in node.names}
            for node in tree.body:
                for name in _bound(node):
                    own.setdefault(name, []).append(node)

    def _module(self, name: str) -> str | None:
        return next((path for path in (f"{name}.py", f"{name}/__init__.py") if path in self._trees), None)

    def place(self, path: str, name: str) -> Place | None:
        """Where what a module calls `name` is defined; None where it is none of these modules'."""
        if name in self._own[path]:
            return path, name
        if name not in self._imported[path]:
            return None
        whole, wanted = self._imported[path][name]
        inner, outer = self._module(f"{whole}/{wanted}"), self._module(whole)
        if outer is not None and (wanted in self._own[outer] or wanted in self._imported[outer]):
            return self.place(outer, wanted)
        return None if inner is None else (inner, "")

    def used(self, place: Place) -> list[Place]:
        """What is used where the place is defined, in the order of its source."""
        path, name = place
        found = []
        for node in (part for statement in self._own[path].get(name, ()) for part in ast.walk(statement)):
            if isinstance(node, ast.Name) and (other := self.place(path, node.id)):
                found.append(other)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                other = self.place(path, node.value.id)
                if other and not other[1] and (inner := self.place(other[0], node.attr)):
                    found.append(inner)
        return list(dict.fromkeys(found))

    def distances(self, starts: list[Place]) -> dict[Place, int]:
        """Every place that one of these reaches, with the number of steps to it; of other modules' places none."""
        known = [start for start in starts if start[0] in self._trees]
        steps, waiting = dict.fromkeys(known, 0), deque(known)
        while waiting:
            place = waiting.popleft()
            for other in self.used(place):
                if other not in steps:
                    steps[other] = steps[place] + 1
                    waiting.append(other)
        return steps


def _bound(node: ast.stmt) -> list[str]:
    """Names that a statement of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [
        name.id for target in targets if target is not None for name in ast.walk(target) if isinstance(name, ast.Name)
    ]
