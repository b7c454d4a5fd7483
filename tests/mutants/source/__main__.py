"""The command: ``python -m tests.mutants.source PATTERN...``."""

import hashlib
import importlib.util
import inspect
import json
import multiprocessing
import sys
import time
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import click

from commbounds._workers import processors
from commbounds.columns import columns
from commbounds.folders import cache_folder, written

from ..equivalent import FULLY_KILLED, SURVIVING, explained
from .judging import Trial, Verdict, judged
from .operators import SourceMutant, mutants_of, sources
from .preloaded import by_case
from .reach import Reach
from .table import Tally, judged_again, page, shown_again, tally

ROOMS = ("compressors", "collectives")


def located(room: str) -> Path:
    """The folder of a room, wherever the package is installed."""
    return Path(importlib.util.find_spec(f"commbounds.{room}").submodule_search_locations[0])


def packages() -> dict[str, Path]:
    """Room -> its folder."""
    return {room: located(room) for room in ROOMS}


def column_of(mutant: SourceMutant) -> str:
    """The column whose file it is in; "shared" where it is none's."""
    name = mutant.path.removesuffix(".py").split("/")[1]
    return name if name in columns() else "shared"


def chosen(mutants: Iterable[SourceMutant], patterns: Iterable[str]) -> list[SourceMutant]:
    """The mutants whose column, or ``path:function``, matches any of the patterns.

    Raises
    ------
    ValueError
        A pattern matches none.
    """
    known, found = list(mutants), {}
    for pattern in patterns:
        matching = [
            m for m in known if fnmatchcase(column_of(m), pattern) or fnmatchcase(f"{m.path}:{m.function}", pattern)
        ]
        if not matching:
            raise ValueError(f"no mutant matches {pattern!r}: it is a column, or path:function, shell style")
        found |= {m.name: m for m in matching}
    return [m for m in known if m.name in found]


def drawn(mutants: list[SourceMutant], sample: int, seed: str) -> list[SourceMutant]:
    """That many of the mutants, in the seed's order: a larger sample begins with a smaller one."""
    order = sorted(mutants, key=lambda m: hashlib.sha256(f"{seed} {m.name}".encode()).digest())
    return order[: sample or None]


class Book:
    """Which claims are about what, and which of their subjects reach a function."""

    def __init__(self, texts: dict[str, str]) -> None:
        from commbounds.collectives import COLLECTIVES
        from commbounds.compressors import COMPRESSORS, MECHANISMS
        from commbounds.verify.engine import tasks
        from commbounds.verify.experiments import EXPERIMENTS
        from commbounds.verify.pairings import PAIRINGS

        registered = {**COMPRESSORS, **MECHANISMS, **COLLECTIVES}
        verify = {"verify": located("verify")}
        files = ("pairings.py", *(f"experiments/{column}.py" for column in columns()))
        paired = [sources(verify, called) for called in files]
        reach = Reach(texts | dict(ChainMap(*paired)))
        self._groups: dict[str, list[list[str]]] = {}
        for group in tasks(EXPERIMENTS):
            self._groups.setdefault(EXPERIMENTS[group[0]].subject, []).append(group)
        self._distances: dict[tuple[str, str], dict[str, int]] = {}
        for subject in self._groups:
            made = [registered[subject]] + ([PAIRINGS[subject].program] if subject in PAIRINGS else [])
            for place, steps in reach.distances([_place(entry) for entry in made]).items():
                self._distances.setdefault(place, {})[subject] = steps

    def groups(self, mutant: SourceMutant, subjects: int) -> tuple[tuple[str, ...], ...]:
        """Claims that judge the mutant, those of a subject together: definitions first, and near subjects first.

        Parameters
        ----------
        mutant : SourceMutant
            The mutant.
        subjects : int
            Most subjects all of whose claims judge it; of the others that reach it the definitions do, if they are of
            its own column, and last those of the column that do not seem to: cases may be given it as an argument.
        """
        near, own = self.subjects(mutant), column_of(mutant)
        if near:
            near += [s for s, groups in self._groups.items() if groups[0][0].startswith(f"{own}.") and s not in near]
        groups = [(at, group) for at, subject in enumerate(near) for group in self._groups[subject]]
        judging = [(at, group) for at, group in groups if at < max(subjects, 1) or group[0].startswith(f"{own}.")]
        first = [(name,) for _, group in judging for name in sorted(group) if by_case((name,))]
        whole = [group for at, group in groups if at < subjects]
        rest = [tuple(name for name in group if not by_case((name,))) for group in whole]
        return tuple(group for group in (*first, *rest) if group)

    def subjects(self, mutant: SourceMutant) -> list[str]:
        """What reaches the mutant, its own column's and the nearest first; where nothing does, all of its column.

        Studies use functions that no implementation does.
        """
        steps, own = self._distances.get((mutant.path, mutant.top), {}), column_of(mutant)
        if not steps:
            return [name for name, groups in self._groups.items() if groups[0][0].startswith(f"{own}.")]

        def order(subject: str) -> tuple[bool, int]:
            return not any(group[0].startswith(f"{own}.") for group in self._groups[subject]), steps[subject]

        return sorted(steps, key=order)


