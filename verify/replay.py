"""`Table`: published numbers beside ours, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Replay", "Table"]


@dataclass(frozen=True)
class Table:
    """A table of a replay.

    Parameters
    ----------
    title : str
        What it shows.
    headings : tuple of str
        One for every column.
    rows : tuple of tuple of str
        Cells, as they are printed.
    note : str
        How to read it: what is published, what is ours, what was to be expected to agree and to which digit.
    agrees : bool
        Whether everything that is determined (not a draw of ours) agrees with what is published.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    agrees: bool = True

    def __post_init__(self) -> None:
        if any(len(row) != len(self.headings) for row in self.rows):
            raise ValueError(f"every row of {self.title!r} must have {len(self.headings)} cells")


Replay = Callable[[str, int], Iterator[Table]]
"""(budget, seed) -> the tables, as they are ready."""
