"""What differs between a directory of test vectors and what is computed now."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from commbounds.folders import regular
from commbounds.verify.vectors.files import ABOUT, FORM, INDEX, contents, digest, parsed, present
from commbounds.verify.vectors.schema import VERSION

_SHOWN = 12
"""Lines that are told of one file; what is beyond them is counted."""
_VERSION = "commbounds"
"""What wrote a file: another version is no difference, as long as the vectors are the same."""


def differences(
    folder: Path, patterns: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Every difference between `folder` and the vectors as they are computed now, a line each; empty if there is none.

    Parameters
    ----------
    folder : Path
        What `written` wrote, then or now.
    patterns : sequence of str
        Shell-style patterns of the subjects that are compared; empty for all of them.
    progress : callable (name)
        As of `contents`.

    Returns
    -------
    list of str
        Files that are missing, damaged or not expected, a schema that is not known, sums in the index that are not
        those of the files, and values that differ, with the vector and the place.
    """
    expected = contents(patterns, progress)
    found = set(present(folder))
    index = parsed(folder / INDEX)
    problems = [f"{path}: missing" for path in sorted(set(expected) - found)]
    if not patterns:
        problems += [f"{path}: not expected" for path in sorted(found - set(expected))]
    for path in sorted(set(expected) & found):
        problems += _of_file(folder / path, path, expected[path], _recorded(index, path))
    return problems


def _recorded(index: dict[str, Any], path: str) -> Any:
    """What the index says of a file."""
    entries = index.get("files")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("file") == path:
            return entry
    return None


def _of_file(file: Path, path: str, expected: str, recorded: Any) -> list[str]:
    try:
        raw = regular(file)[0]
    except ValueError:
        return [f"{path}: is a link, or no file"]
    if raw == expected.encode() and path in (ABOUT, FORM, INDEX):
        return []
    if path == ABOUT:
        return [f"{path}: differs from what is written now"]
    problems = [] if raw == expected.encode() else _of_json(raw, path, expected)
    if problems or path in (FORM, INDEX):
        return problems
    if recorded is None:
        return [f"{path}: the index does not list it"]
    own, listed = digest(raw), recorded.get("sha256")
    return [] if own == listed else [f"{path}: sha256 is {own}, and {json.dumps(listed)[:80]} in the index"]


def _of_json(raw: bytes, path: str, expected: str) -> list[str]:
    """Differences of a file that has not the expected bytes; none where it holds the same in another form."""
    try:
        held = json.loads(raw.decode("utf-8"), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return [f"{path}: no JSON: {error}"]
    version = held.get("schema") if isinstance(held, dict) else None
    if path != FORM and version != VERSION:
        return [f"{path}: schema version {version!r} is not known, only {VERSION} is"]
    wanted = json.loads(expected)
    return _listed(path, _of_index(held, wanted) if path == INDEX else list(_between(held, wanted, "")))


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _of_index(held: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Differences of the index; that of sums is told with the files, and what others wrote may list more files."""
    counts = {entry["file"]: entry["vectors"] for entry in wanted.pop("files")}
    rest = {name: value for name, value in held.items() if name != "files"}
    problems = list(_between(rest, wanted, ""))
    for path, count in counts.items():
        entry = _recorded(held, path)
        if entry is not None and entry.get("vectors") != count:
            problems.append(f"{path} has {entry.get('vectors')!r} vectors, should be {count}")
    return problems


def _listed(path: str, found: list[str]) -> list[str]:
    more = [f"{path}: {len(found) - _SHOWN} more differences"] if len(found) > _SHOWN else []
    return [f"{path}: {line}" for line in found[:_SHOWN]] + more


def _first(found: list[str]) -> Iterator[str]:
    """The first difference of a vector, and how many more there are."""
    if found:
        yield found[0] + (f"; {len(found) - 1} more in this vector" if len(found) > 1 else "")


def _between(held: Any, wanted: Any, place: str) -> Iterator[str]:
    """Where two JSON values differ; a vector goes by its name."""
    if isinstance(held, dict) and isinstance(wanted, dict):
        for name in sorted({*held, *wanted}):
            if name == _VERSION and not place:
                continue
            inside = f"{place}.{name}" if place else name
            if name not in wanted:
                yield f"{inside} is not expected"
            elif name not in held:
                yield f"{inside} is missing"
            else:
                yield from _between(held[name], wanted[name], inside)
    elif isinstance(held, list) and isinstance(wanted, list):
        if len(held) != len(wanted):
            yield f"{place} has {len(held)} entries, should be {len(wanted)}"
        for i, (a, b) in enumerate(zip(held, wanted, strict=False)):
            if place == "vectors" and isinstance(b, dict):
                yield from _first(list(_between(a, b, f"vector {b['name']!r}")))
            else:
                yield from _between(a, b, f"{place}[{i}]")
    elif type(held) is not type(wanted) or held != wanted:
        yield f"{place} is {json.dumps(held)[:80]}, should be {json.dumps(wanted)[:80]}"
