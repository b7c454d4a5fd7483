"""`run`: many claims, on any executor, streamed to a file from which an interrupted run goes on."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import nullcontext
from pathlib import Path

from commbounds.theory import Standing, claims
from commbounds.verify.confront import confront_together, verdict_of, versions
from commbounds.verify.executors import lost_its_worker
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.finding import Finding, Verdict, finding_from_json
from commbounds.verify.writing import alone, replaced

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
        matched = fnmatch.filter(EXPERIMENTS, pattern)
        if not matched:
            raise ValueError(f"no claim matches {pattern!r}")
        wanted.update(matched)
    return [name for name in EXPERIMENTS if name in wanted]


def load(path: str | os.PathLike[str]) -> list[Finding]:
    """The findings in a JSON-lines file; a last line cut short by an interruption is left out.

    Raises
    ------
    ValueError
        A line is neither a finding nor, as the last one, the beginning of one; the message names it.
    """
    findings = []
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            findings.append(_believed(finding_from_json(line)))
        except ValueError as error:
            # no newline behind it: the write was interrupted
            if number == len(lines) and line[: len(_START)] == _START[: len(line)]:
                break
            raise ValueError(f"{path}, line {number}: {error}") from error
    return findings


def _believed(finding: Finding) -> Finding:
    """`finding`, if it is about a claim of the book and says of it what follows from what it says itself.

    Raises
    ------
    ValueError
        It does not.
    """
    name, verdict = finding.claim, finding.verdict
    known = claims().get(name)
    if known is None or name not in EXPERIMENTS:
        raise ValueError(f"the book has no claim {name!r}")
    if finding.evidence and verdict not in (verdict_of(finding.evidence), Verdict.ERROR):
        raise ValueError(f"{name} is said to be {verdict}, but its evidence says {verdict_of(finding.evidence)}")
    holds = known.stands is Standing.HOLDS
    if finding.as_stated and (verdict is Verdict.ERROR or (verdict is Verdict.REFUTED) == holds):
        raise ValueError(f"{name}, {verdict}, is said to be as stated, but the book says {known.stands}")
    if finding.as_stated == bool(finding.message):
        raise ValueError(f"{name} must say why it is not as the book says, and only then: {finding.message!r}")
    return finding


def run(
    patterns: Iterable[str] = ("*",),
    budget: str = "quick",
    seed: int = 0,
    executor: Executor | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Finding], None] | None = None,
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
    names = select(patterns)
    if budget not in budgets:
        raise ValueError(f"budget must be one of {', '.join(budgets)}, got {budget!r}")
    if seed < 0:
        raise ValueError(f"seed must be nonnegative, got {seed}")
    path = None if out is None else Path(out)
    with nullcontext() if path is None else alone(path):
        return _run(names, budget, seed, executor, path, progress)


def _run(
    names: list[str],
    budget: str,
    seed: int,
    executor: Executor | None,
    out: Path | None,
    progress: Callable[[Finding], None] | None,
) -> list[Finding]:
    known = {} if out is None else _resumed(out, budget, seed)
    found: dict[str, Finding] = {}

    def keep(finding: Finding, fresh: bool = True) -> None:
        if finding.versions != versions():
            raise ValueError(f"a worker has other versions than this process: {finding.versions}, here {versions()}")
        found[finding.claim] = finding
        if out is not None and fresh:
            _append(out, finding)
        if progress is not None:
            progress(finding)

    for name in names:
        if name in known:
            keep(known[name], fresh=False)
    missing = [name for name in names if name not in known]
    for found_together in _confronted(missing, budget, seed, executor):
        for finding in found_together:
            keep(finding)
    if out is not None:
        rest = [finding for name, finding in known.items() if name not in found]
        order = {name: i for i, name in enumerate(EXPERIMENTS)}
        ordered = sorted([*found.values(), *rest], key=lambda f: order[f.claim])
        replaced(out, [finding.to_json() for finding in ordered])
    return [found[name] for name in names]


def tasks(names: Iterable[str]) -> list[list[str]]:
    """The claims in groups that share a column and a subject, hence its runs; in the book's order."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        groups.setdefault((name.partition(".")[0], EXPERIMENTS[name].subject), []).append(name)
    return list(groups.values())


def _confronted(names: list[str], budget: str, seed: int, executor: Executor | None) -> Iterator[list[Finding]]:
    """The findings of a task, task by task as they are done.

    Where a task ends every worker it is given to, its claims are tried one by one: the one that does it is told.
    """
    groups = tasks(names)
    if executor is None:
        for group in groups:
            yield confront_together(group, budget, seed)
        return
    short = min(groups, key=len, default=[])  # goes first: something is seen soon
    # then those of most claims, so that no long one is left for the end
    groups.sort(key=lambda group: (group is not short, -len(group)))
    futures = {executor.submit(confront_together, group, budget, seed): group for group in groups}
    try:
        while futures:
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                group = futures.pop(future)
                try:
                    found = future.result()
                except Exception as error:
                    if not lost_its_worker(error):
                        raise
                    if len(group) > 1:
                        futures |= {executor.submit(confront_together, [name], budget, seed): [name] for name in group}
                        continue
                    found = [_lost(group[0], budget, seed, error)]
                yield found
    finally:
        for future in futures:
            future.cancel()


def check_same_run(path: str | os.PathLike[str], budget: str, seed: int) -> list[Finding]:
    """The findings in `path`, none if it does not exist, checked to come from a run with these parameters.

    Raises
    ------
    ValueError
        One was made with another budget, seed or version, or the file holds something else.
    """
    findings = load(path) if Path(path).exists() else []
    for finding in findings:
        if (finding.budget, finding.seed, finding.versions) != (budget, seed, versions()):
            raise ValueError(
                f"{path} holds findings of another run (budget {finding.budget}, seed {finding.seed}, or other "
                "versions): choose another file or remove it"
            )
    return findings


def dropped(path: Path, budget: str, seed: int) -> bool:
    """Remove `path` where it is not of a run with these parameters; whether it was.

    Raises
    ------
    ValueError
        Another run is writing to it.
    """
    with alone(path):
        try:
            check_same_run(path, budget, seed)
        except ValueError:
            path.unlink()
            return True
    return False


def _resumed(path: Path, budget: str, seed: int) -> dict[str, Finding]:
    """Findings of the same run that `path` already holds; the file is left with whole lines only."""
    findings = check_same_run(path, budget, seed)
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
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(finding.to_json() + "\n")
        file.flush()
        os.fsync(file.fileno())
