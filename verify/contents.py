"""What can be told of every column without importing it: kept in the cache folder beside a digest of its sources.

To read the book takes seconds of sympy; to see that its sources are those that were read before takes milliseconds.
A column that cannot be imported is told of by its error, each time anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from commbounds.columns import columns
from commbounds.folders import cache_folder, private, written
from commbounds.verify.sources import Sources, installed

_FORM = 1
_STUDIES = ("columns", "verify.compressor_study", "verify.experiments")
"""What makes the studies of a column, by names within the package."""
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
    for column, found in _index("claims", folder, names).items():
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
    studies = _index("studies", folder, names)
    broken = {column for column, found in studies.items() if isinstance(found, Broken)}
    for column, found in studies.items():
        if column not in broken:
            listed |= {entry["claim"]: StudyEntry(**entry) for entry in found}
        else:
            of_column = [e.name for e in _claim_entries(folder, names) if e.name.partition(".")[0] == column]
            listed |= {name: StudyEntry(name, "", False, "") for name in of_column}
    return listed


def claims_with(set_ups: str) -> list[str]:
    """The claims about compressors whose set-ups are told of by these words, whichever columns they are in."""
    return [entry.claim for entry in study_entries().values() if entry.set_ups == set_ups]


def exhibit_names() -> list[str]:
    """Every exhibit, in the order of the columns; those of a column that cannot be imported are left out."""
    return [name for found in _here("exhibits").values() if not isinstance(found, Broken) for name in found]


def replay_words() -> dict[str, str]:
    """Name of a replay -> what it is, in a sentence."""
    return dict(pair for found in _here("replays").values() if not isinstance(found, Broken) for pair in found)


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


def _exhibits(column: str) -> list[str]:
    from commbounds.verify.exhibits import EXHIBITS

    return list(EXHIBITS.of_column(column))


def _replays(column: str) -> list[tuple[str, str]]:
    from importlib import import_module

    from commbounds.verify.replays import REPLAYS

    described = []
    for name, module in REPLAYS.of_column(column).items():
        about = (import_module(module).__doc__ or "").split("\n\n")[0]
        described.append((name, " ".join(about.split())))
    return described


_KINDS: dict[str, tuple[Callable[[str], Any], Callable[[Sources, str], frozenset[str]]]] = {
    "claims": (_claims, lambda s, column: s.modules(column, engine=("columns",), rooms=("theory",))),
    "studies": (_studies, lambda s, column: s.modules(column, engine=_STUDIES)),
    "exhibits": (_exhibits, lambda s, column: s.modules(column, ("exhibits",), _STUDIES)),
    "replays": (_replays, lambda s, column: s.modules(column, engine=("columns",), rooms=("verify.experiments",))),
}


def _here(kind: str) -> dict[str, Any]:
    return _index(kind, cache_folder() / "index", columns())


# --- what is kept -------------------------------------------------------------------------------------------------


@cache
def _index(kind: str, folder: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """What is told of every column: as it was kept, where its sources are the same, else made."""
    make, made_from = _KINDS[kind]
    sources = _recalled(folder, names)
    path = _file(kind, folder, sources)
    held, told, kept = _read(path), {}, {}
    for column in names:
        digest = f"{_FORM} {sources.digest(made_from(sources, column))}"
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


@cache
def _recalled(folder: Path, names: tuple[str, ...]) -> Sources:
    """The sources, with what was read in them before."""
    sources = installed()
    path = _file("sources", folder, sources)
    sources.remembered = _read(path)
    for name in sources.names():
        sources.read(name)
    if sources.has_read:
        _keep(path, sources.memory())
    return sources


def _file(kind: str, folder: Path, sources: Sources) -> Path:
    """Where an index of this installation is kept."""
    return folder / f"{kind}-{hashlib.sha256(os.pathsep.join(sources.folders).encode()).hexdigest()[:12]}.json"


def _read(path: Path) -> dict[str, Any]:
    """The object in a file; empty where there is none, as after a crash or by another's hand: it is made anew."""
    try:
        private(path.parent)
        held = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _keep(path: Path, held: dict[str, Any]) -> None:
    try:
        private(path.parent)
        written(path, json.dumps(held).encode())
    except (OSError, ValueError) as error:
        print(f"the index is not kept, so that the next command takes as long: {error}", file=sys.stderr)
