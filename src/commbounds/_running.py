"""What the commands that verify share: where they run, how far they are, and what they found."""

from __future__ import annotations

import fnmatch
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commbounds._count import COUNT
from commbounds._ending import Stopped
from commbounds._index import check_patterns
from commbounds._progress import Progress, compiling_here, progress
from commbounds._terminal import FindingRows, plain
from commbounds._workers import check_executor, processors, worker_context
from commbounds.folders import cache_folder, ready, regular, written
from commbounds.verify.contents import claim_entries

if TYPE_CHECKING:
    from commbounds.verify import Finding
    from commbounds.verify.exhibit import Exhibit
    from commbounds.verify.store import Store
    from commbounds.verify.tasks import Task

_BEGUN = time.time()
"""Before anything was imported of which a finding is made."""

WORKER_OPTIONS = (
    click.option("--jobs", type=COUNT, default=None, help="Processes; default: one a processor."),
    click.option(
        "--executor",
        default="process",
        show_default=True,
        metavar="WHERE",
        help="process, dask:ADDRESS, dask:local, or mpi under mpirun.",
    ),
)
"""What a command passes on to `workers`."""


@contextmanager
def workers(where: str, jobs: int | None) -> Iterator[Executor | None]:
    """The executor of a command; under ``mpirun`` only the first rank comes back from here, and goes on."""
    try:
        check_executor(where, jobs)
    except (ValueError, ImportError) as error:
        raise click.UsageError(str(error)) from error
    if where == "process" and (jobs or processors()) > 1:
        worker_context()  # begins to import while this process does
    from commbounds.verify.executors import TaskLost, executor

    with ExitStack() as stack:
        try:
            chosen = stack.enter_context(executor(where, jobs))
        except (ValueError, ImportError, ConnectionError) as error:
            raise click.UsageError(str(error)) from error
        try:
            yield chosen
        except (TaskLost, CancelledError) as error:
            raise Stopped(str(error) or "the cluster has given up its tasks") from error


def compiling(executor: Executor | None) -> Callable[[], bool]:
    """What says whether kernels are compiled, in this process or in those of an executor that knows."""
    here, there = compiling_here(), getattr(executor, "compiling", None)
    return here if there is None else lambda: here() or there()


def check_run(patterns: Sequence[str], where: str, jobs: int | None, folder: Path | None) -> None:
    """See that claims match, that there can be such workers and that files can be made in `folder`, within a second.

    Raises
    ------
    click.UsageError
        One of them is not so; nothing was made then.
    """
    check_patterns(patterns)
    try:
        check_executor(where, jobs)
        if folder is not None:
            ready(folder)
    except (ValueError, ImportError) as error:
        raise click.UsageError(str(error)) from error


def of_few(patterns: Sequence[str], where: str, jobs: int | None) -> int | None:
    """The number of processes to ask for: one, where there is one claim to verify, which is made here sooner."""
    matching = sum(any(fnmatch.fnmatch(c.name, p) for p in patterns or ("*",)) for c in claim_entries())
    return 1 if where == "process" and matching == 1 else jobs


# --- claims and exhibits -----------------------------------------------------------------------------------------


