"""Several files as one thing: a site takes the place of the one that was there, and of nothing else."""

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from commbounds.verify.writing import written

FILES = "data/files.json"
"""What a site consists of, beside it; files that a later one lacks are removed by it."""


def published(out: str | Path, files: Mapping[str, bytes]) -> None:
    """Write `files` into a folder, in place of those that were published there before.

    Every file is replaced in one step, if it changes at all. The first page comes after all that it links to, and what
    the old site had besides goes last. Files that no site of ours lists stay.

    Parameters
    ----------
    out : path
        The folder; made where it is missing.
    files : mapping of str to bytes
        By their path within the folder, with slashes. More than one file get a list of them, `FILES`.

    Raises
    ------
    ValueError
        A path leads out of the folder.
    """
    folder = Path(out)
    contents = dict(files)
    for name in contents:
        if not _inside(name):
            raise ValueError(f"the path of a file must lead into the folder, got {name!r}")
    before = _published(folder)
    if len(contents) > 1:
        names = sorted({*contents, FILES})
        contents[FILES] = (json.dumps({"commbounds": "files of this site", "files": names}, indent=0) + "\n").encode()
    for name, content in sorted(contents.items(), key=lambda item: (item[0] == "index.html", item[0])):
        path = folder / name
        if not (path.is_file() and path.read_bytes() == content):
            written(path, content, lasting=False)
    for name in before - set(contents):
        path = folder / name
        path.unlink(missing_ok=True)
        for parent in list(path.relative_to(folder).parents)[:-1]:
            if (folder / parent).is_dir() and not any((folder / parent).iterdir()):
                (folder / parent).rmdir()


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _held(folder: Path, name: str) -> bool:
    """Whether a file of this name is really in the folder, and not where a link leads to."""
    return (folder / name).is_file() and (folder / name).resolve().is_relative_to(folder.resolve())


def _published(folder: Path) -> set[str]:
    """What an earlier site in the folder consists of; nothing if there is none, or its list is none of ours."""
    path = folder / FILES
    if not path.is_file():
        return set()
    try:
        listed = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return set()
    if not (isinstance(listed, dict) and "commbounds" in listed and isinstance(listed.get("files"), list)):
        return set()
    return {name for name in listed["files"] if isinstance(name, str) and _inside(name) and _held(folder, name)}
