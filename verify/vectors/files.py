"""Test vectors as files: written atomically, and checked by computing everything again."""

import fnmatch
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from commbounds import __version__
from commbounds.folders import ready, regular
from commbounds.verify.vectors.c_header import c_files
from commbounds.verify.vectors.case import vector_json
from commbounds.verify.vectors.numbers import text_of
from commbounds.verify.vectors.schema import README, VERSION, schema
from commbounds.verify.vectors.subjects import LEFT_OUT, subjects
from commbounds.verify.writing import exclusive_lock
from commbounds.verify.writing import written as put

INDEX, ABOUT, FORM = "index.json", "README.md", "schema.json"
FOLDERS = {"compressor": "compressors", "mechanism": "compressors", "collective": "collectives"}
_TITLE = "commbounds test vectors"


def chosen(patterns: Sequence[str]) -> list[str]:
    """Names of the subjects that match one of the shell-style `patterns`, all where there is none; sorted.

    Raises
    ------
    ValueError
        A pattern that matches nothing.
    """
    known = sorted(subjects())
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in known):
            raise ValueError(f"nothing with test vectors matches {pattern!r}")
    return [name for name in known if not patterns or any(fnmatch.fnmatchcase(name, p) for p in patterns)]


def contents(patterns: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None) -> dict[str, str]:
    """Every file of a directory of test vectors, by its path: the same text whenever and wherever it is made.

    Parameters
    ----------
    patterns : sequence of str
        Shell-style patterns of the subjects; empty for all of them.
    progress : callable (name)
        Called for every subject when its vectors are made.

    Returns
    -------
    dict of str to str
        The index comes last.
    """
    table, files, counts = subjects(), {}, {}
    for name in chosen(patterns):
        subject = table[name]
        vectors = [vector_json(subject, case) for case in subject.cases()]
        names = [vector["name"] for vector in vectors]
        if len(set(names)) < len(names):
            raise ValueError(f"names of the vectors of {name} must differ, got {names}")
        held = {
            "schema": VERSION,
            "commbounds": __version__,
            "subject": name,
            "kind": subject.kind,
            "summary": subject.summary,
            "traffic_unit": subject.unit,
            "vectors": vectors,
        }
        path = f"{FOLDERS[subject.kind]}/{name}.json"
        files[path], counts[path] = text_of(held) + "\n", len(vectors)
        progress(name)
    files[FORM], files[ABOUT] = text_of(schema()) + "\n", README
    index = {
        "title": _TITLE,
        "schema": VERSION,
        "commbounds": __version__,
        "files": [
            {"file": path, "sha256": digest(files[path].encode()), "vectors": counts[path]} for path in sorted(counts)
        ],
        "left_out": dict(LEFT_OUT),
    }
    return {**files, INDEX: text_of(index) + "\n"}


def digest(raw: bytes) -> str:
    """The sha256 of the bytes of a file, in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def written(folder: Path, patterns: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None) -> list[str]:
    """Write the vectors to `folder`, each file at once or not at all, the index last; paths of the files.

    `progress` is called as by `contents`.

    Files that an earlier index lists with the bytes that they have, and the new one does not list, are removed; nothing
    else is, and nothing outside `folder`.

    Raises
    ------
    ValueError
        `folder` holds other things and is no directory of test vectors, or a symbolic link in place of one of its
        folders; nothing can be written there, or another run is writing there; a pattern that matches nothing.
    """
    checked_folder(folder)
    with exclusive_lock(folder / INDEX):
        files, before = contents(patterns, progress), _listed(folder)
        if not (folder / INDEX).exists():  # one that is cut short can be written again
            put(folder / INDEX, text_of({"title": _TITLE, "files": []}).encode())
        for path, text in files.items():
            put(folder / path, text.encode())
        for path in sorted(set(before) - set(files)):
            held = folder / path
            if held.is_file() and digest(held.read_bytes()) == before[path]:
                held.unlink()
    return list(files)


def written_as_c(
    folder: Path, patterns: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Write the vectors to `folder` as C99, each file at once or not at all; paths of the files.

    Raises
    ------
    ValueError
        Nothing can be written there; a pattern that matches nothing.
    """
    ready(folder)
    files = c_files(contents(patterns, progress))
    for path, text in files.items():
        put(folder / path, text.encode())
    return list(files)


def checked_folder(folder: Path) -> Path:
    """`folder`, if vectors may be written to it: it does not exist, is empty, or holds test vectors already.

    Raises
    ------
    ValueError
        It holds other things, or a symbolic link where a folder of vectors should be; nothing can be written there.
    """
    others = folder.is_dir() and any(path.name != f".{INDEX}.lock" for path in folder.iterdir())
    if others and parsed(folder / INDEX).get("title") != _TITLE:
        raise ValueError(f"{folder} must be empty or a directory of test vectors: it holds other things")
    for name in sorted(set(FOLDERS.values())):
        if (folder / name).is_symlink():
            raise ValueError(f"{folder / name} is a symbolic link: what it points to is left alone")
    ready(folder)
    return folder


def present(folder: Path) -> Iterator[str]:
    """Every file under `folder`, by its path from there, sorted."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() or path.is_symlink():
            yield path.relative_to(folder).as_posix()


def _listed(folder: Path) -> dict[str, str]:
    """Paths of the subjects in the index of `folder`, those outside its two folders left out, with their digests."""
    files, listed = parsed(folder / INDEX).get("files"), {}
    for entry in files if isinstance(files, list) else ():
        path = entry.get("file") if isinstance(entry, dict) else None
        if isinstance(path, str) and path.split("/")[0] in FOLDERS.values() and path.count("/") == 1:
            listed[path] = str(entry.get("sha256"))
    return listed


def parsed(path: Path) -> dict[str, Any]:
    """The object in the JSON file at `path`; empty where there is no such file, or no object in it."""
    try:
        held = json.loads(regular(path)[0])
    except (OSError, ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}
