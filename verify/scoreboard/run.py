"""A scoreboard, run again: package by package, what is known already left out, every result kept at once."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from commbounds.verify.scoreboard.environments import NotInstalled, made, removed
from commbounds.verify.scoreboard.page import page
from commbounds.verify.scoreboard.records import Scoreboard, ScoredPackage, line, merged, read, result_of
from commbounds.verify.writing import exclusive_lock, replaced, written

_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""What Open MPI asks for in containers, where everybody is root; ranks are processes of one machine here."""


@dataclass(frozen=True)
class RunOptions:
    """How a scoreboard is run.

    Parameters
    ----------
    environments : Path
        Folder that the packages' environments are made in.
    budget, seed
        As of `check`.
    keep : bool
        Whether environments stay for the next run.
    fresh : bool
        Whether what is known already is judged again.
    seconds : float
        That one step may take: an installation, a subject, a program.
    day : str
        That is written beside the results: today, in UTC.
    """

    environments: Path
    budget: str = "quick"
    seed: int = 0
    keep: bool = False
    fresh: bool = False
    seconds: float = 1800.0
    day: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())


def run(
    folder: Path,
    names: Sequence[str],
    options: RunOptions,
    say: Callable[[str], None],
    progress: Callable[[str], None] = lambda _: None,
) -> Scoreboard:
    """Judge the packages of these names, or all, and write results, outputs of programs, and the page.

    Parameters
    ----------
    folder : Path
        As of `read`.
    names : sequence of str
        Packages; none for all.
    say : callable (str)
        Told what happens, line by line.
    progress : callable (name)
        Called for every package when it is judged.

    Raises
    ------
    ValueError
        There is no such package, the folder is not as it should be, or another run writes to it.
    """
    board = read(folder)
    unknown = [name for name in names if name not in board.packages]
    if unknown:
        raise ValueError(f"there is no package {', '.join(unknown)}; there are {', '.join(board.packages)}")
    path = folder / "results.jsonl"
    with exclusive_lock(path):
        for name in names or board.packages:
            for results in _package(board, board.packages[name], options, say):
                everything = merged(board.results, results, name)
                order = list(board.packages)
                everything.sort(key=lambda result: order.index(result["package"]))  # stable: subjects stay as judged
                board = replace(board, results=everything)
                replaced(path, [line(result) for result in everything])
            progress(name)
        written(folder / "README.md", page(board).encode())
    return board


def _package(
    board: Scoreboard, package: ScoredPackage, options: RunOptions, say: Callable[[str], None]
) -> Iterator[list[dict[str, Any]]]:
    """The package's results, again whenever there is another one."""
    requirements = list(package.requirements)
    adapter = _digest(board.folder / package.subjects.partition(":")[0]) if package.subjects else ""
    known = [
        result
        for result in board.of(package.name)
        if not options.fresh
        and "problem" not in result
        and [result["adapter"], result["requirements"], result["budget"], result["seed"]]
        == [adapter, requirements, options.budget, options.seed]
    ]
    environment = options.environments / package.name
    try:
        say(f"{package.name}: installing {' '.join(requirements)}")
        python = made(environment, package, board.folder, options.seconds)
        if not package.subjects:
            raise NotInstalled(package.remark)
        say(f"{package.name}: {len(known)} subjects known, judging the others")
        for result in _judged(board, package, python, known, options, adapter, say):
            known = [*known, result]
            yield known
        if not known:
            raise NotInstalled("no subject could be judged")
        yield known  # requirements may have changed, and nothing else
        for failure in board.failures:
            if failure.package == package.name:
                say(f"{package.name}: running programs/{failure.name}.py")
                _shown(board.folder / "programs" / f"{failure.name}.py", python, options.seconds)
    except NotInstalled as error:
        say(f"{package.name}: not judged: {error}")
        yield known or [
            {"package": package.name, "requirements": requirements, "date": options.day, "problem": str(error)}
        ]
    finally:
        if not options.keep:
            removed(environment)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _judged(
    board: Scoreboard,
    package: ScoredPackage,
    python: Path,
    known: Sequence[dict[str, Any]],
    options: RunOptions,
    adapter: str,
    say: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """The results of the subjects that are not known, as they come."""
    target = str(board.folder / package.subjects)
    if package.launch:
        if not known:
            yield from _launched(package, python, target, options, adapter, say)
        return
    done, installed = [result["subject"] for result in known], {}
    while True:
        begun = ""
        command = [str(python), "-m", "commbounds.verify.scoreboard.judging", target, options.budget]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [*command, str(options.seed), *done], stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8"
            )
            with process, _SilenceLimit(process, options.seconds) as watch:
                assert process.stdout is not None
                for text in process.stdout:
                    watch.again()
                    entry = json.loads(text)
                    if "installed" in entry:
                        installed = entry["installed"]
                    elif "begun" in entry:
                        begun = entry["begun"]
                    else:
                        result, begun = result_of(package, entry, installed, adapter, options.day), ""
                        say(f"{package.name}: {_counts(result)}")
                        done.append(result["subject"])
                        yield result
                code = process.wait()
            if code == 0:
                return
            errors.seek(0)
            said = [text.strip() for text in errors.read().splitlines() if text.strip()]
        if not begun:
            raise NotInstalled(said[-1] if said else f"its subjects cannot be loaded: the process {_ended(code)}")
        say(f"{package.name}: {begun}: the process {_ended(code)}")
        done.append(begun)
        message = f"the process {_ended(code)}"
        finding = {"claim": "answers", "verdict": "fail", "message": message, "counterexample": None, "seed": None}
        report = {"subject": begun, "budget": options.budget, "seed": options.seed, "findings": [finding]}
        yield result_of(package, report, installed, adapter, options.day)


