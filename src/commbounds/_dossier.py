"""The command ``dossier``."""

import json
from pathlib import Path

import click

from commbounds._index import claim_names, current
from commbounds._terminal import RegularFile, plain


@click.command()
@click.argument("names", nargs=-1, required=True, callback=current, shell_complete=claim_names)
@click.option("--format", "form", type=click.Choice(["html", "latex", "json"]), default="html", show_default=True)
@click.option("--out", type=RegularFile(), default=None, help="The file; default: printed.")
def dossier(names: tuple[str, ...], form: str, out: Path | None) -> None:
    """Write one method, or any claims, as a document. It says what holds, if what, how tight, and how to test it.

    NAMES are columns, a column and a subject, claims, or patterns: oktopk, quantizers.qsgd, '*.contraction'. The first
    page says it in short, the others have every claim.
    """
    from commbounds.figures import dossier as made

    try:
        found = made.dossier(*names)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if form == "json":
        text = json.dumps(made.as_facts(found), indent=1) + "\n"
    else:
        text = made.as_html(found) if form == "html" else made.as_latex(found)
    if out is None:
        click.echo(text, nl=False)
        return
    from commbounds.folders import written

    written(out, text.encode())
    click.echo(f"{len(found.claims)} claims: {plain(str(out))}")
