"""The command ``recheck``: findings in a file, beside what this machine finds."""

from __future__ import annotations

import fnmatch
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commbounds._count import COUNT
from commbounds._index import claim_names, current
from commbounds._progress import progress
from commbounds._running import WORKER_OPTIONS, compiling, workers
from commbounds._terminal import RegularFile, plain

if TYPE_CHECKING:
    from commbounds.verify import Finding

_SHOWN, _LINES = 60, 8
"""Letters of a value that are shown, and differences of a finding."""


@click.command()
@click.argument("file", type=RegularFile(exists=True))
@click.argument("patterns", nargs=-1, callback=current, shell_complete=claim_names)
@click.option("--sample", type=COUNT, default=None, help="So many of them, drawn anew each time; default: all.")
@WORKER_OPTIONS[0]
@WORKER_OPTIONS[1]
def recheck(file: Path, patterns: tuple[str, ...], sample: int | None, jobs: int | None, executor: str) -> None:
    """Reproduce findings from a file. Those in FILE that match PATTERNS are found anew, and compared.

    Exits with 0 if this machine finds the same, 1 if it does not, 2 for wrong usage.
    """
    with workers(executor, jobs) as pool, progress("claims") as shown:
        from commbounds.verify import engine

        try:
            given = {finding.claim: finding for finding in engine.load(file)}
        except ValueError as error:
            raise click.UsageError(plain(str(error))) from error
        names = [name for name in given if any(fnmatch.fnmatch(name, pattern) for pattern in patterns or ("*",))]
        if not names:
            raise click.UsageError(f"{plain(str(file))} holds no finding that matches")
        if sample is not None and sample < len(names):  # whoever wrote the file must not know which
            names = random.SystemRandom().sample(names, sample)
        shown.watch(compiling(pool))
        shown.expect(len(names))
        wrong = 0
        for budget, seed in sorted({(given[name].budget, given[name].seed) for name in names}):
            chosen = [name for name in names if (given[name].budget, given[name].seed) == (budget, seed)]
            try:
                made = engine.run(chosen, budget, seed, pool, progress=lambda one: shown.advance(one.claim))
            except ValueError as error:
                raise click.UsageError(plain(str(error))) from error
            for found in made:
                differing = list(differences(given[found.claim], found))
                wrong += bool(differing)
                shown.show("\n".join([f"{found.claim}: {'differs' if differing else 'the same'}", *differing]))
        shown.show(
            f"{len(names)} of {len(given)} findings were found anew: {wrong or 'none'} differ{'s' * (wrong == 1)}"
        )
    sys.exit(1 if wrong else 0)


def differences(given: Finding, found: Finding) -> Iterator[str]:
    """Lines that say what two findings say differently; and which versions, if anything else."""
    there, here = (json.loads(finding.to_json()) for finding in (given, found))
    differing = [line for key in here if key != "versions" for line in _unlike(key, there.get(key), here[key])]
    yield from differing[:_LINES]
    if len(differing) > _LINES:
        yield f"    and {len(differing) - _LINES} more"
    others = [f"{name} {version}" for name, version in given.versions.items() if found.versions.get(name) != version]
    if differing and others:
        yield f"    the file was made with {plain(', '.join(others))}"


def _unlike(path: str, given: Any, found: Any) -> Iterator[str]:
    """Where two values differ, down to what is neither a list nor a record."""
    if type(given) is type(found) and isinstance(found, dict) and given.keys() == found.keys():
        for key in found:
            yield from _unlike(f"{path}.{key}", given[key], found[key])
    elif type(given) is type(found) and isinstance(found, list) and len(given) == len(found):
        for i in range(len(found)):
            yield from _unlike(f"{path}.{i}", given[i], found[i])
    elif json.dumps(given) != json.dumps(found):  # which tells NaN from no NaN, and 0.0 from -0.0
        yield f"    {plain(path)}: the file says {_short(given)}, found was {_short(found)}"


def _short(value: Any) -> str:
    text = plain(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
