"""`Column`: a paper, or a family of methods, as a chapter of the book."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from commbounds.columns import part

if TYPE_CHECKING:
    from commbounds.theory.claim import Claim


_NAMED = re.compile(r"`([a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_]*){2,})`")


@dataclass(frozen=True)
class Synopsis:
    """A column in one screen, in the words of a reader. Claims that a sentence relies on stand behind it in backticks.

    Parameters
    ----------
    found : str
        What was found, in a sentence or two.
    promise : str
        What the papers promise, or what one would like to be so.
    holds : str
        What of it holds; it names claims that hold, and no others.
    fails : str
        What does not; it names claims that do not hold as stated, and no others.
    tight : str
        How close the bounds are to what happens.
    lesson : str
        What to take away.
    picture : str
        Name of the exhibit that shows it; its first panel is the picture.
    system : str
        Name of the system that the column is about, if it is about one. Columns of one system share it.
    practice : bool
        Whether it is about what is trained with now and what packages ship: apart from the ground of the systems.

    Raises
    ------
    ValueError
        A sentence is missing.
    """

    found: str
    promise: str
    holds: str
    fails: str
    tight: str
    lesson: str
    picture: str = ""
    system: str = ""
    practice: bool = False

    def __post_init__(self) -> None:
        for name in ("found", "promise", "holds", "fails", "tight", "lesson"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} of a synopsis must not be empty")

    @property
    def parts(self) -> dict[str, str]:
        """The story's sentences, under the words that introduce them."""
        return {
            "Promised": self.promise,
            "Holds": self.holds,
            "Does not": self.fails,
            "How tight": self.tight,
            "Take away": self.lesson,
        }


def claims_named(text: str) -> list[str]:
    """Names of claims that stand in backticks, in their order.

    Examples
    --------
    >>> claims_named("Nothing is lost (`topk.all.mass`), and `rng` is no claim.")
    ['topk.all.mass']
    """
    return _NAMED.findall(text)


@dataclass(frozen=True)
class Column:
    """What is said of a column where it has a heading.

    Its claims are ``CLAIMS`` in ``theory/NAME/claims.py``, or in ``theory/NAME.py`` where that is the column.

    Parameters
    ----------
    name : str
        The folder's name in every room, and the first part of the claims' names.
    title : str
        Its heading: who or what, a colon, and the point in a few words.
    story : str
        What the column is about and how its sources are known, in a sentence or three.
    synopsis : Synopsis or None
        The column in one screen.
    recalled : bool
        Whether no text was read for it: its claims' sources are recalled or derived, and a test holds it to that.
    renamed : mapping of str to str
        Former names of its claims, and what they are called now: commands, files of findings and pages know both.
    """

    name: str
    title: str
    story: str
    synopsis: Synopsis | None = None
    recalled: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name != self.name.lower():
            raise ValueError(f"name must be a lower-case identifier, got {self.name!r}")
        for word in ("title", "story"):
            if not getattr(self, word).strip():
                raise ValueError(f"{word} of {self.name} must not be empty")
        for former, now in self.renamed.items():
            if {former.partition(".")[0], now.partition(".")[0]} != {self.name} or now in self.renamed:
                raise ValueError(f"{former} and {now} must be a former and a present name of the column {self.name}")

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims, in the column's order; its modules are imported when they are first asked for.

        Raises
        ------
        ValueError
            There are none, or a claim's name begins with another column's.
        """
        book = part("theory", self.name, "claims")
        found: tuple[Claim, ...] = getattr(book, "CLAIMS", ())
        if not found:
            raise ValueError(f"the column {self.name} must have CLAIMS in theory/{self.name}/claims.py")
        for claim in found:
            if claim.column != self.name:
                raise ValueError(f"{claim.name} is no claim of the column {self.name}")
        return found


@cache
def former_names(column: str) -> Mapping[str, str]:
    """Former names of a column's claims, and what they are called now; empty where there is no such column."""
    found = part("theory", column) if column.isidentifier() else None
    return MappingProxyType({} if found is None else found.COLUMN.renamed)


def current_name(name: str) -> str:
    """What a claim is called now, of which this may be a former name; any other name as it is."""
    return former_names(name.partition(".")[0]).get(name, name)