class ShownRun:
    """A run of claims, and of exhibits where they are asked for, that is shown as it goes.

    Parameters
    ----------
    patterns : tuple of str
        Shell-style; empty for everything.
    budget, seed, executor
        As for `commbounds.verify.run`.
    fresh : bool
        Whether to forget what was found before.
    where : str
        What the executor was asked for by. Those of other machines may have other sources: what they find is not kept,
        and an interrupted run of theirs goes on from its files.
    """

    def __init__(
        self,
        patterns: tuple[str, ...],
        budget: str,
        seed: int,
        executor: Executor | None,
        fresh: bool = False,
        where: str = "process",
    ) -> None:
        self.patterns, self.budget, self.seed, self.executor = patterns or ("*",), budget, seed, executor
        self._fresh, self._where = fresh, where
        self.dates: Mapping[str, str] = {}
        """When the findings and exhibits that come from the store were made."""

    def findings(self, out: Path | None, rows: bool = False) -> list[Finding]:
        """The claims' findings.

        Parameters
        ----------
        out : Path or None
            File that they are kept in, and that an interrupted run goes on from.
        rows : bool
            Whether a terminal shows the whole line of every finding, under a heading.
        """
        return self._made(out, None, rows, exhibited=False)[0]

    def findings_and_exhibits(self, out: Path | None, exhibits: Path | None) -> tuple[list[Finding], list[Exhibit]]:
        """Both, without a pause between them; each kept in a file, where one is given."""
        return self._made(out, exhibits, rows=False, exhibited=True)

    def _made(
        self, out: Path | None, exhibits: Path | None, rows: bool, exhibited: bool
    ) -> tuple[list[Finding], list[Exhibit]]:
        costs = _Costs(self.budget)
        with _interruptible(out), progress("claims") as shown, ExitStack() as stack:
            from commbounds.verify import engine, exhibition
            from commbounds.verify.executors import collect_seldom
            from commbounds.verify.store import Store
            from commbounds.verify.tasks import in_turn, work_off

            stack.callback(costs.keep)
            here = self._where == "process"
            store = _opened(Store, self.budget, self.seed, self._fresh) if here else None
            # what a report drew before says nothing of the sources that it was made from
            anew = self._fresh or (here and exhibited and store is None)
            if store is not None:
                self.dates = store.dates
                stack.callback(_closed, store)
            try:
                names = engine.select(self.patterns)
                made_again = frozenset(names) if anew or store is not None else frozenset[str]()
                if exhibited and out is not None and engine.dropped(out, self.budget, self.seed, made_again):
                    click.echo(f"{plain(str(out))} is from another run: starting anew", err=True)
                show = _Shown(shown, names, rows, self.dates)
                opened = stack.enter_context(
                    engine.opened_run(
                        names, self.budget, self.seed, out=out, progress=show.finding, store=store, anew=anew
                    )
                )
                tasks = opened.tasks(costs.seconds)
                drawn = None
                if exhibited:
                    drawn = stack.enter_context(
                        exhibition.opened_exhibition(
                            self.patterns,
                            self.budget,
                            self.seed,
                            out=exhibits,
                            progress=show.exhibit,
                            store=store,
                            anew=anew,
                        )
                    )
                    tasks += drawn.tasks(costs.seconds)
                tasks = in_turn(tasks)
                show.begin(tasks, self.executor)
                elsewhere = self.executor if len(tasks) > 1 else None
                if elsewhere is None:
                    collect_seldom()
                work_off(tasks, elsewhere, costs.seconds)
                return opened.findings(), [] if drawn is None else drawn.exhibits()
            except ValueError as error:
                raise click.UsageError(str(error)) from error


def _opened(kind: type[Store], budget: str, seed: int, fresh: bool) -> Store | None:
    """The store of the cache folder; None, with a word on it, where others may write to it."""
    try:
        return kind(cache_folder() / "findings", budget, seed, fresh=fresh, since=_BEGUN)
    except ValueError as error:
        click.echo(f"findings are neither taken from the store nor kept in it: {error}", err=True)
        return None


def _closed(store: Store) -> None:
    """See that the store does not grow without end, and say what was wrong with it."""
    try:
        store.trim()
    except OSError as error:
        click.echo(f"the store of findings is not trimmed: {error}", err=True)
    if store.damaged:
        few = ", ".join(path.name for path in store.damaged[:3])
        click.echo(f"damaged files of the store are removed, and made again: {len(store.damaged)}, {few}", err=True)
    if store.unkept:
        click.echo(f"findings are not kept for the next run: {store.unkept}", err=True)