def _place(entry: object) -> tuple[str, str]:
    """Where an implementation, or a rank's program, is written down."""
    while isinstance(entry, partial):
        entry = entry.func
    path = entry.__module__.removeprefix("commbounds.").replace(".", "/")
    name = "__init__" if Path(inspect.getfile(sys.modules[entry.__module__])).stem == "__init__" else ""
    return f"{path}/{name}.py" if name else f"{path}.py", entry.__qualname__.split(".")[0]


class Kept:
    """A file of JSON lines: what became of mutants, and of claims without any. What is of other sources is dropped.

    A mutant that is killed is one as long as its module is the same; one that survives, as long as everything is.

    Parameters
    ----------
    path : Path
        The file; it need not be there.
    texts : dict of str to str
        Path -> text of the modules.
    judges : dict of str to str
        The same of the modules that judge them.
    """

    def __init__(self, path: Path, texts: dict[str, str], judges: dict[str, str]) -> None:
        self._path = path
        self._digests = {p: _digest(text) for p, text in texts.items()}
        self._whole = _digest(repr(sorted((texts | judges).items())))
        self.verdicts: dict[tuple[str, str], Verdict] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        good = []
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                if line is not lines[-1]:
                    raise ValueError(f"{path} holds a line that is none of ours: {line[:80]!r}") from None
                continue  # its writing was interrupted
            if self._source(row["path"], row["how"]) == row.pop("source"):
                good.append(line)
                name, where = row.pop("mutant"), row.pop("path")
                self.verdicts[where, name] = Verdict(tuple(row.pop("judged")), **row)
        if good != lines:
            written(path, "".join(f"{line}\n" for line in good).encode())

    def _source(self, path: str, how: str) -> str | None:
        return self._digests.get(path) if path and how else self._whole

    def add(self, path: str, name: str, verdict: Verdict) -> None:
        """Keep a verdict of a mutant of the module; of claims, where the path is empty and the name theirs."""
        self.verdicts[path, name] = verdict
        row = {"mutant": name, "path": path, "source": self._source(path, verdict.how), **verdict.__dict__}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def collected(folder: Path, texts: dict[str, str]) -> dict[str, Verdict]:
    """What all files ``*.jsonl`` of the folder say of mutants, by their names.

    A mutant that is killed is one as long as its module is the same; one that survived is shown until it is judged
    again.
    """
    verdicts: dict[str, Verdict] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            name, where, source = row.pop("mutant"), row.pop("path"), row.pop("source")
            verdict = Verdict(tuple(row.pop("judged")), **row)
            fits = not verdict.how or source == _digest(texts.get(where, ""))
            if where and fits and not (name in verdicts and verdicts[name].how):
                verdicts[name] = verdict
    return verdicts


TALLIES = Path(__file__).parents[1] / "tallies"
"""Of every column a file ``COLUMN.json``: the page is made of all of them."""


