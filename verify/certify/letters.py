"""Claims and models in letters of which sympy knows nothing.

Of a symbol that is declared positive, sympy makes ``sqrt(x**2)`` to x before a checker sees either: a hypothesis that
no goal lists. The theory is therefore imported a second time, with a `Letter` in the place of every symbol, and the
checker takes claims and models from there. What their authors declare of a symbol goes with the letter, and is a
condition of the goals that speak of it: the checker uses it by name and nowhere else.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any

import sympy as sp

import commbounds
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


class Book:
    """The claims' bounds and the models by claim, in letters: a column's are read when they are first asked for."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}
        """Those of the second theory that are imported, by name."""
        self._functions: dict[tuple[str, str], Any] = {}
        self._bounds: dict[str, Any] = {}
        self._known_models: dict[str, Any] = {}
        for name in _SHARED:
            import_module(name)
        self._models = columns.Registry[Any]("MODELS", "theory", "models")

    def bound(self, claim: str) -> Any:
        """The right-hand side of a claim; None where the book has no such claim."""
        if claim not in self._bounds:
            with self._opened():
                found = import_module(_THEORY).claims().get(claim)
            if found is None:
                return None
            self._bounds[claim] = found.relation.rhs
        return self._bounds[claim]

    def model(self, claim: str) -> Any:
        """The model of a claim, as `commbounds.verify.certify.certificate.models` has it; None where there is none."""
        if claim not in self._known_models:
            with self._opened():
                found = self._models.get(claim)
            if found is None:
                return None
            self._known_models[claim] = found
        return self._known_models[claim]

    def written(self, expression: Any) -> Any:
        """An expression of the first theory in letters, and in the second theory's functions."""
        e = sp.sympify(expression, strict=True)
        if isinstance(e, sp.Symbol):
            return Letter(e.name, **e._assumptions_orig) if e._assumptions_orig and type(e) is not Letter else e
        if not e.args:
            return e
        return self._function(e)(*map(self.written, e.args))

    def _function(self, e: Any) -> Any:
        place = module, name = type(e).__module__, type(e).__name__
        if module in _SHARED or not module.startswith(f"{_THEORY}."):
            return e.func
        if place not in self._functions:
            with self._opened():
                self._functions[place] = getattr(import_module(module), name)
        return self._functions[place]

    @contextmanager
    def _opened(self) -> Iterator[None]:
        """While it lasts the second theory is the one that is imported, and every new symbol is a letter."""
        with _LOCK:
            first = _put_away()
            _put_in_place(self.modules)
            try:
                with _in_letters():
                    yield
            finally:
                self.modules = _put_away()
                _put_in_place(first)


@cache
def book() -> Book:
    """The second theory."""
    return Book()


def _ours() -> list[str]:
    return [name for name in sys.modules if name == _THEORY or name.startswith(f"{_THEORY}.")]


def _put_away() -> dict[str, ModuleType]:
    """Forget that a theory is imported; its modules."""
    return {name: sys.modules.pop(name) for name in _ours() if name not in _SHARED}


def _put_in_place(modules: dict[str, ModuleType]) -> None:
    """Have these be the imported theory."""
    sys.modules.update(modules)
    if _THEORY in modules:
        setattr(commbounds, "theory", modules[_THEORY])  # noqa: B010


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
