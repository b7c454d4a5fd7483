"""What a scoreboard's folder holds: packages, what is known about failures, and results."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

STANDINGS = ("contrary to its documentation", "not documented", "documented otherwise")
"""How a failure relates to what the maintainers' documentation says."""
VERDICTS = ("pass", "fail", "not judged")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*", re.ASCII)
_Record = TypeVar("_Record", "ScoredPackage", "KnownFailure")


@dataclass(frozen=True)
class ScoredPackage:
    """A package on the scoreboard.

    Parameters
    ----------
    name : str
        Of the distribution, as PyPI has it.
    requirements : sequence of str
        What pip installs, pinned: the package first.
    subjects : str
        ``FILE.py:NAME`` of its subjects, relative to the folder; empty where it cannot be judged.
    documentation : str
        Where its maintainers say what it does.
    dependencies : bool
        Whether pip also installs what the requirements declare. False where that excludes what the kit needs; then the
        requirements name all that is imported.
    launch : sequence of str
        What the judging is started with: nothing, or ``mpirun -n 3``.
    remark : str
        What else a reader should know.
    """

    name: str
    requirements: tuple[str, ...]
    subjects: str = ""
    documentation: str = ""
    dependencies: bool = True
    launch: tuple[str, ...] = ()
    remark: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"a package's name is of a-z, 0-9, '_', '-' and '.', got {self.name!r}")
        if not self.requirements or any(not re.search(r"==|\.whl$", entry) for entry in self.requirements):
            raise ValueError(f"{self.name}: requirements must be pinned by ==, or be wheels, got {self.requirements!r}")


@dataclass(frozen=True)
class KnownFailure:
    """One thing that makes claims fail, seen again without the kit.

    Parameters
    ----------
    name : str
        Of its program, ``programs/NAME.py``, that program's output, ``programs/NAME.txt``, and ``issues/NAME.md``.
    package : str
        As of `ScoredPackage`.
    fails : sequence of (subject, claim)
        What fails for this reason.
    standing : str
        One of `STANDINGS`.
    title : str
        What is wrong, in one sentence.
    says : str
        What the maintainers' documentation says of it, in our words.
    link : str
        Where it says so.
    """

    name: str
    package: str
    fails: tuple[tuple[str, str], ...]
    standing: str
    title: str
    says: str
    link: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"a failure's name is of a-z, 0-9, '_', '-' and '.', got {self.name!r}")
        if self.standing not in STANDINGS:
            raise ValueError(f"{self.name}: standing must be one of {', '.join(STANDINGS)}, got {self.standing!r}")
        for entry in ("title", "says", "link"):
            if not str(getattr(self, entry)).strip():
                raise ValueError(f"{self.name}: {entry} must not be empty")

    @property
    def is_reported(self) -> bool:
        """Whether there is something to tell the maintainers."""
        return self.standing != "documented otherwise"


@dataclass(frozen=True)
class Scoreboard:
    """A scoreboard's folder, as it was read.

    Parameters
    ----------
    folder : Path
        With ``packages.toml``, ``failures.toml`` and ``results.jsonl``.
    packages : mapping of str to ScoredPackage
        In the order of the page.
    failures : sequence of KnownFailure
        In the order of the page.
    results : sequence of dict
        A subject each, or a package that could not be judged.
    """

    folder: Path
    packages: Mapping[str, ScoredPackage]
    failures: Sequence[KnownFailure]
    results: Sequence[dict[str, Any]]

    def of(self, package: str) -> list[dict[str, Any]]:
        """The results of a package."""
        return [result for result in self.results if result["package"] == package]

    def explained(self, package: str, subject: str, claim: str) -> KnownFailure | None:
        """What is known about a failure, or None."""
        found = [f for f in self.failures if f.package == package and (subject, claim) in f.fails]
        return found[0] if found else None


def read(folder: Path) -> Scoreboard:
    """The scoreboard in `folder`.

    Raises
    ------
    ValueError
        A file is not there or not as it should be; the message says which, and what is wrong.
    """
    listed = _records(folder / "packages.toml", "package", ScoredPackage)
    packages = {package.name: package for package in listed}
    if len(packages) < len(listed):
        raise ValueError(f"{folder / 'packages.toml'}: packages must differ")
    failures = _records(folder / "failures.toml", "failure", KnownFailure)
    for failure in failures:
        if failure.package not in packages:
            raise ValueError(f"{folder / 'failures.toml'}: {failure.name} is about {failure.package!r}, which is none")
    return Scoreboard(folder, packages, failures, results_in(folder / "results.jsonl"))


