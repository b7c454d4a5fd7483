"""`Store`: findings and exhibits that were made before from the same sources, kept in the cache folder.

What is kept is found again by a key: a digest of all that it is made from. That are the modules that its run imports,
with the data beside them (`verify.sources`), its name, budget and seed, the false-alarm rate of a claim, and what is
known of the interpreter, the libraries and the processor. Findings are meant to be the same bytes on every machine;
sums by BLAS and functions of the C library need not be, hence the last.
"""

import hashlib
import json
import os
import platform
import sys
import sysconfig
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import binding  # type: ignore[import-untyped]

from commbounds.folders import regular, removed, require_private, shared, written
from commbounds.verify.confront import claim_alpha, versions
from commbounds.verify.contents import claims_with, study_entries
from commbounds.verify.exhibit import Exhibit, exhibit_from_json
from commbounds.verify.finding import Finding, Verdict, finding_from_json
from commbounds.verify.sources import ENGINE, ROOT, installed

MOST = 1 << 28
"""Bytes that are kept; what was used least recently goes first."""
_FORM = 1
_FURTHER = ("greenlet", "llvmlite", "ml_dtypes", "mpmath")
"""Libraries that compute, besides those that a finding names."""
_SETTINGS = ("BLIS_", "GOTO_", "HYPOTHESIS_", "MKL_", "NPY_", "NUMBA_", "OMP_", "OPENBLAS_", "VECLIB_")
"""How environment variables begin on which a result may depend; those that name folders are left out."""
_EXHIBITION = ("columns", "verify.exhibition", "verify.experiments")


def require_unaltered() -> None:
    """See that the functions of the package are those that its sources, or installed ones, define.

    What a test or a program has put in the place of one is in no source that a key is made from.

    Raises
    ------
    ValueError
        One is from elsewhere; the message names it.
    """
    libraries = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    known = (*installed().folders, *(f"{path}{os.sep}" for path in (*sysconfig.get_paths().values(), *libraries)), "<")
    for module in [name for name in sys.modules if name.partition(".")[0] == ROOT]:
        for name, value in list(vars(sys.modules[module]).items()):
            for function in _functions(value):
                if not function.__code__.co_filename.startswith(known):
                    raise ValueError(f"{module}.{name} was replaced while the program ran")


def _functions(value: Any) -> Iterator[FunctionType]:
    """What is called when `value` is: of a class of ours the functions in it, of a kernel the one that it compiles."""
    ours = isinstance(value, type) and value.__module__.partition(".")[0] == ROOT
    for inner in vars(value).values() if ours else (value,):
        plain = inner
        for inside in ("__func__", "py_func", "__wrapped__"):
            plain = getattr(plain, inside, plain)
        if isinstance(plain, FunctionType):
            yield plain


@cache
def computed_by() -> dict[str, object]:
    """What a result may depend on besides the sources: interpreter, libraries, processor and settings."""
    build = np.show_config(mode="dicts")
    return {
        "python": sys.version,
        "system": [platform.system(), platform.machine(), *platform.libc_ver()],
        "processor": binding.get_host_cpu_name(),
        "numpy": [build.get("SIMD Extensions"), build.get("Build Dependencies")],
        "versions": versions() | {name: version(name) for name in _FURTHER},
        "settings": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(_SETTINGS) and not name.endswith(("_DIR", "_DIRECTORY"))
        },
    }


