"""`COUNT`: how many, as people type it: ``1000000``, ``1_000_000`` or ``1e6``."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click

_LARGEST = 10**18
"""Nothing that is counted here is as many; 1e999999999 is not worked out."""


class Count(click.ParamType):  # type: ignore[type-arg] # generic in some versions of click
    """An integer in a range, which may have an exponent.

    Parameters
    ----------
    least : int
        Smallest that is accepted.
    most : int
        Largest.
    """

    name = "count"

    def __init__(self, least: int = 1, most: int = _LARGEST) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        count = integer(str(value))
        if count is None:
            self.fail(f"{value!r} is not a whole number, such as 1000000 or 1e6", param, ctx)
        if not self.least <= count <= self.most:
            bounds = f"at least {self.least}" if self.most == _LARGEST else f"in [{self.least}, {self.most}]"
            self.fail(f"must be {bounds}, got {value}", param, ctx)
        return count

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What the help shows in place of a value; older versions of click give no context."""
        return "COUNT"


COUNT = Count()
"""At least 1."""
WHOLE = Count(-_LARGEST)
"""Any whole number: the command itself says what it may be."""


def integer(text: str) -> int | None:
    """The integer that a text stands for, and None where it stands for none, or for one beyond all counts."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not value.is_finite() or not -_LARGEST <= value <= _LARGEST:  # an integer would write out its exponent
        return None
    return int(value) if value == value.to_integral_value() else None
