"""Mutants of a module's source: every place at which an operator can change it, found in the syntax tree.

The families are those of `OPERATORS`.
Left alone is what no claim is about: annotations, decorators, docstrings, messages, and statements that only raise;
and what only compiled kernels run.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

OPERATORS = {
    "arithmetic": "another operation, or no minus",
    "comparison": "the boundary changes sides, and for or, no not",
    "off by one": "an index, a slice or a range is one off",
    "constant": "a number is another one, true is false",
    "dropped statement": "a call, a write or a branch is left out",
    "swapped argument": "two neighbouring arguments change places",
    "swapped name": "a parameter stands where another of the same type should",
    "default": "a parameter or a field has another default",
    "state": "what a name held before is kept",
}
"""The families, and what they do."""

_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_COMPARISON = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_SYMMETRIC = {"min", "max", "maximum", "minimum", "gcd", "isinstance", "array_equal", "zip", "print"}
"""Functions whose first arguments may change places, or whose arguments are types."""
_NO_RESULT = {"strict", "copy", "order", "nogil", "cache", "name", "axis_name"}
"""Keywords that change no result, or only a message."""
_COMPILED = {"overload", "intrinsic"}
"""Decorators of what plain Python does not run."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class SourceMutant:
    """One change of one module.

    Parameters
    ----------
    path : str
        Of the module, from the folder of the rooms.
    function : str
        Qualified name of the innermost function or class that it is in; empty outside of any.
    line, column : int
        Where it is.
    operator : str
        One of `OPERATORS`.
    text : str
        The line as it stands.
    before, after : str
        What is changed, and into what.
    """

    path: str
    function: str
    line: int
    column: int
    operator: str
    text: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """All that tells it from others."""
        return f"{self.path}:{self.line}:{self.column} {self.operator}: {self.before} -> {self.after}"

    @property
    def top(self) -> str:
        """The module's own name that holds it: a function, a class, or what is assigned to."""
        return self.function.partition(".")[0]


def mutants_of(path: str, source: str) -> list[SourceMutant]:
    """All mutants of the module, in the order of its lines; the same ones whenever they are asked for."""
    lines, found = source.splitlines(), {}
    for function, operator, old, new in _edits(ast.parse(source)):
        before, after = _shown(old), "nothing" if new is None else _shown(new)
        text = lines[old.lineno - 1].strip()
        mutant = SourceMutant(path, function, old.lineno, old.col_offset, operator, text, before, after)
        if before != after:
            found.setdefault(mutant.name, mutant)
    return sorted(found.values(), key=lambda m: (m.line, m.column, m.operator, m.before, m.after))


def mutated(path: str, source: str, name: str) -> ast.Module:
    """The tree of the module with the mutant of that name in it.

    Raises
    ------
    ValueError
        It has none of that name.
    """
    tree = ast.parse(source)
    for _function, operator, old, new in _edits(tree):
        after = "nothing" if new is None else _shown(new)
        if name == f"{path}:{old.lineno}:{old.col_offset} {operator}: {_shown(old)} -> {after}":
            put = ast.copy_location(ast.Pass() if new is None else new, old)
            return ast.fix_missing_locations(_Put(old, put).visit(tree))
    raise ValueError(f"{path} has no mutant {name!r}")


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _shown(node: ast.AST) -> str:
    return re.sub(r"\s+", " ", ast.unparse(node))


Edit = tuple[str, str, ast.AST, ast.AST | None]
"""Function, operator, the node that goes, the node that comes in its place (None: none does)."""


@dataclass(frozen=True)
class _Scope:
    """The parameters that an expression sees, and the types of those of the module's own functions, in order."""

    given: tuple[ast.arg, ...]
    signatures: dict[str, list[str]]


def _edits(tree: ast.Module) -> Iterator[Edit]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    scope = _Scope((), {node.name: [_type(a) for a in node.args.args if a.arg != "self"] for node in functions})
    for node in tree.body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield from _of_definition(node, node.name, scope)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):  # indices are those of types
                edits = _of_expression(node.value, target.id, scope)
                yield from (edit for edit in edits if edit[1] in ("arithmetic", "constant"))


def _type(argument: ast.arg) -> str:
    return ast.dump(argument.annotation) if argument.annotation is not None else ""


