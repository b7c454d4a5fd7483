"""Names that were typed, seen to be those of the book before anything is imported for them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from commbounds.verify.contents import claim_entries

_LIKENESS = 0.6
"""Of two names, from which one may be meant by the other; difflib's own default."""


def check_patterns(patterns: Iterable[str]) -> None:
    """See that every shell-style pattern matches a claim, before anything is imported for it.

    Raises
    ------
    click.UsageError
        One matches none; the message says which patterns would.
    """
    if not patterns:
        return
    names = [entry.name for entry in claim_entries()]
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
    names = [entry.name for entry in claim_entries()]
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
