"""`run`: many claims, on any executor, streamed to a file from which an interrupted run goes on."""

import fnmatch
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from commbounds.folders import appended
from commbounds.theory.column import current_name
from commbounds.verify.believed import believed
from commbounds.verify.confront import confront_together, versions
from commbounds.verify.contents import study_entries
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.finding import Finding, Verdict, finding_from_json
from commbounds.verify.store import Store
from commbounds.verify.tasks import Task, cost_of, in_turn, work_off
from commbounds.verify.writing import exclusive_lock, replaced

CLAIM_SECONDS = 1.2
"""Of processor time that a claim takes at the quick budget, in the mean over the book (docs/benchmarks.md)."""
_EARLY = "dropcompute.localsgd.subadditive"
"""A claim that takes a second even where nothing is compiled yet."""
_START = '{"as_stated": '
"""How every line begins."""


def select(patterns: Iterable[str] = ("*",)) -> list[str]:
    """Names of the claims that match any of the shell-style patterns, in the book's order.

    Parameters
    ----------
    patterns : iterable of str, or one str
        ``*`` matches anything, dots included: ``sparsifiers.*``, ``*.unbiased``.

    Raises
    ------
    ValueError
        A pattern matches no claim.
    """
    wanted: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matched = fnmatch.filter(study_entries(), pattern) or fnmatch.filter(study_entries(), current_name(pattern))
        if not matched:
            raise ValueError(f"no claim matches {pattern!r}")
        wanted.update(matched)
    return [name for name in study_entries() if name in wanted]


def load(path: str | os.PathLike[str]) -> list[Finding]:
    """The findings in a JSON-lines file; a last line cut short by an interruption is left out.

    Raises
    ------
    ValueError
        A line is neither a finding nor, as the last one, the beginning of one; the message names it.
    """
    return load_whole(path)[0]


def load_whole(path: str | os.PathLike[str], made_again: Collection[str] = frozenset()) -> tuple[list[Finding], bool]:
    """As `load`, and whether there was such a last line; what is said of claims in `made_again` is not checked."""
    findings: dict[str, Finding] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            finding = finding_from_json(line)
            finding = replace(finding, claim=current_name(finding.claim))
            if finding.claim in findings:
                raise ValueError(f"{finding.claim} is there twice")
            findings[finding.claim] = finding if finding.claim in made_again else believed(finding)
        except ValueError as error:
            # no newline behind it: the write was interrupted
            if number == len(lines) and line[: len(_START)] == _START[: len(line)]:
                return list(findings.values()), True
            raise ValueError(f"{path}, line {number}: {error!s:.500}") from error
    return list(findings.values()), False


def run(
    patterns: Iterable[str] = ("*",),
    budget: str = "quick",
    seed: int = 0,
    executor: Executor | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Finding], None] | None = None,
    costs: MutableMapping[str, float] | None = None,
) -> list[Finding]:
    """Confront the matching claims with their implementations.

    Parameters
    ----------
    patterns : iterable of str
        Shell-style patterns of claim names.
    budget : str
        quick, standard or thorough.
    seed : int
        Nonnegative root of all randomness. Same seed, same findings, whatever the executor.
    executor : concurrent.futures.Executor or None
        Runs the claims about one subject a task, as those of `verify.executors.executor` do; None runs them one after
        another in this process. A claim that ends every worker it is given to has a finding with the verdict error.
    out : path or None
        JSON-lines file. Findings are appended as they come, in any order; findings that are already there are taken
        from it and not computed again; once all are there the file is put in the book's order.
    progress : callable (Finding) or None
        Called in this process for every finding as it becomes known.
    costs : mutable mapping or None
        Claim -> seconds that it took, earlier and now: only the order in which claims are begun depends on it.

    Returns
    -------
    list of Finding
        In the book's order.

    Raises
    ------
    ValueError
        Unknown budget, negative seed, a pattern without match, `out` holds findings of another run or one is writing to
        it, or a worker has other versions than this process.
    """
    with opened_run(select(patterns), budget, seed, out=out, progress=progress) as opened:
        work_off(in_turn(opened.tasks(costs)), executor, costs)
        return opened.findings()


