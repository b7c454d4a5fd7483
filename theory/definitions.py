"""What the letters of the formulas mean: the sentence that stands below a symbol where it is defined."""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from commbounds.theory.claim import Claim

_ROOT = "commbounds.theory"


def definitions(claim: Claim) -> dict[str, str]:
    """The meaning of every symbol of a claim's bound, by name; empty where none is written.

    One letter may mean different things in different columns; a column's own modules come first, then those that they
    import from.

    Examples
    --------
    >>> from commbounds.theory import claims
    >>> definitions(claims()["sparsifiers.topk.contraction"])["n"]
    "Entries of the vector (the papers' d); columns of a matrix."
    """
    known = _of_column(claim.column)
    return {name: known.get(name, "") for name in claim.parameters}


@cache
def _of_column(column: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    wanted, seen = _modules(f"{_ROOT}.{column}"), set()
    while wanted:
        name = wanted.pop(0)
        if name in seen:
            continue
        seen.add(name)
        defined, imported = _in_module(name)
        found = {**defined, **found}
        wanted += imported
    return found


def _modules(name: str) -> list[str]:
    """A module, or a package and its modules; none if there is no such thing."""
    try:
        module = import_module(name)
    except ModuleNotFoundError:
        return []
    inside = [f"{name}.{m.name}" for m in iter_modules(getattr(module, "__path__", ()))]
    return [name, *inside]


@cache
def _in_module(name: str) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Meanings by symbol name, and the theory's modules that are imported from."""
    body = ast.parse(inspect.getsource(import_module(name))).body
    found, imported = {}, []
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(f"{_ROOT}."):
            imported.append(str(statement.module))
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
            continue
        call = statement.value
        if isinstance(call.func, ast.Name) and call.func.id == "Symbol" and isinstance(call.args[0], ast.Constant):
            text = following.value if isinstance(following, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[str(call.args[0].value)] = " ".join(inspect.cleandoc(text.value).split())
    return found, tuple(imported)
