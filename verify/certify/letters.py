"""Claims and models in letters of which sympy knows nothing.

Of a symbol that is declared positive, sympy makes ``sqrt(x**2)`` to x before a checker sees either: a hypothesis that
no goal lists. The theory is therefore imported a second time, with a `Letter` in the place of every symbol, and the
checker takes claims and models from there. What their authors declare of a symbol goes with the letter, and is a
condition of the goals that speak of it: the checker uses it by name and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any

import sympy as sp

from commbounds import columns
from commbounds.theory.model import Goal, Model

_THEORY = "commbounds.theory"
_SHARED = tuple(f"{_THEORY}.{name}" for name in ("model", "functions", "evaluation", "rational", "notation"))
"""Modules without symbols: both theories have the same."""
_LOCK = RLock()


class Letter(sp.Symbol):  # type: ignore[misc]
    """A symbol that sympy knows nothing of, with what its author declares; one that declares nothing is sympy's own.

    Parameters
    ----------
    name : str
        Of the symbol.
    **declared : bool
        What its author declares: two letters of one name that are declared otherwise are two.
    """

    declared: frozenset[str]
    latex: str
    example: Any

    def __new__(cls, name: str, **declared: Any) -> Any:
        """The letter; two of one name and the same declaration are one."""
        said = frozenset(word for word, holds in declared.items() if holds and word != "commutative")
        return _letter(str(name), said, declared.get("commutative", True) is not False)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.declared)

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, bool]]:
        return (self.name,), {**dict.fromkeys(self.declared, True), "commutative": self.is_commutative}


@cache
def _letter(name: str, declared: frozenset[str], commutative: bool) -> Any:
    if not declared:
        return sp.Symbol.__xnew__(sp.Symbol, name, commutative=commutative)
    letter = sp.Symbol.__xnew__(Letter, name, commutative=commutative)
    letter.declared = declared
    return letter


def declared(symbol: Any, *words: str) -> bool:
    """Whether a symbol is a letter that is declared one of these: ``positive``, ``nonnegative``."""
    return isinstance(symbol, Letter) and not symbol.declared.isdisjoint(words)


def hypotheses(goal: Goal) -> dict[str, Any]:
    """What a goal takes for given by name: its conditions, and what is declared of its letters."""
    listed = {**goal.given, **goal.positive, **goal.zero}
    met = set().union(*(sp.sympify(e, strict=True).free_symbols for e in (goal.show, *listed.values())))
    words = {"positive": "{} > 0", "nonnegative": "{} >= 0"}
    for letter in sorted(met, key=str):
        for word, form in words.items():
            if declared(letter, word):
                listed[form.format(letter)] = letter
    return listed


@dataclass(frozen=True)
class Book:
    """The claims' bounds and the models by claim, in letters.

    Parameters
    ----------
    bounds : mapping from str to sympy expression
        Right-hand sides.
    models : mapping from str to Model
        Those that `commbounds.verify.certify.certificate.models` has.
    modules : mapping from str to module
        The second theory's, by name.
    """

    bounds: Mapping[str, Any]
    models: Mapping[str, Any]
    modules: Mapping[str, ModuleType]

    def written(self, expression: Any) -> Any:
        """An expression of the first theory in letters, and in the second theory's functions."""
        e = sp.sympify(expression, strict=True)
        if isinstance(e, sp.Symbol):
            return Letter(e.name, **e._assumptions_orig) if e._assumptions_orig and type(e) is not Letter else e
        if not e.args:
            return e
        module = self.modules.get(type(e).__module__)
        function = getattr(module, type(e).__name__) if module is not None else e.func
        return function(*map(self.written, e.args))


@cache
def book() -> Book:
    """The second theory: it takes a second or two, once."""
    with _imported_again():
        theory = import_module(_THEORY)
        bounds = {name: claim.relation.rhs for name, claim in theory.claims().items()}
        models = columns.entries("MODELS", "theory", "models")
        return Book(bounds, models, {name: sys.modules[name] for name in _ours() if name not in _SHARED})


def _ours() -> list[str]:
    return [name for name in sys.modules if name == _THEORY or name.startswith(f"{_THEORY}.")]


@contextmanager
def _in_letters() -> Iterator[None]:
    """While it lasts every new symbol is a letter."""
    with _LOCK:
        make = sp.Symbol.__dict__["__new__"]
        sp.Symbol.__new__ = staticmethod(lambda _, name, **said: Letter(name, **said))
        try:
            yield
        finally:
            sp.Symbol.__new__ = make


def goals(model: Model, bound: Any, at: Mapping[str, Any]) -> dict[str, Goal]:
    """A model's goals, with letters for the symbols that the model makes meanwhile."""
    with _in_letters():
        return model.goals_at(bound, at)


@contextmanager
def _imported_again() -> Iterator[None]:
    """While it lasts the theory is not imported yet, and every new symbol is a letter."""
    import commbounds

    with _LOCK:
        first = {name: sys.modules[name] for name in _ours()}
        for name in first:
            if name not in _SHARED:
                del sys.modules[name]
        try:
            with _in_letters():
                yield
        finally:
            for name in _ours():
                del sys.modules[name]
            sys.modules.update(first)
            setattr(commbounds, "theory", first[_THEORY])  # noqa: B010
