"""Formulas in LaTeX; how a symbol is written stands with its definition (`theory.symbols.Symbol`)."""

from typing import Any

from sympy.printing.latex import LatexPrinter


class _Printer(LatexPrinter):  # type: ignore[misc]
    def _as_ordered_terms(self, expression: Any, order: Any = None) -> list[Any]:
        # no sum starts with a minus where it can be helped: 1 - k/n
        return sorted(super()._as_ordered_terms(expression, order), key=lambda term: term.could_extract_minus_sign())


def latex(expression: Any, symbol_names: dict[Any, str] | None = None) -> str:
    """`expression` as LaTeX in the book's notation; `symbol_names` says how other symbols are written."""
    return str(_Printer({"symbol_names": symbol_names or {}}).doprint(expression))
