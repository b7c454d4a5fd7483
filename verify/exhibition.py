"""`exhibit_all`: the data of figures about more than one claim, made on any executor and kept in a file."""

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from commbounds.verify.believed import each_once
from commbounds.verify.confront import versions
from commbounds.verify.executors import TaskLost
from commbounds.verify.exhibit import Exhibit, exhibit_from_json
from commbounds.verify.exhibits import EXHIBITS, exhibit_names
from commbounds.verify.experiment import budgets
from commbounds.verify.store import Store
from commbounds.verify.tasks import Task, cost_of, in_turn, work_off
from commbounds.verify.writing import exclusive_lock, replaced

EXHIBIT_SECONDS = 2.5
"""That an exhibit takes where nothing was noted of it, about."""


def select_exhibits(patterns: Iterable[str] = ("*",)) -> list[str]:
    """Names of the exhibits that match any of the shell-style patterns, in the order of the columns; maybe none."""
    return [name for name in exhibit_names() if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def make_exhibit(name: str, budget: str = "quick", seed: int = 0) -> Exhibit:
    """The exhibit of this name; a function of the arguments and of the versions that it records."""
    exhibit: Exhibit = EXHIBITS[name](budget, seed)
    return replace(exhibit, seed=seed, budget=budget, versions=versions())


def load_exhibits(path: str | os.PathLike[str]) -> list[Exhibit]:
    """The exhibits in a file.

    Raises
    ------
    ValueError
        A line holds none; the message names it.
    """
    exhibits = []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}") from error
    for number, line in enumerate(lines, start=1):
        try:
            exhibits.append(_believed(exhibit_from_json(line)))
            each_once(exhibits, lambda exhibit: exhibit.name)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error!s:.500}") from error
    return exhibits


def _believed(exhibit: Exhibit) -> Exhibit:
    """`exhibit`, if there is one of this name, and what it says can have been drawn.

    Raises
    ------
    ValueError
        It cannot.
    """
    if exhibit.name not in EXHIBITS:
        raise ValueError(f"there is no exhibit {exhibit.name!r}")
    if exhibit.budget not in budgets or exhibit.seed < 0 or set(exhibit.versions) != set(versions()):
        raise ValueError(f"{exhibit.name}: budget, seed and versions must be those of a run")
    if not exhibit.panels:
        raise ValueError(f"{exhibit.name} must have a panel")
    for panel in exhibit.panels:
        if {panel.xscale, panel.yscale} - {"linear", "log"}:
            raise ValueError(f"{exhibit.name}: scales must be linear or log, got {panel.xscale} and {panel.yscale}")
    return exhibit


def exhibit_all(
    patterns: Iterable[str] = ("*",),
    budget: str = "quick",
    seed: int = 0,
    executor: Executor | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
    costs: MutableMapping[str, float] | None = None,
) -> list[Exhibit]:
    """Make the matching exhibits.

    Parameters
    ----------
    patterns : iterable of str
        Shell-style patterns of exhibits' names.
    budget : str
        quick, standard or thorough.
    seed : int
        Root of all randomness.
    executor : concurrent.futures.Executor or None
        Makes one exhibit a task; None makes them one after another in this process.
    out : path or None
        JSON-lines file. Exhibits of the same run that are already there are not made again; every new one is added at
        once, the file being replaced in one step. Exhibits of another run in it are dropped.
    progress : callable (name) or None
        Called in this process for every exhibit as it is ready.
    costs : mutable mapping or None
        As for `run`, by the exhibits' names.

    Returns
    -------
    list of Exhibit
        In the order of the columns.

    Raises
    ------
    ValueError
        Another run is writing to `out`, or it holds something else.
    TaskLost
        An exhibit ended every worker it was given to.
    """
    with opened_exhibition(patterns, budget, seed, out=out, progress=progress) as opened:
        work_off(in_turn(opened.tasks(costs)), executor, costs)
        return opened.exhibits()


class OpenedExhibition:
    """Exhibits of which some may be made already: the tasks that are left, and in the end all of them.

    Made by `opened_exhibition`, whose parameters are described at `exhibit_all`.
    """

    def __init__(
        self,
        names: list[str],
        budget: str,
        seed: int,
        out: Path | None,
        progress: Callable[[str], None] | None,
        store: Store | None,
        anew: bool,
    ) -> None:
        self._names, self._budget, self._seed, self._out, self._progress = names, budget, seed, out, progress
        self._store = store
        self._known: dict[str, Exhibit] = {}
        if out is not None and out.exists():
            for exhibit in load_exhibits(out):
                if (exhibit.budget, exhibit.seed, exhibit.versions) == (budget, seed, versions()):
                    self._known[exhibit.name] = exhibit
        if anew or store is not None:
            for name in names:
                self._known.pop(name, None)
        if store is not None:
            self._known |= {name: kept for name in names if (kept := store.exhibit(name)) is not None}
            if out is not None:
                self._write(out)

    def tasks(self, costs: Mapping[str, float] | None = None) -> list[Task]:
        """One for every exhibit that is left to make."""
        return [self._task(name, costs) for name in self._names if name not in self._known]

    def exhibits(self) -> list[Exhibit]:
        """All of them in the order of the columns, when all tasks are done."""
        return [self._known[name] for name in self._names]

    def _task(self, name: str, costs: Mapping[str, float] | None) -> Task:
        def lost(error: Exception) -> list[Task]:
            raise TaskLost(f"exhibit {name}: {error}") from error

        cost = cost_of([name], costs, EXHIBIT_SECONDS)
        return Task((name,), make_exhibit, (name, self._budget, self._seed), self._keep, lost, cost)

    def _keep(self, exhibit: Exhibit) -> None:
        self._known[exhibit.name] = exhibit
        if self._out is not None:
            self._write(self._out)
        if self._store is not None:
            self._store.keep_exhibit(exhibit)
        if self._progress is not None:
            self._progress(exhibit.name)

    def _write(self, out: Path) -> None:
        replaced(out, [self._known[name].to_json() for name in exhibit_names() if name in self._known])


@contextmanager
def opened_exhibition(
    patterns: Iterable[str],
    budget: str,
    seed: int,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
    store: Store | None = None,
    anew: bool = False,
) -> Iterator[OpenedExhibition]:
    """The making of these exhibits, while nothing else writes to their file; parameters as of `exhibit_all`.

    `store` and `anew` are those of `engine.opened_run`.
    """
    path = None if out is None else Path(out)
    with nullcontext() if path is None else exclusive_lock(path):
        yield OpenedExhibition(select_exhibits(patterns), budget, seed, path, progress, store, anew)