class _Shown:
    """Tells of findings and exhibits as they come.

    On a terminal every finding is a line, whole under a heading if `rows`; a pipe gets the first one, and those that
    are not as the book says, and hears of the others by their number.
    """

    def __init__(self, shown: Progress, names: Sequence[str], rows: bool, dates: Mapping[str, str]) -> None:
        self._shown, self._lines = shown, FindingRows(names, dates)
        self._screen = sys.stdout.isatty()
        self._rows = rows and self._screen
        self._costs: dict[str, float] | None = None
        self._known = self._new = 0
        if self._rows:
            shown.say(self._lines.heading())

    def begin(self, tasks: Sequence[Task], executor: Executor | None) -> None:
        """Say what there is to do; what is known already has been counted."""
        self._costs = {name: task.cost / len(task.names) for task in tasks for name in task.names}
        if self._known:
            self._shown.say(f"{self._known} findings are there already, {len(self._costs)} things are left to do")
        self._shown.expect(len(self._costs), sum(self._costs.values()), getattr(executor, "workers", 1))
        self._shown.watch(compiling(executor))

    def finding(self, finding: Finding) -> None:
        """One more finding."""
        if self._rows:
            self._shown.say(self._lines.line(finding))
        if self._costs is None:
            self._known += 1
            return
        self._new += 1
        if not self._rows and (self._screen or self._new == 1 or not finding.as_stated):
            self._shown.say(self._lines.short(finding))
        self._shown.advance(f"{finding.claim}: {finding.verdict}", weight=self._costs.get(finding.claim, 0.0))

    def exhibit(self, name: str) -> None:
        """One more exhibit."""
        weight = 0.0 if self._costs is None else self._costs.get(name, 0.0)
        self._shown.advance(f"{name}: measured", weight=weight)


class _Costs:
    """How long claims and exhibits took before on this machine, in a file of the cache folder."""

    def __init__(self, budget: str) -> None:
        self._path, self._budget = cache_folder() / "costs.json", budget
        self.seconds: dict[str, float] = {
            name: float(seconds)
            for name, seconds in self._read().get(budget, {}).items()
            if isinstance(seconds, int | float) and seconds >= 0.0
        }

    def _read(self) -> dict[str, dict[str, Any]]:
        """All budgets'; empty where the file is not there or none: then costs are estimated."""
        try:
            held = json.loads(regular(self._path)[0])
        except (OSError, ValueError, RecursionError):
            return {}
        whole = isinstance(held, dict) and all(isinstance(of_budget, dict) for of_budget in held.values())
        return held if whole else {}

    def keep(self) -> None:
        """Write them down for the next run."""
        held = self._read()
        held[self._budget] = held.get(self._budget, {}) | {n: round(s, 3) for n, s in self.seconds.items()}
        try:
            written(self._path, json.dumps(held, sort_keys=True).encode())
        except OSError as error:
            click.echo(f"how long things took is not kept for the next estimate: {error}", err=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Be the only command that writes a site to `folder`, or refuse to run."""
    from commbounds.verify.writing import exclusive_lock

    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(folder / "index.html"))
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        yield


@contextmanager
def _interruptible(out: Path | None) -> Iterator[None]:
    """An interrupt tells how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if out is not None:
            click.echo(f"the same command goes on from {plain(str(out))}", err=True)
        raise


# --- findings in a file ------------------------------------------------------------------------------------------


class GivenFindings:
    """The matching findings of a file, and the exhibits beside it.

    Parameters
    ----------
    path : Path
        As of ``verify --out``.
    patterns : tuple of str
        Shell-style; empty for everything.

    Raises
    ------
    click.UsageError
        A line is no finding, or none matches.
    """

    def __init__(self, path: Path, patterns: tuple[str, ...]) -> None:
        from commbounds.verify import engine, exhibition

        self._patterns = patterns or ("*",)
        try:
            loaded, self._torn = engine.load_whole(path)
            beside = path.with_name("exhibits.jsonl")
            shown = exhibition.load_exhibits(beside) if beside.exists() else []
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        self.findings = [f for f in loaded if self._matches(f.claim)]
        self.exhibits = [exhibit for exhibit in shown if self._matches(exhibit.name)]
        self._missing = sum(self._matches(entry.name) for entry in claim_entries()) - len(self.findings)
        self._path = path
        if not self.findings:
            raise click.UsageError(f"{path} holds no finding that matches{self._tear()}")

    def _matches(self, name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in self._patterns)

    def _tear(self) -> str:
        return "; the last line is torn" if self._torn else ""

    def whole(self) -> bool:
        """Whether no line is torn, and every claim that matches has a finding; where not, say so."""
        if not self._missing and not self._torn:
            return True
        found = len(self.findings)
        asked = "" if not self._missing or self._patterns != ("*",) else "; name the claims that are meant"
        click.echo(f"{self._path}: {found} of {found + self._missing} claims that match{self._tear()}{asked}", err=True)
        return False
