"""The command ``vectors``."""

import sys
from pathlib import Path

import click

from commbounds._progress import compiling_here, progress
from commbounds._terminal import plain
from commbounds.folders import require_writable


@click.command()
@click.argument("patterns", nargs=-1)
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Write them to DIR.")
@click.option(
    "--check",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Compute them again and compare with DIR.",
)
@click.option(
    "--c",
    "c_folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write them to DIR as C99: a header for each subject, and a main.c.",
)
def vectors(patterns: tuple[str, ...], out: Path | None, check: Path | None, c_folder: Path | None) -> None:
    """Write test vectors, or check them. PATTERNS select compressors and collectives (all without).

    Exits with 0 if all agree, 1 with a list of what differs, 2 for wrong usage.
    """
    if sum(folder is not None for folder in (out, check, c_folder)) != 1:
        raise click.UsageError("give one of --out DIR, --check DIR and --c DIR")
    if (new := out or c_folder) is not None:
        try:
            require_writable(new)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    with progress("subjects") as shown:
        from commbounds.verify import vectors as made
        from commbounds.verify.vectors.files import INDEX

        try:
            names = made.chosen(patterns)
            if out is not None:
                made.checked_folder(out)
            if check is not None and not (check / INDEX).is_file():
                raise ValueError(f"{check} holds no test vectors: there is no {check / INDEX}")
            if c_folder is not None and c_folder.is_dir() and any(c_folder.iterdir()):
                raise ValueError(f"{c_folder} must be empty, or not there")
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        shown.watch(compiling_here())
        shown.expect(len(names))
        try:
            files = made.written(out, patterns, shown.advance) if out is not None else []
            files += made.written_as_c(c_folder, patterns, shown.advance) if c_folder is not None else []
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        found = made.differences(check, patterns, shown.advance) if check is not None else []
    if files:
        click.echo(f"{len(files)} files about {len(names)} subjects in {plain(str(out or c_folder))}")
        return
    for line in found:
        click.echo(plain(line))
    click.echo(f"{len(names)} subjects: " + (f"{len(found)} differences" if found else "all agree"))
    sys.exit(1 if found else 0)