def _of_definition(node: ast.AST, name: str, scope: _Scope) -> Iterator[Edit]:
    if {getattr(d, "id", _called(d) if isinstance(d, ast.Call) else "") for d in node.decorator_list} & _COMPILED:
        return
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, (*_FUNCTIONS, ast.ClassDef)):
                if part.name not in ("__repr__", "__str__"):
                    yield from _of_definition(part, f"{name}.{part.name}", scope)
            elif isinstance(part, ast.AnnAssign) and part.value is not None:
                yield from _of_default(part.value, name, "")
        return
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    defaults = [*node.args.defaults, *node.args.kw_defaults]
    pairs = zip(given[len(given) - len(defaults) :], defaults, strict=True)
    words = ast.get_docstring(node) or ""
    for argument, default in pairs:
        if default is not None:
            yield from _of_default(default, name, _options(argument.arg, words))
    inside = _Scope((*scope.given, *given), scope.signatures)
    yield from _of_body(node.body, name, inside, {argument.arg for argument in inside.given})


def _options(argument: str, docstring: str) -> str:
    """What the docstring lists as the argument's values: ``way : {"server", "shards"}``."""
    found = re.search(rf"^\s*(?:\w+, )*{argument}(?:, \w+)* : (\{{[^}}]*\}})", docstring, re.MULTILINE)
    return found[1] if found else ""


def _of_default(value: ast.AST, name: str, options: str) -> Iterator[Edit]:
    if not isinstance(value, ast.Constant):
        return
    if isinstance(value.value, str):
        words = re.findall(r"[\"']([^\"']+)[\"']", options)
        if value.value in words and len(words) > 1:
            other = words[(words.index(value.value) + 1) % len(words)]
            yield name, "default", value, ast.Constant(other)
    elif (other := _another(value.value)) is not None:
        yield name, "default", value, ast.Constant(other)


