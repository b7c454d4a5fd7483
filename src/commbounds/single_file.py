"""``python -m commbounds.single_file > commbounds_testing.py``: what tests of all-reduces need, in one file.

It needs numpy alone, and is made of the package's own modules: exact inputs, `reveal`, replay, bounds along an order.
"""

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import commbounds

_MODULES = (
    *("array_types", "theory.precision.formats", "theory.precision.roundings", "theory.precision.bounds", "_arrays"),
    *("collectives.cuts", "collectives.dense.messages", "collectives.dense.message_by_message"),
    *(
        "collectives.precision.steps",
        "_numpy_only",
        "_sums",
        "_judged",
        "_exact",
        "_orders",
        "_replayed",
        "_reveal",
        "_along",
    ),
)
"""In the order in which what is taken of them is written: what the public names need."""
_PUBLIC = (
    *("exact_inputs", "assert_exact", "reveal", "schedule_order", "replayed", "assert_replayed"),
    "assert_allreduce_close",
)
"""What keeps its docstring whole."""
_IMPORTS = """from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
"""


_LICENCE = """# Copyright (c) 2026 The commbounds developers. SPDX-License-Identifier: MIT
#
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
# documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
# rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
# persons to whom the Software is furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
# Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
# WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
# COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
# OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
_DOC = '''"""For tests of all-reduces: exact inputs, orders of additions found out and replayed, bounds along them.
Made of commbounds {version} by `python -m commbounds.single_file`. It needs numpy alone, and Python 3.11. Formats that
numpy does not have, bfloat16 and float8, need ml_dtypes.

    x = exact_inputs(P, n, "float32")              # inputs whose sums have the same bits in every order
    assert_exact(allreduce(x), x)
    found = reveal(allreduce, P, n, "float32")     # in which order and formats it adds
    assert_replayed(allreduce(y), y, found.order)  # the same bits, for any inputs y
    assert_allreduce_close(allreduce(y), y)        # a bound for any order, or along one
"""'''


def written() -> str:
    """The file ``commbounds_testing.py``, as text."""
    known: dict[str, str] = {}
    renamed: dict[tuple[str, str], str] = {}
    for module in _MODULES:
        found = dict(_taken(module))
        # a name that another module has, for something else, is given this one's
        changed = {
            name: f"{name}_of_{module.rpartition('.')[2].strip('_')}"
            for name, text in found.items()
            if known.get(name, text) != text
        }
        renamed |= {(module, name): other for name, other in changed.items()}
        for origin, name, here in _imported(module):
            if (origin, name) in renamed:
                changed[here] = renamed[origin, name]
        for name, other in changed.items():
            found = {other if key == name else key: _renamed(text, name, other) for key, text in found.items()}
        known |= found
    before: dict[str, str] = {}
    while before != known:
        before, (needed, attributes) = known, _needed(known)
        known = {name: _without_methods(text, attributes) for name, text in known.items() if name in needed}
    parts = [_LICENCE, _DOC.format(version=commbounds.__version__), _IMPORTS]
    for text in known.values():
        gap = (
            "\n\n"
            if text.startswith(("def", "class", "@")) or parts[-1].lstrip().startswith(("def", "class", "@"))
            else "\n"
        )
        parts.append(gap + _joined(text))
    return "\n".join(parts[:3]).rstrip("\n") + "\n" + "".join(parts[3:]) + "\n"


def _needed(known: dict[str, str]) -> tuple[set[str], set[str]]:
    """The names that the public ones need, and attributes that are read in their texts."""
    needed: set[str] = set()
    attributes: set[str] = set()
    trees = {name: ast.parse(text) for name, text in known.items()}
    open_ = set(_PUBLIC)
    while open_:
        needed |= open_
        nodes = [node for name in open_ for node in ast.walk(trees[name])]
        attributes |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        open_ = {name for text in open_ for name in _read(trees[text]) if name in known} - needed
    return needed, attributes


def _read(tree: ast.AST) -> set[str]:
    """Names that are read, and not of variables."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    variables = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    variables |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return {node.id for node in names} - variables


