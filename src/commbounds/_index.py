"""What commands list of the book, without the book: kept in the cache folder beside a digest of its sources.

To read the book takes seconds of sympy; to see that its sources are those that were read before takes milliseconds.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from commbounds import columns
from commbounds.folders import cache_folder, written

_LIKENESS = 0.6
"""Of two names, from which one may be meant by the other; difflib's own default."""


@dataclass(frozen=True)
class IndexEntry:
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


def indexed_claims() -> list[IndexEntry]:
    """Every claim of the book, in its order."""
    return [IndexEntry(**entry) for entry in _kept("claims", ("theory",), _claims_of_the_book)]


def indexed_replays() -> dict[str, str]:
    """Name of a replay -> what it is, in a sentence."""
    return dict(_kept("replays", ("theory", "verify/experiments"), _replays_of_the_columns))


def _claims_of_the_book() -> list[dict[str, str]]:
    from commbounds import theory

    return [
        asdict(IndexEntry(c.name, str(c.kind), str(c.stands), str(c.source.tag), c.title))
        for c in theory.claims().values()
    ]


def _replays_of_the_columns() -> list[tuple[str, str]]:
    from importlib import import_module

    from commbounds.verify.replays import REPLAYS

    described = []
    for name, module in REPLAYS.items():
        about = (import_module(module).__doc__ or "").split("\n\n")[0]
        described.append((name, " ".join(about.split())))
    return described


# --- what is kept ------------------------------------------------------------------------------------------------


def _kept(subject: str, rooms: Sequence[str], made: Callable[[], list[Any]]) -> list[Any]:
    """What `made` gives, or gave when the sources in `rooms` were the same; kept in a file for each installation."""
    folders = [folder for room in rooms for folder in _folders(room)]
    place = hashlib.sha256("\n".join(map(str, folders)).encode()).hexdigest()[:12]
    path = cache_folder() / "index" / f"{subject}-{place}.json"
    digest = _digest([Path(__file__), Path(columns.__file__), *_sources(folders)])
    held = _read(path)
    if held.get("digest") == digest and isinstance(held.get("entries"), list):
        return list(held["entries"])
    entries = made()
    try:
        written(path, json.dumps({"digest": digest, "entries": entries}).encode())
    except OSError as error:
        click.echo(f"the index is not kept, so that the next listing takes as long: {error}", err=True)
    return entries


def _read(path: Path) -> dict[str, Any]:
    """The object in a file; empty where there is none, as after a crash or by another's hand: it is made anew."""
    try:
        held = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


def _folders(room: str) -> list[Path]:
    """Where the room's columns lie, ours and further ones; without importing the room."""
    found = find_spec(f"commbounds.{room.partition('/')[0]}")
    ours = list(found.submodule_search_locations or ()) if found is not None else []
    within = room.partition("/")[2]
    return [Path(folder).resolve() for folder in columns.extended([str(Path(f) / within) for f in ours], room)]


def _sources(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.rglob("*.py"))


def _digest(paths: Iterable[Path]) -> str:
    """Of the paths and what is in them."""
    content = hashlib.sha256()
    for path in paths:
        text = path.read_bytes()
        content.update(f"{path}\n{len(text)}\n".encode() + text)
    return content.hexdigest()


# --- names that were typed ---------------------------------------------------------------------------------------


def check_patterns(patterns: Iterable[str]) -> None:
    """See that every shell-style pattern matches a claim, before anything is imported for it.

    Raises
    ------
    click.UsageError
        One matches none; the message says which patterns would.
    """
    if not patterns:
        return
    names = [entry.name for entry in indexed_claims()]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise click.UsageError(f"no claim matches {pattern!r}{meant(pattern, names)}")


def meant(pattern: str, names: Iterable[str]) -> str:
    """``; did you mean ...?``, with what `pattern` may stand for among dotted `names`; empty where nothing is near."""
    known = list(names)
    wider = [p for p in (f"{pattern}.*", f"*{pattern}*") if pattern.strip("*") and fnmatch.filter(known, p)]
    if wider:
        return f"; did you mean {wider[0]!r} ({len(fnmatch.filter(known, wider[0]))} of {len(known)})?"
    parts = dict.fromkeys(part for name in known for part in (name, *name.split(".")))
    bare = pattern.strip("*.").removesuffix(".*")
    near = get_close_matches(bare, parts, n=3, cutoff=_LIKENESS)
    shown = [repr(word if word in known else f"*{word}*") for word in near]
    return f"; did you mean {' or '.join(shown)}?" if shown else "; `commbounds claims` lists them"


def known_claim(name: str) -> None:
    """See that a claim is called so.

    Raises
    ------
    click.UsageError
        None is.
    """
    names = [entry.name for entry in indexed_claims()]
    if name not in names:
        raise click.UsageError(f"no claim is called {name!r}{meant(name, names)}")


def of_names(name: str, known: Mapping[str, Any] | Sequence[str], what: str) -> None:
    """See that `name` is one of those known.

    Raises
    ------
    click.UsageError
        It is not; the message lists what is near, or everything.
    """
    if name in known:
        return
    near = get_close_matches(name, list(known), n=3, cutoff=_LIKENESS)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
    raise click.UsageError(f"no {what} is called {name!r}; {hint}")
