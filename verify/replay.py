"""`Table`: published numbers beside ours, cell by cell; and how the tables of a replay are made."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass


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


Replay = Callable[[str, int], Sequence[Callable[[], Table]]]
"""(budget, seed) -> what makes each table, in their order; picklable, as a table may be made elsewhere."""


def replayed(replay: Replay, budget: str, seed: int, executor: Executor | None = None) -> Iterator[Table]:
    """The tables of a replay, in their order, each as soon as it and those before it are ready.

    Parameters
    ----------
    replay : Replay
        What is replayed.
    budget : str
        quick, standard or thorough.
    seed : int
        Root of our own randomness; the same gives the same tables, whatever the executor.
    executor : concurrent.futures.Executor or None
        Makes one table a task; None makes them here, one after another.
    """
    tables = replay(budget, seed)
    if executor is None:
        yield from (table() for table in tables)
        return
    futures = [executor.submit(table) for table in tables]
    try:
        yield from (future.result() for future in futures)
    finally:
        for future in futures:
            future.cancel()