def _another(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return (2 * value or 1.0) if isinstance(value, float) else None


def _only_raises(node: ast.AST) -> bool:
    """Whether a statement does nothing but look and raise."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _called(node.value).lstrip("_").startswith("check")
    if isinstance(node, ast.Raise | ast.Assert):
        return True
    if isinstance(node, ast.If | ast.For | ast.With):
        return all(map(_only_raises, [*node.body, *getattr(node, "orelse", [])]))
    return False


def _of_body(body: list[ast.stmt], name: str, scope: _Scope, known: set[str]) -> Iterator[Edit]:
    """Edits of statements, in order; `known` are the names that are bound before each."""
    for node in body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield from _of_definition(node, f"{name}.{node.name}", scope)
            known.add(node.name)
            continue
        if _only_raises(node) or isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass):
            continue
        yield from _of_statement(node, name, known)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr) and part is not getattr(node, "annotation", None):
                yield from _of_expression(part, name, scope)
            elif isinstance(part, ast.withitem):
                yield from _of_expression(part.context_expr, name, scope)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.With):
            known |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for inner in ("body", "orelse", "finalbody"):
            yield from _of_body(getattr(node, inner, []), name, scope, known)
        for handler in getattr(node, "handlers", []):
            yield from _of_body(handler.body, name, scope, known)


def _of_statement(node: ast.stmt, name: str, known: set[str]) -> Iterator[Edit]:
    acts = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom)
    if acts or isinstance(node, ast.Break | ast.Continue):
        yield name, "dropped statement", node, None
    elif isinstance(node, ast.If):
        yield name, "dropped statement", node.test, ast.Constant(False)
        if node.orelse:
            yield name, "dropped statement", node.test, ast.Constant(True)
    elif isinstance(node, ast.Assign | ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript | ast.Attribute):
            yield name, "dropped statement", node, None
        elif isinstance(node, ast.AugAssign) or (isinstance(target, ast.Name) and target.id in known):
            yield name, "state", node, None
        if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
            yield name, "arithmetic", node, ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)


def _of_expression(root: ast.expr, name: str, scope: _Scope) -> Iterator[Edit]:
    """Edits within an expression; a number in an index, a slice or a range is one off, and no other constant."""
    if isinstance(root, ast.JoinedStr):
        return
    for operator, old, new in _changes(root, scope):
        yield name, operator, old, new
    for child in ast.iter_child_nodes(root):
        if isinstance(child, ast.keyword):
            if child.arg not in _NO_RESULT:
                yield from _of_expression(child.value, name, scope)
        elif isinstance(child, ast.comprehension):
            for part in (child.iter, *child.ifs):
                yield from _of_expression(part, name, scope)
        elif isinstance(child, ast.expr):
            if isinstance(child, ast.Constant) and _is_place(root, child):
                continue  # its place is one off already
            yield from _of_expression(child, name, scope)


def _is_place(parent: ast.AST, child: ast.AST) -> bool:
    places = isinstance(parent, ast.Slice) or (isinstance(parent, ast.Subscript) and parent.slice is child)
    return places or (isinstance(parent, ast.Call) and _called(parent) == "range")


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _shifted(node: ast.expr, by: int) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(node.value + by)
    return ast.BinOp(node, ast.Add() if by > 0 else ast.Sub(), ast.Constant(1))


def _changes(node: ast.expr, scope: _Scope) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """What the operators make of one node, its children left as they are."""
    if isinstance(node, ast.BinOp):
        if type(node.op) in _ARITHMETIC and not (_is_text(node.left) or _is_text(node.right)):
            yield "arithmetic", node, ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield "comparison" if isinstance(node.op, ast.Not) else "arithmetic", node, node.operand
    elif isinstance(node, ast.Compare):
        for place, kind in enumerate(map(type, node.ops)):
            ops = [*node.ops[:place], _COMPARISON[kind](), *node.ops[place + 1 :]]
            yield "comparison", node, ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "comparison", node, ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.IfExp):
        yield "dropped statement", node, node.body
        yield "dropped statement", node, node.orelse
    elif isinstance(node, ast.Slice):
        for side in ("lower", "upper"):
            if (edge := getattr(node, side)) is not None:
                yield "off by one", edge, _shifted(edge, 1)
    elif isinstance(node, ast.Subscript):
        place = node.slice
        if not (isinstance(place, ast.Slice | ast.Tuple) or _is_text(place)):
            numeric = not isinstance(place, ast.Constant) or isinstance(place.value, int)
            if numeric and isinstance(node.ctx, ast.Load):
                yield "off by one", place, _shifted(place, 1)
    elif isinstance(node, ast.Call):
        yield from _of_call(node, scope)
    elif isinstance(node, ast.Constant):
        if (other := _another(node.value)) is not None:
            yield "constant", node, ast.Constant(other)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        types = {argument.arg: _type(argument) for argument in scope.given if argument.arg not in ("self", "cls")}
        if node.id in types:
            alike = [other for other in types if types[other] == types[node.id]]
            if len(alike) > 1:
                yield "swapped name", node, ast.Name(alike[(alike.index(node.id) + 1) % len(alike)], ast.Load())


def _of_call(node: ast.Call, scope: _Scope) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    called = _called(node)
    if called == "range":
        yield "off by one", node.args[-1], _shifted(node.args[-1], -1)
        if len(node.args) > 1:
            yield "off by one", node.args[0], _shifted(node.args[0], 1)
    if called == "replace" and node.keywords:
        for keyword in node.keywords:
            kept = [k for k in node.keywords if k is not keyword]
            yield "state", node, ast.Call(node.func, node.args, kept)
    if called in _SYMMETRIC or called == "range" or any(isinstance(a, ast.Starred) for a in node.args):
        return
    types = dict(enumerate(scope.signatures.get(called, ())))
    for place, (first, second) in enumerate(pairwise(node.args)):
        alike = types.get(place, "") == types.get(place + 1, "")  # others fail at once
        if alike and ast.dump(first) != ast.dump(second) and not (_is_text(first) or _is_text(second)):
            args = [*node.args[:place], second, first, *node.args[place + 2 :]]
            yield "swapped argument", node, ast.Call(node.func, args, node.keywords)


def sources(packages: dict[str, Path], called: str = "*.py") -> dict[str, str]:
    """Path, from the folder of the rooms -> text, of the modules of the packages (name of a room -> its folder)."""
    found = {}
    for room, folder in packages.items():
        for path in sorted(folder.rglob(called)):
            found[f"{room}/{path.relative_to(folder).as_posix()}"] = path.read_text(encoding="utf-8")
    return found
