"""What can be told of every column without importing it: kept in the cache folder beside a digest of its sources.

To read the book takes seconds of sympy; to see that its sources are those that were read before takes milliseconds.
A column that cannot be imported is told of by its error, each time anew.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from commbounds.columns import columns
from commbounds.folders import cache_folder, require_private, written
from commbounds.verify.sources import Sources, installed

_FORM = 1
STUDIES = ("columns", "verify.compressor_study", "verify.experiments")
"""What makes the studies of a column, by names within the package."""
MOST = 16
"""Installations whose indices are kept; those that were written first go first."""
UNREAD = "import"
"""The last word of the row that stands for the claims of a column whose book cannot be imported."""


@dataclass(frozen=True)
class ClaimEntry:
    """A line of ``commbounds claims``.

    Parameters
    ----------
    name, kind, stands, tag, title : str
        As of the claim; `tag` is that of its source.
    """

    name: str
    kind: str
    stands: str
    tag: str
    title: str


@dataclass(frozen=True)
class StudyEntry:
    """What is known of a claim's study.

    Parameters
    ----------
    claim, subject : str
        As of the study.
    sampled : bool
        Whether a sequential test judges it.
    set_ups : str
        Of a claim about a compressor, `SetUps.words`; empty for others.
    """

    claim: str
    subject: str
    sampled: bool
    set_ups: str


class Broken(str):
    """Why a column cannot be imported."""


def claim_entries() -> list[ClaimEntry]:
    """Every claim of the book, in its order; a column that cannot be read is one entry, ``COLUMN.import``."""
    return list(_claim_entries(cache_folder() / "index", columns()))


@cache
def _claim_entries(folder: Path, names: tuple[str, ...]) -> list[ClaimEntry]:
    listed: list[ClaimEntry] = []
    for column, found in _index("claims", _claims, _book_of, folder, names).items():
        if isinstance(found, Broken):
            listed.append(ClaimEntry(f"{column}.{UNREAD}", "error", "error", "", found))
        else:
            listed += [ClaimEntry(**entry) for entry in found]
    return listed


def study_entries() -> Mapping[str, StudyEntry]:
    """Every claim with a study, in the book's order, and every claim of a column whose studies cannot be imported."""
    return MappingProxyType(_study_entries(cache_folder() / "index", columns()))


@cache
def _study_entries(folder: Path, names: tuple[str, ...]) -> dict[str, StudyEntry]:
    listed: dict[str, StudyEntry] = {}
    studies = _index("studies", _studies, _studies_of, folder, names)
    claims: dict[str, list[ClaimEntry]] = {}
    for claim in _claim_entries(folder, names):
        claims.setdefault(claim.name.partition(".")[0], []).append(claim)
    for column, found in studies.items():
        if isinstance(found, Broken) or claims[column][0].stands == "error":
            listed |= {claim.name: StudyEntry(claim.name, "", False, "") for claim in claims[column]}
        else:
            listed |= {entry["claim"]: StudyEntry(**entry) for entry in found}
    return listed


def unread(name: str) -> str:
    """Why the column cannot be read that an entry of this name stands for; empty for every claim."""
    return next((e.title for e in claim_entries() if e.name == name and e.stands == "error"), "")


def claims_with(set_ups: str) -> list[str]:
    """The claims about compressors whose set-ups are told of by these words, whichever columns they are in."""
    return [entry.claim for entry in study_entries().values() if entry.set_ups == set_ups]


# --- what is told of a column -------------------------------------------------------------------------------------


def _claims(column: str) -> list[dict[str, str]]:
    from commbounds.theory import claims

    return [
        {"name": c.name, "kind": str(c.kind), "stands": str(c.stands), "tag": str(c.source.tag), "title": c.title}
        for c in claims().of_column(column).values()
    ]


def _studies(column: str) -> list[dict[str, Any]]:
    from commbounds.verify.compressor_study import CompressorStudy
    from commbounds.verify.experiments import EXPERIMENTS

    listed = []
    for name, study in EXPERIMENTS.of_column(column).items():
        set_ups = study.set_ups.words if isinstance(study, CompressorStudy) else ""
        listed.append({"claim": name, "subject": study.subject, "sampled": bool(study.sampled), "set_ups": set_ups})
    return listed


