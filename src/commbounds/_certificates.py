"""The commands ``certificates`` and ``certify``."""

import sys
from pathlib import Path
from typing import Any

import click

from commbounds._count import Count
from commbounds._index import claim_names, current, meant
from commbounds._progress import Progress, compiling_here, progress
from commbounds._terminal import plain


def _matching(patterns: tuple[str, ...], names: Any, what: str) -> list[str]:
    from fnmatch import fnmatchcase

    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise click.UsageError(f"no {what} matches {pattern!r}{meant(pattern, names)}")
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def _said(certificate: Any) -> str:
    """How much a proof proves, and for what; or the point of a counterexample."""
    from commbounds.verify import certify

    if certificate.kind == "counterexample":
        return str(certificate.scope)
    return f"{certify.told(certify.record(certificate))}: {certify.proved_for(certificate)}"


@click.command()
@click.argument("patterns", nargs=-1, callback=current, shell_complete=claim_names)
@click.option(
    "--every",
    type=Count(),
    help="Besides, run the kernels that they name on every such pattern; odd. 17 is about a sixteenth of all.",
)
@click.option(
    "--coq",
    type=click.Path(file_okay=False, path_type=Path),
    help="Instead, write the proofs into this folder as lemmas of Coq, a file a column: `coqc FILE` checks one.",
)
def certificates(patterns: tuple[str, ...], every: int | None, coq: Path | None) -> None:
    """Check the certificates of claims. PATTERNS select the claims (all without); each takes a line.

    Exits with 1 if one does not prove its claim, or refute it by a counterexample, and, with --every, if a kernel is
    not its definition.
    """
    from collections import Counter
    from time import perf_counter

    from commbounds.verify import certify
    from commbounds.verify.certify.exhaustion import ran_share, runs, runs_of

    if every is not None and every % 2 == 0:
        raise click.UsageError(f"--every must be odd, got {every}: the last bit of all patterns would be zero")
    names = _matching(patterns, certify.files(), "certificate")
    if coq is not None:
        _write_coq(names, coq)
        return
    refused, grades = 0, Counter[str]()
    again: dict[str, None] = {}
    for name in names:
        start = perf_counter()
        try:
            certificate = certify.load(name)
            certify.check(certificate)
            found = runs_of(certificate) if every is not None else ()
            again |= dict.fromkeys(found)
            line = f"{certificate.kind:14}  {name}: {_said(certificate)}"
            counted = certificate.kind == "counterexample"
            grades["counterexample" if counted else certify.grade(certificate)] += 1
        except certify.CertificateError as error:
            refused += 1
            line = f"{click.style('refused', fg='red'):14}  {name}: {error}"
        click.echo(f"{1e3 * (perf_counter() - start):8.1f} ms  {line}")
    for grade in (*certify.Grade, "counterexample"):
        if grades[grade]:
            click.echo(f"{grades[grade]:8}     {grade}")
    click.echo(f"{len(names)} certificates, " + (f"{refused} refused" if refused else "all check"))
    if every is not None:
        for name in again:
            start = perf_counter()
            try:
                line = f"{ran_share(name, every):10} patterns of {runs()[name].patterns * runs()[name].each}"
            except certify.CertificateError as error:
                refused += 1
                line = f"{click.style('refused', fg='red')}  {error}"
            click.echo(f"{1e3 * (perf_counter() - start):8.1f} ms  {'run':14}  {name}: {line}")
    sys.exit(1 if refused else 0)


def _write_coq(names: list[str], folder: Path) -> None:
    from collections import Counter

    from commbounds.verify.certify.coq import write

    paths, lemmas, left_out = write(names, folder)
    for why, count in sorted(Counter(why for _, _, why in left_out).items()):
        click.echo(f"left out: {count} goals, each {why}")
    about = len({lemma.claim for lemma in lemmas})
    click.echo(
        f"{len(lemmas)} lemmas about {about} claims in {len(paths)} files: coqc {plain(str(folder))}/NAME.v checks one"
    )


class _AllRuns:
    """The records of runs over every bit pattern, each made once: claims share them."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._records: dict[str, dict[str, Any]] = {}
        self.share = 0.0
        """Of a claim's work that was counted while its kernel ran."""

    def __call__(self, name: str) -> dict[str, Any]:
        from commbounds.verify.certify.exhaustion import ran

        if name not in self._records:
            self._records[name] = ran(name, self._count)
        return self._records[name]

    def _count(self, share: float) -> None:
        more = max(0.0, min(share, 1.0) - self.share)
        self.share += more
        self._shown.advance(count=0, weight=more)


@click.command()
@click.argument("patterns", nargs=-1, required=True, callback=current, shell_complete=claim_names)
@click.option("--degree", type=Count(1, 12), default=6, show_default=True, help="Most conditions in a product.")
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, help="For a claim."
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder; the book's own if not given.")
@click.option("--exhaustive", is_flag=True, help="Run kernels on every bit pattern again: minutes for each.")
def certify(patterns: tuple[str, ...], degree: int, seconds: float, out: Path | None, exhaustive: bool) -> None:
    """Search for certificates of claims and write them down. PATTERNS select the claims; what is found is checked.

    Exits with 1 if one was not found. That says nothing about its claim.
    """
    from time import perf_counter

    from commbounds.verify import certify as proofs
    from commbounds.verify.certify.certificate import folder, save
    from commbounds.verify.certify.finder import NotFoundError, find, find_point

    names = _matching(patterns, {**proofs.models(), **proofs.refutations()}, "model")
    places = {name: out if out is not None else folder(name.partition(".")[0]) for name in names}
    homeless = [name for name, place in places.items() if place is None]
    if homeless:
        raise click.UsageError(f"the column of {homeless[0]} has no folder: say --out")
    missing = 0
    with progress("claims") as shown:
        shown.watch(compiling_here())
        shown.expect(len(names))
        run_all = _AllRuns(shown)
        for name in names:
            start = perf_counter()
            run_all.share = 0.0
            shown.doing(name)
            try:
                if name in proofs.refutations():
                    found = find_point(proofs.refutations()[name])
                else:
                    found = find(proofs.models()[name], degree, seconds, run_all if exhaustive else None)
                save(found, Path(str(places[name])))
                line = f"{found.kind:14}  {name}: {_said(found)}"
            except NotFoundError as error:
                missing += 1
                line = f"{click.style('none', fg='red'):14}  {name}: {error}"
            shown.advance(weight=1.0 - run_all.share)
            shown.show(f"{perf_counter() - start:8.2f} s  {line}")
    click.echo(f"{len(names) - missing} certificates found" + (f", {missing} not" if missing else ""))
    sys.exit(1 if missing else 0)
