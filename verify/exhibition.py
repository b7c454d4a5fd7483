"""`exhibit_all`: the data of figures about more than one claim, made on any executor and kept in a file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, as_completed
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from commbounds.verify.confront import versions
from commbounds.verify.executors import TaskLost, lost_its_worker
from commbounds.verify.exhibit import Exhibit, exhibit_from_json
from commbounds.verify.exhibits import EXHIBITS
from commbounds.verify.writing import alone, replaced


def select_exhibits(patterns: Iterable[str] = ("*",)) -> list[str]:
    """Names of the exhibits that match any of the shell-style patterns, in the order of the columns; maybe none."""
    return [name for name in EXHIBITS if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def made(name: str, budget: str = "quick", seed: int = 0) -> Exhibit:
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
            exhibits.append(exhibit_from_json(line))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    return exhibits


def exhibit_all(
    patterns: Iterable[str] = ("*",),
    budget: str = "quick",
    seed: int = 0,
    executor: Executor | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
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
    with nullcontext() if out is None else alone(Path(out)):
        return _exhibit_all(
            select_exhibits(patterns), budget, seed, executor, None if out is None else Path(out), progress
        )


def _exhibit_all(
    names: list[str],
    budget: str,
    seed: int,
    executor: Executor | None,
    out: Path | None,
    progress: Callable[[str], None] | None,
) -> list[Exhibit]:
    known: dict[str, Exhibit] = {}
    if out is not None and out.exists():
        for exhibit in load_exhibits(out):
            if (exhibit.budget, exhibit.seed, exhibit.versions) == (budget, seed, versions()):
                known[exhibit.name] = exhibit

    def keep(exhibit: Exhibit) -> None:
        known[exhibit.name] = exhibit
        if out is not None:
            replaced(out, [known[name].to_json() for name in EXHIBITS if name in known])
        if progress is not None:
            progress(exhibit.name)

    missing = [name for name in names if name not in known]
    if executor is None:
        for name in missing:
            keep(made(name, budget, seed))
    else:
        futures = {executor.submit(made, name, budget, seed): name for name in missing}
        try:
            for future in as_completed(futures):
                try:
                    exhibit = future.result()
                except Exception as error:
                    if not lost_its_worker(error):
                        raise
                    raise TaskLost(f"exhibit {futures[future]}: {error}") from error
                keep(exhibit)
        finally:
            for future in futures:
                future.cancel()
    return [known[name] for name in names]