def stored() -> dict[str, Tally]:
    """What became of the mutants of every column when it was judged last."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in TALLIES.glob("*.json")}


def keep(tallies: dict[str, Tally], commit: str) -> None:
    """Store what became of the mutants of columns, judged at a commit."""
    for column, of in tallies.items():
        lines = json.dumps(of | {"judged at": commit}, indent=1, sort_keys=True)
        (TALLIES / f"{column}.json").write_text(f"{lines}\n", encoding="utf-8")


def tallied(everything: list[SourceMutant], wanted: list[SourceMutant], *known: Any) -> dict[str, Tally]:
    """`tally` of every column that the sample has mutants of."""
    there, of = Counter(map(column_of, everything)), defaultdict(list)
    for m in wanted:
        of[column_of(m)].append(m)
    return {column: tally(there[column], found, *known) for column, found in of.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def still(mutant: SourceMutant, kept: Kept, groups: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """The groups that a mutant has not met: none where it is killed."""
    known = kept.verdicts.get((mutant.path, mutant.name))
    if known is None:
        return groups
    return () if known.how else tuple(group for group in groups if not set(group) <= set(known.judged))


def work_off(trials: dict[str, Trial], kept: Kept, executor: Executor, jobs: int, until: float, tell: object) -> None:
    """Judge one after another, as many at a time as there are jobs, and begin none after `until`."""
    waiting, going = iter(trials.items()), {}
    more = True
    while more or going:
        while more and len(going) < jobs:
            name, trial = next(waiting, ("", None)) if time.time() < until else ("", None)
            more = trial is not None
            if trial is not None:
                going[executor.submit(judged, trial)] = name, trial
        for future in wait(going, return_when=FIRST_COMPLETED).done if going else ():
            name, trial = going.pop(future)
            verdict = future.result()
            if verdict is not None:
                kept.add(trial.path, name, _joined(kept.verdicts.get((trial.path, name)), verdict))
            tell()


def _joined(before: Verdict | None, now: Verdict) -> Verdict:
    met = dict.fromkeys((*(before.judged if before else ()), *now.judged))
    return Verdict(tuple(met), now.killers, now.how, now.seconds)


def controls(kept: Kept, mutants: list[SourceMutant], limit: float) -> dict[str, Trial]:
    """What is still to be run without any mutant, by its name."""
    verdicts = [kept.verdicts.get((m.path, m.name)) for m in mutants]
    killing = {c for v in verdicts if v is not None for c in v.controls} - {n for p, n in kept.verdicts if not p}
    return {name: Trial("", "", "", (tuple(name.split()),), limit) for name in sorted(killing)}


@contextmanager
def _executor(where: str, jobs: int):
    from commbounds.verify.executors import end_with_parent, executor

    if where == "process":
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=end_with_parent) as pool:
            yield pool
    else:
        with executor(where) as elsewhere:
            yield elsewhere


def _show(text: str, table: Path | None) -> None:
    click.echo(text)
    if table:
        table.write_text(text, encoding="utf-8")


@click.command()
@click.argument("patterns", nargs=-1)
@click.option("--sample", type=click.IntRange(1), help="Judge so many, drawn by the seed; all if not given.")
@click.option("--seed", default="0", show_default=True, help="Any word: the same one draws the same mutants.")
@click.option("--minutes", type=float, default=float("inf"), help="Give up what is not judged after so many minutes.")
@click.option("--limit", type=float, default=120.0, show_default=True, help="Processor seconds a subject.")
@click.option("--most", type=float, default=float("inf"), help="Processor seconds after which a mutant survives.")
@click.option("--subjects", type=int, default=6, show_default=True, help="Most subjects all of whose claims judge one.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="JSON lines; in the cache if not given.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Judge none: keep the tallies of columns that files of this folder are about, and make the page of all.",
)
@click.option(
    "--survivors", is_flag=True, help="Judge the stored survivors of the columns that match, and keep what came of it."
)
@click.option("--commit", default="", help="With --results or --survivors: the commit that columns were judged at.")
@click.option("--table", type=click.Path(path_type=Path, dir_okay=False), help="Write the page of the table there.")
@click.option("--executor", "where", default="process", show_default=True, help="process, dask:ADDRESS or mpi.")
@click.option("--jobs", type=click.IntRange(1), default=processors(), help="Most mutants at a time.")
@click.option("--controls/--no-controls", "controlled", default=True, help="Run the claims that killed without mutant.")
def main(
    patterns, sample, seed, minutes, limit, most, subjects, out, results, survivors, commit, table, where, jobs,
    controlled,
):  # fmt: skip
    """Judge mutants of the source by the claims of the book.

    PATTERNS, shell style, are columns ("majority", "shared") or path:function ("collectives/majority.py:_packed").
    A run goes on where it was interrupted. Exits with 1 if a mutant survives in a column that is listed as fully
    killed, 2 for wrong usage.
    """
    texts = sources(packages())
    everything = [m for path, text in texts.items() for m in mutants_of(path, text)]
    try:
        wanted = drawn(chosen(everything, patterns or ["*"]), sample or 0, seed)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    again = {}
    if survivors:
        touched = {column_of(m) for m in wanted}
        again = {c: shown_again(of, everything) for c, of in stored().items() if of["survivors"] and c in touched}
        wanted = [m for found in again.values() for m in found if m in set(wanted)]
    until = time.time() + 60 * minutes
    book, reasons, sentences = Book(texts), explained(everything), explained(everything, SURVIVING)
    unreached = {m.name for m in everything if not book.subjects(m)}
    if results:
        verdicts = collected(results, texts)
        judged_in = {column_of(m) for m in wanted if m.name in verdicts}
        told = [m for m in wanted if m.name in verdicts or (m.name in reasons and column_of(m) in judged_in)]
        keep(tallied(everything, told, verdicts, reasons, unreached, ()), commit)
        _show(page(stored(), everything, reasons, (), sentences), table)
        return
    kept = Kept(out or cache_folder() / "source-mutants.jsonl", texts, sources({"verify": located("verify")}))
    files = packages()
    trials = {}
    for m in wanted:
        groups = () if m.name in reasons else still(m, kept, book.groups(m, subjects))
        if groups:
            room, _, inner = m.path.partition("/")
            trials[m.name] = Trial(m.name, m.path, str(files[room] / inner), groups, limit, until, most, not survivors)
    click.echo(f"{len(everything)} mutants, {len(wanted)} chosen, {len(trials)} to be judged", err=True)
    from rich.console import Console
    from rich.progress import Progress

    with _executor(where, jobs) as executor, Progress(console=Console(stderr=True)) as bar:
        shown = bar.add_task("mutants", total=len(trials))
        work_off(trials, kept, executor, jobs, until, lambda: bar.advance(shown))
        if controlled:
            runs = controls(kept, wanted, limit)
            shown = bar.add_task("the same claims without mutants", total=len(runs))
            work_off(runs, kept, executor, jobs, float("inf"), lambda: bar.advance(shown))
    verdicts = {m.name: kept.verdicts[m.path, m.name] for m in wanted if (m.path, m.name) in kept.verdicts}
    failing = {name for (path, name), verdict in kept.verdicts.items() if not path and verdict.how}
    if survivors:
        for column, found in again.items():
            of = stored()[column]
            at = commit if any(m.name in verdicts for m in found) else of["judged at"]
            keep({column: judged_again(of, found, verdicts, reasons, failing)}, at)
        _show(page(stored(), everything, reasons, (), sentences), table)
        return
    tallies = tallied(everything, wanted, verdicts, reasons, unreached, failing)
    _show(page(tallies, everything, reasons, failing, sentences), table)
    left = [m for m in wanted if m.name in verdicts and not verdicts[m.name].how]
    sys.exit(any(column_of(m) in FULLY_KILLED for m in left))


if __name__ == "__main__":
    main()
