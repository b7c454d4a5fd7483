"""A value for every symbol in the book, at which bounds are evaluated: the example that its definition gives."""

import sympy as sp

from commbounds.theory import claims

SYMBOLS = sorted(
    {
        symbol
        for claim in claims().values()
        for expression in (
            claim.relation.rhs,
            *(h.condition for h in claim.assumes if isinstance(h.condition, sp.Basic)),
        )
        for symbol in expression.free_symbols
    },
    key=str,
)
"""Those of bounds and hypotheses."""
VALUES = {symbol.name: symbol.example for symbol in SYMBOLS}
"""Example by name."""