def _records(path: Path, table: str, kind: type[_Record]) -> list[_Record]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [kind(**{name: _frozen(value) for name, value in entry.items()}) for entry in data.get(table, [])]
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except TypeError as error:
        names = ", ".join(field.name for field in fields(kind))
        raise ValueError(f"{path}: a {table} has {names}; {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def results_in(path: Path) -> list[dict[str, Any]]:
    """The results that a file holds; none where there is no file.

    Raises
    ------
    ValueError
        A line is no result: it says which and why.
    """
    if not path.exists():
        return []
    results = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            results.append(_result(json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: {error!s:.500}") from error
    return results


def _result(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict) or not isinstance(entry.get("package"), str):
        raise ValueError("a result is an object with a package")
    if "problem" in entry:
        _has(entry, {"package": str, "requirements": list, "date": str, "problem": str})
        _require_date(entry)
        return entry
    _has(
        entry,
        {
            "package": str, "version": str, "date": str, "subject": str, "budget": str, "seed": int, "adapter": str,
            "requirements": list, "installed": dict, "claims": list,
        },
    )  # fmt: skip
    _require_date(entry)
    for claim in entry["claims"]:
        if not isinstance(claim, dict):
            raise ValueError("claims are objects")
        _has(claim, {"claim": str, "verdict": str, "found": str, "input": object, "seed": object})
        if claim["verdict"] not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}, got {claim['verdict']!r}")
    return entry


def _require_date(entry: Mapping[str, Any]) -> None:
    try:
        date.fromisoformat(entry["date"])
    except ValueError:
        raise ValueError(f"date must be a day like 2026-01-31, got {entry['date']!r}") from None


def _has(entry: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    if set(entry) != set(kinds):
        raise ValueError(f"fields must be {', '.join(kinds)}, got {', '.join(map(str, entry))}")
    for name, kind in kinds.items():
        if not isinstance(entry[name], kind):
            raise ValueError(f"{name} must be of type {kind.__name__}, got {entry[name]!r}")


def line(result: Mapping[str, Any]) -> str:
    """A result as its line of JSON."""
    return json.dumps(result, sort_keys=True, allow_nan=False, ensure_ascii=False)


def result_of(
    package: ScoredPackage, report: Mapping[str, Any], installed: Mapping[str, str], adapter: str, day: str
) -> dict[str, Any]:
    """The result that a report in its JSON form comes to.

    Parameters
    ----------
    report : mapping
        As `Report.to_json` writes it.
    installed : mapping of str to str
        Versions of everything in the environment.
    adapter : str
        Digest of the subjects' file.
    day : str
        On which it was judged, like 2026-01-31.
    """
    versions = {_canonical(name): version for name, version in installed.items()}
    wanted = {_canonical(entry.partition("==")[0]) for entry in package.requirements if "==" in entry}
    wanted |= {_canonical(package.name), "numpy", "torch"}
    return {
        "package": package.name,
        "version": versions.get(_canonical(package.name), "not known"),
        "date": day,
        "subject": report["subject"],
        "budget": report["budget"],
        "seed": report["seed"],
        "adapter": adapter,
        "requirements": list(package.requirements),
        "installed": {name: version for name, version in sorted(versions.items()) if name in wanted},
        "claims": [
            {
                "claim": finding["claim"],
                "verdict": finding["verdict"],
                "found": finding["message"] or finding["evidence"],
                "input": finding["counterexample"] if finding["verdict"] == "fail" else None,
                "seed": finding["seed"] if finding["verdict"] == "fail" else None,
            }
            for finding in report["findings"]
        ],
    }


def _canonical(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def merged(old: Iterable[dict[str, Any]], new: Sequence[dict[str, Any]], package: str) -> list[dict[str, Any]]:
    """All results, with `new` ones in place of the package's old ones."""
    return [*(result for result in old if result["package"] != package), *new]