class Store:
    """What runs with these parameters found before, while nothing that it depends on has changed.

    Parameters
    ----------
    folder : Path
        Where it is kept; made where it is not there.
    budget : str
        Of the run.
    seed : int
        Of the run.
    fresh : bool
        Whether to forget what was found before.
    since : float
        When this process began, in seconds since the epoch: what was made from a source that has changed since is not
        kept, as the one that was imported may be the older one.

    Raises
    ------
    ValueError
        Others may write to the folder, nothing can be written there, or a function of the package was replaced.
    """

    def __init__(self, folder: Path, budget: str, seed: int, fresh: bool = False, since: float | None = None) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            require_private(folder)
            require_unaltered()
        except OSError as error:
            raise ValueError(f"nothing can be kept in {folder}: {error.strerror}") from error
        self._folder, self._budget, self._seed, self._fresh = folder, budget, seed, fresh
        self._since = time.time() if since is None else since
        self.dates: dict[str, str] = {}
        """When each finding and exhibit that was taken from here was made."""
        self.damaged: list[Path] = []
        """Files that were not what they should be, and were removed."""
        self.unkept = ""
        """Why something could not be written; empty where all could."""

    def finding(self, claim: str) -> Finding | None:
        """The finding about a claim; None where it has to be made."""
        text = self._taken(claim, _of_claim(claim))
        return None if text is None else finding_from_json(text)

    def keep(self, finding: Finding) -> None:
        """Keep a finding, unless it is an error: its cause may lie outside of the sources."""
        if finding.verdict is not Verdict.ERROR:
            self._put(finding.claim, _of_claim(finding.claim), finding.to_json())

    def exhibit(self, name: str) -> Exhibit | None:
        """The exhibit of this name; None where it has to be made."""
        text = self._taken(name, _of_exhibit(name))
        return None if text is None else exhibit_from_json(text)

    def keep_exhibit(self, exhibit: Exhibit) -> None:
        """Keep an exhibit."""
        self._put(exhibit.name, _of_exhibit(exhibit.name), exhibit.to_json())

    # --- files --------------------------------------------------------------------------------------------------------

    def _key(self, name: str, modules: frozenset[str]) -> str:
        parts = [_FORM, name, self._budget, self._seed, repr(claim_alpha()), _digest(modules), computed_by()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _taken(self, name: str, modules: frozenset[str]) -> str | None:
        """What was kept under the name, made from these modules as they are now."""
        if self._fresh:
            return None
        key = self._key(name, modules)
        path = self._path(name, key)
        try:
            held, whose = regular(path)
        except FileNotFoundError:
            return None
        except ValueError:  # a link, a pipe, a folder
            held, whose = b"", path.lstat()
        head, _, text = held.partition(b"\n")
        date = _date(head, key, text)
        if not date or whose.st_uid not in (os.geteuid(), 0) or shared(whose):
            self.damaged.append(path)
            removed(path)
            return None
        os.utime(path)
        self.dates[name] = date
        return text.decode()

    def _put(self, name: str, modules: frozenset[str], text: str) -> None:
        if any(os.stat(path).st_mtime > self._since for path in _files(modules)):
            return
        key = self._key(name, modules)
        date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        head = {"key": key, "date": date, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        try:
            written(self._path(name, key), f"{json.dumps(head)}\n{text}".encode(), lasting=False)
        except OSError as error:
            self.unkept = str(error)

    def _path(self, name: str, key: str) -> Path:
        return self._folder / f"{name}-{key[:16]}.json"

    def trim(self, most: int = MOST) -> None:
        """Remove what was used least recently, until no more than `most` bytes are kept."""
        entries = []
        for path in self._folder.glob("*.json"):
            try:
                found = path.stat()
            except FileNotFoundError:  # another run trims as well
                continue
            entries.append((found.st_mtime_ns, found.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= most:
                return
            path.unlink(missing_ok=True)
            total -= size


def _date(head: bytes, key: str, text: bytes) -> str:
    """When `text` was made, as its head says; empty where the head is not that of this text and key."""
    try:
        said = json.loads(head)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(said, dict) or said.get("key") != key:
        return ""
    if said.get("sha256") != hashlib.sha256(text).hexdigest():
        return ""
    return str(said.get("date", ""))


# --- what it is made from ---------------------------------------------------------------------------------------------


@cache
def _of_claim(claim: str) -> frozenset[str]:
    """The modules that a claim's run depends on."""
    return frozenset[str]().union(*(installed().modules(column, engine=ENGINE) for column in _columns(claim)))


@cache
def _of_exhibit(name: str) -> frozenset[str]:
    """The modules that an exhibit depends on."""
    return installed().modules(name.partition(".")[0], ("exhibits",), _EXHIBITION)


@cache
def _files(modules: frozenset[str]) -> list[Path]:
    return installed().files(modules)


@cache
def _digest(modules: frozenset[str]) -> str:
    return installed().digest(modules)


def _columns(claim: str) -> Iterator[str]:
    """The claim's column; and those with claims about the same set-ups, whose extremal inputs its curves show."""
    yield claim.partition(".")[0]
    entry = study_entries().get(claim)
    if entry is not None and entry.set_ups:
        for other in claims_with(entry.set_ups):
            yield other.partition(".")[0]