class OpenedRun:
    """Claims of which some may be known already: the tasks that are left, and in the end all findings.

    Made by `opened_run`, whose parameters are described at `run`.
    """

    def __init__(
        self,
        names: list[str],
        budget: str,
        seed: int,
        out: Path | None,
        progress: Callable[[Finding], None] | None,
        store: Store | None,
        anew: bool,
    ) -> None:
        self._names, self._budget, self._seed, self._out, self._progress = names, budget, seed, out, progress
        self._store = store
        made_again = set(names) if anew or store is not None else frozenset[str]()
        self._known = {} if out is None else _resumed(out, budget, seed, made_again)
        again = [name for name in made_again if self._known.pop(name, None) is not None]
        self._dropped = bool(again)
        """Whether the file still has findings that are made again."""
        if store is not None:
            self._known |= {name: kept for name in names if (kept := store.finding(name)) is not None}
            self._drop()
        self._found: dict[str, Finding] = {}
        for name in names:
            if name in self._known:
                self._keep(self._known[name], fresh=False)

    def tasks(self, costs: Mapping[str, float] | None = None) -> list[Task]:
        """What is left to do: claims about one subject are a task."""
        return [self._task(group, costs) for group in tasks(name for name in self._names if name not in self._found)]

    def findings(self) -> list[Finding]:
        """All findings in the book's order, when all tasks are done; the file is put in it."""
        if self._out is not None:
            rest = [finding for name, finding in self._known.items() if name not in self._found]
            order = {name: i for i, name in enumerate(study_entries())}
            ordered = sorted([*self._found.values(), *rest], key=lambda f: order[f.claim])
            replaced(self._out, [finding.to_json() for finding in ordered])
        return [self._found[name] for name in self._names]

    def _task(self, group: Sequence[str], costs: Mapping[str, float] | None) -> Task:
        def keep(found: list[Finding]) -> None:
            for finding in found:
                self._keep(finding)

        def lost(error: Exception) -> list[Task]:
            """A task for every claim: the one that ends its worker shows; that one alone is an error."""
            if len(group) > 1:
                return [self._task([name], costs) for name in group]
            self._keep(_lost(group[0], self._budget, self._seed, error))
            return []

        cost = cost_of(group, costs, CLAIM_SECONDS * budgets[self._budget].examples / budgets["quick"].examples)
        arguments = (list(group), self._budget, self._seed)
        return Task(tuple(group), confront_together, arguments, keep, lost, cost, _EARLY in group and len(group) < 3)

    def _drop(self) -> None:
        if self._out is not None:
            replaced(self._out, [finding.to_json() for finding in self._known.values()])
        self._dropped = False

    def _keep(self, finding: Finding, fresh: bool = True) -> None:
        if finding.versions != versions():
            raise ValueError(f"a worker has other versions than this process: {finding.versions}, here {versions()}")
        self._found[finding.claim] = finding
        if self._out is not None and fresh:
            if self._dropped:
                self._drop()
            _append(self._out, finding)
        if self._store is not None and fresh:
            self._store.keep(finding)
        if self._progress is not None:
            self._progress(finding)


@contextmanager
def opened_run(
    names: list[str],
    budget: str,
    seed: int,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Finding], None] | None = None,
    store: Store | None = None,
    anew: bool = False,
) -> Iterator[OpenedRun]:
    """The run of these claims, while nothing else writes to its file; parameters and errors as of `run`.

    Parameters
    ----------
    names : list of str
        The claims.
    budget, seed, out, progress
        As of `run`.
    store : Store or None
        Where findings are taken from, if they are made from what is there now, and kept; then those in `out` that are
        not in it are made again.
    anew : bool
        Whether findings about these claims that are in `out` are made again in any case.
    """
    if budget not in budgets:
        raise ValueError(f"budget must be one of {', '.join(budgets)}, got {budget!r}")
    if seed < 0:
        raise ValueError(f"seed must be nonnegative, got {seed}")
    path = None if out is None else Path(out)
    with nullcontext() if path is None else exclusive_lock(path):
        yield OpenedRun(names, budget, seed, path, progress, store, anew)


def tasks(names: Iterable[str]) -> list[list[str]]:
    """The claims in groups that share a column and a subject, hence its runs; in the book's order."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        groups.setdefault((name.partition(".")[0], study_entries()[name].subject), []).append(name)
    return list(groups.values())


def check_same_run(
    path: str | os.PathLike[str], budget: str, seed: int, made_again: Collection[str] = frozenset()
) -> list[Finding]:
    """The findings in `path`, none if it does not exist, checked to come from a run with these parameters.

    What they say of claims in `made_again` is not checked.

    Raises
    ------
    ValueError
        One was made with another budget, seed or version, or the file holds something else.
    """
    findings = load_whole(path, made_again)[0] if Path(path).exists() else []
    for finding in findings:
        if (finding.budget, finding.seed, finding.versions) != (budget, seed, versions()):
            raise ValueError(
                f"{path} holds findings of another run (budget {finding.budget}, seed {finding.seed}, or other "
                "versions): choose another file or remove it"
            )
    return findings


def dropped(path: Path, budget: str, seed: int, made_again: Collection[str] = frozenset()) -> bool:
    """Remove `path` where it is not of a run with these parameters, see `check_same_run`; whether it was.

    Raises
    ------
    ValueError
        Another run is writing to it.
    """
    with exclusive_lock(path):
        try:
            check_same_run(path, budget, seed, made_again)
        except ValueError:
            path.unlink()
            return True
    return False


def _resumed(path: Path, budget: str, seed: int, made_again: Collection[str]) -> dict[str, Finding]:
    """Findings of the same run that `path` already holds; the file is left with whole lines only."""
    findings = check_same_run(path, budget, seed, made_again)
    if path.exists():
        replaced(path, [finding.to_json() for finding in findings])
    return {finding.claim: finding for finding in findings}


def _lost(name: str, budget: str, seed: int, error: BaseException) -> Finding:
    return Finding(
        name,
        Verdict.ERROR,
        False,
        (),
        parameters=EXPERIMENTS[name].parameters,
        seed=seed,
        budget=budget,
        versions=versions(),
        message=f"{type(error).__name__}: {error}",
    )


def _append(path: Path, finding: Finding) -> None:
    with path.open("ab", buffering=0) as file:
        appended(file, f"{finding.to_json()}\n".encode())
