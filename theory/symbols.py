"""`Symbol`: a letter of the book's formulas, with how it is written and a value to try it at."""

from __future__ import annotations

from typing import Any

import sympy as sp


def expression(name: str, value: Any) -> Any:
    """A number, or an expression of numbers and symbols, as sympy has it.

    Raises
    ------
    TypeError
        `value` is something else, such as a text, which sympy would run as a program.
    """
    try:
        made = sp.sympify(value, strict=True)
    except (sp.SympifyError, TypeError):
        made = None
    if not isinstance(made, sp.Expr):
        raise TypeError(f"{name} must be a number or a sympy expression, got {value!r:.80}")
    return made


class Symbol(sp.Symbol):  # type: ignore[misc]
    r"""A sympy symbol that carries its LaTeX and an example value.

    Parameters
    ----------
    name : str
        What claims, cases and findings call it.
    latex : str
        How it is written; empty where by its name.
    example : int, Fraction, sympy number or None
        A value that its assumptions admit, at which tests evaluate bounds; small, and no power of two where it counts
        something, so that roundings show.
    **assumptions
        As `sympy.Symbol` takes them.

    Raises
    ------
    ValueError
        The example is not admitted, or the same symbol was written or exemplified otherwise before.

    Examples
    --------
    >>> from commbounds.theory.notation import latex
    >>> latex(1 / Symbol("bend", r"\mu", 2, positive=True))
    '\\frac{1}{\\mu}'
    """

    __slots__ = ("example", "latex")

    latex: str
    example: Any

    def __new__(cls, name: str, latex: str = "", example: Any = None, **assumptions: Any) -> Symbol:
        """The symbol; two of one name and the same assumptions are one."""
        symbol: Symbol = super().__new__(cls, name, **assumptions)
        for field, value, unsaid in (("latex", latex, ""), ("example", example, None)):
            said = getattr(symbol, field, unsaid)
            if value != unsaid and said not in (unsaid, value):
                raise ValueError(f"{field} of {name} is {said!r} elsewhere, got {value!r}")
            setattr(symbol, field, said if value == unsaid else value)
        if example is not None and any(
            getattr(sp.sympify(example, strict=True), f"is_{a}") != v for a, v in assumptions.items()
        ):
            raise ValueError(f"example of {name} must be {', '.join(assumptions)}, got {example!r}")
        return symbol

    def __getnewargs_ex__(self) -> tuple[tuple[str, str, Any], dict[str, Any]]:
        return (self.name, self.latex, self.example), self._assumptions_orig

    def _latex(self, printer: Any) -> str:
        return self.latex or str(printer._print_Symbol(self))
