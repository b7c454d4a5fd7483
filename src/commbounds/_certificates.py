"""The commands ``certificates`` and ``certify``."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import click


def _matching(patterns: tuple[str, ...], names: Any, what: str) -> list[str]:
    from fnmatch import fnmatchcase

    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise click.UsageError(f"no {what} matches {pattern!r}")
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


@click.command()
@click.argument("patterns", nargs=-1)
def certificates(patterns: tuple[str, ...]) -> None:
    """Check the certificates of the claims that match PATTERNS (all without), a line each.

    Exits with 1 if one does not prove its claim, or refute it by a counterexample.
    """
    from time import perf_counter

    from commbounds.verify import certify

    names = _matching(patterns, certify.files(), "certificate")
    refused = 0
    for name in names:
        start = perf_counter()
        try:
            certificate = certify.load(name)
            certify.check(certificate)
            line = f"{certificate.kind:14}  {name}: {certificate.scope}"
        except certify.CertificateError as error:
            refused += 1
            line = f"{click.style('refused', fg='red'):14}  {name}: {error}"
        click.echo(f"{1e3 * (perf_counter() - start):8.1f} ms  {line}")
    click.echo(f"{len(names)} certificates, " + (f"{refused} refused" if refused else "all check"))
    sys.exit(1 if refused else 0)


@cache
def _run_all(name: str) -> dict[str, Any]:
    """The record of a run over every bit pattern, with a bar on the terminal; claims share it."""
    from commbounds.verify.certify.exhaustion import ran

    with click.progressbar(length=1000, label=name, file=sys.stderr) as bar:
        return ran(name, lambda share: bar.update(int(1000 * share) - bar.pos))


@click.command()
@click.argument("patterns", nargs=-1, required=True)
@click.option(
    "--degree", type=click.IntRange(1, 12), default=6, show_default=True, help="Most conditions in a product."
)
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, help="For a claim."
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder; the book's own if not given.")
@click.option("--exhaustive", is_flag=True, help="Run kernels on every bit pattern again: minutes for each.")
def certify(patterns: tuple[str, ...], degree: int, seconds: float, out: Path | None, exhaustive: bool) -> None:
    """Look for certificates of the claims that match PATTERNS, check them and write them down.

    Exits with 1 if one was not found. That says nothing about its claim.
    """
    from time import perf_counter

    from commbounds.verify import certify as proofs
    from commbounds.verify.certify.certificate import folder, save
    from commbounds.verify.certify.finder import NotFoundError, find, find_point

    names = _matching(patterns, {**proofs.models(), **proofs.refutations()}, "model")
    missing = 0
    for name in names:
        where = out if out is not None else folder(name.partition(".")[0])
        if where is None:
            raise click.UsageError(f"the column of {name} has no folder: say --out")
        start = perf_counter()
        try:
            if name in proofs.refutations():
                found = find_point(proofs.refutations()[name])
            else:
                found = find(proofs.models()[name], degree, seconds, _run_all if exhaustive else None)
            save(found, where)
            line = f"{found.kind:14}  {name}: {found.scope}"
        except NotFoundError as error:
            missing += 1
            line = f"{click.style('none', fg='red'):14}  {name}: {error}"
        click.echo(f"{perf_counter() - start:8.2f} s  {line}")
    click.echo(f"{len(names) - missing} certificates found" + (f", {missing} not" if missing else ""))
    sys.exit(1 if missing else 0)
