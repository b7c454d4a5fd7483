"""`Column`: a paper, or a family of methods, as a chapter of the book."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commbounds.theory.claim import Claim


@dataclass(frozen=True)
class Column:
    """What is said of a column where it has a heading. Its claims are those of ``theory/NAME/claims.py``.

    Parameters
    ----------
    name : str
        The folder's name in every room, and the first part of the claims' names.
    title : str
        Its heading: who or what, a colon, and the point in a few words.
    story : str
        What the column is about and how its sources are known, in a sentence or three.
    """

    name: str
    title: str
    story: str

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name != self.name.lower():
            raise ValueError(f"name must be a lower-case identifier, got {self.name!r}")
        for field in ("title", "story"):
            if not getattr(self, field).strip():
                raise ValueError(f"{field} of {self.name} must not be empty")

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims, in the column's order; its modules are imported when they are first asked for.

        Raises
        ------
        ValueError
            A claim's name begins with another column's.
        """
        found: tuple[Claim, ...] = import_module(f"commbounds.theory.{self.name}.claims").CLAIMS
        for claim in found:
            if claim.column != self.name:
                raise ValueError(f"{claim.name} is no claim of the column {self.name}")
        return found
