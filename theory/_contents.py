"""The book, read when it is first asked for: who wants a cost or a symbol does not wait for it."""

from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import overload

from commbounds.columns import Registry, columns
from commbounds.theory.claim import Claim


@overload
def claims() -> Registry[Claim]: ...
@overload
def claims(pattern: str) -> Mapping[str, Claim]: ...
def claims(pattern: str = "") -> Mapping[str, Claim]:
    """Every claim of the book under its name, in the order of the columns; a column is read when it is asked for.

    Parameters
    ----------
    pattern : str
        Which claims, shell-style; empty for all.

    Raises
    ------
    TypeError
        `pattern` is no string.
    KeyError
        No claim matches; the message says which names are near.

    Examples
    --------
    >>> list(claims("sparsifiers.randk.unbi*"))
    ['sparsifiers.randk.unbiased']
    """
    from commbounds.theory import book

    whole = book.claims()
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a string, got {type(pattern).__name__}")
    if not pattern:
        return whole
    column = pattern.partition(".")[0]
    chapters = [name for name in columns() if fnmatchcase(name, column)] if "." in pattern else columns()
    found = {
        name: claim
        for chapter in chapters
        for name, claim in whole.of_column(chapter).items()
        if fnmatchcase(name, pattern)
    }
    if not found:
        near = get_close_matches(pattern.strip("*."), [*whole, *columns()], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"the columns are {', '.join(columns())}"
        raise KeyError(f"no claim matches {pattern!r}; {hint}")
    return found
