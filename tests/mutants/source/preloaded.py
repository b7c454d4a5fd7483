"""What is imported once, for all mutants: everything; and how the functions of a module are changed after that."""

import ast
import gc
import importlib
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper, partial
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, FunctionType

Where = tuple[str, int]
"""Of a function of a module: its qualified name, and its first line."""


Called = tuple[str, str, int]
"""A function: its module, and where it is there."""


class Calls:
    """The functions of the rooms that are called, in whatever thread, from one `taken` to the next."""

    def __init__(self) -> None:
        self._called: set[Called] = set()
        threading.settrace(self._notice)
        sys.settrace(self._notice)

    def _notice(self, frame: FrameType, _event: str, _: object) -> None:
        if (module := frame.f_globals.get("__name__", "")).startswith(ROOMS):
            self._called.add((module, *_where(frame.f_code)))

    def taken(self) -> frozenset[Called]:
        """Those since the last time."""
        called, self._called = frozenset(self._called), set()
        return called


class Functions:
    """All functions of the rooms, as imported: every one can be given another body."""

    def __init__(self) -> None:
        self._early: set[CodeType] = set()
        sys.setprofile(self._notice)
        dict(importlib.import_module("commbounds.verify.experiments").EXPERIMENTS)  # imports all columns
        sys.setprofile(None)
        self._at: dict[str, dict[Where, list[FunctionType]]] = defaultdict(lambda: defaultdict(list))
        self._caches = []
        for found in gc.get_objects():
            if isinstance(found, FunctionType):
                self._at[found.__globals__.get("__name__", "")][_where(found.__code__)].append(found)
            elif isinstance(found, _lru_cache_wrapper) and (found.__module__ or "").startswith(ROOMS):
                self._caches.append(found)
        gc.collect()
        gc.freeze()

    def _notice(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith(ROOMS):
            self._early.add(frame.f_code)

    def changed(self, module: str, tree: ast.Module) -> frozenset[Called] | None:
        """The functions whose bodies are others in the tree; None where more differs, or importing has called one."""
        if module not in sys.modules:
            return None
        was, now = sys.modules[module].__spec__.loader.get_code(module), _compiled(module, tree)
        if _when_imported(was) != _when_imported(now):
            return None
        changed = [old for old, new in zip(_bodies(was), _bodies(now), strict=True) if old != new]
        if any(old in self._early or not self._at[module].get(_where(old)) for old in changed):
            return None
        return frozenset((module, *_where(old)) for old in changed)

    def put(self, module: str, tree: ast.Module) -> None:
        """Give the module's functions the bodies that they have in the tree; they `forget`."""
        for code in _inside(_compiled(module, tree)):
            for function in self._at[module].get(_where(code), ()):
                if function.__code__ != code:
                    function.__code__ = code
        self.forget()

    def forget(self) -> None:
        """Forget what the functions have worked out."""
        for cached in self._caches:
            cached.cache_clear()


ROOMS = ("commbounds.compressors", "commbounds.collectives")


def by_case(group: tuple[str, ...]) -> bool:
    """Whether the group is one claim that is judged case by case: a definition, or a pairing."""
    from commbounds.verify.experiments import EXPERIMENTS

    named = len(group) == 1 and group[0].endswith((".definition", ".ranks"))
    return named and hasattr(EXPERIMENTS[group[0]], "prepare")  # a claim of another kind may be called so


def cases(claim: str) -> Iterator[Callable[[], list[str]]]:
    """What says, of each of the claim's cases, those apart that are drawn, how the implementation differs."""
    from commbounds.collectives import COLLECTIVES
    from commbounds.compressors import COMPRESSORS, MECHANISMS
    from commbounds.verify.experiment import budgets
    from commbounds.verify.experiments import EXPERIMENTS

    study = EXPERIMENTS[claim]
    implementation = {**COMPRESSORS, **MECHANISMS, **COLLECTIVES}[study.subject]
    for case in study.corpus(budgets["quick"]):
        study.prepare(case)
        yield partial(study.differences, implementation, case)


def _where(code: CodeType) -> Where:
    return code.co_qualname, code.co_firstlineno


def _compiled(module: str, tree: ast.Module) -> CodeType:
    return compile(tree, sys.modules[module].__file__, "exec", dont_inherit=True)


def _inside(code: CodeType) -> Iterator[CodeType]:
    for held in code.co_consts:
        if isinstance(held, CodeType):
            yield held
            yield from _inside(held)


def _bodies(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and of its classes, in their order."""
    for held in code.co_consts:
        if isinstance(held, CodeType):
            yield from [held] if held.co_flags & CO_OPTIMIZED else _bodies(held)


def _when_imported(code: CodeType) -> object:
    """All that a module, or a class, does when it is imported."""
    parts = []
    for held in code.co_consts:
        if not isinstance(held, CodeType):
            parts.append((type(held), repr(held)))
        else:
            parts.append((*_where(held), held.co_freevars) if held.co_flags & CO_OPTIMIZED else _when_imported(held))
    return code.co_code, code.co_names, parts