def _book_of(sources: Sources, column: str) -> frozenset[str]:
    return sources.modules(column, engine=("columns",), rooms=("theory",))


def _studies_of(sources: Sources, column: str) -> frozenset[str]:
    return sources.modules(column, engine=STUDIES)


# --- what is kept -------------------------------------------------------------------------------------------------


def told(kind: str, make: Callable[[str], Any], made_from: Callable[[Sources, str], frozenset[str]]) -> dict[str, Any]:
    """What `make` gives of every column: as it was kept, where its sources are the same, else made.

    Parameters
    ----------
    kind : str
        What it is called in the cache folder.
    make : callable (column) -> what JSON has
        Imports the column.
    made_from : callable (Sources, column) -> names of modules
        Those that what is made depends on.

    Returns
    -------
    dict
        By column; `Broken` for one of which it cannot be made.
    """
    return _index(kind, make, made_from, cache_folder() / "index", columns())


@cache
def _index(
    kind: str,
    make: Callable[[str], Any],
    made_from: Callable[[Sources, str], frozenset[str]],
    folder: Path,
    names: tuple[str, ...],
) -> dict[str, Any]:
    sources = _recalled(folder, names)
    path = _file(kind, folder, sources)
    held, told, kept = _held(path), {}, {}
    for column in names:
        digest = _digest(sources, made_from(sources, column))
        entry = held.get(column)
        if not isinstance(entry, dict) or entry.get("digest") != digest or "told" not in entry:
            try:
                entry = {"digest": digest, "told": json.loads(json.dumps(make(column)))}
            except Exception as error:  # any: it is shown in the rows of the column, and others have theirs
                told[column] = Broken(f"{type(error).__name__}: {error}")
                continue
        told[column], kept[column] = entry["told"], entry
    if kept != held:
        _keep(path, kept)
    return told


def of_claim(name: str, make: Callable[[str], Any], engine: tuple[str, ...]) -> Any:
    """What `make` gives of a claim, or gave when the book's part of its column and the makers had the same sources.

    Parameters
    ----------
    name : str
        Of the claim.
    make : callable (name) -> what JSON has
        Of nothing but the book.
    engine : tuple of str
        The modules of `make`, by names within the package.
    """
    folder = cache_folder() / "index"
    sources = _recalled(folder, columns())
    digest = _digest(sources, sources.modules(name.partition(".")[0], engine=engine, rooms=("theory",)))
    path = _file(name, folder / "claims", sources)
    held = _read(path)
    if held.get("digest") != digest or "told" not in held:
        held = {"digest": digest, "told": json.loads(json.dumps(make(name)))}
        _keep(path, held)
    return held["told"]


def _digest(sources: Sources, modules: frozenset[str]) -> str:
    return f"{_FORM} {version('sympy')} {sources.digest(modules)}"


@cache
def _recalled(folder: Path, names: tuple[str, ...]) -> Sources:
    """The sources, with what was read in them before."""
    sources = installed()
    path = _file("sources", folder, sources)
    sources.remembered = _held(path)
    for name in sources.names():
        sources.read(name)
    if sources.has_read:
        _keep(path, sources.memory())
    return sources


def _file(kind: str, folder: Path, sources: Sources) -> Path:
    """Where an index of this installation is kept."""
    return folder / f"{kind}-{hashlib.sha256(os.pathsep.join(sources.folders).encode()).hexdigest()[:12]}.json"


def _held(path: Path) -> dict[str, Any]:
    """What is in the index at `path`, or in the newest of another installation: most of their sources are the same."""
    return _read(path if path.exists() else max(_alike(path), key=_written, default=path))


def _alike(path: Path) -> list[Path]:
    """Indices of this kind: of this installation and of others."""
    return list(path.parent.glob(f"{path.name.rpartition('-')[0]}-*.json"))


def _written(path: Path) -> float:
    """When the file was written, in seconds since the epoch; 0 where it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path) -> dict[str, Any]:
    """The object in a file; empty where there is none, as after a crash or by another's hand: it is made anew."""
    try:
        require_private(path.parent)
        held = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


def _keep(path: Path, held: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_private(path.parent)
        written(path, json.dumps(held).encode())
        for old in sorted(_alike(path), key=_written)[:-MOST]:
            old.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        print(f"the index is not kept, so that the next command takes as long: {error}", file=sys.stderr)
