"""Names that were typed, seen to be those of the book before anything is imported for them."""

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from commbounds.columns import columns
from commbounds.verify.contents import UNREAD, claim_entries, unread

_LIKENESS = 0.6
"""Of two names, from which one may be meant by the other; difflib's own default."""


def check_patterns(patterns: Iterable[str]) -> None:
    """See that every shell-style pattern matches a claim, before anything is imported for it.

    Raises
    ------
    click.UsageError
        One matches none; the message says which patterns would.
    click.ClickException
        One matches none, and its column cannot be imported.
    """
    if not patterns:
        return
    names = [entry.name for entry in claim_entries()]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            _see_readable(pattern)
            raise click.UsageError(f"no claim matches {pattern!r}{meant(pattern, names)}")


def _see_readable(pattern: str) -> None:
    torn = f"{pattern.partition('.')[0]}.{UNREAD}"
    if why := unread(torn):
        raise click.ClickException(f"{torn}: {why}")


def current(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
    """A name, or names, that were typed, where former names of claims become those of today."""
    if not isinstance(value, str):
        return value and tuple(current(_context, _parameter, pattern) for pattern in value)
    former = value.partition(".")[0] in columns() and not any(sign in value for sign in "*?[")
    if not former or value in {entry.name for entry in claim_entries()}:
        return value
    from commbounds.theory.column import current_name

    _see_readable(value)
    name = current_name(value)
    if name != value:
        click.echo(f"{value} is called {name} now", err=True)
    return name


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


def one_of(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What completes a name in a shell, of those that `names` gives when it is asked."""
    return lambda _context, _parameter, typed: [name for name in names() if name.startswith(typed)]


claim_names = one_of(lambda: [entry.name for entry in claim_entries()])
"""Completes names of claims."""


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