def _without_methods(text: str, attributes: set[str]) -> str:
    """Without methods that are never read."""
    lines = text.splitlines()
    for node in [node for top in ast.parse(text).body if isinstance(top, ast.ClassDef) for node in reversed(top.body)]:
        kept = ("__str__", "__post_init__", "__init__") if "class Format" not in text else ()
        if isinstance(node, ast.FunctionDef) and node.name not in (*attributes, *kept):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    return "\n".join(lines)


def _source(module: str) -> str:
    found = find_spec(f"commbounds.{module}")
    if found is None or found.origin is None:
        raise FileNotFoundError(f"the source of commbounds.{module}")
    return Path(found.origin).read_text(encoding="utf-8")


def _imported(module: str) -> Iterator[tuple[str, str, str]]:
    """Of what a module imports from others of the package: the other, the name there, the name here."""
    for node in ast.parse(_source(module)).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("commbounds."):
            for alias in node.names:
                yield str(node.module).removeprefix("commbounds."), alias.name, alias.asname or alias.name


def _taken(module: str) -> Iterator[tuple[str, str]]:
    """Names, and the text that defines them."""
    text = _source(module)
    lines = text.splitlines()
    replaced = set() if module == "_numpy_only" else {name for name, _ in _taken("_numpy_only")}
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                name = node.name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case _:
                continue
        if name not in replaced:
            yield name, _text(node, lines)


def _text(node: ast.stmt, lines: list[str]) -> str:
    """The lines of a definition: without Numba, and with the docstrings of what is public alone."""
    compiled = [d for d in getattr(node, "decorator_list", []) if "njit" in ast.unparse(d)]
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    left_out = {line for d in compiled for line in _lines(d)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner) and len(inner.body) > 1:
            said = list(_lines(inner.body[0]))
            if inner.name in _PUBLIC:  # what it says first, without the sections
                blank = [at for at in said if not lines[at - 1].strip()]
                said = list(range(blank[0], said[-1])) if blank else []
            left_out |= set(said)
    kept = [lines[at - 1] for at in _lines(node, first) if at not in left_out]
    return "\n".join(line for line in kept if line.strip())


def _joined(text: str) -> str:
    """With as much of statements and heads of functions on a line as fits."""
    lines: list[str | None] = list(text.splitlines())
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            span = range(node.lineno, node.body[0].lineno)
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            span = _lines(node)
        else:
            continue
        old = [line for at in span if (line := lines[at - 1]) is not None]
        if any("#" in line for line in old):
            continue
        new = old[:1]
        for line in map(str.strip, old[1:]):
            closes = line[0] in ")]}"
            longer = (new[-1].removesuffix(",") if closes else new[-1]) + " " * (
                not closes and new[-1][-1] not in "([{"
            )
            if len(longer + line) <= 118:
                new[-1] = longer + line
            else:
                new.append(old[1][: -len(old[1].lstrip())] + line)
        for at in span:
            lines[at - 1] = None
        lines[span[0] - 1] = "\n".join(new)
    joined = "\n".join(line for line in lines if line is not None)
    # but for what ends a docstring
    before, after = (re.sub(r"(\\n)?\s*'\)", "')", ast.dump(ast.parse(code))) for code in (text, joined))
    if before != after:
        raise ValueError(f"joining lines changes what they say: {text}")
    return joined


def _lines(node: ast.AST, first: int | None = None) -> range:
    return range(first or node.lineno, node.end_lineno + 1)  # type: ignore[attr-defined]


def _renamed(text: str, name: str, other: str) -> str:
    """With another name wherever it stands as a name, in f-strings as well."""
    return re.sub(rf"(?<![\w.]){name}(?!\w)", other, text)


if __name__ == "__main__":
    print(written(), end="")