class _SilenceLimit:
    """Ends a process that says nothing for too long, or that is not needed any more."""

    def __init__(self, process: subprocess.Popen[str], seconds: float) -> None:
        self._process, self._seconds = process, seconds
        self._timer = self._started()

    def _started(self) -> threading.Timer:
        timer = threading.Timer(self._seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        return timer

    def again(self) -> None:
        """Count from here."""
        self._timer.cancel()
        self._timer = self._started()

    def __enter__(self) -> _SilenceLimit:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._process.poll() is None:
            self._process.kill()


def _ended(code: int) -> str:
    return f"ended with {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


def _launched(
    package: ScoredPackage, python: Path, target: str, options: RunOptions, adapter: str, say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """The results of subjects whose ranks are processes of the launcher."""
    version = "from importlib.metadata import version; import sys; print(version(sys.argv[1]))"
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "reports.jsonl"
        command = [*package.launch, str(python), "-m", "commbounds", "check", "--mpi", target, "--out", str(out)]
        command += ["--budget", options.budget, "--seed", str(options.seed)]
        try:
            found = subprocess.run(
                [str(python), "-c", version, package.name], capture_output=True, text=True, check=True
            )
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=options.seconds,
                env={**os.environ, **_MPI},
            )
        except FileNotFoundError:
            raise NotInstalled(f"there is no {package.launch[0]} here") from None
        except subprocess.TimeoutExpired:
            raise NotInstalled(f"not done after {options.seconds:g} s") from None
        if not out.exists():
            said = [text.strip() for text in done.stderr.splitlines() if text.strip()]
            raise NotInstalled(said[-1] if said else f"{package.launch[0]} ended with {done.returncode}")
        for text in out.read_text(encoding="utf-8").splitlines():
            versions = {package.name: found.stdout.strip()}
            result = result_of(package, json.loads(text), versions, adapter, options.day)
            say(f"{package.name}: {_counts(result)}")
            yield result


def _counts(result: dict[str, Any]) -> str:
    verdicts = [claim["verdict"] for claim in result["claims"]]
    return f"{result['subject']}: {verdicts.count('pass')} pass, {verdicts.count('fail')} fail" + (
        f", {verdicts.count('not judged')} not judged" if "not judged" in verdicts else ""
    )


def _shown(program: Path, python: Path, seconds: float) -> None:
    """Run a program that shows a failure, and keep what it prints beside it."""
    try:
        done = subprocess.run(
            [str(python), "-W", "ignore", program.name],
            cwd=program.parent, capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{program.name} was not done after {seconds:g} s") from None
    last = [text for text in done.stderr.splitlines() if text.strip()][-1:] if done.returncode not in (0, 1) else []
    written(program.with_suffix(".txt"), "".join([done.stdout, *last, f"exit {done.returncode}\n"]).encode())
