"""Formula mutants: the neighbours of a bound, which a claim that holds should be able to tell from the bound itself.

A bound that is true may be far from what is measured: then a wrong term, a wrong constant or a wrong exponent would be
seen by no case. Each mutant changes one thing in the formula. Measured values that the bound admits and a mutant does
not *refute* the mutant, and so test what it changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import sympy as sp
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import BooleanAtom

_LESS = sp.Rational(9, 10)


@dataclass(frozen=True)
class FormulaMutant:
    """A bound with one thing changed.

    Parameters
    ----------
    name : str
        What was changed, in words: ``without the term 1/P``.
    bound : sympy expression
        The changed bound.
    """

    name: str
    bound: Any


@dataclass(frozen=True)
class Regime:
    """A branch of a Piecewise, Min or Max in a bound.

    Parameters
    ----------
    name : str
        Which: ``Min(k, n) = k``, ``n > 4``.
    node : sympy expression
        The Piecewise, Min or Max.
    branch : int
        Which of its arguments.
    """

    name: str
    node: Any
    branch: int


def formula_mutants(bound: Any) -> tuple[FormulaMutant, ...]:
    """The neighbours of a bound: one thing changed in each, none twice.

    Every term of a sum dropped, taken 0.9 and 10/9 times; every factor dropped, its exponent moved by one away from and
    towards zero; every integer symbol one smaller and one larger; every Min, Max and Piecewise reduced to each of its
    branches; the whole taken 0.9 and 10/9 times. Which of them are stronger than the bound depends on the values of the
    symbols: see `verify.points`.

    Parameters
    ----------
    bound : sympy expression
        Right-hand side of a claim.

    Examples
    --------
    >>> import sympy as sp
    >>> n, k = sp.symbols("n k", integer=True, positive=True)
    >>> [mutant.name for mutant in formula_mutants(1 - k / n)][:4]
    ['0.9 times the bound', '10/9 times the bound', 'without the term 1', '0.9 times the term 1']
    """
    return _mutants(sp.sympify(bound, strict=True))


@cache
def _mutants(bound: Any) -> tuple[FormulaMutant, ...]:
    if bound.is_zero:
        return ()
    seen, found = {bound}, []
    for name, changed in _changed(bound):
        if changed not in seen and not changed.has(sp.zoo, sp.nan):
            seen.add(changed)
            found.append(FormulaMutant(name, changed))
    return tuple(found)


def _changed(bound: Any) -> Iterator[tuple[str, Any]]:
    if bound.is_number:
        yield "0.9 times the bound", _LESS * bound
        yield "10/9 times the bound", bound / _LESS
        return
    if not bound.is_Add:
        yield "0.9 times the bound", sp.Mul(_LESS, bound, evaluate=False) if bound.is_Piecewise else _LESS * bound
        yield "10/9 times the bound", sp.Mul(1 / _LESS, bound, evaluate=False) if bound.is_Piecewise else bound / _LESS
    else:
        yield "0.9 times the bound", sp.Add(*(_LESS * term for term in bound.args))
        yield "10/9 times the bound", sp.Add(*(term / _LESS for term in bound.args))
    yield from _in_nodes(bound, lambda changed: changed)
    for symbol in sorted(bound.free_symbols, key=lambda s: s.name):
        if symbol.is_integer:
            yield f"{symbol} - 1 for {symbol}", _shifted(bound, symbol, -1)
            yield f"{symbol} + 1 for {symbol}", _shifted(bound, symbol, 1)


def _in_nodes(node: Any, put: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    """Changes at this node and below; `put` sets a node into the whole in place of this one."""
    if not node.args or isinstance(node, sp.Rel | BooleanAtom):
        return
    if node.is_Add:
        yield from _in_sum(node, put)
    elif node.is_Mul:
        yield from _in_product(node, put)
    elif node.is_Pow:
        yield from _in_power(node, put)
    elif isinstance(node, sp.Min | sp.Max):
        for branch in node.args:
            yield f"{branch} for {_short(node)}", put(branch)
    elif node.is_Piecewise:
        for number, (branch, _) in enumerate(node.args):
            yield f"branch {number + 1} everywhere, {_short(branch)}", put(branch)
            if not branch.is_Add and not branch.is_zero:
                for factor, words in ((_LESS, "0.9"), (1 / _LESS, "10/9")):
                    scaled = _put_argument(put, node, number, factor * branch)
                    yield f"{words} times branch {number + 1}, {_short(branch)}", scaled
    for number, argument in enumerate(node.args):
        if node.is_Pow and number == 1:
            continue  # exponents are changed by one, above
        expression = argument.expr if isinstance(argument, ExprCondPair) else argument
        if isinstance(expression, sp.Expr):
            yield from _in_nodes(expression, partial(_put_argument, put, node, number))


def _put_argument(put: Callable[[Any], Any], node: Any, number: int, changed: Any) -> Any:
    """The whole with another argument of a node; a branch of a Piecewise keeps its condition."""
    if isinstance(node.args[number], ExprCondPair):
        changed = ExprCondPair(changed, node.args[number].cond)
    return put(_built(node, (*node.args[:number], changed, *node.args[number + 1 :])))


def _built(node: Any, arguments: tuple[Any, ...]) -> Any:
    """The node with other arguments; what compares is left as it is, since to decide it takes longer than all else."""
    if isinstance(node, sp.Min | sp.Max | sp.Rel):
        return node.func(*arguments, evaluate=False)
    return node.func(*arguments)


def _shifted(node: Any, symbol: Any, step: int) -> Any:
    """The node with symbol + step for the symbol."""
    if node == symbol:
        return symbol + step
    if symbol not in node.free_symbols:
        return node
    return _built(node, tuple(_shifted(argument, symbol, step) for argument in node.args))


def _in_sum(node: Any, put: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    for number, term in enumerate(node.args):
        rest = sp.Add(*node.args[:number], *node.args[number + 1 :])
        yield f"without the term {_short(term)}", put(rest)
        yield f"0.9 times the term {_short(term)}", put(rest + _LESS * term)
        yield f"10/9 times the term {_short(term)}", put(rest + term / _LESS)


def _in_product(node: Any, put: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    for number, factor in enumerate(node.args):
        rest = sp.Mul(*node.args[:number], *node.args[number + 1 :])
        if factor.is_number:
            continue  # a term's factor: changed with its term
        yield f"without the factor {_short(factor)}", put(rest)


def _in_power(node: Any, put: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    base, exponent = node.args
    if base.is_number or exponent.is_number:
        for step in (-1, 1):
            if exponent + step != 0 or not node.is_number:
                yield f"exponent {_short(exponent + step)} of {_short(base)}", put(base ** (exponent + step))


def _short(expression: Any) -> str:
    words = str(expression)
    return words if len(words) <= 60 else f"{words[:57]}..."


def regimes(bound: Any) -> tuple[Regime, ...]:
    """The branches of every Piecewise, Min and Max in a bound, outermost first.

    Examples
    --------
    >>> import sympy as sp
    >>> n, k = sp.symbols("n k", positive=True)
    >>> [regime.name for regime in regimes(2 * sp.Min(k, n))]
    ['Min(k, n) = k', 'Min(k, n) = n']
    """
    return _regimes(sp.sympify(bound, strict=True))


@cache
def _regimes(bound: Any) -> tuple[Regime, ...]:
    found: dict[tuple[Any, int], Regime] = {}
    for node in sp.preorder_traversal(bound):
        if isinstance(node, sp.Min | sp.Max):
            if node.is_number:
                continue
            for number, branch in enumerate(sorted(node.args, key=sp.default_sort_key)):
                name = f"{_short(node)} = {_short(branch)}"
                found.setdefault((node, number), Regime(name, node, number))
        elif isinstance(node, sp.Piecewise):
            for number, (_, condition) in enumerate(node.args):
                name = "otherwise" if condition == sp.true else str(condition)
                found.setdefault((node, number), Regime(name, node, number))
    return tuple(found.values())
